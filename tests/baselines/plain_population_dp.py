"""Population DP as its recursion is written, recomputing every distribution where it is needed: O(budget^5).

Tests hold the tables of `peerfront.baselines.population_dp` equal to it, and a benchmark measures the difference.
"""

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import NDArray

from peerfront.problem import Rules


def plain_population_values(survival: NDArray[np.float64], rules: Rules, discount: float) -> NDArray[np.float64]:
    """The table U(r, n), [budget + 1, budget + 1]."""
    budget = rules.budget
    most_each = budget if rules.max_per_person is None else rules.max_per_person
    most_all = budget if rules.max_per_round is None else rules.max_per_round
    values = np.zeros((budget + 1, budget + 1))
    for r in range(1, budget + 1):
        for n in range(1, budget + 1):
            candidates = [0.0]
            for s in range(1, min(r, most_all, n * most_each) + 1):
                a, c = divmod(s, n)
                reward = n * survival[:a].sum() + (c * survival[a] if c else 0.0)
                sizes = polynomial.polymul(
                    polynomial.polypow(_recruits_of_one(survival, a), n - c),
                    polynomial.polypow(_recruits_of_one(survival, a + 1), c) if c else [1.0],
                )
                candidates.append(reward + discount * float(sizes @ values[r - s, : len(sizes)]))
            values[r, n] = max(candidates)
    return values


def plain_best_spend(
    survival: NDArray[np.float64], values: NDArray[np.float64], budget: int, most: int, discount: float
) -> NDArray[np.int64]:
    """Coupons per person: for each spend up to `most` greedy by survival, then the first spend of largest value."""
    best, best_coupons = 0.0, np.zeros(len(survival), dtype=np.int64)
    coupons = np.zeros(len(survival), dtype=np.int64)
    for s in range(1, most + 1):
        chances = [row[k] if k < len(row) else -1.0 for row, k in zip(survival, coupons, strict=True)]
        coupons[int(np.argmax(chances))] += 1
        sizes: NDArray[np.floating] = np.ones(1)
        for row, k in zip(survival, coupons, strict=True):
            sizes = polynomial.polymul(sizes, _recruits_of_one(row, int(k)))
        immediate = sum(row[:k].sum() for row, k in zip(survival, coupons, strict=True))
        value = immediate + discount * float(sizes @ values[budget - s, : len(sizes)])
        if value > best:
            best, best_coupons = value, coupons.copy()
    return best_coupons


def _recruits_of_one(survival: NDArray[np.float64], coupons: int) -> NDArray[np.float64]:
    """Coefficients of H_a(z): P(min(a, C) = 0), ..., P(min(a, C) = a)."""
    at_least = np.concatenate([[1.0], survival[:coupons], [0.0]])
    chances: NDArray[np.float64] = at_least[:-1] - at_least[1:]
    return chances
