"""Replay: the last so many transitions, from which batches are drawn at random."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.problem import State

Weights = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Action:
    """What was done in one state."""

    coupons: NDArray[np.int64]  # [people]
    support: int = 0
    """How many people were chosen to share the round budget, if that was decided; rounding may leave some with none."""
    weights: Weights | None = None  # [people]
    """How much of the round budget each was to get, if that was decided: sums to one, zero for those not chosen."""


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """One round of one episode."""

    state: State
    action: Action
    reward: float
    next_state: State | None
    """None when the episode is over."""


class Replay:
    """A first-in first-out memory of at most `capacity` transitions."""

    def __init__(self, capacity: int) -> None:
        self._kept: deque[Transition] = deque(maxlen=capacity)
        # A deque is slow in its middle; batches are drawn from a list of the same transitions, refreshed when stale.
        self._listed: list[Transition] = []

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, transition: Transition) -> None:
        self._kept.append(transition)
        self._listed = []

    def sample(self, size: int, rng: np.random.Generator) -> list[Transition]:
        """A batch drawn with replacement."""
        if not self._listed:
            self._listed = list(self._kept)
        return [self._listed[i] for i in rng.integers(len(self._listed), size=size).tolist()]
