"""The price index: what a person is worth when coupons are unlimited but each costs the same price.

Put a price m on every coupon instead of limiting their number. People then no longer compete, and the worth of one,
with all who descend from them, solves (Whittle's relaxation of a restless bandit)

    J(x, m) = sum over l of max(0, p_x(l) * (1 + gamma * E[J(child of x, m / gamma)]) - m),      p_x(l) = P(C >= l).

The price grows by 1 / gamma a round because rewards are counted in the money of their own round while a coupon costs
the same in all of them. From price 1 on J is 0: nobody brings more than one recruit with one coupon.

**Why it bounds every policy.** A policy that spends at most r coupons from the frontier x_1 .. x_n earns at most

    D(m) = m * r + sum_i J(x_i, m)      for every price m >= 0        (weak duality),

because it earns what it earns, pays m for each coupon, gets m * r back, and nobody who pays m can earn more than J. So
the smallest D is a bound; the minimiser is the price that balances supply and demand for coupons. Four facts make it
computable and tight:

- A person's cap only shortens the sum over l; T rounds left only stop the recursion (J_0 = 0).
- Nobody's descendants can spend more than R coupons, the largest budget of interest, and a coupon at price m earns at
  most 1 - m, so J(x, m) <= (1 - m) R. At gamma = 1 J would otherwise be infinite at low prices.
- J is the largest of functions linear in m (one per policy), hence convex and falling in m: linear interpolation
  between prices lies above it and keeps the bound a bound.
- Replacing the expectation by an average of sampled children can only raise J on average (Jensen).

What has to be known is the child value A(x, m) = E[J(child of x, m / gamma)]; J follows from it exactly. It is a table
in small spaces (`price_table`), a network in large ones (`price_network`), checked by fresh samples (`price_audit`).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from peerfront.bounds.surplus import Array, chances_that_matter
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.settings import at_least, check_fields, inside, one_or_more, optional, step_size
from peerfront.problem import ResponseModel


@dataclass(frozen=True)
class BoundSettings:
    """How a price index is made and checked. `largest_budget` and `max_per_person` belong to the rules of the study."""

    largest_budget: int = 100
    """The bound holds for budgets up to this one, R; smaller is tighter at discounts near 1."""
    max_per_person: int | None = None
    """Most coupons a person may get in a round; None for no cap. States with a looser cap are refused."""
    table_rows: int = 512
    """Covariate spaces of at most this many rows get an exact table, larger ones a network; 0 is always a network."""
    table_samples: int = 4096
    """Children sampled of each row of a table whose transition probabilities are not given."""
    rounds: int = 50
    """A table keeps J for 1 .. rounds rounds left, and once for any number of them."""
    price_step: float = 0.01
    """Spacing of a table's prices, relative."""
    smallest_price: float = 0.01
    """Prices below it are answered by the crude bound (1 - m) R."""
    people: int = 4000
    """People a network is trained at, if more are given."""
    children: int = 16
    """Children sampled of each, once."""
    children_per_refresh: int = 4
    """How many of these, drawn anew each time, make the next targets."""
    refreshes: int = 60
    """Times the targets are made anew from the network: generations of the future that are seen."""
    steps: int = 40
    """Gradient steps between two refreshes."""
    batch: int = 256
    """People of a gradient step."""
    hidden: int = 64
    """Width of the two hidden layers."""
    knots: int = 16
    """Coefficients of the child value as a function of price."""
    prices: int = 40
    """Prices per refresh at which the network is trained, spread evenly with a random shift."""
    learning_rate: float = 4e-3
    held_out: int = 128
    """People at whom the network is checked, kept out of the fit; 0 for no check."""
    audit_children: int = 64
    """Fresh children per person in a check by nested samples (`price_audit`)."""
    audit_width: int = 4
    """How many of these are themselves looked at by samples; half as many in each later generation, at least 1."""
    audit_depth: int = 6
    """Generations looked at by samples: proofs reach down to the price gamma^(audit_depth + 1)."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            largest_budget=one_or_more,
            max_per_person=optional(one_or_more),
            table_rows=at_least(0),
            table_samples=one_or_more,
            rounds=one_or_more,
            price_step=inside(0.0, 0.5),
            smallest_price=inside(0.0, 0.5),
            people=one_or_more,
            children=one_or_more,
            children_per_refresh=one_or_more,
            refreshes=one_or_more,
            steps=one_or_more,
            batch=one_or_more,
            hidden=one_or_more,
            knots=at_least(6),
            prices=at_least(2),
            learning_rate=step_size,
            held_out=at_least(0),
            audit_children=one_or_more,
            audit_width=one_or_more,
            audit_depth=at_least(0),
            seed=at_least(0),
        )
        if self.audit_width > self.audit_children:
            raise SettingError(
                f"audit_width ({self.audit_width}) must not exceed audit_children ({self.audit_children}): "
                "it says how many of them are looked at closely."
            )

    @property
    def most_per_person(self) -> int:
        return self.largest_budget if self.max_per_person is None else min(self.max_per_person, self.largest_budget)


class ChildValues(Protocol):
    """A(x, m) = E[J(child of x, m / gamma)]: a table or a network."""

    @property
    def kind(self) -> str:
        """table, sampled table or network."""
        ...

    @property
    def prices(self) -> Array:
        """Prices worth trying, rising, [prices]."""
        ...

    def expected(self, covariates: Codes, prices: Array, rounds_left: int | None) -> Array:
        """[people, prices]; `prices` is [prices] or [people, prices], `rounds_left` counts the parent's round."""
        ...


def interpolated(values: Array, grid: Array, prices: Array) -> Array:
    """`values` [people, grid] at other prices ([prices] or [people, prices]), linearly; the ends continue flat."""
    prices = np.atleast_2d(prices)
    right = np.clip(np.searchsorted(grid, prices), 1, len(grid) - 1)
    share = np.clip((prices - grid[right - 1]) / (grid[right] - grid[right - 1]), 0.0, 1.0)
    right = np.broadcast_to(right, (len(values), right.shape[1]))
    below, above = np.take_along_axis(values, right - 1, axis=1), np.take_along_axis(values, right, axis=1)
    mixed: Array = below + share * (above - below)
    return mixed


@dataclass(frozen=True, eq=False)
class PriceIndex:
    """J and child values of anybody at any price."""

    response: ResponseModel
    schema: Schema
    discount: float
    settings: BoundSettings
    children: ChildValues
    check: "PriceCheck | None" = None

    @property
    def kind(self) -> str:
        return self.children.kind

    @property
    def prices(self) -> Array:
        """The prices of a first search for the smallest bound, [prices]."""
        return self.children.prices

    def child_values(self, codes: Codes, prices: Array, rounds_left: int | None = None) -> Array:
        """gamma * E[J(child, m / gamma)], [people, prices]: what one recruit is worth beyond being one.

        `prices` is [prices], or [people, prices] for prices of each person's own. `rounds_left` counts this round;
        None is any number of rounds.
        """
        prices = np.asarray(prices, dtype=np.float64)
        later = np.atleast_2d(prices) / self.discount
        shape = (len(codes), prices.shape[-1])
        if rounds_left is not None and rounds_left <= 1:
            return np.zeros(shape)
        crude = np.broadcast_to(np.maximum(1.0 - later, 0.0) * self.settings.largest_budget, shape)
        fitted = self.children.expected(codes, prices, rounds_left)
        in_range = np.broadcast_to(np.atleast_2d(prices) >= self.prices[0] * (1.0 - 1e-12), shape)
        values: Array = self.discount * np.where(in_range, np.minimum(fitted, crude), crude)
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


@dataclass(frozen=True, slots=True)
class PriceCheck:
    """What nested samples (`price_audit`) said of the index at random frontiers it was not fitted to.

    The audit errs only upwards on average, so fitted bounds times the factor are estimates of bounds on average over
    such frontiers; a single one may lie above or below by the spread, and has to be audited itself to be sure.
    """

    factor: float
    """Audited over fitted bounds: each frontier counts with the median of its audits."""
    standard_error: float
    """Of the factor."""
    spread: float
    """Standard deviation of a single frontier's ratio around the factor, sampling noise included."""
    lowest_price: float
    """No lower price was checked."""
