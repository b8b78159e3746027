"""The planning world: what policies may know before they are tested in the true one (Section 5.3).

`oracle` lends them the true models. `learned` and `learned-paper` show them a simulated history of the world, with the
paper's sizes, and fit models to it: the best we know, or the paper's own settings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from peerfront.covariates import Codes
from peerfront.errors import UnknownName
from peerfront.experiments.store import NOWHERE, Shelf
from peerfront.problem import BranchingWorld, CapacityModel, History, OffspringModel, World
from peerfront.randomness import Luck

MODELS = ("oracle", "learned", "learned-paper")


def check_models(models: str) -> None:
    if models not in MODELS:
        raise UnknownName("kind of models", models, MODELS)


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
        return self.shelf.find_or_make("offspring", self._fitted)

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
    check_models(models)
    if models == "oracle":
        return world

    @lru_cache(maxsize=1)
    def history() -> History:
        from peerfront.simulation import followed_history, simulate_history

        return followed_history(world, seed=seed) if asks_recruits else simulate_history(world, seed=seed)

    def fitted() -> CapacityModel:
        from peerfront.models.capacity import CapacitySettings, fit_capacity

        return fit_capacity(history(), CapacitySettings.paper() if paper else None)

    paper = models == "learned-paper"
    offspring = _FittedWhenNeeded(history, "diffusion-paper" if paper else "auto", seed, shelf)
    capacity = shelf.find_or_make("capacity", fitted)
    return BranchingWorld(f"{world.name}, {models}", world.schema, capacity, offspring, _FirstRecruits(world))
