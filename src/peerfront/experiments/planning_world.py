"""The planning world: what policies may know before they are tested in the true one (Section 5.3).

`oracle` lends them the true models. `learned` and `learned-paper` show them a simulated history of the world, with the
paper's sizes, and fit models to it: the best we know, or the paper's own settings. `learned:offspring=softmax` names
the generator of recruits, `learned:capacity=paper` the fit of capacities.

A generator that draws nobody twice.

Policies, discounts and training runs meet many of the same people (a person is a key and a recruiter), and the paper's
diffusion model takes a millisecond to draw one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from peerfront.experiments.store import NO_STORE, StoreSection
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import UnknownName
from peerfront.foundation.randomness import Keys, Luck, fold
from peerfront.foundation.specs import Option, Spec
from peerfront.problem import BranchingWorld, CapacityModel, History, OffspringModel, Policy, Rules, World

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


MODELS = ("oracle", "learned", "learned-paper")
_OPTIONS = {
    "capacity": Option(str, "how capacities are fitted: default or paper"),
    "offspring": Option(str, "the generator of recruits: auto (default) or one by name"),
}
_CAPACITY = ("default", "paper")
_OFFSPRING = ("auto", "inheritance", "softmax", "masked", "diffusion", "diffusion-paper")


def check_models(models: str) -> tuple[str, str] | None:
    """How capacity and offspring models are fitted; None where the true ones are used."""
    spec = Spec.parse(models)
    if spec.name not in MODELS:
        raise UnknownName("kind of models", spec.name, MODELS)
    chosen = spec.read_options(_OPTIONS if spec.name == "learned" else {})
    paper = spec.name == "learned-paper"
    capacity = chosen.get("capacity", "paper" if paper else "default")
    offspring = chosen.get("offspring", "diffusion-paper" if paper else "auto")
    if capacity not in _CAPACITY:
        raise UnknownName("fit of capacities", capacity, _CAPACITY)
    if offspring not in _OFFSPRING:
        raise UnknownName("generator of recruits", offspring, _OFFSPRING)
    return None if spec.name == "oracle" else (capacity, offspring)


@dataclass(frozen=True, eq=False)
class _FirstRecruits:
    """First recruits are known to everybody: they come from the true world."""

    world: World

    def sample(self, luck: Luck) -> Codes:
        return self.world.population(luck)


@dataclass(frozen=True, eq=False)
class _FittedWhenNeeded:
    """An offspring model that is fitted the first time somebody asks for recruits; some policies never do."""

    history: Callable[[], History]
    kind: str
    seed: int
    section: StoreSection

    @cached_property
    def model(self) -> OffspringModel:
        pass

        model = self.section.find_or_make("offspring", self._fitted)
        return RememberedOffspring(model) if self.kind.startswith("diffusion") else model

    def _fitted(self) -> OffspringModel:
        from peerfront.models.offspring.choice import fit_offspring

        return fit_offspring(self.history(), self.kind, seed=self.seed).model

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        return self.model.sample(parents, luck)


NO_SECTION = StoreSection(NO_STORE, "")


@lru_cache(maxsize=2)
def planning_world(
    world: World, models: str, seed: int, asks_recruits: bool = False, section: StoreSection = NO_SECTION
) -> World:
    """The world a policy is prepared in. Kept for the other policies and discounts a worker plays there.

    `asks_recruits`: the history follows whole recruitments instead of asking first recruits once each (the paper).
    Fitted models are kept on the section and taken from there.
    """
    fits = check_models(models)
    if fits is None:
        return world
    how, generator = fits

    @lru_cache(maxsize=1)
    def history() -> History:
        from peerfront.simulation.history import followed_history, simulate_history

        return followed_history(world, seed=seed) if asks_recruits else simulate_history(world, seed=seed)

    def fitted() -> CapacityModel:
        from peerfront.models.capacity import fit_capacity
        from peerfront.models.capacity_settings import CapacitySettings

        return fit_capacity(history(), CapacitySettings.paper() if how == "paper" else None)

    offspring = _FittedWhenNeeded(history, generator, seed, section)
    capacity = section.find_or_make("capacity", fitted)
    return BranchingWorld(f"{world.name}, {models}", world.schema, capacity, offspring, _FirstRecruits(world))


_MOST = 1_000_000  # people remembered; some 250 bytes each


class RememberedOffspring:
    """The same recruits as the model's, each drawn once."""

    def __init__(self, model: OffspringModel) -> None:
        self.model = model
        self._drawn: dict[int, bytes] = {}

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        people = _named(parents, luck.keys).tolist()
        new = {person: place for place, person in enumerate(people) if person not in self._drawn}
        if len(self._drawn) + len(new) > _MOST:
            self._drawn.clear()
            new = {person: place for place, person in enumerate(people)}
        if new:
            places = np.fromiter(new.values(), dtype=np.int64)
            children = self.model.sample(parents[places], Luck(luck.keys[places]))
            self._drawn |= {person: child.tobytes() for person, child in zip(new, children, strict=True)}
        found = np.frombuffer(b"".join(self._drawn[person] for person in people), dtype=np.int16)
        return found.reshape(parents.shape).copy()


def _named(parents: Codes, keys: Keys) -> Keys:
    """One number for each recruit-to-be: its key, with its recruiter's categories folded in field by field."""
    named = keys
    for field in parents.T:
        named = fold(named, field)
    return named
