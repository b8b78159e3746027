"""What a policy may know before it plays, and how a named policy says what it needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from peerfront.problem import Policy, Rules, World
from peerfront.specs import Option, Spec

POPULATION_SAMPLE = 1024  # people from whom a policy learns what the population is like (the paper's size)


@dataclass(frozen=True)
class Preparation:
    """What a policy may know before it plays."""

    planning_world: World
    rules: Rules
    discount: float
    discounts: tuple[float, ...]  # all that are compared, for preparations that serve them together
    seed: int


@runtime_checkable
class LearnedByPlaying(Protocol):
    """A policy that remembers what it earned while it learned, episode by episode."""

    @property
    def learning_returns(self) -> NDArray[np.float64] | None: ...


class Discounts(Enum):
    """What the discount means to a policy, and so how its work is divided."""

    IGNORED = "one set of episodes serves every discount"
    SEPARATE = "each discount is prepared and played on its own"
    TOGETHER = "one preparation serves every discount, so they are best done together"


@dataclass(frozen=True)
class PolicyEntry:
    """How a named policy is described and prepared; `prepare` takes the settings given after the colon."""

    summary: str
    prepare: Callable[..., Policy]
    options: Mapping[str, Option]
    discounts: Callable[[Spec], Discounts]
    """What the discount means to the policy of this specification."""
    check: Callable[..., object] = lambda **_: None
    """Refuses impossible settings at once, before any work; takes them as `prepare` does."""
