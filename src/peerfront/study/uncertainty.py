"""The uncertainty of a fitted capacity model: a world with random errors, and whether people differ by more than noise.

The capacity model averages members, each fitted without one part of the data: a delete-a-group jackknife comes for
free. With G members m_1 .. m_G of a person's mean capacity the standard error of log m is

    se^2 = (G - 1) / G * sum_g d_g^2,     d_g = log m_g - mean of log m.

`UncertainWorld` draws weights c_1 .. c_G for each episode and multiplies everybody's mean by exp(sum_g c_g d_g), and
with the same weights the dispersion and the odds of bringing nobody. One set of weights serves the whole episode,
because errors are correlated over people and rounds. The weights are normal, with the spread of the formula, over the
root of a chi-square: G groups say little about their own spread, so the tails are those of Student's t with G - 1
degrees of freedom. The family and the generator of recruits stay as fitted.

An error that all people share does not matter for who gets a coupon. For that decision the error of comparisons counts:
with q_g(i) the chance, by member g, that person i uses a first coupon,

    se_i^2 = (G - 1) / G * sum_g (d_gi - mean_g d_gi)^2,     d_gi = log q_g(i) - mean over the people of log q_g.

A chance that is off by the share se_i makes what a coupon of this person is worth, now and later, off by about the same
share: `gain_noise` is se_i times that worth.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtri

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.messages import Message, Remedy, warning
from peerfront.foundation.randomness import Luck
from peerfront.foundation.stored import FEWEST
from peerfront.gfp.backup import Tables
from peerfront.models.depletion import Depleted, DepletingWorld
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.problem import BranchingWorld, Crowd, OffspringModel, Referrals, ResponseModel, World

Array = NDArray[np.float64]
_MUCH_LESS = 0.5  # of the others' mean coupons
_CHANCE = 2.0  # standard errors that chance explains


@dataclass(frozen=True, eq=False)
class _DrawnResponse:
    """The fitted response with parameters drawn for each person's episode; its tables are those of the fit."""

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
    """A learned world with random errors of the capacities; planners still use the fitted ones."""

    learned: BranchingWorld
    fitted: LearnedResponse
    weights: Array  # [episodes, members]

    @classmethod
    def of(cls, learned: BranchingWorld, fitted: LearnedResponse, episodes: Luck) -> "UncertainWorld | None":
        """Draw each episode's errors; None if nothing was held out, because the uncertainty is then unknown."""
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
    """The weights c_1 .. c_G of each episode, [episodes, members]; None if nothing was held out."""
    members = len(fitted.rates.log_scale)
    if members < 2:
        return None
    normal = ndtri(episodes.uniforms("model", members)) * np.sqrt((members - 1) / members)
    spread = np.sqrt((members - 1) / chdtri(members - 1, episodes.uniform("model spread")))
    weights: Array = normal * spread[:, None]
    return weights


def uncertain_world(world: World, response: ResponseModel, episodes: Luck) -> World | None:
    """The `UncertainWorld` of a learned world, even of one whose population runs out."""
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


# Differences between people ------------------------------------------------------------------------------------------


def member_chances(responses: Sequence[LearnedResponse], weights: Sequence[float], people: Codes) -> Array:
    """The chance that a first coupon is used, by each member, averaged over stories with these weights.

    [members, people]. Members with the same number have left out the same part of the data; a story with fewer members
    than others is left out.
    """
    chances = [
        np.stack([response.member(g).gains(people, 1)[:, 0] for g in range(len(response.rates.log_scale))])
        for response in responses
    ]
    most = max(len(each) for each in chances)
    pairs = [(each, weight) for each, weight in zip(chances, weights, strict=True) if len(each) == most]
    total = sum(weight for _, weight in pairs)
    average: Array = sum((weight / total * each for each, weight in pairs), start=np.zeros_like(pairs[0][0]))
    return average


def relative_errors(chances: Array) -> Array:
    """The standard error of each person's chance compared with the others', as a share of it, [people].

    `chances` are [members, people]. 0 with one member: nothing was held out, so nothing is known.
    """
    logs = np.log(np.maximum(chances, 1e-9))
    compared = logs - logs.mean(axis=1, keepdims=True)
    errors: Array = np.sqrt((len(chances) - 1) * compared.var(axis=0))
    return errors


def gain_noise(
    chances: Array, tables: Tables, worth: Array, coupons: NDArray[np.int64], kind: NDArray[np.int64] | None = None
) -> Array:
    """The standard error, in recruits, of what a coupon of each person brings compared with the others', [people].

    The coupon is the one at the margin: the last that the plan gave, or the first. `worth` [latent] is discount *
    w(budget - spend), and row kind[i] of the tables person i's; `chances` are `member_chances` of the people.
    """
    from peerfront.gfp.lottery import uncovered_by

    kind = np.arange(tables.people) if kind is None else np.asarray(kind)
    level = np.clip(coupons - 1, 0, tables.coupons - 1)
    left = uncovered_by(tables, kind, coupons)
    brought = tables.gains[kind, level] + tables.covers[kind, level] @ (worth * left)
    noise: Array = relative_errors(chances) * brought
    return noise


def unequal_groups(schema: Schema, people: Codes, coupons: NDArray[np.int64], chances: Array) -> list[Message]:
    """Warn if a group gets under half of the others' coupons although chance explains why it seemed to bring less.

    Groups are the categories of every field with at least five people waiting, and five others. `chances` are
    `member_chances` of the same people; with one member the effect of chance is unknown, and there are no warnings.
    """
    members = len(chances)
    if members < 2:
        return []
    warnings = []
    for number, field in enumerate(schema.fields):
        for code, category in enumerate(field.categories):
            group = people[:, number] == code
            if group.sum() < FEWEST or (~group).sum() < FEWEST:
                continue
            own, others = float(coupons[group].mean()), float(coupons[~group].mean())
            differences = chances[:, ~group].mean(axis=1) - chances[:, group].mean(axis=1)  # [members]
            error = float(np.sqrt((members - 1) * differences.var()))
            lacking = (_MUCH_LESS * others - own) * int(group.sum())  # coupons that the group lacks
            if lacking >= 1.0 and float(differences.mean()) <= _CHANCE * error + 1e-12:
                floor = Remedy("at_least", f"{field.name}={category}:{_MUCH_LESS:g}")
                group_values = {"field": field.name, "category": category, "own": own, "others": others}
                warnings.append(warning("floors.unequal", **group_values, floor=floor))
    return warnings
