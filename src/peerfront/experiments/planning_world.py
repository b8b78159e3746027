"""The planning world: what policies may know before they are tested in the true one (Section 5.3).

`oracle` lends them the true models. `learned` and `learned-paper` show them a simulated history of the world, with the
paper's sizes, and fit models to it: the best we know, or the paper's own settings. `learned:offspring=softmax` names
the generator of recruits, `learned:capacity=paper` the fit of capacities.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from peerfront.covariates import Codes
from peerfront.errors import UnknownName
from peerfront.experiments.store import NOWHERE, Shelf
from peerfront.problem import BranchingWorld, CapacityModel, History, OffspringModel, World
from peerfront.randomness import Luck
from peerfront.specs import Option, Spec

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
    shelf: Shelf

    @cached_property
    def model(self) -> OffspringModel:
        from peerfront.models.offspring.remembered import RememberedOffspring

        model = self.shelf.find_or_make("offspring", self._fitted)
        return RememberedOffspring(model) if self.kind.startswith("diffusion") else model

    def _fitted(self) -> OffspringModel:
        from peerfront.models.offspring.choice import fit_offspring

        return fit_offspring(self.history(), self.kind, seed=self.seed).model

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        return self.model.sample(parents, luck)


NO_SHELF = Shelf(NOWHERE, "")


@lru_cache(maxsize=2)
def planning_world(world: World, models: str, seed: int, asks_recruits: bool = False, shelf: Shelf = NO_SHELF) -> World:
    """The world a policy is prepared in. Kept for the other policies and discounts a worker plays there.

    `asks_recruits`: the history follows whole recruitments instead of asking first recruits once each (the paper).
    Fitted models are kept on the shelf and taken from there.
    """
    fits = check_models(models)
    if fits is None:
        return world
    how, generator = fits

    @lru_cache(maxsize=1)
    def history() -> History:
        from peerfront.simulation import followed_history, simulate_history

        return followed_history(world, seed=seed) if asks_recruits else simulate_history(world, seed=seed)

    def fitted() -> CapacityModel:
        from peerfront.models.capacity import CapacitySettings, fit_capacity

        return fit_capacity(history(), CapacitySettings.paper() if how == "paper" else None)

    offspring = _FittedWhenNeeded(history, generator, seed, shelf)
    capacity = shelf.find_or_make("capacity", fitted)
    return BranchingWorld(f"{world.name}, {models}", world.schema, capacity, offspring, _FirstRecruits(world))
