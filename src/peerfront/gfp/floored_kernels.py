"""The compiled loop of greedy with floors; arrays are those of `greedy_kernels`."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerfront.gfp.backup import Array
from peerfront.gfp.greedy_kernels import marginal_gain, sift_down, sift_up


@njit(cache=True, nogil=True)
def _may_get(members: NDArray[np.bool_], lacking: NDArray[np.int64], free: bool, person: int) -> bool:
    lacks = free
    for group in range(len(lacking)):
        lacks |= lacking[group] > 0 and members[group, person]
    return lacks


@njit(cache=True, nogil=True)
def hand_out(
    chance: Array,
    covers: Array,
    worth: Array,
    number: int,
    most: int,
    members: NDArray[np.bool_],
    lacking: NDArray[np.int64],
    free: bool,
    previous_twin: NDArray[np.int64],
    next_twin: NDArray[np.int64],
    coupons: NDArray[np.int64],
    left: Array,
    reward: float,
) -> tuple[int, float]:
    """Give up to `number` coupons, one by one, to the largest marginal gain.

    Returns how many are left, and `reward` with the expected recruits of those given added to it.
    Unless `free`, only people of groups that are `lacking` coupons get some, until none is. `members` is [groups,
    people]. Writes `coupons`, `left` and `lacking`. Twins must be in the same groups.
    """
    people = len(chance)
    heap_gains, heap_persons = np.empty(people), np.empty(people, np.int64)
    fresh = np.zeros(people, np.int64)
    size, step = 0, 0
    for i in range(people):
        before = previous_twin[i]
        if coupons[i] < most and (before < 0 or coupons[before] > coupons[i]) and _may_get(members, lacking, free, i):
            heap_gains[size] = marginal_gain(chance, covers, worth, left, i, coupons[i])
            heap_persons[size] = i
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap_gains, heap_persons, size, at)
    while number > 0 and size > 0:
        person = heap_persons[0]
        given = coupons[person]
        eligible = _may_get(members, lacking, free, person)
        if eligible and fresh[person] != step:
            heap_gains[0] = marginal_gain(chance, covers, worth, left, person, given)
            fresh[person] = step
            sift_down(heap_gains, heap_persons, size, 0)
            continue
        stays = eligible
        if eligible:
            if given < chance.shape[1]:
                reward += chance[person, given]
                for j in range(len(left)):
                    left[j] *= 1.0 - covers[person, given, j]
            coupons[person] = given + 1
            for group in range(len(lacking)):
                if members[group, person]:
                    lacking[group] -= 1
            number, step = number - 1, step + 1
            before = previous_twin[person]
            stays = given + 1 < most and not (before >= 0 and coupons[before] == given + 1)
        if not stays:
            size -= 1
            heap_gains[0], heap_persons[0] = heap_gains[size], heap_persons[size]
        if size > 1:
            sift_down(heap_gains, heap_persons, size, 0)
        following = next_twin[person]
        if eligible and following >= 0 and coupons[following] == given:
            heap_gains[size] = marginal_gain(chance, covers, worth, left, following, given)
            heap_persons[size] = following
            fresh[following] = step
            size += 1
            sift_up(heap_gains, heap_persons, size - 1)
    return number, reward
