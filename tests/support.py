"""Small things several tests need."""

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.randomness import Luck
from peerfront.problem import Allocation, State
from peerfront.simulation.typed import TypedWorld, typed_world


class Scripted:
    """A policy that does what a function says."""

    def __init__(self, function, name: str = "scripted") -> None:
        self.function, self.name = function, name

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return Allocation.of(self.function(state))


def within(found: NDArray[np.float64], expected: float, errors: float = 4.0) -> bool:
    """Whether a sample's mean lies within some standard errors of what is expected."""
    return abs(found.mean() - expected) <= errors * found.std(ddof=1) / np.sqrt(len(found)) + 1e-12


def two_types(rates: list[float], shares: list[float]) -> TypedWorld:
    """A world of types a and b; `shares` of their recruits are a."""
    recruits = {name: {"a": share, "b": 1 - share} for name, share in zip("ab", shares, strict=True)}
    return typed_world("random", dict(zip("ab", rates, strict=True)), recruits, {"a": 1.0})
