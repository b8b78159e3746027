"""The latent-coverage value surrogate (Section 3.2, Equations 3 and 4).

    V(r, F) = sum_j w_j(r) * (1 - exp(-sum_{x in F} h_j(x))),     h = softplus(net) >= 0,     w(r) = r * softmax(g(r)),

so 0 <= V <= r. A person covers latent coordinate j by h_j; what is covered already is worth nothing more.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from peerfront.errors import SettingError
from peerfront.planning.networks import FrozenNetwork, PersonInputs, Rows, frozen, perceptron
from peerfront.problem import whole_number

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SurrogateSettings:
    """The shape of the surrogate and where it starts."""

    latent: int = 8
    """Coordinates d."""
    hidden: int = 64
    """Width of both networks: h has two hidden layers, g has one."""
    scaled_budget: bool = True
    """Give g the share r / B (and its root) instead of the raw number r."""
    first_bias: tuple[float, float] | None = (-3.5, -0.5)
    """Biases of h before the softplus are spread over this range, so that coverage starts between almost nothing and
    order one; None leaves torch's start, where ten people cover everything."""

    @classmethod
    def paper(cls) -> "SurrogateSettings":
        """d = 32, hidden 64, everything else as torch and the text leave it."""
        return cls(latent=32, scaled_budget=False, first_bias=None)

    def __post_init__(self) -> None:
        whole_number("latent", self.latent, 1)
        whole_number("hidden", self.hidden, 1)


class Surrogate:
    """The trainable surrogate for budgets up to `budget`."""

    def __init__(self, inputs: PersonInputs, budget: int, settings: SurrogateSettings, seed: int) -> None:
        self.inputs, self.budget, self.settings = inputs, budget, settings
        self.coverage_network = perceptron([inputs.width, settings.hidden, settings.hidden, settings.latent], seed)
        self.weight_network = perceptron(
            [2 if settings.scaled_budget else 1, settings.hidden, settings.latent], seed + 1
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

    def weights(self, budgets: torch.Tensor) -> torch.Tensor:
        """w(r), [states, latent]."""
        return budgets[:, None] * torch.softmax(self.weight_network(self._budget_inputs(budgets)), dim=1)

    def values(self, budgets: torch.Tensor, rows: torch.Tensor, owner: torch.Tensor) -> torch.Tensor:
        """V of states whose people stand one after another: person i is on the frontier of state owner[i]; [states]."""
        covered = torch.zeros(len(budgets), self.settings.latent).index_add_(0, owner, self.coverage(rows))
        return (self.weights(budgets) * -torch.expm1(-covered)).sum(dim=1)

    def _budget_inputs(self, budgets: torch.Tensor) -> torch.Tensor:
        if not self.settings.scaled_budget:
            return budgets[:, None]
        share = budgets[:, None] / max(self.budget, 1)
        return torch.cat([share, share.sqrt()], dim=1)

    def freeze(self) -> "FrozenSurrogate":
        """The surrogate as it is now, as arrays."""
        with torch.no_grad():
            table = self.weights(torch.arange(self.budget + 1, dtype=torch.float32)).double().numpy().copy()
        return FrozenSurrogate(self.inputs, frozen(self.coverage_network), table)


@dataclass(frozen=True, eq=False)
class FrozenSurrogate:
    """A surrogate to plan with: h as matrices, w as a table."""

    inputs: PersonInputs
    coverage_network: FrozenNetwork
    weights: Array  # [budget + 1, latent], w(r)

    @property
    def budget(self) -> int:
        return len(self.weights) - 1

    @property
    def latent(self) -> int:
        return self.weights.shape[1]

    def coverage(self, rows: Rows) -> Array:
        """h of people described by `inputs.rows`, [people, latent]."""
        return np.logaddexp(0.0, self.coverage_network(rows).astype(np.float64))

    def values(self, budgets: NDArray[np.int64], rows: Rows, first: NDArray[np.int64]) -> Array:
        """V of states whose people are rows first[f] .. first[f + 1] - 1, [states]."""
        self.check_budget(int(budgets.max(initial=0)))
        totals = np.concatenate([np.zeros((1, self.latent)), np.cumsum(self.coverage(rows), axis=0)])
        covered = np.maximum(totals[first[1:]] - totals[first[:-1]], 0.0)
        values: Array = (self.weights[budgets] * -np.expm1(-covered)).sum(axis=1)
        return values

    def check_budget(self, budget: int) -> None:
        if budget > self.budget:
            raise SettingError(
                f"This value was learned for budgets of at most {self.budget}; found {budget}. "
                "Fit it for the larger one."
            )
