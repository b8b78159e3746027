"""A policy pi: state -> feasible allocation (Section 2). Anything with a name and this method is one.

Vouchers per person: the action k of Section 2, and the one place that says whether it is allowed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import InfeasibleAllocation
from peerfront.foundation.randomness import Luck
from peerfront.problem.state import State


@dataclass(frozen=True, slots=True)
class Allocation:
    """How many vouchers each person on the frontier gets, in the frontier's order."""

    vouchers: NDArray[np.int64]  # [people]

    @classmethod
    def of(cls, vouchers: Sequence[int] | NDArray[np.integer]) -> "Allocation":
        array = np.asarray(vouchers)
        # Fractions are left as they are, for `check_feasible` to refuse: rounding them would hide a policy's mistake.
        return cls(array.astype(np.int64) if array.dtype.kind in "iu" else array)

    @property
    def spend(self) -> int:
        """The round budget s = sum of k."""
        return int(self.vouchers.sum())


def check_feasible(allocation: Allocation, state: State, policy: str) -> None:
    """Raise `InfeasibleAllocation`, naming the policy and the excess. Nothing is ever clipped."""
    vouchers = allocation.vouchers
    people = len(state.frontier)
    if not isinstance(vouchers, np.ndarray) or vouchers.shape != (people,):
        raise InfeasibleAllocation(
            policy, f"it has shape {np.shape(vouchers)} for {people} people; give one number per person."
        )
    if vouchers.dtype.kind not in "iu":
        raise InfeasibleAllocation(policy, f"vouchers are {vouchers.dtype}, not whole numbers; return integers.")
    if not people:
        return
    if vouchers.min() < 0:
        person = int(vouchers.argmin())
        raise InfeasibleAllocation(policy, f"person {person} gets {vouchers[person]} vouchers; the least is 0.")
    spend = int(vouchers.sum())
    if spend > state.remaining_budget:
        raise InfeasibleAllocation(
            policy,
            f"it spends {spend} of {state.remaining_budget} remaining vouchers, "
            f"{spend - state.remaining_budget} too many.",
        )
    rules = state.rules
    if rules.max_per_round is not None and spend > rules.max_per_round:
        raise InfeasibleAllocation(
            policy, f"it spends {spend}, {spend - rules.max_per_round} above the cap of {rules.max_per_round} a round."
        )
    if rules.max_per_person is not None and vouchers.max() > rules.max_per_person:
        person = int(vouchers.argmax())
        raise InfeasibleAllocation(
            policy,
            f"person {person} gets {vouchers[person]}, {vouchers[person] - rules.max_per_person} above the cap of "
            f"{rules.max_per_person} a person.",
        )


class Policy(Protocol):
    """`luck` has one row, keyed by the episode and the round; a policy that needs no chance ignores it."""

    @property
    def name(self) -> str: ...

    def allocate(self, state: State, luck: Luck) -> Allocation: ...


@runtime_checkable
class BulkPolicy(Policy, Protocol):
    """A policy that can also answer for many states at once; rollouts then ask it once per round."""

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> Sequence[Allocation]: ...
