"""Settings of Q-learning: how a network is learned, and how often actions are random meanwhile."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.settings import (
    among,
    at_least,
    between,
    check_fields,
    one_or_more,
    optional,
    positive,
    proportion,
    seed_number,
    step_size,
    truth,
    up_to,
)

Array = NDArray[np.float64]
FOLLOWS_EACH = ("step", "episode")


@dataclass(frozen=True)
class Exploration:
    """How often an action is random, by the number of the episode."""

    start: float
    end: float
    decay: float | None = None
    """Factor from one episode to the next, down to `end`; None for a straight line from `start` to `end`."""

    def __post_init__(self) -> None:
        factor = between(0.0, 1.0)
        check_fields(self, "exploration", start=proportion, end=proportion, decay=optional(factor))

    def shares(self, episodes: int) -> Array:
        """The share of random actions in each episode, [episodes]."""
        if self.decay is None:
            return np.linspace(self.start, self.end, episodes)
        return np.maximum(self.start * self.decay ** np.arange(episodes), self.end)


@dataclass(frozen=True)
class QLearningSettings:
    """How a Q-network is learned. The defaults are the paper's where it gives them."""

    episodes: int = 500
    at_once: int = 20
    """Episodes played in lock step."""
    replay: int = 10_000
    """Transitions remembered."""
    warm_up: int = 200
    """Transitions before the first gradient step."""
    batch: int = 32
    steps_per_transition: int = 1
    """Gradient steps for each round of each episode."""
    hidden: int = 64
    learning_rate: float = 1e-3
    follow: float = 0.01
    """How far the target network moves towards the online one each time."""
    follow_each: str = "step"
    """When it moves: after each gradient step, or after each episode."""
    copy_every: int | None = None
    """Gradient steps after which the target network becomes a copy of the online one; None: it follows instead."""
    longest_gradient: float | None = None
    """Gradients with a larger norm are shortened to this one; None leaves them as they are."""
    double: bool = True
    """Choose the next action with the online network and value it with the target network."""
    share_of_budget: bool = True
    """Count recruits as shares of the budget: returns of at most one, the scale a network starts at."""
    exploration: Exploration = field(default_factory=lambda: Exploration(0.2, 0.05))
    score_noise: Exploration | None = None
    """Standard deviation of normal noise on scores of people while learning, if the agent has scores."""
    seed: int = 0

    def __post_init__(self) -> None:
        counts = ("episodes", "at_once", "replay", "batch", "steps_per_transition", "hidden")
        check_fields(
            self,
            **dict.fromkeys(counts, one_or_more),
            warm_up=at_least(0),
            learning_rate=step_size,
            follow=up_to(1.0),
            follow_each=among("time to follow", FOLLOWS_EACH),
            copy_every=optional(one_or_more),
            longest_gradient=optional(positive),
            double=truth,
            share_of_budget=truth,
            seed=seed_number,
        )
