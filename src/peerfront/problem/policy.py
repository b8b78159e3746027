"""Allocations and policies (Section 2): the action k, the one check whether it is feasible, and pi: state -> action."""

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
    """How many coupons each person on the frontier gets, in the frontier's order.

    >>> pf.Allocation.of([2, 0, 1]).spend
    3
    """

    coupons: NDArray[np.int64]  # [people]

    @classmethod
    def of(cls, coupons: Sequence[int] | NDArray[np.integer]) -> "Allocation":
        array = np.asarray(coupons)
        # Fractions are left as they are, for `check_feasible` to refuse: rounding them would hide a policy's mistake.
        return cls(array.astype(np.int64) if array.dtype.kind in "iu" else array)

    @property
    def spend(self) -> int:
        """The round budget s = sum of k."""
        return int(self.coupons.sum())


def check_feasible(allocation: Allocation, state: State, policy: str) -> None:
    """Raise `InfeasibleAllocation`, naming the policy and the excess. Nothing is ever clipped."""
    coupons = allocation.coupons
    n_people = len(state.frontier)
    if not isinstance(coupons, np.ndarray) or coupons.shape != (n_people,):
        raise InfeasibleAllocation(
            policy, f"it has shape {np.shape(coupons)} for {n_people} people; give one number per person."
        )
    if coupons.dtype.kind not in "iu":
        raise InfeasibleAllocation(policy, f"coupons are {coupons.dtype}, not whole numbers; return integers.")
    if not n_people:
        return
    if coupons.min() < 0:
        person = int(coupons.argmin())
        raise InfeasibleAllocation(policy, f"person {person} gets {coupons[person]} coupons; the least is 0.")
    spend = int(coupons.sum())
    if spend > state.remaining_budget:
        raise InfeasibleAllocation(
            policy,
            f"it spends {spend} of {state.remaining_budget} remaining coupons, "
            f"{spend - state.remaining_budget} too many.",
        )
    rules = state.rules
    if rules.max_per_round is not None and spend > rules.max_per_round:
        raise InfeasibleAllocation(
            policy, f"it spends {spend}, {spend - rules.max_per_round} above the cap of {rules.max_per_round} a round."
        )
    if rules.max_per_person is not None and coupons.max() > rules.max_per_person:
        person = int(coupons.argmax())
        raise InfeasibleAllocation(
            policy,
            f"person {person} gets {coupons[person]}, {coupons[person] - rules.max_per_person} above the cap of "
            f"{rules.max_per_person} a person.",
        )


class Policy(Protocol):
    """Anything with a name and a method `allocate`: it sees a state and returns a feasible allocation.

    `luck` has one row, keyed by the episode and the round; a policy that needs no chance ignores it.

    >>> class EverybodyOne:
    ...     name = "one each"
    ...
    ...     def allocate(self, state, luck):
    ...         people = len(state.frontier)
    ...         return pf.Allocation.of([int(n < state.remaining_budget) for n in range(people)])
    >>> played = pf.rollout(pf.make_world("bridge"), EverybodyOne(), pf.Rules(20, 5), pf.named_luck(("one",), 10))
    >>> bool(played.total_recruits.max() <= 20)
    True
    """

    @property
    def name(self) -> str: ...

    def allocate(self, state: State, luck: Luck) -> Allocation: ...


@runtime_checkable
class BulkPolicy(Policy, Protocol):
    """A policy that can also allocate in many states at once; rollouts then call it once per round."""

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> Sequence[Allocation]: ...
