"""The exact optimum of tiny typed worlds, as ground truth: no policy may earn more.

With a handful of types a frontier is a vector of type counts and an action is a multiset of (type, coupons), so
dynamic programming over counts is exact:

    V_t(r, counts) = max over actions a that counts allows of  A(a) + discount * E[V_{t-1}(r - spend(a), next counts)].

The distribution of the next counts depends on the action alone, so it is tabulated once; the maximum over the actions
that `counts` allows is a running maximum along each type's axis.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.settings import checked_discount
from peerfront.problem import Frontier, Policy, Rules, State, ask
from peerfront.simulation.typed import TypedWorld

LARGEST_BUDGET = 8
Multiset = tuple[tuple[int, int], ...]  # the people who get something: (type, coupons), sorted


@dataclass(frozen=True)
class ExactOptimum:
    """Optimal values of a typed world for every state with at most `rules.budget` coupons left."""

    world: TypedWorld
    rules: Rules
    discount: float
    values: NDArray[np.float64]  # [rounds left, remaining budget, count of type 1, ..., count of type T]

    def value(self, frontier: Codes, remaining_budget: int | None = None, rounds_left: int | None = None) -> float:
        """The largest expected reward of any policy from this frontier."""
        budget = self.rules.budget if remaining_budget is None else remaining_budget
        if not 0 <= budget <= self.rules.budget:
            raise ValueError(f"solved for 0 to {self.rules.budget} coupons; asked for {budget}")
        left = self.rules.rounds if rounds_left is None else rounds_left
        counts = np.bincount(frontier[:, 0], minlength=len(self.world.rates)) if len(frontier) else None
        if counts is None:
            return 0.0
        cell = tuple(np.minimum(counts, self.rules.budget))  # more people than coupons add nothing
        return float(self.values[(min(left, len(self.values) - 1), budget, *cell)])


def solve(world: TypedWorld, rules: Rules, discount: float) -> ExactOptimum:
    """Backward induction over rounds left and budget. Meant for budgets of at most 8."""
    checked_discount(discount)
    table = _ActionTable(world, rules)
    types, budget = len(world.rates), rules.budget
    shape = (budget + 1,) * types
    # Every round that does not end the episode spends a coupon: after `budget` rounds more time changes nothing.
    horizon = min(rules.rounds, budget)
    values = np.zeros((horizon + 1, budget + 1, *shape))
    for left in range(1, horizon + 1):
        later = values[left - 1][:, *table.cells.T]  # [budget, cells]
        for r in range(1, budget + 1):
            feasible = np.flatnonzero(table.spend <= r)
            future = np.einsum("ac,ac->a", table.outcomes[feasible], later[r - table.spend[feasible]])
            best = values[left, r]
            np.maximum.at(best, tuple(table.used[feasible].T), table.immediate[feasible] + discount * future)
            for axis in range(types):
                np.maximum.accumulate(best, axis=axis, out=best)
    return ExactOptimum(world, rules, discount, values)


def exact_value(world: TypedWorld, policy: Policy, rules: Rules, discount: float, frontier: Codes) -> float:
    """The expected reward of a policy from this frontier; the policy must ignore its luck and the order of people."""
    checked_discount(discount)
    table = _ActionTable(world, rules)
    luck = named_luck(("exact value",), 1)
    values: dict[tuple[int, int, tuple[int, ...]], float] = {}  # by budget, round and counts

    def value(remaining: int, number: int, counts: tuple[int, ...]) -> float:
        codes = np.repeat(np.arange(len(counts), dtype=np.int16), counts)[:, None]
        state = State(remaining, Frontier.of(codes), number, rules)
        if state.is_terminal:
            return 0.0
        at = (remaining, number, counts)
        if at not in values:
            coupons = ask(policy, state, luck).coupons
            action = tuple(sorted((int(t), int(k)) for t, k in zip(codes[:, 0], coupons, strict=True) if k))
            row = table.index[action]
            left = remaining - int(table.spend[row])
            reachable = np.flatnonzero(table.outcomes[row])
            future = sum(
                table.outcomes[row, cell] * value(left, number + 1, tuple(table.cells[cell].tolist()))
                for cell in reachable
            )
            values[at] = float(table.immediate[row] + discount * future)
        return values[at]

    counts = np.bincount(frontier[:, 0], minlength=len(world.rates)) if len(frontier) else np.zeros(1, dtype=int)
    return value(rules.budget, 0, tuple(counts.tolist()))


class _ActionTable:
    """Every action that spends at most the budget, its expected recruits, and the distribution of the next counts."""

    def __init__(self, world: TypedWorld, rules: Rules) -> None:
        types, budget = len(world.rates), rules.budget
        if budget > LARGEST_BUDGET:
            raise ValueError(f"exact values are for budgets of at most {LARGEST_BUDGET}; found {budget}")
        most_each = budget if rules.max_per_person is None else min(budget, rules.max_per_person)
        most_all = budget if rules.max_per_round is None else min(budget, rules.max_per_round)
        grid = np.array(list(product(range(budget + 1), repeat=types)), dtype=np.int64)
        reachable = np.flatnonzero(grid.sum(axis=1) <= budget)
        every = np.arange(types, dtype=np.int16)[:, None]
        gains = world.response.gains(every, max(budget, 1))
        counts = [world.response.counts(every, k) for k in range(most_each + 1)]  # P(N(k) = y), [types, k + 1]
        people = {
            (t, k): _one_person(world, counts[k][t], t, grid) for t in range(types) for k in range(1, most_each + 1)
        }

        nobody = np.zeros(len(grid))
        nobody[0] = 1.0
        actions: list[Multiset] = []
        outcomes: list[NDArray[np.float64]] = []
        for action, distribution in _grow((), nobody, most_all, people):
            actions.append(action)
            outcomes.append(distribution[reachable])
        self.index = {action: row for row, action in enumerate(actions)}
        self.outcomes = np.array(outcomes)  # [actions, cells]
        self.cells = grid[reachable]  # [cells, types]
        self.spend = np.array([sum(k for _, k in action) for action in actions])  # [actions]
        self.immediate = np.array([sum(gains[t, :k].sum() for t, k in action) for action in actions], dtype=float)
        self.used = np.array([[sum(t == u for t, _ in action) for u in range(types)] for action in actions])


_Kernel = list[tuple[int, float]]  # where in the flattened grid a person's recruits move us, and how likely


def _one_person(world: TypedWorld, exactly: NDArray[np.float64], person_type: int, grid: NDArray[np.int64]) -> _Kernel:
    """The recruits of one person, who brings y with chance `exactly[y]`: a mixture of multinomial type counts."""
    base = int(grid[:, 0].max()) + 1
    places = base ** np.arange(grid.shape[1] - 1, -1, -1)  # adding counts adds flattened positions
    kernel: dict[int, float] = {}
    distribution = {0: 1.0}
    for recruits in range(len(exactly)):
        for position, chance in distribution.items():
            kernel[position] = kernel.get(position, 0.0) + exactly[recruits] * chance
        extended: dict[int, float] = {}
        for position, chance in distribution.items():
            for child, share in enumerate(world.transition[person_type]):
                if share > 0.0:
                    moved = position + int(places[child])
                    extended[moved] = extended.get(moved, 0.0) + chance * share
        distribution = extended
    return [(position, chance) for position, chance in kernel.items() if chance > 0.0]


def _grow(
    action: Multiset,
    distribution: NDArray[np.float64],
    left: int,
    people: dict[tuple[int, int], _Kernel],
) -> Iterator[tuple[Multiset, NDArray[np.float64]]]:
    """This action, and every one that adds people who come no earlier in order than its last."""
    yield action, distribution
    for person, kernel in people.items():
        if person[1] <= left and (not action or person >= action[-1]):
            grown = np.zeros_like(distribution)
            for position, chance in kernel:
                grown[position:] += chance * distribution[: len(distribution) - position]
            yield from _grow((*action, person), grown, left - person[1], people)
