"""Equations 2 to 12 and Algorithm 1 of the paper in plain NumPy: read it beside the paper, from top to bottom.

Slow and plain, it is the yardstick of the fast code: the tests hold `problem.coverage`, `backup`, `surrogate`,
`training` and `greedy` equal to what stands here, allocations and values of `greedy` to the last bit.

The paper's symbols, and what they are called here:

    x_i, i = 1 .. n    people on the frontier, "people" in shapes
    k_i                `coupons` of person i
    r, s               remaining budget, and the `spend` of this round
    p_i(l)             `survival`, P(C_i >= l): the chance that the l-th coupon of person i is used
    j = 1 .. d         latent coordinates, "latent" in shapes
    h_j(x)             `coverage`: how much of coordinate j a person covers
    w_j(r)             `weights`: what covering coordinate j is worth with r coupons left
    alpha_j(x)         `embeddings`: the share of coordinate j that a recruit of x leaves uncovered
    tau_ij(k)          `uncovered`: the share that all recruits of person i leave uncovered, with k coupons
    u_j                `left`: the share that the recruits of everybody leave uncovered
    gamma              `discount`

Equation 1 is the Bellman equation of the true value V*, which nobody can evaluate; Equation 11 takes its place.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


# ---- Section 3.1: recruits of this round ---------------------------------------------------------------------------


def expected_recruits(survival: Array, coupons: NDArray[np.integer]) -> float:
    """A(F, k), Equation 2: the chances of use of all coupons given out, added up.

    `survival` is [people, coupons], `coupons` [people]. A coupon beyond the table is never used.
    """
    given = np.arange(1, survival.shape[1] + 1)[None, :] <= np.asarray(coupons)[:, None]  # [people, coupons]
    return float(survival[given].sum())


# ---- Section 3.2: the value surrogate and its closed-form backup ---------------------------------------------------


def frontier_value(weights: Array, coverage: Array) -> float:
    """V(r, F) = F(r, z), Equations 3 and 4: coordinates are worth w_j(r) as far as people cover them together.

    `weights` is w(r) [latent], `coverage` is h of the people on the frontier [people, latent].
    """
    covered = coverage.sum(axis=0)  # z [latent]
    return float(weights @ (1.0 - np.exp(-covered)))


def latent_coverage(outputs: Array) -> Array:
    """h(x) = softplus of a network's outputs, [people, latent] both; below Equation 3."""
    return np.log1p(np.exp(-np.abs(outputs))) + np.maximum(outputs, 0.0)


def budget_weights(budget: int, outputs: Array) -> Array:
    """w(r) = r * softmax of a network's outputs g(r), [latent] both, and w(0) = 0; below Equation 4."""
    powers = np.exp(outputs - outputs.max())
    return np.asarray(budget * powers / powers.sum())


def laplace_embeddings(coverage_of_recruits: Array) -> Array:
    """alpha(x) = E[exp(-h(y))], Equation 5, as a mean over sampled recruits y of each person.

    `coverage_of_recruits` is [people, recruits, latent]; the result is [people, latent], above 0 and at most 1.
    """
    return np.asarray(np.exp(-coverage_of_recruits).mean(axis=1))


def uncovered_shares(survival: Array, embeddings: Array) -> Array:
    """tau(k) = E[alpha^min(k, C)], Equation 7, for k = 0 .. coupons, [people, coupons + 1, latent].

    Either the capacity c is below k, or it is at least k and all k coupons are used. `survival` is [people, coupons],
    `embeddings` [people, latent].
    """
    people, most = survival.shape
    at_least = np.concatenate([np.ones((people, 1)), survival], axis=1)  # P(C >= l), l = 0 .. most
    uncovered = np.ones((people, most + 1, embeddings.shape[1]))
    for k in range(1, most + 1):
        uncovered[:, k] = embeddings**k * at_least[:, k, None]
        for c in range(k):
            chance = at_least[:, c] - at_least[:, c + 1]  # P(C = c)
            uncovered[:, k] += embeddings**c * chance[:, None]
    return uncovered


def expected_future_value(uncovered: Array, weights: Array, coupons: NDArray[np.integer]) -> float:
    """E[V(r - s, F')], Equation 6 (Proposition 1).

    `uncovered` is tau [people, coupons + 1, latent], `weights` w(r - s) [latent], `coupons` [people].
    """
    levels = np.minimum(coupons, uncovered.shape[1] - 1)
    left = uncovered[np.arange(len(coupons)), levels].prod(axis=0)  # u [latent]
    return float(weights @ (1.0 - left))


def surrogate_q(
    survival: Array, uncovered: Array, weights: Array, discount: float, coupons: NDArray[np.integer]
) -> float:
    """Q(r, F, s, k), Equation 8; with the spend s fixed it is f_s(k), Equation 9. `weights` is w(r - s) [latent]."""
    return expected_recruits(survival, coupons) + discount * expected_future_value(uncovered, weights, coupons)


# ---- Section 3.3: greedy allocation --------------------------------------------------------------------------------


def newly_covered(uncovered: Array) -> Array:
    """1 - beta = 1 - tau(k + 1) / tau(k), lines 7 and 8 of Algorithm 1, [people, coupons, latent].

    The share of what a person's recruits leave uncovered that one more coupon covers; 0 where nothing is left.
    """
    before, after = uncovered[:, :-1], uncovered[:, 1:]
    return np.where(before > 0.0, 1.0 - after / np.where(before > 0.0, before, 1.0), 0.0)


def marginal_gains(survival: Array, covers: Array, worth: Array, left: Array, coupons: Numbers) -> Array:
    """Delta_i(k; s), Equation 10, of everybody, [people].

    `worth` is discount * w(r - s) [latent], `left` u [latent], `covers` is `newly_covered`; both tables need a column
    for one coupon more than anybody has.
    """
    everybody = np.arange(len(coupons))
    gains = survival[everybody, coupons].copy()
    for j in range(len(left)):  # coordinate by coordinate, so that sums are rounded as those of the compiled code
        gains += worth[j] * left[j] * covers[everybody, coupons, j]
    return gains


@dataclass(frozen=True, eq=False)
class Algorithm1:
    """What Algorithm 1 finds: the greedy allocation and the value of every spend."""

    allocations: Numbers  # [spends, people]
    """k_s of every spend s = 0 .. spendable."""
    values: Array  # [spends]
    """Q(r, F, s); NaN for a spend that the limits do not allow."""

    @property
    def spend(self) -> int:
        """s*, the first best spend."""
        return int(np.nanargmax(self.values))

    @property
    def coupons(self) -> Numbers:
        """k of the best spend, [people]."""
        best: Numbers = self.allocations[self.spend]
        return best

    @property
    def value(self) -> float:
        """Q of the best spend."""
        return float(self.values[self.spend])


def algorithm_1(
    survival: Array,
    covers: Array,
    weights: Array,
    discount: float,
    *,
    spendable: int | None = None,
    most_per_person: int | None = None,
    least_per_person: int = 0,
) -> Algorithm1:
    """Algorithm 1: for every spend, one coupon after another to the person with the largest marginal gain.

    `survival` is [people, coupons], `covers` is `newly_covered` [people, coupons, latent], row r of `weights` is w(r)
    [budget + 1, latent]. The paper knows no limits: all of the budget may go out at once, and to one person. A study
    may have a most for this round (`spendable`) and for a person, and a least for everybody, who get it first.
    """
    people, budget = len(survival), len(weights) - 1
    spendable = budget if spendable is None else spendable
    most = budget if most_per_person is None else most_per_person
    survival, covers = _with_columns(survival, most + 1), _with_columns(covers, most + 1)
    allocations = np.zeros((spendable + 1, people), dtype=np.int64)
    values = np.full(spendable + 1, np.nan)
    for spend in range(people * least_per_person, min(spendable, people * most) + 1):  # line 1
        worth = discount * weights[budget - spend]  # [latent]
        coupons, recruits, left = np.zeros(people, dtype=np.int64), 0.0, np.ones(weights.shape[1])  # line 2
        at_first = np.repeat(np.arange(people), least_per_person)
        for number in range(spend):  # line 3
            if number < len(at_first):
                person = int(at_first[number])
            else:
                gains = marginal_gains(survival, covers, worth, left, coupons)  # lines 4 to 11
                gains[coupons >= most] = -np.inf
                person = int(gains.argmax())  # line 12, the first of those with the largest gain
            left = left * (1.0 - covers[person, coupons[person]])  # line 14
            recruits += survival[person, coupons[person]]  # line 17
            coupons[person] += 1  # line 16
        allocations[spend] = coupons  # line 19
        value = recruits  # line 20
        for j in range(len(left)):
            value += worth[j] * (1.0 - left[j])
        values[spend] = value
    return Algorithm1(allocations, values)


def _with_columns(table: Array, columns: int) -> Array:
    """The table with zeros for coupons beyond it: they are never used and cover nothing."""
    missing = max(columns - table.shape[1], 0)
    return np.concatenate([table, np.zeros((len(table), missing, *table.shape[2:]))], axis=1)


# ---- Section 3.4: fitting the value --------------------------------------------------------------------------------


def value_target(survival: Array, covers: Array, weights: Array, discount: float) -> float:
    """The target TV(r, F), Equation 11: the value of the best spend, with w and tau of the target parameters.

    Arguments are those of `algorithm_1`.
    """
    return algorithm_1(survival, covers, weights, discount).value


def value_loss(values: Array, targets: Array) -> float:
    """L(phi), Equation 12: the mean squared difference of V to its targets, [states] both."""
    return float(((values - targets) ** 2).mean())
