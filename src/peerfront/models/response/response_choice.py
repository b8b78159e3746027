"""Choose shape, family and fields of a response model by what they predict for people left out.

All choices follow one rule: the simplest that is not clearly below the best. "Clearly" is more than `SURE` standard
errors of the paired difference in held-out log-likelihood, and more than `MATERIAL` units of it, however sure they are.
The simplest model of all takes everybody for alike. Where it is clearly beaten, fields are dropped as long as what is
left is not clearly below the best; their weights are exactly 0.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.counts import FAMILIES, largest_means
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Measured, Message, Progress, note
from peerfront.foundation.networks import EpochSettings
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.rates import FAMILY_NAMES, SURE, Fit, RateShape, clearly, model_label, total_error
from peerfront.models.response.response_training import Rows, Trainer, train_linear, train_network
from peerfront.problem import History

if TYPE_CHECKING:
    from peerfront.models.response.response_fit import ResponseSettings

Array = NDArray[np.float64]
REACH = 10
"""Coupons up to which rates are believed where people had fewer: with three each, many used all, and rates that say so
are no extrapolation."""
SURE_OF_FIELDS = 1.5
"""Standard errors that what is known about people must gain over "everybody alike".

Of 400 made studies of 300 people without any effect 5.8% pass one error and 1.3% pass 1.5, with a log-linear Poisson
shape alone; `benchmarks/no_effect.py` measures it with all shapes and families.
"""
_ALIKE = RateShape((), "exp")
_AT_START = {
    "poisson": note("family_first.poisson"),
    "zip": note("family_first.zip"),
    "nb": note("family_first.nb"),
    "zinb": note("family_first.zinb"),
}
"""Names of families at the start of a sentence."""


class Search:
    """Fits of one history, all with the same folds, and the choice among them."""

    def __init__(self, history: History, settings: "ResponseSettings", progress: Progress) -> None:
        self.data, self.schema, self.progress = Rows.of(history), history.schema, progress
        self.settings = replace(settings, folds=min(settings.folds, len(self.data)))
        self.held_out = self.settings.folds > 1
        self.families = FAMILIES if settings.family == "auto" else (settings.family,)
        self.tried: list[Fit] = []
        self._planned = len(settings.shapes) + len(self.families) - 1
        if self._judges_fields:
            self._planned += len(self.families) + len(self.schema.fields)

    @property
    def _judges_fields(self) -> bool:
        return self.settings.drop_fields and self.held_out

    def learned(self) -> LearnedResponse:
        """The best model, with the reason."""
        return self.response(*self.choice())

    def choice(self) -> tuple[Fit, Message]:
        """The fit that is chosen, and why: what knowing people gains over "everybody alike", with its error."""
        best, why = self.with_all_fields()
        if not self._judges_fields:
            return best, why
        alike = self.alike
        gains = best.candidate.held_out - alike.candidate.held_out
        gain = float(gains.sum()), total_error(gains)
        if not clearly(gains, SURE_OF_FIELDS):
            no_gain = note("fit_reason.everybody_alike", gain=Measured.of(*gain))
            return alike, _then(self._why_family(alike), no_gain)
        leaner = self.without_idle_fields(best, alike)
        why = _then(why, note("fit_reason.people_differ", gain=Measured.of(*gain)))
        idle = [name for name in self.schema.names if name not in self.fields_of(leaner)]
        return leaner, _then(why, note("fit_reason.idle_fields", fields=idle)) if idle else why

    def with_all_fields(self) -> tuple[Fit, Message]:
        """The best shape (with the simplest family), then the best family, where rates depend on all fields."""
        settings, first = self.settings, self.families[0]
        by_shape = [self.fit(shape, first) for shape in settings.shapes]
        best = simplest_good(by_shape) if self.held_out else by_shape[0]
        why = note("fit_reason.family_asked", family=_AT_START[first])
        if settings.family == "auto":
            # The penalty that was best for the simplest family serves the others too.
            shape, penalty = best.candidate.shape, best.penalty
            by_family = [best, *(self.fit(shape, family, penalty=penalty) for family in self.families[1:])]
            best = simplest_good(by_family) if self.held_out else best
            why = note("fit_reason.simplest_family", family=_AT_START[first])
            why = self._why_family(best) if self.held_out else why
        if len(by_shape) > 1:
            code = "fit_reason.simplest_shape" if self.held_out else "fit_reason.first_shape"
            why = _then(why, note(code, shape=best.candidate.shape.label, n=len(by_shape)))
        return best, why

    @cached_property
    def alike(self) -> Fit:
        """The best family where everybody is alike."""
        fits = [self.fit(_ALIKE, family, ()) for family in self.families]
        return simplest_good(fits) if self.held_out else fits[0]

    def without_idle_fields(self, full: Fit, alike: Fit) -> Fit:
        """Drop fields as long as what is left is not clearly below the best; only of linear shapes.

        A network may need fields that say nothing alone.
        """
        candidate, kept, best, current = full.candidate, list(self.schema.names), full, full
        if candidate.shape.hidden:
            return full

        def without(names: Sequence[str]) -> Fit:
            left = tuple(name for name in kept if name not in names)
            return self.fit(candidate.shape, candidate.family, left, full.penalty) if left else alike

        while kept:
            trials = {name: without([name]) for name in kept}
            losses = {name: best.candidate.held_out - fit.candidate.held_out for name, fit in trials.items()}
            idle = [name for name, loss in losses.items() if not clearly(loss, SURE)]
            if not idle:
                break
            together = without(idle) if len(idle) > 1 else trials[idle[0]]
            if len(idle) > 1 and clearly(best.candidate.held_out - together.candidate.held_out, SURE):
                idle = [min(idle, key=lambda name: float(losses[name].sum()))]
                together = trials[idle[0]]
            current = together
            best = max(best, current, key=lambda fit: fit.candidate.score)
            kept = [name for name in kept if name not in idle]
        return current

    def fit(
        self, shape: RateShape, family: str, fields: tuple[str, ...] | None = None, penalty: float | None = None
    ) -> Fit:
        """Train one shape and family on these fields (None: all); linear shapes to convergence, networks in epochs."""
        settings = self.settings
        self.progress(min(len(self.tried) / self._planned, 0.99), model_label(family, shape, fields))
        columns = None if fields is None else self._columns(fields)
        trainer = Trainer(self.data, shape, family, settings.folds, settings.seed, columns)
        if shape.hidden:
            passes = EpochSettings(settings.epochs, settings.batch, settings.learning_rate, settings.patience)
            fit = train_network(trainer, passes)
        else:
            fit = train_linear(trainer, settings.penalties if penalty is None else (penalty,))
        fit = replace(fit, candidate=replace(fit.candidate, fields=fields))
        if not fit.is_finite:
            raise SettingError(
                "response_model.diverged", model=fit.candidate.label, learning_rate=settings.learning_rate
            )
        self.tried.append(fit)
        return fit

    def fields_of(self, fit: Fit) -> tuple[str, ...]:
        """The fields that rates may depend on."""
        fields = fit.candidate.fields
        return self.schema.names if fields is None else fields

    def response(self, fit: Fit, why: Message) -> LearnedResponse:
        """The model of a fit, which knows how far the data reach."""
        data, doubt, largest = self.data, self.settings.doubt, np.inf
        if data.most_shown == 1:
            why = _then(why, note("fit_reason.one_coupon_each"))
        if data.all_saturated:
            why = _then(why, note("fit_reason.all_coupons_used"))
        # The limit comes after the choice: shapes and penalties that extrapolate wildly are judged by predictions.
        if doubt is not None:
            shown, chance = max(data.most_shown, REACH), len(data) / (len(data) + doubt)
            largest = float(largest_means(shown, chance, np.array(fit.size)))
        return LearnedResponse(
            schema=self.schema,
            family=fit.candidate.family,
            rates=replace(fit.rates, largest=largest),
            size=fit.size,
            zero=fit.zero,
            candidates=tuple(each.candidate for each in self.tried),
            reason=why,
            most_shown=data.most_shown,
        )

    def _columns(self, fields: tuple[str, ...]) -> NDArray[np.bool_]:
        there = [name in fields for name in self.schema.names]
        return np.repeat(np.array(there, dtype=bool), self.schema.sizes)

    def _why_family(self, best: Fit) -> Message:
        """Why this family, among fits that differ in nothing else."""
        winner = best.candidate
        rivals = [
            each.candidate
            for each in self.tried
            if each.candidate.shape == winner.shape
            and each.candidate.fields == winner.fields
            and each.candidate.family != winner.family
        ]
        name = _AT_START[winner.family]
        if not rivals:
            return note("fit_reason.family_asked", family=name)
        rival = max(rivals, key=lambda candidate: candidate.score)
        gain = winner.held_out - rival.held_out
        code = "fit_reason.better_family" if gain.sum() >= 0 else "fit_reason.simpler_family"
        size = Measured.of(float(abs(gain.sum())), total_error(gain))
        return note(code, family=name, gain=size, rival=FAMILY_NAMES[rival.family])


def _then(first: Message, then: Message) -> Message:
    """One reason after another."""
    return note("fit_reason.and_then", first=first, then=then)


def simplest_good(fits: Sequence[Fit]) -> Fit:
    """Of fits from simple to complex: the first that is not clearly below the best."""
    best = max(fits, key=lambda fit: fit.candidate.score)
    for fit in fits:
        if not clearly(best.candidate.held_out - fit.candidate.held_out, SURE):
            return fit
    raise AssertionError("the best is not below itself")
