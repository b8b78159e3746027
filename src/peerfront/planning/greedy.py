"""Algorithm 1, exact and fast: the same allocation and value as `greedy_reference.py`, to the last bit.

*Lazy.* Gains only shrink as vouchers are given (Proposition 2), so a stale gain is an upper bound: a heap keyed by
(-gain, index) re-evaluates only its top. Rounding cannot spoil this: sums and products are monotone in floating point.

*Alike.* Of people whose rows are the same, the next voucher goes to the one with fewest, the first of them on the list;
the others wait outside the heap. A frontier of thousands has hundreds of kinds of people.

*Pruned.* For a spend s no allocation is worth more than

    UB(s) = A*(s) + discount * sum_j w_j(r - s) * (1 - u*_j(s)),

where A*(s) adds the s largest chances of use and u*_j(s) multiplies the s smallest ratios tau(k + 1) / tau(k) of
coordinate j, each on its own. Spends are visited by descending UB until it falls below the best value found, and a run
stops as soon as its remaining vouchers, each worth at most the current largest gain, cannot reach the best.

Where the value is flat that leaves hundreds of spends, so after a few a tighter bound is asked: 1 - exp(-x) lies below
its tangent at the coverage x* of the best plan so far, and with the tangent people separate,

    Q(s) <= sum_j W_j (1 - u_j - u_j x*_j)  +  the s largest of  p_i(k + 1) + sum_j W_j u_j l_ij(k),

with W = discount * w(r - s), u = exp(-x*), l(k) = log(tau(k) / tau(k + 1)). It is exact to second order: what it misses
is less than what Q loses.

Kernels release the GIL, share nothing, and are cached on disk.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerfront.errors import SettingError
from peerfront.planning.backup import Array, check_tables, coverage_gains

_FEW = 30  # people among whom it does not pay to look for those who are alike,
_MANY = 300  # and among how many it pays where there are many frontiers to plan
_FLAT = 8  # spends begun, after which the tangent is asked before another
_SLACK = 1e-9  # relative; pruning never discards a spend whose bound is within it, so rounding cannot change the plan


@dataclass(frozen=True, slots=True)
class GreedyPlan:
    """What Algorithm 1 returns."""

    vouchers: NDArray[np.int64]  # [people]
    spend: int
    value: float
    """Q of the chosen spend."""
    values: Array  # [spendable + 1]
    """Q of every spend that was evaluated; NaN where pruning showed that it cannot be best, or it is not allowed."""


def greedy(
    survival: Array,
    uncovered: Array,
    weights: Array,
    discount: float,
    *,
    spendable: int | None = None,
    most_per_person: int | None = None,
    least_per_person: int = 0,
    every_spend: bool = False,
    check: bool = True,
) -> GreedyPlan:
    """The best spend and its greedy allocation.

    `survival` is [people, vouchers], `uncovered` [people, latent], `weights` [budget + 1, latent] (row r is w(r)).
    `spendable` caps the round, `most_per_person` each person, and everybody gets `least_per_person`. `every_spend`
    turns pruning off, for the whole curve of Q over the spend.
    """
    budget = len(weights) - 1
    most = budget if most_per_person is None else most_per_person
    people = len(survival)
    spendable = min(budget if spendable is None else spendable, budget, most * people)
    if check:
        check_tables(survival, uncovered, weights)
        if not 0 <= least_per_person <= most or least_per_person * people > spendable:
            raise SettingError(
                f"At least {least_per_person} vouchers for each of {people} people is not possible with {spendable} to "
                f"spend and at most {most} each. Lower the least, or raise the caps."
            )
    vouchers, spend, values = _plan(
        np.ascontiguousarray(survival, dtype=np.float64),
        np.ascontiguousarray(uncovered, dtype=np.float64),
        np.ascontiguousarray(weights, dtype=np.float64),
        float(discount),
        int(spendable),
        int(most),
        int(least_per_person),
        bool(every_spend),
        True,
        _FLAT,
        *alike(survival, uncovered),
    )
    return GreedyPlan(vouchers, int(spend), float(values[spend]), values)


def greedy_at(
    survival: Array,
    uncovered: Array,
    weights: Array,
    discount: float,
    spends: Sequence[int],
    most_per_person: int,
    least_per_person: int = 0,
) -> tuple[NDArray[np.int64], Array]:
    """The greedy allocations of given spends, [spends, people], and their values (the inner loop of Algorithm 1)."""
    people, latent = uncovered.shape
    vouchers, values = np.zeros((len(spends), people), np.int64), np.zeros(len(spends))
    left, heap_gains = np.empty(latent), np.empty(people)
    heap_persons, fresh = np.empty((2, people), np.int64)
    covers = coverage_gains(survival, uncovered)
    before, after = alike(survival, uncovered)
    for number, spend in enumerate(spends):
        values[number] = _run(
            survival,
            covers,
            discount * weights[len(weights) - 1 - spend],
            spend,
            most_per_person,
            least_per_person,
            -np.inf,
            True,
            before,
            after,
            vouchers[number],
            left,
            heap_gains,
            heap_persons,
            fresh,
        )
    return vouchers, values


def alike(survival: Array, uncovered: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each person the one before and the one after among people with the same rows, -1 for none, [people] each."""
    people = len(survival)
    before, after = np.full(people, -1), np.full(people, -1)
    if people > _FEW:
        _, kind = np.unique(np.concatenate([survival, uncovered], axis=1), axis=0, return_inverse=True)
        line = np.argsort(kind, kind="stable")
        same = np.flatnonzero(kind[line[1:]] == kind[line[:-1]])
        before[line[same + 1]], after[line[same]] = line[same], line[same + 1]
    return before, after


def greedy_many(
    survival: Array,
    uncovered: Array,
    weights: Array,
    which: NDArray[np.int64],
    discount: float,
    first: NDArray[np.int64],
    budgets: NDArray[np.int64],
    spendable: NDArray[np.int64],
    most_per_person: NDArray[np.int64],
    least_per_person: NDArray[np.int64],
) -> tuple[NDArray[np.int64], Array]:
    """Plans for many frontiers that stand one after another in the tables: vouchers [people], values [frontiers].

    Frontier f is rows first[f] .. first[f + 1] - 1 and plans with weights[which[f]], where `weights` is [tables,
    budget + 1, latent]. One call of compiled code: what training and rollouts use.
    """
    before, after = np.full((2, len(survival)), -1)
    for f in np.flatnonzero(np.diff(first) > _MANY).tolist():
        own = slice(first[f], first[f + 1])
        before[own], after[own] = alike(survival[own], uncovered[own])
    found: tuple[NDArray[np.int64], Array] = _plan_many(
        np.ascontiguousarray(survival, dtype=np.float64),
        np.ascontiguousarray(uncovered, dtype=np.float64),
        np.ascontiguousarray(weights, dtype=np.float64),
        which,
        float(discount),
        first,
        budgets,
        spendable,
        most_per_person,
        least_per_person,
        _FLAT,
        before,
        after,
    )
    return found


@njit(cache=True, nogil=True)
def _above(gain: float, person: int, other_gain: float, other: int) -> bool:
    return gain > other_gain or (gain == other_gain and person < other)


@njit(cache=True, nogil=True)
def _sift_down(gains: Array, persons: NDArray[np.int64], size: int, at: int) -> None:
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
def _sift_up(gains: Array, persons: NDArray[np.int64], at: int) -> None:
    gain, person = gains[at], persons[at]
    while at > 0:
        parent = (at - 1) // 2
        if not _above(gain, person, gains[parent], persons[parent]):
            break
        gains[at], persons[at] = gains[parent], persons[parent]
        at = parent
    gains[at], persons[at] = gain, person


@njit(cache=True, nogil=True)
def _gain(chance: Array, covers: Array, worth: Array, left: Array, person: int, given: int) -> float:
    """The marginal gain of one more voucher (Equation 8)."""
    if given >= chance.shape[1]:
        return 0.0
    gain = chance[person, given]
    for j in range(len(left)):
        gain += worth[j] * left[j] * covers[person, given, j]
    return gain


@njit(cache=True, nogil=True)
def _run(
    chance: Array,
    covers: Array,
    worth: Array,
    spend: int,
    most: int,
    least: int,
    to_beat: float,
    lazy: bool,
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    vouchers: NDArray[np.int64],
    left: Array,
    heap_gains: Array,
    heap_persons: NDArray[np.int64],
    fresh: NDArray[np.int64],
) -> float:
    """Give out `spend` vouchers greedily, into `vouchers` and `left`; their value, or -inf if below `to_beat`."""
    people = len(chance)
    reward = 0.0
    vouchers[:] = 0
    left[:] = 1.0
    for i in range(people):
        for k in range(least):
            if k < chance.shape[1]:
                reward += chance[i, k]
                for j in range(len(left)):
                    left[j] *= 1.0 - covers[i, k, j]
        vouchers[i] = least
    so_far = reward
    for j in range(len(left)):
        so_far += worth[j] * (1.0 - left[j])
    size = 0
    for i in range(people):
        fresh[i] = 0
        if vouchers[i] < most and before[i] < 0:
            heap_gains[size] = _gain(chance, covers, worth, left, i, vouchers[i])
            heap_persons[size] = i
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        _sift_down(heap_gains, heap_persons, size, at)
    for step in range(spend - least * people):
        if lazy:
            while fresh[heap_persons[0]] != step:
                person = heap_persons[0]
                heap_gains[0] = _gain(chance, covers, worth, left, person, vouchers[person])
                fresh[person] = step
                _sift_down(heap_gains, heap_persons, size, 0)
        elif step:
            for at in range(size):
                heap_gains[at] = _gain(chance, covers, worth, left, heap_persons[at], vouchers[heap_persons[at]])
            for at in range(size // 2 - 1, -1, -1):
                _sift_down(heap_gains, heap_persons, size, at)
        gain, person = heap_gains[0], heap_persons[0]
        if so_far + (spend - least * people - step) * gain < to_beat:
            return -np.inf
        so_far += gain
        given = vouchers[person]
        if given < chance.shape[1]:
            reward += chance[person, given]
            for j in range(len(left)):
                left[j] *= 1.0 - covers[person, given, j]
        vouchers[person] = given + 1
        behind = before[person] >= 0 and vouchers[before[person]] == given + 1  # and waits for that one again
        if given + 1 >= most or behind:
            size -= 1
            heap_gains[0], heap_persons[0] = heap_gains[size], heap_persons[size]
        else:
            heap_gains[0] = _gain(chance, covers, worth, left, person, given + 1)
            fresh[person] = step + 1
        if size > 1:
            _sift_down(heap_gains, heap_persons, size, 0)
        following = after[person]
        if following >= 0 and vouchers[following] == given:  # whose turn it is now
            heap_gains[size] = _gain(chance, covers, worth, left, following, given)
            heap_persons[size] = following
            fresh[following] = step + 1
            size += 1
            _sift_up(heap_gains, heap_persons, size - 1)
    value = reward
    for j in range(len(left)):
        value += worth[j] * (1.0 - left[j])
    return value


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
def _upper_bounds(
    chance: Array, covers: Array, weights: Array, discount: float, spendable: int, most: int, least: int
) -> Array:
    """UB(s) of the module's docstring, [spendable + 1]; -inf where the least per person is not met."""
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
def _coverages(covers: Array) -> Array:
    """log(tau(k) / tau(k + 1)), [people, vouchers, latent]."""
    logs = np.empty_like(covers)
    for i in range(covers.shape[0]):
        for k in range(covers.shape[1]):
            for j in range(covers.shape[2]):
                logs[i, k, j] = -np.log1p(-covers[i, k, j])
    return logs


@njit(cache=True, nogil=True)
def _tangent_bound(
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
    """What no allocation of `spend` exceeds (the module's docstring; `left` is u), and the smallest entry in its sum.

    Nobody's entries rise, so none below `floor` is looked at; if too few are above it, all is done again without.
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
        return _tangent_bound(chance, logs, worth, left, spend, most, least, 0.0, entries)
    if count >= at or count == 0:
        return bound + (entries[:at].sum() if count else 0.0), 0.0
    top = np.partition(entries[:at], at - count)[at - count :]
    return bound + top.sum(), top[0]


@njit(cache=True, nogil=True)
def _plan(
    chance: Array,
    uncovered: Array,
    weights: Array,
    discount: float,
    spendable: int,
    most: int,
    least: int,
    every_spend: bool,
    lazy: bool,
    flat: int,
    before: NDArray[np.int64],
    after: NDArray[np.int64],
) -> tuple[NDArray[np.int64], int, Array]:
    people = len(chance)
    budget, latent = len(weights) - 1, weights.shape[1]
    covers = coverage_gains(chance, uncovered)
    values = np.full(spendable + 1, np.nan)
    vouchers, best_vouchers = np.zeros(people, np.int64), np.zeros(people, np.int64)
    left, heap_gains = np.empty(latent), np.empty(people)
    heap_persons, fresh = np.empty(people, np.int64), np.empty(people, np.int64)
    begun, smallest = 0, 0.0
    best_left, logs, entries = np.ones(latent), np.empty((0, 0, 0)), np.empty(chance.size)
    if every_spend:
        bounds = np.full(spendable + 1, np.inf)
        order = np.arange(spendable + 1)
    else:
        bounds = _upper_bounds(chance, covers, weights, discount, spendable, most, least)
        order = np.argsort(-bounds)
    best, best_spend = -np.inf, least * people
    for at in range(len(order)):
        spend = int(order[at])
        if spend < least * people:
            continue
        to_beat = -np.inf if every_spend else best - _SLACK * (1.0 + abs(best))
        if bounds[spend] < to_beat:
            break
        worth = discount * weights[budget - spend]
        if not every_spend and begun >= flat:
            if begun == flat:
                logs = _coverages(covers)
            begun += 1
            bound, smallest = _tangent_bound(
                chance, logs, worth, best_left, spend, most, least, 0.9 * smallest, entries
            )
            if bound < to_beat:
                continue
        else:
            begun += 1
        value = _run(
            chance,
            covers,
            worth,
            spend,
            most,
            least,
            to_beat,
            lazy,
            before,
            after,
            vouchers,
            left,
            heap_gains,
            heap_persons,
            fresh,
        )
        if value == -np.inf:
            continue
        values[spend] = value
        if value > best or (value == best and spend < best_spend):
            best, best_spend = value, spend
            best_vouchers[:] = vouchers
            best_left[:] = left
    return best_vouchers, best_spend, values


@njit(cache=True, nogil=True)
def _plan_many(
    chance: Array,
    uncovered: Array,
    weights: Array,
    which: NDArray[np.int64],
    discount: float,
    first: NDArray[np.int64],
    budgets: NDArray[np.int64],
    spendable: NDArray[np.int64],
    most: NDArray[np.int64],
    least: NDArray[np.int64],
    flat: int,
    before: NDArray[np.int64],
    after: NDArray[np.int64],
) -> tuple[NDArray[np.int64], Array]:
    frontiers = len(budgets)
    vouchers, values = np.zeros(len(chance), np.int64), np.zeros(frontiers)
    for f in range(frontiers):
        start, end = first[f], first[f + 1]
        own, spend, found = _plan(
            chance[start:end],
            uncovered[start:end],
            weights[which[f]][: budgets[f] + 1],
            discount,
            min(spendable[f], most[f] * (end - start)),
            most[f],
            least[f],
            False,
            True,
            flat,
            before[start:end],
            after[start:end],
        )
        vouchers[start:end] = own
        values[f] = found[spend]
    return vouchers, values
