"""Somebody who reads what is shared and computes: every number becomes a span, every total an equation, then solve."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


def solve(
    spans: Mapping[str, tuple[float, float]], sums: Sequence[tuple[Mapping[str, float], float, float]], wanted: str
) -> tuple[int, int]:
    """The smallest and the largest value of one count, all counts whole."""
    place = {name: number for number, name in enumerate(spans)}
    rows = np.zeros((len(sums), len(spans)))
    for row, (weights, _, _) in enumerate(sums):
        for name, weight in weights.items():
            rows[row, place[name]] = weight
    within = LinearConstraint(rows, [low for _, low, _ in sums], [high for _, _, high in sums])
    ends = np.minimum(np.array(list(spans.values()), dtype=float), 1e5)  # larger limits are too much for the solver
    found = []
    for sign in (1, -1):
        aim = np.zeros(len(spans))
        aim[place[wanted]] = sign
        solved = milp(aim, constraints=[within], bounds=Bounds(*ends.T), integrality=np.ones(len(spans), dtype=int))
        assert solved.x is not None, "what is told contradicts itself"
        found.append(round(solved.x[place[wanted]]))
    return found[0], found[1]


def recovered_cells(
    truth: Mapping[str, int],
    spans: Mapping[str, tuple[float, float]],
    sums: Sequence[tuple[Mapping[str, float], float, float]],
) -> list[str]:
    """The groups of one to four people whose size follows; what is told must be true."""
    for name, (low, high) in spans.items():
        assert low <= truth[name] <= high, name
    for weights, low, high in sums:
        assert low - 1e-6 <= sum(weight * truth[name] for name, weight in weights.items()) <= high + 1e-6, weights
    small = [name for name, count in truth.items() if 0 < count < 5]
    return [name for name in small if len(set(solve(spans, sums, name))) == 1]
