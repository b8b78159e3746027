"""Train the two networks of a planner with torch: the value surrogate and the Laplace embeddings (`surrogate`).

The surrogate is fitted to given values of states (`fit_values`). The embeddings follow it: recruits of a fixed set of
parents are sampled once, and whenever h changes, the same recruits give new targets and the network goes on from where
it was (`LaplaceTrainer`).

In a training by backups one Laplace network serves the targets and the planner, fitted to a fixed set of parents; the
training behind the published table has one for each, both trained on with new parents whenever the target parameters
change (`Embeddings`).
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.networks import frozen, gradient_steps, perceptron
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
        self.coverage_network = perceptron([inputs.width, settings.hidden, settings.hidden, settings.latent], seed)
        self.weight_network = perceptron(
            [budget_inputs + time_inputs, settings.hidden, settings.latent + (1 if settings.deadline else 0)], seed + 1
        )
        if settings.first_bias is not None:
            with torch.no_grad():
                last = self.coverage_network[-1]
                assert isinstance(last, torch.nn.Linear), "a perceptron ends with a linear layer"
                last.bias.copy_(torch.linspace(*settings.first_bias, settings.latent))
                last.weight.mul_(0.5)

    @property
    def parameters(self) -> list[torch.nn.Parameter]:
        return [*self.coverage_network.parameters(), *self.weight_network.parameters()]

    def coverage(self, rows: torch.Tensor) -> torch.Tensor:
        """h, [people, latent]."""
        return torch.nn.functional.softplus(self.coverage_network(rows))

    def weights(self, budgets: torch.Tensor, rounds_left: torch.Tensor | None = None) -> torch.Tensor:
        """w(r), or w(r, t) with a deadline, [states, latent]."""
        seen = self._budget_inputs(budgets)
        if self.rounds is None:
            return budgets[:, None] * torch.softmax(self.weight_network(seen), dim=1)
        if rounds_left is None:
            raise SettingError("learned_value.rounds_left_missing")
        left = rounds_left[:, None]
        times = torch.cat([left / self.rounds, 1.0 / left.clamp(min=1.0)], dim=1)
        shares = torch.softmax(self.weight_network(torch.cat([seen, times], dim=1)), dim=1)[:, :-1]
        return budgets[:, None] * torch.where(left > 0, shares, 0.0)

    def values(
        self,
        budgets: torch.Tensor,
        rows: torch.Tensor,
        owner: torch.Tensor,
        rounds_left: torch.Tensor | None = None,
        alike: tuple[torch.Tensor, torch.Tensor] | None = None,
    ) -> torch.Tensor:
        """V of states whose people stand one after another: person i is on the frontier of state owner[i]; [states].

        With `alike` = (kinds, counts) entry i stands for counts[i] people with the row rows[kinds[i]].
        """
        coverage = self.coverage(rows)
        if alike is not None:
            kinds, counts = alike
            coverage = coverage[kinds] * counts[:, None]
        covered = torch.zeros(len(budgets), self.settings.latent).index_add_(0, owner, coverage)
        return (self.weights(budgets, rounds_left) * -torch.expm1(-covered)).sum(dim=1)

    def _budget_inputs(self, budgets: torch.Tensor) -> torch.Tensor:
        if not self.settings.scaled_budget:
            return budgets[:, None]
        share = budgets[:, None] / max(self.budget, 1)
        return torch.cat([share, share.sqrt()], dim=1)

    def freeze(self) -> "FrozenSurrogate":
        """The surrogate as it is now, as arrays."""
        budgets = torch.arange(self.budget + 1, dtype=torch.float32)
        with torch.no_grad():
            if self.rounds is None:
                table = self.weights(budgets)
            else:
                times = torch.arange(self.rounds + 1, dtype=torch.float32)
                table = torch.stack([self.weights(budgets, t.expand(len(budgets))) for t in times])
        return FrozenSurrogate(self.inputs, frozen(self.coverage_network), table.double().numpy().copy())


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
    optimiser: torch.optim.Optimizer,
    *,
    steps: int,
    batch: int,
    rng: np.random.Generator,
    schedule: torch.optim.lr_scheduler.LRScheduler | None = None,
    relative: bool = True,
    longest_gradient: float | None = None,
) -> None:
    """Take gradient steps on the squared error of V (Equation 12).

    `relative` divides the error by r + 10, so that small budgets count too. Longer gradients are shortened.
    """
    kinds = Kinds.of(states)
    people_or_kinds = states if kinds is None else kinds
    rows, first = torch.as_tensor(surrogate.inputs.rows(people_or_kinds.covariates)), people_or_kinds.first
    budgets = torch.as_tensor(states.budgets, dtype=torch.float32)
    wanted = torch.as_tensor(targets, dtype=torch.float32)
    rounds_left = None if states.rounds_left is None else torch.as_tensor(states.rounds_left, dtype=torch.float32)
    scale = budgets + 10.0 if relative else torch.ones_like(budgets)

    def loss() -> torch.Tensor:
        drawn = rng.choice(len(states), min(batch, len(states)), replace=False)
        sizes = np.diff(first)[drawn]
        start = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.arange(start[-1]) - np.repeat(start[:-1] - first[drawn], sizes)
        owner = torch.as_tensor(np.repeat(np.arange(len(drawn)), sizes))
        left = None if rounds_left is None else rounds_left[drawn]
        if kinds is None:
            values = surrogate.values(budgets[drawn], rows[entries], owner, left)
        else:
            alike = torch.as_tensor(kinds.kind[entries]), torch.as_tensor(kinds.count[entries])
            values = surrogate.values(budgets[drawn], rows, owner, left, alike)
        return ((values - wanted[drawn]) ** 2 / scale[drawn]).mean()

    gradient_steps(optimiser, loss, steps, schedule, longest_gradient)


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
        self.network = perceptron([inputs.width, settings.hidden, settings.hidden, latent], seed)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate, fused=True)
        self.rng = named_generator("laplace", seed)

    def take_parents(self, parents: Codes, luck: Luck) -> None:
        """Fit to these people from now on; their recruits are drawn once, with one luck for each parent."""
        self.parents = torch.as_tensor(self.inputs.rows(parents))
        self.children = self.inputs.rows(sampled_recruits(self.offspring, parents, self.settings.children, luck)[0])

    def follow(self, surrogate: FrozenSurrogate) -> LaplaceNetwork:
        """Fit the network to the surrogate's h: `steps` at first, `refresh_steps` later."""
        steps = self.settings.refresh_steps if self.fitted else self.settings.steps
        if steps:
            targets = torch.as_tensor(self.targets(surrogate), dtype=torch.float32)
            n_parents = len(self.parents)

            def loss() -> torch.Tensor:
                batch = torch.as_tensor(self.rng.integers(n_parents, size=min(self.settings.batch, n_parents)))
                # Cross-entropy weighs an error by the spread a share of this size can have: 1 - alpha matters too.
                return torch.nn.functional.binary_cross_entropy_with_logits(
                    self.network(self.parents[batch]), targets[batch]
                )

            gradient_steps(self.optimiser, loss, steps)
        self.fitted = True
        return self.frozen()

    def frozen(self) -> LaplaceNetwork:
        """The network as it is now."""
        return LaplaceNetwork(self.inputs, frozen(self.network))

    def targets(self, surrogate: FrozenSurrogate) -> Array:
        """The sampled embeddings of the parents, [parents, latent]."""
        kept = np.exp(-surrogate.coverage(self.children))
        means: Array = kept.reshape(len(self.parents), -1, surrogate.latent).mean(axis=1)
        return means


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
