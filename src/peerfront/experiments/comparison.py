"""What is compared: policies x worlds x draws x discounts x episodes, and one piece of it at a time.

Everything is paired: an episode's people and their luck are named by seed, world, draw and number, so every policy
meets the same people with the same luck, whichever worker plays it and in whatever order.
"""

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from peerfront.errors import SettingError
from peerfront.experiments.policies import Preparation, policy_entry, prepare_policy
from peerfront.problem import Policy, Rules, Trajectories, World, checked_discount, rollout, whole_number
from peerfront.randomness import Luck, named_luck
from peerfront.simulation import WORLDS, make_world
from peerfront.specs import Spec

PAPER_DISCOUNTS = (0.9, 0.95, 0.99, 1.0)


@dataclass(frozen=True)
class Comparison:
    """The settings of a comparison, checked; saved with every result."""

    worlds: tuple[str, ...] = ("icpsr22140",)
    policies: tuple[str, ...] = ("random_split", "constant", "threshold", "population_dp")
    draws: tuple[int, ...] = (0,)
    discounts: tuple[float, ...] = PAPER_DISCOUNTS
    episodes: int = 400
    rules: Rules = Rules()
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("worlds", "policies", "draws", "discounts"):
            values = getattr(self, name)
            if not values:
                raise SettingError(f"A comparison needs at least one of its {name}.")
            labels = [Spec.parse(v).label if isinstance(v, str) else str(v) for v in values]
            if len(set(labels)) != len(labels):
                raise SettingError(
                    f"Two of the {name} are called the same: {', '.join(labels)}. Leave one out, or give it a name=."
                )
        object.__setattr__(self, "discounts", tuple(checked_discount(d) for d in self.discounts))
        object.__setattr__(self, "draws", tuple(whole_number("draw", d, 0) for d in self.draws))
        object.__setattr__(self, "episodes", whole_number("episodes", self.episodes, 1))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0))
        for policy in self.policies:
            policy_entry(Spec.parse(policy))

    def check_worlds(self) -> None:
        """Make every world once, so that a wrong name or file stops the work before it starts."""
        for world in self.worlds:
            _world(world, self.draws[0])

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Task:
    """One policy in one draw of one world: what a worker does in one go. No discount: the policy ignores it."""

    world: str
    draw: int
    policy: str
    discount: float | None

    @property
    def label(self) -> str:
        return f"{Spec.parse(self.policy).label} in {Spec.parse(self.world).label}, draw {self.draw}" + (
            "" if self.discount is None else f", discount {self.discount:g}"
        )


@dataclass(frozen=True)
class TaskResult:
    """The trajectories of a task's episodes, and what the policy was after its preparation."""

    task: Task
    prepared: str
    trajectories: Trajectories


def tasks(comparison: Comparison) -> list[Task]:
    """The pieces of a comparison, in the order of its settings."""
    return [
        Task(world, draw, policy, discount)
        for world, draw, policy in product(comparison.worlds, comparison.draws, comparison.policies)
        for discount in (
            comparison.discounts if policy_entry(Spec.parse(policy)).uses_discount(Spec.parse(policy)) else (None,)
        )
    ]


def prepared_task(comparison: Comparison, task: Task) -> tuple[World, Policy]:
    """The world of a task, and its policy ready to play there."""
    world = _world(task.world, task.draw)
    discount = comparison.discounts[0] if task.discount is None else task.discount
    preparation = Preparation(world, comparison.rules, discount, comparison.discounts, comparison.seed)
    return world, prepare_policy(Spec.parse(task.policy), preparation)


def episode_luck(comparison: Comparison, task: Task) -> Luck:
    """One row per episode, the same for every policy and discount."""
    return named_luck(("episode", comparison.seed, Spec.parse(task.world).label, task.draw), comparison.episodes)


def run_task(comparison: Comparison, task: Task) -> TaskResult:
    """Prepare the policy and play its episodes. Depends on its arguments alone."""
    world, policy = prepared_task(comparison, task)
    played = rollout(world, policy, comparison.rules, episode_luck(comparison, task))
    return TaskResult(task, policy.name, _trimmed(played))


def _trimmed(played: Trajectories) -> Trajectories:
    """Without the rounds nobody played: a study of 50 rounds is mostly zeros."""
    last = int(played.rounds.max(initial=0))
    return dataclasses.replace(
        played,
        recruits=played.recruits[:, :last].astype(np.int32),
        spend=played.spend[:, :last].astype(np.int32),
        frontier=played.frontier[:, :last].astype(np.int32),
    )


@lru_cache(maxsize=8)
def _world(spec: str, draw: int) -> World:
    if Spec.parse(spec).name in WORLDS and not WORLDS[Spec.parse(spec).name].has_draws:
        draw = 0
    return make_world(spec, draw)
