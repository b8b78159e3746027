"""How many people somebody can bring: a censored count model fitted to (x, k, y) triples (Section 3.1).

    y < k: the capacity is known, pmf(y);      y = k: it is only known to be at least k, survival(k).

`CapacitySettings.paper()` is the paper's fit: one network, 200 epochs, all the data. It overfits (docs/deviations.md).
The default trains one network per fold, each stopped on its own held-out fold, and averages their rates: every row
trains four of five members, and the held-out likelihood comes for free. Shape and family are chosen by it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from peerfront.counts import count_from_survival, poisson_quantile
from peerfront.covariates import Codes, Schema
from peerfront.errors import SettingError, UnknownName
from peerfront.models.censored_likelihood import censored_log_likelihood
from peerfront.models.count_families import DESCRIPTIONS, FAMILIES, is_dispersed, is_inflated, survival_table
from peerfront.models.rate_network import RateEnsemble, RateShape, StackedNetworks
from peerfront.problem import History
from peerfront.randomness import Luck, named_generator

Array = NDArray[np.float64]
NETWORK = RateShape()
LOG_LINEAR = RateShape((), "exp")
LINEAR = RateShape((), "scaled softplus")  # also the formula of the simulated oracle: it flatters fits to it


@dataclass(frozen=True)
class CapacitySettings:
    """How a capacity model is fitted. The defaults are the best we know; `paper()` is the paper's."""

    family: str = "auto"
    """poisson, zip, nb, zinb, or auto: by held-out likelihood."""
    shapes: tuple[RateShape, ...] = (LINEAR, LOG_LINEAR, NETWORK)
    """Rate networks to choose from, by held-out likelihood."""
    folds: int = 5
    """Members of the ensemble, each stopped on the fold it does not see; 1 trains on everything, to the last epoch."""
    epochs: int = 200
    """Most passes over the data."""
    patience: int = 15
    """Passes without improvement on the held-out fold after which a member has stopped."""
    batch: int = 128
    learning_rate: float = 1e-3
    penalties: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03, 0.003)
    """Ridge penalties a linear shape chooses from, by held-out likelihood, in units of rows."""
    seed: int = 0

    @classmethod
    def paper(cls) -> "CapacitySettings":
        """Two hidden layers of 64, 200 epochs of batches of 128, Adam with 1e-3, nothing held out."""
        return cls(family="poisson", shapes=(NETWORK,), folds=1)

    def __post_init__(self) -> None:
        if self.family not in (*FAMILIES, "auto"):
            raise UnknownName("family", self.family, (*FAMILIES, "auto"))
        if not self.shapes or self.folds < 1 or self.epochs < 1 or self.batch < 1:
            raise SettingError("A capacity fit needs at least one shape, fold, epoch and row in a batch.")


@dataclass(frozen=True)
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
class LearnedCapacity:
    """A fitted capacity model (the Protocol of `problem.dynamics`)."""

    schema: Schema
    family: str
    rates: RateEnsemble
    size: float  # of the negative binomial; infinite for the Poisson
    zero: float  # probability that nobody comes at all
    candidates: tuple[Candidate, ...]
    reason: str

    def means(self, covariates: Codes) -> Array:
        """Mean of the count part, before zero inflation, [people]."""
        return self.rates.means(self.schema.one_hot(covariates))

    def expected(self, covariates: Codes) -> Array:
        """Expected capacity, [people]."""
        return self.means(covariates) * (1.0 - self.zero)

    def survival(self, covariates: Codes, max_vouchers: int) -> Array:
        return survival_table(self.family, self.means(covariates), self.size, self.zero, max_vouchers)

    def sample(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        uniforms = luck.uniform("capacity")
        if self.family == "poisson":
            return poisson_quantile(uniforms, self.means(covariates))
        levels = 16
        while True:
            survival = self.survival(covariates, levels)
            if (1.0 - uniforms >= survival[:, -1]).all() or levels >= 1 << 14:
                return count_from_survival(uniforms, survival)
            levels *= 4


def fit_capacity(
    history: History, settings: CapacitySettings | None = None, progress: Callable[[str], None] | None = None
) -> LearnedCapacity:
    """Fit, choose shape and family by held-out likelihood where there is a choice, and say why."""
    chosen = settings or CapacitySettings()
    informative = np.flatnonzero(history.vouchers > 0)
    if not len(informative):
        raise SettingError(
            "No row says anything about capacities: nobody was given a voucher. Add people with at least one."
        )
    data = _Rows(
        torch.as_tensor(history.schema.one_hot(history.referrers[informative]), dtype=torch.float64),
        torch.as_tensor(history.vouchers[informative], dtype=torch.float64),
        torch.as_tensor(history.recruits[informative], dtype=torch.float64),
    )
    if chosen.folds > len(informative):
        chosen = replace(chosen, folds=max(1, len(informative)))
    tell = progress or (lambda _: None)
    first_family = "poisson" if chosen.family == "auto" else chosen.family
    tried = [_fit(data, shape, first_family, chosen, tell) for shape in chosen.shapes]
    best = _simplest_good(tried) if chosen.folds > 1 else tried[0]
    if chosen.family == "auto":
        # The penalty that was best for the Poisson serves the other families too.
        settled = replace(chosen, penalties=(best.penalty,)) if best.penalty is not None else chosen
        tried += [
            _fit(data, best.candidate.shape, family, settled, tell) for family in FAMILIES if family != first_family
        ]
        same_shape = [fit for fit in tried if fit.candidate.shape == best.candidate.shape]
        by_family = [next(f for f in same_shape if f.candidate.family == family) for family in FAMILIES]
        best = _simplest_good(by_family) if chosen.folds > 1 else by_family[0]
        reason = _why(best, by_family)
    else:
        reason = f"{DESCRIPTIONS[chosen.family]}, as asked."
    if len(chosen.shapes) > 1:
        reason += (
            f" Rates: {best.candidate.shape.label}, the simplest of {len(chosen.shapes)} shapes that predicts well."
        )
    return LearnedCapacity(
        schema=history.schema,
        family=best.candidate.family,
        rates=best.rates,
        size=best.size,
        zero=best.zero,
        candidates=tuple(fit.candidate for fit in tried),
        reason=reason,
    )


@dataclass(frozen=True)
class _Rows:
    inputs: torch.Tensor  # [rows, columns]
    vouchers: torch.Tensor  # [rows]
    recruits: torch.Tensor  # [rows]

    def __len__(self) -> int:
        return len(self.vouchers)


@dataclass(frozen=True)
class _Fit:
    candidate: Candidate
    rates: RateEnsemble
    size: float
    zero: float
    penalty: float | None = None  # of a linear shape


_MATERIAL = 2.0  # units of log-likelihood that a more complex model must gain, however sure the gain is


def _simplest_good(fits: Sequence[_Fit]) -> _Fit:
    """Of fits from simple to complex: the first that is not clearly below the best (one standard error, or 2 units)."""
    best = max(fits, key=lambda fit: fit.candidate.score)
    for fit in fits:
        shortfall = best.candidate.held_out - fit.candidate.held_out
        if not shortfall.sum() > max(_MATERIAL, _total_error(shortfall)):
            return fit
    raise AssertionError("the best is not below itself")


def _why(chosen: _Fit, fits: Sequence[_Fit]) -> str:
    """The choice of a family in words."""
    others = [fit for fit in fits if fit is not chosen]
    rival = max(others, key=lambda fit: fit.candidate.score)
    gain = chosen.candidate.held_out - rival.candidate.held_out
    ahead = "above" if gain.sum() >= 0 else "below"
    text = (
        f"{DESCRIPTIONS[chosen.candidate.family]}: {abs(gain.sum()):.1f} +- {_total_error(gain):.1f} units of held-out "
        f"log-likelihood {ahead} the best other family ({DESCRIPTIONS[rival.candidate.family]})"
    )
    return text + (", and simpler." if ahead == "below" else ".")


def _total_error(differences: Array) -> float:
    """Standard error of the sum of paired differences."""
    return float(differences.std(ddof=1) * np.sqrt(len(differences))) if len(differences) > 1 else 0.0


class _Trainer:
    """All members of one shape and family, with what they are trained and judged on."""

    def __init__(self, data: _Rows, shape: RateShape, family: str, settings: CapacitySettings) -> None:
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
            self.data.vouchers[chosen],
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

    def finish(self, epochs: Sequence[int], held_out: Array) -> "_Fit":
        """What was learned, and the held-out likelihood of each row."""
        size = float(self.log_size.detach().clamp(-5, 8).exp().mean()) if is_dispersed(self.family) else float("inf")
        zero = float(torch.sigmoid(self.zero_logit.detach().clamp(-12, 6)).mean()) if is_inflated(self.family) else 0.0
        rates = RateEnsemble(
            self.shape,
            tuple(weight.detach().numpy().copy() for weight in self.networks.weights),
            tuple(bias.detach().numpy().copy() for bias in self.networks.biases),
            self.networks.log_scale.detach().numpy().copy(),
        )
        return _Fit(Candidate(self.shape, self.family, held_out, tuple(int(e) for e in epochs)), rates, size, zero)


def _fit(data: _Rows, shape: RateShape, family: str, settings: CapacitySettings, tell: Callable[[str], None]) -> _Fit:
    tell(f"{DESCRIPTIONS[family]}, {shape.label}")
    trainer = _Trainer(data, shape, family, settings)
    if shape.hidden:
        return _train_network(trainer)
    return _train_linear(trainer)


def _train_network(trainer: _Trainer) -> _Fit:
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


def _train_linear(trainer: _Trainer) -> _Fit:
    """Penalised maximum likelihood (L-BFGS to convergence); the penalty is chosen on the held-out folds."""
    best: tuple[Array, float, list[torch.Tensor]] | None = None
    sizes = torch.as_tensor([len(chosen) for chosen in trainer.training])
    for penalty in trainer.settings.penalties if trainer.members > 1 else trainer.settings.penalties[-1:]:
        optimiser = torch.optim.LBFGS(
            [*trainer.networks.trainable, *trainer.extra], max_iter=100, history_size=20, line_search_fn="strong_wolfe"
        )

        def loss(penalty: float = penalty, optimiser: torch.optim.LBFGS = optimiser) -> float:
            optimiser.zero_grad()
            each = trainer.likelihood(trainer.everybody)
            fit = torch.where(trainer.held_out, 0.0, each).sum(dim=1) / sizes
            ridge = sum((weight**2).sum(dim=(1, 2)) for weight in trainer.networks.weights) / sizes
            total = (-fit + penalty * ridge).sum()
            total.backward()
            return float(total.detach())

        optimiser.step(loss)
        rows = trainer.held_out_rows()
        if best is None or rows.mean() > best[0].mean():
            best = rows, penalty, [parameter.detach().clone() for parameter in trainer.parameters]
    assert best is not None, "there is at least one penalty"
    trainer.restore(best[2])
    return replace(trainer.finish([0] * trainer.members, best[0]), penalty=best[1])


def _rough_mean(data: _Rows, chosen: NDArray[np.int64]) -> float:
    """Recruits per person, saturated rows counted half a person more: a start, not an estimate."""
    recruits, vouchers = data.recruits[chosen], data.vouchers[chosen]
    return float((recruits + 0.5 * (recruits >= vouchers)).mean()) + 0.05
