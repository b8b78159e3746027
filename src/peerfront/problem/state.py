"""What a policy sees: remaining budget, frontier, round, and the rules (Section 2).

The people who may refer this round: the frontier F = {x_1, ..., x_n} of Section 2, a multiset.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.problem.rules import Rules


@dataclass(frozen=True, slots=True)
class Frontier:
    """Who is there (ids, of any kind) and what is known of them. Two people may well share a covariate row."""

    ids: NDArray[Any]  # [people]
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
    """The state (r, F) of the paper, with the round and the rules that limit what may be done."""

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
