"""Plans where more coupons motivate: whole blocks of coupons instead of single ones.

If a second coupon brings more than the first, expected recruits are not concave in the number of coupons, and giving
one coupon at a time misleads greedy. So it plans with the least concave majorants: of G(k), and of -log T(k) for each
coordinate. They are never below what they stand for, so that

    Q(k) <= Q~(k) for all allocations k,     max Q <= max Q~ <= Q~(greedy) / (1 - 1 / e),

and greedy's guarantee holds for Q~. A majorant is touched at the ends of its blocks; coupons inside a block are taken
together: of people who are alike as many get whole blocks as there are coupons for, and the rest begin none.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerfront.gfp.backup import Tables
from peerfront.gfp.greedy import Limits, greedy_at, greedy_many

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
_ROUNDING = 1e-9  # tables that rise by less were rounded


def rises(tables: Tables) -> bool:
    """Whether somewhere a coupon brings more than the one before it."""
    return bool((tables.gains[:, 1:] > tables.gains[:, :-1] + _ROUNDING).any())


def smoothed(tables: Tables) -> Tables:
    """The same gains, with majorants of what coupons cover where that rises from coupon to coupon.

    It does for people of whom nearly all bring the same number: a first coupon may find the one who would come.
    """
    covers = tables.covers
    if not (covers[:, 1:] > covers[:, :-1] + _ROUNDING).any():
        return tables
    return Tables(tables.gains, majorants(tables)[0].covers)


def majorants(tables: Tables) -> tuple[Tables, Numbers]:
    """Tables of the least concave majorants, and the end of each coupon's block, [people, coupons + 1].

    Entry k of a person's row is the smallest end of a block that is at least k; 0 for 0.
    """
    gains, covers, ends = _majorants(np.ascontiguousarray(tables.gains), np.ascontiguousarray(tables.covers))
    return Tables(gains, covers), ends


@njit(cache=True, nogil=True)
def _majorants(gains: Array, covers: Array) -> tuple[Array, Array, Numbers]:
    people, coupons, latent = covers.shape
    smooth, shares = gains.copy(), covers.copy()
    ends = np.zeros((people, coupons + 1), np.int64)
    starts, sums = np.empty(coupons + 1, np.int64), np.empty(coupons + 1)
    for i in range(people):
        for j in range(-1, latent):
            blocks = 0
            for k in range(coupons):
                value = gains[i, k] if j < 0 else -np.log(max(1.0 - covers[i, k, j], 1e-300))
                starts[blocks], sums[blocks] = k, value
                blocks += 1
                # A block that adds more on average than the one before it is part of that one.
                while blocks > 1:
                    own = sums[blocks - 1] / (k + 1 - starts[blocks - 1])
                    before = sums[blocks - 2] / (starts[blocks - 1] - starts[blocks - 2])
                    if own <= before + 1e-12:
                        break
                    sums[blocks - 2] += sums[blocks - 1]
                    blocks -= 1
            for b in range(blocks):
                end = starts[b + 1] if b + 1 < blocks else coupons
                mean = sums[b] / (end - starts[b])
                for k in range(starts[b], end):
                    if j < 0:
                        smooth[i, k] = mean
                        ends[i, k + 1] = end
                    else:
                        shares[i, k, j] = 1.0 - np.exp(-mean)
            if j >= 0:
                for k in range(1, coupons):
                    shares[i, k, j] = min(shares[i, k, j], shares[i, k - 1, j])
            else:
                for k in range(1, coupons):
                    smooth[i, k] = min(smooth[i, k], smooth[i, k - 1])
    return smooth, shares, ends


def value_of(tables: Tables, worth: Array, coupons: Numbers) -> float:
    """Q without the base: expected recruits now and what they are worth later; `worth` is discount * w(r - s)."""
    return float(_value(tables.gains, tables.covers, worth, coupons))


@njit(cache=True, nogil=True)
def _value(gains: Array, covers: Array, worth: Array, coupons: Numbers) -> float:
    people, most, latent = covers.shape
    total = 0.0
    left = np.ones(latent)
    for i in range(people):
        for k in range(min(coupons[i], most)):
            total += gains[i, k]
            for j in range(latent):
                left[j] *= 1.0 - covers[i, k, j]
    for j in range(latent):
        total += worth[j] * (1.0 - left[j])
    return total


def whole_blocks(tables: Tables, worth: Array, coupons: Numbers, ends: Numbers, least: int) -> Numbers:
    """The allocation with whole blocks: people inside a block give back what they have of it, and the coupons that this
    frees finish blocks where that is worth most for each coupon, while any pays.
    """
    return _whole_blocks(tables.gains, tables.covers, worth, coupons.copy(), ends, least)


@njit(cache=True, nogil=True)
def _whole_blocks(gains: Array, covers: Array, worth: Array, coupons: Numbers, ends: Numbers, least: int) -> Numbers:
    people, most, latent = covers.shape
    free = 0
    inside = np.zeros(people, np.bool_)
    for i in range(people):
        k = min(coupons[i], most)
        if k > 0 and ends[i, k] > k:
            begin = 0
            for earlier in range(1, k + 1):
                if ends[i, earlier] == earlier:
                    begin = earlier
            begin = max(begin, min(least, coupons[i]))
            free += coupons[i] - begin
            coupons[i] = begin
            inside[i] = True
    left = np.ones(latent)
    for i in range(people):
        for k in range(min(coupons[i], most)):
            for j in range(latent):
                left[j] *= 1.0 - covers[i, k, j]
    while free > 0:
        best, who, size = 1e-12, -1, 0
        for i in range(people):
            if not inside[i]:
                continue
            added = 0.0
            kept = np.ones(latent)
            for number in range(1, min(free, most - coupons[i]) + 1):
                k = coupons[i] + number - 1
                added += gains[i, k]
                later = 0.0
                for j in range(latent):
                    kept[j] *= 1.0 - covers[i, k, j]
                    later += worth[j] * left[j] * (1.0 - kept[j])
                if (added + later) / number > best:
                    best, who, size = (added + later) / number, i, number
        if who < 0:
            break
        for k in range(coupons[who], coupons[who] + size):
            for j in range(latent):
                left[j] *= 1.0 - covers[who, k, j]
        coupons[who] += size
        free -= size
        inside[who] = coupons[who] < most
    return coupons


def greedy_in_blocks(
    tables: Tables,
    weights: Array,
    which: Numbers,
    discount: float,
    first: Numbers,
    limits: Limits,
    coming: Array | None = None,
) -> tuple[Numbers, Array]:
    """`greedy_many`, in whole blocks where coupons motivate; values are those of the majorants then."""
    if not rises(tables):
        return greedy_many(tables, weights, which, discount, first, limits, coming)
    concave, ends = majorants(tables)
    coupons, values = greedy_many(concave, weights, which, discount, first, limits, coming)
    for f in range(len(values)):
        own = slice(first[f], first[f + 1])
        left = int(limits.budgets[f] - coupons[own].sum())
        worth = discount * weights[which[f], left] * (1.0 if coming is None else coming[f])
        coupons[own] = whole_blocks(tables.take(own), worth, coupons[own], ends[own], int(limits.least_per_person[f]))
    return coupons, values


def greedy_at_in_blocks(
    tables: Tables,
    weights: Array,
    discount: float,
    spends: Sequence[int],
    most_per_person: int,
    least_per_person: int = 0,
    base: Array | None = None,
) -> tuple[Numbers, Array]:
    """`greedy_at`, in whole blocks where coupons motivate, blocks use up the spend, and that is better."""
    if not rises(tables):
        return greedy_at(tables, weights, discount, spends, most_per_person, least_per_person, base)
    concave, ends = majorants(tables)
    plans, _ = greedy_at(concave, weights, discount, spends, most_per_person, least_per_person, base)
    budget, values = len(weights) - 1, np.full(len(spends), -np.inf)
    for number, (spend, plan) in enumerate(zip(spends, plans.copy(), strict=True)):
        whole = whole_blocks(tables, discount * weights[budget - spend], plan, ends, least_per_person)
        for coupons in (whole, plan):
            value = value_of(tables, discount * weights[budget - spend], coupons)
            value += 0.0 if base is None else discount * float(base[budget - spend])
            if value > values[number] and coupons.sum() == spend:
                plans[number], values[number] = coupons, value
    return plans, values


def people_in_blocks(totals: Numbers, kind: Numbers, ends: Numbers, least: int) -> Numbers:
    """Coupons of each person, [people]: whoever stands first of a kind gets a whole block, and one what remains.

    `totals` [kinds] are the coupons of each kind, and `ends` those of its majorant.
    """
    number = np.bincount(kind, minlength=len(totals))
    line = np.argsort(kind, kind="stable")
    first = np.cumsum(number) - number
    coupons = np.zeros(len(kind), np.int64)
    most = ends.shape[1] - 1
    for each in np.flatnonzero(number).tolist():
        level, more = divmod(int(totals[each]), int(number[each]))
        begin, end = level, level + 1
        if level < most and (more or ends[each, level] > level):
            whole = np.flatnonzero(ends[each, : level + 1] == np.arange(level + 1))
            begin, end = max(int(whole[-1]), least), int(ends[each, level + min(more, 1)])
        blocks, rest = divmod(int(totals[each]) - begin * int(number[each]), end - begin)
        own = line[first[each] : first[each] + number[each]]
        coupons[own] = begin
        coupons[own[:blocks]] = end
        if rest:
            coupons[own[blocks]] += rest
    return coupons


def worth_of_kinds(tables: Tables, worth: Array, kind: Numbers, coupons: Numbers) -> tuple[float, Array]:
    """Q without the base of coupons [people], and what each coupon adds to it later, [kinds, coupons].

    Row kind[i] of the tables is person i's. What all recruits add later is shared by how much each covers.
    """
    numbers = tables.coupons + 1
    place = kind * numbers + np.minimum(coupons, tables.coupons)
    having = np.bincount(place, minlength=tables.people * numbers).reshape(-1, numbers)
    people = having[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]  # with at least 1, 2, ... coupons, [kinds, coupons]
    logs = -np.log(np.maximum(1.0 - tables.covers, 1e-300))
    covered = np.einsum("kc,kcl->l", people, logs)
    rate = np.where(covered > 0.0, -np.expm1(-covered) / np.where(covered > 0.0, covered, 1.0), 1.0)
    later: Array = logs @ (worth * rate)
    return float((people * (tables.gains + later)).sum()), later
