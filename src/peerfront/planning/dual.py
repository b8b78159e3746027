"""The dual of the budget, D(m) = m * r + sum_i J(x_i, m), and the price that makes it smallest, for many states.

D is convex in the price, so a first search over the index's own prices and a few finer ones around the best of them
find the minimum; any price gives a bound, so nothing depends on finding it exactly.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.errors import SettingError
from peerfront.planning.price_index import PriceIndex
from peerfront.planning.situations import Situations
from peerfront.planning.surplus import Array

_FINER = 16  # prices tried between the neighbours of the best
_AT_ONCE = 1 << 22  # people times prices held in memory


@dataclass(frozen=True, eq=False)
class Duals:
    """The smallest dual of each state, the price it is at, and the people's part of it."""

    bounds: Array  # [states], D
    prices: Array  # [states], m
    people: Array  # [states], sum_i J(x_i, m)


def smallest_duals(
    index: PriceIndex,
    states: Situations,
    rounds_left: int | None = None,
    max_per_person: int | None = None,
    at_least: float = 0.0,
) -> Duals:
    """The bound of every state, by prices of `at_least` so much; all states have the same rounds left and cap."""
    check_within(index, int(states.budgets.max(initial=0)), max_per_person)
    each = max(_AT_ONCE // len(index.prices) // max(int(states.sizes.max(initial=0)), 1), 1)
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
    """States an index was not made for are an error, not a wrong bound."""
    settings = index.settings
    if budget > settings.largest_budget:
        raise SettingError(
            f"This price index holds for budgets of at most {settings.largest_budget}; found {budget}. "
            "Fit it with a larger BoundSettings.largest_budget."
        )
    if settings.max_per_person is not None and (max_per_person is None or max_per_person > settings.max_per_person):
        raise SettingError(
            f"This price index was fitted for at most {settings.max_per_person} vouchers a person; the rules allow "
            f"{'any number' if max_per_person is None else max_per_person}. Fit it with that cap."
        )


def _smallest(
    index: PriceIndex, states: Situations, rounds_left: int | None, max_per_person: int | None, at_least: float
) -> Duals:
    grid = np.unique(np.maximum(index.prices, min(at_least, 1.0)))
    duals, _ = _duals(index, states, np.broadcast_to(grid, (len(states), len(grid))), rounds_left, max_per_person, grid)
    best = duals.argmin(axis=1)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    finer = np.concatenate([np.linspace(low, high, _FINER, axis=1), grid[best][:, None]], axis=1)
    duals, people = _duals(index, states, finer, rounds_left, max_per_person)
    best = duals.argmin(axis=1)
    rows = np.arange(len(states))
    return Duals(duals[rows, best], finer[rows, best], people[rows, best])


def _duals(
    index: PriceIndex,
    states: Situations,
    prices: NDArray[np.float64],  # [states, prices]
    rounds_left: int | None,
    max_per_person: int | None,
    shared: Array | None = None,  # the prices, if all states have the same
) -> tuple[Array, Array]:
    """D and the people's part of it, [states, prices] both."""
    owner = states.owner
    asked = prices[owner] if shared is None else shared
    values = index.values(states.covariates, asked, rounds_left, max_per_person)
    sums = np.concatenate([np.zeros((1, prices.shape[1])), np.cumsum(values, axis=0)])
    people: Array = sums[states.first[1:]] - sums[states.first[:-1]]
    return prices * states.budgets[:, None] + people, people
