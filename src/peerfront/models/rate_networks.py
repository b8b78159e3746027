"""Rate networks in torch: those of all members of an ensemble, stacked, so that five cost little more than one."""

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from peerfront.foundation.randomness import named_key
from peerfront.models.rates import SMALLEST_RATE, RateEnsemble, RateShape

Array = NDArray[np.float64]


class StackedNetworks:
    """Parameters of `members` rate networks of one shape, [members, ...] each; `start` are their first mean rates."""

    inputs_used: Tensor | None = None  # [columns], the others have weights of exactly 0; None for all

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
            return score.clamp(max=12).exp() + SMALLEST_RATE
        return torch.nn.functional.softplus(score) * self.log_scale.exp() + SMALLEST_RATE

    def ensemble(self) -> RateEnsemble:
        """A copy of the networks as they are now."""
        weights = [weight.detach().clone() for weight in self.weights]
        if self.inputs_used is not None:
            weights[0][:, ~self.inputs_used] = 0.0
        return RateEnsemble(
            self.shape,
            tuple(weight.numpy() for weight in weights),
            tuple(bias.detach().numpy().copy() for bias in self.biases),
            self.log_scale.detach().numpy().copy(),
        )


def _inverse_link(link: str, means: Array) -> Array:
    safe = np.maximum(means, 1e-3)
    if link == "exp":
        return np.log(safe)
    return np.where(safe > 30.0, safe, np.log(np.expm1(np.minimum(safe, 30.0))))  # exp(710) is no number
