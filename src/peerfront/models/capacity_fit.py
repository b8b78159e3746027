"""Fit a capacity model to a history: the settings, and the choice of shape and family by held-out likelihood.

A row (x, k, y) is censored (Section 3.1):

    y < k: the capacity is seen, pmf(y);      y = k: it is only seen to be at least k, survival(k).

`CapacitySettings.paper()` is the paper's fit: one network, 200 epochs, all the data. It overfits (docs/deviations.md).
The default trains one network per fold, each stopped on its own held-out fold, and averages their rates: every row
trains four of five members, and the held-out likelihood comes for free. Shape and family are chosen by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.counts import DESCRIPTIONS, FAMILIES
from peerfront.foundation.errors import SettingError
from peerfront.foundation.networks import EpochSettings
from peerfront.foundation.progress import Progress, silent
from peerfront.foundation.settings import (
    among,
    check_fields,
    one_or_more,
    optional,
    penalty_list,
    positive,
    seed_number,
    step_size,
)
from peerfront.models.capacity import LearnedCapacity, RateShape, largest_means
from peerfront.problem import History

if TYPE_CHECKING:
    from peerfront.models.capacity_training import Fit, Rows

NETWORK = RateShape()
LOG_LINEAR = RateShape((), "exp")
LINEAR = RateShape((), "scaled softplus")  # also the formula of the simulated oracle: it flatters fits to it

_NOTHING_HELD_OUT = "the simplest family, as nothing was held out to choose by"
_MATERIAL_GAIN = 2.0  # units of log-likelihood that a more complex model must gain, however sure the gain is


@dataclass(frozen=True)
class CapacitySettings:
    """How a capacity model is fitted. The defaults are the best we know; `paper()` is the paper's."""

    family: str = "auto"
    """poisson, zip, nb, zinb, or auto: by held-out likelihood."""
    shapes: tuple[RateShape, ...] = (LINEAR, LOG_LINEAR, NETWORK)
    """Rate networks to choose from by held-out likelihood, simplest first: a later one must be clearly better."""
    folds: int = 5
    """Members of the ensemble, each stopped on the fold it does not see, at most one per row; 1 trains on everything,
    to the last epoch, and takes the first shape and the Poisson where there is a choice."""
    epochs: int = 200
    """Most passes over the data."""
    patience: int = 15
    """Passes without improvement on the held-out fold after which a member stops."""
    batch: int = 128
    learning_rate: float = 1e-3
    penalties: tuple[float, ...] = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.003)
    """Ridge penalties a linear shape chooses from, by held-out likelihood, in units of rows."""
    doubt: float | None = 150.0
    """How much to doubt what nobody has shown. However strongly a shape extrapolates, nobody is believed to be able to
    bring the most coupons that people had (`LearnedCapacity.most_shown`) with a chance above rows / (rows + doubt), as
    if so many more people had brought fewer; zero inflation aside. None for no limit."""
    seed: int = 0

    @classmethod
    def paper(cls) -> "CapacitySettings":
        """Two hidden layers of 64, 200 epochs of batches of 128, Adam with 1e-3, nothing held out."""
        return cls(family="poisson", shapes=(NETWORK,), folds=1, doubt=None)

    def __post_init__(self) -> None:
        check_fields(
            self,
            family=among("family", (*FAMILIES, "auto")),
            shapes=_rate_shapes,
            folds=one_or_more,
            epochs=one_or_more,
            patience=one_or_more,
            batch=one_or_more,
            learning_rate=step_size,
            penalties=penalty_list,
            doubt=optional(positive),
            seed=seed_number,
        )


def _rate_shapes(name: str, value: Any) -> tuple[RateShape, ...]:
    """Rule: one or more rate shapes."""
    listed = isinstance(value, tuple | list) and len(value) > 0
    if not listed or not all(isinstance(shape, RateShape) for shape in value):
        raise SettingError(f"A capacity fit needs at least one shape, in a tuple of RateShape; found {value!r}.")
    return tuple(value)


def fit_capacity(
    history: History, settings: CapacitySettings | None = None, progress: Progress = silent
) -> LearnedCapacity:
    """Fit a capacity model; where there is a choice, take shape and family by held-out likelihood and say why."""
    from peerfront.models.capacity_training import Rows

    settings = settings or CapacitySettings()
    data = Rows.of(history)
    settings = replace(settings, folds=min(settings.folds, len(data)))
    held_out, by_likelihood = settings.folds > 1, settings.family == "auto"
    first_family = "poisson" if by_likelihood else settings.family
    fits: list[Fit] = []
    planned = len(settings.shapes) + (len(FAMILIES) - 1 if by_likelihood else 0)

    def fit(shape: RateShape, family: str, how: CapacitySettings) -> "Fit":
        progress(len(fits) / planned, f"{DESCRIPTIONS[family]}, {shape.label}")
        fits.append(_fit_shape(data, shape, family, how))
        return fits[-1]

    by_shape = [fit(shape, first_family, settings) for shape in settings.shapes]
    best = _simplest_good(by_shape) if held_out else by_shape[0]
    reason = f"{DESCRIPTIONS[first_family]}, as asked."
    if by_likelihood:
        # The penalty that was best for the Poisson serves the other families too.
        same_penalty = replace(settings, penalties=(best.penalty,)) if best.penalty is not None else settings
        shape = best.candidate.shape
        by_family = [best, *(fit(shape, family, same_penalty) for family in FAMILIES if family != first_family)]
        best = _simplest_good(by_family) if held_out else best
        reason = _why(best, by_family) if held_out else f"{DESCRIPTIONS[first_family]}: {_NOTHING_HELD_OUT}."
    if len(by_shape) > 1:
        why = (
            f"the simplest of {len(by_shape)} shapes that predicts well"
            if held_out
            else f"the first of {len(by_shape)} shapes, as nothing was held out"
        )
        reason += f" Rates: {best.candidate.shape.label}, {why}."
    if data.most_shown == 1:
        reason += " Hardly anybody had more than one coupon: what a second one does is a guess."
    if data.all_saturated:
        reason += " Every coupon was used, so capacities are only known from below: how far above is a guess."
    # The limit comes after the choice: shapes and penalties that extrapolate wildly are judged by what they predict.
    doubt, largest = settings.doubt, np.inf
    if doubt is not None:
        largest = float(largest_means(data.most_shown, len(data) / (len(data) + doubt), np.array(best.size)))
    return LearnedCapacity(
        schema=history.schema,
        family=best.candidate.family,
        rates=replace(best.rates, largest=largest),
        size=best.size,
        zero=best.zero,
        candidates=tuple(each.candidate for each in fits),
        reason=reason,
        members=best.members,
        most_shown=data.most_shown,
    )


def _fit_shape(data: "Rows", shape: RateShape, family: str, settings: CapacitySettings) -> "Fit":
    """Train one shape and family; linear shapes to convergence, networks in epochs."""
    from peerfront.models.capacity_training import Trainer, train_linear, train_network

    trainer = Trainer(data, shape, family, settings.folds, settings.seed)
    if shape.hidden:
        passes = EpochSettings(settings.epochs, settings.batch, settings.learning_rate, settings.patience)
        fit = train_network(trainer, passes)
    else:
        fit = train_linear(trainer, settings.penalties)
    if not fit.is_finite:
        raise SettingError(
            f"The fit of {fit.candidate.label} diverged: its rates are not numbers. Use a smaller learning rate "
            f"(found {settings.learning_rate:g}), larger penalties, or leave this shape out."
        )
    return fit


def _simplest_good(fits: "Sequence[Fit]") -> "Fit":
    """Of fits from simple to complex: the first that is not clearly below the best (one standard error, or 2 units)."""
    best = max(fits, key=lambda fit: fit.candidate.score)
    for fit in fits:
        shortfall = best.candidate.held_out - fit.candidate.held_out
        if not shortfall.sum() > max(_MATERIAL_GAIN, _total_error(shortfall)):
            return fit
    raise AssertionError("the best is not below itself")


def _why(best: "Fit", fits: "Sequence[Fit]") -> str:
    """The choice of a family in words."""
    rival = max((fit for fit in fits if fit is not best), key=lambda fit: fit.candidate.score)
    gain = best.candidate.held_out - rival.candidate.held_out
    ahead = "above" if gain.sum() >= 0 else "below"
    text = (
        f"{DESCRIPTIONS[best.candidate.family]}: {abs(gain.sum()):.1f} +- {_total_error(gain):.1f} units of held-out "
        f"log-likelihood {ahead} the best other family ({DESCRIPTIONS[rival.candidate.family]})"
    )
    return text + (", and simpler." if ahead == "below" else ".")


def _total_error(differences: NDArray[np.float64]) -> float:
    """Standard error of the sum of paired differences."""
    return float(differences.std(ddof=1) * np.sqrt(len(differences))) if len(differences) > 1 else 0.0
