"""Tables and estimates as the report publishes them: they reveal no group of fewer than five people.

Tables are computed from counts rounded to five (`published_counts.py` has the counts themselves). An outcome with a
category that fewer than five recruits have is hidden. Shares are rounded to whole percents, in pictures, too; and
pictures of parts of the sample (waves, trees, the first people who came) leave out small parts and round to 5%. A plain
share of some hundred people reveals how many answered, and so how many did not, who may be few: if some did not answer,
plain shares of small samples are rounded to 5%, too.
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
from peerfront.foundation.stored import FEWEST, rounded_counts
from peerfront.models.model_diagnostics import CapacityReport, share_interval
from peerfront.study.estimation import estimate

_LEAST_PART = 20  # smallest wave, category or stratum that is published
_LEAST_TREE = 30  # smallest tree, or sample so far, with a published estimate
_LEAST_FOR_PERCENTS = 200  # from this many recruits on, whole percents do not reveal their number
_EVERY = 5  # one in five points of a curve is drawn
_DISCREET = {  # messages that name groups, which may be small, and their replacements that name none
    "estimators.brought_more": note("estimators.brought_by_answer"),
    "estimators.brought_unlike": note("estimators.brought_by_answer"),
    "estimators.answers_without_recruits": note("estimators.too_few_in_common"),
    "estimators.answers_never_recruited": note("estimators.too_few_in_common"),
    "estimators.groups_apart": note("estimators.too_few_in_common"),
    "estimators.stratum_without_recruits": note("estimators.too_few_in_common"),
    "estimators.no_pairs": note("estimators.too_few_in_common"),
}


def published_capacity(report: CapacityReport) -> CapacityReport:
    """People by number of recruits, and use of coupons, computed only from counts rounded to five.

    The rounded counts are those of people who brought at least 1, 2, ..., as in a saved model.
    """
    observed = report.rootogram["observed"].to_numpy(dtype=np.int64)
    at_least = rounded_counts(np.cumsum(observed[::-1])[::-1])
    scale = at_least[0] / max(observed.sum(), 1)
    rootogram = report.rootogram.assign(
        observed=at_least - np.append(at_least[1:], 0.0), expected=report.rootogram["expected"] * scale
    )
    calibration = report.calibration.copy()
    used = rounded_counts((calibration["observed"] * calibration["people"]).round())
    people = np.maximum(rounded_counts(calibration["people"]), FEWEST)
    shares = np.minimum(used / people, 1.0)
    low, high = zip(*(share_interval(s, int(n)) for s, n in zip(shares, people, strict=True)), strict=True)
    return replace(
        report,
        rootogram=rootogram,
        calibration=calibration.assign(people=people, observed=shares, low=low, high=high),
    )


def published_homophily(table: pd.DataFrame) -> pd.DataFrame:
    """Homophily from counts to the nearest five; intervals and chance to whole percents.

    If fewer than five pairs are alike, or fewer than five are not, the share is 0 or 1 and has no interval.
    """
    pairs = table["pairs"].to_numpy(dtype=np.float64)
    alike = np.nan_to_num(table["same"].to_numpy(dtype=np.float64)) * pairs
    rounded = rounded_counts(pairs)
    same = np.clip(rounded_counts(alike.round()) / np.maximum(rounded, 1.0), 0.0, 1.0)
    few, all_but_few = alike.round() < FEWEST, (pairs - alike).round() < FEWEST
    same = np.where(few, 0.0, np.where(all_but_few, 1.0, same))
    hidden = few | all_but_few
    shown = table.assign(pairs=rounded.astype(np.int64), same=np.where(rounded > 0, same, np.nan))
    for name in ("low", "high", "chance", "chance_low", "chance_high"):
        shown[name] = table[name].round(2)
    shown["low"] = np.where(hidden, np.nan, np.minimum(shown["low"], shown["same"]))
    shown["high"] = np.where(hidden, np.nan, np.maximum(shown["high"], shown["same"]))
    chance, share = shown["chance"].to_numpy(dtype=np.float64), shown["same"].to_numpy(dtype=np.float64)
    span = np.where(share >= chance, 1.0 - chance, chance)
    index = np.divide(share - chance, span, out=np.zeros(len(span)), where=span > 0)
    shown["index"] = np.where(hidden, np.nan, index.round(2))
    return shown


# Estimates ------------------------------------------------------------------------------------------------------------


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
    """Estimate the outcomes of a study, rounded or hidden as the page may publish them."""
    estimates = estimate(
        study, list(outcomes), population=population, decisions=decisions or (), bootstraps=bootstraps, seed=seed
    )
    sample = estimates.study_sample.sample
    # Notes of the estimates themselves say how many answers are missing, which may be few.
    notes = [note("published.missing_left_out", recruits=_LEAST_FOR_PERCENTS)]
    if estimates.population is None:
        notes.append(note("published.no_population"))
    rounded = tuple(
        _rounded_outcome(*both, sample) for both in zip(estimates.outcomes, estimates.diagnostics, strict=True)
    )
    return PublishedEstimates(rounded, estimates.study_sample.strata, tuple(notes))


def _rounded_outcome(estimates: OutcomeEstimates, diagnostics: Diagnostics, sample: Sample) -> PublishedOutcome:
    outcome = estimates.outcome
    hidden = _few(outcome, sample)
    if hidden is not None:
        return PublishedOutcome(outcome.name, hidden)
    coarse = _coarse(outcome, sample)
    verdict = replace(
        estimates.verdict,
        invalid={name: _discreet(why) for name, why in estimates.verdict.invalid.items()},
        recruitment=None if estimates.verdict.recruitment is None else _discreet(estimates.verdict.recruitment),
        cannot={name: _discreet(why) for name, why in estimates.verdict.cannot.items()},
    )
    nothing = estimates.comparisons.iloc[:0]
    table = _rounded_table(estimates, coarse)
    rounded = replace(estimates, table=table, comparisons=nothing, verdict=verdict, weighing=None)
    shown = rounded_diagnostics(diagnostics, sample, outcome, coarse=verdict.best in coarse or RDS_II in coarse)
    return PublishedOutcome(outcome.name, None, rounded, shown)


def _discreet(message: Message) -> Message:
    """The message without naming groups, which may be small."""
    if message.code in _DISCREET:
        return _DISCREET[message.code]
    inside = {name: _discreet(each) if isinstance(each, Message) else each for name, each in message.arguments.items()}
    return replace(message, arguments=inside)


def _few(outcome: Outcome, sample: Sample) -> Message | None:
    """Why an outcome is hidden; None if it may be published."""
    bands = outcome.bands[outcome.answered & ~sample.seed]
    counts = np.bincount(bands, minlength=len(outcome.band_names))
    if counts.min(initial=len(sample)) < FEWEST:
        return note("published.rare_answer", fewest=FEWEST)
    return note("published.few_answers", fewest=_LEAST_TREE) if len(bands) < _LEAST_TREE else None


def _coarse(outcome: Outcome, sample: Sample) -> frozenset[str]:
    """Estimators whose shares would reveal how many people answered: plain shares of a small sample."""
    recruits = ~sample.seed
    answered = int((outcome.answered & recruits).sum())
    if outcome.numeric or answered >= _LEAST_FOR_PERCENTS or answered == int(recruits.sum()):
        return frozenset()
    alike = bool((sample.network_size == sample.network_size[0]).all())  # then all estimators weigh people alike
    return frozenset({MEAN, RDS_II, SS} if alike else {MEAN})


def _rounded_table(estimates: OutcomeEstimates, coarse: frozenset[str]) -> pd.DataFrame:
    """Estimates to whole percents, 5% for coarse ones, or three digits of a number; sizes to fives."""
    table = estimates.table.copy()
    is_coarse = table["estimator"].isin(coarse).to_numpy()
    to = np.where(is_coarse, 0.05, 0.01)
    outward = {"low": np.floor, "high": np.ceil}  # a coarse interval must not be narrower than the true one
    for name in ("estimate", "low", "high", "likely_bias"):
        values = table[name].to_numpy(dtype=np.float64)
        if estimates.outcome.numeric:
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
    """The tables without small parts of the sample, with rounded shares; overall shares to 5% if `coarse`."""
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
