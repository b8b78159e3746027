"""What coupons do while the population runs out: a response model with fewer acquaintances left, and such a world.

N'(k) = N(min(k, A)), where A acquaintances are left (`finite_population`). Its tables follow from those of N, whatever
the family:

    G'(k) - G'(k - 1) = P(A >= k) (G(k) - G(k - 1)),     T'(k) - T'(k - 1) = P(A >= k) (T(k) - T(k - 1)).

With everybody left it is the model itself.

Where staff asked people how many of their acquaintances have not taken part, the answer is one more code of the person,
the last one: A is that number, and -1 says that it is not known.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.binomials import binomial_quantile
from peerfront.foundation.covariates import UNKNOWN, Codes, Schema
from peerfront.foundation.randomness import Luck
from peerfront.models.finite_population import Array, Population
from peerfront.problem import Crowd, OffspringModel, Referrals, ResponseModel, World
from peerfront.problem.response import UNLIMITED


@dataclass(frozen=True, eq=False)
class Depleted:
    """A response model of people who find fewer acquaintances than the people it was learned from.

    Planners use it as it is now; `DepletingWorld` goes on from there.
    """

    response: ResponseModel
    population: Population | None = None
    """None where only what staff asked is known."""
    asked: bool = False
    """Whether the last code of a person is the number of acquaintances left, or -1."""

    def own(self, covariates: Codes) -> Codes:
        """The codes that the response model knows."""
        return covariates[:, :-1] if self.asked else covariates

    @cached_property
    def _shares(self) -> Array:
        """The share of acquaintances left by the person's group, [groups + 1]."""
        if self.population is None:
            return np.ones(2)
        return self.population.shares_of_people(self.population.shares())

    def _group(self, covariates: Codes) -> NDArray[np.int64]:
        if self.population is None:
            return np.zeros(len(covariates), dtype=np.int64)
        return self.population.groups(covariates)

    def finds(self, covariates: Codes, levels: int) -> Array | None:
        """P(A >= l), [people, levels]; None where nobody is short of acquaintances."""
        population, chances = self.population, None
        if population is not None and (self._shares < 1.0).any():
            chances = population.finds(self._shares, levels)[self._group(covariates)]
        if not self.asked:
            return chances
        left = covariates[:, -1:]
        unknown = np.ones((len(covariates), levels)) if chances is None else chances
        return np.where(left >= 0, (np.arange(levels) < left).astype(np.float64), unknown)

    def gains(self, covariates: Codes, max_coupons: int) -> Array:
        gains = self.response.gains(self.own(covariates), max_coupons)
        chances = self.finds(covariates, max_coupons)
        return gains if chances is None else gains * chances

    def covers(self, covariates: Codes, uncovered: Array, max_coupons: int) -> Array:
        covers = self.response.covers(self.own(covariates), uncovered, max_coupons)
        chances = self.finds(covariates, max_coupons)
        if chances is None:
            return covers
        left = np.concatenate([np.ones_like(covers[:, :1]), np.cumprod(1.0 - covers, axis=1)], axis=1)
        lost = chances[:, :, None] * -np.diff(left, axis=1)  # T'(k - 1) - T'(k)
        before = 1.0 - np.cumsum(lost, axis=1) + lost
        return np.ascontiguousarray(np.clip(lost / np.maximum(before, 1e-300), 0.0, 1.0))

    def counts(self, covariates: Codes, coupons: int) -> Array:
        chances = self.finds(covariates, coupons)
        own = self.own(covariates)
        if chances is None:
            return self.response.counts(own, coupons)
        least = np.concatenate([np.ones((len(own), 1)), chances, np.zeros((len(own), 1))], axis=1)
        counts = np.zeros((len(own), coupons + 1))
        for able in range(coupons + 1):  # of min(coupons, A)
            share = least[:, able] - (least[:, able + 1] if able < coupons else 0.0)
            counts[:, : able + 1] += share[:, None] * self.response.counts(own, able)
        return counts

    def sample(self, covariates: Codes, coupons: NDArray[np.int64] | int, luck: Luck) -> NDArray[np.int64]:
        able = np.minimum(coupons, self.acquaintances(covariates, luck))
        return self.response.sample(self.own(covariates), able, luck)

    def acquaintances(self, covariates: Codes, luck: Luck, shares: Array | None = None) -> NDArray[np.int64]:
        """A of each person, [people], by inversion of their own luck.

        `shares` [people] are the shares of acquaintances left; None takes those of now.
        """
        population = self.population
        left = np.full(len(covariates), UNLIMITED)
        share = self._shares[self._group(covariates)] if shares is None else shares
        if population is not None and (share < 1.0).any():
            numbers = population.besides_recruiter
            n_known = numbers[(luck.uniform("how many somebody knows") * len(numbers)).astype(np.int64)]
            left = binomial_quantile(luck.uniform("acquaintances left"), n_known, share)
            left = np.where(share < 1.0, left, UNLIMITED)
        return np.where(covariates[:, -1] >= 0, covariates[:, -1], left) if self.asked else left

    # What advice asks of a fitted model -------------------------------------------------------------------------------

    @property
    def fields(self) -> tuple[str, ...]:
        fields: tuple[str, ...] = self.response.fields  # type: ignore[attr-defined] # learned responses say so
        return fields

    @property
    def columns_used(self) -> tuple[int, ...] | None:
        """Columns of the codes that anything depends on; None if the response model does not say."""
        own: tuple[int, ...] | None = getattr(self.response, "columns_used", None)
        if own is None or self.asked:
            return None
        group = None if self.population is None else self.population.field
        return own if group is None else tuple(sorted({*own, group}))


@dataclass(frozen=True, eq=False)
class StillUnasked:
    """Recruits of whom nobody has asked yet how many acquaintances they have left."""

    offspring: OffspringModel

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        return _unasked(self.offspring.sample(parents[:, :-1], luck))


@dataclass(frozen=True, eq=False)
class DepletingWorld:
    """A world in which everybody can be recruited once: every recruit leaves fewer for the rest of the episode.

    `inner` draws who comes while enough people are left; `response` is what a planner may know now. The people of an
    episode share what is left evenly: each meets the share left when half of the round's recruits have come.
    """

    inner: World
    response: Depleted
    schema: Schema
    offspring: OffspringModel
    asked: NDArray[np.int16] | None = None  # [first people], acquaintances left; -1 where it is not known

    @classmethod
    def of(
        cls, inner: World, population: Population | None, schema: Schema, asked: NDArray[np.int16] | None = None
    ) -> "DepletingWorld":
        """The world from now on. Where first people were asked, `schema` has one field more than the inner world."""
        response = Depleted(inner.response, population, asked is not None)
        offspring = inner.offspring if asked is None else StillUnasked(inner.offspring)
        return cls(inner, response, schema, offspring, asked)

    @property
    def name(self) -> str:
        return f"{self.inner.name}, running out"

    def population(self, luck: Luck) -> Codes:
        return self._with_answers(self.inner.population(luck), np.arange(len(luck)))

    def seeds(self, episodes: Luck, people: int) -> Crowd:
        crowd = self.inner.seeds(episodes, people)
        codes = self._with_answers(crowd.covariates, np.arange(len(crowd)) % max(people, 1))
        return Crowd(crowd.episode, crowd.keys, codes, crowd.members, (self._nobody(len(episodes)), crowd.memory))

    def refer(self, crowd: Crowd, coupons: NDArray[np.int64]) -> Referrals:
        response, population = self.response, self.response.population
        before: tuple[Array | None, Any] = (None, None) if crowd.memory is None else crowd.memory
        come, inner_memory = before
        own = Crowd(crowd.episode, crowd.keys, response.own(crowd.covariates), crowd.members, inner_memory)
        if population is None:
            reachable = response.acquaintances(crowd.covariates, crowd.luck)
            brought = self.inner.refer(own, np.minimum(coupons, reachable))
            return self._referrals(len(crowd), brought, np.ones(len(brought.parent), dtype=bool), None)
        if come is None:
            come = np.zeros((int(crowd.episode.max(initial=-1)) + 1, len(population.sizes)))
        half = 0.5 * self._as_things_stand(crowd, own, coupons, come)[:, None]
        shares = population.shares(come + half * population.sizes / population.sizes.sum())  # [episodes, groups]
        of_people = population.shares_of_people(shares)[crowd.episode, population.groups(crowd.covariates)]
        reachable = response.acquaintances(crowd.covariates, crowd.luck, of_people)
        brought = self.inner.refer(own, np.minimum(coupons, reachable))
        recruits, group = brought.next_crowd, population.groups(brought.next_crowd.covariates)
        kept = self._within(recruits, group, population.left(come))
        came = _counts(recruits.episode[kept], group[kept], len(come), population)
        return self._referrals(len(crowd), brought, kept, come + came)

    def _as_things_stand(self, crowd: Crowd, own: Crowd, coupons: NDArray[np.int64], come: Array) -> Array:
        """Recruits of the round if nobody of it ran into another, [episodes]: with the share left when it begins."""
        response, population = self.response, cast(Population, self.response.population)
        shares = population.shares_of_people(population.shares(come))
        share = shares[crowd.episode, population.groups(crowd.covariates)]
        reachable = response.acquaintances(crowd.covariates, crowd.luck, share)
        brought = self.inner.response.sample(own.covariates, np.minimum(coupons, reachable), crowd.luck)
        counts = np.bincount(crowd.episode, weights=brought, minlength=len(come))
        able: Array = np.minimum(counts, population.left(come).sum(axis=1))
        return able

    def _within(self, recruits: Crowd, group: NDArray[np.int64], left: Array) -> NDArray[np.bool_]:
        """Who can come at all: no more than there are left, in a group and in all, whoever is first by lot."""
        lot = recruits.luck.uniform("who comes first")
        allowed = np.ones(len(recruits), dtype=bool)
        in_all = np.floor(left.sum(axis=1) + 1e-9)
        by_group = np.concatenate([np.floor(left + 1e-9), in_all[:, None]], axis=1)
        for most, label in ((by_group, group), (in_all[:, None], np.zeros_like(group))):
            here = np.flatnonzero(allowed)
            order = here[np.lexsort((lot[here], label[here], recruits.episode[here]))]
            places = recruits.episode[order] * (most.shape[1]) + label[order]
            starts = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
            rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
            allowed[order] = rank < most[recruits.episode[order], label[order]]
        return allowed

    def _referrals(self, people: int, brought: Referrals, kept: NDArray[np.bool_], come: Array | None) -> Referrals:
        recruits, parent = brought.next_crowd, brought.parent[kept]
        codes = recruits.covariates if self.asked is None else _unasked(recruits.covariates)
        memory = (come, recruits.memory)
        next_crowd = Crowd(recruits.episode, recruits.keys, codes, recruits.members, memory).where(kept)
        return Referrals(np.bincount(parent, minlength=people).astype(np.int64), next_crowd, parent)

    def _nobody(self, episodes: int) -> Array | None:
        population = self.response.population
        return None if population is None else np.zeros((episodes, len(population.sizes)))

    def _with_answers(self, codes: Codes, person: NDArray[np.int64]) -> Codes:
        if self.asked is None:
            return codes
        return np.concatenate([codes, self.asked[person % len(self.asked)][:, None]], axis=1)


def _counts(episode: NDArray[np.int64], group: NDArray[np.int64], episodes: int, population: Population) -> Array:
    """Recruits by episode and group, [episodes, groups]; whose group is not known counts a part in each."""
    groups = len(population.sizes)
    counts = np.bincount(episode * (groups + 1) + group, minlength=episodes * (groups + 1)).reshape(episodes, -1)
    spread: Array = counts[:, :groups] + counts[:, groups:] * population.sizes / population.sizes.sum()
    return spread


def _unasked(codes: Codes) -> Codes:
    return np.concatenate([codes, np.full((len(codes), 1), UNKNOWN, dtype=codes.dtype)], axis=1)
