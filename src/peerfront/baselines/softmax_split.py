"""Decisions of Factorized RL and the split of a round budget: shares of the best few, and whole coupons from shares.

All functions work on many states at once.
"""

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.agents import Array, Counts, Frontiers, RandomActions, Weights


def best_few(scores: Array, support: Counts) -> NDArray[np.bool_]:
    """The `support` [states] people with the largest scores [states, people]; ties to the first."""
    order = np.argsort(-scores, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(scores.shape[1])[None, :], axis=1)
    among_best: NDArray[np.bool_] = rank < support[:, None]
    return among_best


def softmax_weights(scores: Array, sharing: NDArray[np.bool_], temperature: float) -> Array:
    """Shares of those who are `sharing`, proportional to exp(score / temperature), and zero for the others.

    All arrays are [states, people].
    """
    tempered = np.where(sharing, scores, -np.inf) / temperature
    weights = np.exp(tempered - tempered.max(axis=1, keepdims=True))
    shares: Array = weights / weights.sum(axis=1, keepdims=True)
    return shares


def largest_remainders(weights: Array, totals: Counts, most: Counts) -> Counts:
    """Whole numbers [states, people] that sum to `totals` [states], as near to the weights as whole numbers can be.

    Nobody gets more than `most` [states]; what a cap keeps from somebody goes to the others, in proportion to their
    weights. Everybody gets the whole part of their quota, and the largest remainders get one more; ties to the first.
    `totals` must not exceed `most` times the number of positive weights.
    """
    quotas = _capped_quotas(weights, totals, most)
    # A quota of 3 that came out as 2.9999999 is 3.
    whole = np.floor(quotas + 1e-9).astype(np.int64)
    left = totals - whole.sum(axis=1)
    open_to_more = (weights > 0) & (whole < most[:, None])
    more = best_few(np.where(open_to_more, quotas - whole, -np.inf), left)
    return whole + more


def _capped_quotas(weights: Array, totals: Counts, most: Counts) -> Array:
    """Proportional quotas, with those above the cap held there and the rest shared again until nobody is above it."""
    held = np.zeros(weights.shape, dtype=bool)
    while True:
        free = np.where(held, 0.0, weights)
        rest = totals - held.sum(axis=1) * most
        sums = free.sum(axis=1)
        quotas = np.where(held, most[:, None], free * (rest / np.where(sums > 0, sums, 1.0))[:, None])
        above = ~held & (quotas > most[:, None])
        if not above.any():
            return quotas
        held |= above


def best_choice(values: Array, least: Counts, most: Counts) -> Counts:
    """The choice of largest value [states, choices] from `least` to `most` [states]."""
    choices = np.arange(values.shape[1])
    allowed = (choices >= least[:, None]) & (choices <= most[:, None])
    best: Counts = np.where(allowed, values, -np.inf).argmax(axis=1)
    return best


def any_choice(random_actions: RandomActions, what: str, least: Counts, most: Counts) -> Counts:
    """A choice drawn evenly from `least` to `most` [states]."""
    drawn: Counts = least + (random_actions.luck.uniform(what) * (most - least + 1)).astype(np.int64)
    return drawn


def best_or_random(
    values: Array, random_actions: RandomActions | None, what: str, least: Counts, most: Counts
) -> Counts:
    """The best choice from `least` to `most` [states], or any of them where this decision explores."""
    best = best_choice(values, least, most)
    if random_actions is None:
        return best
    return np.where(random_actions.now(what), any_choice(random_actions, what, least, most), best)


def by_state(frontiers: Frontiers, scores: Weights) -> Array:
    """One score per person -> [states, people of the largest frontier], minus infinity where nobody is."""
    table = np.full((len(frontiers), int(frontiers.sizes.max())), -np.inf)
    table[frontiers.owner, frontiers.place] = scores
    return table
