"""Fit the models of a study: how many recruits people bring, by each story, and whom they bring.

Flexible models would overfit a small study: with few people the capacity model is linear and strongly shrunk towards
"everybody is alike", and the generator is the inheritance table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from peerfront.data.columns.column_findings import Vetted
from peerfront.data.columns.counting_noise import FEWEST_PEOPLE, CountingNoise
from peerfront.data.columns.schema_guess import private_schema
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, history_of
from peerfront.foundation.binomials import thinned_counts
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Message, Progress, Remedy, n_people, note, warning
from peerfront.foundation.randomness import named_generator
from peerfront.gfp.planner import Planner
from peerfront.models.offspring.generator_choice import QUICK_RIVALS, OffspringChoice, fit_offspring
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.private_response import private_response
from peerfront.models.response.response_fit import LINEAR, ResponseSettings
from peerfront.models.response.response_stories import StoryFit, StoryWeights, fit_stories, weigh
from peerfront.problem import History
from peerfront.study.artifacts import Fit, fingerprint
from peerfront.study.coupon_calendar import Returning, fitted_returns
from peerfront.study.earlier_studies import (
    FEWEST_WITH_EARLIER,
    Alone,
    EarlierStudies,
    Help,
    own_is_better,
    return_settings,
)
from peerfront.study.fit_settings import AUTO, FitSettings

FEWEST = 10
"""Finished coupon holders below which nothing is fitted."""
FEW = 50
"""Below this many people a study is small: simple models, and a warning."""
NETWORK_PAIRS = 500
"""Pairs below which whom people bring is a table: networks learn from single pairs, and could repeat them."""
LARGEST = 10_000
"""People and pairs that models are fitted to; of a larger study as many are drawn at random."""
_STRONG_PENALTIES = (100.0, 10.0, 1.0)
_NAMED = 3  # columns that a message names


# What is fitted to ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FitData:
    """A study's data, prepared for fitting."""

    study: Study
    schema: StudySchema
    """The schema as it may be published: categories that few people share are merged."""
    merged: Mapping[str, Message]
    history: History
    learned_from: History
    """The history that models are fitted to: all of it, or a random part."""
    n_holders: int
    small: bool
    returning: Returning | None
    undated: Message | None
    earlier: EarlierStudies | None
    return_days: tuple[float, float] | None
    """Median days to return and their factor of variation by earlier studies, if they have return times."""

    @property
    def exposure(self) -> NDArray[np.float64] | None:
        return None if self.returning is None else self.returning.exposure


def prepared(study: Study, schema: StudySchema, settings: FitSettings, prior: Sequence[Fit]) -> FitData:
    """Read dates, merge rare answers and compare with earlier studies; refuse a study that is too small."""
    private, merged = private_schema(study, schema)
    expected, return_days = return_settings(prior)
    returning, undated = fitted_returns(study, expected if prior else None)
    history = history_of(study, private, None if returning is None else returning.exposure)
    n_holders = int((history.coupons > 0).sum())
    earlier: EarlierStudies | None = None
    if prior:
        if n_holders < FEWEST_WITH_EARLIER:
            raise _too_small(study, n_holders, FEWEST_WITH_EARLIER)
        if fingerprint(history) in {each.data_fingerprint for each in prior}:
            raise SettingError("earlier_studies.same_study", prior=Remedy("prior"), source=study.source)
        earlier = EarlierStudies.of(prior, study, schema, private, merged)
    elif n_holders < FEWEST or not len(history.parents):
        raise _too_small(study, n_holders, FEWEST)
    evidence = n_holders if history.exposure is None else float(history.exposure.sum())
    return FitData(
        study=study,
        schema=private,
        merged=merged,
        history=history,
        learned_from=_at_most(history, LARGEST, settings.seed),
        n_holders=n_holders,
        small=len(study) < FEW or evidence < FEW,
        returning=returning,
        undated=undated,
        earlier=earlier,
        return_days=return_days,
    )


def _too_small(study: Study, n_holders: int, fewest: int) -> DataFileError:
    """Why a study is refused, and what it shows nevertheless."""
    issued, used = int(study.issued.sum()), int(np.minimum(study.recruits, study.issued).sum())
    why = (
        note("too_small.few_holders", people=n_people(n_holders), fewest=fewest)
        if n_holders < fewest
        else note("too_small.no_pairs")
    )
    shows = (
        note("too_small.coupons_used", used=used, issued=issued, share=used / issued)
        if issued
        else note("too_small.no_coupons")
    )
    n_open = int(study.still_open.sum())
    values = {"source": study.source, "why": why, "people": n_people(len(study)), "shows": shows}
    if n_open:
        return DataFileError("too_small.to_fit_with_open", **values, open=n_open)
    return DataFileError("too_small.to_fit", **values)


def _at_most(history: History, rows: int, seed: int) -> History:
    """The history with at most this many triples and pairs, drawn at random."""
    if len(history.coupons) <= rows and len(history.parents) <= rows:
        return history
    rng = named_generator("rows to learn from", seed)
    triples, pairs = (np.sort(rng.permutation(count)[:rows]) for count in (len(history.coupons), len(history.parents)))
    return history.part(triples, pairs)


# How many people bring, and whom -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Helped:
    """A study together with the earlier ones that help its fit."""

    studies: EarlierStudies
    history: History
    fitted: tuple[StoryFit, ...]
    help: Help


@dataclass(frozen=True, eq=False)
class Counts:
    """How many people bring, by each story of what a coupon does."""

    fitted: Sequence[StoryFit]
    responses: Mapping[str, LearnedResponse]
    """The models by story, rounded as they may be published."""
    weights: StoryWeights
    helped: Helped | None


def fitted_counts(
    data: FitData, settings: FitSettings, start: Planner | None, progress: Progress
) -> tuple[FitData, Counts]:
    """Fit every story, alone and with earlier studies, and weigh them; also return the data to use from here on."""
    how = response_settings(data.small, start)
    alone = data.n_holders >= FEWEST and len(data.history.parents) > 0
    fitted = fit_stories(data.learned_from, how, progress) if alone else ()
    helped: Helped | None = None
    if data.earlier is not None and len(data.learned_from.coupons) == len(data.history.coupons):
        private = {story.name: private_response(story.response, data.learned_from, how.doubt) for story in fitted}
        helped = _with_help(data, data.earlier, Alone(fitted, private, data.schema) if fitted else None)
        better, gain, error = own_is_better(fitted, helped.fitted) if fitted else (False, 0.0, 0.0)
        if better:
            helped = replace(helped, help=replace(helped.help, behind=(gain, error)))
        else:
            studies, history, fitted = helped.studies, helped.history, helped.fitted
            data = replace(data, schema=studies.schema, merged=studies.merged, history=history, learned_from=history)
    weights = _pinned(fitted, settings.response) if settings.response != AUTO else weigh(fitted)
    if helped is not None and helped.help.used:
        if helped.help.level is not None and settings.response == AUTO:
            weights = helped.studies.weigh(weights, helped.help.level.prior_share)
        responses = {story.name: story.response for story in fitted}  # rounded already
    else:
        responses = {story.name: private_response(story.response, data.learned_from, how.doubt) for story in fitted}
    weights = replace(weights, weights=_rounded(weights.weights), stacked=_rounded(weights.stacked))
    return data, Counts(fitted, responses, weights, helped)


def _with_help(data: FitData, earlier: EarlierStudies, alone: Alone | None) -> Helped:
    history = history_of(data.study, earlier.schema, data.exposure)
    stories, fitted = earlier.responses(data.study, history, alone)
    best = stories[max(fitted, key=lambda story: float(story.held_out.sum())).name]
    return Helped(earlier, history, fitted, Help(earlier, data.n_holders, best.level, best.slope, best.believed))


def check_gain(data: FitData, counts: Counts, settings: FitSettings, allowed: Vetted | None) -> list[Message]:
    """Refuse columns that predict recruits implausibly well, unless the user accepts them; then warn."""
    reason = implausible_gain(counts.fitted, data.learned_from)
    if reason is None:
        return []
    if not settings.accept_gain and (allowed is None or not allowed.accepted):
        raise DataFileError(
            "implausible_gain.stopped",
            source=data.study.source,
            reason=reason,
            columns=strongest_columns(data.learned_from),
            accept=Remedy("accept_gain", True),
        )
    return [warning("implausible_gain.accepted", reason=reason)]


def fitted_offspring(
    data: FitData, counts: Counts, settings: FitSettings, progress: Progress
) -> tuple[OffspringChoice, Counts]:
    """Fit whom people bring; if earlier studies help, the returned counts say how much."""
    rivals = ("inheritance",) if len(data.learned_from.parents) < NETWORK_PAIRS else QUICK_RIVALS
    helped = counts.helped
    if helped is None or not helped.help.used or len(rivals) > 1:
        choice = fit_offspring(data.learned_from, seed=settings.seed, rivals=rivals, progress=progress, private=True)
        return choice, counts
    choice, alike = helped.studies.offspring(data.study, data.history)
    helped = replace(helped, help=replace(helped.help, alike=alike, times=data.return_days))
    return choice, replace(counts, helped=helped)


def response_settings(small: bool, start: Planner | None = None) -> ResponseSettings:
    """All shapes to choose from; for a small study one linear shape, shrunk towards "everybody is alike".

    An earlier planner's shapes are kept: choosing takes most of the time. The seed is always the same: which columns
    count must depend on the study, not on how its rows are split.
    """
    if small:
        return ResponseSettings(shapes=(LINEAR,), penalties=_STRONG_PENALTIES)
    if start is None:
        return ResponseSettings()
    shapes = dict.fromkeys(cast(LearnedResponse, story.response).rates.shape for story in start.stories)
    return ResponseSettings(shapes=tuple(shape for shape in ResponseSettings().shapes if shape in shapes) or (LINEAR,))


def _rounded(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights of stories with two decimals: more could reveal single people."""
    parts = {name: max(round(weight, 2), 0.01) for name, weight in weights.items()}
    return {name: part / sum(parts.values()) for name, part in parts.items()}


def _pinned(fitted: Sequence[StoryFit], story: str) -> StoryWeights:
    """Give all weight to the story that the user names; the weights by the study alone are kept beside it."""
    names = [each.name for each in fitted]
    if story not in names:
        raise SettingError("fits.no_such_story", story=story, names=names)
    return replace(weigh(fitted), weights={story: 1.0}, pinned=story)


# Predictions that are too good to be true ----------------------------------------------------------------------------


def implausible_gain(fitted: Sequence[StoryFit], history: History) -> Message | None:
    """Why the predictions for held-out people are too good to be true; None if they are not.

    `data.column_findings` tests columns one by one and in pairs; here the models' own predictions take the same test
    (`data.counting_noise`): several columns together may give the outcome away although none does so alone.
    """
    if not history.schema.fields or all(len(field.categories) < 2 for field in history.schema.fields):
        return None
    for story in fitted:
        if len(story.recruits) < FEWEST_PEOPLE:
            continue
        chances = np.exp(story.logs)
        chances = chances / chances.sum(axis=1, keepdims=True)
        if story.exposure is not None:
            chances = thinned_counts(chances, story.exposure)  # of recruits so far
        means = chances @ np.arange(chances.shape[1])
        evidence = CountingNoise(story.coupons, story.recruits, len(fitted)).judge(means, 1.0 - chances[:, 0])
        if evidence.implausible:
            return evidence.why_of(note("implausible_gain.columns_together"))
    return None


def strongest_columns(history: History) -> list[str]:
    """The columns that predict recruits best by themselves: those to look at first."""
    rows = history.informative_rows()
    noise = CountingNoise(history.coupons[rows], history.recruits[rows])
    strength = {}
    for number, field in enumerate(history.schema.fields):
        groups = np.unique(history.referrers[rows, number], return_inverse=True)[1]
        evidence = noise.test(np.asarray(groups, dtype=np.int64), int(groups.max()) + 1)
        strength[field.name] = max(evidence.explained, 1.0 - evidence.noise_left)
    return sorted(strength, key=lambda name: -strength[name])[:_NAMED]
