"""Rules that know the deadline: what is left after the last round is worth nothing."""

import math
from dataclasses import dataclass

import numpy as np

from peerfront.baselines.by_survival import most_likely_used
from peerfront.errors import SettingError
from peerfront.problem import Allocation, CapacityModel, Policy, State
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
        kept = (1.0 - 1.0 / max(state.rounds_left, 1)) ** self.pace
        return _most_likely(self.capacity, state, math.ceil(state.remaining_budget * (1.0 - kept)))


@dataclass(frozen=True, eq=False)
class AllAtLast:
    """Another rule until the last round; then everything, where it is most likely used."""

    capacity: CapacityModel
    rule: Policy

    @property
    def name(self) -> str:
        return f"{self.rule.name}, all at last"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        if state.rounds_left > 1:
            return self.rule.allocate(state, luck)
        return _most_likely(self.capacity, state, state.remaining_budget)


def _most_likely(capacity: CapacityModel, state: State, spend: int) -> Allocation:
    survival = capacity.survival(state.frontier.covariates, state.most_per_person)
    persons = most_likely_used(survival, min(spend, state.spendable))
    return Allocation(np.bincount(persons, minlength=len(survival)))
