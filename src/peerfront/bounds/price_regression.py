"""The price index of a study that ends: a ridge regression for each number of rounds left.

    A_1 = 0,    A_{t+1}(x, m) = E[J_t(recruit of x, m / gamma)],    J_t from A_t by the surplus (`price_index`).

With few rounds the recursion is short, so A_2 .. A_T are regressions on what a planner's networks see of a person,
one after another, each on sampled recruits of people met over the generations, at a grid of prices. This knows the
deadline, is tight at a discount of 1 where an index for any number of rounds is not, and takes a second. Regressions
prove nothing; nested samples (`price_audit`) of the people to be judged do, and with a deadline they come to an end.
"""

from dataclasses import dataclass, field

import numpy as np

from peerfront.bounds.price_index import BoundSettings, PriceIndex, interpolated
from peerfront.bounds.surplus import Array
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.states import generations, sampled_recruits
from peerfront.gfp.story import PersonView
from peerfront.problem import OffspringModel, ResponseModel

_PRICES = np.concatenate([np.geomspace(0.01, 0.1, 8, endpoint=False), np.linspace(0.1, 1.0, 61)])
_LEARNED_FROM = 1500  # people the regressions are fitted to
_CHILDREN = 12  # sampled recruits of each
_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class RegressedChildValues:
    """A_t(x, m) at the grid of prices, for t = 2, 3, ... rounds left, [inputs, prices] coefficients each."""

    inputs: PersonView
    discount: float
    coefficients: list[Array] = field(default_factory=list)
    kind: str = "regression"

    @property
    def prices(self) -> Array:
        return _PRICES

    def expected(self, covariates: Codes, prices: Array, rounds_left: int | None) -> Array:
        last = len(self.coefficients)
        number = last if rounds_left is None else min(rounds_left - 1, last)
        if number <= 0:
            return np.zeros((len(covariates), prices.shape[-1]))
        fitted = np.maximum(self.rows(covariates) @ self.coefficients[number - 1], 0.0)
        asked = np.atleast_2d(prices)
        values: Array = np.where(asked < self.discount, interpolated(fitted, _PRICES, asked), 0.0)
        return values

    def rows(self, people: Codes) -> Array:
        """What the regressions see of a person, with a constant, [people, inputs]."""
        rows = self.inputs.rows(people).astype(np.float64)
        return np.concatenate([np.ones((len(people), 1)), rows], axis=1)


def fit_price_regressions(
    response: ResponseModel,
    offspring: OffspringModel,
    inputs: PersonView,
    frontier: Codes,
    discount: float,
    rounds: int,
    settings: BoundSettings,
) -> PriceIndex:
    """Fit the index for up to `rounds` rounds left to generations that descend from this frontier."""
    children = RegressedChildValues(inputs, discount)
    index = PriceIndex(response, inputs.schema, discount, settings, children)
    if rounds < 2:
        return index
    people = generations(response, offspring, frontier[:_LEARNED_FROM], _LEARNED_FROM, settings.seed)
    rows = children.rows(people)
    gram = rows.T @ rows + _RIDGE * len(people) * np.eye(rows.shape[1])
    for left in range(1, rounds):
        luck = named_luck(("price regression", settings.seed, left), len(people))
        recruits, _ = sampled_recruits(offspring, people, _CHILDREN, luck)
        values = index.values(recruits, np.minimum(_PRICES / discount, 1.0), left)
        targets = values.reshape(len(people), _CHILDREN, -1).mean(axis=1)
        children.coefficients.append(np.linalg.solve(gram, rows.T @ targets))
    return index
