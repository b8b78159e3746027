"""Rules that know the deadline: what is left after the last round is worth nothing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerfront.baselines.by_survival import most_likely_used, survival_tables
from peerfront.errors import SettingError
from peerfront.problem import Allocation, CapacityModel, Policy, State, ask_many
from peerfront.randomness import Luck


def check_pace(pace: float) -> None:
    if not 0.0 < pace < math.inf:
        raise SettingError(f"The pace of evenly must be above 0; found {pace}. 1 spends evenly.")


@dataclass(frozen=True)
class Evenly:
    """The budget spread over the rounds left, each voucher where it is most likely used.

    With t rounds left the share 1 - (1 - 1/t)^pace of what remains is spent: 1/t of it at a pace of 1, more at a faster
    pace, everything in the last round.
    """

    capacity: CapacityModel
    pace: float = 1.0

    def __post_init__(self) -> None:
        check_pace(self.pace)

    @property
    def name(self) -> str:
        return f"evenly:pace={self.pace:g}"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state; the capacity model is asked once for everybody."""
        return _most_likely(self.capacity, states, [self._spend(state) for state in states])

    def _spend(self, state: State) -> int:
        kept = (1.0 - 1.0 / max(state.rounds_left, 1)) ** self.pace
        return math.ceil(state.remaining_budget * (1.0 - kept))


@dataclass(frozen=True, eq=False)
class AllAtLast:
    """Another rule until the last round; then everything, where it is most likely used."""

    capacity: CapacityModel
    rule: Policy

    @property
    def name(self) -> str:
        return f"{self.rule.name}, all at last"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state, asked in bulk."""
        last = [state.rounds_left <= 1 for state in states]
        ending = [state for state, now in zip(states, last, strict=True) if now]
        going_on = [(state, luck) for state, luck, now in zip(states, lucks, last, strict=True) if not now]
        spread = iter(_most_likely(self.capacity, ending, [state.remaining_budget for state in ending]))
        ruled = iter(ask_many(self.rule, [s for s, _ in going_on], [luck for _, luck in going_on]) if going_on else ())
        return [next(spread if now else ruled) for now in last]


def _most_likely(capacity: CapacityModel, states: Sequence[State], spends: Sequence[int]) -> list[Allocation]:
    """These spends (or what may be spent), each voucher where it is most likely used."""
    return [
        Allocation(np.bincount(most_likely_used(table, min(spend, state.spendable)), minlength=len(table)))
        for table, state, spend in zip(survival_tables(capacity, states), states, spends, strict=True)
    ]
