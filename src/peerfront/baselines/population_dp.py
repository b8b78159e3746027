"""IID-Population DP (Section 5.2, after Pan et al. 2026): future value depends on the size of the frontier alone.

With p(l) = P(C >= l) and q its pmf in the population, n people who share s coupons as evenly as possible (c of them
get a + 1, the others a = s // n) bring in expectation n * (p(1) + ... + p(a)) + c * p(a + 1), and the size of the next
frontier has the generating function

    H_a(z)^(n - c) * H_{a+1}(z)^c,     H_a(z) = sum_{j < a} q(j) z^j + p(a) z^a.

It does not depend on the budget left, so it is tabulated once (`next_sizes`); backward induction over (budget, size) is

    U(r, n) = max over s of  reward(n, s) + discount * E[U(r - s, N)],      U(0, n) = U(r, 0) = 0.

Like the paper's it knows no horizon: it plans as if the rounds never ran out. Acting uses the real people: greedy by
survival for each spend, the exact distribution of the number of recruits, and the first spend that maximises.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerfront.baselines.simple_rules import most_likely_used
from peerfront.foundation.checked_calls import checked_late
from peerfront.foundation.counts import poisson_survival
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import note
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import checked_discount, one_of
from peerfront.problem import Allocation, ResponseModel, Rules, State


@dataclass(frozen=True)
class PopulationDP:
    """The policy: the frontier's own capacities now, the population's value of a size later."""

    response: ResponseModel
    discount: float
    values: NDArray[np.float64]  # [budget + 1, size + 1], U(r, n)
    name: str = "population_dp"

    @checked_late
    def allocate(self, state: State, luck: Luck) -> Allocation:
        budget = state.remaining_budget
        if budget >= len(self.values):
            raise SettingError("population_dp.made_for_less", most=len(self.values) - 1, budget=budget)
        survival = self.response.gains(state.frontier.covariates, state.most_per_person)
        order = most_likely_used(survival, state.spendable)
        spend = _best_spend(survival, order, self.values, budget, self.discount)
        return Allocation(np.bincount(order[:spend], minlength=len(survival)))


MARGINALS = ("mixture", "poisson")
LARGEST_BUDGET = 600  # the distributions of the next size fill (budget + 1)^3 numbers: 1.7 GB
_CAPACITY_TABLE = 200  # coupons; capacities beyond are negligible


def fit_population_dp(
    response: ResponseModel, population: Codes, rules: Rules, discount: float, *, marginal: str = "mixture"
) -> PopulationDP:
    """Backward induction for these people's marginal capacity distribution.

    `mixture` is their true marginal, the average of their distributions, and what reproduces the paper's row;
    `poisson` is one Poisson distribution with their mean, the other reading of its text (deviations.md, 3).
    """
    if not len(population):
        raise SettingError("population_dp.nobody")
    one_of(note("kinds.marginal"), marginal, MARGINALS)
    # Far beyond the budget, so that the mean is the mean of C and not of min(C, budget).
    survival = response.gains(population, max(rules.budget, _CAPACITY_TABLE)).mean(axis=0)
    if marginal == "poisson":
        survival = poisson_survival(np.array([survival.sum()]), len(survival))[0]
    name = "population_dp" if marginal == "mixture" else f"population_dp:marginal={marginal}"
    return PopulationDP(response, discount, population_values(survival, rules, discount), name)


def population_values(survival: NDArray[np.float64], rules: Rules, discount: float) -> NDArray[np.float64]:
    """The table U(r, n) for a population with P(C >= l) = survival[l - 1], [budget + 1, budget + 1]."""
    checked_discount(discount)
    if rules.budget > LARGEST_BUDGET:
        raise SettingError("population_dp.budget_too_large", most=LARGEST_BUDGET, budget=rules.budget)
    if (np.diff(survival) > 1e-12).any() or not np.isfinite(survival).all():
        raise SettingError("population_dp.no_survival")
    most_each = rules.budget if rules.max_per_person is None else rules.max_per_person
    most_all = rules.budget if rules.max_per_round is None else rules.max_per_round
    values: NDArray[np.float64] = _backward_induction(
        survival[: max(rules.budget, 1)],
        next_sizes(survival, rules.budget),
        rules.budget,
        discount,
        most_each,
        most_all,
    )
    return values


def next_sizes(survival: NDArray[np.float64], budget: int) -> NDArray[np.float64]:
    """P(next frontier has m people | n people share s coupons evenly), [n, s, m], each up to the budget."""
    sizes: NDArray[np.float64] = _next_sizes(np.concatenate([[1.0], survival[:budget], [0.0]]), budget)
    return sizes


@njit(cache=True)
def _next_sizes(at_least: NDArray[np.float64], budget: int) -> NDArray[np.float64]:  # pragma: no cover - compiled
    """`at_least[l]` is P(C >= l), l = 0 .. budget + 1."""
    sizes = np.zeros((budget + 1, budget + 1, budget + 1))
    sizes[:, 0, 0] = 1.0
    for n in range(1, budget + 1):
        # Equal shares first, s = a * n: one more person with a coupons, H_a^n = H_a^(n-1) * H_a ...
        for a in range(1, budget // n + 1):
            before = (n - 1) * a
            for m in range(before + 1):
                chance = sizes[n - 1, before, m]
                for j in range(a):
                    sizes[n, a * n, m + j] += chance * (at_least[j] - at_least[j + 1])
                sizes[n, a * n, m + a] += chance * at_least[a]
    for n in range(1, budget + 1):
        # ... then everything else is a product of two of them.
        for s in range(1, budget + 1):
            a = s // n
            c = s - a * n
            if c == 0:
                continue
            fewer, more = a * (n - c), (a + 1) * c
            for m in range(fewer + 1):
                chance = sizes[n - c, fewer, m]
                for j in range(more + 1):
                    sizes[n, s, m + j] += chance * sizes[c, more, j]
    return sizes


@njit(cache=True)
def _backward_induction(
    survival: NDArray[np.float64],
    sizes: NDArray[np.float64],
    budget: int,
    discount: float,
    most_each: int,
    most_all: int,
) -> NDArray[np.float64]:  # pragma: no cover - compiled
    first = np.zeros(budget + 1)  # expected recruits of one person with a coupons
    for a in range(1, budget + 1):
        first[a] = first[a - 1] + survival[a - 1]
    values = np.zeros((budget + 1, budget + 1))
    for r in range(1, budget + 1):
        for n in range(1, r + 1):
            best = 0.0
            for s in range(1, min(r, most_all, n * most_each) + 1):
                a = s // n
                c = s - a * n
                reward = n * first[a]
                if c > 0:
                    reward += c * survival[a]
                future = 0.0
                later, chances = values[r - s], sizes[n, s]
                for m in range(1, s + 1):
                    future += chances[m] * later[m]
                best = max(best, reward + discount * future)
            values[r, n] = best
        values[r, r + 1 :] = values[r, r]  # people beyond the number of coupons add nothing
    return values


@njit(cache=True)
def _best_spend(
    survival: NDArray[np.float64], order: NDArray[np.int64], values: NDArray[np.float64], budget: int, discount: float
) -> int:  # pragma: no cover - compiled
    """The first spend s that maximises recruits now + discount * E[U(budget - s, N)]; `order` hands out coupons."""
    people = len(survival)
    coupons = np.zeros(people, dtype=np.int64)
    chances = np.zeros(len(order) + 1)  # of 0, 1, 2, ... recruits in all
    immediate, best, best_spend = 0.0, 0.0, 0
    for s in range(1, len(order) + 1):
        immediate += survival[order[s - 1], coupons[order[s - 1]]]
        coupons[order[s - 1]] += 1
        chances[:] = 0.0
        chances[0] = 1.0
        most = 0
        for i in range(people):
            k = coupons[i]
            if k == 0:
                continue
            # Multiply by H_k of person i, in place and from the top: recruit counts only move upwards.
            for m in range(most + k, -1, -1):
                total = 0.0
                if m <= most:
                    total += chances[m] * (1.0 - survival[i, 0])
                for j in range(max(1, m - most), min(k, m) + 1):
                    chance = survival[i, j - 1] if j == k else survival[i, j - 1] - survival[i, j]
                    total += chances[m - j] * chance
                chances[m] = total
            most += k
        future = 0.0
        for m in range(1, s + 1):
            future += chances[m] * values[budget - s, m]
        if immediate + discount * future > best:
            best, best_spend = immediate + discount * future, s
    return best_spend
