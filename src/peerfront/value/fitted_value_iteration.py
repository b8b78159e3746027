"""Fitted value iteration with closed-form targets (Section 3.4).

    T V(r, F) = max over s of  A(F, k_s) + discount * sum_j w_j(r - s) * (1 - prod_i tau_ij(k_s,i)),

with k_s, w and tau of target parameters that follow every `synchronise` steps. All targets of the pool depend on the
target parameters alone, so they are computed at once whenever those change, by the planner itself.

`FittedValueIterationSettings.paper()` is the text to the letter: it changes nothing (deviations.md). The default
refreshes the Laplace network with the targets, starts from little coverage, learns from states that the planner meets
and from thinned ones, and goes on until the Bellman residual settles.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from peerfront.allocation.planner import Planner
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.foundation.settings import whole_number
from peerfront.problem import Policy, Rules, World
from peerfront.value.laplace import LaplaceNetwork, LaplaceSettings, LaplaceTrainer
from peerfront.value.learning import (
    Array,
    ExplorationMixture,
    LearnedPlanner,
    Progress,
    explored,
    fit_values,
    laplace_parents,
    report_on,
)
from peerfront.value.networks import PersonInputs
from peerfront.value.states import StateBatch
from peerfront.value.surrogate import FrozenSurrogate, Surrogate, SurrogateSettings


@dataclass(frozen=True)
class FittedValueIterationSettings:
    """How the value is learned from its own backups."""

    iterations: int = 2000
    """Most gradient steps; 0 leaves the surrogate as it starts."""
    synchronise: int = 50
    """Steps between two changes of the target parameters."""
    batch: int = 128
    learning_rate: float = 2e-3
    states: int = 800
    """Size of the pool of states."""
    episodes: int = 200
    """Episodes from which the pool is drawn."""
    thinned: float = 0.5
    """Share of the pool that keeps only a random few people."""
    revisit: int = 10
    """Synchronisations after which the pool is drawn anew, from what the planner itself meets; 0: never."""
    exploration: float = 0.3
    """Share of decisions that a simple rule makes then."""
    settled: float = 0.05
    """Learning stops when the mean Bellman residual of a pool is less than this share below that of the pool before."""
    relative: bool = True
    """Divide squared errors by r + 10, so that small budgets count."""
    sees: str = "capacity"
    """What the networks see of a person: nothing, covariates, or those and what the capacity model says."""
    surrogate: SurrogateSettings = field(default_factory=SurrogateSettings)
    laplace: LaplaceSettings = field(default_factory=LaplaceSettings)
    seed: int = 0

    @classmethod
    def paper(cls) -> "FittedValueIterationSettings":
        """200 iterations of 16 states from a pool of 256, met in 64 random rollouts; Adam with 1e-3."""
        return cls(
            iterations=200,
            synchronise=25,
            batch=16,
            learning_rate=1e-3,
            states=256,
            episodes=64,
            thinned=0.0,
            revisit=0,
            relative=False,
            sees="covariates",
            surrogate=SurrogateSettings.paper(),
            laplace=LaplaceSettings.paper(),
        )

    def __post_init__(self) -> None:
        for name, least in (("iterations", 0), ("synchronise", 1), ("batch", 1), ("states", 1), ("episodes", 1)):
            whole_number(name, getattr(self, name), least)
        whole_number("revisit", self.revisit, 0)
        for name in ("thinned", "exploration", "settled"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise SettingError(f"{name} is a share between 0 and 1; found {getattr(self, name)}.")
        if not 0.0 < self.learning_rate <= 1.0:
            raise SettingError(f"The learning rate must be above 0 and at most 1; found {self.learning_rate}.")
        if self.surrogate.deadline:
            raise SettingError(
                "Fitted value iteration does not learn deadlines. Learn from simulated returns (policy iteration), "
                "or leave `deadline` off."
            )


def learn_by_fitted_value_iteration(
    world: World,
    rules: Rules,
    discount: float,
    explorers: Sequence[Policy],
    settings: FittedValueIterationSettings | None = None,
    progress: Progress | None = None,
) -> LearnedPlanner:
    """A planner for this (planning) world; the first pool comes from the explorers (the paper: random rollouts)."""
    chosen = settings or FittedValueIterationSettings()
    if not explorers:
        raise SettingError("Fitted value iteration needs at least one policy to explore with.")
    tell = progress or (lambda share, what: None)
    inputs = PersonInputs.seeing(chosen.sees, world.schema, world.capacity)
    surrogate = Surrogate(inputs, rules.budget, chosen.surrogate, chosen.seed)
    optimiser = torch.optim.Adam(surrogate.parameters, lr=chosen.learning_rate, fused=True)
    tell(0.0, "collecting states")
    pool = _pool(world, ExplorationMixture(explorers[0], explorers, 1.0), rules, chosen, 0)
    parents = _parents(world, pool, chosen)
    trainer = LaplaceTrainer(
        inputs,
        world.offspring,
        parents,
        chosen.surrogate.latent,
        chosen.laplace,
        named_luck(("laplace recruits", chosen.seed), len(parents)),
        chosen.seed,
    )
    rng = named_generator("fitted value iteration", chosen.seed)
    residuals: list[float] = []
    target = surrogate.freeze()
    laplace = trainer.follow(target)
    done, round_number = 0, 0
    while True:
        targets = _targets(world, rules, discount, target, laplace, pool)
        residuals.append(_residual(target, pool, targets))
        if done >= chosen.iterations or _settled(residuals, chosen):
            break
        tell(done / chosen.iterations, f"Bellman residual {residuals[-1]:.2%} of the budget")
        steps = min(chosen.synchronise, chosen.iterations - done)
        fit_values(
            surrogate, pool, targets, optimiser, steps=steps, batch=chosen.batch, rng=rng, relative=chosen.relative
        )
        done += steps
        round_number += 1
        target = surrogate.freeze()
        laplace = trainer.follow(target)
        if chosen.revisit and round_number % chosen.revisit == 0:
            met = ExplorationMixture(Planner(world.capacity, target, laplace, discount), explorers, chosen.exploration)
            pool = _pool(world, met, rules, chosen, round_number)
    planner = Planner(world.capacity, target, laplace, discount)
    tell(1.0, "done")
    report = report_on(
        planner,
        world,
        rules,
        pool,
        targets,
        method="fitted value iteration",
        iterations=done,
        history=[("Bellman residual, % of the budget, at first", 100 * residuals[0]), ("at last", 100 * residuals[-1])],
        seed=chosen.seed,
    )
    return LearnedPlanner(planner, report)


def _settled(residuals: list[float], settings: FittedValueIterationSettings) -> bool:
    """Whether the last pool's residuals are hardly below those of the pool before; asked when a pool is used up."""
    each = settings.revisit
    if not each or len(residuals) % each or len(residuals) < 2 * each:
        return False
    before, now = np.mean(residuals[-2 * each : -each]), np.mean(residuals[-each:])
    return bool(now > (1.0 - settings.settled) * before)


def _pool(
    world: World, policy: Policy, rules: Rules, settings: FittedValueIterationSettings, number: int
) -> StateBatch:
    return explored(
        world,
        policy,
        rules,
        episodes=settings.episodes,
        states=settings.states,
        thinned=settings.thinned,
        names=(settings.seed, "pool", number),
    )


def _parents(world: World, pool: StateBatch, settings: FittedValueIterationSettings) -> Codes:
    """The paper takes parents from the planning population; people met on the way matter as much."""
    population = world.population(named_luck(("laplace population", settings.seed), settings.laplace.parents))
    if not settings.laplace.refresh_steps:
        return population
    half = settings.laplace.parents // 2
    return np.concatenate([population[:half], laplace_parents(pool, settings.laplace.parents - half, settings.seed)])


def _targets(
    world: World, rules: Rules, discount: float, target: FrozenSurrogate, laplace: LaplaceNetwork, pool: StateBatch
) -> Array:
    """T V of every state of the pool (Equation 9)."""
    planner = Planner(world.capacity, target, laplace, discount)
    a_round = pool.budgets if rules.max_per_round is None else np.minimum(pool.budgets, rules.max_per_round)
    most = a_round if rules.max_per_person is None else np.minimum(a_round, rules.max_per_person)
    rounds_left = np.full(len(pool), rules.rounds)
    return planner.plan_many(pool.covariates, pool.first, pool.budgets, a_round, most, rounds_left)[1]


def _residual(target: FrozenSurrogate, pool: StateBatch, targets: Array) -> float:
    """Root mean square of V - T V as a share of the budget."""
    values = target.values(pool.budgets, target.inputs.rows(pool.covariates), pool.first)
    return float(np.sqrt((((values - targets) / np.maximum(pool.budgets, 1)) ** 2).mean()))
