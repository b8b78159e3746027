"""Plan a frontier of any size by a common price of a coupon, and say how far from the best plan that can be.

Exact greedy (`greedy.py`) gives out coupons one by one, for one spend after another: too slow for a million of them.
Here people are counted by kind, and a kind shares its coupons evenly, which is best for it (gains fall, Proposition 2).

**One spend.** If kinds may share out fractions, the value of a spend s is concave,

    A(k) + sum_j W_j (1 - exp(-x_j(k))),    W = discount * w(r - s),    x_j(k) = sum of log(T(k) / T(k + 1)).

With the tangent at uncovered shares u = exp(-x), coupon l of somebody adds G(l) - G(l - 1) + sum_j W_j u_j
log-ratio_j(l), whatever the others get. People separate: there is a price above which every coupon is given, and for
*any* u and any price m

    Q(s) <= sum_j W_j (1 - u_j + u_j log u_j) + m s + sum over people and coupons of max(0, gain - m).          (1)

The allotment at the price that spends s is best for the tangent; allotments found at different u are mixed in the best
proportions, which gives the next u, until the mixture's value meets the smallest bound (the Frank-Wolfe method with all
corrections). Of the mixture whole coupons are given out, and the few that remain one by one, greedily.

**All spends.** In (1) a spend enters through m s and W(s) alone. Over an interval of spends, put above each W_j a
straight line: the right side becomes convex in s, so its largest value is at one of the two ends. Intervals whose bound
is above the best plan so far are halved and their middle is planned, until no spend can be better by more than
`tolerance`, or the limit of halvings is reached. The largest bound that is left is `PricePlan.bound`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.gfp import price_kernels as kernels
from peerfront.gfp.backup import Array, Tables

TOLERANCE = 2e-4
"""Share of the value that another spend may still add when the search ends."""
_TOLERANCE_OF_A_SPEND = 2e-5  # the same for other allocations of one spend
_ALLOTMENTS, _MIXING_STEPS = 40, 400  # for one spend: most allotments that are mixed, and steps of mixing each time
_HALVINGS = 60  # of intervals of spends
_GIVEN_ONE_BY_ONE = 2_000  # coupons up to which a spend is given out greedily from the first coupon on
_ROUNDING = 1e-9  # relative; bounds are raised by it, for sums of a million terms


@dataclass(frozen=True, slots=True, eq=False)
class PricePlan:
    """Coupons by kind, what they are worth, and what no plan can exceed."""

    totals: NDArray[np.int64]  # [kinds]
    """Coupons of all people of each kind together; they share them evenly."""
    spend: int
    value: float
    """Q of this spend with these coupons."""
    bound: float
    """Q of no spend and no allocation is larger."""
    price: float
    """What a coupon has to add to be given out."""
    later: Array  # [kinds, coupons]
    """What each coupon adds to the next frontier's value: their sum together, shared by how much each covers."""
    spends: NDArray[np.int64]  # [spends], rising
    """The spends that were planned."""
    values: Array  # [spends]
    """Q of each of them."""

    @property
    def gap(self) -> float:
        """Share of the best plan's value that this one can be below it, at most."""
        return gap_below(self.bound, self.value)


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """What is known of one spend."""

    spend: int
    bound: float
    left: Array  # [latent], the u of the smallest bound
    price: float
    coverage: Array  # [latent], of the mixture: where the search at a neighbouring spend begins
    value: float


def plan_by_price(
    tables: Tables,
    number: NDArray[np.int64],
    weights: Array,
    discount: float,
    *,
    spendable: int | None = None,
    most_per_person: int | None = None,
    least_per_person: int = 0,
    tolerance: float = TOLERANCE,
    check: bool = True,
    base: Array | None = None,
) -> PricePlan:
    """Plan one frontier of `number` [kinds] people of each kind: the best spend and its coupons.

    `tables` has a row for each kind, `weights` is [budget + 1, latent]; limits and `base` are those of `greedy.greedy`.
    """
    if check:
        tables.check(weights)
    search = _Search(tables, number, weights, discount, spendable, most_per_person, least_per_person, base)
    bound, best = search.run(tolerance), search.best
    evaluated = sorted((each.spend, each.value) for each in search.points.values() if each.value > -np.inf)
    spends, values = (np.array(column) for column in zip(*evaluated, strict=True))
    totals, later, bound = search.best_totals, search.later(), max(bound, best.value)
    return PricePlan(totals, best.spend, best.value, bound, best.price, later, spends, values)


def totals_by_price(
    tables: Tables,
    number: NDArray[np.int64],
    weights: Array,
    discount: float,
    spends: Sequence[int],
    most_per_person: int,
    least_per_person: int = 0,
) -> list[NDArray[np.int64]]:
    """The coupons of each kind, [kinds], for each of these spends (as `greedy.greedy_at` does exactly)."""
    search = _Search(tables, number, weights, discount, None, most_per_person, least_per_person)
    totals, begin = [], None
    for spend in spends:
        mixture, _, _, _, begin = search._mixture(spend, search.worth(spend), begin)
        totals.append(search._whole_coupons(spend, search.worth(spend), mixture))
    return totals


def gap_below(bound: float, value: float) -> float:
    """Share of a bound that a value is below it; none where the bound is nothing but rounding."""
    return max(1.0 - value / bound, 0.0) if bound > 2.0 * _ROUNDING else 0.0


def people_of_kinds(totals: NDArray[np.int64], kind: NDArray[np.int64]) -> NDArray[np.int64]:
    """Coupons of each person, [people]: those of a kind share evenly, and whoever stands first gets one more."""
    number = np.bincount(kind, minlength=len(totals))
    line = np.argsort(kind, kind="stable")
    place = np.empty(len(kind), dtype=np.int64)  # within one's kind
    place[line] = np.arange(len(kind)) - np.repeat(np.cumsum(number) - number, number)
    each, more = np.divmod(totals, np.maximum(number, 1))
    coupons: NDArray[np.int64] = each[kind] + (place < more[kind])
    return coupons


class _Search:
    """The tables of one frontier, the spends planned so far, and the best of them."""

    def __init__(
        self,
        tables: Tables,
        number: NDArray[np.int64],
        weights: Array,
        discount: float,
        spendable: int | None,
        most: int | None,
        least: int,
        base: Array | None = None,
    ) -> None:
        budget, people = len(weights) - 1, int(number.sum())
        self.most = budget if most is None else most
        self.spendable = min(budget if spendable is None else spendable, budget, self.most * people)
        self.least, self.fewest = least, least * people
        if not 0 <= least <= self.most or self.fewest > self.spendable:
            raise SettingError(
                "plan_limits.least_too_high", least=least, people=people, spendable=self.spendable, most=self.most
            )
        self.number = np.ascontiguousarray(number, dtype=np.int64)
        self.chance = np.ascontiguousarray(tables.gains[:, : self.most])
        self.logs = kernels.coverage_logs(np.ascontiguousarray(tables.covers[:, : self.most]))
        self.weights, self.discount = weights, float(discount)
        self.base = self.discount * (np.zeros(budget + 1) if base is None else base)
        self.gains = np.empty_like(self.chance)
        self.points: dict[int, _Point] = {}
        self.best: _Point
        self.best_totals = np.zeros(0, dtype=np.int64)

    # One spend ------------------------------------------------------------------------------------------------------

    def worth(self, spend: int) -> Array:
        worth: Array = self.discount * self.weights[len(self.weights) - 1 - spend]
        return worth

    def point(self, spend: int, begin: Array | None = None) -> _Point:
        """Plan one spend, unless it is known; coupons are given out only if it may be the best."""
        if spend in self.points:
            return self.points[spend]
        worth, anyway = self.worth(spend), float(self.base[len(self.base) - 1 - spend])
        mixture, bound, left, price, coverage = self._mixture(spend, worth, begin)
        bound += anyway
        value = -np.inf
        if not self.points or bound > self.best.value:
            totals = self._whole_coupons(spend, worth, mixture)
            value = self._value(worth, totals) + anyway
            if not self.points or value > self.best.value:
                self.best_totals = totals
                self.best = _Point(spend, bound, left, price, coverage, value)
        self.points[spend] = _Point(spend, max(bound, value), left, price, coverage, value)
        return self.points[spend]

    def _mixture(self, spend: int, worth: Array, begin: Array | None) -> tuple[Array, float, Array, float, Array]:
        """Mix allotments until the mixture's value meets the bound: levels, bound, its u and price, and coverage."""
        kinds, latent = len(self.number), len(worth)
        levels = np.empty((_ALLOTMENTS, kinds))
        rewards, covered = np.zeros(_ALLOTMENTS), np.zeros((_ALLOTMENTS, latent))
        shares = np.zeros(_ALLOTMENTS)
        coverage = np.zeros(latent) if begin is None else begin
        bound, best_left, best_price, used = np.inf, np.exp(-coverage), 0.0, 0
        for _ in range(_ALLOTMENTS):
            left = np.exp(-coverage)
            kernels.gains_at(self.chance, self.logs, worth, left, self.gains)
            price = kernels.levels_at_price(self.gains, self.number, self.least, spend - self.fewest, levels[used])
            here = kernels.priced_bound(self.gains, self.number, worth, left, price, spend, self.least)
            if here < bound:
                bound, best_left, best_price = here, left, price
            rewards[used] = kernels.reward_and_coverage(
                self.chance, self.logs, self.number, levels[used], covered[used]
            )
            shares[used] = 1.0 if used == 0 else 0.0
            used += 1
            kernels.mix(rewards[:used], covered[:used], worth, shares[:used], _MIXING_STEPS)
            coverage = shares[:used] @ covered[:used]
            value = float(shares[:used] @ rewards[:used] - worth @ np.expm1(-coverage))
            if bound - value <= _TOLERANCE_OF_A_SPEND * abs(value) or not worth.any():
                break
        bound += _ROUNDING * (1.0 + abs(bound))
        return shares[:used] @ levels[:used], float(bound), best_left, float(best_price), coverage

    def _whole_coupons(self, spend: int, worth: Array, mixture: Array) -> NDArray[np.int64]:
        """Give out the whole coupons of a mixture, and what remains greedily, [kinds]."""
        totals: NDArray[np.int64] = self.least * self.number
        if spend - self.fewest > _GIVEN_ONE_BY_ONE:
            totals = np.clip((self.number * mixture).astype(np.int64), totals, self.most * self.number)
        covered = np.empty(len(worth))
        kernels.reward_and_coverage(self.chance, self.logs, self.number, totals / self.number, covered)
        kernels.finish_greedily(
            self.chance, self.logs, self.number, worth, covered, totals, spend - int(totals.sum()), self.most
        )
        return totals

    def _value(self, worth: Array, totals: NDArray[np.int64]) -> float:
        covered = np.empty(len(worth))
        reward = kernels.reward_and_coverage(self.chance, self.logs, self.number, totals / self.number, covered)
        return float(reward - worth @ np.expm1(-covered))

    def later(self) -> Array:
        """What each coupon of the best plan adds to the next frontier's value, [kinds, coupons]."""
        worth, covered = self.worth(self.best.spend), np.empty(self.logs.shape[2])
        levels = self.best_totals / self.number
        kernels.reward_and_coverage(self.chance, self.logs, self.number, levels, covered)
        rate = np.where(covered > 0.0, -np.expm1(-covered) / np.where(covered > 0.0, covered, 1.0), 1.0)
        shared: Array = self.logs @ (worth * rate)
        return shared

    # All spends -----------------------------------------------------------------------------------------------------

    def run(self, tolerance: float) -> float:
        """Search the best spend; return a bound on all of them."""
        first, last = self.point(self.fewest), self.point(self.spendable)
        intervals = [(self._bound_between(first, last, np.inf), first, last)]
        for _ in range(_HALVINGS):
            wide = [n for n, (_, low, high) in enumerate(intervals) if high.spend - low.spend > 1]
            if not wide:
                break
            worst = max(wide, key=lambda n: intervals[n][0])
            bound, low, high = intervals[worst]
            if bound <= self.best.value * (1.0 + tolerance):
                break
            middle = self.point((low.spend + high.spend) // 2, 0.5 * (low.coverage + high.coverage))
            intervals[worst : worst + 1] = [
                (self._bound_between(low, middle, bound), low, middle),
                (self._bound_between(middle, high, bound), middle, high),
            ]
        return max(bound for bound, _, _ in intervals)

    def _bound_between(self, low: _Point, high: _Point, bound: float) -> float:
        """A bound on every spend from one to the other; `bound` is one that is known."""
        ends = max(low.bound, high.bound)
        if high.spend - low.spend <= 1:
            return min(bound, ends)
        lines, anyway = self._lines_above(self.discount * self.weights, low.spend, high.spend), (0.0, 0.0)
        if self.base.any():
            at_low, at_high = self._lines_above(self.base[:, None], low.spend, high.spend)
            anyway = float(at_low[0]), float(at_high[0])
        for left, price in ((low.left, low.price), (high.left, high.price)):
            here = -np.inf
            for spend, worth, more in zip((low.spend, high.spend), lines, anyway, strict=True):
                kernels.gains_at(self.chance, self.logs, worth, left, self.gains)
                at_end = kernels.priced_bound(self.gains, self.number, worth, left, price, spend, self.least)
                here = max(here, at_end + more)
            bound = min(bound, here + _ROUNDING * (1.0 + abs(here)))
        return bound

    def _lines_above(self, worths: Array, low: int, high: int) -> tuple[Array, Array]:
        """Straight lines above W_j(s) from `low` to `high`: their values at both ends, [latent] each."""
        budget = len(worths) - 1
        table = worths[budget - high : budget - low + 1]
        at_high, at_low = table[0], table[-1]
        share = np.linspace(0.0, 1.0, len(table))[:, None]
        lift = np.maximum((table - (at_high + share * (at_low - at_high))).max(axis=0), 0.0)
        return at_low + lift, at_high + lift
