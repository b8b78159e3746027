"""Rate networks: from covariates to a positive mean capacity, several trained at once.

The members of an ensemble share nothing but the clock: their weights are stacked in one array per layer, so that
training five costs little more than training one, and prediction is plain NumPy (a forward pass of a few people takes
microseconds, not the tenth of a millisecond a torch module needs).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from peerfront.foundation.randomness import named_key
from peerfront.foundation.settings import check_fields, layer_widths, one_of
from peerfront.foundation.stored import Stored

Array = NDArray[np.float64]
LINKS = ("softplus", "scaled softplus", "exp")
SMALLEST = 1e-9  # no mean capacity is exactly zero


@dataclass(frozen=True)
class RateShape:
    """Hidden layers (the paper: two of 64, ReLU) and the last step.

    softplus is the paper's; scaled softplus also learns a factor in front of it; exp makes a linear shape log-linear.
    """

    hidden: tuple[int, ...] = (64, 64)
    link: str = "softplus"

    def __post_init__(self) -> None:
        check_fields(self, hidden=layer_widths)
        one_of("link", self.link, LINKS)

    @property
    def label(self) -> str:
        if not self.hidden:
            return "log-linear" if self.link == "exp" else f"linear, {self.link}"
        return f"network {' x '.join(map(str, self.hidden))}, {self.link}"


class StackedNetworks:
    """Parameters of `members` networks of one shape, for training."""

    def __init__(self, shape: RateShape, inputs: int, members: int, start: Array, seed: int) -> None:
        self.shape = shape
        generator = torch.Generator().manual_seed(named_key("rate network", seed) % 2**63)
        widths = [inputs, *shape.hidden, 1]
        self.weights: list[Tensor] = []
        self.biases: list[Tensor] = []
        for layer, (before, after) in enumerate(pairwise(widths)):
            bound = 0.0 if not shape.hidden else before**-0.5
            draw = torch.rand((members, before, after), generator=generator, dtype=torch.float64)
            bias = torch.rand((members, 1, after), generator=generator, dtype=torch.float64)
            self.weights.append(((2 * draw - 1) * bound).requires_grad_())
            last = layer == len(widths) - 2
            # Start at the data's mean rate: the first epochs are then spent on differences between people.
            offset = torch.as_tensor(_inverse_link(shape.link, start))[:, None, None]
            self.biases.append((offset + torch.zeros_like(bias) if last else (2 * bias - 1) * bound).requires_grad_())

        self.log_scale = torch.zeros((members, 1), dtype=torch.float64)
        if shape.link == "scaled softplus":
            self.log_scale.requires_grad_()

    @property
    def parameters(self) -> list[Tensor]:
        """Everything, [members, ...] each."""
        return [*self.weights, *self.biases, self.log_scale]

    @property
    def trainable(self) -> list[Tensor]:
        return [parameter for parameter in self.parameters if parameter.requires_grad]

    def means(self, rows: Tensor) -> Tensor:
        """[members, people] from [members, people, inputs] or [people, inputs]."""
        hidden = rows
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = torch.relu(hidden @ weight + bias)
        score = (hidden @ self.weights[-1] + self.biases[-1])[..., 0]
        if self.shape.link == "exp":
            return score.clamp(max=12).exp() + SMALLEST
        return torch.nn.functional.softplus(score) * self.log_scale.exp() + SMALLEST


def _inverse_link(link: str, means: Array) -> Array:
    safe = np.maximum(means, 1e-3)
    if link == "exp":
        return np.log(safe)
    return np.where(safe > 30.0, safe, np.log(np.expm1(np.minimum(safe, 30.0))))  # exp(710) is no number


@dataclass(frozen=True, eq=False)
class RateEnsemble:
    """Trained networks; the rate of a person is the average of the members'."""

    shape: RateShape
    weights: tuple[Array, ...]  # per layer [members, inputs, outputs]
    biases: tuple[Array, ...]  # per layer [members, 1, outputs]
    log_scale: Array  # [members, 1]

    def means(self, rows: NDArray[np.float32] | Array) -> Array:
        """Mean capacities, [people]."""
        average: Array = self.member_means(rows).mean(axis=0) + SMALLEST
        return average

    def member_means(self, rows: NDArray[np.float32] | Array) -> Array:
        """What each member makes of each person, [members, people]."""
        hidden: Array = np.asarray(rows, dtype=np.float64)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = np.maximum(hidden @ weight + bias, 0.0)
        score = (hidden @ self.weights[-1] + self.biases[-1])[..., 0]
        means: Array = (
            np.exp(np.minimum(score, 12.0))
            if self.shape.link == "exp"
            else np.logaddexp(0.0, score) * np.exp(self.log_scale)
        )
        return means

    def stored(self) -> Stored:
        layers = {f"weights {n}": weight for n, weight in enumerate(self.weights)}
        layers |= {f"biases {n}": bias for n, bias in enumerate(self.biases)}
        settings = {"hidden": list(self.shape.hidden), "link": self.shape.link}
        return Stored(settings, {**layers, "log scale": self.log_scale})

    @classmethod
    def restored(cls, stored: Stored, inputs: int) -> "RateEnsemble":
        shape = RateShape(stored.whole_numbers("hidden"), stored.setting("link", str))
        log_scale = stored.array("log scale", (None, 1))
        layers = list(enumerate(pairwise([inputs, *shape.hidden, 1])))
        members = len(log_scale)
        return cls(
            shape,
            tuple(stored.array(f"weights {n}", (members, before, after)) for n, (before, after) in layers),
            tuple(stored.array(f"biases {n}", (members, 1, after)) for n, (_, after) in layers),
            log_scale,
        )
