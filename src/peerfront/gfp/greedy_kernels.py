"""The compiled loops of Algorithm 1 (`greedy.py` says what they do and why they are exact).

They release the GIL, share nothing, and are cached on disk. What their arrays are:

- `chance` [people, coupons]: what each coupon adds to the expected recruits, the chance that it is used;
- `covers` [people, coupons, latent]: 1 - T(k + 1) / T(k), the share of what is uncovered that one more covers;
- `worth` [latent]: discount * w(r - s), what covering a coordinate is worth after this spend;
- `base` [budget + 1]: the value of who comes anyway, without new coupons, by coupons left (`backup`);
- `left` [latent]: u_j, the share of each coordinate that is still uncovered;
- `previous_twin`, `next_twin` [people]: neighbours among people with the same rows (`greedy.twins`), -1 for none;
- `heap_gains`, `heap_persons`: the heap of candidates, and `fresh` the step in which each one's gain was computed.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerfront.gfp.backup import Array, split_weights
from peerfront.gfp.greedy_pruning import coverages, tangent_bound, upper_bounds

_ROUNDING_SLACK = 1e-9  # relative; a spend whose bound is within it is never pruned, so rounding cannot change the plan


@njit(cache=True, nogil=True)
def _above(gain: float, person: int, other_gain: float, other: int) -> bool:
    return gain > other_gain or (gain == other_gain and person < other)


@njit(cache=True, nogil=True)
def sift_down(gains: Array, persons: NDArray[np.int64], size: int, at: int) -> None:
    gain, person = gains[at], persons[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _above(gains[child + 1], persons[child + 1], gains[child], persons[child]):
            child += 1
        if not _above(gains[child], persons[child], gain, person):
            break
        gains[at], persons[at] = gains[child], persons[child]
        at = child
    gains[at], persons[at] = gain, person


@njit(cache=True, nogil=True)
def sift_up(gains: Array, persons: NDArray[np.int64], at: int) -> None:
    gain, person = gains[at], persons[at]
    while at > 0:
        parent = (at - 1) // 2
        if not _above(gain, person, gains[parent], persons[parent]):
            break
        gains[at], persons[at] = gains[parent], persons[parent]
        at = parent
    gains[at], persons[at] = gain, person


@njit(cache=True, nogil=True)
def marginal_gain(chance: Array, covers: Array, worth: Array, left: Array, person: int, given: int) -> float:
    """The marginal gain of one more coupon (Equation 10)."""
    if given >= chance.shape[1]:
        return 0.0
    gain = chance[person, given]
    for j in range(len(left)):
        gain += worth[j] * left[j] * covers[person, given, j]
    return gain


@njit(cache=True, nogil=True)
def spend_greedily(
    chance: Array,
    covers: Array,
    worth: Array,
    spend: int,
    most: int,
    least: int,
    to_beat: float,
    previous_twin: NDArray[np.int64],
    next_twin: NDArray[np.int64],
    coupons: NDArray[np.int64],
    left: Array,
    heap_gains: Array,
    heap_persons: NDArray[np.int64],
    fresh: NDArray[np.int64],
) -> float:
    """Give out `spend` coupons, each to the largest marginal gain; their value, or -inf if it must be below `to_beat`.

    Writes `coupons` and `left`; the heap's arrays are room to work in.
    """
    people = len(chance)
    reward = 0.0
    coupons[:] = 0
    left[:] = 1.0
    for i in range(people):
        for k in range(least):
            if k < chance.shape[1]:
                reward += chance[i, k]
                for j in range(len(left)):
                    left[j] *= 1.0 - covers[i, k, j]
        coupons[i] = least
    so_far = reward
    for j in range(len(left)):
        so_far += worth[j] * (1.0 - left[j])
    size = 0
    for i in range(people):
        fresh[i] = 0
        if coupons[i] < most and previous_twin[i] < 0:
            heap_gains[size] = marginal_gain(chance, covers, worth, left, i, coupons[i])
            heap_persons[size] = i
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap_gains, heap_persons, size, at)
    for step in range(spend - least * people):
        while fresh[heap_persons[0]] != step:
            person = heap_persons[0]
            heap_gains[0] = marginal_gain(chance, covers, worth, left, person, coupons[person])
            fresh[person] = step
            sift_down(heap_gains, heap_persons, size, 0)
        gain, person = heap_gains[0], heap_persons[0]
        if so_far + (spend - least * people - step) * gain < to_beat:
            return -np.inf
        so_far += gain
        given = coupons[person]
        if given < chance.shape[1]:
            reward += chance[person, given]
            for j in range(len(left)):
                left[j] *= 1.0 - covers[person, given, j]
        coupons[person] = given + 1
        behind = previous_twin[person] >= 0 and coupons[previous_twin[person]] == given + 1  # waits for that one again
        if given + 1 >= most or behind:
            size -= 1
            heap_gains[0], heap_persons[0] = heap_gains[size], heap_persons[size]
        else:
            heap_gains[0] = marginal_gain(chance, covers, worth, left, person, given + 1)
            fresh[person] = step + 1
        if size > 1:
            sift_down(heap_gains, heap_persons, size, 0)
        following = next_twin[person]
        if following >= 0 and coupons[following] == given:  # their turn now
            heap_gains[size] = marginal_gain(chance, covers, worth, left, following, given)
            heap_persons[size] = following
            fresh[following] = step + 1
            size += 1
            sift_up(heap_gains, heap_persons, size - 1)
    value = reward
    for j in range(len(left)):
        value += worth[j] * (1.0 - left[j])
    return value


@njit(cache=True, nogil=True)
def plan_frontier(
    chance: Array,
    covers: Array,
    weights: Array,
    base: Array,
    discount: float,
    spendable: int,
    most: int,
    least: int,
    every_spend: bool,
    runs_before_tangent: int,
    previous_twin: NDArray[np.int64],
    next_twin: NDArray[np.int64],
) -> tuple[NDArray[np.int64], int, Array]:
    """The best allocation of one frontier [people], its spend, and the value of every spend tried [spendable + 1]."""
    people = len(chance)
    budget, latent = len(weights) - 1, weights.shape[1]
    values = np.full(spendable + 1, np.nan)
    coupons, best_coupons = np.zeros(people, np.int64), np.zeros(people, np.int64)
    left, heap_gains = np.empty(latent), np.empty(people)
    heap_persons, fresh = np.empty(people, np.int64), np.empty(people, np.int64)
    begun, smallest = 0, 0.0
    best_left, logs, entries = np.ones(latent), np.empty((0, 0, 0)), np.empty(chance.size)
    if every_spend:
        bounds = np.full(spendable + 1, np.inf)
        order = np.arange(spendable + 1)
    else:
        bounds = upper_bounds(chance, covers, weights, discount, spendable, most, least)
        for spend in range(spendable + 1):
            bounds[spend] += discount * base[budget - spend]
        order = np.argsort(-bounds)
    best, best_spend = -np.inf, least * people
    for at in range(len(order)):
        spend = int(order[at])
        if spend < least * people:
            continue
        to_beat = -np.inf if every_spend else best - _ROUNDING_SLACK * (1.0 + abs(best))
        if bounds[spend] < to_beat:
            break
        worth = discount * weights[budget - spend]
        anyway = discount * base[budget - spend]
        if not every_spend and begun >= runs_before_tangent:
            if begun == runs_before_tangent:
                logs = coverages(covers)
            begun += 1
            bound, smallest = tangent_bound(chance, logs, worth, best_left, spend, most, least, 0.9 * smallest, entries)
            if bound + anyway < to_beat:
                continue
        else:
            begun += 1
        value = spend_greedily(
            chance,
            covers,
            worth,
            spend,
            most,
            least,
            to_beat - anyway,
            previous_twin,
            next_twin,
            coupons,
            left,
            heap_gains,
            heap_persons,
            fresh,
        )
        if value == -np.inf:
            continue
        value += anyway
        values[spend] = value
        if value > best or (value == best and spend < best_spend):
            best, best_spend = value, spend
            best_coupons[:] = coupons
            best_left[:] = left
    return best_coupons, best_spend, values


@njit(cache=True, nogil=True)
def plan_frontiers(
    chance: Array,
    covers: Array,
    weights: Array,
    which: NDArray[np.int64],
    coming: Array,
    discount: float,
    first: NDArray[np.int64],
    budgets: NDArray[np.int64],
    spendable: NDArray[np.int64],
    most: NDArray[np.int64],
    least: NDArray[np.int64],
    runs_before_tangent: int,
    previous_twin: NDArray[np.int64],
    next_twin: NDArray[np.int64],
) -> tuple[NDArray[np.int64], Array]:
    """Plan frontiers that stand one after another: coupons [people] and values [frontiers].

    `coming` [frontiers, latent] is what recruits still to come leave uncovered; without rows, nobody is to come.
    """
    frontiers = len(budgets)
    coupons, values = np.zeros(len(chance), np.int64), np.zeros(frontiers)
    for f in range(frontiers):
        start, end = first[f], first[f + 1]
        own_weights = weights[which[f]][: budgets[f] + 1]
        base = np.zeros(len(own_weights))
        if len(coming):
            own_weights, base = split_weights(own_weights, coming[f])
        own, spend, spend_values = plan_frontier(
            chance[start:end],
            covers[start:end],
            own_weights,
            base,
            discount,
            min(spendable[f], most[f] * (end - start)),
            most[f],
            least[f],
            False,
            runs_before_tangent,
            previous_twin[start:end],
            next_twin[start:end],
        )
        coupons[start:end] = own
        values[f] = spend_values[spend]
    return coupons, values
