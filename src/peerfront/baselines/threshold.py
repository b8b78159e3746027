"""The threshold rule TH(c, m): vouchers go where they are most likely used, down to a chance of c.

A baseline everybody must beat: it looks at nobody's recruits, only at how likely the next voucher is to be used.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.by_survival import most_likely_used, survival_tables
from peerfront.errors import SettingError
from peerfront.problem import Allocation, CapacityModel, State, whole_number
from peerfront.randomness import Luck


def check_threshold(cutoff: float, at_least: int) -> int:
    """Refuses impossible settings; returns `at_least` as the whole number it is."""
    if not 0.0 <= cutoff <= 1.0:
        raise SettingError(f"The cutoff of threshold is a probability between 0 and 1; found {cutoff}.")
    return whole_number("at_least of threshold", at_least, 0)


@dataclass(frozen=True)
class Threshold:
    """The next voucher to the largest P(C >= k + 1); stop below `cutoff`, but spend `at_least` if the budget allows."""

    capacity: CapacityModel
    cutoff: float
    at_least: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "at_least", check_threshold(self.cutoff, self.at_least))

    @property
    def name(self) -> str:
        return f"threshold:cutoff={self.cutoff:g},at_least={self.at_least}"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state; the capacity model is asked once for everybody."""
        tables = survival_tables(self.capacity, states)
        return [self._allocation(table, state) for table, state in zip(tables, states, strict=True)]

    def _allocation(self, survival: NDArray[np.float64], state: State) -> Allocation:
        likely = survival >= self.cutoff
        wanted = int(likely.sum())
        spend = min(max(wanted, self.at_least), state.spendable)
        if spend == wanted:
            return Allocation(likely.sum(axis=1))
        return Allocation(np.bincount(most_likely_used(survival, spend), minlength=len(survival)))
