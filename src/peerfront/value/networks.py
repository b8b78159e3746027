"""Small networks on people: trained with torch, then used as plain matrices, without torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import UnknownName
from peerfront.foundation.stored import Stored, restored_layers, stored_layers
from peerfront.problem import CapacityModel

Rows = NDArray[np.float32]
_LEVELS = 32  # coupons that describe a capacity


SEES = ("nothing", "covariates", "capacity")
"""What the networks may see of a person, each with what comes before it."""


@dataclass(frozen=True, eq=False)
class PersonInputs:
    """What the networks see of a person: the one-hot covariates and, if given, what the capacity model says of them.

    The paper's networks see covariates alone and have to learn again, from a few hundred states, which of them bring
    many; the capacity model already knows. Networks that are blind see a frontier's size only.
    """

    schema: Schema
    capacity: CapacityModel | None = None
    blind: bool = False

    @classmethod
    def seeing(cls, sees: str, schema: Schema, capacity: CapacityModel) -> "PersonInputs":
        """One of `SEES`."""
        if sees not in SEES:
            raise UnknownName("thing that networks see", sees, SEES)
        return cls(schema, capacity if sees == "capacity" else None, blind=sees == "nothing")

    @property
    def sees(self) -> str:
        if self.blind:
            return "nothing"
        return "covariates" if self.capacity is None else "capacity"

    @property
    def width(self) -> int:
        return {"nothing": 1, "covariates": self.schema.columns, "capacity": self.schema.columns + 6}[self.sees]

    def rows(self, covariates: Codes) -> Rows:
        """[people, width]."""
        if self.blind:
            return np.ones((len(covariates), 1), dtype=np.float32)
        one_hot = self.schema.one_hot(covariates)
        if self.capacity is None:
            return one_hot
        survival = self.capacity.survival(covariates, _LEVELS)
        mean = survival.sum(axis=1)
        described = np.stack(
            [np.log(mean + 0.05), mean / 4.0, survival[:, 0], survival[:, 1], survival[:, 3], survival[:, 7]], axis=1
        )
        return np.concatenate([one_hot, described.astype(np.float32)], axis=1)


@dataclass(frozen=True, eq=False)
class FrozenNetwork:
    """A multilayer perceptron with ReLU between its layers, as arrays."""

    weights: tuple[Rows, ...]  # [inputs, outputs] each
    biases: tuple[Rows, ...]  # [outputs] each

    def __call__(self, rows: Rows) -> Rows:
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            rows = np.maximum(rows @ weight + bias, 0.0)
        return rows @ self.weights[-1] + self.biases[-1]

    def stored(self) -> Stored:
        return stored_layers(zip(self.weights, self.biases, strict=True))

    @classmethod
    def restored(cls, stored: Stored, inputs: int, outputs: int) -> "FrozenNetwork":
        layers = restored_layers(stored, inputs, outputs)
        return cls(tuple(weight for weight, _ in layers), tuple(bias for _, bias in layers))


def perceptron(sizes: Sequence[int], seed: int) -> torch.nn.Sequential:
    """Linear layers of these sizes with ReLU between them; torch's usual start, from this seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[torch.nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def frozen(network: torch.nn.Sequential) -> FrozenNetwork:
    """A copy of the network as it is now."""
    linear = [layer for layer in network if isinstance(layer, torch.nn.Linear)]
    return FrozenNetwork(
        tuple(layer.weight.detach().numpy().T.copy() for layer in linear),
        tuple(layer.bias.detach().numpy().copy() for layer in linear),
    )
