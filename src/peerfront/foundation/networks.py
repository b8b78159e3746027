"""Small networks: one perceptron, one way to train it, and its form as plain arrays.

A `FrozenNetwork` needs NumPy alone; `perceptron`, `frozen`, `thawed` and the training load torch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Progress, note, silent
from peerfront.foundation.randomness import named_key
from peerfront.foundation.settings import among, check_fields, not_negative, one_of, one_or_more, step_size, truth
from peerfront.foundation.stored import Stored

if TYPE_CHECKING:
    import torch

Rows = NDArray[np.float32]
ACTIVATIONS = ("relu", "gelu")
_LARGEST_WEIGHT = 1e6  # so that what passes through several layers stays finite


@dataclass(frozen=True, eq=False)
class FrozenNetwork:
    """A multilayer perceptron as arrays: linear layers with one activation between them."""

    weights: tuple[Rows, ...]  # [inputs, outputs] each
    biases: tuple[Rows, ...]  # [outputs] each
    activation: str = "relu"

    def __post_init__(self) -> None:
        check_fields(self, activation=among("activation", ACTIVATIONS))

    def __call__(self, rows: Rows) -> Rows:
        return self.after_first(row_by_row(rows, self.weights[0]) + self.biases[0])

    def after_first(self, sums: Rows) -> Rows:
        """The network's outputs from its first layer's sums, [rows, outputs]."""
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            sums = row_by_row(_activated(sums, self.activation), weight) + bias
        return sums

    def stored(self) -> Stored:
        weights = {f"weights {n}": weight for n, weight in enumerate(self.weights)}
        return Stored({}, {**weights, **{f"biases {n}": bias for n, bias in enumerate(self.biases)}})

    @classmethod
    def restored(cls, stored: Stored, inputs: int, outputs: int, activation: str = "relu") -> "FrozenNetwork":
        """The network that was stored: each layer takes what the one before gives, from `inputs` to `outputs`."""
        weights: list[Rows] = []
        biases: list[Rows] = []
        widths = [inputs]
        while (name := f"weights {len(weights)}") in stored.arrays:
            weights.append(stored.array(name, (widths[-1], None), np.float32, largest=_LARGEST_WEIGHT))
            widths.append(weights[-1].shape[1])
            name = f"biases {len(biases)}"
            biases.append(stored.array(name, (widths[-1],), np.float32, largest=_LARGEST_WEIGHT))
        if not weights or widths[-1] != outputs:
            raise DataFileError("stored_fit.layers", place=stored.place, widths=widths, outputs=outputs)
        return cls(tuple(weights), tuple(biases), activation)


def row_by_row(rows: Rows, weights: Rows) -> Rows:
    """rows @ weights, of which no row depends on the others, nor on its place among them.

    Libraries add up the products of some rows in one order and those of others in another, as the processor likes it,
    and single-precision sums then differ in the last digit. Sums in double precision, rounded once, do not.
    """
    product: Rows = (rows.astype(np.float64) @ weights.astype(np.float64)).astype(np.float32)
    return product


def _activated(rows: Rows, activation: str) -> Rows:
    if activation == "relu":
        return np.maximum(rows, np.float32(0.0))
    gelu: Rows = (0.5 * rows * (1.0 + erf(rows / np.sqrt(2.0)))).astype(np.float32)
    return gelu


def perceptron(sizes: Sequence[int], seed: int | None, activation: str = "relu") -> "torch.nn.Sequential":
    """Linear layers of these sizes with the activation between them.

    ReLU layers start as torch starts them, from the seed alone, or from torch's current state if the seed is None;
    GELU layers start uniform on +- 1 / sqrt(inputs), from a generator named by the seed.
    """
    import torch

    one_of("activation", activation, ACTIVATIONS)
    layers: list[torch.nn.Module] = []
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None and activation == "relu":
            torch.manual_seed(seed)
        for inputs, outputs in pairwise(sizes):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU() if activation == "relu" else torch.nn.GELU()]
    network = torch.nn.Sequential(*layers[:-1])
    if activation == "gelu" and seed is not None:
        generator = torch.Generator().manual_seed(named_key("perceptron", seed) % 2**63)
        with torch.no_grad():
            for layer in network:
                if isinstance(layer, torch.nn.Linear):
                    for parameter in (layer.weight, layer.bias):
                        drawn = 2 * torch.rand(parameter.shape, generator=generator) - 1
                        parameter.copy_(drawn * layer.in_features**-0.5)
    return network


def frozen(network: "torch.nn.Sequential", activation: str = "relu") -> FrozenNetwork:
    """Copy the network as it is now."""
    import torch

    linear = [layer for layer in network if isinstance(layer, torch.nn.Linear)]
    return FrozenNetwork(
        tuple(layer.weight.detach().numpy().T.copy() for layer in linear),
        tuple(layer.bias.detach().numpy().copy() for layer in linear),
        activation,
    )


def thawed(network: FrozenNetwork) -> "torch.nn.Sequential":
    """Copy a frozen network for torch."""
    import torch

    sizes = [len(network.weights[0]), *(len(bias) for bias in network.biases)]
    layers = perceptron(sizes, seed=0, activation=network.activation)
    arrays = [array for layer in zip(network.weights, network.biases, strict=True) for array in layer]
    with torch.no_grad():
        for parameter, array in zip(layers.parameters(), arrays, strict=True):
            parameter.copy_(torch.as_tensor(array.T.copy()))
    return layers.eval()


def gradient_steps(
    optimiser: "torch.optim.Optimizer",
    loss: "Callable[[], torch.Tensor]",
    steps: int,
    schedule: "torch.optim.lr_scheduler.LRScheduler | None" = None,
    longest_gradient: float | None = None,
) -> None:
    """Take this many gradient steps; `loss` draws its own batch each time. Longer gradients are shortened."""
    for _ in range(steps):
        optimiser.zero_grad()
        loss().backward()
        if longest_gradient is not None:
            from torch.nn.utils import clip_grad_norm_

            clip_grad_norm_([p for group in optimiser.param_groups for p in group["params"]], longest_gradient)
        optimiser.step()
        if schedule is not None:
            schedule.step()


@dataclass(frozen=True)
class EpochSettings:
    """How `train_epochs` goes through the data."""

    epochs: int
    batch: int
    learning_rate: float
    patience: int = 20
    """Epochs without improvement of the held-out loss after which training stops."""
    weight_decay: float = 0.0
    cosine: bool = False
    """Let the learning rate fall to zero along a cosine."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            epochs=one_or_more,
            batch=one_or_more,
            learning_rate=step_size,
            patience=one_or_more,
            weight_decay=not_negative,
            cosine=truth,
        )


def train_epochs(
    network: "torch.nn.Module",
    loss: "Callable[[torch.Tensor], torch.Tensor]",
    rows: int,
    settings: EpochSettings,
    rng: np.random.Generator,
    held_out_loss: Callable[[], float] | None = None,
    progress: Progress = silent,
) -> int:
    """Adam in shuffled batches of row numbers. With a held-out loss, keep the best weights and stop when it no longer
    improves. Returns the epochs used. Weights that are no longer finite are an error.
    """
    import torch

    optimiser = torch.optim.AdamW(network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    best, best_epoch, epoch = float("inf"), 0, 0
    best_state: list[torch.Tensor] | None = None
    diverged = False
    if held_out_loss is not None:  # what training starts from is a candidate too
        with torch.no_grad():
            best = held_out_loss()
        best_state = [p.detach().clone() for p in network.parameters()]
    for epoch in range(1, settings.epochs + 1):
        for group in optimiser.param_groups if settings.cosine else ():
            group["lr"] = settings.learning_rate * 0.5 * (1.0 + np.cos(np.pi * (epoch - 1) / settings.epochs))
        for part in torch.split(torch.as_tensor(rng.permutation(rows)), settings.batch):
            gradient_steps(optimiser, partial(loss, part), 1)
        progress(epoch / settings.epochs, note("progress.epoch", epoch=epoch, epochs=settings.epochs))
        if held_out_loss is not None:
            with torch.no_grad():
                now = held_out_loss()
            diverged = not np.isfinite(now)
            if diverged:
                break
            if now < best - 1e-5:
                best, best_epoch = now, epoch
                best_state = [p.detach().clone() for p in network.parameters()]
            elif epoch - best_epoch >= settings.patience:
                break
    if best_state is not None:
        with torch.no_grad():
            for parameter, kept in zip(network.parameters(), best_state, strict=True):
                parameter.copy_(kept)
    if diverged or not all(bool(torch.isfinite(parameter).all()) for parameter in network.parameters()):
        raise SettingError("training.diverged", rate=settings.learning_rate)
    network.eval()
    return best_epoch if held_out_loss is not None else epoch
