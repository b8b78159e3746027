"""What each coupon of a plan is worth, now and later: who gets the first, the second, ... in the planner's order."""

import heapq

import numpy as np
from numpy.typing import NDArray

from peerfront.gfp.backup import Array, Tables


def worth_of_each(tables: Tables, worth: Array, coupons: NDArray[np.int64]) -> tuple[NDArray[np.int64], Array, Array]:
    """Give out the same coupons again, best first: who gets each, and what it is worth now and later, [spend] each."""
    n_people, columns = tables.gains.shape
    given = np.zeros(n_people, dtype=np.int64)
    left = np.ones(len(worth))  # u_j, what nobody covers
    total = int(coupons.sum())
    person, now, later = np.zeros(total, dtype=np.int64), np.zeros(total), np.zeros(total)
    chance = np.concatenate([tables.gains, np.zeros((n_people, 1))], axis=1)
    gains = np.concatenate([tables.covers, np.zeros((n_people, 1, len(worth)))], axis=1)
    first = chance[:, 0] + gains[:, 0] @ worth
    # Gains only fall as coupons are given, so whoever is still on top with an updated gain is the best of all.
    heap = [(-float(first[i]), i) for i in np.flatnonzero(coupons).tolist()]
    heapq.heapify(heap)
    for number in range(total):
        while True:
            best = heap[0][1]
            level = min(int(given[best]), columns)
            immediate, future = float(chance[best, level]), float(gains[best, level] @ (worth * left))
            heapq.heapreplace(heap, (-(immediate + future), best))
            if heap[0][1] == best:
                break
        person[number], now[number], later[number] = best, immediate, future
        left = left * (1.0 - gains[best, level])
        given[best] += 1
        if given[best] == coupons[best]:
            heapq.heappop(heap)
    return person, now, later


def worth_by_kind(
    now: Array, later: Array, kind: NDArray[np.int64], coupons: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Array, Array]:
    """The same for a plan by kinds, whose coupons' worth is given, [kinds, coupons] each; kind and coupons [people]."""
    person = np.repeat(np.arange(len(coupons)), coupons)
    level = np.arange(len(person)) - np.repeat(np.cumsum(coupons) - coupons, coupons)
    columns = now.shape[1]
    used, place = level < columns, np.minimum(level, columns - 1)
    each_now, each_later = (np.where(used, table[kind[person], place], 0.0) for table in (now, later))
    best_first = np.argsort(-(each_now + each_later), kind="stable")
    return person[best_first], each_now[best_first], each_later[best_first]
