"""Algorithm 1, exact and fast: the same allocation and value as `paper.algorithm_1`, to the last bit.

*Lazy.* Gains only shrink as coupons are given (Proposition 2), so a stale gain is an upper bound: a heap keyed by
(-gain, index) re-evaluates only its top. Rounding cannot spoil this: sums and products are monotone in floating point.

*Twins.* Of people whose rows are the same, the next coupon goes to the one with fewest, the first of them on the list;
the others wait outside the heap. A frontier of thousands has hundreds of kinds of people.

*Pruned.* For a spend s no allocation is worth more than

    UB(s) = A*(s) + discount * sum_j w_j(r - s) * (1 - u*_j(s)),

where A*(s) adds the s largest gains and u*_j(s) multiplies the s smallest ratios T(k + 1) / T(k) of
coordinate j, each on its own. Spends are visited by descending UB until it falls below the best value so far, and a run
stops as soon as its remaining coupons, each worth at most the current largest gain, cannot reach the best.

Where the value is flat that leaves hundreds of spends, so after a few of them a tighter bound is computed first:
1 - exp(-x) lies below its tangent at the coverage x* of the best plan so far, and with the tangent people separate,

    Q(s) <= sum_j W_j (1 - u_j - u_j x*_j)  +  the s largest of  p_i(k + 1) + sum_j W_j u_j l_ij(k),

with W = discount * w(r - s), u = exp(-x*), l(k) = log(T(k) / T(k + 1)). It is exact to second order: what it misses
is less than what Q loses.

Recruits still to come from coupons that are out add to Q of each spend what they are worth with the coupons left
(`base`), the same for every allocation of that spend (`backup`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.greedy_kernels import plan_frontier, plan_frontiers, spend_greedily

_MAX_PEOPLE_WITHOUT_TWINS = 30  # on frontiers of at most this size, looking for twins costs more than it saves
_MAX_PEOPLE_WITHOUT_TWINS_IN_BULK = 300  # the same where many frontiers are planned together
RUNS_BEFORE_TANGENT = 8  # spends run in full before each further one must pass the tangent bound


@dataclass(frozen=True, slots=True)
class GreedyPlan:
    """The result of Algorithm 1: the best spend, its allocation and its value."""

    coupons: NDArray[np.int64]  # [people]
    spend: int
    value: float
    """Q of this spend."""
    values: Array  # [spendable + 1]
    """Q of every spend that was evaluated; NaN where pruning showed that it cannot be best, or it is not allowed."""


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """What each of many frontiers may spend."""

    budgets: NDArray[np.int64]  # [frontiers], r
    spendable: NDArray[np.int64]  # [frontiers], most coupons of the round
    most_per_person: NDArray[np.int64]  # [frontiers]
    least_per_person: NDArray[np.int64]  # [frontiers]

    def take(self, frontiers: NDArray[np.int64]) -> "Limits":
        """The limits of some of the frontiers."""
        return Limits(
            self.budgets[frontiers],
            self.spendable[frontiers],
            self.most_per_person[frontiers],
            self.least_per_person[frontiers],
        )


def greedy(
    tables: Tables,
    weights: Array,
    discount: float,
    *,
    spendable: int | None = None,
    most_per_person: int | None = None,
    least_per_person: int = 0,
    every_spend: bool = False,
    check: bool = True,
    base: Array | None = None,
) -> GreedyPlan:
    """Plan one frontier: the best spend and its greedy allocation.

    `weights` is [budget + 1, latent] (row r is w(r)); `base` [budget + 1] is the value of who comes anyway.
    `spendable` caps the round, `most_per_person` each person, and everybody gets `least_per_person`. `every_spend`
    turns pruning off, for the whole curve of Q over the spend.
    """
    budget = len(weights) - 1
    most = budget if most_per_person is None else most_per_person
    people = tables.people
    spendable = min(budget if spendable is None else spendable, budget, most * people)
    if check:
        tables.check(weights)
        if not 0 <= least_per_person <= most or least_per_person * people > spendable:
            raise SettingError(
                "plan_limits.least_too_high", least=least_per_person, people=people, spendable=spendable, most=most
            )
    coupons, spend, values = plan_frontier(
        tables.gains,
        tables.covers,
        np.ascontiguousarray(weights, dtype=np.float64),
        np.zeros(budget + 1) if base is None else np.ascontiguousarray(base, dtype=np.float64),
        float(discount),
        int(spendable),
        int(most),
        int(least_per_person),
        bool(every_spend),
        RUNS_BEFORE_TANGENT,
        *twins(tables),
    )
    return GreedyPlan(coupons, int(spend), float(values[spend]), values)


def greedy_at(
    tables: Tables,
    weights: Array,
    discount: float,
    spends: Sequence[int],
    most_per_person: int,
    least_per_person: int = 0,
    base: Array | None = None,
) -> tuple[NDArray[np.int64], Array]:
    """The greedy allocations of given spends, [spends, people], and their values (the inner loop of Algorithm 1)."""
    people, latent = tables.people, tables.latent
    coupons, values = np.zeros((len(spends), people), np.int64), np.zeros(len(spends))
    left, heap_gains = np.empty(latent), np.empty(people)
    heap_persons, fresh = np.empty((2, people), np.int64)
    previous_twin, next_twin = twins(tables)
    for number, spend in enumerate(spends):
        values[number] = spend_greedily(
            tables.gains,
            tables.covers,
            discount * weights[len(weights) - 1 - spend],
            spend,
            most_per_person,
            least_per_person,
            -np.inf,
            previous_twin,
            next_twin,
            coupons[number],
            left,
            heap_gains,
            heap_persons,
            fresh,
        )
        if base is not None:
            values[number] += discount * base[len(weights) - 1 - spend]
    return coupons, values


def twins(tables: Tables) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each person the previous and the next one with the same rows, -1 for none, [people] each."""
    people = tables.people
    previous_twin, next_twin = np.full(people, -1), np.full(people, -1)
    if people > _MAX_PEOPLE_WITHOUT_TWINS:
        rows = np.ascontiguousarray(np.concatenate([tables.gains, tables.covers.reshape(people, -1)], axis=1))
        _, kind = np.unique(rows.view(np.dtype((np.void, rows.strides[0]))).reshape(-1), return_inverse=True)
        line = np.argsort(kind, kind="stable")
        same = np.flatnonzero(kind[line[1:]] == kind[line[:-1]])
        previous_twin[line[same + 1]], next_twin[line[same]] = line[same], line[same + 1]
    return previous_twin, next_twin


def greedy_many(
    tables: Tables,
    weights: Array,
    which: NDArray[np.int64],
    discount: float,
    first: NDArray[np.int64],
    limits: Limits,
    coming: Array | None = None,
) -> tuple[NDArray[np.int64], Array]:
    """Plans for many frontiers that stand one after another in the tables: coupons [people], values [frontiers].

    Frontier f is rows first[f] .. first[f + 1] - 1 and plans with weights[which[f]], where `weights` is [tables,
    budget + 1, latent]. `coming` [frontiers, latent] is what recruits still to come leave uncovered (`backup`). One
    call of compiled code: what training and rollouts use.
    """
    previous_twin, next_twin = np.full((2, tables.people), -1)
    for f in np.flatnonzero(np.diff(first) > _MAX_PEOPLE_WITHOUT_TWINS_IN_BULK).tolist():
        own = slice(first[f], first[f + 1])
        previous_twin[own], next_twin[own] = twins(tables.take(own))
    plans: tuple[NDArray[np.int64], Array] = plan_frontiers(
        tables.gains,
        tables.covers,
        np.ascontiguousarray(weights, dtype=np.float64),
        which,
        np.empty((0, tables.latent)) if coming is None else np.ascontiguousarray(coming, dtype=np.float64),
        float(discount),
        first,
        limits.budgets,
        limits.spendable,
        limits.most_per_person,
        limits.least_per_person,
        RUNS_BEFORE_TANGENT,
        previous_twin,
        next_twin,
    )
    return plans
