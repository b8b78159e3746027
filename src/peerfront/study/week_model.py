"""The model of a week: last week's, or a new fit if the file has enough new data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, history_of
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Message, Progress, Remedy, note
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.settings import one_of
from peerfront.models.belief.belief import Misfit
from peerfront.study.coupon_calendar import exposure_of
from peerfront.study.fit_settings import USUAL, FitSettings
from peerfront.study.log_lines import FITTED_TO, Week
from peerfront.study.model import Model, fit, load
from peerfront.study.study_folder import StudyFolder
from peerfront.study.week_plan import WeekOrder

TOO_SMALL = "too_small.to_fit", "too_small.to_fit_with_open"
"""Codes of errors of a fit that is refused because the study is too small."""
AUTO, ALWAYS, NEVER = "auto", "always", "never"
REFIT = (AUTO, ALWAYS, NEVER)
_NEWS = 0.05  # refit if the new data are at least this share of what the model was fitted to
_FEW_NEWS = 5  # fewest new returns and holders for a refit
_GROWN = 1.5  # choose the kind of model again if there are this many times as many holders
_WARM_EFFORT = 0.3  # share of the usual simulations if learning starts from last week's planner
_MANY_WAIT = 10  # fewer people do not show how many will wait at once in later weeks
_FEWEST_COMPARED = 10  # people with a number of coupons, to hold what they brought against what was expected
_SURPRISING = 0.02  # chance of the least likely of these numbers, below which it is mentioned
_ROUNDS = 6  # rounds that a model is prepared for: generations in half a year


@dataclass(frozen=True)
class FittedTo:
    """The amount of data that a model was fitted to, which decides whether to refit."""

    day: str = ""
    holders: int = 0
    recruits: int = 0
    chosen_at: int = 0
    """Number of holders when the kind of model was last chosen, instead of kept from the model before."""

    @classmethod
    def restored(cls, data: Mapping[str, Any]) -> "FittedTo":
        """Restore it from a file whose values fit `FITTED_TO`."""
        return cls(**{name: data[name] for name in FITTED_TO})

    def news(self, now: "FittedTo") -> int:
        """New holders and recruits since then."""
        return max(now.holders - self.holders, 0) + max(now.recruits - self.recruits, 0)

    def pays(self, now: "FittedTo") -> bool:
        """Whether there are enough new data to refit."""
        return self.news(now) >= max(_FEW_NEWS, _NEWS * (self.holders + self.recruits))


@dataclass(frozen=True, eq=False)
class ModelChoice:
    """The model of a week; None if the study is too small to fit."""

    model: Model | None
    refitted: bool
    folder: str
    """Its folder below the study's folder, if it is an earlier week's model."""
    fitted_to: FittedTo
    before: str = ""
    """The day of the earlier model, if there is one."""
    news: int = 0
    """New holders and recruits since the model was fitted, if it is kept."""
    kept_as_asked: bool = False
    """Whether the model is kept because the order says so, not because there are few new data."""
    surprises: tuple[Misfit, ...] = ()
    """What people brought with coupons of plans by the earlier model, where that model did not expect it."""
    too_small: Message | None = None
    """Why the study cannot be fitted yet, and what it shows nevertheless."""


@dataclass(frozen=True, eq=False)
class Earlier:
    """The model of an earlier plan of the same study."""

    model: Model
    fitted_to: FittedTo
    folder: str = ""
    planned: Mapping[str, int] = field(default_factory=dict)
    """Numbers of coupons that its plans gave, by id."""


def model_of_week(
    kept: StudyFolder,
    study: Study,
    schema: StudySchema,
    order: WeekOrder,
    left: int,
    day: date,
    refit: str,
    progress: Progress,
) -> ModelChoice:
    """Keep last week's model, or refit if there are enough new data (`refit`: auto, always or never)."""
    last = kept.last
    earlier = None
    if last is not None and last.facts["model"]:
        fitted_to = FittedTo.restored(last.facts["fitted"])
        folder = str(last.facts["model_folder"])
        own = [week for week in kept.weeks if week.facts["model_folder"] == folder]
        earlier = Earlier(load(kept.model_of(last)), fitted_to, folder, _planned(own))
    planned = _planned(kept.weeks)
    return kept_or_refitted(earlier, study, schema, order, left, day, refit, progress, planned=planned)


def given_model(folder: Path, study: Study, day: date) -> ModelChoice:
    """The model that a study begins with, fitted to its file before the first week."""
    now = _data_of(study, day)
    return ModelChoice(load(folder), True, "", replace(now, chosen_at=now.holders))


def _data_of(study: Study, day: date) -> FittedTo:
    return FittedTo(day.isoformat(), int((study.issued > 0).sum()), int(study.recruits.sum()))


def _planned(weeks: Iterable[Week]) -> dict[str, int]:
    """The numbers of coupons on the sheets of some weeks, by id."""
    return {str(entry["person"]): int(entry["planned"]) for week in weeks for entry in week.decisions}


def kept_or_refitted(
    earlier: Earlier | None,
    study: Study,
    schema: StudySchema,
    order: WeekOrder,
    left: int,
    day: date,
    refit: str,
    progress: Progress,
    *,
    rounds: int = _ROUNDS,
    effort: float = 1.0,
    planned: Mapping[str, int] | None = None,
) -> ModelChoice:
    """Keep the earlier model, or refit if there are enough new data; `rounds` is how far a new model plans ahead."""
    one_of(note("week.refit"), refit, REFIT)
    now = _data_of(study, day)
    before, fitted_to = (None, FittedTo()) if earlier is None else (earlier.model, earlier.fitted_to)
    if earlier is not None:
        most = earlier.model.fit.planner.budget
        needed = left - order.reserve > most
        if needed and refit == NEVER:
            auto, reserve = Remedy("refit", AUTO), Remedy("reserve", left - most)
            raise SettingError("week.model_for_fewer", left=left, most=most, auto=auto, reserve=reserve)
        believed = order.for_log()["prior_belief"] == earlier.model.fit.settings.get("prior_belief")
        if not needed and (refit == NEVER or (refit == AUTO and believed and not fitted_to.pays(now))):
            news, as_asked = fitted_to.news(now), refit == NEVER
            return ModelChoice(earlier.model, False, earlier.folder, fitted_to, fitted_to.day, news, as_asked)
    start = before if now.holders < _GROWN * fitted_to.chosen_at else None
    now = replace(now, chosen_at=now.holders if start is None else fitted_to.chosen_at)
    settings = FitSettings(
        budget=max(left, 1),
        rounds=rounds,
        max_per_person=USUAL if order.max_per_person is None else order.max_per_person,
        people=len(study.waiting) if len(study.waiting) >= _MANY_WAIT else None,
        seed=order.seed,
        effort=effort * (1.0 if start is None else _WARM_EFFORT),
        prior_belief=order.prior_belief,
    )
    try:
        others = [load(Path(folder)) for folder in order.prior]
        model = fit(study, schema, settings, prior=others, planned=planned, progress=progress, start=start)
    except DataFileError as problem:
        if before is not None or problem.code not in TOO_SMALL:
            raise
        return ModelChoice(None, False, "", FittedTo(), too_small=problem.message)
    surprises = () if earlier is None else _surprises(earlier, model, study)
    return ModelChoice(model, True, "", now, fitted_to.day, surprises=surprises)


def _surprises(earlier: Earlier, now: Model, study: Study) -> tuple[Misfit, ...]:
    """Hold what people brought who got what the earlier model's plans said against what it expected of them."""
    exposure = None if now.fit.returns is None else exposure_of(study, now.fit.returns)
    history = history_of(study, earlier.model.schema, exposure, planned=earlier.planned)
    rng, compared = named_generator("surprises"), []
    for coupons in sorted(set(earlier.planned.values()) - {0}):
        own = np.flatnonzero((history.planned == coupons) & (history.coupons == coupons))
        if len(own) >= _FEWEST_COMPARED:
            belief, people = earlier.model.fit.belief, history.referrers[own]
            would = belief.would_bring(people, coupons, history.exposure_of(own), rng, lucky=True)
            compared.append(Misfit.of(coupons, False, len(own), int((history.recruits[own] > 0).sum()), would))
    return tuple(each for each in compared if each.chance * len(compared) < _SURPRISING)
