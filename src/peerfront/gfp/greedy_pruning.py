"""Two upper bounds on the value of any allocation of a spend, by which Algorithm 1 is pruned (`greedy.py`)."""

import numpy as np
from numba import njit

from peerfront.gfp.backup import Array


@njit(cache=True, nogil=True)
def _largest_sums(entries: Array, count: int) -> Array:
    """Sums of the 0, 1, .. count largest entries (all at least 0; zeros where there are no more), [count + 1]."""
    sums = np.zeros(count + 1)
    if count == 0 or len(entries) == 0:
        return sums
    top = entries if len(entries) <= count else np.partition(entries, len(entries) - count)[len(entries) - count :]
    top = np.sort(top)
    for m in range(count):
        sums[m + 1] = sums[m] + (top[len(top) - 1 - m] if m < len(top) else 0.0)
    return sums


@njit(cache=True, nogil=True)
def upper_bounds(
    chance: Array, covers: Array, weights: Array, discount: float, spendable: int, most: int, least: int
) -> Array:
    """UB(s) of `greedy.py`, [spendable + 1]; -inf where the least per person is not met."""
    people, columns = chance.shape
    budget, latent = len(weights) - 1, weights.shape[1]
    free, lowest = min(columns, most), min(least, columns)
    extra = spendable - least * people
    reward = 0.0
    for i in range(people):
        for k in range(lowest):
            reward += chance[i, k]
    bounds = np.full(spendable + 1, -np.inf)
    best_rewards = _largest_sums(chance[:, lowest:free].copy().reshape(-1), extra)
    for m in range(extra + 1):
        bounds[least * people + m] = reward + best_rewards[m]
    entries = np.empty(people * (free - lowest))
    for j in range(latent):
        start = 0.0
        at = 0
        for i in range(people):
            for k in range(lowest):
                start -= np.log1p(-covers[i, k, j])
            for k in range(lowest, free):
                entries[at] = -np.log1p(-covers[i, k, j])
                at += 1
        covered = _largest_sums(entries, extra)
        for m in range(extra + 1):
            spend = least * people + m
            bounds[spend] += discount * weights[budget - spend, j] * -np.expm1(-(start + covered[m]))
    return bounds


@njit(cache=True, nogil=True)
def coverages(covers: Array) -> Array:
    """log(T(k) / T(k + 1)), [people, coupons, latent]."""
    logs = np.empty_like(covers)
    for i in range(covers.shape[0]):
        for k in range(covers.shape[1]):
            for j in range(covers.shape[2]):
                logs[i, k, j] = -np.log1p(-covers[i, k, j])
    return logs


@njit(cache=True, nogil=True)
def tangent_bound(
    chance: Array,
    logs: Array,
    worth: Array,
    left: Array,
    spend: int,
    most: int,
    least: int,
    floor: float,
    entries: Array,
) -> tuple[float, float]:
    """The tangent bound of `greedy.py` on any allocation of `spend` (`left` is u), and the smallest entry in its sum.

    A person's entries never increase, so skip those below `floor`; if too few are above it, retry with floor 0.
    `entries` is room to work in.
    """
    people, columns = chance.shape
    free, lowest = min(columns, most), min(least, columns)
    bound = 0.0
    slope = np.zeros(len(left))
    for j in range(len(left)):
        bound += worth[j]
        if left[j] > 0.0:  # what is covered for sure cannot be covered more
            slope[j] = worth[j] * left[j]
            bound -= slope[j] * (1.0 - np.log(left[j]))
    at = 0
    for i in range(people):
        for k in range(free):
            gain = chance[i, k]
            for j in range(len(slope)):
                if slope[j] > 0.0:
                    gain += slope[j] * logs[i, k, j]
            if k < lowest:
                bound += gain
            elif gain < floor:
                break
            else:
                entries[at] = gain
                at += 1
    count = spend - least * people
    if count > at and floor > 0.0:
        return tangent_bound(chance, logs, worth, left, spend, most, least, 0.0, entries)
    if count >= at or count == 0:
        return bound + (entries[:at].sum() if count else 0.0), 0.0
    top = np.partition(entries[:at], at - count)[at - count :]
    return bound + top.sum(), top[0]
