"""Worlds with a handful of types: rates and recruits depend on one field, so small instances can be solved exactly."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.counts import poisson_quantile, poisson_survival
from peerfront.covariates import Codes, Field, Schema
from peerfront.errors import SettingError
from peerfront.problem import BranchingWorld
from peerfront.randomness import Luck


@dataclass(frozen=True)
class TypedCapacity:
    """C ~ Poisson(rate of the person's type)."""

    type_rates: NDArray[np.float64]  # [types]

    def rates(self, covariates: Codes) -> NDArray[np.float64]:
        return self.type_rates[covariates[:, 0]]

    def survival(self, covariates: Codes, max_vouchers: int) -> NDArray[np.float64]:
        return poisson_survival(self.type_rates, max_vouchers)[covariates[:, 0]]

    def sample(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        return poisson_quantile(luck.uniform("capacity"), self.rates(covariates))


@dataclass(frozen=True)
class TypedOffspring:
    """A recruit's type is drawn from the row of the recruiter's type."""

    transition: NDArray[np.float64]  # [types, types], rows sum to 1

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        return _draw(self.transition[parents[:, 0]], luck.uniform("offspring"))


@dataclass(frozen=True)
class TypedSeeds:
    """A first recruit's type is drawn from fixed shares."""

    shares: NDArray[np.float64]  # [types]

    def sample(self, luck: Luck) -> Codes:
        return _draw(np.broadcast_to(self.shares, (len(luck), len(self.shares))), luck.uniform("seed"))


def _draw(probabilities: NDArray[np.float64], uniforms: NDArray[np.float64]) -> Codes:
    """The category each uniform falls into, [people, 1]."""
    cumulative = np.cumsum(probabilities, axis=1)[:, :-1]
    codes: Codes = (uniforms[:, None] > cumulative).sum(axis=1, dtype=np.int16)[:, None]
    return codes


@dataclass(frozen=True, eq=False)  # compared by identity: arrays have no single truth value
class TypedWorld(BranchingWorld):
    """A branching world over one field, whose tables exact solvers may read."""

    rates: NDArray[np.float64]  # [types]
    transition: NDArray[np.float64]  # [types, types]
    start: NDArray[np.float64]  # [types]


def typed_world(
    name: str, rates: Mapping[str, float], recruits: Mapping[str, Mapping[str, float]], start: Mapping[str, float]
) -> TypedWorld:
    """A world from tables by type name: mean capacities, shares among recruits, shares among first recruits."""
    types = tuple(rates)
    rate_table = np.array([rates[t] for t in types])
    transition = np.array([[recruits[parent].get(child, 0.0) for child in types] for parent in types])
    shares = np.array([start.get(t, 0.0) for t in types])
    if (rate_table < 0).any() or not np.allclose(transition.sum(axis=1), 1.0) or not np.isclose(shares.sum(), 1.0):
        raise SettingError(
            f"World {name!r}: rates must not be negative, and shares (of recruits, of first recruits) must sum to 1."
        )
    return TypedWorld(
        name=name,
        schema=Schema((Field("type", types),)),
        capacity=TypedCapacity(rate_table),
        offspring=TypedOffspring(transition),
        seed_model=TypedSeeds(shares),
        rates=rate_table,
        transition=transition,
        start=shares,
    )
