"""Training of response models in torch: all members of one shape and family at once, each with its own held-out fold.

The members of an ensemble share nothing but the clock: their weights are stacked in one array per layer, so that
training five costs little more than training one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from peerfront.foundation.counts import is_dispersed, is_inflated
from peerfront.foundation.networks import EpochSettings
from peerfront.foundation.randomness import named_generator, named_key
from peerfront.models.response.rates import SMALLEST_RATE, Candidate, Fit, RateEnsemble, RateShape, folds_of
from peerfront.models.response.response_likelihood import censored_log_likelihood
from peerfront.problem import History

Array = NDArray[np.float64]
FEWEST_SHOWN = 5
"""People who must have had a number of coupons before it counts as shown."""
_BIAS_RIDGE = 1e-3  # ridge on the bias, in rows; negligible with informative data


@dataclass(frozen=True, eq=False)
class Rows:
    """The informative triples of a history."""

    inputs: Tensor  # [rows, columns]
    coupons: Tensor  # [rows]
    recruits: Tensor  # [rows]

    @classmethod
    def of(cls, history: History) -> "Rows":
        rows = history.informative_rows()
        return cls(
            torch.as_tensor(history.schema.one_hot(history.referrers[rows]), dtype=torch.float64),
            torch.as_tensor(history.coupons[rows], dtype=torch.float64),
            torch.as_tensor(history.recruits[rows], dtype=torch.float64),
        )

    def __len__(self) -> int:
        return len(self.coupons)

    @property
    def most_shown(self) -> int:
        """The most coupons that at least `FEWEST_SHOWN` people had (all of them, if they are fewer)."""
        most, _ = self.coupons.sort(descending=True)
        return int(most[min(FEWEST_SHOWN, len(self)) - 1])

    @property
    def all_saturated(self) -> bool:
        """Whether everybody brought as many as they could have, so that no capacity was ever seen."""
        return bool((self.recruits >= self.coupons).all())

    def rough_rate(self, rows: NDArray[np.int64]) -> float:
        """Where rates start, not an estimate: recruits per person, saturated rows counted half a person more."""
        recruits, coupons = self.recruits[rows], self.coupons[rows]
        return float((recruits + 0.5 * (recruits >= coupons)).mean()) + 0.05

    def restricted_to(self, columns: NDArray[np.bool_]) -> "Rows":
        """The same rows with nothing known but these columns."""
        return replace(self, inputs=torch.where(torch.as_tensor(columns), self.inputs, 0.0))


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


class Trainer:
    """All members of one shape and family, with what they are trained and judged on."""

    def __init__(
        self,
        data: Rows,
        shape: RateShape,
        family: str,
        members: int,
        seed: int,
        columns: NDArray[np.bool_] | None = None,
    ) -> None:
        """`columns` are those that rates may depend on, [inputs]; None for all."""
        if columns is not None:
            data = data.restricted_to(columns)
        self.data, self.shape, self.family, self.members = data, shape, family, members
        rows = len(data)
        self.rng = named_generator("capacity fit", seed)
        # The same folds for every shape and family, so that their held-out likelihoods are paired.
        fold = folds_of(rows, members, self.rng)
        self.training = [np.flatnonzero(fold != member) for member in range(members)]
        self.held_out = torch.as_tensor(fold)[None, :] == torch.arange(members)[:, None]  # [members, rows]
        start = np.array([data.rough_rate(part) for part in self.training])
        self.networks = StackedNetworks(shape, data.inputs.shape[1], members, start, seed)
        if columns is not None:
            self.networks.inputs_used = torch.as_tensor(columns)
        self._log_size = torch.full((members, 1), 1.0, dtype=torch.float64, requires_grad=True)
        self._zero_logit = torch.full((members, 1), -2.0, dtype=torch.float64, requires_grad=True)
        self.extra = [
            *([self._log_size] if is_dispersed(family) else []),
            *([self._zero_logit] if is_inflated(family) else []),
        ]
        self.everybody = torch.arange(rows).expand(members, rows)
        # Of few columns many rows are the same, and so is their likelihood: the distinct ones, and which each row is.
        self._distinct: tuple[Rows, Tensor] | None = None
        if columns is not None:
            known = torch.as_tensor(columns)
            whole = torch.cat([torch.stack([data.coupons, data.recruits], dim=1), data.inputs[:, known]], dim=1)
            cells, which = torch.unique(whole, dim=0, return_inverse=True)
            inputs = torch.zeros((len(cells), data.inputs.shape[1]), dtype=torch.float64)
            inputs[:, known] = cells[:, 2:]
            self._distinct = Rows(inputs, cells[:, 0], cells[:, 1]), which

    @property
    def log_size(self) -> Tensor:
        """Log size of each member's distribution, within what the data can tell apart, [members, 1]."""
        return self._log_size.clamp(-5, 8)

    @property
    def zero_logit(self) -> Tensor:
        """Logit of each member's probability that nobody comes at all, [members, 1]."""
        return self._zero_logit.clamp(-12, 6)

    @property
    def parameters(self) -> list[Tensor]:
        return [*self.networks.parameters, self._log_size, self._zero_logit]

    def likelihood(self, rows: Tensor) -> Tensor:
        """Log-likelihood of some rows under each member, [members, rows]."""
        if self._distinct is None:
            data = self.data
            rates = self.networks.means(data.inputs[rows])
            return self._likelihood(data.coupons[rows], data.recruits[rows], rates)
        cells, which = self._distinct
        coupons, recruits = (part.expand(self.members, -1) for part in (cells.coupons, cells.recruits))
        each = self._likelihood(coupons, recruits, self.networks.means(cells.inputs))
        return torch.gather(each, 1, which[rows])

    def _likelihood(self, coupons: Tensor, recruits: Tensor, rates: Tensor) -> Tensor:
        return censored_log_likelihood(self.family, coupons, recruits, rates, self.log_size, self.zero_logit)

    def held_out_rows(self) -> Array:
        """Log-likelihood of each row under the member that does not see it, [rows]; NaN if there is none."""
        if self.members == 1:
            return np.full(len(self.data), np.nan)
        with torch.no_grad():
            rows: Array = torch.where(self.held_out, self.likelihood(self.everybody), 0.0).sum(dim=0).numpy()
        return rows

    def by_member(self, rows: Array) -> Array:
        """Mean held-out log-likelihood of each member, [members]."""
        held_out = self.held_out.numpy()
        means: Array = np.where(held_out, rows, 0.0).sum(axis=1) / held_out.sum(axis=1)
        return means

    def restore(self, kept: list[Tensor]) -> None:
        """Go back to kept values of the parameters."""
        with torch.no_grad():
            for parameter, value in zip(self.parameters, kept, strict=True):
                parameter.copy_(value)

    def finish(self, epochs: Sequence[int], held_out: Array) -> Fit:
        """What was learned, with the held-out likelihood of each row."""
        candidate = Candidate(self.shape, self.family, held_out, tuple(int(epoch) for epoch in epochs))
        return Fit(
            candidate,
            self.networks.ensemble(),
            size=float(self.log_size.detach().exp().mean()) if is_dispersed(self.family) else float("inf"),
            zero=float(torch.sigmoid(self.zero_logit.detach()).mean()) if is_inflated(self.family) else 0.0,
        )


def train_network(trainer: Trainer, settings: EpochSettings) -> Fit:
    """Adam in batches; each member keeps the weights that were best on its own held-out fold."""
    members = trainer.members
    groups: list[dict[str, object]] = [
        {"params": trainer.networks.trainable},
        {"params": trainer.extra, "lr": 10 * settings.learning_rate},
    ]
    optimiser = torch.optim.Adam(groups, lr=settings.learning_rate)
    smallest = min(len(part) for part in trainer.training)
    batches = max(1, smallest // settings.batch)
    best_score, best_epoch = np.full(members, -np.inf), np.zeros(members, dtype=int)
    kept = [parameter.detach().clone() for parameter in trainer.parameters]
    best_rows = np.full(len(trainer.data), -np.inf)
    for epoch in range(1, settings.epochs + 1):
        order = np.stack([trainer.rng.permutation(part)[:smallest] for part in trainer.training])
        for rows_of_batch in torch.tensor_split(torch.as_tensor(order), batches, dim=1):
            optimiser.zero_grad()
            loss = -trainer.likelihood(rows_of_batch).mean(dim=1).sum()
            loss.backward()
            optimiser.step()
        rows = trainer.held_out_rows()
        if members == 1 or rows.mean() > best_rows.mean():
            best_rows = rows
        score = trainer.by_member(rows) if members > 1 else np.full(1, float(epoch))
        better = score > best_score + 1e-6
        best_score, best_epoch = np.where(better, score, best_score), np.where(better, epoch, best_epoch)
        for saved, current in zip(kept, trainer.parameters, strict=True):
            saved[better] = current.detach()[better]
        if (epoch - best_epoch >= settings.patience).all():
            break
    trainer.restore(kept)
    # Judged at one epoch for all: at every member's own best epoch the network would look better than it is.
    return trainer.finish(best_epoch.tolist(), best_rows)


def train_linear(trainer: Trainer, penalties: Sequence[float]) -> Fit:
    """Penalised maximum likelihood (L-BFGS to convergence); the penalty is chosen on the held-out folds."""
    best: tuple[Array, float, list[Tensor]] | None = None
    sizes = torch.as_tensor([len(part) for part in trainer.training])
    biases = trainer.networks.biases
    start = [bias.detach().clone() for bias in biases]
    for penalty in penalties if trainer.members > 1 else penalties[-1:]:
        optimiser = torch.optim.LBFGS(
            [*trainer.networks.trainable, *trainer.extra], max_iter=100, history_size=20, line_search_fn="strong_wolfe"
        )

        def loss(penalty: float = penalty, optimiser: torch.optim.LBFGS = optimiser) -> float:
            optimiser.zero_grad()
            each = trainer.likelihood(trainer.everybody)
            fit = torch.where(trainer.held_out, 0.0, each).sum(dim=1) / sizes
            ridge = sum((weight**2).sum(dim=(1, 2)) for weight in trainer.networks.weights) / sizes
            # Where every coupon was used, no rate is too large for the data: stay within reach of the rough mean.
            reach = sum(((bias - rough) ** 2).sum(dim=(1, 2)) for bias, rough in zip(biases, start, strict=True))
            reach = (reach + (trainer.networks.log_scale**2).sum(dim=1)) / sizes
            total = (-fit + penalty * ridge + _BIAS_RIDGE * reach).sum()
            total.backward()
            return float(total.detach())

        optimiser.step(loss)
        rows = trainer.held_out_rows()
        if best is None or rows.mean() > best[0].mean() or np.isnan(best[0].mean()):
            best = rows, penalty, [parameter.detach().clone() for parameter in trainer.parameters]
    assert best is not None, "there is at least one penalty"
    trainer.restore(best[2])
    return replace(trainer.finish([0] * trainer.members, best[0]), penalty=best[1])
