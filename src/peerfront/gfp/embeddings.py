"""The Laplace networks of a training by backups: which people they are fitted to, and when they are trained on.

One network serves the targets and the planner, fitted to a fixed set of parents; the training behind the published
table has one for each, both trained on with new parents whenever the target parameters change.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.gfp.learning import laplace_parents
from peerfront.gfp.states import StateBatch, planning_population
from peerfront.gfp.surrogate import FrozenSurrogate, LaplaceNetwork, LaplaceSettings, PersonInputs
from peerfront.problem import World

if TYPE_CHECKING:
    from peerfront.gfp.training import LaplaceTrainer

_FIRST_RECRUITS = 300  # in the population of the published training: as many as the paper's pool has


class Embeddings:
    """The Laplace networks of a training: one for targets and acting alike, or one for each (`target_share`)."""

    def __init__(
        self, world: World, inputs: PersonInputs, pool: StateBatch, latent: int, settings: LaplaceSettings, seed: int
    ) -> None:
        from peerfront.gfp.training import LaplaceTrainer

        self._settings, self._rng = settings, named_generator("new laplace parents", seed)
        self._population: Codes | None = None
        if settings.new_parents:
            self._population = planning_population(world, _FIRST_RECRUITS, settings.recruits, seed)
            parents = self._drawn_parents(self._population)
        else:
            parents = _parents(world, pool, settings, seed)

        def trainer(laplace: LaplaceSettings, start: int) -> LaplaceTrainer:
            luck = named_luck(("laplace recruits", seed), len(parents))
            return LaplaceTrainer(inputs, world.offspring, parents, latent, laplace, luck, start)

        self._acting = trainer(settings, seed)
        self._of_target = self._acting
        if (share := settings.target_share) is not None:
            steps, refresh_steps = max(1, round(share * settings.steps)), round(share * settings.refresh_steps)
            self._of_target = trainer(replace(settings, steps=steps, refresh_steps=refresh_steps), seed + 1)

    def follow(self, value: FrozenSurrogate) -> LaplaceNetwork:
        """Train all networks on for this value; returns the targets' one."""
        if self._of_target is not self._acting:
            self._trained(self._acting, value)
        return self._trained(self._of_target, value)

    def to_act_with(self, value: FrozenSurrogate) -> LaplaceNetwork:
        """The acting network at the end, trained once more if it is one of two."""
        if self._of_target is self._acting:
            return self._acting.frozen()
        return self._trained(self._acting, value)

    def _trained(self, trainer: "LaplaceTrainer", value: FrozenSurrogate) -> LaplaceNetwork:
        if trainer.fitted and self._population is not None:
            parents = self._drawn_parents(self._population)
            luck = Luck(self._rng.integers(2**63, size=len(parents)).astype(np.uint64))
            trainer.take_parents(parents, luck)
        return trainer.follow(value)

    def _drawn_parents(self, population: Codes) -> Codes:
        return population[
            self._rng.choice(len(population), min(self._settings.parents, len(population)), replace=False)
        ]


def _parents(world: World, pool: StateBatch, settings: LaplaceSettings, seed: int) -> Codes:
    """Half from the population, half from people met; the paper takes all from the population."""
    population = world.population(named_luck(("laplace population", seed), settings.parents))
    if not settings.refresh_steps:
        return population
    half = settings.parents // 2
    return np.concatenate([population[:half], laplace_parents(pool, settings.parents - half, seed)])
