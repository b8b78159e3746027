"""The latent-coverage value surrogate (Section 3.2, Equations 3 and 4).

    V(r, F) = sum_j w_j(r) * (1 - exp(-sum_{x in F} h_j(x))),     h = softplus(net) >= 0,     w(r) = r * softmax(g(r)),

so 0 <= V <= r. A person covers latent coordinate j by h_j; what is covered already is worth nothing more.

**Deadlines.** The paper's value does not know how many rounds are left. With `SurrogateSettings.deadline` it does:

    w(r, 0) = 0,     w(r, t) = r * (the first d of softmax(g(r, t)), which has d + 1),     t = 1 .. T rounds left.

Nothing can come after the last round, and the coordinate left out takes what the time does not suffice to use. In a
round with t left (this one included) the backup needs w(r - s, t - 1), one more table of the same kind, so that
Propositions 1 to 3 hold as they stand.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.settings import whole_number
from peerfront.foundation.stored import Stored
from peerfront.problem import CapacityModel
from peerfront.value.networks import FrozenNetwork, PersonInputs, Rows, frozen, perceptron

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
    deadline: bool = False
    """Whether the weights know how many rounds are left; for studies of few rounds. The paper's do not."""

    @classmethod
    def paper(cls) -> "SurrogateSettings":
        """d = 32, hidden 64, everything else as torch and the text leave it."""
        return cls(latent=32, scaled_budget=False, first_bias=None)

    def __post_init__(self) -> None:
        whole_number("latent", self.latent, 1)
        whole_number("hidden", self.hidden, 1)


class Surrogate:
    """The trainable surrogate for budgets up to `budget` and, if it knows deadlines, up to `rounds` rounds left."""

    def __init__(
        self, inputs: PersonInputs, budget: int, settings: SurrogateSettings, seed: int, rounds: int | None = None
    ) -> None:
        if settings.deadline and rounds is None:
            raise SettingError("A value that knows the deadline needs the number of rounds; found none.")
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
        """w(r), or w(r, t) of a value that knows the deadline, [states, latent]."""
        seen = self._budget_inputs(budgets)
        if self.rounds is None:
            return budgets[:, None] * torch.softmax(self.weight_network(seen), dim=1)
        if rounds_left is None:
            raise SettingError("This value knows the deadline: say how many rounds each state has left.")
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
class FrozenSurrogate:
    """A surrogate to plan with: h as matrices, w as a table."""

    inputs: PersonInputs
    coverage_network: FrozenNetwork
    weights: Array  # [budget + 1, latent], w(r); or [rounds + 1, budget + 1, latent], w(r, t)

    @property
    def budget(self) -> int:
        return self.weights.shape[-2] - 1

    @property
    def latent(self) -> int:
        return self.weights.shape[-1]

    @property
    def rounds(self) -> int | None:
        """The most rounds left that the value tells apart; None if it knows no deadline."""
        return None if self.weights.ndim == 2 else len(self.weights) - 1

    def tables(self) -> Array:
        """The weights as [tables, budget + 1, latent]; `table_with` says which one a state needs."""
        return self.weights[None] if self.weights.ndim == 2 else self.weights

    def table_with(self, rounds_left: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of `tables` values states with so many rounds left; more than were learned count as the most."""
        return np.zeros_like(rounds_left) if self.rounds is None else np.clip(rounds_left, 0, self.rounds)

    def weights_with(self, rounds_left: int) -> Array:
        """w(., t), [budget + 1, latent]."""
        table: Array = self.tables()[self.table_with(np.array(rounds_left))]
        return table

    def coverage(self, rows: Rows) -> Array:
        """h of people described by `inputs.rows`, [people, latent]."""
        return np.logaddexp(0.0, self.coverage_network(rows).astype(np.float64))

    def values(
        self,
        budgets: NDArray[np.int64],
        rows: Rows,
        first: NDArray[np.int64],
        rounds_left: NDArray[np.int64] | None = None,
    ) -> Array:
        """V of states whose people are rows first[f] .. first[f + 1] - 1, [states]."""
        self.check_budget(int(budgets.max(initial=0)))
        if self.rounds is not None and rounds_left is None:
            raise SettingError("This value knows the deadline: say how many rounds each state has left.")
        which = self.table_with(np.zeros_like(budgets) if rounds_left is None else rounds_left)
        totals = np.concatenate([np.zeros((1, self.latent)), np.cumsum(self.coverage(rows), axis=0)])
        covered = np.maximum(totals[first[1:]] - totals[first[:-1]], 0.0)
        values: Array = (self.tables()[which, budgets] * -np.expm1(-covered)).sum(axis=1)
        return values

    def stored(self) -> Stored:
        settings = {"sees": self.inputs.sees}
        tables = Stored({}, {"tables": self.weights})
        return Stored.of_parts(settings, coverage=self.coverage_network.stored(), weights=tables)

    @classmethod
    def restored(cls, stored: Stored, schema: Schema, capacity: CapacityModel) -> "FrozenSurrogate":
        inputs = PersonInputs.seeing(stored.setting("sees", str), schema, capacity)
        tables = stored.part("weights")
        found = tables.arrays.get("tables")
        dimensions = 3 if found is not None and found.ndim == 3 else 2
        weights = tables.array("tables", (None,) * dimensions)
        _check_weights(weights, tables.place)
        return cls(inputs, FrozenNetwork.restored(stored.part("coverage"), inputs.width, weights.shape[-1]), weights)

    def check_budget(self, budget: int) -> None:
        if budget > self.budget:
            raise SettingError(
                f"This value was learned for budgets of at most {self.budget}; found {budget}. "
                "Fit it for the larger one."
            )


def _check_weights(weights: Array, place: str) -> None:
    """What makes a table of weights a value between 0 and r, 0 after the last round."""
    budgets = np.arange(weights.shape[-2])
    wrong = (weights < 0.0).any() or (weights.sum(axis=-1) > budgets * (1.0 + 1e-5)).any()
    if not weights.size or wrong or (weights.ndim == 3 and weights[0].any()):
        raise DataFileError(
            f"In {place}, the weights are not those of a value between 0 and the budget. Make the fit again."
        )
