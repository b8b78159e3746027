"""Generative Frontier Planning: the policy (Section 3.3, Algorithm 1).

Exact greedy plans every frontier up to `MOST_PEOPLE_EXACT` people and `MOST_WORK_EXACT` kinds of people x coupons; a
larger one is planned by a common price (`price_plan.py`), and the plan says how far from the best it can be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.checked_calls import checked_late
from peerfront.foundation.covariates import Codes, Kinds, Schema, kinds_of
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import at_least, check_fields, discount_factor
from peerfront.gfp.backup import Array, Tables, split_weights
from peerfront.gfp.blocks import (
    greedy_at_in_blocks,
    greedy_in_blocks,
    majorants,
    people_in_blocks,
    rises,
    worth_of_kinds,
)
from peerfront.gfp.explained_plan import Plan, worth_by_kind, worth_of_each
from peerfront.gfp.greedy import Limits, greedy
from peerfront.gfp.price_plan import PricePlan, people_of_kinds, plan_by_price
from peerfront.gfp.story import (
    FrontierValue,
    RecruitEmbeddings,
    Story,
    averaged_gains,
    averaged_tables,
    joined_coming,
    joined_weights,
)
from peerfront.problem import Allocation, ResponseModel, State

MOST_PEOPLE_EXACT = 200_000
"""People above whom a frontier is planned by price: the tables of greedy would need gigabytes."""
MOST_WORK_EXACT = 20_000_000
"""Kinds of people x coupons that may be given out above which a frontier is planned by price: greedy would need
minutes."""
_EVERY_SPEND = 400  # spends up to which all are tried where more coupons motivate


@dataclass(frozen=True, eq=False)
class Planner:
    """The GFP policy: stories of what a coupon does, each with a learned value and the recruits' Laplace embeddings.

    Where the stories differ, the plan maximises the average over them (`story`).

    A value that depends on the rounds left is read with one round less than the state has: in the last round the future
    is worth nothing, and everything that may be used is given out.

    Recruits still to come from coupons that are out join the next frontier too (`backup`): they are part of the
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
            weights = [story.weight for story in self.stories]
            raise SettingError("planned_stories.weights_not_one", weights=weights)
        if len({(story.surrogate.budget, story.surrogate.rounds) for story in self.stories}) > 1:
            raise SettingError("planned_stories.other_budget")

    @property
    def story(self) -> Story:
        """The only story; a planner that averages over several has none."""
        if len(self.stories) > 1:
            raise SettingError("planned_stories.several", names=[story.name for story in self.stories])
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
        return joined_weights(self.stories)

    @cached_property
    def coming(self) -> Array | None:
        """What recruits still to come leave uncovered, the stories side by side, [latent]; None for nobody."""
        return joined_coming(self.stories)

    @cached_property
    def weight_tables(self) -> Array:
        """The weights of what recruits still to come leave uncovered, U w(r), [tables, budget + 1, latent]."""
        return self._whole_weights if self.coming is None else self._whole_weights * self.coming

    def weights_with(self, rounds_left: int) -> Array:
        """The table for the rounds left after this one's decision, [budget + 1, latent]."""
        table: Array = self.weight_tables[self.stories[0].surrogate.table_with(np.array(rounds_left))]
        return table

    def base_with(self, rounds_left: int) -> Array | None:
        """The value of who comes anyway, for the rounds left after this one's decision, [budget + 1]."""
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

    @checked_late
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
        return greedy_in_blocks(tables, self._whole_weights, which, self.discount, first, limits, coming)

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
            left, to_come = int(rounds_left[f]), None if coming is None else coming[f]
            _, plan, coupons[first[f] : first[f + 1]] = self._by_price(kinds, limits, f, left, to_come)
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
    ) -> tuple[Tables, PricePlan, NDArray[np.int64]]:
        """Tables by kind, the plan of frontier `f` of `limits`, and the coupons of each person.

        Where more coupons motivate, the plan is that of the majorants, in whole blocks; its bound is one for both.
        """
        most, budget = int(limits.most_per_person[f]), int(limits.budgets[f])
        tables = self.tables(kinds.rows, most, check=True)
        table = int(self.stories[0].surrogate.table_with(np.array(rounds_left - 1)))
        weights, base = self._whole_weights[table][: budget + 1], None
        if coming is not None:
            weights, base = split_weights(np.ascontiguousarray(weights), coming)
        least = int(limits.least_per_person[f])
        concave, ends = majorants(tables) if rises(tables) else (tables, None)
        plan = plan_by_price(
            concave,
            kinds.number,
            weights,
            self.discount,
            base=base,
            spendable=int(limits.spendable[f]),
            most_per_person=most,
            least_per_person=least,
        )
        if ends is None:
            return tables, plan, people_of_kinds(plan.totals, kinds.kind)
        coupons = people_in_blocks(plan.totals, kinds.kind, ends, least)
        left = budget - plan.spend
        value, later = worth_of_kinds(tables, self.discount * weights[left], kinds.kind, coupons)
        value += 0.0 if base is None else self.discount * float(base[left])
        spends, values = np.array([plan.spend]), np.array([value])  # other spends' values are those of the majorants
        return tables, replace(plan, value=value, later=later, spends=spends, values=values), coupons

    def plan(self, state: State, *, every_spend: bool = True) -> Plan:
        """The plan for one state, with its reasons; a state too large for exact greedy is planned by price."""
        self.stories[0].surrogate.check_budget(state.remaining_budget)
        self.schema.check(state.frontier.covariates)
        if too_large(state.frontier.covariates, self.limits([state]), 0):
            return self._plan_by_price(state)
        tables = self.tables(state.frontier.covariates, state.most_per_person, check=True)
        weights, base = self.weights_and_base(state)
        limits = self.limits([state])
        if rises(tables):
            return self._plan_in_blocks(state, tables, weights, base, limits)
        tables.check(weights)
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

    def _plan_in_blocks(self, state: State, tables: Tables, weights: Array, base: Array | None, limits: Limits) -> Plan:
        """The plan where more coupons motivate (`blocks`): the best spend in whole blocks. In a large round only spends
        near the majorants' best one are tried.
        """
        concave, _ = majorants(tables)
        concave.check(weights)
        most, least = int(limits.most_per_person[0]), int(limits.least_per_person[0])
        fewest, largest = least * tables.people, min(state.spendable, most * tables.people)
        spends = np.arange(fewest, largest + 1)
        if len(spends) > _EVERY_SPEND:
            near = greedy(
                concave, weights, self.discount, spendable=state.spendable, most_per_person=most,
                least_per_person=least, every_spend=False, check=False, base=base,
            )  # fmt: skip
            spends = spends[np.abs(spends - near.spend) <= 2 * tables.coupons]
        plans, found = greedy_at_in_blocks(tables, weights, self.discount, spends.tolist(), most, least, base)
        coupons, value = plans[found.argmax()], float(found.max())
        values = np.full(state.spendable + 1, np.nan)
        values[spends] = found
        worth = self.discount * weights[state.remaining_budget - int(coupons.sum())]
        person, now, later = worth_of_each(tables, worth, coupons)
        return Plan(Allocation(coupons), value, values, person, now, later)

    def _plan_by_price(self, state: State) -> Plan:
        kinds = kinds_of(state.frontier.covariates)
        tables, plan, coupons = self._by_price(kinds, self.limits([state]), 0, state.rounds_left, self.coming)
        values = np.full(state.spendable + 1, np.nan)
        values[plan.spends], values[plan.spend] = plan.values, plan.value
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
        return averaged_gains(self.stories, covariates, max_coupons)

    def tables(self, covariates: Codes, most_per_person: int, *, check: bool = False) -> Tables:
        """What each coupon adds: gains averaged over the stories, what it covers story by story."""
        return averaged_tables(self.stories, covariates, most_per_person, check=check)


def _part(covariates: Codes, first: NDArray[np.int64], f: int) -> Codes:
    """The rows of one of many frontiers."""
    return covariates[first[f] : first[f + 1]]


def too_large(covariates: Codes, limits: Limits, f: int) -> bool:
    """Whether frontier `f` of `limits` is too large for exact greedy."""
    people, spendable = len(covariates), int(limits.spendable[f])
    if people > MOST_PEOPLE_EXACT:
        return spendable > 0
    return people * spendable > MOST_WORK_EXACT and len(kinds_of(covariates).number) * spendable > MOST_WORK_EXACT
