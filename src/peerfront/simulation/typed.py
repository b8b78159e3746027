"""Worlds with a handful of types: rates and recruits depend on one field, so small instances can be solved exactly.

`typed_world` makes one from tables by type. Two are built in, in which the obvious plan is wrong: in `boom_bust` those
who bring the most bring dead ends, in `bridge` people with little immediate yield open the community that matters. In
`alike` there is one type, and what is left to decide is how many coupons to give out when.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.counts import quantile, survival_table
from peerfront.foundation.covariates import Codes, Field, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import mean_rate, positive, proportion
from peerfront.problem import BranchingWorld
from peerfront.simulation.coupon_stories import PAPER, CouponStory, ScaledCapacity


@dataclass(frozen=True)
class TypedCapacity(ScaledCapacity):
    """C is Poisson with the rate of the person's type, or negative binomial (variance rate + rate^2 / size)."""

    type_rates: NDArray[np.float64]  # [types]
    size: float = np.inf
    """Of the negative binomial; infinite for the Poisson."""

    def rates(self, covariates: Codes) -> NDArray[np.float64]:
        return self.type_rates[covariates[:, 0]]

    def survival(self, covariates: Codes, max_coupons: int) -> NDArray[np.float64]:
        return survival_table(self._family, self.type_rates, self.size, 0.0, max_coupons)[covariates[:, 0]]

    def capacities(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        return quantile(self._family, luck.uniform("capacity"), self.rates(covariates), self.size, 0.0)

    def scaled(self, factor: float) -> "TypedCapacity":
        return replace(self, type_rates=self.type_rates * factor)

    @property
    def _family(self) -> str:
        return "poisson" if np.isinf(self.size) else "nb"


@dataclass(frozen=True)
class TypedOffspring:
    """A recruit's type is drawn from the row of the recruiter's type."""

    transition: NDArray[np.float64]  # [types, types], rows sum to 1

    @property
    def field_tables(self) -> tuple[NDArray[np.float64], ...]:
        """Its only table, [types + 1, types]; nobody's type is unknown, so the last row is never asked for."""
        return (np.vstack([self.transition, self.transition[-1:]]),)

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

    rates: NDArray[np.float64]  # [types], of the capacities
    transition: NDArray[np.float64]  # [types, types]
    start: NDArray[np.float64]  # [types]


def typed_world(
    name: str,
    rates: Mapping[str, float],
    recruits: Mapping[str, Mapping[str, float]],
    start: Mapping[str, float],
    story: CouponStory = PAPER,
    size: float = np.inf,
) -> TypedWorld:
    """A world from tables by type name: mean capacities, shares among recruits, shares among first recruits.

    `story` says what a coupon does (by default the paper's), `size` how much capacities differ within a type
    (`TypedCapacity`).
    """
    types = tuple(rates)
    rate_table = np.array([rates[t] for t in types])
    transition = np.array([[recruits[parent].get(child, 0.0) for child in types] for parent in types])
    shares = np.array([start.get(t, 0.0) for t in types])
    if (rate_table < 0).any() or not np.allclose(transition.sum(axis=1), 1.0) or not np.isclose(shares.sum(), 1.0):
        raise SettingError("typed_world.impossible_tables", world=name)
    return TypedWorld(
        name=name,
        schema=Schema((Field("type", types),)),
        response=story.response_of(TypedCapacity(rate_table, size)),
        offspring=TypedOffspring(transition),
        seed_model=TypedSeeds(shares),
        rates=rate_table,
        transition=transition,
        start=shares,
    )


_BOOM_BUST_RECRUITS = {"A": "C", "B": "B", "C": "C"}  # the type that recruits of each type have as a rule


def boom_bust(fidelity: float = 0.85, story: CouponStory = PAPER) -> TypedWorld:
    """A brings many (rate 5), all of them C, who bring nobody (rate .01); B brings fewer (rate 2), all of them B.

    A recruit follows this rule with probability `fidelity`; else its type is drawn evenly.
    """
    fidelity = proportion("fidelity", fidelity)
    evenly = (1.0 - fidelity) / len(_BOOM_BUST_RECRUITS)
    return typed_world(
        "boom_bust",
        rates={"A": 5.0, "B": 2.0, "C": 0.01},
        recruits={
            parent: {child: evenly + (fidelity if child == rule else 0.0) for child in _BOOM_BUST_RECRUITS}
            for parent, rule in _BOOM_BUST_RECRUITS.items()
        },
        start={"A": 0.45, "B": 0.45, "C": 0.10},
        story=story,
    )


def bridge(story: CouponStory = PAPER) -> TypedWorld:
    """Local people bring many (rate 4), all dead ends; a Bridge brings few (rate .8), all of them Hubs.

    Hubs bring three, more than half of them Hubs again.
    """
    return typed_world(
        "bridge",
        rates={"Local": 4.0, "Bridge": 0.8, "Hub": 3.0, "Dead": 0.02},
        recruits={
            "Local": {"Dead": 1.0},
            "Bridge": {"Hub": 1.0},
            "Hub": {"Hub": 0.6, "Dead": 0.4},
            "Dead": {"Dead": 1.0},
        },
        start={"Local": 0.5, "Bridge": 0.4, "Dead": 0.1},
        story=story,
    )


def alike(rate: float = 2.5, size: float | None = None, story: CouponStory = PAPER) -> TypedWorld:
    """Everybody is alike: capacities with mean `rate`, Poisson or (with a `size`) negative binomial."""
    rate = mean_rate("rate", rate)
    spread = np.inf if size is None else positive("size", size)
    return typed_world("alike", {"anybody": rate}, {"anybody": {"anybody": 1.0}}, {"anybody": 1.0}, story, spread)
