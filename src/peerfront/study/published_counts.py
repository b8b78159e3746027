"""Counts of people as a page may publish them, by the rule of statistical offices.

Counts are rounded to multiples of five, and those under five are hidden. A hidden count can still follow from a total
and its other parts: then one more of these is hidden, until it does not (`safe_counts`). The numbers of people in the
study, of seeds and of coupons in a plan are published exactly; they are part of the study's design. What a reader can
derive is computed sum by sum; solving all sums at once exposes only one more of 1,666 small groups in 1,000 studies.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from peerfront.data.study import Study, Summary
from peerfront.foundation.covariates import UNKNOWN, Field
from peerfront.foundation.messages import Message, note
from peerfront.foundation.stored import FEWEST, rounded_count

MOST_ROWS = 12
"""Rows of a table up to which it is published; longer ones would be full of small counts."""
_FEWEST_VALUES = 2  # a reader's computation must leave at least this many possible values for a small count
_FEWEST_FOR_MEAN = 20  # smallest group whose mean number of coupons is published
_MOST_PASSES = 100  # over all sums; five nearly always suffice
_NO_LIMIT = 10**9

Span = tuple[float, float]
"""The lowest and the highest number that a count can be."""


class Precision(StrEnum):
    """How much of a count is published; the values are the codes of its messages."""

    EXACT = "published.exact"
    ROUNDED = "published.rounded"
    FEW = "published.few"
    HIDDEN = "published.hidden"


@dataclass(frozen=True)
class PublishedCount:
    """A count of people, rounded or hidden."""

    precision: Precision
    number: int = 0

    @property
    def span(self) -> Span:
        """What a reader learns: the lowest and the highest possible number."""
        if self.precision is Precision.HIDDEN:
            return 0, _NO_LIMIT
        if self.precision is Precision.FEW:
            return 0, FEWEST - 1
        slack = 0 if self.precision is Precision.EXACT else FEWEST // 2
        return max(self.number - slack, min(FEWEST, self.number)), self.number + slack

    @property
    def message(self) -> Message:
        """The count as a page shows it."""
        return note(self.precision, number=self.number, fewest=FEWEST)

    def __str__(self) -> str:
        return str(self.message)


HIDDEN = PublishedCount(Precision.HIDDEN)


def published(count: int) -> PublishedCount:
    """Publish a single count: rounded to five, or hidden if it is under five."""
    if count < FEWEST:
        return PublishedCount(Precision.FEW)
    return PublishedCount(Precision.ROUNDED, rounded_count(count))


def published_share(part: int, whole: int) -> float | Message | None:
    """The share of people to whom something applies; None if these or the others are few, or if there is nobody."""
    if 0 < part < FEWEST:
        return note("published.few_people", fewest=FEWEST)
    if 0 < whole - part < FEWEST:
        return note("published.nearly_all")
    return part / whole if whole else None


# Sums that would give a small count away ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sum:
    """What readers know about several counts: their weighted sum lies between `low` and `high`."""

    weights: Mapping[str, float]
    low: float
    high: float

    @classmethod
    def equal(cls, weights: Mapping[str, float], total: float) -> "Sum":
        return cls(weights, total, total)


def about(count: int) -> Span:
    """The numbers that round to the same multiple of five, as in saved models."""
    middle = rounded_count(count)
    return max(middle - FEWEST // 2, 0), middle + FEWEST // 2


def safe_counts(
    counts: Mapping[str, int], sums: Sequence[Sum], exact: Collection[str] = (), unpublished: Collection[str] = ()
) -> dict[str, PublishedCount]:
    """Publish counts so that no small one follows from the sums: if one would, hide the next larger count, too.

    `exact` counts are published exactly if possible; `unpublished` counts only take part in sums.
    """
    shown = {name: published(count) for name, count in counts.items()}
    shown |= {name: PublishedCount(Precision.EXACT, counts[name]) for name in exact}
    shown |= dict.fromkeys(unpublished, HIDDEN)
    while exposed := _exposed(counts, shown, sums, exact):
        beside = {name for each in sums if exposed & each.weights.keys() for name in each.weights}
        open_counts = [name for name in counts if shown[name].precision in (Precision.ROUNDED, Precision.EXACT)]
        if not open_counts:
            return dict.fromkeys(counts, HIDDEN)
        hidden = min(open_counts, key=lambda name: (name in exact, name not in beside, counts[name]))
        shown[hidden] = HIDDEN
    return shown


def _exposed(
    counts: Mapping[str, int], shown: Mapping[str, PublishedCount], sums: Sequence[Sum], exact: Collection[str]
) -> set[str]:
    """The groups of one to four people with too few possible sizes left."""
    small = {name for name, count in counts.items() if 0 < count < FEWEST and name not in exact}
    spans = {name: each.span for name, each in shown.items()}
    for name in small:  # its row in the table, or its fault in the list, shows that there is somebody
        spans[name] = max(spans[name][0], 1), spans[name][1]
    spans = possible_values(spans, sums)
    return {name for name in small if spans[name][1] - spans[name][0] + 1 < _FEWEST_VALUES}


def possible_values(spans: Mapping[str, Span], sums: Sequence[Sum]) -> dict[str, Span]:
    """Narrow the possible values of each count by each sum, again and again, until nothing changes."""
    possible = dict(spans)
    for _ in range(_MOST_PASSES):
        changed = False
        for each in sums:
            ends = {name: sorted((w * possible[name][0], w * possible[name][1])) for name, w in each.weights.items()}
            least, most = sum(low for low, _ in ends.values()), sum(high for _, high in ends.values())
            for name, weight in each.weights.items():
                low, high = each.low - (most - ends[name][1]), each.high - (least - ends[name][0])
                low, high = sorted((low / weight, high / weight))
                narrow = max(possible[name][0], math.ceil(low - 1e-9)), min(possible[name][1], math.floor(high + 1e-9))
                changed = changed or narrow != possible[name]
                possible[name] = narrow
        if not changed:
            break
    return possible


# A study -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublishedStudy:
    """The counts of a study."""

    facts: Mapping[str, PublishedCount]
    """Counts by the names of `Summary.facts`."""
    rows: tuple[tuple[int, PublishedCount, PublishedCount], ...]
    """Number, people who brought that many recruits, people issued that many coupons; empty if not published."""


_SEEDS, _UNKNOWN, _COUPONS, _PAIRS = "seeds", "recruiter unknown", "coupons issued", "recruiter-recruit pairs"
_OPEN, _USABLE = "coupons may still be open (people)", "people with usable recruitment counts"
_UNUSABLE = "people without usable recruitment counts"


def publish_study(study: Study, summary: Summary) -> PublishedStudy:
    """Publish the counts of a study; sums include the counts, to the nearest five, that its saved model gives away."""
    facts = dict(summary.facts)
    numbers = sorted({0, *summary.recruits_per_person, *summary.coupons_per_person})
    if len(numbers) > MOST_ROWS:
        numbers = []
    usable = dict(zip(*np.unique(study.recruits[study.informative], return_counts=True), strict=True))
    counts = {
        **{name: facts[name] for name in (_SEEDS, _UNKNOWN, _COUPONS, _OPEN, _USABLE, _PAIRS)},
        _UNUSABLE: summary.people - summary.triples,
        **_by_number("brought", numbers, summary.recruits_per_person),
        **_by_number("issued", numbers, summary.coupons_per_person),
        **_by_number("seen", numbers, usable),
    }
    unpublished = {_UNUSABLE, *(name for name in counts if name.startswith("seen") or name.endswith("or more"))}
    safe = safe_counts(counts, _study_sums(counts, numbers, summary.people), {_SEEDS}, unpublished)
    exact = {name: PublishedCount(Precision.EXACT, facts[name]) for name in ("people", "deepest wave")}
    rows = tuple((n, safe[f"brought {n}"], safe[f"issued {n}"]) for n in numbers)
    return PublishedStudy(
        {name: exact.get(name) or safe[_PAIRS if name == "coupons redeemed" else name] for name in facts},
        () if all(count == HIDDEN for row in rows for count in row[1:]) else rows,
    )


def _by_number(what: str, numbers: Sequence[int], people: Mapping[int, int]) -> dict[str, int]:
    """People with each number of something, and with that number or more."""
    counts = {f"{what} {n}": int(people.get(n, 0)) for n in numbers}
    return counts | {f"{what} {n} or more": int(sum(people.get(m, 0) for m in numbers if m >= n)) for n in numbers}


def _study_sums(counts: Mapping[str, int], numbers: Sequence[int], people: int) -> list[Sum]:
    """The sums that connect the counts of a study."""
    facts = [
        Sum.equal({_SEEDS: 1.0, _UNKNOWN: 1.0, _PAIRS: 1.0}, people),
        Sum.equal({_USABLE: 1.0, _UNUSABLE: 1.0}, people),
        Sum({_USABLE: 1.0, _OPEN: 1.0}, 0, people),
        Sum({_PAIRS: 1.0}, *about(counts[_PAIRS])),
        Sum({_USABLE: 1.0}, *about(counts[_USABLE])),
    ]
    if not numbers:
        return facts
    sums = [
        *facts,
        *_sums_of_numbers("brought", numbers, (people, people), _PAIRS),
        *_sums_of_numbers("issued", numbers, (people, people), _COUPONS),
        *_sums_of_numbers("seen", numbers, (0, people)),
        Sum.equal({"seen 0 or more": 1.0, _USABLE: -1.0}, 0),
        Sum({_USABLE: 1.0, "issued 0": 1.0}, 0, people),
        *(Sum({f"seen {n} or more": 1.0}, *about(counts[f"seen {n} or more"])) for n in numbers),
        *(Sum.equal({name: 1.0}, 0) for name, count in counts.items() if name.endswith("or more") and not count),
        *(Sum({f"seen {n}{more}": 1.0, f"brought {n}{more}": -1.0}, -people, 0) for n in numbers for more in _MORE),
    ]
    if not counts[_OPEN] and counts[_UNUSABLE] == counts["issued 0"]:  # readers may guess that others are all usable
        sums.append(Sum.equal({_UNUSABLE: 1.0, "issued 0": -1.0}, 0))
        for n in numbers[1:]:
            sums.append(Sum.equal({f"seen {n}": 1.0, f"brought {n}": -1.0}, 0))
            sums.append(Sum({f"issued {n} or more": 1.0}, *about(counts[f"issued {n} or more"])))
    return sums


_MORE = ("", " or more")


def _sums_of_numbers(what: str, numbers: Sequence[int], people: Span, total: str = "") -> list[Sum]:
    """People by number add up to all people, and people times number to the total.

    A reader can subtract the first sum from the second several times, which makes one more sum for each number.
    """
    low, high = people
    names = {f"{what} {n}": n for n in numbers}
    sums = [Sum(dict.fromkeys(names, 1.0), low, high), Sum({f"{what} {numbers[0]} or more": 1.0}, low, high)]
    for n, larger in zip(numbers, [*numbers[1:], None], strict=True):
        beyond = {} if larger is None else {f"{what} {larger} or more": 1.0}
        sums.append(Sum.equal({f"{what} {n}": 1.0, **beyond, f"{what} {n} or more": -1.0}, 0))
        if total:
            others = {name: float(m - n) for name, m in names.items() if m != n}
            sums.append(Sum(others | {total: -1.0}, -n * high, -n * low))
    if total:
        steps = {f"{what} {n} or more": float(n - fewer) for fewer, n in pairwise(numbers)}
        sums.append(Sum.equal(steps | {total: -1.0}, 0))
    return sums


# A plan --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublishedGroup:
    """The people who wait in one category of a field."""

    category: str | None
    """None: the answer is missing."""
    people: PublishedCount
    mean: float | None
    """Coupons per person to one decimal; None if not published."""


@dataclass(frozen=True)
class PublishedPlan:
    """A plan without persons."""

    people: PublishedCount
    """People who wait."""
    coupons: PublishedCount
    numbers: tuple[tuple[int, PublishedCount], ...]
    """A number of coupons, and the people who get that many; empty if not published."""
    fields: Mapping[str, tuple[PublishedGroup, ...]]


def publish_plan(
    coupons: NDArray[np.int64], most: int | None, fields: Sequence[Field], covariates: NDArray[np.int16]
) -> PublishedPlan:
    """Publish each person's coupons [people], at most `most` each, and covariates [people, fields] as counts."""
    largest = max(int(coupons.max(initial=0)), most or 0)
    people = published(len(coupons))
    numbers = range(largest + 1) if largest < MOST_ROWS else ()
    counts = {"coupons": int(coupons.sum())} | _by_number("gets", numbers, Counter(coupons.tolist()))
    sums = _sums_of_numbers("gets", numbers, people.span, "coupons") if numbers else []
    exact = {"coupons"} if counts["coupons"] >= FEWEST else set()
    safe = safe_counts(counts, sums, exact, [name for name in counts if name.endswith("or more")])
    return PublishedPlan(
        people,
        safe["coupons"],
        tuple((n, safe[f"gets {n}"]) for n in numbers),
        {field.name: _groups(field, covariates[:, n], coupons, people) for n, field in enumerate(fields)},
    )


def _groups(
    field: Field, codes: NDArray[np.int16], coupons: NDArray[np.int64], people: PublishedCount
) -> tuple[PublishedGroup, ...]:
    """The categories of a field, with empty ones, which must look like small ones."""
    members = {str(code): codes == code for code in (*range(len(field)), UNKNOWN)}
    counts = {name: int(mine.sum()) for name, mine in members.items()}
    safe = safe_counts(counts, [Sum(dict.fromkeys(counts, 1.0), *people.span)])
    return tuple(
        PublishedGroup(
            None if name == str(UNKNOWN) else field.categories[int(name)],
            safe[name],
            round(float(coupons[mine].mean()), 1) if safe[name].number >= _FEWEST_FOR_MEAN else None,
        )
        for name, mine in members.items()
    )
