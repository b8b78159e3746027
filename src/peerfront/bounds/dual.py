"""The dual of the budget, D(m) = m * r + sum_i J(x_i, m): its smallest value, and the policy that follows its price.

**The bound.** D is convex in the price, so a first search over the index's own prices and a few finer ones around the
best of them find the minimum; any price gives a bound, so nothing depends on finding it exactly. `smallest_duals` does
it for many states at once.

**The policy.** `PriceIndexPolicy` gives a coupon where it is worth more than the price at which D is smallest. At this
price, coupon l of person x brings p_x(l) recruits, each worth 1 + gamma * E[J(child, price / gamma)]: somebody who
opens a community worth reaching gets coupons although few of them are used. It is the optimal policy of the relaxed
problem, solved again each round and made feasible. The relaxed problem balances the budget on average and so does not
see extinction. At gamma near 1 its price stays where a growing community would put it however thin the frontier is;
`share_of_price` below 1 spends earlier there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.bounds.price_index import PriceIndex
from peerfront.bounds.surplus import Array
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import check_fields, proportion
from peerfront.gfp.states import StateBatch
from peerfront.problem import Allocation, State

_FINER_PRICES = 16  # prices tried between the neighbours of the best
_CELLS_AT_ONCE = 1 << 22  # people times prices held in memory


@dataclass(frozen=True, eq=False)
class Duals:
    """The smallest dual of each state, the price it is at, and the people's part of it."""

    bounds: Array  # [states], D
    prices: Array  # [states], m
    people: Array  # [states], sum_i J(x_i, m)


def smallest_duals(
    index: PriceIndex,
    states: StateBatch,
    rounds_left: int | None = None,
    max_per_person: int | None = None,
    at_least: float = 0.0,
) -> Duals:
    """The bound of every state, by prices of `at_least` so much; all states have the same rounds left and cap."""
    check_within(index, int(states.budgets.max(initial=0)), max_per_person)
    each = max(_CELLS_AT_ONCE // len(index.prices) // max(int(states.sizes.max(initial=0)), 1), 1)
    parts = [
        _smallest(index, states.take(np.arange(a, min(a + each, len(states)))), rounds_left, max_per_person, at_least)
        for a in range(0, len(states), each)
    ]
    if not parts:
        return Duals(np.zeros(0), np.zeros(0), np.zeros(0))
    return Duals(
        np.concatenate([part.bounds for part in parts]),
        np.concatenate([part.prices for part in parts]),
        np.concatenate([part.people for part in parts]),
    )


def check_within(index: PriceIndex, budget: int, max_per_person: int | None) -> None:
    """Refuse states the index was not made for, rather than give a wrong bound."""
    settings = index.settings
    if budget > settings.largest_budget:
        raise SettingError(
            f"This price index holds for budgets of at most {settings.largest_budget}; found {budget}. "
            "Fit it with a larger BoundSettings.largest_budget."
        )
    if settings.max_per_person is not None and (max_per_person is None or max_per_person > settings.max_per_person):
        raise SettingError(
            f"This price index was fitted for at most {settings.max_per_person} coupons a person; the rules allow "
            f"{'any number' if max_per_person is None else max_per_person}. Fit it with that cap."
        )


def _smallest(
    index: PriceIndex, states: StateBatch, rounds_left: int | None, max_per_person: int | None, at_least: float
) -> Duals:
    grid = np.unique(np.maximum(index.prices, min(at_least, 1.0)))
    duals, _ = _duals(index, states, np.broadcast_to(grid, (len(states), len(grid))), rounds_left, max_per_person, grid)
    best = duals.argmin(axis=1)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    finer = np.concatenate([np.linspace(low, high, _FINER_PRICES, axis=1), grid[best][:, None]], axis=1)
    duals, people = _duals(index, states, finer, rounds_left, max_per_person)
    best = duals.argmin(axis=1)
    rows = np.arange(len(states))
    return Duals(duals[rows, best], finer[rows, best], people[rows, best])


def _duals(
    index: PriceIndex,
    states: StateBatch,
    prices: NDArray[np.float64],  # [states, prices]
    rounds_left: int | None,
    max_per_person: int | None,
    shared: Array | None = None,  # the prices, if all states have the same
) -> tuple[Array, Array]:
    """D and the people's part of it, [states, prices] both."""
    owner = states.owner
    own_or_shared = prices[owner] if shared is None else shared
    values = index.values(states.covariates, own_or_shared, rounds_left, max_per_person)
    sums = np.concatenate([np.zeros((1, prices.shape[1])), np.cumsum(values, axis=0)])
    people: Array = sums[states.first[1:]] - sums[states.first[:-1]]
    return prices * states.budgets[:, None] + people, people


@dataclass(frozen=True, eq=False)
class PriceIndexPolicy:
    """Give out coupons worth more than the price, the most valuable first, within budget and caps; at least one."""

    index: PriceIndex
    share_of_price: float = 1.0
    """A coupon is given if it is worth more than this share of the price."""

    def __post_init__(self) -> None:
        check_fields(self, share_of_price=proportion)

    @property
    def name(self) -> str:
        return "price_index" if self.share_of_price == 1.0 else f"price_index:share_of_price={self.share_of_price:g}"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state; prices of states with the same rounds left and cap are found together."""
        prices = np.zeros(len(states))
        kinds = [(state.rounds_left, state.rules.max_per_person) for state in states]
        for left, cap in set(kinds):
            alike = [i for i, kind in enumerate(kinds) if kind == (left, cap)]
            prices[alike] = smallest_duals(self.index, _batch([states[i] for i in alike]), left, cap).prices
        return [self._at_price(state, price) for state, price in zip(states, prices.tolist(), strict=True)]

    def _at_price(self, state: State, price: float) -> Allocation:
        codes = state.frontier.covariates
        if not state.spendable:
            return Allocation(np.zeros(len(codes), dtype=np.int64))
        recruit = 1.0 + self.index.child_values(codes, np.array([price]), state.rounds_left)  # [people, 1]
        worth = self.index.response.gains(codes, state.most_per_person) * recruit  # [people, coupons]
        spend = min(max(int((worth > self.share_of_price * price).sum()), 1), state.spendable)
        order = np.argsort(-worth, axis=None, kind="stable")[:spend]
        return Allocation(np.bincount(order // worth.shape[1], minlength=len(codes)))


def _batch(states: Sequence[State]) -> StateBatch:
    budgets = np.array([state.remaining_budget for state in states], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum([len(state.frontier) for state in states])])
    return StateBatch(budgets, first, np.concatenate([state.frontier.covariates for state in states]))
