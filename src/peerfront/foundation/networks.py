"""Small networks: one perceptron, frozen or to be trained, and one way to train it, in NumPy.

What can be trained is asked by `traced`: it returns the outputs and a function that takes the slope of a loss in them
and returns its slopes in the parameters (`Backward`). Parameters are arrays that `Adam` changes in place.

Only research needs torch (`torch_networks`); the tests hold outputs, slopes, starts and steps equal to torch's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Progress, note, silent
from peerfront.foundation.randomness import named_key
from peerfront.foundation.settings import among, check_fields, not_negative, one_of, one_or_more, step_size, truth
from peerfront.foundation.stored import Stored

Rows = NDArray[np.float32]
Backward = Callable[[Rows], list[Rows]]
"""From the slope of a loss in some outputs to its slopes in the parameters behind them."""
ACTIVATIONS = ("relu", "gelu")
_LARGEST_WEIGHT = 1e6  # so that what passes through several layers stays finite
_KEPT_MEAN, _KEPT_SQUARE, _SMALLEST_SPREAD = 0.9, 0.999, 1e-8  # of Adam


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


class Perceptron:
    """Linear layers with one activation between them, to be trained."""

    def __init__(self, weights: Sequence[Rows], biases: Sequence[Rows], activation: str = "relu") -> None:
        self.activation = one_of("activation", activation, ACTIVATIONS)
        self.weights, self.biases = list(weights), list(biases)  # [inputs, outputs] and [outputs], changed in place

    @classmethod
    def started(cls, sizes: Sequence[int], seed: int, activation: str = "relu") -> "Perceptron":
        """Layers of these sizes, uniform on +- 1 / sqrt(inputs).

        ReLU layers start as torch's do from this seed; GELU layers from a generator named by the seed.
        """
        if activation == "relu":
            uniforms = _TorchUniforms(seed)
        else:
            uniforms = _TorchUniforms(named_key("perceptron", seed) % 2**63)
        weights: list[Rows] = []
        biases: list[Rows] = []
        for inputs, outputs in pairwise(sizes):
            for shape in ((outputs, inputs), (outputs,)):
                if activation == "relu":
                    # torch's way to one bound of two: its last digit differs between weights and biases.
                    wide = np.sqrt(3.0) * (np.sqrt(1.0 / 3.0) / np.sqrt(inputs)) if len(shape) == 2 else inputs**-0.5
                    drawn = uniforms.between(-wide, wide, shape)
                else:
                    drawn = (2 * uniforms.rows(shape) - 1) * np.float32(inputs**-0.5)
                (weights if len(shape) == 2 else biases).append(drawn.T.copy())
        return cls(weights, biases, activation)

    @property
    def parameters(self) -> list[Rows]:
        return [parameter for layer in zip(self.weights, self.biases, strict=True) for parameter in layer]

    def __call__(self, rows: Rows) -> Rows:
        return self.traced(rows)[0]

    def traced(self, rows: Rows) -> tuple[Rows, Backward]:
        """The outputs, and the way back."""
        inputs, slopes = [rows], []  # of each layer; of each activation
        outputs = rows @ self.weights[0]
        outputs += self.biases[0]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            activated, slope = _activated_with_slope(outputs, self.activation)
            inputs.append(activated)
            slopes.append(slope)
            outputs = activated @ weight
            outputs += bias

        def backward(slope: Rows) -> list[Rows]:
            found: list[Rows] = []
            for layer in range(len(self.weights) - 1, -1, -1):
                found += [slope.sum(axis=0), inputs[layer].T @ slope]
                if layer:
                    slope = slope @ self.weights[layer].T
                    slope *= slopes[layer - 1]
            return found[::-1]

        return outputs, backward

    def frozen(self) -> FrozenNetwork:
        """Copy the network as it is now."""
        weights, biases = (tuple(part.copy() for part in parts) for parts in (self.weights, self.biases))
        return FrozenNetwork(weights, biases, self.activation)


def _activated_with_slope(sums: Rows, activation: str) -> tuple[Rows, Rows | NDArray[np.bool_]]:
    """The activation of sums, which it may write over, and its slope."""
    if activation == "relu":
        activated = np.maximum(sums, np.float32(0.0), out=sums)
        return activated, activated > 0.0
    share = np.asarray(0.5 + 0.5 * erf(sums * np.float32(0.5**0.5)), dtype=np.float32)
    return sums * share, share + sums * np.exp(-0.5 * sums * sums) * np.float32((2.0 * np.pi) ** -0.5)


class _TorchUniforms:
    """The single-precision uniforms that torch draws from a seed: both are the Mersenne twister's lowest 24 bits."""

    def __init__(self, seed: int) -> None:
        self._twister = np.random.RandomState(seed % 2**32)

    def rows(self, shape: tuple[int, ...]) -> Rows:
        """On [0, 1)."""
        drawn = self._twister.randint(0, 2**32, size=shape, dtype=np.uint32)
        return (drawn & np.uint32(2**24 - 1)).astype(np.float32) * np.float32(2.0**-24)

    def between(self, low: float, high: float, shape: tuple[int, ...]) -> Rows:
        """On [low, high), multiplied and added with one rounding."""
        start, end = np.float32(low), np.float32(high)
        drawn: Rows = (self.rows(shape).astype(np.float64) * np.float64(end - start) + start).astype(np.float32)
        return drawn


class Adam:
    """Adam (Kingma and Ba 2015), with decoupled weight decay; changes the parameters in place."""

    def __init__(self, parameters: Sequence[Rows], learning_rate: float, weight_decay: float = 0.0) -> None:
        self.parameters, self.learning_rate, self.weight_decay = list(parameters), learning_rate, weight_decay
        size = sum(parameter.size for parameter in parameters)
        self._mean, self._square = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.float32)
        self._taken = 0

    def step(self, slopes: Sequence[Rows], learning_rate: float | None = None, longest: float | None = None) -> None:
        """Take a step down these slopes of a loss, shortened together if they are longer than `longest`."""
        rate = self.learning_rate if learning_rate is None else learning_rate
        slope = np.concatenate([each.reshape(-1) for each in slopes])
        if longest is not None:
            slope *= min(1.0, longest / (float(np.linalg.norm(slope)) + 1e-6))
        self._taken += 1
        self._mean += (1.0 - _KEPT_MEAN) * (slope - self._mean)
        self._square *= _KEPT_SQUARE
        self._square += (1.0 - _KEPT_SQUARE) * slope * slope
        spread = np.sqrt(self._square)
        spread /= (1.0 - _KEPT_SQUARE**self._taken) ** 0.5
        spread += _SMALLEST_SPREAD
        change = self._mean / spread
        change *= rate / (1.0 - _KEPT_MEAN**self._taken)
        start = 0
        for parameter in self.parameters:
            if self.weight_decay:
                parameter *= 1.0 - rate * self.weight_decay
            parameter -= change[start : start + parameter.size].reshape(parameter.shape)
            start += parameter.size


def cosine_rate(learning_rate: float, step: int, steps: int) -> float:
    """The learning rate of step 0, 1, ... of `steps`: it falls from `learning_rate` to zero along half a cosine."""
    return float(learning_rate * 0.5 * (1.0 + np.cos(np.pi * step / steps)))


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
    parameters: Sequence[Rows],
    slopes: Callable[[NDArray[np.int64]], Sequence[Rows]],
    rows: int,
    settings: EpochSettings,
    rng: np.random.Generator,
    held_out_loss: Callable[[], float] | None = None,
    progress: Progress = silent,
) -> int:
    """Adam in shuffled batches of row numbers, of which `slopes` gives the loss's slopes in the parameters.

    With a held-out loss, keep the best parameters and stop when it no longer improves. Returns the epochs used.
    Parameters that are no longer finite are an error.
    """
    optimiser = Adam(parameters, settings.learning_rate, settings.weight_decay)
    best, best_epoch, epoch = float("inf"), 0, 0
    kept: list[Rows] | None = None
    diverged = False
    if held_out_loss is not None:  # what training starts from is a candidate too
        best = held_out_loss()
        kept = [parameter.copy() for parameter in parameters]
    for epoch in range(1, settings.epochs + 1):
        rate = settings.learning_rate
        if settings.cosine:
            rate = cosine_rate(rate, epoch - 1, settings.epochs)
        order = rng.permutation(rows)
        for start in range(0, rows, settings.batch):
            optimiser.step(slopes(order[start : start + settings.batch]), rate)
        progress(epoch / settings.epochs, note("progress.epoch", epoch=epoch, epochs=settings.epochs))
        if held_out_loss is not None:
            now = held_out_loss()
            diverged = not np.isfinite(now)
            if diverged:
                break
            if now < best - 1e-5:
                best, best_epoch = now, epoch
                kept = [parameter.copy() for parameter in parameters]
            elif epoch - best_epoch >= settings.patience:
                break
    if kept is not None:
        for parameter, best_values in zip(parameters, kept, strict=True):
            parameter[...] = best_values
    if diverged or not all(bool(np.isfinite(parameter).all()) for parameter in parameters):
        raise SettingError("training.diverged", rate=settings.learning_rate)
    return best_epoch if held_out_loss is not None else epoch
