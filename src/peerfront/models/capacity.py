"""How many people somebody can bring: a censored count model fitted to (x, k, y) triples (Section 3.1).

    y < k: the capacity is known, pmf(y);      y = k: it is only known to be at least k, survival(k).

`CapacitySettings.paper()` is the paper's fit: one network, 200 epochs, all the data. It overfits (deviations.md).
The default trains one network per fold, each stopped on its own held-out fold, and averages their rates: every row
trains four of five members, and the held-out likelihood comes for free. Shape and family are chosen by it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.counts import DESCRIPTIONS, FAMILIES, is_dispersed, quantile, survival_table
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import one_of, whole_number
from peerfront.foundation.stored import Stored
from peerfront.models.capacity_settings import LINEAR, LOG_LINEAR, NETWORK, CapacitySettings
from peerfront.models.capacity_training import Candidate, Fit, Rows, fit_shape
from peerfront.models.checks import check_luck, check_people
from peerfront.models.rate_network import SMALLEST, RateEnsemble
from peerfront.problem import History

__all__ = [
    "LINEAR",
    "LOG_LINEAR",
    "NETWORK",
    "Candidate",
    "CapacitySettings",
    "LearnedCapacity",
    "fit_capacity",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LearnedCapacity:
    """A fitted capacity model (the Protocol of `problem.dynamics`). An unknown category adds nothing to a rate."""

    schema: Schema
    family: str
    rates: RateEnsemble
    size: float  # of the negative binomial; infinite for the Poisson
    zero: float  # probability that nobody comes at all
    candidates: tuple[Candidate, ...]
    reason: str
    members: Array | None = None  # [members, 2], log size and logit zero of each; None if all are alike

    def __post_init__(self) -> None:
        one_of("family", self.family, FAMILIES)
        if self.members is None:
            object.__setattr__(self, "members", np.zeros((len(self.rates.log_scale), 2)))

    def means(self, covariates: Codes) -> Array:
        """Mean of the count part, before zero inflation, [people]."""
        check_people(self.schema, covariates)
        return self.rates.means(self.schema.one_hot(covariates))

    def expected(self, covariates: Codes) -> Array:
        """Expected capacity, [people]."""
        return self.means(covariates) * (1.0 - self.zero)

    def survival(self, covariates: Codes, max_coupons: int) -> Array:
        most = whole_number("max coupons", max_coupons, 0)
        return survival_table(self.family, self.means(covariates), self.size, self.zero, most)

    def sample(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        means = self.means(covariates)
        check_luck(covariates, luck)
        return quantile(self.family, luck.uniform("capacity"), means, self.size, self.zero)

    def member_means(self, covariates: Codes) -> Array:
        """What the ensemble's members make of each person, [members, people]; each has left out a part of the data."""
        check_people(self.schema, covariates)
        return self.rates.member_means(self.schema.one_hot(covariates))

    def sample_shifted(self, covariates: Codes, luck: Luck, weights: Array) -> NDArray[np.int64]:
        """Capacities if each parameter were off by the weighted sum of the members' deviations, [people].

        `weights` are [people, members]; means and sizes are shifted on the log scale, the share of zeros on the logit
        scale. The luck is that of `sample`: weights of 0 give the same capacities.
        """
        check_luck(covariates, luck)
        logs = np.log(np.maximum(self.member_means(covariates), SMALLEST)).T  # [people, members]
        rate = _shift(logs - logs.mean(axis=1, keepdims=True), weights)
        assert self.members is not None, "made when the model was"
        spread = self.members - self.members.mean(axis=0)
        size = self.size * np.exp(_shift(spread[:, 0], weights))
        odds = self.zero / (1.0 - self.zero) * np.exp(_shift(spread[:, 1], weights))
        means = self.means(covariates) * np.exp(rate)
        return quantile(self.family, luck.uniform("capacity"), means, size, odds / (1.0 + odds))

    def scores(self) -> dict[str, Any]:
        """Why this model, and the mean held-out log-likelihood of all that were tried, for a report."""
        tried = [
            {"label": each.label, "held_out": each.score if np.isfinite(each.score) else None}
            for each in self.candidates
        ]
        return {"reason": self.reason, "tried": tried}

    def stored(self) -> Stored:
        """Everything but the candidates that were tried: their held-out likelihoods belong to single participants."""
        settings = {
            "family": self.family,
            "size": self.size if np.isfinite(self.size) else None,
            "zero": self.zero,
            "reason": self.reason,
        }
        assert self.members is not None, "made when the model was"
        return Stored.of_parts(settings, rates=self.rates.stored(), members=Stored({}, {"size and zero": self.members}))

    @classmethod
    def restored(cls, stored: Stored, schema: Schema) -> "LearnedCapacity":
        size, zero = stored.optional("size", float), stored.setting("zero", float)
        family = stored.setting("family", str)
        if not 0.0 <= zero < 1.0 or (size is not None and not size > 0.0) or (is_dispersed(family) and size is None):
            raise DataFileError(
                f"In {stored.place}, size {size} and zero {zero} are impossible for the family {family!r}; a size is "
                "above 0, and zero at least 0 and below 1. Fit the model again."
            )
        rates = RateEnsemble.restored(stored.part("rates"), schema.columns)
        members = stored.part("members").array("size and zero", (len(rates.log_scale), 2))
        reason = stored.setting("reason", str)
        return cls(schema, family, rates, np.inf if size is None else size, zero, (), reason, members)


def fit_capacity(
    history: History, settings: CapacitySettings | None = None, progress: Callable[[str], None] | None = None
) -> LearnedCapacity:
    """Fit, choose shape and family by held-out likelihood where there is a choice, and say why."""
    chosen = settings or CapacitySettings()
    data = Rows.of(history)
    chosen = replace(chosen, folds=min(chosen.folds, len(data)))
    tell = progress or (lambda _: None)
    first_family = "poisson" if chosen.family == "auto" else chosen.family
    tried = [fit_shape(data, shape, first_family, chosen, tell) for shape in chosen.shapes]
    best = _simplest_good(tried) if chosen.folds > 1 else tried[0]
    if chosen.family == "auto":
        # The penalty that was best for the Poisson serves the other families too.
        settled = replace(chosen, penalties=(best.penalty,)) if best.penalty is not None else chosen
        shape = best.candidate.shape
        others = [fit_shape(data, shape, family, settled, tell) for family in FAMILIES if family != first_family]
        tried += others
        by_family = [best, *others]
        best = _simplest_good(by_family) if chosen.folds > 1 else best
        reason = _why(best, by_family) if chosen.folds > 1 else f"{DESCRIPTIONS[first_family]}: {_NOTHING_HELD_OUT}."
    else:
        reason = f"{DESCRIPTIONS[chosen.family]}, as asked."
    if len(chosen.shapes) > 1:
        why = (
            f"the simplest of {len(chosen.shapes)} shapes that predicts well"
            if chosen.folds > 1
            else (f"the first of {len(chosen.shapes)} shapes, as nothing was held out")
        )
        reason += f" Rates: {best.candidate.shape.label}, {why}."
    if data.all_saturated:
        reason += " Every coupon was used, so capacities are only known from below: how far above is a guess."
    return LearnedCapacity(
        schema=history.schema,
        family=best.candidate.family,
        rates=best.rates,
        size=best.size,
        zero=best.zero,
        candidates=tuple(fit.candidate for fit in tried),
        reason=reason,
        members=best.members,
    )


_FARTHEST = 3.0  # no parameter is drawn more than 20 times too large or too small


def _shift(deviations: Array, weights: Array) -> Array:
    """Weighted sums of the members' deviations, [people]."""
    shifts: Array = np.clip((deviations * weights).sum(axis=1), -_FARTHEST, _FARTHEST)
    return shifts


_NOTHING_HELD_OUT = "the simplest family, as nothing was held out to choose by"
_MATERIAL = 2.0  # units of log-likelihood that a more complex model must gain, however sure the gain is


def _simplest_good(fits: Sequence[Fit]) -> Fit:
    """Of fits from simple to complex: the first that is not clearly below the best (one standard error, or 2 units)."""
    best = max(fits, key=lambda fit: fit.candidate.score)
    for fit in fits:
        shortfall = best.candidate.held_out - fit.candidate.held_out
        if not shortfall.sum() > max(_MATERIAL, _total_error(shortfall)):
            return fit
    raise AssertionError("the best is not below itself")


def _why(chosen: Fit, fits: Sequence[Fit]) -> str:
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
