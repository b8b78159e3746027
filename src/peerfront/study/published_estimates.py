"""Estimates and diagnostics of the sample as the report publishes them: no group of fewer than five people follows.

An outcome with a category that fewer than five recruits have is hidden. Shares are rounded to whole percents, in
pictures, too; and pictures of parts of the sample (waves, trees, the first people who came) leave out small parts and
round to 5%. A plain share of some hundred people says how many they are, and so how many did not answer, who may be
few: where some did not answer, plain shares of small samples are rounded to 5%, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.data.study import Study
from peerfront.estimates.estimating import OutcomeEstimates
from peerfront.estimates.estimators import MEAN, RDS_II, SS
from peerfront.estimates.sample import Outcome, Sample
from peerfront.estimates.sample_diagnostics import Diagnostics
from peerfront.foundation.messages import Message, note
from peerfront.foundation.privacy import FEWEST
from peerfront.study.estimation import estimate

_LEAST_PART = 20  # people of a wave, a category or a stratum that is published
_LEAST_TREE = 30  # people of a tree, or of the sample so far, from which on an estimate is published
_LEAST_FOR_PERCENTS = 200  # recruits from which on whole percents do not say how many recruits there are
_EVERY = 5  # of the points of a curve, one is drawn
_DISCREET = {  # messages that name groups, who may be few, and those that name none
    "estimators.brought_more": note("estimators.brought_by_answer"),
    "estimators.brought_unlike": note("estimators.brought_by_answer"),
    "estimators.answers_without_recruits": note("estimators.too_few_in_common"),
    "estimators.answers_never_recruited": note("estimators.too_few_in_common"),
    "estimators.groups_apart": note("estimators.too_few_in_common"),
    "estimators.stratum_without_recruits": note("estimators.too_few_in_common"),
    "estimators.no_pairs": note("estimators.too_few_in_common"),
}


@dataclass(frozen=True, eq=False)
class PublishedOutcome:
    """One outcome: hidden, or its rounded estimates and diagnostics."""

    name: str
    hidden: Message | None = None
    """Why it is hidden."""
    estimates: OutcomeEstimates | None = None
    diagnostics: Diagnostics | None = None


@dataclass(frozen=True, eq=False)
class PublishedEstimates:
    """All outcomes of a study."""

    outcomes: tuple[PublishedOutcome, ...]
    strata: str | Message
    notes: tuple[Message, ...]


def published_estimates(
    study: Study,
    outcomes: Sequence[str],
    *,
    population: int | None,
    decisions: Path | None,
    bootstraps: int,
    seed: int,
) -> PublishedEstimates:
    """Estimate the outcomes of a study and round or hide what the page publishes."""
    made = estimate(
        study, list(outcomes), population=population, decisions=decisions or (), bootstraps=bootstraps, seed=seed
    )
    sample = made.study_sample.sample
    # Notes of the estimates themselves say how many answers are missing, which may be few.
    notes = [note("published.missing_left_out", recruits=_LEAST_FOR_PERCENTS)]
    if made.population is None:
        notes.append(note("published.no_population"))
    rounded = tuple(_rounded_outcome(*both, sample) for both in zip(made.made, made.diagnostics, strict=True))
    return PublishedEstimates(rounded, made.study_sample.strata, tuple(notes))


def _rounded_outcome(made: OutcomeEstimates, diagnostics: Diagnostics, sample: Sample) -> PublishedOutcome:
    outcome = made.outcome
    hidden = _few(outcome, sample)
    if hidden is not None:
        return PublishedOutcome(outcome.name, hidden)
    coarse = _coarse(outcome, sample)
    verdict = replace(
        made.verdict,
        invalid={name: _discreet(why) for name, why in made.verdict.invalid.items()},
        recruitment=None if made.verdict.recruitment is None else _discreet(made.verdict.recruitment),
        cannot={name: _discreet(why) for name, why in made.verdict.cannot.items()},
    )
    rounded = replace(made, table=_rounded_table(made, coarse), verdict=verdict)
    shown = rounded_diagnostics(diagnostics, sample, outcome, coarse=verdict.best in coarse)
    return PublishedOutcome(outcome.name, None, rounded, shown)


def _discreet(message: Message) -> Message:
    """The same message without saying which people, who may be few, brought how many or nobody."""
    if message.code in _DISCREET:
        return _DISCREET[message.code]
    inside = {name: _discreet(each) if isinstance(each, Message) else each for name, each in message.arguments.items()}
    return replace(message, arguments=inside)


def _few(outcome: Outcome, sample: Sample) -> Message | None:
    """Why an outcome is hidden; None if it may be published."""
    bands = outcome.bands[outcome.known & ~sample.seed]
    counts = np.bincount(bands, minlength=len(outcome.band_names))
    if counts.min(initial=len(sample)) < FEWEST:
        return note("published.rare_answer", fewest=FEWEST)
    return note("published.few_answers", fewest=_LEAST_TREE) if len(bands) < _LEAST_TREE else None


def _coarse(outcome: Outcome, sample: Sample) -> frozenset[str]:
    """Estimators whose shares would say how many people answered: plain shares, of a small sample."""
    recruits = ~sample.seed
    answered = int((outcome.known & recruits).sum())
    if outcome.numeric or answered >= _LEAST_FOR_PERCENTS or answered == int(recruits.sum()):
        return frozenset()
    alike = bool((sample.network_size == sample.network_size[0]).all())  # then all weigh people alike
    return frozenset({MEAN, RDS_II, SS} if alike else {MEAN})


def _rounded_table(made: OutcomeEstimates, coarse: frozenset[str]) -> pd.DataFrame:
    """Estimates to whole percents, 5% for coarse ones, or three digits of a number; sizes to fives."""
    table = made.table.copy()
    is_coarse = table["estimator"].isin(coarse).to_numpy()
    to = np.where(is_coarse, 0.05, 0.01)
    outward = {"low": np.floor, "high": np.ceil}  # a coarse interval must not be narrower than the true one
    for name in ("estimate", "low", "high", "likely_bias"):
        values = table[name].to_numpy(dtype=np.float64)
        if made.outcome.numeric:
            table[name] = [float(f"{each:.3g}") for each in values]
        else:
            steps = values / to
            table[name] = np.where(is_coarse, outward.get(name, np.round)(steps), np.round(steps)) * to
    table["effective_size"] = FEWEST * (table["effective_size"] / FEWEST).round()
    reasons = [_discreet(why) if isinstance(why, Message) else why for why in table["why"]]
    return table.assign(why=pd.Series(reasons, index=table.index, dtype=object))


def rounded_diagnostics(
    diagnostics: Diagnostics, sample: Sample, outcome: Outcome, *, coarse: bool = False
) -> Diagnostics:
    """The tables with small parts of the sample left out, and shares rounded; those of everybody to 5% if `coarse`."""
    to = 0.0 if outcome.numeric else 0.05
    curves = []
    for table in (diagnostics.convergence, diagnostics.bottlenecks):
        kept = table[table["people"] >= _LEAST_TREE]
        by = ["tree"] if "tree" in kept else []
        place = kept.groupby([*by, "category"]).cumcount(ascending=False)
        curves.append(_rounded(kept[place % _EVERY == 0], ["estimate"], to if by or coarse else to / 5.0))
    seeds = diagnostics.seeds[(diagnostics.seeds["wave"] >= 2) | (diagnostics.seeds["people"] >= _LEAST_PART)].copy()
    seeds.loc[seeds["people"] < _LEAST_PART, "share"] = np.nan
    seeds.loc[seeds["wave"] < 2, "expected"] = np.nan
    seeds = _rounded(seeds, ["share", "expected", "equilibrium"], 0.05)
    pairs = diagnostics.homophily
    homophily = pairs[(pairs["pairs"] >= _LEAST_PART) & (pairs["same"] >= FEWEST)]
    brought = diagnostics.effectiveness
    effectiveness = brought[(brought["people"] >= _LEAST_PART) & (brought["recruits"] >= FEWEST)]
    return replace(
        diagnostics,
        convergence=curves[0],
        bottlenecks=curves[1],
        seeds=seeds,
        homophily=homophily.assign(recruitment_homophily=homophily["recruitment_homophily"].round(1)),
        effectiveness=effectiveness.assign(
            per_person=effectiveness["per_person"].round(1), per_coupon=effectiveness["per_coupon"].round(1)
        ),
    )


def _rounded(table: pd.DataFrame, columns: Sequence[str], to: float) -> pd.DataFrame:
    return table.assign(**{name: (table[name] / to).round() * to for name in columns}) if to else table
