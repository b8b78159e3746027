"""The price index of a small covariate space: backward induction over rounds left, on a grid of prices.

    A_1 = 0,    A_{t+1}(x, m) = sum over children y of P(y | x) * J_t(y, m / gamma),    J_t from A_t by the surplus.

Prices form a geometric grid whose step divides log(1 / gamma), so that m / gamma is again on it and nothing is
interpolated; at discounts too near 1 for that, values between prices are interpolated linearly, which lies above a
convex function. With given transition probabilities every number is therefore an upper bound, up to rounding.
`recruit_space` says which people a table lists: every row of few fields, or the fields that matter of a fitted model.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.bounds.price_index import BoundSettings, PriceIndex, interpolated
from peerfront.bounds.recruit_space import InheritedSpace, ListedSpace, RecruitSpace, every_row, row_numbers
from peerfront.bounds.surplus import Array, chances_that_matter
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.states import sampled_recruits
from peerfront.problem import OffspringModel, ResponseModel

_SETTLED = 1e-13  # a change of this size, relative to the largest budget, is rounding
_MOST_CELLS = 1 << 24  # numbers of an exact table of a study that ends: 134 MB
_SHORTEST_STRIDE = 0.004  # log(1 / gamma) below which the grid would be too fine: interpolate instead


@dataclass(frozen=True, eq=False)
class PriceTable:
    """A(x, m) for every recruiter of the space."""

    space: RecruitSpace
    kind: str
    prices: Array  # [prices], rising to 1
    stored: Array  # [rounds, recruiters, prices]: entry t - 1 is A_t, t rounds left
    deadline: int | None = None
    """The most rounds left that it knows; None if the last entry is for any greater number of rounds."""

    def expected(self, covariates: Codes, prices: Array, rounds_left: int | None) -> Array:
        if self.deadline is not None and (rounds_left is None or rounds_left > self.deadline):
            raise SettingError(f"This table of prices is for at most {self.deadline} rounds; asked for {rounds_left}.")
        last = len(self.stored) - 1
        table = self.stored[last if rounds_left is None else min(rounds_left - 1, last)]
        return interpolated(table[self.space.places(covariates)], self.prices, prices)


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


def price_table(
    response: ResponseModel,
    offspring: OffspringModel,
    schema: Schema,
    discount: float,
    settings: BoundSettings,
    transition: Array | None,
) -> PriceTable:
    """Backward induction until the values settle, or until no budget could pay for another round."""
    kind, rows = "sampled table" if transition is None else "table", every_row(schema)
    if transition is None:
        transition = _sampled_transition(offspring, rows, schema, settings)
    else:
        _check_transition(transition, len(rows))
    space = ListedSpace(schema, transition)
    prices = price_grid(discount, settings)
    return PriceTable(space, kind, prices, _stored(response, space, discount, settings, prices, None))


def inherited_price_index(
    response: ResponseModel,
    offspring: OffspringModel,
    schema: Schema,
    discount: float,
    rounds: int,
    settings: BoundSettings,
) -> PriceIndex | None:
    """The exact index of a study that ends after `rounds` rounds; None where no table of moderate size holds it.

    That is where a recruit's fields do not depend on the recruiter's one by one, or too many fields matter.
    """
    space = InheritedSpace.of(response, offspring, schema)
    if space is None:
        return None
    prices = price_grid(discount, settings)
    if space.recruiters * max(len(prices) * rounds, settings.most_per_person) > _MOST_CELLS:
        return None
    stored = _stored(response, space, discount, settings, prices, rounds)
    return PriceIndex(response, schema, discount, settings, PriceTable(space, "table", prices, stored, rounds))


def _stored(
    response: ResponseModel,
    space: RecruitSpace,
    discount: float,
    settings: BoundSettings,
    prices: Array,
    deadline: int | None,
) -> Array:
    """A_t for t = 1, 2, ... rounds left, [rounds, recruiters, prices]: to the deadline, or until it settles."""
    people = space.people
    crude = np.maximum(1.0 - prices, 0.0) * settings.largest_budget
    largest_worth = 1.0 + settings.largest_budget
    chances = chances_that_matter(response, people, settings.most_per_person, float(prices[0]), largest_worth)
    child = space.means(np.zeros((len(people), len(prices))))  # A_1 = 0
    stored = [child]
    # Every round costs a coupon, so without a deadline no more rounds than coupons can matter.
    for left in range(1, settings.largest_budget + 1 if deadline is None else deadline):
        worth = 1.0 + discount * space.of_recruits(child)
        values = np.minimum(chances.surplus(worth, prices), crude)  # J_left
        later = space.means(interpolated(values, prices, prices / discount))
        later[:, prices >= discount] = 0.0  # J is 0 from price 1 on; rounding must not say otherwise
        settled = float(np.abs(later - child).max()) <= _SETTLED * settings.largest_budget
        child = later
        if settled:
            break
        if deadline is not None or left < settings.rounds:
            stored.append(child)
    if deadline is None:
        stored.append(child)
    return np.array(stored)


def _check_transition(transition: Array, rows: int) -> None:
    if transition.shape != (rows, rows):
        raise SettingError(
            f"Transition probabilities must form a {rows} x {rows} table; found one of shape {transition.shape}."
        )
    wrong = (transition < 0.0).any(axis=1) | (np.abs(transition.sum(axis=1) - 1.0) > 1e-9)
    if wrong.any():
        row = int(wrong.argmax())
        raise SettingError(
            f"Transition probabilities must not be negative and must sum to 1 in each row; row {row} (counted from 0) "
            f"holds {np.array2string(transition[row], precision=4, threshold=8)}, sum {transition[row].sum():.6g}."
        )


def _sampled_transition(
    offspring: OffspringModel, space: Codes, schema: Schema, settings: BoundSettings
) -> NDArray[np.float64]:
    luck = named_luck(("price table", settings.seed), len(space))
    children, _ = sampled_recruits(offspring, space, settings.table_samples, luck)
    child_rows = row_numbers(children, schema).reshape(len(space), -1)
    counts = np.stack([np.bincount(row, minlength=len(space)) for row in child_rows])
    shares: NDArray[np.float64] = counts / child_rows.shape[1]
    return shares
