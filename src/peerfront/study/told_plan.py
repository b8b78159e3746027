"""A plan as a page without ids may tell it: how many people get how many coupons, and averages by group.

The cells that could be recovered are the people of a category, the people who get some number of coupons, and the
people of a category who get some number of coupons. The coupons of the plan and the people who wait are told exactly,
unless one of those groups follows from these two numbers alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import UNKNOWN, Field
from peerfront.foundation.privacy import FEWEST
from peerfront.foundation.subtraction import FEWEST_VALUES, Span, Sum, about, band, recovered, solution
from peerfront.study.told_counts import MOST_ROWS, NOT_TOLD, WIDTHS, told, told_about

UNKNOWN_CATEGORY = "not known"
_STEPS = ((20, 0.1), (10, 0.2), (FEWEST, 0.5))  # people from which on a mean is told to this step
_MOST_CELLS = 150  # of category and number of coupons that are checked; beyond, averages are not told
_CELL_VALUES = 2  # numbers that the people of a category with some number of coupons must be able to be
_WAYS = (*((width, True) for width in WIDTHS[:3]), *((width, False) for width in WIDTHS))


@dataclass(frozen=True)
class ToldGroup:
    """A category of a field among the people who wait."""

    category: str
    people: str
    mean: str
    """Coupons per person, to a step that depends on how many people they are; a dash where it is not told."""


class ToldPlan:
    """What is told of a plan: `people` who wait, `coupons`, `numbers` (who get so many), `groups` of a field.

    Somebody could know the numbers, so that every field is safe even then. Where they are hidden, other numbers
    (`_others`) are found that go with everything told, and each field is told so that it goes with them too: whatever
    is told of how many fields, the numbers do not follow.
    """

    def __init__(self, coupons: NDArray[np.int64], max_per_person: int | None) -> None:
        """Take each person's coupons, [people], and the most that one may get."""
        self._coupons = coupons
        most = int(coupons.max(initial=0))
        self._most = most if max_per_person is None else max(max_per_person, most)
        self._counts = {str(n): int((coupons == n).sum()) for n in range(self._most + 1)}
        self._waiting: Span = (len(coupons), len(coupons))
        self._given: Span = (int(coupons.sum()), int(coupons.sum()))
        self._spans = self._told_numbers()
        self._others = self._other_numbers()

    @property
    def is_rounded(self) -> bool:
        """Whether the people who wait are told to the nearest five: a small group follows from the exact number."""
        return self._waiting[0] < self._waiting[1]

    @property
    def people(self) -> str:
        """The people who wait."""
        return told_about(len(self._coupons)) if self.is_rounded else f"{len(self._coupons):,}"

    @property
    def coupons(self) -> str:
        """The coupons of the plan."""
        return told(self._given)

    @property
    def numbers(self) -> list[tuple[int, str]]:
        """How many people get 0, 1, 2, ... coupons; empty if it cannot be told without telling of few people."""
        exact = all(low == high for low, high in self._spans.values())
        return [(int(n), told(span)) for n, span in self._spans.items() if self._counts[n] or not exact]

    def groups(self, field: Field, codes: NDArray[np.int16]) -> list[ToldGroup]:
        """The categories of a field, how many people wait in each, and what they get on average.

        Empty if the field cannot be told without telling of few people. Categories in which nobody waits are listed
        where numbers are bands, so that they cannot be told from small ones.
        """
        there = [codes == code for code in (*range(len(field)), UNKNOWN)]
        names = [*field.categories, UNKNOWN_CATEGORY]
        counts = [int(each.sum()) for each in there]
        means = [float(self._coupons[each].mean()) if each.any() else 0.0 for each in there]
        large = len(names) * (self._most + 1) > _MOST_CELLS
        for width, with_means in _WAYS:
            spans = [band(count, width) for count in counts]
            steps = [_step(span) if with_means else None for span in spans]
            if (large and with_means) or not _is_safe(counts, spans, len(codes)):
                continue
            if large or self._cells_are_safe(there, spans, means, steps):
                return [
                    ToldGroup(name, told(span), _told_mean(mean, step))
                    for name, span, mean, step, count in zip(names, spans, means, steps, counts, strict=True)
                    if count or (width > 1 and name != UNKNOWN_CATEGORY)
                ]
        return []

    def _sums(self) -> list[Sum]:
        """The totals that are told: people who wait, coupons of the plan."""
        everybody = Sum(dict.fromkeys(self._counts, 1.0), *self._waiting)
        return [everybody, Sum({n: float(n) for n in self._counts}, *self._given)]

    def _told_numbers(self) -> dict[str, Span]:
        """What is told of how many people get how many; empty if nothing can be. May round the people who wait."""
        if all(count >= FEWEST for count in self._counts.values() if count):
            return {n: (count, count) for n, count in self._counts.items()}
        if self._most >= MOST_ROWS:
            return {}
        anything = dict.fromkeys(self._counts, (0, len(self._coupons) + FEWEST))
        if recovered(self._counts, anything, self._sums()):  # people and coupons alone tell it
            self._waiting = about(len(self._coupons))
            if self._given[0] < FEWEST:
                self._given = (0, FEWEST - 1)
        for width in WIDTHS[1:]:
            spans = {n: band(count, width) for n, count in self._counts.items()}
            if not recovered(self._counts, spans, self._sums()):
                return spans
        return {}

    def _other_numbers(self) -> list[dict[str, int]]:
        """For each number that few people get: numbers as told, close to the true ones, in which it is another."""
        others: list[dict[str, int]] = []
        if self._most >= MOST_ROWS:
            return others
        known = self._spans or dict.fromkeys(self._counts, (0, len(self._coupons) + FEWEST))
        for few, count in self._counts.items():
            if not 0 < count < FEWEST or any(each[few] != count for each in others):
                continue
            away = {f"off {n}": (0, 10**6) for n in self._counts}
            sums = self._sums()
            for n, true in self._counts.items():
                sums += [Sum({n: 1.0, f"off {n}": -1.0}, -np.inf, true), Sum({n: 1.0, f"off {n}": 1.0}, true, np.inf)]
            ends = [(max(known[few][0], count + 1), known[few][1]), (known[few][0], min(known[few][1], count - 1))]
            found = [
                solution({**known, **away, few: end}, sums, dict.fromkeys(away, 1.0))
                for end in ends
                if end[0] <= end[1]
            ]
            near = min((each for each in found if each), key=lambda each: sum(each[n] for n in away), default=None)
            if near is not None:
                others.append({n: near[n] for n in self._counts})
        return others

    def _cells_are_safe(
        self,
        there: Sequence[NDArray[np.bool_]],
        spans: Sequence[Span],
        means: Sequence[float],
        steps: Sequence[float | None],
    ) -> bool:
        """Whether the people of each category with each number of coupons could be of several sizes, if few."""
        groups = range(len(there))
        counts = {f"{i} {n}": int((self._coupons[there[i]] == int(n)).sum()) for i in groups for n in self._counts}
        known: dict[str, Span] = dict.fromkeys(counts, (0, len(self._coupons)))
        told_of_field: list[Sum] = []
        for i, ((low, high), mean, step) in enumerate(zip(spans, means, steps, strict=True)):
            told_of_field.append(Sum({f"{i} {n}": 1.0 for n in self._counts}, low, high))
            if step is not None:
                middle = _rounded(mean, step)
                for end, span in ((middle - step / 2, (-1e-9, np.inf)), (middle + step / 2, (-np.inf, 1e-9))):
                    told_of_field.append(Sum({f"{i} {n}": int(n) - end for n in self._counts}, *span))

        def with_numbers(numbers: Mapping[str, int]) -> list[Sum]:
            sums = [Sum.equal({f"{i} {n}": 1.0 for i in groups}, count) for n, count in numbers.items()]
            return [*told_of_field, *sums]

        if recovered(counts, known, with_numbers(self._counts), _CELL_VALUES):
            return False
        return all(solution(known, with_numbers(other)) is not None for other in self._others)


def _is_safe(counts: Sequence[int], spans: Sequence[Span], total: int) -> bool:
    """Whether every group of one to four could be of several sizes, where all groups add up to the total."""
    low, high = sum(span[0] for span in spans), sum(span[1] for span in spans)
    for count, (lowest, highest) in zip(counts, spans, strict=True):
        if 0 < count < FEWEST:
            fewest, most = max(lowest, total - (high - highest)), min(highest, total - (low - lowest))
            if most - fewest + 1 < FEWEST_VALUES:
                return False
    return True


def _step(span: Span) -> float | None:
    """The step to which the mean of a group is told; None if the group may be small."""
    return next((step for people, step in _STEPS if span[0] >= people), None)


def _rounded(mean: float, step: float) -> float:
    return round(mean / step) * step


def _told_mean(mean: float, step: float | None) -> str:
    return NOT_TOLD if step is None else f"about {_rounded(mean, step):.1f}"
