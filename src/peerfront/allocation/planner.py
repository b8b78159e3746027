"""Generative Frontier Planning: the policy, and plans with their reasons (Section 3.3, Algorithm 1).

Exact greedy plans every frontier up to `MOST_PEOPLE_EXACT` people and `MOST_WORK_EXACT` kinds of people x coupons; a
larger one is planned by a common price (`price_plan.py`), and the plan says how far from the best it can be.

What a planner needs of a learned value are three Protocols; `value.surrogate` implements them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from peerfront.allocation.backup import Array, check_tables, coverage_gains
from peerfront.allocation.coupon_worth import worth_by_kind, worth_of_each
from peerfront.allocation.greedy import Limits, greedy, greedy_many
from peerfront.allocation.price_plan import PricePlan, gap_below, people_of_kinds, plan_by_price
from peerfront.foundation.covariates import Codes, Kinds, Schema, kinds_of
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import at_least, check_fields, discount_factor
from peerfront.problem import Allocation, CapacityModel, State

MOST_PEOPLE_EXACT = 200_000
"""People above whom a frontier is planned by price: the tables of greedy would need gigabytes."""
MOST_WORK_EXACT = 20_000_000
"""Kinds of people x coupons that may be given out above which a frontier is planned by price: greedy would need
minutes."""
_NEVER_USED = 1e-9  # a chance of use below this counts as none: it keeps survival tables short
_FIRST_LEVELS = 24  # coupons per person in the first survival table; doubled while some may still be used


class PersonView(Protocol):
    """What networks see of a person."""

    @property
    def schema(self) -> Schema: ...

    def rows(self, covariates: Codes) -> NDArray[np.float32]:
        """The networks' inputs, [people, inputs]."""
        ...


class FrontierValue(Protocol):
    """A latent-coverage value V(r, F) (Equations 3 and 4): the weights w(r), for every number of rounds left."""

    @property
    def inputs(self) -> PersonView: ...

    @property
    def budget(self) -> int:
        """The largest budget it was learned for."""
        ...

    @property
    def rounds(self) -> int | None:
        """The most rounds left that it tells apart; None if it does not depend on them."""
        ...

    def check_budget(self, budget: int) -> None:
        """Refuse a budget above the largest one it was learned for."""
        ...

    def tables(self) -> Array:
        """The weights w(r) for every number of rounds left it tells apart, [tables, budget + 1, latent]."""
        ...

    def table_with(self, rounds_left: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the table in `tables` for each number of rounds left, [states]."""
        ...

    def weights_with(self, rounds_left: int) -> Array:
        """The table for so many rounds left, [budget + 1, latent]."""
        ...


class RecruitEmbeddings(Protocol):
    """The conditional Laplace embeddings alpha(x) (Equation 5): how much of each coordinate a recruit of x leaves
    uncovered."""

    @property
    def inputs(self) -> PersonView: ...

    def uncovered(self, rows: NDArray[np.float32]) -> Array:
        """alpha of people described by `inputs.rows`, [people, latent]."""
        ...


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
    """The GFP policy: any capacity model, a learned value, and the recruits' Laplace embeddings.

    A value that depends on the rounds left is read with one round less than the state has: in the last round the future
    is worth nothing, and everything that may be used is given out.
    """

    capacity: CapacityModel
    surrogate: FrontierValue
    laplace: RecruitEmbeddings
    discount: float
    least_per_person: int = 0
    name: str = "gfp"

    def __post_init__(self) -> None:
        check_fields(self, discount=discount_factor, least_per_person=at_least(0))

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state; the models are evaluated once for everybody."""
        first = np.concatenate([[0], np.cumsum([len(state.frontier) for state in states])])
        covariates = np.concatenate([state.frontier.covariates for state in states])
        rounds_left = np.array([state.rounds_left for state in states])
        coupons, _ = self.plan_many(covariates, first, self._limits(states), rounds_left)
        return [Allocation(part) for part in np.split(coupons, first[1:-1])]

    def plan_many(
        self, covariates: Codes, first: NDArray[np.int64], limits: Limits, rounds_left: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Array]:
        """Coupons [people] and values [frontiers] of frontiers that stand one after another.

        Frontier f is rows first[f] .. first[f + 1] - 1 of `covariates`.
        """
        self.surrogate.check_budget(int(limits.budgets.max(initial=0)))
        large = np.array([f for f in range(len(first) - 1) if _too_large(_part(covariates, first, f), limits, f)], int)
        if len(large):
            return self._plan_some_by_price(large, covariates, first, limits, rounds_left)
        survival, uncovered = self.tables(covariates, int(limits.most_per_person.max(initial=0)))
        weights, which = self.surrogate.tables(), self.surrogate.table_with(rounds_left - 1)
        return greedy_many(survival, uncovered, weights, which, self.discount, first, limits)

    def _plan_some_by_price(
        self,
        large: NDArray[np.int64],
        covariates: Codes,
        first: NDArray[np.int64],
        limits: Limits,
        rounds_left: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], Array]:
        """`plan_many` where the frontiers `large` are too large for exact greedy."""
        coupons, values = np.zeros(len(covariates), np.int64), np.zeros(len(first) - 1)
        for f in large.tolist():
            kinds = kinds_of(_part(covariates, first, f))
            _, plan = self._by_price(kinds, limits, f, int(rounds_left[f]))
            coupons[first[f] : first[f + 1]] = people_of_kinds(plan.totals, kinds.kind)
            values[f] = plan.value
        rest = np.setdiff1d(np.arange(len(values)), large)
        if len(rest):
            own = np.repeat(np.isin(np.arange(len(values)), rest), np.diff(first))
            ends = np.concatenate([[0], np.cumsum(np.diff(first)[rest])])
            coupons[own], values[rest] = self.plan_many(covariates[own], ends, limits.take(rest), rounds_left[rest])
        return coupons, values

    def _by_price(self, kinds: Kinds, limits: Limits, f: int, rounds_left: int) -> tuple[Array, PricePlan]:
        """Survival by kind, and the plan of frontier `f` of `limits`."""
        most, budget = int(limits.most_per_person[f]), int(limits.budgets[f])
        survival, uncovered = self.tables(kinds.rows, most)
        plan = plan_by_price(
            survival,
            uncovered,
            kinds.number,
            self.surrogate.weights_with(rounds_left - 1)[: budget + 1],
            self.discount,
            spendable=int(limits.spendable[f]),
            most_per_person=most,
            least_per_person=int(limits.least_per_person[f]),
        )
        return survival, plan

    def plan(self, state: State, *, every_spend: bool = True) -> Plan:
        """The plan for one state, with its reasons; a state too large for exact greedy is planned by price."""
        self.surrogate.check_budget(state.remaining_budget)
        self.surrogate.inputs.schema.check(state.frontier.covariates)
        if _too_large(state.frontier.covariates, self._limits([state]), 0):
            return self._plan_by_price(state)
        survival, uncovered = self.tables(state.frontier.covariates, state.most_per_person)
        weights = self.surrogate.weights_with(state.rounds_left - 1)[: state.remaining_budget + 1]
        check_tables(survival, uncovered, weights)
        limits = self._limits([state])
        best = greedy(
            survival,
            uncovered,
            weights,
            self.discount,
            spendable=state.spendable,
            most_per_person=int(limits.most_per_person[0]),
            least_per_person=int(limits.least_per_person[0]),
            every_spend=every_spend,
            check=False,
        )
        worth = self.discount * weights[state.remaining_budget - best.spend]
        person, now, later = worth_of_each(survival, coverage_gains(survival, uncovered), worth, best.coupons)
        return Plan(Allocation(best.coupons), best.value, best.values, person, now, later)

    def _plan_by_price(self, state: State) -> Plan:
        kinds = kinds_of(state.frontier.covariates)
        survival, plan = self._by_price(kinds, self._limits([state]), 0, state.rounds_left)
        coupons = people_of_kinds(plan.totals, kinds.kind)
        values = np.full(state.spendable + 1, np.nan)
        values[plan.spends] = plan.values
        person, now, later = worth_by_kind(survival, plan.later, kinds.kind, coupons)
        return Plan(Allocation(coupons), plan.value, values, person, now, later, plan.bound)

    def _limits(self, states: Sequence[State]) -> Limits:
        """The states' limits; where there is not enough for everybody's least, nobody gets more than that."""
        people = np.array([len(state.frontier) for state in states])
        spendable = np.array([state.spendable for state in states])
        most = np.array([state.most_per_person for state in states])
        least = np.minimum(self.least_per_person, most)
        enough = least * people <= spendable
        budgets = np.array([state.remaining_budget for state in states])
        return Limits(budgets, spendable, np.where(enough, most, least), np.where(enough, least, 0))

    def tables(self, covariates: Codes, most_per_person: int) -> tuple[Array, Array]:
        """Survival [people, coupons] and Laplace embeddings [people, latent]."""
        levels = min(most_per_person, _FIRST_LEVELS)
        survival = self.capacity.survival(covariates, levels)
        while levels < most_per_person and (survival[:, -1:] > _NEVER_USED).any():
            levels = min(2 * levels, most_per_person)
            survival = self.capacity.survival(covariates, levels)
        return survival, self.laplace.uncovered(self.laplace.inputs.rows(covariates))


def _part(covariates: Codes, first: NDArray[np.int64], f: int) -> Codes:
    """The rows of one of many frontiers."""
    return covariates[first[f] : first[f + 1]]


def _too_large(covariates: Codes, limits: Limits, f: int) -> bool:
    """Whether frontier `f` of `limits` is too large for exact greedy."""
    people, spendable = len(covariates), int(limits.spendable[f])
    if people > MOST_PEOPLE_EXACT:
        return spendable > 0
    return people * spendable > MOST_WORK_EXACT and len(kinds_of(covariates).number) * spendable > MOST_WORK_EXACT
