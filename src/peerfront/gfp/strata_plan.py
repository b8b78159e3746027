"""Plans in which coupons differ only between strata: everybody in a stratum gets the same number, or the same lottery.

A plan gives each stratum a whole number of coupons per person; where coupons do not divide, some people of one stratum,
drawn by lot, get one more. Its value is Q of Algorithm 1, averaged over the lot exactly: with m of n people drawn, a
coordinate stays uncovered with the mean of prod T over all subsets of m (`strata_kernels.subset_means`).

Where more coupons motivate, lots for whole blocks (`blocks`) are tried, too: whoever wins gets all coupons of a block.
Of both plans the better is kept.

**Guarantee.** With few strata every such plan is tried, so the best is found. With many (`MOST_PLANS_TRIED`), greedy
raises the stratum with the largest gain for each coupon. Q is submodular in coupons, hence in whole strata, and gains
of a lot are concave in its winners, so for each spend greedy keeps 1 - 1/e of the best whole numbers with that spend,
counted from everybody's least (the argument for greedy by density, whose last item may be cut).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.blocks import majorants
from peerfront.gfp.floored_greedy import GroupFloors
from peerfront.gfp.strata_kernels import raise_the_best, subset_means, try_every_plan

Numbers = NDArray[np.int64]
MOST_PLANS_TRIED = 5_000_000
"""Plans (with their lots) up to which every one is tried."""
_MOST_IN_SUBSETS = 2_000  # people of a stratum up to whom means over subsets are exact
_WHOLE_CURVE = 2_000  # coupons up to which greedy tries every spend
_POINTS = 60  # spends that it tries in a larger round
_QUICK_PLANS, _QUICK_POINTS = 20_000, 24  # the same in simulations
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class RandomPart:
    """Coupons that random numbers may take, in the worst of some cases; none where nobody gets a random number."""

    coupons: Numbers  # [cases], given out at random
    planned: Numbers  # [cases], people who get their planned number

    @classmethod
    def none(cls) -> "RandomPart":
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def suffices(self, coupons: Numbers, spendable: int) -> bool:
        """Whether `spendable` coupons are enough for planned numbers, [people], whoever gets a random one."""
        if not len(self.coupons):
            return int(coupons.sum()) <= spendable
        so_far = np.concatenate([[0], np.cumsum(np.sort(coupons)[::-1])])
        return bool((self.coupons + so_far[self.planned] <= spendable).all())


@dataclass(frozen=True, eq=False)
class StrataPlan:
    """The best plan within strata."""

    totals: Numbers  # [strata], coupons of each
    value: float
    values: Array  # [spendable + 1], Q of every spend that was tried; NaN where no plan has it
    is_best: bool
    """Whether every plan was tried; otherwise greedy chose."""
    bounds: tuple[tuple[int, ...], ...]
    """Of each stratum: where blocks of coupons begin and end, the first and the last one included."""

    @property
    def spend(self) -> int:
        return int(self.totals.sum())

    def numbers(self, size: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Coupons that everybody in a stratum gets, how many people drawn by lot get more, and how many more; [strata]
        each. Coupons that make no whole block stay.
        """
        rows = []
        for total, people, bounds in zip(self.totals.tolist(), size.tolist(), self.bounds, strict=True):
            begin = max(bound for bound in bounds if bound * people <= total)
            width = next((bound - begin for bound in bounds if bound > begin), 1)
            rows.append((begin, (total - begin * people) // width, width))
        each, winners, more = np.array(rows, np.int64).T
        return each, winners, more


def plan_strata(
    tables: Tables,
    label: Numbers,
    worth: Array,
    *,
    most: int,
    least: int = 0,
    floors: GroupFloors | None = None,
    random: RandomPart | None = None,
    available: int | None = None,
    quickly: bool = False,
    besides: Array | None = None,
) -> StrataPlan:
    """Find the best plan in which people with the same label get the same.

    `tables` are those of the people, `label` [people] counts strata from 0, and row s of `worth` [spendable + 1,
    latent] is what coordinates are worth after a spend of s. Where some people get a random number instead of the
    planned one, `random` says what that may take, and `available` coupons must suffice for both. `quickly` tries fewer
    plans, for simulations. `besides` [spendable + 1] is what each spend leaves to others: it is part of the values.
    """
    spendable = len(worth) - 1
    strata = int(label.max()) + 1
    size = np.bincount(label, minlength=strata).astype(np.int64)
    most = max(min(most, tables.coupons), least)  # coupons beyond the tables bring nothing
    spendable = min(spendable, most * len(label))
    part = RandomPart.none() if random is None else random
    limited = (
        spendable if available is None else available,
        *_floors_by_stratum(floors, label, strata, spendable),
        part.coupons,
        part.planned,
    )
    worth = np.ascontiguousarray(worth[: spendable + 1], dtype=np.float64)
    is_best = float(most - least + 1) ** strata * float(size.sum() + 1) <= (
        _QUICK_PLANS if quickly else MOST_PLANS_TRIED
    )
    if not is_best and floors is not None and len(floors.shares):
        raise SettingError("plan_limits.too_many_strata", strata=strata, least=least, most=most)
    plans, several = [], [(tuple(range(most + 1)),) * strata]
    if not len(part.coupons) and (floors is None or not len(floors.shares)):
        several.append(_bounds(tables, label, strata, least, most))
    for bounds in dict.fromkeys(several):
        first, gains, left = _rows(tables, label, size, bounds)
        if is_best:
            values, totals = try_every_plan(first, size, gains, left, worth, least, most, spendable, *limited)
        else:
            spends = _spends(least * len(label), spendable, quickly)
            values, totals = raise_the_best(first, size, gains, left, worth, least, most, spends, spendable, *limited)
        if np.isnan(values).all():
            raise SettingError("plan_limits.strata_cannot_be_met")
        if besides is not None:
            values = values + besides[: len(values)]
        best = int(np.nanargmax(values))
        plans.append(StrataPlan(totals[best], float(values[best]), values, is_best, bounds))
    best_plan = max(plans, key=lambda plan: plan.value)
    return replace(best_plan, values=np.fmax.reduce([plan.values for plan in plans]))


def _floors_by_stratum(
    floors: GroupFloors | None, label: Numbers, strata: int, spendable: int
) -> tuple[Numbers, Numbers]:
    """People of each floor's group by stratum, [floors, strata], and the coupons they need, [floors, spends]."""
    if floors is None or not len(floors.shares):
        return np.zeros((0, strata), np.int64), np.zeros((0, spendable + 1), np.int64)
    members = np.array([np.bincount(label[own], minlength=strata) for own in floors.members], np.int64)
    needed = np.array([floors.needed(spend) for spend in range(spendable + 1)], np.int64)
    return members, np.ascontiguousarray(needed.T)


def _spends(start: int, spendable: int, quickly: bool) -> Numbers:
    if spendable - start <= (_QUICK_POINTS if quickly else _WHOLE_CURVE):
        return np.arange(start, spendable + 1)
    return np.unique(np.linspace(start, spendable, _QUICK_POINTS if quickly else _POINTS).astype(np.int64))


def _bounds(tables: Tables, label: Numbers, strata: int, least: int, most: int) -> tuple[tuple[int, ...], ...]:
    """Of each stratum: the ends of the blocks of what its people bring on average, beyond the least."""
    begin, bounds = min(least, tables.coupons), []
    for stratum in range(strata):
        mean = tables.gains[label == stratum, begin:].mean(axis=0, keepdims=True)
        ends = majorants(Tables(mean, np.zeros((*mean.shape, 0))))[1][0] + begin
        bounds.append(tuple(sorted({*range(least + 1), *ends[1:].tolist(), *range(tables.coupons, most + 1)})))
    return tuple(bounds)


def _rows(
    tables: Tables, label: Numbers, size: Numbers, bounds: Sequence[Sequence[int]]
) -> tuple[Numbers, Array, Array]:
    """What the people of each stratum bring and leave uncovered with 0, 1, ... coupons among them, by lots for whole
    blocks; coupons that make none are lost.

    Returns where the rows of each stratum begin, expected recruits [rows] and what stays uncovered [rows, latent].
    """
    first = np.concatenate([[0], np.cumsum(size * bounds[0][-1] + 1)]).astype(np.int64)
    gains, uncovered = np.zeros(first[-1]), np.ones((first[-1], tables.latent))
    for stratum, people in enumerate(size.tolist()):
        own = tables.take(np.flatnonzero(label == stratum))
        row = int(first[stratum])
        for begin, end in pairwise(bounds[stratum]):
            more = float(own.gains[:, begin:end].sum(axis=1).sum())
            means = _lot_means(np.prod(1.0 - own.covers[:, begin:end], axis=1))
            coupons = np.arange(1, people * (end - begin) + 1)
            winners = coupons // (end - begin)
            gains[row + coupons] = gains[row] + more * winners / people
            uncovered[row + coupons] = uncovered[row] * means[winners]
            row += len(coupons)
    return first, gains, uncovered


def _lot_means(ratios: Array) -> Array:
    """The mean of prod r over subsets of each size, [people + 1, latent].

    In a large stratum the sum of log r over a subset is close to normal, so that the mean is exp(mean + variance / 2).
    """
    people = len(ratios)
    if people <= _MOST_IN_SUBSETS:
        exact: Array = subset_means(np.ascontiguousarray(ratios, dtype=np.float64))
        return exact
    logs, winners = np.log(np.maximum(ratios, _TINY)), np.arange(people + 1.0)[:, None]
    variance = winners * (people - winners) / max(people - 1, 1) * logs.var(axis=0)
    return np.asarray(np.exp(np.minimum(winners * logs.mean(axis=0) + variance / 2.0, 0.0)))
