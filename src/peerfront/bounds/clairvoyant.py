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

from peerfront.foundation.randomness import Keys, Luck, fold
from peerfront.problem import OffspringModel, ResponseModel, State

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


def budget_bound(state: State, discount: float) -> float:
    """The most recruits the rules alone allow, each as early as possible."""
    size, rules, total = len(state.frontier), state.rules, 0.0
    left = state.remaining_budget if size else 0
    for number in range(state.rounds_left):
        by_people = left if rules.max_per_person is None else size * rules.max_per_person
        most = min(left, by_people, left if rules.max_per_round is None else rules.max_per_round)
        total += discount**number * most
        left, size = left - most, most
        if not left or not most:
            break
    return total


def clairvoyant_returns(
    response: ResponseModel, offspring: OffspringModel, state: State, discount: float, luck: Luck, samples: int
) -> Array:
    """What the clairvoyant earns in each of `samples` trees that grow from a state, [samples]; luck has one row."""
    keys = fold(np.repeat(luck.keys, samples), np.arange(samples))
    parts = (slice(start, start + _TREES_AT_ONCE) for start in range(0, samples, _TREES_AT_ONCE))
    return np.concatenate([_grown(response, offspring, state, discount, keys[part]) for part in parts])


def _grown(response: ResponseModel, offspring: OffspringModel, state: State, discount: float, tree_keys: Keys) -> Array:
    """The same for trees of these keys, which grow in lock step, [trees]."""
    rules, budget, people, count = state.rules, state.remaining_budget, len(state.frontier), len(tree_keys)
    tree = np.repeat(np.arange(count), people)  # [people of the last level], and so are these two:
    covariates = np.tile(state.frontier.covariates, (count, 1))
    keys = fold(tree_keys[tree], np.tile(np.arange(people), count))
    # More than makes a tree one of plenty need not be told apart.
    most = _SATURATED_FACTOR * budget + 1
    most = most if rules.max_per_person is None else min(most, rules.max_per_person)
    per_round = _NO_LIMIT if rules.max_per_round is None else rules.max_per_round
    left, total = np.full(count, budget), np.zeros(count)  # people a tree may still take, what it has earned
    full = np.zeros(count, dtype=bool)  # trees of plenty, which no longer need to be grown
    for number in range(state.rounds_left):
        brought = response.sample(covariates, most, Luck(keys))
        level = np.bincount(tree, weights=brought, minlength=count).astype(np.int64)
        level[full] = _NO_LIMIT
        taken = np.minimum(np.minimum(level, left), per_round)
        total += discount**number * taken
        left -= taken
        full |= level > _SATURATED_FACTOR * budget
        grows = (left > 0) & ~full
        if not (full & (left > 0)).any() and not (grows & (level > 0)).any():
            break
        brought = np.where(grows[tree], brought, 0)
        parent = np.repeat(np.arange(len(brought)), brought)
        keys = fold(keys[parent], np.arange(len(parent)) - (np.cumsum(brought) - brought)[parent])
        tree = tree[parent]
        covariates = offspring.sample(covariates[parent], Luck(keys))
    return total
