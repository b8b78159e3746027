"""Training of capacity models: all members of one shape and family at once, each with its own held-out fold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from peerfront.foundation.counts import DESCRIPTIONS, is_dispersed, is_inflated
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_generator
from peerfront.models.capacity_settings import CapacitySettings
from peerfront.models.censored_likelihood import censored_log_likelihood
from peerfront.models.checks import informative_rows
from peerfront.models.rate_network import RateEnsemble, RateShape, StackedNetworks
from peerfront.problem import History

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Candidate:
    """One shape and family that was tried, with its held-out censored log-likelihood per row."""

    shape: RateShape
    family: str
    held_out: Array  # [rows], NaN where nothing was held out
    epochs: tuple[int, ...]  # per member, the epoch it was stopped at

    @property
    def score(self) -> float:
        return float(self.held_out.mean())

    @property
    def label(self) -> str:
        return f"{DESCRIPTIONS[self.family]}, {self.shape.label}"


@dataclass(frozen=True, eq=False)
class Rows:
    """The informative triples of a history."""

    inputs: torch.Tensor  # [rows, columns]
    coupons: torch.Tensor  # [rows]
    recruits: torch.Tensor  # [rows]

    @classmethod
    def of(cls, history: History) -> "Rows":
        rows = informative_rows(history)
        return cls(
            torch.as_tensor(history.schema.one_hot(history.referrers[rows]), dtype=torch.float64),
            torch.as_tensor(history.coupons[rows], dtype=torch.float64),
            torch.as_tensor(history.recruits[rows], dtype=torch.float64),
        )

    def __len__(self) -> int:
        return len(self.coupons)

    @property
    def all_saturated(self) -> bool:
        """Whether everybody brought as many as they could have, so that no capacity was ever seen."""
        return bool((self.recruits >= self.coupons).all())


@dataclass(frozen=True, eq=False)
class Fit:
    """What one shape and family learned."""

    candidate: Candidate
    rates: RateEnsemble
    size: float
    zero: float
    members: Array  # [members, 2], log size and logit zero of each; 0 where the family has none
    penalty: float | None = None  # of a linear shape


_ANCHOR = 1e-3  # rows' worth; nothing wherever the data say anything


class Trainer:
    """All members of one shape and family, with what they are trained and judged on."""

    def __init__(self, data: Rows, shape: RateShape, family: str, settings: CapacitySettings) -> None:
        self.data, self.shape, self.family, self.settings = data, shape, family, settings
        rows, self.members = len(data), settings.folds
        self.rng = named_generator("capacity fit", settings.seed)
        # The same folds for every shape and family, so that their held-out likelihoods are paired.
        fold = self.rng.permutation(rows) % self.members if self.members > 1 else np.full(rows, -1)
        self.training = [np.flatnonzero(fold != member) for member in range(self.members)]
        self.held_out = torch.as_tensor(fold)[None, :] == torch.arange(self.members)[:, None]  # [members, rows]
        start = np.array([_rough_mean(data, chosen) for chosen in self.training])
        self.networks = StackedNetworks(shape, data.inputs.shape[1], self.members, start, settings.seed)
        self.log_size = torch.full((self.members, 1), 1.0, dtype=torch.float64, requires_grad=True)
        self.zero_logit = torch.full((self.members, 1), -2.0, dtype=torch.float64, requires_grad=True)
        self.extra = [
            *([self.log_size] if is_dispersed(family) else []),
            *([self.zero_logit] if is_inflated(family) else []),
        ]
        self.everybody = torch.arange(rows).expand(self.members, rows)

    def likelihood(self, chosen: torch.Tensor) -> torch.Tensor:
        """Censored log-likelihood of the chosen rows under each member, [members, chosen]."""
        return censored_log_likelihood(
            self.family,
            self.data.coupons[chosen],
            self.data.recruits[chosen],
            self.networks.means(self.data.inputs[chosen]),
            self.log_size.clamp(-5, 8),
            self.zero_logit.clamp(-12, 6),
        )

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

    @property
    def parameters(self) -> list[torch.Tensor]:
        return [*self.networks.parameters, self.log_size, self.zero_logit]

    def restore(self, kept: list[torch.Tensor]) -> None:
        with torch.no_grad():
            for parameter, value in zip(self.parameters, kept, strict=True):
                parameter.copy_(value)

    def finish(self, epochs: Sequence[int], held_out: Array) -> Fit:
        """What was learned, and the held-out likelihood of each row."""
        size = float(self.log_size.detach().clamp(-5, 8).exp().mean()) if is_dispersed(self.family) else float("inf")
        zero = float(torch.sigmoid(self.zero_logit.detach().clamp(-12, 6)).mean()) if is_inflated(self.family) else 0.0
        rates = RateEnsemble(
            self.shape,
            tuple(weight.detach().numpy().copy() for weight in self.networks.weights),
            tuple(bias.detach().numpy().copy() for bias in self.networks.biases),
            self.networks.log_scale.detach().numpy().copy(),
        )
        candidate = Candidate(self.shape, self.family, held_out, tuple(int(e) for e in epochs))
        judged = self.members == 1 or bool(np.isfinite(held_out).all())
        if not judged or not all(bool(torch.isfinite(parameter).all()) for parameter in self.parameters):
            raise SettingError(
                f"The fit of {candidate.label} diverged: its rates are not numbers. Use a smaller learning rate "
                f"(found {self.settings.learning_rate:g}), larger penalties, or leave this shape out."
            )
        nothing = torch.zeros((self.members, 1), dtype=torch.float64)
        log_size = self.log_size.detach().clamp(-5, 8) if is_dispersed(self.family) else nothing
        logit = self.zero_logit.detach().clamp(-12, 6) if is_inflated(self.family) else nothing
        return Fit(candidate, rates, size, zero, torch.cat([log_size, logit], dim=1).numpy().copy())


def fit_shape(
    data: Rows, shape: RateShape, family: str, settings: CapacitySettings, tell: Callable[[str], None]
) -> Fit:
    """Train one shape and family; linear shapes to convergence, networks in epochs."""
    tell(f"{DESCRIPTIONS[family]}, {shape.label}")
    trainer = Trainer(data, shape, family, settings)
    if shape.hidden:
        return _train_network(trainer)
    return _train_linear(trainer)


def _train_network(trainer: Trainer) -> Fit:
    """Adam in batches; each member keeps the weights that were best on its own held-out fold."""
    settings, members = trainer.settings, trainer.members
    groups: list[dict[str, object]] = [
        {"params": trainer.networks.trainable},
        {"params": trainer.extra, "lr": 10 * settings.learning_rate},
    ]
    optimiser = torch.optim.Adam(groups, lr=settings.learning_rate)
    smallest = min(len(chosen) for chosen in trainer.training)
    batches = max(1, smallest // settings.batch)
    best_score, best_epoch = np.full(members, -np.inf), np.zeros(members, dtype=int)
    kept = [parameter.detach().clone() for parameter in trainer.parameters]
    best_rows = np.full(len(trainer.data), -np.inf)
    for epoch in range(1, settings.epochs + 1):
        order = np.stack([trainer.rng.permutation(chosen)[:smallest] for chosen in trainer.training])
        for part in torch.tensor_split(torch.as_tensor(order), batches, dim=1):
            optimiser.zero_grad()
            loss = -trainer.likelihood(part).mean(dim=1).sum()
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


def _train_linear(trainer: Trainer) -> Fit:
    """Penalised maximum likelihood (L-BFGS to convergence); the penalty is chosen on the held-out folds."""
    best: tuple[Array, float, list[torch.Tensor]] | None = None
    sizes = torch.as_tensor([len(chosen) for chosen in trainer.training])
    biases = trainer.networks.biases
    start = [bias.detach().clone() for bias in biases]
    for penalty in trainer.settings.penalties if trainer.members > 1 else trainer.settings.penalties[-1:]:
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
            total = (-fit + penalty * ridge + _ANCHOR * reach).sum()
            total.backward()
            return float(total.detach())

        optimiser.step(loss)
        rows = trainer.held_out_rows()
        if best is None or rows.mean() > best[0].mean() or np.isnan(best[0].mean()):
            best = rows, penalty, [parameter.detach().clone() for parameter in trainer.parameters]
    assert best is not None, "there is at least one penalty"
    trainer.restore(best[2])
    return replace(trainer.finish([0] * trainer.members, best[0]), penalty=best[1])


def _rough_mean(data: Rows, chosen: NDArray[np.int64]) -> float:
    """Recruits per person, saturated rows counted half a person more: a start, not an estimate."""
    recruits, coupons = data.recruits[chosen], data.coupons[chosen]
    return float((recruits + 0.5 * (recruits >= coupons)).mean()) + 0.05
