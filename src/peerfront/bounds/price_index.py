"""The price index: what a person is worth when coupons are unlimited but each costs the same price.

Put a price m on every coupon instead of limiting their number. People then no longer compete, and the worth of one,
with all who descend from them and t rounds left, solves (Whittle's relaxation of a restless bandit)

    J_t(x, m) = sum over l of max(0, p_x(l) * (1 + gamma * A_t(x, m)) - m),      p_x(l) = P(C >= l),
    A_1 = 0,    A_{t+1}(x, m) = E[J_t(recruit of x, m / gamma)].

The price grows by 1 / gamma a round because rewards are counted in the money of their own round while a coupon costs
the same in all of them. From price 1 on J is 0: nobody brings more than one recruit with one coupon.

**Why it bounds every policy.** A policy that spends at most r coupons from the frontier x_1 .. x_n earns at most

    D(m) = m * r + sum_i J(x_i, m)      for every price m >= 0        (weak duality),

because it earns what it earns, pays m for each coupon, gets m * r back, and nobody who pays m can earn more than J. So
the smallest D is a bound; the minimiser is the price that balances supply and demand for coupons. Three facts make it
computable and tight:

- A person's cap only shortens the sum over l.
- Nobody's descendants can spend more than R coupons, the largest budget of interest, and a coupon at price m earns at
  most 1 - m, so J(x, m) <= (1 - m) R. At gamma = 1 J would otherwise be huge at low prices.
- J is the largest of functions linear in m (one per policy), hence convex and falling in m: linear interpolation
  between prices lies above it and keeps the bound a bound.

**The table.** A_t is tabulated by backward induction for every kind of recruiter (`RecruitSpace`) and a geometric grid
of prices whose step divides log(1 / gamma), so that m / gamma is again on it and nothing is interpolated; at discounts
too near 1 for that, values between prices are interpolated. Every number is an upper bound, up to rounding. Where
recruits do not inherit their fields one by one, or too many kinds of them matter, there is no index, and
samples take its place (`dual`).

**The surplus.** p(l), what the l-th coupon adds to the expected recruits, falls with l, so the sum over l takes the
coupons whose p is above price / worth and no others: a binary search in the person's row and two looked-up sums,
whatever the number of coupons (`Chances`).

**Kinds of recruits.** The means over recruits need the chances of every kind of recruit, given every kind of recruiter.
Where each field of a recruit depends on the same field of the recruiter alone, as in most fitted models, two things
keep that small: fields that the response model does not look at change nobody's worth, now or later, so they are left
out; and the matrix is a product of one small table per field (a Kronecker product), which is applied field by field.
A recruiter's category may be unknown, as in a file with missing answers; a recruit's never is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.settings import check_fields, checked_discount, inside, one_or_more, optional
from peerfront.problem import OffspringModel, ResponseModel

Array = NDArray[np.float64]
_SETTLED = 1e-13  # a change of this size, relative to the largest budget, is rounding
_MOST_CELLS = 1 << 24  # numbers of a table: 134 MB
_FIRST_LEVELS = 32
_SHORTEST_STRIDE = 0.004  # log(1 / gamma) below which the grid would be too fine: interpolate instead


@dataclass(frozen=True)
class BoundSettings:
    """The rules of the study that a price index is made for, and the prices it tabulates."""

    largest_budget: int = 100
    """The bound holds for budgets up to this one, R; smaller is tighter at discounts near 1."""
    max_per_person: int | None = None
    """Most coupons a person may get in a round; None for no cap. States with a looser cap are refused."""
    price_step: float = 0.01
    """Spacing of the prices, relative."""
    smallest_price: float = 0.01
    """Prices below it are answered by the crude bound (1 - m) R."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            largest_budget=one_or_more,
            max_per_person=optional(one_or_more),
            price_step=inside(0.0, 0.5),
            smallest_price=inside(0.0, 0.5),
        )

    @property
    def most_per_person(self) -> int:
        return self.largest_budget if self.max_per_person is None else min(self.max_per_person, self.largest_budget)


@runtime_checkable
class InheritsByField(Protocol):
    """An offspring model in which a recruit's field depends on the same field of the recruiter, and on nothing else."""

    @property
    def field_tables(self) -> tuple[Array, ...]:
        """Per field the chances of each category, [categories + 1, categories]; the last row is for an unknown one."""
        ...


@runtime_checkable
class LooksAtSomeFields(Protocol):
    """A response model that says which fields it looks at."""

    @property
    def columns_used(self) -> tuple[int, ...] | None:
        """Columns of the codes; all others change nothing. None if it cannot say."""
        ...


@dataclass(frozen=True, eq=False)
class RecruitSpace:
    """The fields that matter, each inherited by a table of its own."""

    columns: tuple[int, ...]  # those that matter
    fields: int  # of a person, in all
    tables: tuple[Array, ...]  # for each column that matters [categories + 1, categories]

    @classmethod
    def of(cls, response: ResponseModel, offspring: OffspringModel, schema: Schema) -> "RecruitSpace | None":
        """None where a recruit's fields do not depend on the recruiter one by one."""
        if not isinstance(offspring, InheritsByField):
            return None
        columns = response.columns_used if isinstance(response, LooksAtSomeFields) else None
        if columns is None:
            columns = tuple(range(len(schema.fields)))
        return cls(columns, len(schema.fields), tuple(offspring.field_tables[column] for column in columns))

    @property
    def recruiters(self) -> int:
        """Number of kinds of recruiters, with unknown categories."""
        return int(np.prod([len(table) for table in self.tables], dtype=np.float64))

    @property
    def people(self) -> Codes:
        """One recruit of every kind, [kinds, fields]."""
        sizes = [table.shape[1] for table in self.tables]
        rows = np.zeros((int(np.prod(sizes)), self.fields), dtype=np.int16)
        if sizes:
            rows[:, self.columns] = np.stack(np.unravel_index(np.arange(len(rows)), sizes), axis=1)
        return rows

    def means(self, values: Array) -> Array:
        """Mean over the recruits of each recruiter, [recruiters, prices], of values of recruits, [kinds, prices]."""
        by_field = values.reshape(*(table.shape[1] for table in self.tables), -1)
        for axis, table in enumerate(self.tables):
            by_field = np.moveaxis(np.tensordot(table, by_field, axes=(1, axis)), 0, axis)
        return by_field.reshape(-1, values.shape[1])

    def of_recruits(self, values: Array) -> Array:
        """The rows of `people`, [kinds, prices], among those of all recruiters, [recruiters, prices]."""
        by_field = values.reshape(*(len(table) for table in self.tables), -1)
        without_unknown = by_field[tuple(slice(-1) for _ in self.tables)]
        return without_unknown.reshape(-1, values.shape[1])

    def places(self, covariates: Codes) -> NDArray[np.int64]:
        """The row of each person among the recruiters, [people]."""
        if not self.tables:
            return np.zeros(len(covariates), dtype=np.int64)
        sizes = [len(table) for table in self.tables]
        codes = [covariates[:, column] % size for column, size in zip(self.columns, sizes, strict=True)]  # -1: the last
        return np.ravel_multi_index(codes, sizes).astype(np.int64)


@dataclass(frozen=True, eq=False)
class PriceIndex:
    """J and child values of anybody at any price, with up to `rounds` rounds left."""

    response: ResponseModel
    discount: float
    settings: BoundSettings
    rounds: int
    prices: Array  # [prices], rising to 1
    space: RecruitSpace | None
    """None only with one round, after which nobody comes."""
    table: Array  # [rounds, recruiters, prices]: entry t - 1 is A_t; the last one serves more rounds too

    def child_values(self, codes: Codes, prices: Array, rounds_left: int | None = None) -> Array:
        """gamma * E[J(child, m / gamma)], [people, prices]: what one recruit is worth beyond being one.

        `prices` is [prices], or [people, prices] for prices of each person's own. `rounds_left` counts this round;
        None is all of the index's rounds.
        """
        left = self.rounds if rounds_left is None else rounds_left
        if left > self.rounds:
            raise SettingError("prices.too_many_rounds", rounds=self.rounds, asked=left)
        prices = np.asarray(prices, dtype=np.float64)
        shape = (len(codes), prices.shape[-1])
        if left <= 1 or self.space is None:
            return np.zeros(shape)
        later = np.atleast_2d(prices) / self.discount
        crude = np.broadcast_to(np.maximum(1.0 - later, 0.0) * self.settings.largest_budget, shape)
        rows = self.table[min(left, len(self.table)) - 1][self.space.places(codes)]
        in_range = np.broadcast_to(np.atleast_2d(prices) >= self.prices[0] * (1.0 - 1e-12), shape)
        tabulated = interpolated(rows, self.prices, prices)
        values: Array = self.discount * np.where(in_range, np.minimum(tabulated, crude), crude)
        return values

    def values(
        self, codes: Codes, prices: Array, rounds_left: int | None = None, max_per_person: int | None = None
    ) -> Array:
        """J(x, m), [people, prices]; see `child_values` for the arguments. A cap may be tighter than the index's."""
        prices = np.asarray(prices, dtype=np.float64)
        worth = 1.0 + self.child_values(codes, prices, rounds_left)
        most = (
            self.settings.most_per_person
            if max_per_person is None
            else min(max_per_person, self.settings.most_per_person)
        )
        if not len(codes) or rounds_left == 0:
            return np.zeros(worth.shape)
        chances = chances_that_matter(self.response, codes, most, float(prices.min()), float(worth.max()))
        crude = np.maximum(1.0 - np.atleast_2d(prices), 0.0) * self.settings.largest_budget
        values: Array = np.minimum(chances.surplus(worth, prices), crude)
        return values


def exact_price_index(
    response: ResponseModel,
    offspring: OffspringModel,
    schema: Schema,
    discount: float,
    rounds: int,
    settings: BoundSettings,
) -> PriceIndex | None:
    """The index of a study that ends after `rounds` rounds; None where no table of moderate size holds it.

    That is where a recruit's fields do not depend on the recruiter's one by one, or too many kinds of recruits matter.
    """
    prices = price_grid(checked_discount(discount), settings)
    if rounds <= 1:
        return PriceIndex(response, discount, settings, rounds, prices, None, np.zeros((1, 0, len(prices))))
    space = RecruitSpace.of(response, offspring, schema)
    if space is None or space.recruiters * max(len(prices) * rounds, settings.most_per_person) > _MOST_CELLS:
        return None
    table = _tabulated(response, space, discount, settings, prices, rounds)
    return PriceIndex(response, discount, settings, rounds, prices, space, table)


def price_grid(discount: float, settings: BoundSettings) -> Array:
    """Prices from `smallest_price` to 1; log(1 / gamma) is a whole number of steps unless it is too short."""
    step, stride = settings.price_step, -np.log(discount)
    if stride >= _SHORTEST_STRIDE:
        step = stride / np.ceil(stride / step)
        count = int(np.ceil(-np.log(settings.smallest_price) / step))
        return np.exp(-step * np.arange(count, -1, -1))
    # Near gamma = 1 prices near 1 matter as much as small ones: even steps in the log-odds.
    end = np.log(1.0 / settings.smallest_price - 1.0)
    odds = np.arange(-end, end + step, 2 * step)
    return np.append(1.0 / (1.0 + np.exp(-odds)), 1.0)


def _tabulated(
    response: ResponseModel, space: RecruitSpace, discount: float, settings: BoundSettings, prices: Array, rounds: int
) -> Array:
    """A_t for t = 1 .. rounds, [rounds, recruiters, prices]; fewer where it no longer changes."""
    people = space.people
    crude = np.maximum(1.0 - prices, 0.0) * settings.largest_budget
    largest_worth = 1.0 + settings.largest_budget
    chances = chances_that_matter(response, people, settings.most_per_person, float(prices[0]), largest_worth)
    child = space.means(np.zeros((len(people), len(prices))))  # A_1 = 0
    table = [child]
    for _ in range(1, rounds):
        worth = 1.0 + discount * space.of_recruits(child)
        values = np.minimum(chances.surplus(worth, prices), crude)  # J
        later = space.means(interpolated(values, prices, prices / discount))
        later[:, prices >= discount] = 0.0  # J is 0 from price 1 on; rounding must not say otherwise
        settled = float(np.abs(later - child).max()) <= _SETTLED * settings.largest_budget
        child = later
        if settled:
            break
        table.append(child)
    return np.array(table)


def interpolated(values: Array, grid: Array, prices: Array) -> Array:
    """`values` [people, grid] at other prices ([prices] or [people, prices]), linearly; the ends continue flat."""
    prices = np.atleast_2d(prices)
    right = np.clip(np.searchsorted(grid, prices), 1, len(grid) - 1)
    share = np.clip((prices - grid[right - 1]) / (grid[right] - grid[right - 1]), 0.0, 1.0)
    right = np.broadcast_to(right, (len(values), right.shape[1]))
    below, above = np.take_along_axis(values, right - 1, axis=1), np.take_along_axis(values, right, axis=1)
    mixed: Array = below + share * (above - below)
    return mixed


# ---- the surplus ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Chances:
    """Gains of some people, up to the last coupon that can matter, with their running sums."""

    gains: Array  # [people, levels], what each coupon adds to the expected recruits
    sums: Array  # [people, levels + 1], expected recruits of 0 .. levels coupons

    @classmethod
    def of(cls, gains: Array) -> "Chances":
        people = len(gains)
        return cls(np.ascontiguousarray(gains), np.concatenate([np.zeros((people, 1)), gains.cumsum(axis=1)], axis=1))

    def take(self, rows: NDArray[np.int64]) -> "Chances":
        return Chances(self.gains[rows], self.sums[rows])

    def surplus(self, worth: Array, prices: Array) -> Array:
        """sum over l of max(0, p(l) * worth - price), [people, prices]; `prices` is [prices] or [people, prices]."""
        each = np.ascontiguousarray(np.atleast_2d(prices), dtype=np.float64)
        return _surplus(self.gains, self.sums, np.ascontiguousarray(worth), each)


def chances_that_matter(
    response: ResponseModel, covariates: Codes, most: int, smallest_price: float, largest_worth: float
) -> Chances:
    """Gains up to `most` coupons, cut where no coupon is worth the smallest price: nothing is lost by the cut."""
    levels = min(_FIRST_LEVELS, most)
    while True:
        gains = response.gains(covariates, levels)
        if levels == most or (gains[:, -1] * largest_worth <= smallest_price).all():
            return Chances.of(gains)
        levels = min(2 * levels, most)


def _surplus_plain(gains: Array, sums: Array, worth: Array, prices: Array) -> Array:
    people, levels = gains.shape
    columns = worth.shape[1]
    shared = prices.shape[0] == 1
    total = np.zeros((people, columns))
    for i in range(people):
        row = 0 if shared else i
        for j in range(columns):
            price = prices[row, j]
            low, high = 0, levels  # coupons 1 .. low are worth their price, those beyond high are not
            while low < high:
                middle = (low + high) // 2
                if gains[i, middle] * worth[i, j] > price:
                    low = middle + 1
                else:
                    high = middle
            total[i, j] = worth[i, j] * sums[i, low] - price * low
    return total


_surplus: Callable[[Array, Array, Array, Array], Array] = njit(cache=True, nogil=True)(_surplus_plain)
