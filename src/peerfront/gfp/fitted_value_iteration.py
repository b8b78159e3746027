"""Learning the value from its own backups: fitted value iteration with closed-form targets (Section 3.4, Equation 11).

    T V(r, F) = max over s of  A(F, k_s) + discount * sum_j w_j(r - s) * (1 - prod_i tau_ij(k_s,i)),

with k_s, w and tau of target parameters that follow every `synchronise` steps. All targets of the pool depend on the
target parameters alone, so they are computed at once whenever those change, by the planner itself.

`FittedValueIterationSettings.paper()` is the text to the letter: it changes nothing (deviations.md). The default
refreshes the Laplace network with the targets, starts from little coverage, learns from states that the planner meets
and from thinned ones, and goes on until the Bellman residual settles. `published()` is what the published table was
made with, which is more than the text says.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import DONE, Progress, note, silent
from peerfront.foundation.networks import Adam
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.foundation.settings import (
    among,
    at_least,
    check_fields,
    one_or_more,
    optional,
    positive,
    proportion,
    seed_number,
    step_size,
    truth,
)
from peerfront.gfp.greedy import Limits
from peerfront.gfp.learning import LearnedPlanner, report_on
from peerfront.gfp.planner import Planner
from peerfront.gfp.states import ExplorationMixture, StateBatch, explored, visited
from peerfront.gfp.surrogate import (
    SEES,
    Array,
    FrozenSurrogate,
    LaplaceSettings,
    PersonInputs,
    SurrogateSettings,
)
from peerfront.gfp.training import Embeddings, Surrogate, fit_values
from peerfront.problem import Policy, Rules, World


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
    terminal: bool = False
    """Whether the pool holds the ends of episodes too; worth 0 by construction, they only thin out batches."""
    longest_gradient: float | None = None
    """Gradients with a larger norm are shortened to this one; None leaves them as they are."""
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

    @classmethod
    def published(cls) -> "FittedValueIterationSettings":
        """As `paper`, with embeddings trained on at synchronisations, ends of episodes in the pool, short gradients."""
        return replace(cls.paper(), terminal=True, longest_gradient=10.0, laplace=LaplaceSettings.published())

    def __post_init__(self) -> None:
        check_fields(
            self,
            iterations=at_least(0),
            synchronise=one_or_more,
            batch=one_or_more,
            learning_rate=step_size,
            states=one_or_more,
            episodes=one_or_more,
            thinned=proportion,
            revisit=at_least(0),
            exploration=proportion,
            settled=proportion,
            relative=truth,
            terminal=truth,
            longest_gradient=optional(positive),
            sees=among("thing that networks see", SEES),
            seed=seed_number,
        )
        if self.surrogate.deadline:
            raise SettingError("learned_value.no_deadline_by_backups")


def learn_by_fitted_value_iteration(
    world: World,
    rules: Rules,
    discount: float,
    explorers: Sequence[Policy],
    settings: FittedValueIterationSettings | None = None,
    progress: Progress = silent,
) -> LearnedPlanner:
    """Learn a planner for this (planning) world; the explorers meet the first states (the paper: random rollouts)."""
    settings = settings or FittedValueIterationSettings()
    if not explorers:
        raise SettingError("learned_value.no_explorer")
    inputs = PersonInputs.seeing(settings.sees, world.schema, world.response)
    surrogate = Surrogate(inputs, rules.budget, settings.surrogate, settings.seed)
    optimiser = Adam(surrogate.parameters, settings.learning_rate)
    progress(0.0, note("learning_progress.collecting"))
    pool, ends = _pool(world, ExplorationMixture(explorers[0], explorers, 1.0), rules, settings, 0)
    embeddings = Embeddings(world, inputs, pool, settings.surrogate.latent, settings.laplace, settings.seed)

    def planner_now() -> tuple[FrozenSurrogate, Planner]:
        value = surrogate.freeze()
        return value, Planner.of(world.response, value, embeddings.follow(value), discount)

    rng = named_generator("fitted value iteration", settings.seed)
    residuals: list[float] = []
    value, planner = planner_now()
    steps_taken, synchronisations = 0, 0
    while True:
        targets = _targets(planner, rules, pool)
        residuals.append(_residual(value, pool, targets))
        if steps_taken >= settings.iterations or _settled(residuals, settings):
            break
        progress(steps_taken / settings.iterations, note("learning_progress.residual", residual=residuals[-1]))
        steps = min(settings.synchronise, settings.iterations - steps_taken)
        fit_values(
            surrogate,
            StateBatch.joined([pool, ends]),
            np.concatenate([targets, np.zeros(len(ends))]),
            optimiser,
            steps=steps,
            batch=settings.batch,
            rng=rng,
            relative=settings.relative,
            longest_gradient=settings.longest_gradient,
        )
        steps_taken += steps
        synchronisations += 1
        value, planner = planner_now()
        if settings.revisit and synchronisations % settings.revisit == 0:
            mixture = ExplorationMixture(planner, explorers, settings.exploration)
            pool, ends = _pool(world, mixture, rules, settings, synchronisations)
    planner = Planner.of(world.response, value, embeddings.to_act_with(value), discount)
    progress(1.0, DONE)
    report = report_on(
        planner,
        world,
        rules,
        pool,
        targets,
        method="fitted value iteration",
        iterations=steps_taken,
        history=[("Bellman residual, % of the budget, at first", 100 * residuals[0]), ("at last", 100 * residuals[-1])],
        seed=settings.seed,
    )
    return LearnedPlanner(planner, report)


def _settled(residuals: list[float], settings: FittedValueIterationSettings) -> bool:
    """Whether the last pool's residuals are hardly below those of the pool before; checked when a pool is used up."""
    each = settings.revisit
    if not each or len(residuals) % each or len(residuals) < 2 * each:
        return False
    before, now = np.mean(residuals[-2 * each : -each]), np.mean(residuals[-each:])
    return bool(now > (1.0 - settings.settled) * before)


def _pool(
    world: World, policy: Policy, rules: Rules, settings: FittedValueIterationSettings, number: int
) -> tuple[StateBatch, StateBatch]:
    """States to learn from, and the ends of episodes among them, if they are asked for."""
    names = (settings.seed, "pool", number)
    ends = 0
    if settings.terminal:
        # One end for each episode: a state drawn for the pool is one of those with their share of all states.
        met = len(visited(world, policy, rules, named_luck(("explore", *names), settings.episodes)))
        drawn = min(settings.states, met + settings.episodes)
        ends = int(named_generator("ends", *names).hypergeometric(settings.episodes, met, drawn))
    pool = explored(
        world,
        policy,
        rules,
        episodes=settings.episodes,
        states=max(settings.states - ends, 1),
        thinned=settings.thinned,
        names=names,
    )
    nothing = np.zeros(ends, dtype=np.int64)
    return pool, StateBatch(nothing, np.zeros(ends + 1, dtype=np.int64), pool.covariates[:0])


def _targets(planner: Planner, rules: Rules, pool: StateBatch) -> Array:
    """T V of every state of the pool (Equation 11)."""
    spendable = pool.budgets if rules.max_per_round is None else np.minimum(pool.budgets, rules.max_per_round)
    most = spendable if rules.max_per_person is None else np.minimum(spendable, rules.max_per_person)
    limits = Limits(pool.budgets, spendable, most, np.zeros_like(pool.budgets))
    rounds_left = np.full(len(pool), rules.rounds)
    return planner.plan_many(pool.covariates, pool.first, limits, rounds_left)[1]


def _residual(value: FrozenSurrogate, pool: StateBatch, targets: Array) -> float:
    """Root mean square of V - T V as a share of the budget."""
    values = value.values(pool.budgets, value.inputs.rows(pool.covariates), pool.first)
    return float(np.sqrt((((values - targets) / np.maximum(pool.budgets, 1)) ** 2).mean()))
