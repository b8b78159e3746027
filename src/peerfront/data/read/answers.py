"""Answers as people type them, made plain: words and numbers that mean "not known", one writing for each category.

"DK" and "no sabe" are not known, and so is 99 where it stands apart from the other numbers of its column; F and f,
México and Mexico are one category; "about 20" is 20. What was done is a step, what is in doubt a problem with its row.
"""

import dataclasses
from collections import Counter

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.problems import Problem
from peerfront.data.read.listing import Listing, Texts, each
from peerfront.data.read.read_settings import CALENDAR_ROLES
from peerfront.foundation.messages import Message, first_of, note
from peerfront.foundation.typed_values import means_not_known, one_slip, read_numbers, rough_number, unified

MOST_KNOWN = 100_000
"""People whom one person can know; more is a typing error."""
_MOST_DIFFERENT = 5_000  # different texts; a column with more holds no categories
_MEASURED, _NUMBERS = 9, 0.9  # different numbers, and the share of numbers, from which on a column holds numbers
_CODES = {digit * ones for digit in (7, 8, 9) for ones in (1, 11, 111, 1_111, 11_111)} | {97, 98, 997, 998, 9_998}
_SURE_CODES = {98, 99, 998, 999, 9_998, 9_999, 99_999}  # so usual that one person with it is enough
_FEWEST_OTHERS = 8  # people with other numbers, without whom nothing stands apart
_FEW, _GAP = 6, 3  # the highest of a few categories in numbers, and how far behind it 7, 8 and 9 stand apart
_NOT_FEW = 5  # people with the highest of the other numbers
_MANY_SIZES = 30  # people among whom network sizes go beyond 6
_TIMES = 3.0  # a code stands apart if it is more than 3 times the next number
_OFTEN, _RARELY = 10, 2  # people with an answer that others may have mistyped, and people with the mistyped one
_SHORTEST, _MOST_ANSWERS = 4, 60  # letters of an answer, and answers of a column, among which typing errors are sought
_SHOWN = 3


def plain_answers(listing: Listing) -> Listing:
    """The listing with plain answers, the codes that were taken for "not known", steps and problems."""
    reader = _Reader(listing)
    people = listing.people.reset_index(drop=True)
    changed = {name: reader.plain(name, people[name]) for name in map(str, people.columns)}
    changed = {name: values for name, values in changed.items() if values is not None}
    return dataclasses.replace(
        listing,
        people=people.assign(**changed),
        not_known=reader.not_known,
        problems=(*listing.problems, *reader.problems),
        steps=(*listing.steps, *reader.words_step(), *reader.steps),
    )


class _Reader:
    """Makes one column after another plain, and collects what was done."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.kept = {unified(code) for code in listing.settings.real_values}
        self.sizes = listing.columns.get("network_size", ())
        roles = [role for role in CALENDAR_ROLES if role not in ("site", "waiting")]
        self.dates = {name for role in roles for name in listing.columns.get(role, ())}
        self.words: Counter[str] = Counter()
        self.not_known: dict[str, tuple[str, ...]] = {}
        self.problems: list[Problem] = []
        self.steps: list[Message] = []

    def plain(self, name: str, values: pd.Series) -> Texts | None:
        """The column with plain answers, [people]; None if it holds no others."""
        codes, different = pd.factorize(values.to_numpy(dtype=object))
        is_size = name in self.sizes
        if len(different) > max(_MOST_DIFFERENT, 0.5 * len(codes)) and not is_size:
            return None
        counts = np.bincount(codes, minlength=len(different))
        plain = different.copy()
        words = {text for text in means_not_known(different) if unified(text) not in self.kept}
        for place in np.flatnonzero([text in words for text in different]):
            self.words[different[place]] += int(counts[place])
            plain[place] = ""
        if name not in self.dates:
            filled = plain != ""
            numbers = read_numbers(pd.Series(plain, dtype=object))
            finite = np.isfinite(numbers)
            many = len(np.unique(numbers[finite])) >= _MEASURED
            if is_size or (many and counts[finite].sum() >= _NUMBERS * counts[filled].sum()):
                self._numbers(name, codes, plain, numbers, is_size=is_size)
            elif (finite | ~filled).all():
                self._codes_apart(name, plain, numbers, counts, is_size=False)
            elif len(different) <= max(_MOST_ANSWERS, 0.5 * counts[filled].sum()):
                self._one_writing(name, codes, plain, counts)
        return None if (plain == different).all() else plain[codes]

    def words_step(self) -> list[Message]:
        """Say which words were taken for "not known"."""
        if not self.words:
            return []
        words = first_of([word for word, _ in self.words.most_common()], _SHOWN)
        return [note("steps.words_not_known", n=self.words.total(), words=words)]

    # Numbers ------------------------------------------------------------------------------------------------------

    def _numbers(
        self, name: str, codes: NDArray[np.int64], plain: Texts, numbers: NDArray[np.float64], *, is_size: bool
    ) -> None:
        """Read "about 20" as 20; report ranges, words and, of network sizes, numbers that cannot be."""
        counts = np.bincount(codes, minlength=len(plain))
        read: list[int] = []
        middle: dict[int, str] = {}
        for place in np.flatnonzero(np.isnan(numbers) & (plain != "")):
            low, high = rough_number(plain[place]) or (np.nan, np.nan)
            if low < high:
                middle[int(place)] = f"{np.floor((low + high) / 2):.0f}"
            elif low == high:
                numbers[place] = low
                read.append(int(place))
        if read:
            example = max(read, key=lambda place: counts[place])
            values = {"value": plain[example], "number": numbers[example], "n": int(counts[read].sum())}
            self.steps.append(note("steps.rough_numbers", column=name, **values))
            plain[read] = [f"{numbers[place]:g}" for place in read]
        self._codes_apart(name, plain, numbers, counts, is_size=is_size)
        if is_size:
            self._codes_of_bands(name, plain, numbers, counts, list(middle))
        with np.errstate(invalid="ignore"):
            possible = (numbers >= 0) & (numbers <= MOST_KNOWN) if is_size else np.isfinite(numbers)
        bad = np.flatnonzero(~possible & (plain != ""))
        people = np.flatnonzero(np.isin(codes, bad))
        found = [str(plain[codes[i]]) for i in people]
        why = note("mends.middle")
        offers = [middle.get(int(codes[i])) for i in people]
        mends = [None if offer is None else (name, text, offer, why) for offer, text in zip(offers, found, strict=True)]
        kind, code = (
            ("bad-network-size", "problems.bad_network_size") if is_size else ("bad-number", "problems.bad_number")
        )
        messages = [note(code, column=name, value=text, most=MOST_KNOWN) for text in found]
        self.problems += each(self.listing, kind, people, messages, name, mends)
        plain[bad] = ""

    def _codes_of_bands(
        self, name: str, plain: Texts, numbers: NDArray[np.float64], counts: NDArray[np.int64], bands: list[int]
    ) -> None:
        """Ask about network sizes that are bands, or a few codes from 0 or 1 on, with 9 for "not known"."""
        filled = plain != ""
        n = int(counts[filled].sum())
        sizes = np.unique(numbers[filled & np.isfinite(numbers)])
        codes, rest = sizes[sizes <= _FEW], sizes[sizes > _FEW]
        numbered = len(codes) >= 3 and codes[0] in (0, 1) and (np.diff(codes) == 1).all()
        fault = None
        if bands and counts[bands].sum() >= 0.5 * n:
            values = [str(plain[i]) for i in sorted(bands, key=lambda i: -counts[i])]
            fault = note("problems.size_bands", column=name, values=first_of(values, _SHOWN))
        elif n >= _MANY_SIZES and numbered and (not len(rest) or (rest == 9).all()):
            fault = note("problems.size_codes", column=name, n=n, values=[f"{size:g}" for size in sizes])
        if fault is not None:
            self.problems.append(Problem("coded-network-size", None, "", fault, name))

    def _codes_apart(
        self, name: str, plain: Texts, numbers: NDArray[np.float64], counts: NDArray[np.int64], *, is_size: bool
    ) -> None:
        """Take codes such as 99 for "not known" where they stand apart."""
        filled = np.isfinite(numbers) & (plain != "")
        apart = codes_apart(np.repeat(numbers[filled], counts[filled]), digits=not is_size)
        places = [i for i in np.flatnonzero(filled) if numbers[i] in apart and unified(plain[i]) not in self.kept]
        if not places:
            return
        found = [str(plain[i]) for i in places]
        self.not_known[name] = tuple(found)
        for i, text in zip(places, found, strict=True):
            values = {"column": name, "value": text, "n": int(counts[i])}
            self.problems.append(Problem("stands-apart", None, "", note("problems.stands_apart", **values), name))
        plain[places] = ""

    # Categories ---------------------------------------------------------------------------------------------------

    def _one_writing(self, name: str, codes: NDArray[np.int64], plain: Texts, counts: NDArray[np.int64]) -> None:
        """Give answers that differ in case, blanks and accents their most frequent writing; report likely typos."""
        groups: dict[str, list[int]] = {}
        for place in np.flatnonzero(plain != ""):
            groups.setdefault(unified(plain[place]), []).append(int(place))
        merged = []
        for places in groups.values():
            best = max(places, key=lambda place: counts[place])
            others = [place for place in places if place != best]
            if others:
                n = int(counts[others].sum())
                merged.append((n, note("steps.writing", others=[str(plain[i]) for i in others], kept=plain[best], n=n)))
                plain[others] = plain[best]
        if merged:
            merged.sort(key=lambda each: -each[0])
            self.steps.append(note("steps.one_writing", column=name, writings=first_of([m for _, m in merged], _SHOWN)))
        if len(groups) <= _MOST_ANSWERS:
            self._likely_typos(name, codes, plain, groups, counts)

    def _likely_typos(
        self,
        name: str,
        codes: NDArray[np.int64],
        plain: Texts,
        groups: dict[str, list[int]],
        counts: NDArray[np.int64],
    ) -> None:
        totals = {key: int(counts[places].sum()) for key, places in groups.items()}
        common = [key for key, people in totals.items() if people >= _OFTEN and len(key) >= _SHORTEST]
        for key, people in totals.items():
            if people > _RARELY or len(key) < _SHORTEST or any(map(str.isdigit, key)):
                continue
            near = [other for other in common if one_slip(key, other)]
            if len(near) != 1:
                continue
            meant = str(plain[groups[near[0]][0]])
            rows = np.flatnonzero(np.isin(codes, groups[key]))
            why = note("mends.often", answer=meant, n=totals[near[0]])
            found = [str(plain[codes[i]]) for i in rows]
            messages = [note("problems.odd_answer", column=name, value=text, meant=meant) for text in found]
            self.problems += each(
                self.listing, "odd-answer", rows, messages, name, [(name, text, meant, why) for text in found]
            )


def codes_apart(numbers: NDArray[np.float64], *, digits: bool = True) -> set[float]:
    """Those of 99, 88, -1, ... that stand apart from the other numbers of a column; without `digits` not 7, 8 and 9.

    Negative codes do so if all others are at least 0. Others must be the highest numbers of the column: more than three
    times the next one; or, if several people have them, half the others' range away, or a tenth and more frequent than
    the highest tenth of the others. 7, 8 and 9 stand apart from a few categories that are numbered up to 6, and behind
    a gap in numbers without one.
    """
    values, counts = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
    low = values[values < 0]
    high, people = values[values >= 0], counts[values >= 0]
    apart: set[float] = set()
    if people.sum() >= _FEWEST_OTHERS and all(-value in _CODES | {1} for value in low) and list(values) != [-1, 0, 1]:
        apart |= set(low.tolist())
    first = len(high)
    while first > 1 and high[first - 1] in _CODES:
        first -= 1
    for start in range(first, len(high)):
        others, n = high[:start], people[:start]
        code, has = float(high[start]), int(people[start:].sum())
        if n.sum() >= _FEWEST_OTHERS and _stands_apart(code, has, others, n, digits=digits):
            return apart | set(high[start:].tolist())
    return apart


def _stands_apart(code: float, has: int, others: NDArray[np.float64], n: NDArray[np.int64], *, digits: bool) -> bool:
    top, span = float(others[-1]), float(others[-1] - others[0])
    gap = code - top
    if code < 10:
        if has == 1 or len(others) == 1 or (others != np.floor(others)).any():
            return False
        each_number = len(others) == span + 1 and n[-1] >= _NOT_FEW  # then a number between would not be left out
        return (digits and top <= _FEW and gap >= _GAP) or (each_number and gap > 1)
    if code > _TIMES * top and (has > 1 or code in _SURE_CODES):
        return True
    ahead = int(n[others >= top - 0.1 * span].sum())
    return (has > 1 and gap >= 0.5 * span) or (has > max(2, ahead) and gap >= 0.1 * span)
