"""A plan with its reasons: who gets the first, the second, ... coupon, and what each is worth, now and later."""

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.price_plan import gap_below
from peerfront.problem import Allocation


@dataclass(frozen=True, eq=False)
class Plan:
    """An allocation and its reasons: what each coupon is worth."""

    allocation: Allocation
    value: float
    """What the plan expects from here on, discounted: Q of this spend (Equation 8)."""
    values: Array  # [spendable + 1]
    """Q of every spend; NaN where it was not evaluated (it cannot be best)."""
    person: NDArray[np.int64]  # [spend]
    """Who got the first, second, ... coupon, in the planner's order."""
    now: Array  # [spend]
    """Of each coupon: the chance that it is used, the immediate part of its gain (Equation 10)."""
    later: Array  # [spend]
    """Of each coupon: what its recruit is expected to add to the value of the next frontier, discounted. In a plan by
    price, what all recruits add together is shared by how much each covers."""
    bound: float | None = None
    """What Q of no spend and no allocation exceeds, if this was planned by a common price; None for exact greedy."""

    @property
    def gap(self) -> float | None:
        """Share of the best plan's Q that this one can be below it, at most; None for exact greedy."""
        return None if self.bound is None else gap_below(self.bound, self.value)

    @property
    def spend(self) -> int:
        return self.allocation.spend


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
