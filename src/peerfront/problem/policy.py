"""A policy pi: state -> feasible allocation (Section 2). Anything with a name and this method is one."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from peerfront.problem.allocation import Allocation
from peerfront.problem.state import State
from peerfront.randomness import Luck


class Policy(Protocol):
    """`luck` has one row, keyed by the episode and the round; a policy that needs no chance ignores it."""

    @property
    def name(self) -> str: ...

    def allocate(self, state: State, luck: Luck) -> Allocation: ...


@runtime_checkable
class BulkPolicy(Policy, Protocol):
    """A policy that can also answer for many states at once; rollouts then ask it once per round."""

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> Sequence[Allocation]: ...
