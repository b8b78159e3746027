"""Conditional Laplace embeddings (Equation 5): how much of each latent coordinate one recruit leaves uncovered.

    alpha_j(x) = E[exp(-h_j(y))],  y ~ G(. | x),      in (0, 1].

Estimated by sampling recruits of a fixed set of parents, once, and amortised by a network, so that planning samples
nothing. Whenever h changes, the same recruits give new targets and the network goes on from where it was.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from peerfront.allocation.planner import Planner
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, named_generator
from peerfront.foundation.settings import whole_number
from peerfront.foundation.stored import Stored
from peerfront.problem import CapacityModel, OffspringModel
from peerfront.value.networks import FrozenNetwork, PersonInputs, Rows, frozen, perceptron
from peerfront.value.surrogate import Array, FrozenSurrogate

_SMALLEST = 1e-12


@dataclass(frozen=True)
class LaplaceSettings:
    """How embeddings are sampled and amortised."""

    parents: int = 1024
    """People whose recruits are sampled."""
    children: int = 64
    """Recruits of each."""
    hidden: int = 64
    """Width of the two hidden layers."""
    steps: int = 600
    """Gradient steps of the first fit."""
    refresh_steps: int = 200
    """Gradient steps after each change of h; 0 never refreshes (the paper)."""
    batch: int = 128
    learning_rate: float = 2e-3

    @classmethod
    def paper(cls) -> "LaplaceSettings":
        """256 parents, 64 recruits each, 200 steps, fitted once before value training begins."""
        return cls(parents=256, steps=200, refresh_steps=0, learning_rate=1e-3)

    def __post_init__(self) -> None:
        for name, least in (("parents", 1), ("children", 1), ("hidden", 1), ("steps", 1), ("refresh_steps", 0)):
            whole_number(name.replace("_", " "), getattr(self, name), least)
        whole_number("batch", self.batch, 1)
        if not self.learning_rate > 0.0:
            raise SettingError(f"The learning rate must be above 0; found {self.learning_rate}.")


@dataclass(frozen=True, eq=False)
class LaplaceNetwork:
    """The amortised embeddings, as arrays."""

    inputs: PersonInputs
    network: FrozenNetwork

    def uncovered(self, rows: Rows) -> Array:
        """alpha of people described by `inputs.rows`, [people, latent]."""
        scores = self.network(rows).astype(np.float64)
        return np.clip(1.0 / (1.0 + np.exp(-scores)), _SMALLEST, 1.0)

    def stored(self) -> Stored:
        return Stored.of_parts({"sees": self.inputs.sees}, network=self.network.stored())

    @classmethod
    def restored(cls, stored: Stored, schema: Schema, capacity: CapacityModel, latent: int) -> "LaplaceNetwork":
        inputs = PersonInputs.seeing(stored.setting("sees", str), schema, capacity)
        return cls(inputs, FrozenNetwork.restored(stored.part("network"), inputs.width, latent))


class LaplaceTrainer:
    """Recruits sampled once, and a network that follows the surrogate."""

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
        self.inputs, self.settings, self.fitted = inputs, settings, False
        self.parents = torch.as_tensor(inputs.rows(parents))
        self.children = inputs.rows(sampled_recruits(offspring, parents, settings.children, luck))
        self.network = perceptron([inputs.width, settings.hidden, settings.hidden, latent], seed)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate, fused=True)
        self.rng = named_generator("laplace", seed)

    def follow(self, surrogate: FrozenSurrogate) -> LaplaceNetwork:
        """Fit the network to the surrogate's h: `steps` at first, `refresh_steps` later."""
        steps = self.settings.refresh_steps if self.fitted else self.settings.steps
        if steps:
            targets = torch.as_tensor(self.targets(surrogate), dtype=torch.float32)
            people = len(self.parents)
            for _ in range(steps):
                chosen = torch.as_tensor(self.rng.integers(people, size=min(self.settings.batch, people)))
                self.optimiser.zero_grad()
                # Cross-entropy weighs an error by the spread a share of this size can have: 1 - alpha matters too.
                loss = torch.nn.functional.binary_cross_entropy_with_logits(
                    self.network(self.parents[chosen]), targets[chosen]
                )
                loss.backward()
                self.optimiser.step()
        self.fitted = True
        return LaplaceNetwork(self.inputs, frozen(self.network))

    def targets(self, surrogate: FrozenSurrogate) -> Array:
        """The sampled embeddings of the parents, [parents, latent]."""
        kept = np.exp(-surrogate.coverage(self.children))
        means: Array = kept.reshape(len(self.parents), -1, surrogate.latent).mean(axis=1)
        return means


def learned_networks(planner: Planner) -> tuple[FrozenSurrogate, LaplaceNetwork]:
    """The two networks of a planner whose value was learned; another planner is an error."""
    surrogate, laplace = planner.surrogate, planner.laplace
    if not isinstance(surrogate, FrozenSurrogate) or not isinstance(laplace, LaplaceNetwork):
        raise SettingError("This planner's value was not learned here. Learn one by policy iteration.")
    return surrogate, laplace


def sampled_recruits(offspring: OffspringModel, parents: Codes, each: int, luck: Luck) -> Codes:
    """`each` recruits of every parent, one parent after another, [parents * each, fields]."""
    ordinals = np.tile(np.arange(each), len(parents))
    return offspring.sample(np.repeat(parents, each, axis=0), Luck(np.repeat(luck.keys, each)).members(ordinals))


def sampled_embeddings(
    offspring: OffspringModel, surrogate: FrozenSurrogate, parents: Codes, samples: int, luck: Luck
) -> Array:
    """alpha by sampling alone, [parents, latent]: the yardstick for the network."""
    children = sampled_recruits(offspring, parents, samples, luck)
    kept = np.exp(-surrogate.coverage(surrogate.inputs.rows(children)))
    means: Array = kept.reshape(len(parents), samples, -1).mean(axis=1)
    return means


def embedding_error(network: LaplaceNetwork, sampled: Array, parents: Codes) -> dict[str, float]:
    """How far the network is from sampled embeddings: mean and largest error, and the spread there is to explain."""
    errors: NDArray[np.float64] = np.abs(network.uncovered(network.inputs.rows(parents)) - sampled)
    return {
        "mean_error": float(errors.mean()),
        "largest_error": float(errors.max()),
        "spread": float(sampled.std(axis=0).mean()),
        "mean": float(sampled.mean()),
    }
