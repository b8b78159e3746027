"""Train the two networks of a planner: the value surrogate and the Laplace embeddings (`surrogate`).

The surrogate is fitted to given values of states (`fit_values`). The embeddings follow it: recruits of a fixed set of
parents are sampled once, and whenever h changes, the same recruits give new targets and the network goes on from where
it was (`LaplaceTrainer`).

In a training by backups one Laplace network serves the targets and the planner, fitted to a fixed set of parents; the
training behind the published table has one for each, both trained on with new parents whenever the target parameters
change (`Embeddings`).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.networks import Adam, Backward, Perceptron, Rows, cosine_rate
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.foundation.settings import whole_number
from peerfront.gfp.learning import laplace_parents
from peerfront.gfp.states import StateBatch, planning_population, sampled_recruits
from peerfront.gfp.surrogate import (
    Array,
    FrozenSurrogate,
    LaplaceNetwork,
    LaplaceSettings,
    PersonInputs,
    SurrogateSettings,
)
from peerfront.problem import OffspringModel, World

# From this many people, and people of each kind on average, each kind is valued once instead of each person.
_MIN_PEOPLE_TO_GROUP, _MIN_PEOPLE_PER_KIND = 20_000, 20
_FIRST_RECRUITS = 300  # in the population of the published training: as many as the paper's pool has


class Surrogate:
    """The trainable surrogate, for budgets up to `budget` and, with a deadline, up to `rounds` rounds left."""

    def __init__(
        self, inputs: PersonInputs, budget: int, settings: SurrogateSettings, seed: int, rounds: int | None = None
    ) -> None:
        if settings.deadline and rounds is None:
            raise SettingError("learned_value.rounds_missing")
        self.inputs, self.budget, self.settings = inputs, budget, settings
        self.rounds = whole_number("rounds of the value", rounds, 1) if settings.deadline else None
        budget_inputs, time_inputs = 2 if settings.scaled_budget else 1, 2 if settings.deadline else 0
        self.coverage_network = Perceptron.started(
            [inputs.width, settings.hidden, settings.hidden, settings.latent], seed
        )
        self.weight_network = Perceptron.started(
            [budget_inputs + time_inputs, settings.hidden, settings.latent + (1 if settings.deadline else 0)], seed + 1
        )
        if settings.first_bias is not None:
            self.coverage_network.biases[-1][:] = np.linspace(*settings.first_bias, settings.latent, dtype=np.float32)
            self.coverage_network.weights[-1] *= np.float32(0.5)

    @property
    def parameters(self) -> list[Rows]:
        return [*self.coverage_network.parameters, *self.weight_network.parameters]

    def weights(self, budgets: Rows, rounds_left: Rows | None = None) -> Rows:
        """w(r), or w(r, t) with a deadline, [states, latent]."""
        return self._traced_weights(budgets, rounds_left)[0]

    def values(self, budgets: Rows, rows: Rows, members: csr_array, rounds_left: Rows | None = None) -> Rows:
        """V of states, of which state s has members[s, i] people like row i; [states]."""
        return self.traced(budgets, rows, members, rounds_left)[0]

    def traced(
        self, budgets: Rows, rows: Rows, members: csr_array, rounds_left: Rows | None = None
    ) -> tuple[Rows, Backward]:
        """V of states, [states], and the way back to the parameters."""
        scores, from_scores = self.coverage_network.traced(rows)
        covered = members @ _softplus(scores)  # [states, latent]
        weights, from_weights = self._traced_weights(budgets, rounds_left)
        shares = -np.expm1(-covered)

        def backward(slope: Rows) -> list[Rows]:
            of_covered = slope[:, None] * weights * (1.0 - shares)
            of_scores = (members.T @ of_covered) * expit(scores)
            return [*from_scores(of_scores), *from_weights(slope[:, None] * shares)]

        return (weights * shares).sum(axis=1), backward

    def _traced_weights(self, budgets: Rows, rounds_left: Rows | None) -> tuple[Rows, Backward]:
        """The weights, [states, latent], and the way back to the parameters of their network."""
        scale, seen = budgets[:, None], self._budget_inputs(budgets)
        if self.rounds is not None:
            if rounds_left is None:
                raise SettingError("learned_value.rounds_left_missing")
            left = rounds_left[:, None]
            seen = np.concatenate([seen, left / self.rounds, 1.0 / np.maximum(left, 1.0)], axis=1).astype(np.float32)
            scale = np.where(left > 0, scale, np.float32(0.0))
        scores, from_scores = self.weight_network.traced(seen)
        latent = self.settings.latent  # with a deadline a coordinate more, of what the time does not suffice to use
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)

        def backward(slope: Rows) -> list[Rows]:
            of_likely = np.zeros_like(likely)
            of_likely[:, :latent] = slope * scale
            return from_scores(likely * (of_likely - (of_likely * likely).sum(axis=1, keepdims=True)))

        return scale * likely[:, :latent], backward

    def _budget_inputs(self, budgets: Rows) -> Rows:
        if not self.settings.scaled_budget:
            return budgets[:, None]
        share = budgets[:, None] / np.float32(max(self.budget, 1))
        return np.concatenate([share, np.sqrt(share)], axis=1)

    def freeze(self) -> "FrozenSurrogate":
        """The surrogate as it is now, as arrays."""
        budgets = np.arange(self.budget + 1, dtype=np.float32)
        if self.rounds is None:
            table = self.weights(budgets)
        else:
            times = np.arange(self.rounds + 1, dtype=np.float32)
            table = np.stack([self.weights(budgets, np.full_like(budgets, t)) for t in times])
        return FrozenSurrogate(self.inputs, self.coverage_network.frozen(), table.astype(np.float64))


def _softplus(scores: Rows) -> Rows:
    positive: Rows = np.log1p(np.exp(-np.abs(scores)))
    return positive + np.maximum(scores, np.float32(0.0))


def members_of(first: NDArray[np.int64], kind: NDArray[np.int64] | None = None, count: Rows | None = None) -> csr_array:
    """How many people like each row are in each state, [states, rows], of entries first[s] .. first[s + 1] - 1.

    Each entry is one person with a row of their own; or `count` people like the row `kind`.
    """
    entries = int(first[-1])
    if kind is None or count is None:
        return csr_array((np.ones(entries, dtype=np.float32), np.arange(entries), first), (len(first) - 1, entries))
    return csr_array((count, kind, first), (len(first) - 1, int(kind.max(initial=-1)) + 1))


@dataclass(frozen=True, eq=False)
class Kinds:
    """States as numbers of people of each kind: state s has the entries first[s] .. first[s + 1] - 1."""

    covariates: Codes  # [kinds, fields]
    first: NDArray[np.int64]  # [states + 1]
    kind: NDArray[np.int64]  # [entries]
    count: NDArray[np.float32]  # [entries], people of this kind in the state

    @classmethod
    def of(cls, states: StateBatch) -> "Kinds | None":
        """None where people are few or hardly alike, and this would save nothing."""
        if len(states.covariates) < _MIN_PEOPLE_TO_GROUP:
            return None
        covariates, kind = np.unique(states.covariates, axis=0, return_inverse=True)
        if _MIN_PEOPLE_PER_KIND * len(covariates) > len(states.covariates):
            return None
        entries, count = np.unique(states.owner * len(covariates) + kind, return_counts=True)
        first = np.searchsorted(entries // len(covariates), np.arange(len(states) + 1))
        return cls(covariates, first, entries % len(covariates), count.astype(np.float32))


def fit_values(
    surrogate: Surrogate,
    states: StateBatch,
    targets: Array,
    optimiser: Adam,
    *,
    steps: int,
    batch: int,
    rng: np.random.Generator,
    cosine: bool = False,
    relative: bool = True,
    longest_gradient: float | None = None,
) -> None:
    """Take gradient steps on the squared error of V (Equation 12).

    `relative` divides the error by r + 10, so that small budgets count too. Longer gradients are shortened. With
    `cosine` the learning rate falls to zero along a cosine.
    """
    kinds = Kinds.of(states)
    people_or_kinds = states if kinds is None else kinds
    rows, first = surrogate.inputs.rows(people_or_kinds.covariates), people_or_kinds.first
    budgets, wanted = states.budgets.astype(np.float32), targets.astype(np.float32)
    rounds_left = None if states.rounds_left is None else states.rounds_left.astype(np.float32)
    scale = budgets + np.float32(10.0) if relative else np.ones_like(budgets)
    for step in range(steps):
        drawn = rng.choice(len(states), min(batch, len(states)), replace=False)
        sizes = np.diff(first)[drawn]
        start = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.arange(start[-1]) - np.repeat(start[:-1] - first[drawn], sizes)
        if kinds is None:
            seen, members = rows[entries], members_of(start)
        else:
            members = members_of(start, kinds.kind[entries], kinds.count[entries])
            seen = rows[: members.shape[1]]
        left = None if rounds_left is None else rounds_left[drawn]
        values, backward = surrogate.traced(budgets[drawn], seen, members, left)
        slope = squared_error(values, wanted[drawn], scale[drawn])[1]
        rate = cosine_rate(optimiser.learning_rate, step, steps) if cosine else None
        optimiser.step(backward(slope), rate, longest_gradient)


def squared_error(values: Rows, wanted: Rows, scale: Rows) -> tuple[float, Rows]:
    """The mean of (value - wanted)^2 / scale (Equation 12), and its slope in the values."""
    error = values - wanted
    return float((error * error / scale).mean()), error * np.float32(2.0 / len(values)) / scale


class LaplaceTrainer:
    """Recruits sampled once, and a network that is fitted to their embeddings whenever the surrogate changes."""

    def __init__(
        self,
        inputs: PersonInputs,
        offspring: OffspringModel,
        parents: Codes,
        latent: int,
        settings: LaplaceSettings,
        luck: Luck,
        seed: int,
    ) -> None:
        self.inputs, self.offspring, self.settings, self.fitted = inputs, offspring, settings, False
        self.take_parents(parents, luck)
        self.network = Perceptron.started([inputs.width, settings.hidden, settings.hidden, latent], seed)
        self.optimiser = Adam(self.network.parameters, settings.learning_rate)
        self.rng = named_generator("laplace", seed)

    def take_parents(self, parents: Codes, luck: Luck) -> None:
        """Fit to these people from now on; their recruits are drawn once, with one luck for each parent."""
        self.parents = self.inputs.rows(parents)
        self.children = self.inputs.rows(sampled_recruits(self.offspring, parents, self.settings.children, luck)[0])

    def follow(self, surrogate: FrozenSurrogate) -> LaplaceNetwork:
        """Fit the network to the surrogate's h: `steps` at first, `refresh_steps` later."""
        steps = self.settings.refresh_steps if self.fitted else self.settings.steps
        if steps:
            targets, n_parents = self.targets(surrogate).astype(np.float32), len(self.parents)
            for _ in range(steps):
                batch = self.rng.integers(n_parents, size=min(self.settings.batch, n_parents))
                scores, backward = self.network.traced(self.parents[batch])
                self.optimiser.step(backward(embedding_slope(scores, targets[batch])))
        self.fitted = True
        return self.frozen()

    def frozen(self) -> LaplaceNetwork:
        """The network as it is now."""
        return LaplaceNetwork(self.inputs, self.network.frozen())

    def targets(self, surrogate: FrozenSurrogate) -> Array:
        """The sampled embeddings of the parents, [parents, latent]."""
        kept = np.exp(-surrogate.coverage(self.children))
        means: Array = kept.reshape(len(self.parents), -1, surrogate.latent).mean(axis=1)
        return means


def embedding_slope(scores: Rows, wanted: Rows) -> Rows:
    """The slope in the scores of the mean cross-entropy between embeddings and the wanted ones.

    Cross-entropy weighs an error by the spread a share of this size can have: 1 - alpha matters too.
    """
    slope: Rows = (expit(scores) - wanted) / np.float32(scores.size)
    return slope


class Embeddings:
    """The Laplace networks of a training: one for targets and acting alike, or one for each (`target_share`)."""

    def __init__(
        self, world: World, inputs: PersonInputs, pool: StateBatch, latent: int, settings: LaplaceSettings, seed: int
    ) -> None:
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

    def _trained(self, trainer: LaplaceTrainer, value: FrozenSurrogate) -> LaplaceNetwork:
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
