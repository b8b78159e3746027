"""Fit the models of a study: how many recruits coupons bring, as a belief, and whom people bring.

Flexible models would overfit a small study: people are alike until the counts show otherwise, and with few pairs the
generator is the inheritance table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
from peerfront.models.belief.belief import Belief
from peerfront.models.belief.belief_fit import Counts, learned_belief, log_evidence
from peerfront.models.belief.prior import Prior
from peerfront.models.offspring.generator_choice import QUICK_RIVALS, OffspringChoice, fit_offspring
from peerfront.models.pooling import Pooled
from peerfront.models.returns.coupons_seen import count_chances
from peerfront.problem import History
from peerfront.study.artifacts import Fit, fingerprint
from peerfront.study.coupon_calendar import Returning, fitted_returns, generations_of
from peerfront.study.earlier_studies import FEWEST_WITH_EARLIER, EarlierStudies, return_settings
from peerfront.study.fit_settings import FitSettings

FEWEST = 10
"""Finished coupon holders below which nothing is fitted."""
FEW = 50
"""Below this many people a study is small: simple models, and a warning."""
NETWORK_PAIRS = 500
"""Pairs below which whom people bring is a table: networks learn from single pairs, and could repeat them."""
LARGEST = 10_000
"""People and pairs that models are fitted to; of a larger study as many are drawn at random."""
_NAMED = 3  # columns that a message names
_CHECKED_DRAWS = 50
_TIMES_AS_LIKELY = 20  # times as likely by the usual prior: then the counts speak against the user's own


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
    planned: Mapping[str, int] | None
    """Numbers of coupons that plans or lots gave, by id."""
    return_days: tuple[float, float] | None
    """Median days to return and their factor of variation by earlier studies, if they have return times."""

    @property
    def exposure(self) -> NDArray[np.float64] | None:
        return None if self.returning is None else self.returning.exposure


def prepared(
    study: Study,
    schema: StudySchema,
    settings: FitSettings,
    prior: Sequence[Fit],
    planned: Mapping[str, int] | None = None,
) -> FitData:
    """Read dates, merge rare answers and compare with earlier studies; refuse a study that is too small."""
    private, merged = private_schema(study, schema)
    expected, return_days = return_settings(prior)
    returning, undated = fitted_returns(study, expected if prior else None)
    history = history_of(study, private, **_known_of(study, returning, planned))
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
        planned=planned,
        return_days=return_days,
    )


def _known_of(study: Study, returning: Returning | None, planned: Mapping[str, int] | None) -> dict[str, Any]:
    """What a history is told beside the file."""
    if returning is None:
        return {"planned": planned}
    return {
        "exposure": returning.exposure,
        "exposure_draws": returning.exposure_draws(study),
        "wave": generations_of(study, returning.times),
        "planned": planned,
    }


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


def fitted_belief(data: FitData, settings: FitSettings, progress: Progress) -> tuple[FitData, Belief]:
    """Learn what coupons do, with earlier studies' help; also return the data to use from here on."""
    progress(0.1, note("progress.how_many"))
    prior, earlier = settings.prior, data.earlier
    if earlier is None:
        return data, learned_belief(counts_of(data.learned_from).private(), prior, seed=settings.seed).rounded()
    history = history_of(data.study, earlier.schema, **_known_of(data.study, data.returning, data.planned))
    data = replace(
        data, schema=earlier.schema, merged=earlier.merged, history=history,
        learned_from=_at_most(history, LARGEST, settings.seed),
    )  # fmt: skip
    helped = earlier.prior(prior, counts_of(data.learned_from))
    return data, learned_belief(counts_of(data.learned_from).private(), helped, seed=settings.seed).rounded()


def counts_of(history: History) -> Counts:
    """What a belief learns from, of people with coupons and time to use them."""
    rows = history.informative_rows()
    return Counts(
        history.schema,
        history.referrers[rows],
        history.coupons[rows],
        history.recruits[rows],
        history.exposure_of(rows) if history.exposure_draws is None else history.exposure_draws[rows],
        None if history.wave is None else history.wave[rows],
        None if history.planned is None else history.planned[rows],
    )


def check_gain(data: FitData, settings: FitSettings, allowed: Vetted | None) -> list[Message]:
    """Refuse columns that predict recruits implausibly well, unless the user accepts them; then warn.

    A belief of its own, from the counts as they are, makes the predictions.
    """
    exact = learned_belief(counts_of(data.learned_from), settings.prior, draws=_CHECKED_DRAWS, seed=settings.seed)
    reason = implausible_gain(exact, data.learned_from)
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


def check_prior(data: FitData, settings: FitSettings) -> list[Message]:
    """Warn if the counts are far less likely by the user's own prior than by the usual one."""
    if settings.prior_belief is None:
        return []
    counts = counts_of(data.learned_from).private()
    lost = log_evidence(counts, Prior()) - log_evidence(counts, settings.prior)
    if lost <= np.log(_TIMES_AS_LIKELY):
        return []
    return [warning("evidence.against_prior", times=_TIMES_AS_LIKELY, prior=Remedy("prior_belief", "FILE"))]


def fitted_offspring(
    data: FitData, settings: FitSettings, progress: Progress
) -> tuple[OffspringChoice, dict[str, Pooled] | None]:
    """Fit whom people bring; and how alike recruits are by earlier studies too, if these help."""
    rivals = ("inheritance",) if len(data.learned_from.parents) < NETWORK_PAIRS else QUICK_RIVALS
    if data.earlier is None or len(rivals) > 1:
        choice = fit_offspring(data.learned_from, seed=settings.seed, rivals=rivals, progress=progress, private=True)
        return choice, None
    return data.earlier.offspring(data.study, data.history)


# Predictions that are too good to be true ----------------------------------------------------------------------------


def implausible_gain(belief: Belief, history: History) -> Message | None:
    """Why the predictions are too good to be true; None if they are not.

    `data.column_findings` tests columns one by one and in pairs; here the belief's own predictions take the same test
    (`data.counting_noise`): several columns together may give the outcome away although none does so alone.
    """
    rows = history.informative_rows()
    if not belief.fields or len(rows) < FEWEST_PEOPLE:
        return None
    coupons, recruits, exposure = history.coupons[rows], history.recruits[rows], history.exposure_of(rows)
    chances = count_chances(belief.response, history.referrers[rows], coupons)
    if exposure is not None:
        chances = thinned_counts(chances, exposure)  # of recruits so far
    means = chances @ np.arange(chances.shape[1])
    evidence = CountingNoise(coupons, recruits, 1).judge(means, 1.0 - chances[:, 0])
    return evidence.why_of(note("implausible_gain.columns_together")) if evidence.implausible else None


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
