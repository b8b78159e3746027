"""What is compared: policies x worlds x draws x discounts x episodes, and one piece of it at a time.

Everything is paired: an episode's people and their luck are named by seed, world, draw and number, so every policy
meets the same people with the same luck, whichever worker plays it and in whatever order.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from peerfront.experiments.policies import (
    POLICIES,
    Discounts,
    PolicyEntry,
    Preparation,
    own_policy,
    policy_entry,
    prepare_policy,
)
from peerfront.foundation import own_parts
from peerfront.foundation.errors import PeerfrontError, SettingError
from peerfront.foundation.files import is_ordinary
from peerfront.foundation.messages import Message, in_english, note
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.foundation.settings import (
    MOST_SEED,
    Spec,
    at_least,
    check_fields,
    discount_factor,
    several,
    truth,
    whole_number,
)
from peerfront.problem import BranchingWorld, Episodes, Frontier, Policy, Rules, State, Trajectories, World, rollout
from peerfront.problem.state import MOST_DRAWS, MOST_EPISODES, check_caps, check_size
from peerfront.simulation.catalog import WORLDS, WorldEntry, made_world, own_world, world_entry

if TYPE_CHECKING:
    from peerfront.experiments.store import Store

PAPER_DISCOUNTS = (0.9, 0.95, 0.99, 1.0)
DEFAULT_WORLDS = ("icpsr22140",)
DEFAULT_POLICIES = ("random_split", "constant", "threshold", "population_dp")
ORACLE = "oracle"
BOUND = "bound"  # the task of an upper bound on every policy
# Branches of an episode's luck by which its bound is sampled, far above any number of people.
_TREE_LUCK, _BOUND_LUCK, _LOOKAHEAD_LUCK = 1 << 40, 1 << 42, 1 << 43
"""People drawn like first recruits, people of later generations too, and those at whom prices are checked."""


WORLD, POLICY = "worlds", "policies"
_BUILT_IN = {WORLD: tuple(WORLDS.values()), POLICY: tuple(POLICIES.values())}


@dataclass(frozen=True)
class OwnPart:
    """A policy or world that is not of this package, as it travels with the comparison to whoever plays it."""

    kind: str  # WORLD or POLICY
    name: str
    digest: str
    """What it holds and its code: results of another digest are never taken for its own."""
    content: bytes = field(repr=False)

    @classmethod
    def of(cls, kind: str, thing: Any, name: str | None = None) -> "OwnPart":
        """Of an object, function, class or entry; `name` is that of the entry it was found under."""
        entry: Any = own_policy(thing) if kind == POLICY else own_world(thing)
        called = name or own_parts.name_of(entry)
        content = own_parts.as_bytes(entry, called)
        held = {each.name: getattr(entry, each.name) for each in dataclasses.fields(entry) if each.name != "about"}
        return cls(kind, called, own_parts.digest_of(held), content)

    def entry(self) -> Any:
        """Its entry, as it was when it was given: a policy that remembers something begins anew each time."""
        return own_parts.from_bytes(self.content, self.name)


@dataclass(frozen=True)
class Comparison:
    """The settings of a comparison, checked; saved with every result."""

    worlds: tuple[str, ...] = DEFAULT_WORLDS
    policies: tuple[str, ...] = DEFAULT_POLICIES
    draws: tuple[int, ...] = (0,)
    discounts: tuple[float, ...] = PAPER_DISCOUNTS
    episodes: int = 400
    rules: Rules = Rules()
    seed: int = 0
    models: str = ORACLE
    """What policies plan with: the true models (oracle), or models fitted to a simulated history (`planning_world`)."""
    bound: bool = False
    """Whether to add an upper bound on every policy, from the true models."""
    own: tuple[OwnPart, ...] = ()
    """Policies and worlds that are not of this package; they may be given among the others, as what they are."""

    def __post_init__(self) -> None:
        own = {(part.kind, part.name): part for part in self.own}
        by_text: dict[tuple[str, str], bool] = {}
        check_fields(
            self,
            worlds=several(lambda _, value: _text_of(WORLD, value, own, by_text)),
            policies=several(lambda _, value: _text_of(POLICY, value, own, by_text)),
            draws=several(at_least(0, MOST_SEED)),
            discounts=several(discount_factor),
            episodes=at_least(1, MOST_EPISODES),
            seed=at_least(0, MOST_SEED),
            bound=truth,
        )
        for name in ("worlds", "policies", "draws", "discounts"):
            values = getattr(self, name)
            labels = [Spec.parse(v).label if isinstance(v, str) else str(v) for v in values]
            if len(set(labels)) != len(labels):
                raise SettingError("comparison.called_the_same", setting=name, labels=labels)
            if name == POLICY and BOUND in labels:
                raise SettingError("comparison.called_bound", name=BOUND)
        used = [(kind, Spec.parse(text).name) for kind in (WORLD, POLICY) for text in getattr(self, kind)]
        object.__setattr__(self, "own", tuple(own[key] for key in dict.fromkeys(used) if key in own))
        check_size(self.episodes, rounds=self.rules.rounds, people=self.rules.people, coupons=self.rules.budget)
        check_caps(self.rules.budget, self.rules.max_per_person, self.rules.max_per_round)
        if self.models != ORACLE:
            from peerfront.experiments.planning_world import check_models

            check_models(self.models)
        for world in self.worlds:
            self.world_entry(world)
        for policy in self.policies:
            self.policy_entry(policy).settings(Spec.parse(policy))

    def own_part(self, kind: str, text: str) -> OwnPart | None:
        """The part of one's own that a text names; None if it is of this package."""
        name = Spec.parse(text).name
        return next((part for part in self.own if (part.kind, part.name) == (kind, name)), None)

    @contextmanager
    def named_world(self, world: str) -> Iterator[None]:
        """Say in words what a world of one's own raises; errors of this package stay as they are."""
        try:
            yield
        except PeerfrontError:
            raise
        except (Exception, SystemExit) as problem:
            if self.own_part(WORLD, world) is None:
                raise
            values = {"name": Spec.parse(world).label, "problem": own_parts.place_of(problem)}
            raise SettingError("own_parts.world_failed", **values) from problem

    def world_entry(self, world: str) -> WorldEntry:
        """What makes the world that a text names."""
        own = self.own_part(WORLD, world)
        return world_entry(Spec.parse(world).name) if own is None else own.entry()

    def policy_entry(self, policy: str) -> PolicyEntry:
        """What prepares the policy that a text names."""
        own = self.own_part(POLICY, policy)
        return policy_entry(Spec.parse(policy).name) if own is None else own.entry()

    def own_digests(self, task: "Task | None" = None) -> Mapping[str, str]:
        """The digests of the parts of one's own, of all or of those that a task is about."""
        kinds = ((WORLD, task.world), (POLICY, task.policy)) if task is not None else ()
        used = self.own if task is None else [self.own_part(*each) for each in kinds]
        return {f"{part.kind} {part.name}": part.digest for part in used if part is not None}

    def check_worlds(self) -> None:
        """Make every world once, so that a wrong name, file or number of people stops the work before it starts."""
        for world in self.worlds:
            place = _world(self, world, self.draws[0])
            with self.named_world(world):
                Episodes(place, self.rules, named_luck(("check",), 1))
            if self.bound and not isinstance(place, BranchingWorld):
                raise SettingError("comparison.no_bound", world=world)

    def draws_of(self, world: str) -> tuple[int, ...]:
        """A world without draws is one world: playing it again under another number would only look like a sample."""
        return self.draws if self.world_entry(world).has_draws else self.draws[:1]

    def as_json(self) -> dict[str, Any]:
        """What was asked for; what one's own parts hold is in their digests (`own_digests`)."""
        names = [each.name for each in dataclasses.fields(self) if each.name != "own"]
        return {name: getattr(self, name) for name in names} | {"rules": dataclasses.asdict(self.rules)}


def _text_of(kind: str, value: Any, own: dict[tuple[str, str], OwnPart], by_text: dict[tuple[str, str], bool]) -> str:
    """The text that stands for a world or policy. What is not of this package is added to `own`.

    `by_text` keeps which were named: the text of a name means another one than an object of that name.
    """
    part = None if isinstance(value, str) else OwnPart.of(kind, value)
    name = Spec.parse(value).name if part is None else part.name
    if by_text.setdefault((kind, name), part is None) != (part is None):
        raise SettingError("comparison.called_the_same", setting=kind, labels=[name, name])
    if part is None:
        entries: Mapping[str, Any] = WORLDS if kind == WORLD else POLICIES
        if (kind, name) not in own and not any(entries.get(name) is each for each in _BUILT_IN[kind]):
            found: Any = world_entry(name) if kind == WORLD else policy_entry(name)
            own[kind, name] = OwnPart.of(kind, found, name)
        return str(value)
    if own.setdefault((kind, name), part) != part:
        raise SettingError("comparison.called_the_same", setting=kind, labels=[name, name])
    return name


def draws_from(first: int, count: int) -> tuple[int, ...]:
    """The numbers of `count` draws, from the first on."""
    start = whole_number("first draw", first, 0, MOST_DRAWS)
    return tuple(range(start, start + whole_number("draws", count, 1, MOST_DRAWS)))


@dataclass(frozen=True)
class Task:
    """One policy in one draw of one world, for some of the discounts: what a worker does in one go."""

    world: str
    draw: int
    policy: str
    discounts: tuple[float, ...]

    @property
    def label(self) -> Message:
        return note(
            "comparison_progress.task",
            policy=Spec.parse(self.policy).label,
            world=Spec.parse(self.world).label,
            draw=self.draw,
            discounts=[f"{discount:g}" for discount in self.discounts],
        )


@dataclass(frozen=True)
class TaskResult:
    """What the policy was after its preparation, and the trajectories of its episodes.

    One of each per discount of the task, or just one of each if the policy ignores the discount. The task `bound` has
    bounds instead of trajectories, one per discount.
    """

    task: Task
    prepared: tuple[str, ...]
    trajectories: tuple[Trajectories, ...]
    bounds: tuple[NDArray[np.float64], ...] = ()  # [episodes] each
    learning: tuple[NDArray[np.float64] | None, ...] = ()
    """What policies that learn by playing earned meanwhile, [training episodes] each; None for the others."""


def tasks(comparison: Comparison) -> list[Task]:
    """The pieces of a comparison, in the order of its settings."""
    pieces = []
    for world in comparison.worlds:
        for draw, policy in product(comparison.draws_of(world), comparison.policies):
            spec = Spec.parse(policy)
            separately = comparison.policy_entry(policy).discounts(spec) is Discounts.SEPARATE
            groups = [(d,) for d in comparison.discounts] if separately else [comparison.discounts]
            pieces += [Task(world, draw, policy, group) for group in groups]
        if comparison.bound:
            pairs = product(comparison.draws_of(world), comparison.discounts)
            pieces += [Task(world, draw, BOUND, (discount,)) for draw, discount in pairs]
    return pieces


def planned_in(comparison: Comparison, world: str, draw: int, store: "Store | None" = None) -> World:
    """The planning world of a draw; its fitted models come from the store if they are there."""
    if comparison.models == ORACLE:
        return _world(comparison, world, draw)
    from peerfront.experiments.planning_world import planning_world

    identity = json.dumps(world_identity(comparison, world, draw))
    asks_recruits = comparison.world_entry(world).asks_recruits
    return planning_world(
        _world(comparison, world, draw), comparison.models, comparison.seed, asks_recruits, store, identity
    )


def prepared_policy(
    comparison: Comparison, task: Task, discount: float, store: "Store | None" = None
) -> tuple[World, Policy]:
    """The world a task is tested in, and its policy, prepared in the planning world."""

    planning = planned_in(comparison, task.world, task.draw, store)
    preparation = Preparation(planning, comparison.rules, discount, task.discounts, comparison.seed)
    own = None if comparison.own_part(POLICY, task.policy) is None else comparison.policy_entry(task.policy)
    policy = prepare_policy(Spec.parse(task.policy), preparation, own)
    return _world(comparison, task.world, task.draw), policy


def episode_luck(comparison: Comparison, task: Task) -> Luck:
    """One row per episode, the same for every policy, discount and variant of a world."""
    return named_luck(("episode", comparison.seed, Spec.parse(task.world).name, task.draw), comparison.episodes)


def task_identity(comparison: Comparison, task: Task) -> dict[str, Any]:
    """What the result of a task depends on: the other policies, draws and discounts of the comparison are not in it."""
    return {
        **world_identity(comparison, task.world, task.draw),
        "own": comparison.own_digests(task),
        "policy": task.policy,
        "discounts": task.discounts,
        "rules": comparison.rules,
        "episodes": comparison.episodes,
    }


def run_task(comparison: Comparison, task: Task, store: "Store | None" = None) -> TaskResult:
    """Prepare the policy and play its episodes. Depends on the first two arguments alone."""
    if task.policy == BOUND:
        return _bounds(comparison, task)
    spec = Spec.parse(task.policy)
    ignored = comparison.policy_entry(task.policy).discounts(spec) is Discounts.IGNORED
    prepared, played, learning = [], [], []
    for discount in task.discounts[:1] if ignored else task.discounts:
        world, policy = prepared_policy(comparison, task, discount, store)
        prepared.append(policy.name)
        learning.append(getattr(policy, "learning_returns", None))
        played.append(_trimmed(rollout(world, policy, comparison.rules, episode_luck(comparison, task))))
    return TaskResult(task, tuple(prepared), tuple(played), learning=tuple(learning))


def _bounds(comparison: Comparison, task: Task) -> TaskResult:
    """An upper bound on what any policy can expect from the first frontier of each episode, with the true models."""
    world, luck = _world(comparison, task.world, task.draw), episode_luck(comparison, task)
    rows = [_first_frontier_bounds(world, comparison.rules, d, luck) for d in task.discounts]
    return TaskResult(task, tuple(text for _, text in rows), (), tuple(bounds for bounds, _ in rows))


def _first_frontier_bounds(
    world: World, rules: Rules, discount: float, episodes: Luck
) -> tuple[NDArray[np.float64], str]:
    """A bound for each episode, [episodes], and what kind of bounds these are, in words."""
    from peerfront.bounds.certificate import certify_with, mean_bound
    from peerfront.bounds.price_index import BoundSettings, exact_price_index

    settings = BoundSettings(max(rules.budget, 1), rules.max_per_person)
    index = exact_price_index(world.response, world.offspring, world.schema, discount, rules.rounds, settings)
    start = world.seeds(episodes, rules.people)
    branch = episodes.members(np.full(len(episodes), _BOUND_LUCK))
    trees, rounds = (branch.members(np.full(len(episodes), part)) for part in (_TREE_LUCK, _LOOKAHEAD_LUCK))
    certificates = []
    for episode in range(len(episodes)):
        own = start.episode == episode
        state = State(rules.budget, Frontier(start.keys[own], start.covariates[own]), 0, rules)
        lucks = trees.row(episode), rounds.row(episode)
        certificates.append(certify_with(state, index, world.response, world.offspring, discount, *lucks))
    kinds, counts = np.unique([f"{each.which}, {each.proof}" for each in certificates], return_counts=True)
    shares = "; ".join(f"{kind} ({count / len(certificates):.0%})" for kind, count in zip(kinds, counts, strict=True))
    error = mean_bound(certificates).standard_error
    kind = note("comparison.kind_of_bound", shares=shares, error=error)
    return np.array([each.bound for each in certificates]), in_english(kind)


def _trimmed(played: Trajectories) -> Trajectories:
    """Without the rounds nobody played: a study of 50 rounds is mostly zeros."""
    last = int(played.rounds.max(initial=0))
    return dataclasses.replace(
        played,
        recruits=played.recruits[:, :last].astype(np.int32),
        spend=played.spend[:, :last].astype(np.int32),
        frontier=played.frontier[:, :last].astype(np.int32),
    )


def files_of(comparison: Comparison, world: str) -> list[Path]:
    """The data files a world is made from, if any."""
    spec = Spec.parse(world)
    options = comparison.world_entry(world).options
    return [Path(value) for key, value in spec.options if key in options and options[key].is_file]


def file_digests(comparison: Comparison, world: str) -> dict[str, str]:
    """The contents of those files, hashed. A missing one is left out: making the world will say so."""
    from peerfront.experiments.store import digest

    return {str(file): digest([file]) for file in files_of(comparison, world) if is_ordinary(file)}


def world_identity(comparison: Comparison, world: str, draw: int) -> dict[str, Any]:
    """What the planning world of a draw depends on."""
    from peerfront.experiments.store import program

    return {
        "program": dict(program()),
        "world": world,
        "own": None if (own := comparison.own_part(WORLD, world)) is None else own.digest,
        "files": file_digests(comparison, world),
        "draw": draw,
        "models": comparison.models,
        "seed": comparison.seed,
    }


def _world(comparison: Comparison, text: str, draw: int) -> World:
    """The world of a specification, made once; made again when its files or its code have changed."""
    stamps = [file.stat() for file in files_of(comparison, text) if is_ordinary(file)]
    own = comparison.own_part(WORLD, text)
    return _cached_world(text, draw, tuple((stamp.st_mtime_ns, stamp.st_size) for stamp in stamps), own)


@lru_cache(maxsize=8)
def _cached_world(text: str, draw: int, _: tuple[tuple[int, int], ...], own: OwnPart | None) -> World:
    spec = Spec.parse(text)
    return made_world(world_entry(spec.name) if own is None else own.entry(), spec, draw)
