"""Several coupons in one cell: lists (`101, 102 & 103`) and ranges (`101-103`, `101 to 103`, `C12A-C`, `101-3`).

What people came with decides: a column is cut, and its ranges are written out, if more of the codes they came with are
found so; `17-1` stays one code where people came with such codes. Where nobody came with any yet, codes decide that
look like nothing else. A range that runs backwards, is endless, or holds somebody else's coupon is an error.
"""

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from peerfront.data.problems import Problem, Proposal, at
from peerfront.data.read.coupon_codes import code_shape
from peerfront.data.read.listing import Texts, plain
from peerfront.data.read.near_codes import folded
from peerfront.foundation.messages import Message, first_of, note
from peerfront.foundation.text_tables import TextTable
from peerfront.foundation.typed_values import plain_signs

MOST_IN_RANGE = 30
"""Coupons that a range can hold; more is a typing error."""
_LISTED = r"(?:[,;|&\n،؛]|(?<!e)\+)+|\s+(?:and|y|e|et|und|ve|и|و)\s+"
_CUTS = tuple(
    re.compile(cut, re.IGNORECASE) for cut in (r"(?!)", _LISTED, rf"{_LISTED}|/", rf"{_LISTED}|/|\s+(?!\()")
)  # from none to all
_TO = re.compile(
    r"\s*(?:-+|~|\.{2,}|…|→)\s*|\s+(?:to|thru|through|until|till|a|à|al|au|bis|hasta|até|ate|do|hadi|tot|til|до)\s+",
    re.IGNORECASE,
)
_FROM = re.compile(r"(?:from|de|del|desde|von|vom|du|da|entre|between|kuanzia)\s+", re.IGNORECASE)
_NUMBERED, _LETTERED = re.compile(r"(.*?)([0-9]{1,15})"), re.compile(r"((?:.*[0-9][-_. ]?)?)([A-Za-z])")
_CODE = re.compile(r"[^\W\d_]*[-_.]?[\w.-]*[0-9][\w.-]*(?:\s*\([^()]*\))?|[A-Za-z]")
_FEWEST = 2  # codes with which somebody came
_LONGEST_CELL = 500  # characters: longer ones are notes
_MOST_LISTED = 6  # columns and codes that a sentence names


@dataclass(frozen=True)
class CodeRange:
    """A range of codes as it was typed."""

    codes: tuple[str, ...]
    """All of them, from the lowest; empty if there are too many."""
    size: int
    turned: str | None = None
    """How a range that runs backwards would be written."""


@cache
def range_of(text: str) -> CodeRange | None:
    """Read a range; None for any other text."""
    text = _FROM.sub("", plain_signs(text).strip(), count=1) if len(text) < _LONGEST_CELL else ""
    found = [(text[: to.start()], to[0], text[to.end() :]) for to in _TO.finditer(text)]
    ranges = [each for parts in found if (each := _between(*parts)) is not None]
    return next((each for each in ranges if each.codes), ranges[0] if ranges else None)


def _between(first: str, to: str, last: str) -> CodeRange | None:
    """The codes from the first to the last, whose beginning may be left out (C101-103, 101-3, C12A-C)."""
    for pattern, number, written in _ALPHABETS:
        start = pattern.fullmatch(first)
        if start is None:
            continue
        stem, left = start[1], start[2]
        end = last[len(stem) :] if stem and last.lower().startswith(stem.lower()) else last
        match = pattern.fullmatch(end)
        if match is None or match[1] or left.isupper() != end.isupper():
            continue
        short = end == last and len(end) < len(left)
        lowest, highest = number(left), number(left[: -len(end)] + end if short else end)
        if short and highest <= lowest:
            highest += 10 ** len(end)  # 139-1 ends with 141
        turned = None
        if highest < lowest:
            lowest, highest = highest, lowest
            turned = f"{stem}{end}{to}{stem if end != last else ''}{left}"
        if highest == lowest:
            return None
        size = highest - lowest + 1
        every = range(lowest, highest + 1) if size <= MOST_IN_RANGE else ()
        return CodeRange(
            tuple(stem + written(each, min(len(left), len(end)) if turned else len(left)) for each in every),
            size,
            turned,
        )
    return None


_ALPHABETS: tuple[tuple[re.Pattern[str], Callable[[str], int], Callable[[int, int], str]], ...] = (
    (_NUMBERED, int, lambda number, width: f"{number:0{width}d}"),
    (_LETTERED, ord, lambda number, _: chr(number)),
)


@dataclass(frozen=True)
class _Way:
    """One way to read cells of coupons."""

    cut: int
    """Which of _CUTS."""
    expand: bool = False
    """Whether ranges are written out."""
    complete: bool = False
    """Whether shortened codes follow their first: 101/2/3, C12A/B/C."""

    def codes(self, cell: str, whole: Iterable[str]) -> list[str]:
        found = codes_in(cell, self, whole)
        return [code for part, codes in found for code in (codes.codes if codes is not None else (part,))]


def codes_in(cell: str, way: _Way, whole: Iterable[str] = ()) -> list[tuple[str, CodeRange | None]]:
    """The codes and ranges of a cell, as they were typed; `whole` are codes as people came with them, never ranges."""
    cut, expand = way.cut, way.expand
    if len(cell) > _LONGEST_CELL:
        return [(cell, None)]
    text = plain_signs(cell)
    if expand and cut == len(_CUTS) - 1:
        text = _TO.sub(lambda to: to[0].strip() if not to[0].strip().isalpha() else "~", text)
    parts = [part.strip() for part in _CUTS[cut].split(text) if part.strip()]
    if len(parts) == 1 and cut < len(_CUTS) - 1:
        parts = [cell]
    for place in range(1, len(parts)) if way.complete else ():
        parts[place] = _completed(parts[place - 1], parts[place])
    return [(part, range_of(part) if expand and folded(part) not in whole else None) for part in parts]


def _completed(before: str, part: str) -> str:
    """A shortened code with what it shares with the one before it."""
    held = _between(before, "-", part)
    short = held is not None and len(part) < len(before) and held.codes
    return held.codes[-1] if held is not None and short else part


@dataclass(frozen=True)
class CellsApart:
    """A table whose cells of coupons hold one code each."""

    table: TextTable
    columns: tuple[str, ...]
    """Those of coupons, as they are called now."""
    steps: tuple[Message, ...]
    problems: tuple[Problem, ...]


def coupons_apart(
    table: TextTable, columns: Sequence[str], own: Iterable[str], ids: Sequence[str]
) -> CellsApart | None:
    """Put the coupons of a cell side by side, in columns `name_1`, `name_2`, ...; None if every cell holds one."""
    frame = table.frame
    cells = {name: frame[name].tolist() for name in columns}
    different = list(dict.fromkeys(cell for column in cells.values() for cell in column if cell))
    came = {folded(code) for code in own} - {""}
    way = _best_way(different, came) or _plain_way(cells, came, ids)
    if way is None:
        return None
    read, problems = _read(table, cells, way, came, ids)
    names: list[str] = []
    for name in columns:
        most = max(map(len, read[name]), default=0)
        unchanged = all(codes == [cell] for codes, cell in zip(read[name], cells[name], strict=True) if cell)
        new = [name] if unchanged else [f"{name}_{slot + 1}" for slot in range(max(most, 1))]
        if set(new) & (set(map(str, frame.columns)) - {name}):
            return None
        names += new
        place = list(frame.columns).index(name)
        frame = frame.drop(columns=name)
        for slot, called in enumerate(new):
            values = [codes[slot] if slot < len(codes) else "" for codes in read[name]]
            frame.insert(place + slot, called, np.array([*values, None], dtype=object)[:-1])
    steps = []
    for name in columns:
        several = [(cell, codes) for cell, codes in zip(cells[name], read[name], strict=True) if len(codes) > 1]
        if several:
            cell, codes = max(several, key=lambda each: (range_of(each[0]) is not None, len(each[1])))
            shown = {"cell": cell, "codes": first_of(codes, _MOST_LISTED)}
            steps.append(note("steps.codes_apart", column=name, n=len(several), **shown))
    if not steps and not problems:
        return None
    return CellsApart(dataclasses.replace(table, frame=frame), tuple(names), tuple(steps), tuple(problems))


def _best_way(cells: Sequence[str], came: set[str]) -> _Way | None:
    """The way in which most of the codes are found that people came with; None if none finds more than whole cells."""

    def found(way: _Way) -> int:
        """How many of the codes that people came with are found in this way."""
        return len(alone | {folded(code) for cell in several for code in way.codes(cell, came)} & came)

    several = [cell for cell in cells if _CUTS[-1].search(cell) or range_of(cell) is not None]
    alone = {folded(cell) for cell in set(cells) - set(several)} & came
    best, most = None, max(found(_Way(0)), _FEWEST - 1)
    for cut, complete in itertools.product(range(len(_CUTS)), (False, True)):
        way = _Way(cut, complete=complete)
        ranges = {folded(part) for cell in several for part, _ in codes_in(cell, way) if range_of(part)}
        within, without = found(dataclasses.replace(way, expand=True)), found(way)
        expand = within - without > len(ranges & came)
        if max(without, within if expand else 0) > most:
            best, most = dataclasses.replace(way, expand=expand), within if expand else without
    if best is None:
        return None
    shapes = {code_shape(code) for code in came}
    for cut in range(best.cut + 1, len(_CUTS)):  # a list among ranges, with whose codes nobody came yet
        more = dataclasses.replace(best, cut=cut)
        codes = [
            code
            for cell in several
            if more.codes(cell, came) != best.codes(cell, came)
            for code in more.codes(cell, came)
        ]
        if codes and found(more) == most and all(code_shape(folded(code)) in shapes for code in codes):
            best = more
    return best


def _plain_way(cells: dict[str, list[str]], came: set[str], ids: Sequence[str]) -> _Way | None:
    """The way of cells that can be nothing but lists and ranges, though nobody came with a code of them yet."""
    if any(range_of(code) is not None or _CUTS[-1].search(code) for code in came):
        return None
    for way in (_Way(1, expand=True), _Way(2, expand=True)):
        holders: dict[str, int] = {}
        several = of_ids = 0
        for column in cells.values():
            for person, cell in enumerate(column):
                parts = codes_in(cell, way) if cell else []
                codes = way.codes(cell, ()) if cell else []
                backwards = any(within.turned for _, within in parts if within)
                several += len(codes) > 1
                of_ids += any(part.startswith(ids[person]) for part, within in parts if within and ids[person])
                alone = all(holders.setdefault(folded(code), person) == person for code in codes)
                if backwards or not alone or not all(map(_CODE.fullmatch, codes)) or len(codes) < len(parts):
                    several = -len(cells) * len(column)
        if several > 0 and of_ids * 2 < several:
            return way
    return None


def _read(
    table: TextTable, cells: dict[str, list[str]], way: _Way, came: set[str], ids: Sequence[str]
) -> tuple[dict[str, list[list[str]]], list[Problem]]:
    """The codes of each cell, and the ranges that cannot be right."""
    read: dict[str, list[list[str]]] = {name: [] for name in cells}
    holders: dict[str, int] = {}
    for column in cells.values():
        for person, cell in enumerate(column):
            for part, codes in codes_in(cell, way, came) if cell else []:
                if codes is None:
                    holders.setdefault(folded(part), person)
    problems = []
    for name, column in cells.items():
        for person, cell in enumerate(column):
            mine: list[str] = []
            for part, codes in codes_in(cell, way, came) if cell else []:
                if codes is None:
                    mine.append(part)
                    continue
                others = [code for code in codes.codes if holders.setdefault(folded(code), person) != person]
                if codes.codes and not others and codes.turned is None:
                    mine += codes.codes
                    continue
                row, who = int(table.rows[person]), ids[person]
                values = {"range": part, "person": who, "n": codes.size, "most": MOST_IN_RANGE}
                offer = None
                if others:
                    holder = holders[folded(others[0])]
                    held = note("problems.value_at", value=ids[holder], at=at("row", table.rows[holder]))
                    fault = note("problems.range_overlaps", code=others[0], other=held, **values)
                elif not codes.codes:
                    fault = note("problems.range_too_long", **values)
                else:
                    fault = note("problems.range_backwards", **values)
                    if codes.turned is not None and part in plain_signs(cell):
                        proposed = plain_signs(cell).replace(part, codes.turned, 1)
                        offer = Proposal(row, name, cell, proposed, note("mends.range_turned", n=codes.size))
                problems.append(Problem("bad-range", row, who, fault, name, offer))
            read[name].append(mine)
    return read, problems


# A column for the first coupon and one for the last ------------------------------------------------------------------


def first_and_last(
    frame: pd.DataFrame, own: Iterable[str], words: Mapping[str, Sequence[str]]
) -> tuple[str, str, Texts] | None:
    """Find the columns of the first and the last coupon, and make ranges of them; None unless people came with those
    between."""
    came = {folded(code) for code in own} - {""}
    first, last = set(words["first"]), set(words["last"])
    names = {str(name): _words(str(name)) for name in frame.columns}
    names = {name: parts for name, parts in names.items() if any(p.startswith(tuple(words["called"])) for p in parts)}
    for start, end in itertools.permutations(names, 2):
        if not names[start] & first or not names[end] & last or names[start] - first != names[end] - last:
            continue
        both = zip(frame[start], frame[end], strict=True)
        pairs = [f"{a} to {b}" if a and b and a != b else a or b for a, b in both]
        if came & {folded(code) for pair in pairs if (held := range_of(pair)) for code in held.codes[1:-1]}:
            return start, end, np.array([*pairs, None], dtype=object)[:-1]
    return None


def _words(name: str) -> set[str]:
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return set(re.findall(r"[^\W\d_]+", plain(apart).casefold()))
