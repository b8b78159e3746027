"""Generative Frontier Planning: the policy, and the plan it can explain (Section 3.3, Algorithm 1)."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from peerfront.allocation.backup import Array, check_tables, coverage_gains
from peerfront.allocation.greedy import greedy, greedy_many
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import checked_discount
from peerfront.problem import Allocation, CapacityModel, State

_NEVER_USED = 1e-9  # a chance of use below this counts as none: it keeps survival tables short
_FIRST_LEVELS = 24


class PersonView(Protocol):
    """What a value sees of a person."""

    @property
    def schema(self) -> Schema: ...
    def rows(self, covariates: Codes) -> NDArray[np.float32]:
        """[people, inputs]."""
        ...


class FrontierValue(Protocol):
    """A latent-coverage value V(r, F) as the planner uses it: its weights w(r), and what it sees of people."""

    @property
    def inputs(self) -> PersonView: ...
    @property
    def budget(self) -> int:
        """The largest budget it knows."""
        ...

    @property
    def rounds(self) -> int | None:
        """Most rounds left that it tells apart; None if it does not know the deadline."""
        ...

    def tables(self) -> Array:
        """w for every number of rounds left that it tells apart, [tables, budget + 1, latent]."""
        ...

    def table_with(self, rounds_left: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of `tables` belongs to each number of rounds left, [states]."""
        ...

    def weights_with(self, rounds_left: int) -> Array:
        """w with so many rounds left, [budget + 1, latent]."""
        ...

    def check_budget(self, budget: int) -> None:
        """Refuse a budget beyond the largest one it knows."""
        ...


class RecruitEmbeddings(Protocol):
    """How much of each latent coordinate a recruit leaves uncovered: alpha(x) of Equation 5."""

    @property
    def inputs(self) -> PersonView: ...
    def uncovered(self, rows: NDArray[np.float32]) -> Array:
        """alpha of people described by `inputs.rows`, [people, latent]."""
        ...


@dataclass(frozen=True, eq=False)
class Plan:
    """An allocation and why."""

    allocation: Allocation
    value: float
    """What the plan expects from here on, discounted: Q of the chosen spend."""
    values: Array  # [spendable + 1]
    """Q of every spend; NaN where it was not evaluated (it cannot be best)."""
    person: NDArray[np.int64]  # [spend]
    """Who got the first, second, ... coupon, in the planner's order."""
    now: Array  # [spend]
    """Of each coupon: the chance that it is used, its immediate part."""
    later: Array  # [spend]
    """Of each coupon: what its recruit is expected to add to the value of the next frontier, discounted."""

    @property
    def spend(self) -> int:
        return self.allocation.spend


@dataclass(frozen=True, eq=False)
class Planner:
    """The GFP policy: any capacity model, a learned value, and the recruits' Laplace embeddings.

    A value that knows the deadline is asked for one round less than the state has left: in the last round the future
    is worth nothing, and everything that may be used is given out.
    """

    capacity: CapacityModel
    surrogate: FrontierValue
    laplace: RecruitEmbeddings
    discount: float
    least_per_person: int = 0
    name: str = "gfp"

    def __post_init__(self) -> None:
        checked_discount(self.discount)

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state, all at once: the models are asked once for everybody."""
        sizes = np.array([len(state.frontier) for state in states])
        first = np.concatenate([[0], np.cumsum(sizes)])
        budgets = np.array([state.remaining_budget for state in states])
        most = np.array([state.most_per_person for state in states])
        spendable = np.array([state.spendable for state in states])
        covariates = np.concatenate([state.frontier.covariates for state in states])
        rounds_left = np.array([state.rounds_left for state in states])
        most, least = self._limits(sizes, spendable, most)
        coupons, _ = self.plan_many(covariates, first, budgets, spendable, most, rounds_left, least)
        return [Allocation(part) for part in np.split(coupons, first[1:-1])]

    def plan_many(
        self,
        covariates: Codes,
        first: NDArray[np.int64],
        budgets: NDArray[np.int64],
        spendable: NDArray[np.int64],
        most_per_person: NDArray[np.int64],
        rounds_left: NDArray[np.int64],
        least_per_person: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], Array]:
        """Coupons [people] and values [frontiers] of frontiers that stand one after another."""
        least = np.zeros(len(budgets), dtype=np.int64) if least_per_person is None else least_per_person
        self.surrogate.check_budget(int(budgets.max(initial=0)))
        survival, uncovered = self.tables(covariates, int(most_per_person.max(initial=0)))
        weights, which = self.surrogate.tables(), self.surrogate.table_with(rounds_left - 1)
        return greedy_many(
            survival, uncovered, weights, which, self.discount, first, budgets, spendable, most_per_person, least
        )

    def plan(self, state: State, *, every_spend: bool = True) -> Plan:
        """The plan for one state, with its reasons."""
        self.surrogate.check_budget(state.remaining_budget)
        self.surrogate.inputs.schema.check(state.frontier.covariates)
        survival, uncovered = self.tables(state.frontier.covariates, state.most_per_person)
        weights = self.surrogate.weights_with(state.rounds_left - 1)[: state.remaining_budget + 1]
        check_tables(survival, uncovered, weights)
        most, least = self._limits(
            *(np.array([number]) for number in (len(state.frontier), state.spendable, state.most_per_person))
        )
        found = greedy(
            survival,
            uncovered,
            weights,
            self.discount,
            spendable=state.spendable,
            most_per_person=int(most[0]),
            least_per_person=int(least[0]),
            every_spend=every_spend,
            check=False,
        )
        worth = self.discount * weights[state.remaining_budget - found.spend]
        person, now, later = _reasons(survival, coverage_gains(survival, uncovered), worth, found.coupons)
        return Plan(Allocation(found.coupons), found.value, found.values, person, now, later)

    def _limits(
        self, people: NDArray[np.int64], spendable: NDArray[np.int64], most: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Most and least per person, [frontiers] each. Where there is not enough for everybody's least, nobody gets
        more than that."""
        least = np.minimum(self.least_per_person, most)
        enough = least * people <= spendable
        return np.where(enough, most, least), np.where(enough, least, 0)

    def tables(self, covariates: Codes, most_per_person: int) -> tuple[Array, Array]:
        """Survival [people, coupons] and Laplace embeddings [people, latent]."""
        levels = min(most_per_person, _FIRST_LEVELS)
        survival = self.capacity.survival(covariates, levels)
        while levels < most_per_person and (survival[:, -1:] > _NEVER_USED).any():
            levels = min(2 * levels, most_per_person)
            survival = self.capacity.survival(covariates, levels)
        return survival, self.laplace.uncovered(self.laplace.inputs.rows(covariates))


def _reasons(
    survival: Array, covers: Array, worth: Array, coupons: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Array, Array]:
    """Give the same coupons again, best first, and note what each is worth now and later."""
    people, columns = survival.shape
    given = np.zeros(people, dtype=np.int64)
    left = np.ones(len(worth))
    total = int(coupons.sum())
    person, now, later = np.zeros(total, dtype=np.int64), np.zeros(total), np.zeros(total)
    padded = np.concatenate([survival, np.zeros((people, 1))], axis=1)
    more = np.concatenate([covers, np.zeros((people, 1, len(worth)))], axis=1)
    first = padded[:, 0] + more[:, 0] @ worth
    # Gains only fall as coupons are given, so whoever is still on top with a gain made anew is the best of all.
    heap = [(-float(first[i]), i) for i in np.flatnonzero(coupons).tolist()]
    heapq.heapify(heap)
    for v in range(total):
        while True:
            who = heap[0][1]
            level = min(int(given[who]), columns)
            immediate, future = float(padded[who, level]), float(more[who, level] @ (worth * left))
            heapq.heapreplace(heap, (-(immediate + future), who))
            if heap[0][1] == who:
                break
        person[v], now[v], later[v] = who, immediate, future
        left = left * (1.0 - more[who, level])
        given[who] += 1
        if given[who] == coupons[who]:
            heapq.heappop(heap)
    return person, now, later
