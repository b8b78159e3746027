"""What can be computed about a count that is not told, from the counts and totals that are.

Somebody who reads a page knows, of every count, a lowest and a highest number (the same, where it is told exactly), and
sums of counts: categories add up to the total, people times coupons to the coupons given out. `reach` finds the
smallest and the largest whole number that a count can then be. A count is recovered if these are the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from peerfront.foundation.privacy import FEWEST

Span = tuple[int, int]
"""The lowest and the highest number that a count is told to be."""
FEWEST_VALUES = 3
"""Numbers that a hidden count must be able to be."""


@dataclass(frozen=True)
class Sum:
    """Something that is known of several counts: that their weighted sum lies from `low` to `high`."""

    weights: Mapping[str, float]
    low: float
    high: float

    @classmethod
    def equal(cls, weights: Mapping[str, float], total: float) -> "Sum":
        return cls(weights, total, total)


def band(count: int, width: int) -> Span:
    """The band of so many numbers that a count lies in: 0 to 4, 5 to 9, ..."""
    low = count - count % width
    return low, low + width - 1


def about(count: int) -> Span:
    """The counts that are the same to the nearest five, as saved models tell them."""
    middle = (count + FEWEST // 2) // FEWEST * FEWEST
    return max(middle - FEWEST // 2, 0), middle + FEWEST // 2


def reach(spans: Mapping[str, Span], sums: Sequence[Sum], name: str) -> Span:
    """The smallest and the largest whole number that a count can be, given all that is told."""
    low, high = (solution(spans, sums, {name: sign}) for sign in (1.0, -1.0))
    if low is None or high is None:  # undecided: count on the worst
        return spans[name][0], spans[name][0]
    return low[name], high[name]


def solution(
    spans: Mapping[str, Span], sums: Sequence[Sum], aim: Mapping[str, float] | None = None
) -> dict[str, int] | None:
    """Whole counts that agree with all that is told and make a weighted sum small; None if there are none."""
    names = {each: place for place, each in enumerate(spans)}
    matrix = np.zeros((len(sums), len(names)))
    for row, each in enumerate(sums):
        for part, weight in each.weights.items():
            matrix[row, names[part]] += weight
    constraint = LinearConstraint(matrix, [each.low for each in sums], [each.high for each in sums])
    low, high = np.array(list(spans.values()), dtype=float).T
    weights = np.zeros(len(names))
    for name, weight in (aim or {}).items():
        weights[names[name]] = weight
    whole = np.ones(len(names), dtype=np.int64)
    found = milp(weights, constraints=[constraint], bounds=Bounds(low, high), integrality=whole)
    return None if found.x is None else {name: round(float(found.x[place])) for name, place in names.items()}


def recovered(
    counts: Mapping[str, int], spans: Mapping[str, Span], sums: Sequence[Sum], values: int = FEWEST_VALUES
) -> list[str]:
    """The groups of one to four people of which too few numbers remain possible."""
    small = [name for name, count in counts.items() if 0 < count < FEWEST]
    found = []
    for name in small:
        low, high = spans[name]
        if high - low + 1 >= values:
            low, high = reach(spans, sums, name)
        if high - low + 1 < values:
            found.append(name)
    return found
