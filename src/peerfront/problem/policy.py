"""A policy pi: state -> feasible allocation (Section 2). Anything with a name and this method is one."""

from typing import Protocol

from peerfront.problem.allocation import Allocation
from peerfront.problem.state import State
from peerfront.randomness import Luck


class Policy(Protocol):
    """`luck` has one row, keyed by the episode and the round; a policy that needs no chance ignores it."""

    @property
    def name(self) -> str: ...

    def allocate(self, state: State, luck: Luck) -> Allocation: ...
