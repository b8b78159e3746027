"""How sure a fitted capacity model is, and a world that is as unsure as that.

The capacity model averages members, each fitted without one part of the data: a delete-a-group jackknife comes for
free. With G members m_1 .. m_G of a person's mean capacity the standard error of log m is

    se^2 = (G - 1) / G * sum_g d_g^2,     d_g = log m_g - mean of log m.

`UncertainWorld` draws weights c_1 .. c_G for each episode and multiplies everybody's mean by exp(sum_g c_g d_g), and
with the same weights the dispersion and the odds of bringing nobody. One set serves the whole episode, so that what is
wrong together is wrong together. The weights are normal, with the spread of the formula, over the root of a chi-square:
G groups say little about their own spread, so the tails are those of Student's t with G - 1 degrees of freedom. The
family and the generator of recruits stay as fitted.
"""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtri

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import Luck
from peerfront.models.depletion import Depleted, DepletingWorld
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.problem import BranchingWorld, Crowd, OffspringModel, Referrals, ResponseModel, World

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _DrawnResponse:
    """The fitted response with parameters drawn for each person's episode; tables are those of the fitted one."""

    fitted: LearnedResponse
    weights: Array  # [people, members]

    def gains(self, covariates: Codes, max_coupons: int) -> Array:
        return self.fitted.gains(covariates, max_coupons)

    def covers(self, covariates: Codes, uncovered: Array, max_coupons: int) -> Array:
        return self.fitted.covers(covariates, uncovered, max_coupons)

    def counts(self, covariates: Codes, coupons: int) -> Array:
        return self.fitted.counts(covariates, coupons)

    def sample(self, covariates: Codes, coupons: NDArray[np.int64] | int, luck: Luck) -> NDArray[np.int64]:
        return self.fitted.sample_shifted(covariates, coupons, luck, self.weights)


@dataclass(frozen=True, eq=False)
class UncertainWorld:
    """A learned world whose capacities are as uncertain as the data leave them; planners still use the fitted ones."""

    learned: BranchingWorld
    fitted: LearnedResponse
    weights: Array  # [episodes, members]

    @classmethod
    def of(cls, learned: BranchingWorld, fitted: LearnedResponse, episodes: Luck) -> "UncertainWorld | None":
        """Draw each episode's errors; None where nothing was held out, because the uncertainty is then unknown."""
        weights = member_weights(fitted, episodes)
        return None if weights is None else cls(learned, fitted, weights)

    @property
    def name(self) -> str:
        return f"{self.learned.name}, uncertain"

    @property
    def schema(self) -> Schema:
        return self.learned.schema

    @property
    def response(self) -> ResponseModel:
        return self.fitted

    @property
    def offspring(self) -> OffspringModel:
        return self.learned.offspring

    def population(self, luck: Luck) -> Codes:
        return self.learned.population(luck)

    def seeds(self, episodes: Luck, people: int) -> Crowd:
        return self.learned.seeds(episodes, people)

    def refer(self, crowd: Crowd, coupons: NDArray[np.int64]) -> Referrals:
        drawn = _DrawnResponse(self.fitted, self.weights[crowd.episode])
        return replace(self.learned, response=drawn).refer(crowd, coupons)


def member_weights(fitted: LearnedResponse, episodes: Luck) -> Array | None:
    """The weights c_1 .. c_G of each episode, [episodes, members]; None where nothing was held out."""
    members = len(fitted.rates.log_scale)
    if members < 2:
        return None
    normal = ndtri(episodes.uniforms("model", members)) * np.sqrt((members - 1) / members)
    spread = np.sqrt((members - 1) / chdtri(members - 1, episodes.uniform("model spread")))
    weights: Array = normal * spread[:, None]
    return weights


def uncertain_world(world: World, response: ResponseModel, episodes: Luck) -> World | None:
    """`UncertainWorld` of a learned world, also of one whose population runs out."""
    if isinstance(world, DepletingWorld) and isinstance(response, Depleted):
        inner = uncertain_world(world.inner, response.response, episodes)
        return None if inner is None else replace(world, inner=inner)
    return UncertainWorld.of(cast(BranchingWorld, world), cast(LearnedResponse, response), episodes)


def log_rate_errors(fitted: LearnedResponse, covariates: Codes) -> Array:
    """The jackknife standard error of each person's log mean capacity, [people]; NaN where nothing was held out."""
    members = len(fitted.rates.log_scale)
    if members < 2:
        return np.full(len(covariates), np.nan)
    logs = np.log(np.maximum(fitted.member_means(covariates), 1e-9))
    errors: Array = np.sqrt((members - 1) * logs.var(axis=0))
    return errors
