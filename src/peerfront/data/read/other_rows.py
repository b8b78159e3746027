"""Rows of a table that are no people: totals, headers again, notes, legends, and rows that name a group.

They are told by what they hold: an id unlike all others, a number that is the sum of its column, names of the columns,
cells that their columns never hold. Somebody with few answers whose id is like the others' stays a person. Rows that
are plainly something else are left out, each with a warning; where that is only likely the row stays a person, and the
warning carries the proposal to leave it out.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from peerfront.data.problems import Problem, Proposal
from peerfront.data.read.listing import USUAL_MISSING, VOCABULARY, guess_columns
from peerfront.data.read.read_settings import Columns
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import Note
from peerfront.foundation.messages import Message, note
from peerfront.foundation.table_layout import Column, columns_of, kind_of, signs_of
from peerfront.foundation.text_tables import TextTable
from peerfront.foundation.typed_values import read_numbers, typed_number

TOTAL, HEADER, REMARK = "row_kinds.total", "row_kinds.header", "row_kinds.note"
LEGEND, GROUP = "row_kinds.legend", "row_kinds.group"
_WORDS = "|".join(sorted(map(re.escape, VOCABULARY["rows"]["totals"]), key=len, reverse=True))
_TOTAL = re.compile(rf"\W*(?:{_WORDS})\W*(?:\(?n?\W*[\d.,\s]+\)?)?\W*|n\s*[=:]\s*[\d.,\s]+", re.IGNORECASE)
_REMARK = re.compile(r"[*†‡#•(\[-].*|.*:|.*[=→].*|.*[^\W\d_]\S*\s+\S.*", re.DOTALL)  # marks, or several words
_MARKED = re.compile(r"[*†‡#•].*|.*:(?:\s.*)?|.*[=→].*|(?:\S+\s+){5,}\S.*", re.DOTALL)  # also where ids are names
_FEWEST = 5  # ids that show a pattern
_COMMON = 0.1  # share of the ids that have a usual kind
_KEY = 0.5  # share of different values in a column by which rows are known
_MOST = 0.5  # share of rows that are no people; with more, there is no pattern
_MOST_LEGEND = 50  # rows of a legend
_SAMPLE = 1_000  # people who show what columns hold
_TOP = 3  # rows below the header that may belong to it
_LONGEST = 300  # characters of a cell that are looked at
_SHOWN = 3  # cells of a row that a message shows


@dataclass(frozen=True)
class _OtherRow:
    kind: str
    is_plain: bool


def only_people(table: TextTable, named: Columns, source: str) -> tuple[TextTable, tuple[Problem, ...]]:
    """Leave out the rows that are plainly no people; report these, and those that may be none."""
    key = _key(table.frame, named, source)
    if key is None:
        return table, ()
    others = _other_rows(table, key)
    if len(others) > _MOST * len(table.rows):
        return table, ()
    problems = [_problem(table, key, n, row) for n, row in sorted(others.items())]
    left_out = [n for n, row in others.items() if row.is_plain]
    if left_out:
        kept = np.delete(np.arange(len(table.rows)), left_out)
        frame = table.frame.iloc[kept].reset_index(drop=True)
        gone = set(table.rows[left_out].tolist())
        notes = tuple(each for each in table.notes if each.kind != "cell-without-value" or each.row not in gone)
        table = dataclasses.replace(table, frame=frame, rows=table.rows[kept], lines=table.lines[kept], notes=notes)
    return table, tuple(problems)


def _key(frame: pd.DataFrame, named: Columns, source: str) -> int | None:
    """The column by which rows are known: the id by name, or the first whose values mostly differ."""
    header = list(map(str, frame.columns))
    present = {role: names for role, names in named.items() if set(names) <= set(header)}
    name = guess_columns(header, present, source).get("id", ("",))[0]
    if name:
        return header.index(name)
    for n in range(len(header)):
        values = frame.iloc[:, n]
        filled = values[values != ""]
        if 2 * len(filled) > len(values) and filled.nunique() > _KEY * len(values):
            return n
    return None


def _problem(table: TextTable, key: int, n: int, other: _OtherRow) -> Problem:
    row, cells = int(table.rows[n]), [cell for cell in table.frame.iloc[n] if cell]
    found, person = " | ".join(cells[:_SHOWN]), str(table.frame.iloc[n, key])
    what = note(other.kind)
    if other.is_plain:
        return Problem("not-a-person", row, "", note("problems.left_out", found=found, what=what))
    why = note("problems.perhaps_no_person", found=found, what=what)
    return Problem("not-a-person", row, person, why, "", Proposal(row, "", found, None, what))


# What a row is ----------------------------------------------------------------------------------------------------


def _other_rows(table: TextTable, key: int) -> dict[int, _OtherRow]:
    """The rows that are no people, by their place."""
    ids = table.frame.iloc[:, key].to_numpy(dtype=object)
    names = [str(name).casefold() for name in table.frame.columns]
    strange, usual = _strange(ids)
    words = np.array([_TOTAL.fullmatch(text) is not None or text.casefold() == names[key] for text in ids], dtype=bool)
    block = _last_block(table)
    places = np.arange(len(ids))
    suspects = np.flatnonzero(strange | words | (places >= block) | (places < _TOP))
    if not len(suspects):
        return {}
    others = suspects if len(suspects) < len(ids) - _TOP else suspects[suspects >= _TOP]
    kept = np.delete(places, others)
    people = table.frame.iloc[kept[:: max(1, len(kept) // _SAMPLE)]].to_numpy(dtype=object).tolist()
    if len(people) < 2:
        return {}
    columns = columns_of(people)
    look = _Look(table, key, names, columns, strange, float(np.median([_n_filled(row) for row in people])))
    look.ids_are_names = any(" " in kind for kind in usual)
    found: dict[int, _OtherRow] = {}
    for n in map(int, suspects):
        other = look.at(n, found) if strange[n] or words[n] or n < _TOP else None
        if other is not None:
            found[n] = other
    titles = {n: _OtherRow(REMARK, True) for n in found if n + 1 in found and found[n + 1].kind == HEADER}
    found |= {n: title for n, title in titles.items() if not found[n].is_plain}
    end = len(ids)
    while block < end:  # from the last block upwards, as long as nobody is in it
        found |= look.legend(block, end, found)
        if not all(n in found for n in range(block, end)):
            break
        block, end = _last_block(table, block), block
    return found


def _strange(ids: np.ndarray) -> tuple[np.ndarray, set[str]]:
    """Mark the ids unlike most others, and those that are empty; also return the usual kinds."""
    n_ids = int((ids != "").sum())
    for kind_by in (kind_of, signs_of) if n_ids >= _FEWEST else ():
        kinds = pd.Series(ids, dtype=object).map(kind_by)
        counts = Counter(kinds[ids != ""])
        usual = {kind for kind, count in counts.items() if count >= max(2, _COMMON * n_ids)}
        strange = ~kinds.isin(usual).to_numpy()
        if 4 * strange.sum() <= len(ids):
            return strange, usual
    return ids == "", set()


def _last_block(table: TextTable, n_rows: int | None = None) -> int:
    """Where the few rows after the last blank row begin, of the first `n_rows`; their number if there are none."""
    n_rows = len(table.rows) if n_rows is None else n_rows
    gaps = np.flatnonzero(np.diff(table.rows[:n_rows]) > 1)
    return int(gaps[-1]) + 1 if len(gaps) and gaps[-1] + 1 + _MOST_LEGEND >= n_rows else n_rows


def _n_filled(cells: Sequence[str]) -> int:
    return sum(cell != "" and cell not in USUAL_MISSING for cell in cells)


@dataclass
class _Look:
    """A table whose people are known, to tell what its other rows are."""

    table: TextTable
    key: int
    names: list[str]
    columns: list[Column]
    strange: np.ndarray  # [rows], ids unlike the usual ones, or none
    usual_fill: float  # filled cells of a person
    ids_are_names: bool = False

    def at(self, n: int, before: dict[int, _OtherRow]) -> _OtherRow | None:
        """Tell what the row is; None for a person. `before` are the other rows above it."""
        cells = [cell[:_LONGEST] for cell in self.table.frame.iloc[n]]
        filled = {k: cell for k, cell in enumerate(cells) if cell and cell not in USUAL_MISSING}
        rest = {k: cell for k, cell in filled.items() if k != self.key}
        alike = [k for k, cell in rest.items() if self.columns[k].may_hold(cell)]
        same = sum(cell.casefold() == self.names[k] for k, cell in filled.items())
        if same and 2 * same >= len(filled) and (same > 1 or len(filled) == 1):
            return _OtherRow(HEADER, True)
        total = self._total(n, filled, rest, alike, before)
        if total is not None:
            return total
        at_top = all(k in before for k in range(n))
        if not self.strange[n] and at_top and len(rest) > 2 and not alike:
            return _OtherRow(HEADER, True)
        if not self.strange[n]:
            return None
        is_marked = _MARKED.fullmatch(cells[self.key]) is not None and len(filled) <= max(3, self.usual_fill / 3)
        if 4 * len(alike) > len(rest):  # but for a formula that was filled down, or the day on which it was signed
            is_remark = _REMARK.fullmatch(cells[self.key]) is not None and len(filled) <= 2 < self.usual_fill / 2
            return _OtherRow(REMARK, is_marked) if is_marked or is_remark else None
        if (at_top and rest) or (len(rest) > 2 and 2 * len(filled) >= self.usual_fill):
            return _OtherRow(HEADER, len(rest) > 1 or not cells[self.key] or is_marked)
        is_remark = any(
            (_MARKED if self.ids_are_names and k == self.key else _REMARK).fullmatch(cell) for k, cell in filled.items()
        )
        is_last = bool(self.strange[n:].all())
        if len(filled) == 1:
            short = next(iter(filled.values()))[0] not in "*†‡•" and len(" ".join(filled.values()).split()) <= 6
            is_answer = any(cell in column.values for cell in filled.values() for column in self.columns)
            return _OtherRow(GROUP if short and not is_last else REMARK, is_remark or is_answer)
        no_name = not self.ids_are_names or not re.search(r"[^\W\d_]", cells[self.key])
        return _OtherRow(LEGEND if is_last else REMARK, is_remark or (is_last and no_name))

    def _total(
        self, n: int, filled: dict[int, str], rest: dict[int, str], alike: list[int], before: dict[int, _OtherRow]
    ) -> _OtherRow | None:
        numbers = {k: value for k, cell in rest.items() if (value := typed_number(cell)) is not None}
        groups = [k + 1 for k, other in before.items() if other.kind in (TOTAL, GROUP)]
        adds_up = bool(numbers) and any(
            all(_sums(self.table.frame.iloc[first:n, k], number) for k, number in numbers.items())
            for first in {0, *groups[-1:]}
        )
        is_strange = bool(self.strange[n])
        is_total = any(_TOTAL.fullmatch(cell) for cell in filled.values())
        is_certain = is_strange and is_total and (adds_up or len(filled) <= max(3, self.usual_fill / 3))
        if set(alike) - set(numbers) and not is_certain:
            return None  # it answers as a person does
        if is_total:
            return _OtherRow(TOTAL, is_strange or adds_up)
        return _OtherRow(TOTAL, True) if adds_up and is_strange else None

    def legend(self, block: int, end: int, found: dict[int, _OtherRow]) -> dict[int, _OtherRow]:
        """The rows between two blank ones, if all are short and hold what their columns never do, or one is plain."""
        rows = {n: list(self.table.frame.iloc[n]) for n in range(block, end)}
        begun = any(n in found and found[n].is_plain and found[n].kind in (REMARK, LEGEND, GROUP) for n in rows)
        again = set(self.table.frame.iloc[:block, self.key])
        told: dict[int, bool] = {}  # whether it is plain
        for n, cells in rows.items():
            rest = [(k, cell) for k, cell in enumerate(cells) if cell and k != self.key]
            alike = any(self.columns[k].may_hold(cell) for k, cell in rest)
            is_person = (alike and not begun) or (not rest and not self.strange[n])
            if is_person or len(rest) > max(1, self.usual_fill / 3) or self.usual_fill < 4:
                return {}
            told[n] = bool(self.strange[n]) if begun else cells[self.key] in again
        all_plain = not begun and any(told.values())
        return {
            n: _OtherRow(LEGEND, is_plain or all_plain)
            for n, is_plain in told.items()
            if n not in found or (not found[n].is_plain and (is_plain or all_plain))
        }


def _sums(values: pd.Series, number: float) -> bool:
    """Tell whether a number is the sum of the values above it, how many they are, or their mean."""
    numbers = read_numbers(values)
    numbers = numbers[np.abs(numbers) < 1e15]  # no nan either, and the sum stays a number
    filled = int((values != "").sum())
    if len(numbers) < 2:
        return number == filled > 1
    return number in (filled, len(values)) or bool(
        np.isclose(number, numbers.sum(), rtol=1e-9, atol=1e-6) or np.isclose(number, numbers.mean(), rtol=1e-3)
    )


# The table that is meant -------------------------------------------------------------------------------------------


_OF_THE_TREE = ("id", "own_coupon", "coupons", "recruiter", "coupons_issued")


def meant(table: TextTable, misfit: Callable[[TextTable], Message | None], source: str) -> TextTable:
    """Of several tables in one text or sheet choose the one that fits; `misfit` says why a table cannot be the one."""
    tables = (table, *table.others)
    if len(tables) == 1:
        return table
    alone = [dataclasses.replace(each, others=(), whole=None) for each in tables]
    whole = next((each.whole for each in tables if each.whole is not None), None)
    fitting = [each for each in alone if misfit(each) is None]
    if whole is not None and misfit(whole) is None and (not fitting or _reaches_across(whole, fitting[0], source)):
        return whole
    if len(fitting) > 1:
        places = [_place(each) for each in fitting]
        raise DataFileError("sheets.several_tables", path=source, tables=places)
    chosen = fitting[0] if fitting else max(alone, key=lambda each: each.frame.size)
    unread = [each for each in alone if each is not chosen]
    notes = [
        Note("other-table", int(each.rows[0]), note("problems.other_table", table=_place(each))) for each in unread
    ]
    return dataclasses.replace(chosen, notes=(*chosen.notes, *notes))


def _reaches_across(whole: TextTable, part: TextTable, source: str) -> bool:
    columns = guess_columns(list(map(str, whole.frame.columns)), {}, source)
    return any(name not in part.frame.columns for role in _OF_THE_TREE for name in columns.get(role, ()))


def _place(table: TextTable) -> Message:
    first, last = (int(row) for row in table.rows[[0, -1]])
    return note("problems.table_at", columns=list(map(str, table.frame.columns)), first=first, last=last)
