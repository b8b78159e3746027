"""Generative Frontier Planning: the policy, and plans with their reasons (Section 3.3, Algorithm 1).

Exact greedy plans every frontier up to `MOST_PEOPLE_EXACT` people and `MOST_WORK_EXACT` kinds of people x coupons; a
larger one is planned by a common price (`price_plan.py`), and the plan says how far from the best it can be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Kinds, Schema, kinds_of
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import at_least, check_fields, discount_factor
from peerfront.gfp.backup import Array, Tables, check_embeddings
from peerfront.gfp.coming import split_weights
from peerfront.gfp.coupon_worth import worth_by_kind, worth_of_each
from peerfront.gfp.greedy import Limits, greedy, greedy_many
from peerfront.gfp.price_plan import PricePlan, gap_below, people_of_kinds, plan_by_price
from peerfront.gfp.story import FrontierValue, RecruitEmbeddings, Story
from peerfront.problem import Allocation, ResponseModel, State

MOST_PEOPLE_EXACT = 200_000
"""People above whom a frontier is planned by price: the tables of greedy would need gigabytes."""
MOST_WORK_EXACT = 20_000_000
"""Kinds of people x coupons that may be given out above which a frontier is planned by price: greedy would need
minutes."""


@dataclass(frozen=True, eq=False)
class Plan:
    """An allocation and its reasons: what each coupon is worth."""

    allocation: Allocation
    value: float
    """What the plan expects from here on, discounted: Q of this spend (Equation 8)."""
    values: Array  # [spendable + 1]
    """Q of every spend; NaN where it was not evaluated (it cannot be best)."""
    person: NDArray[np.int64]  # [spend]
    """Who got the first, second, ... coupon, in the planner's order."""
    now: Array  # [spend]
    """Of each coupon: the chance that it is used, the immediate part of its gain (Equation 10)."""
    later: Array  # [spend]
    """Of each coupon: what its recruit is expected to add to the value of the next frontier, discounted. In a plan by
    price, what all recruits add together is shared by how much each covers."""
    bound: float | None = None
    """What Q of no spend and no allocation exceeds, if this was planned by a common price; None for exact greedy."""

    @property
    def gap(self) -> float | None:
        """Share of the best plan's Q that this one can be below it, at most; None for exact greedy."""
        return None if self.bound is None else gap_below(self.bound, self.value)

    @property
    def spend(self) -> int:
        return self.allocation.spend


@dataclass(frozen=True, eq=False)
class Planner:
    """The GFP policy: stories of what a coupon does, each with a learned value and the recruits' Laplace embeddings.

    Where the stories differ, the plan maximises the average over them: with weights pi_m,

        Q = sum_i sum_m pi_m G^m_i(k_i) + discount * sum_{m, j} pi_m w^m_j (1 - prod_i T^m_ij(k_i)),

    which is the coverage function of one story with as many coordinates as all of them have together.

    A value that depends on the rounds left is read with one round less than the state has: in the last round the future
    is worth nothing, and everything that may be used is given out.

    Recruits still to come from coupons that are out join the next frontier too (`coming.py`): they are part of the
    stories (`with_coming`) where one state is planned, and an argument where many are.
    """

    stories: tuple[Story, ...]
    discount: float
    least_per_person: int = 0
    name: str = "gfp"

    @classmethod
    def of(
        cls,
        response: ResponseModel,
        surrogate: FrontierValue,
        laplace: RecruitEmbeddings,
        discount: float,
        least_per_person: int = 0,
        name: str = "gfp",
    ) -> "Planner":
        """A planner with one story."""
        return cls((Story(response, surrogate, laplace),), discount, least_per_person, name)

    def __post_init__(self) -> None:
        check_fields(self, discount=discount_factor, least_per_person=at_least(0))
        if not self.stories or not np.isclose(sum(story.weight for story in self.stories), 1.0):
            found = [story.weight for story in self.stories]
            raise SettingError(f"A planner needs stories whose weights add up to 1; found {found}.")
        if len({(story.surrogate.budget, story.surrogate.rounds) for story in self.stories}) > 1:
            raise SettingError("The values of a planner's stories must be learned for the same budget and rounds.")

    @property
    def story(self) -> Story:
        """The only story; a planner that averages over several has none."""
        if len(self.stories) > 1:
            names = ", ".join(story.name for story in self.stories)
            raise SettingError(f"This planner averages over {names}; choose one of its stories.")
        return self.stories[0]

    def weighted(self, weights: Sequence[float]) -> "Planner":
        """The same stories with other weights; those of weight 0 are left out."""
        pairs = [(story, float(weight)) for story, weight in zip(self.stories, weights, strict=True) if weight > 0.0]
        return replace(self, stories=tuple(replace(story, weight=weight) for story, weight in pairs))

    def only(self, name: str) -> "Planner":
        """A planner that believes one story alone."""
        return self.weighted([1.0 if story.name == name else 0.0 for story in self.stories])

    def with_coming(self, coming: Mapping[str, Array] | None) -> "Planner":
        """The same planner when recruits are still to come: what they leave uncovered, by story; None for nobody."""
        stories = tuple(replace(story, coming=None if coming is None else coming[story.name]) for story in self.stories)
        return replace(self, stories=stories)

    @property
    def schema(self) -> Schema:
        return self.stories[0].surrogate.inputs.schema

    @property
    def budget(self) -> int:
        """The largest budget that can be planned."""
        return self.stories[0].surrogate.budget

    @property
    def rounds(self) -> int | None:
        """The most rounds left that the value tells apart; None if it does not depend on them."""
        return self.stories[0].surrogate.rounds

    @cached_property
    def _whole_weights(self) -> Array:
        """The weights w(r) of all stories side by side, each times its share, [tables, budget + 1, latent]."""
        if len(self.stories) == 1:
            return self.stories[0].surrogate.tables()
        return np.concatenate([story.weight * story.surrogate.tables() for story in self.stories], axis=2)

    @cached_property
    def coming(self) -> Array | None:
        """What recruits still to come leave uncovered, the stories side by side, [latent]; None for nobody."""
        if all(story.coming is None for story in self.stories):
            return None
        tables = [story.surrogate.tables() for story in self.stories]
        return np.concatenate(
            [
                np.ones(table.shape[2]) if story.coming is None else story.coming
                for story, table in zip(self.stories, tables, strict=True)
            ]
        )

    @cached_property
    def weight_tables(self) -> Array:
        """The weights of what recruits still to come leave uncovered, U w(r), [tables, budget + 1, latent]."""
        return self._whole_weights if self.coming is None else self._whole_weights * self.coming

    def weights_with(self, rounds_left: int) -> Array:
        """The table for so many rounds left after this one's decision, [budget + 1, latent]."""
        table: Array = self.weight_tables[self.stories[0].surrogate.table_with(np.array(rounds_left))]
        return table

    def base_with(self, rounds_left: int) -> Array | None:
        """The value of who comes anyway, with so many rounds left after this one's decision, [budget + 1]."""
        if self.coming is None:
            return None
        table = self._whole_weights[self.stories[0].surrogate.table_with(np.array(rounds_left))]
        base: Array = split_weights(np.ascontiguousarray(table), self.coming)[1]
        return base

    def weights_and_base(self, state: State) -> tuple[Array, Array | None]:
        """What a plan of this state is valued by: the weights and the value of who comes anyway, [budget + 1, ...]."""
        budget, later = state.remaining_budget, state.rounds_left - 1
        base = self.base_with(later)
        return self.weights_with(later)[: budget + 1], None if base is None else base[: budget + 1]

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(
        self, states: Sequence[State], lucks: Sequence[Luck], coming: Array | None = None
    ) -> list[Allocation]:
        """One allocation for each state; the models are evaluated once for everybody.

        `coming` [states, latent] is what recruits still to come leave uncovered in each, the stories side by side.
        """
        first = np.concatenate([[0], np.cumsum([len(state.frontier) for state in states])])
        covariates = np.concatenate([state.frontier.covariates for state in states])
        rounds_left = np.array([state.rounds_left for state in states])
        coupons, _ = self.plan_many(covariates, first, self.limits(states), rounds_left, coming)
        return [Allocation(part) for part in np.split(coupons, first[1:-1])]

    def plan_many(
        self,
        covariates: Codes,
        first: NDArray[np.int64],
        limits: Limits,
        rounds_left: NDArray[np.int64],
        coming: Array | None = None,
    ) -> tuple[NDArray[np.int64], Array]:
        """Coupons [people] and values [frontiers] of frontiers that stand one after another.

        Frontier f is rows first[f] .. first[f + 1] - 1 of `covariates`; `coming` [frontiers, latent] as in
        `allocate_many`.
        """
        if coming is None and self.coming is not None:
            coming = np.tile(self.coming, (len(first) - 1, 1))
        self.stories[0].surrogate.check_budget(int(limits.budgets.max(initial=0)))
        large = np.array([f for f in range(len(first) - 1) if too_large(_part(covariates, first, f), limits, f)], int)
        if len(large):
            return self._plan_some_by_price(large, covariates, first, limits, rounds_left, coming)
        tables = self.tables(covariates, int(limits.most_per_person.max(initial=0)))
        which = self.stories[0].surrogate.table_with(rounds_left - 1)
        return greedy_many(tables, self._whole_weights, which, self.discount, first, limits, coming)

    def _plan_some_by_price(
        self,
        large: NDArray[np.int64],
        covariates: Codes,
        first: NDArray[np.int64],
        limits: Limits,
        rounds_left: NDArray[np.int64],
        coming: Array | None,
    ) -> tuple[NDArray[np.int64], Array]:
        """`plan_many` where the frontiers `large` are too large for exact greedy."""
        coupons, values = np.zeros(len(covariates), np.int64), np.zeros(len(first) - 1)
        for f in large.tolist():
            kinds = kinds_of(_part(covariates, first, f))
            _, plan = self._by_price(kinds, limits, f, int(rounds_left[f]), None if coming is None else coming[f])
            coupons[first[f] : first[f + 1]] = people_of_kinds(plan.totals, kinds.kind)
            values[f] = plan.value
        rest = np.setdiff1d(np.arange(len(values)), large)
        if len(rest):
            own = np.repeat(np.isin(np.arange(len(values)), rest), np.diff(first))
            ends = np.concatenate([[0], np.cumsum(np.diff(first)[rest])])
            coupons[own], values[rest] = self.plan_many(
                covariates[own], ends, limits.take(rest), rounds_left[rest], None if coming is None else coming[rest]
            )
        return coupons, values

    def _by_price(
        self, kinds: Kinds, limits: Limits, f: int, rounds_left: int, coming: Array | None
    ) -> tuple[Tables, PricePlan]:
        """Tables by kind, and the plan of frontier `f` of `limits`."""
        most, budget = int(limits.most_per_person[f]), int(limits.budgets[f])
        tables = self.tables(kinds.rows, most, check=True)
        table = int(self.stories[0].surrogate.table_with(np.array(rounds_left - 1)))
        weights, base = self._whole_weights[table][: budget + 1], None
        if coming is not None:
            weights, base = split_weights(np.ascontiguousarray(weights), coming)
        plan = plan_by_price(
            tables,
            kinds.number,
            weights,
            self.discount,
            base=base,
            spendable=int(limits.spendable[f]),
            most_per_person=most,
            least_per_person=int(limits.least_per_person[f]),
        )
        return tables, plan

    def plan(self, state: State, *, every_spend: bool = True) -> Plan:
        """The plan for one state, with its reasons; a state too large for exact greedy is planned by price."""
        self.stories[0].surrogate.check_budget(state.remaining_budget)
        self.schema.check(state.frontier.covariates)
        if too_large(state.frontier.covariates, self.limits([state]), 0):
            return self._plan_by_price(state)
        tables = self.tables(state.frontier.covariates, state.most_per_person, check=True)
        weights, base = self.weights_and_base(state)
        tables.check(weights)
        limits = self.limits([state])
        best = greedy(
            tables,
            weights,
            self.discount,
            spendable=state.spendable,
            most_per_person=int(limits.most_per_person[0]),
            least_per_person=int(limits.least_per_person[0]),
            every_spend=every_spend,
            check=False,
            base=base,
        )
        worth = self.discount * weights[state.remaining_budget - best.spend]
        person, now, later = worth_of_each(tables, worth, best.coupons)
        return Plan(Allocation(best.coupons), best.value, best.values, person, now, later)

    def _plan_by_price(self, state: State) -> Plan:
        kinds = kinds_of(state.frontier.covariates)
        tables, plan = self._by_price(kinds, self.limits([state]), 0, state.rounds_left, self.coming)
        coupons = people_of_kinds(plan.totals, kinds.kind)
        values = np.full(state.spendable + 1, np.nan)
        values[plan.spends] = plan.values
        person, now, later = worth_by_kind(tables.gains, plan.later, kinds.kind, coupons)
        return Plan(Allocation(coupons), plan.value, values, person, now, later, plan.bound)

    def limits(self, states: Sequence[State]) -> Limits:
        """The states' limits; where there is not enough for everybody's least, nobody gets more than that."""
        people = np.array([len(state.frontier) for state in states])
        spendable = np.array([state.spendable for state in states])
        most = np.array([state.most_per_person for state in states])
        least = np.minimum(self.least_per_person, most)
        enough = least * people <= spendable
        budgets = np.array([state.remaining_budget for state in states])
        return Limits(budgets, spendable, np.where(enough, most, least), np.where(enough, least, 0))

    def gains(self, covariates: Codes, max_coupons: int) -> Array:
        """What each coupon adds to the expected recruits, averaged over the stories, [people, max_coupons]."""
        if len(self.stories) == 1:
            return self.stories[0].response.gains(covariates, max_coupons)
        parts = [story.weight * story.response.gains(covariates, max_coupons) for story in self.stories]
        total: Array = np.sum(parts, axis=0)
        return total

    def tables(self, covariates: Codes, most_per_person: int, *, check: bool = False) -> Tables:
        """What each coupon adds: gains averaged over the stories, what it covers story by story."""
        gains, covers = self.tables_by_story(covariates, most_per_person, check=check)
        if len(gains) == 1:
            return Tables(np.ascontiguousarray(gains[0]), covers)
        averaged = np.zeros(covers.shape[:2])
        for story, own in zip(self.stories, gains, strict=True):
            averaged[:, : own.shape[1]] += story.weight * own
        return Tables(averaged, covers)

    def tables_by_story(
        self, covariates: Codes, most_per_person: int, *, check: bool = False
    ) -> tuple[list[Array], Array]:
        """Gains of each story, [people, coupons] up to the last that may be used, and what all of them cover.

        Coordinates of what coupons cover stand side by side, story by story, [people, coupons, latent].
        """
        parts = [story.tables(covariates, most_per_person) for story in self.stories]
        if check:
            for _, uncovered in parts:
                check_embeddings(uncovered)
        levels = max(gains.shape[1] for gains, _ in parts)
        covers = [
            story.response.covers(covariates, uncovered, levels)
            for story, (_, uncovered) in zip(self.stories, parts, strict=True)
        ]
        return [gains for gains, _ in parts], covers[0] if len(covers) == 1 else np.concatenate(covers, axis=2)


def _part(covariates: Codes, first: NDArray[np.int64], f: int) -> Codes:
    """The rows of one of many frontiers."""
    return covariates[first[f] : first[f + 1]]


def too_large(covariates: Codes, limits: Limits, f: int) -> bool:
    """Whether frontier `f` of `limits` is too large for exact greedy."""
    people, spendable = len(covariates), int(limits.spendable[f])
    if people > MOST_PEOPLE_EXACT:
        return spendable > 0
    return people * spendable > MOST_WORK_EXACT and len(kinds_of(covariates).number) * spendable > MOST_WORK_EXACT
