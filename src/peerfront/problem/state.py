"""The state of a study (Section 2): the rules, who may refer now (the frontier), and what is left of the budget."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.settings import at_least, check_fields, one_or_more, optional


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one study. The defaults are the paper's (Section 5.3): 100 coupons, 10 people, 50 rounds.

    >>> pf.Rules(budget=60, people=8, rounds=6, max_per_person=3).budget
    60
    """

    budget: int = 100
    """Coupons for the whole study, B."""
    people: int = 10
    """People on the first frontier, |F0|."""
    rounds: int = 50
    """Rounds after which the study ends, whatever is left."""
    max_per_person: int | None = None
    """Most coupons one person may get in a round; None for no cap."""
    max_per_round: int | None = None
    """Most coupons that may be given out in a round; None for no cap."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            budget=at_least(0),
            people=at_least(0),
            rounds=one_or_more,
            max_per_person=optional(one_or_more),
            max_per_round=optional(one_or_more),
        )


@dataclass(frozen=True, slots=True)
class Frontier:
    """The people who may refer this round, F = {x_1, ..., x_n}: a multiset, since two people may share a row.

    >>> codes = pf.make_world("bridge").population(pf.named_luck(("today",), 4))
    >>> len(pf.Frontier.of(codes))
    4
    """

    ids: NDArray[Any]  # [people], of any kind
    covariates: Codes  # [people, fields]

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.covariates):
            raise SettingError(
                f"A frontier has {len(self.ids)} ids and {len(self.covariates)} covariate rows; give one row per id."
            )

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, covariates: Codes) -> "Frontier":
        """A frontier whose people are just numbered."""
        return cls(np.arange(len(covariates)), covariates)


@dataclass(frozen=True, slots=True)
class State:
    """The state (r, F) of the paper, with the round and the rules that limit what may be done.

    >>> frontier = pf.Frontier.of(pf.make_world("bridge").population(pf.named_luck(("today",), 4)))
    >>> pf.State(40, frontier, rules=pf.Rules(max_per_person=3)).spendable
    12
    """

    remaining_budget: int
    frontier: Frontier
    round: int = 0
    rules: Rules = Rules()

    @property
    def rounds_left(self) -> int:
        """Rounds that may still be played, this one included."""
        return max(self.rules.rounds - self.round, 0)

    @property
    def is_terminal(self) -> bool:
        """No further referral can happen: V(0, F) = V(r, {}) = 0, and nothing after the last round."""
        return self.remaining_budget == 0 or len(self.frontier) == 0 or self.rounds_left == 0

    @property
    def most_per_person(self) -> int:
        """Coupons one person may get this round: the budget, or the caps where they are tighter."""
        most = self.spendable_by_round
        return most if self.rules.max_per_person is None else min(most, self.rules.max_per_person)

    @property
    def spendable_by_round(self) -> int:
        most = self.remaining_budget
        return most if self.rules.max_per_round is None else min(most, self.rules.max_per_round)

    @property
    def spendable(self) -> int:
        """The largest feasible round budget s: all caps together."""
        if self.rules.max_per_person is None:
            return self.spendable_by_round if len(self.frontier) else 0
        return min(self.spendable_by_round, self.rules.max_per_person * len(self.frontier))
