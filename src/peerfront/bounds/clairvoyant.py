"""Bounds that need no prices: what the rules alone allow, and what somebody would earn who knew the future.

**The clairvoyant bound.** Give everybody all the coupons they can use and the referral tree grows by itself; its levels
Z_1, Z_2, ... are a matter of luck alone. Whatever a policy does with the same luck, its recruits of round t are among
Z_{t+1}, at most r in total (a recruit costs a coupon) and at most a round's cap in one round. Rewards only fall with
time, so the best that these limits allow takes recruits as early as it can:

    E[sum over t of gamma^t * n_t],    n_t = min(Z_{t+1}, what is left of r, the round's cap).

Caps per person hold in the tree too. Without a cap per round the bound is exact where capacities are certain; it is
good at gamma = 1, where a wasted coupon is all that can go wrong, and loose where chance decides. It is estimated by
growing trees, each only until it holds r people. A round's cap can leave a tree growing while few of it are taken: once
a level has `_SATURATED_FACTOR` times more people than r, later levels count as full, which can only raise the bound.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.randomness import Luck, fold
from peerfront.foundation.settings import checked_discount, whole_number
from peerfront.gfp.states import StateBatch
from peerfront.problem import OffspringModel, ResponseModel, Rules

Array = NDArray[np.float64]
_SATURATED_FACTOR = 4
_TREES_AT_ONCE = 4000
_NO_LIMIT = 1 << 40


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean of samples and its standard error."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, sample: Array) -> "Estimate":
        error = float(sample.std(ddof=1) / np.sqrt(len(sample))) if len(sample) > 1 else np.inf
        return cls(float(sample.mean()), error)


def budget_bounds(states: StateBatch, discount: float, rounds_left: int, rules: Rules) -> Array:
    """The most recruits the rules alone allow, each as early as possible, [states]."""
    left = np.where(states.sizes > 0, states.budgets, 0)
    size = states.sizes.astype(np.float64)
    total = np.zeros(len(states))
    for number in range(rounds_left):
        most = left.astype(np.float64)
        if rules.max_per_person is not None:
            most = np.minimum(most, size * rules.max_per_person)
        if rules.max_per_round is not None:
            most = np.minimum(most, rules.max_per_round)
        total += discount**number * most
        left = left - most.astype(np.int64)
        size = most
        if not left.any() or not most.any():
            break
    return total


def clairvoyant_returns(
    response: ResponseModel,
    offspring: OffspringModel,
    states: StateBatch,
    discount: float,
    rounds: int,
    luck: Luck,
    samples: int,
    rules: Rules | None = None,
) -> Array:
    """What the clairvoyant earns in each of `samples` trees of each state, [states, samples]; a luck per state."""
    discount = checked_discount(discount)
    rounds, samples = whole_number("rounds", rounds, 0), whole_number("samples", samples, 1)
    limits = rules or Rules()
    returns = np.zeros(len(states) * samples)
    state = np.repeat(np.arange(len(states)), samples)
    keys = fold(luck.keys[state], np.tile(np.arange(samples), len(states)))
    for start in range(0, len(returns), _TREES_AT_ONCE):
        part = slice(start, start + _TREES_AT_ONCE)
        trees = _Trees(states.take(state[part]), Luck(keys[part]))
        returns[part] = trees.grown(response, offspring, discount, rounds, limits)
    return returns.reshape(len(states), samples)


class _Trees:
    """Referral trees that grow in lock step, the living ones of them."""

    def __init__(self, roots: StateBatch, luck: Luck) -> None:
        self.left = roots.budgets.copy()  # [trees], people the tree may still take
        self.tree = roots.owner  # [people of the last level]
        self.covariates = roots.covariates
        self.keys = fold(luck.keys[self.tree], np.arange(len(self.tree)) - roots.first[self.tree])

    def grown(
        self, response: ResponseModel, offspring: OffspringModel, discount: float, rounds: int, rules: Rules
    ) -> Array:
        budgets, count = self.left.copy(), len(self.left)
        total = np.zeros(count)
        per_round = _NO_LIMIT if rules.max_per_round is None else rules.max_per_round
        full = np.zeros(count, dtype=bool)  # trees of plenty, which no longer need to be grown
        for number in range(rounds):
            # More than makes a tree one of plenty need not be told apart.
            most = _SATURATED_FACTOR * budgets[self.tree] + 1
            if rules.max_per_person is not None:
                most = np.minimum(most, rules.max_per_person)
            brought = response.sample(self.covariates, most, Luck(self.keys))
            level = np.bincount(self.tree, weights=brought, minlength=count).astype(np.int64)
            level[full] = _NO_LIMIT
            taken = np.minimum(np.minimum(level, self.left), per_round)
            total += discount**number * taken
            self.left -= taken
            full |= level > _SATURATED_FACTOR * budgets
            grows = (self.left > 0) & ~full
            if not (full & (self.left > 0)).any() and not (grows & (level > 0)).any():
                break
            self._descend(np.where(grows[self.tree], brought, 0), offspring)
        return total

    def _descend(self, brought: NDArray[np.int64], offspring: OffspringModel) -> None:
        parent = np.repeat(np.arange(len(brought)), brought)
        ordinals = np.arange(len(parent)) - (np.cumsum(brought) - brought)[parent]
        self.keys = fold(self.keys[parent], ordinals)
        self.tree = self.tree[parent]
        self.covariates = offspring.sample(self.covariates[parent], Luck(self.keys))
