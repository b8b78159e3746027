"""Estimates and diagnostics of the sample as the report tells them: no group of fewer than five people follows.

An outcome with a category that fewer than five recruits have is not told at all. Shares are told to whole percents, in
pictures, too; and pictures of parts of the sample (waves, trees, the first people who came) leave out small parts and
round to 5%. A plain share of some hundred people says how many they are, and so how many did not answer, who may be
few: where some did not answer, plain shares of small samples are rounded to 5%, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from peerfront.data.study import Study
from peerfront.estimates.diagnostics import Diagnostics
from peerfront.estimates.estimating import OutcomeEstimates
from peerfront.estimates.estimators import IN_WORDS, MEAN, RDS_II, SS
from peerfront.estimates.sample import Outcome, Sample
from peerfront.foundation.privacy import FEWEST
from peerfront.foundation.words import percent
from peerfront.study.estimation import Estimates, estimate

_LEAST_PART = 20  # people of a wave, a category or a stratum that is told
_LEAST_TREE = 30  # people of a tree, or of the sample so far, from which on an estimate is told
_LEAST_FOR_PERCENTS = 200  # recruits from which on whole percents do not say how many recruits there are
_EVERY = 5  # of the points of a curve, one is drawn


@dataclass(frozen=True, eq=False)
class ToldOutcome:
    """One outcome as the page tells it."""

    name: str
    hidden: str
    """Why it is not told; empty if it is."""
    lines: tuple[str, ...] = ()
    rows: tuple[dict[str, Any], ...] = ()
    """The table of estimates: what, estimator, estimate, interval, effect, worth, off, valid, best, why."""
    homophily: tuple[dict[str, Any], ...] = ()
    effectiveness: tuple[dict[str, Any], ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    figures: tuple[OutcomeEstimates, Diagnostics] | None = None
    """What pictures are drawn from."""


@dataclass(frozen=True, eq=False)
class ToldEstimates:
    """All outcomes of a study, and what was decided on the way."""

    outcomes: tuple[ToldOutcome, ...]
    strata: str
    notes: tuple[str, ...]


def told_estimates(
    study: Study,
    outcomes: Sequence[str],
    *,
    population: int | None,
    decisions: Path | None,
    bootstraps: int,
    seed: int,
) -> ToldEstimates:
    """Estimate the outcomes of a study and put together what the page may tell."""
    made = estimate(
        study, list(outcomes), population=population, decisions=decisions or (), bootstraps=bootstraps, seed=seed
    )
    told = tuple(
        _told(each, diagnostics, made.study_sample.sample)
        for each, diagnostics in zip(made.made, made.diagnostics, strict=True)
    )
    return ToldEstimates(told, made.study_sample.strata, _told_notes(made))


def _told_notes(made: Estimates) -> tuple[str, ...]:
    """Notes without counts of people: those say how many answers are missing, which may be few."""
    notes = [
        "Answers that are not known are left out; peerfront estimate says how many. Where there are some, plain shares "
        f"of fewer than {_LEAST_FOR_PERCENTS} recruits are rounded to 5% here, and there they are not."
    ]
    if made.population is None:
        notes.append("The population's size was not given.")
    return tuple(notes)


def _told(made: OutcomeEstimates, diagnostics: Diagnostics, sample: Sample) -> ToldOutcome:
    outcome = made.outcome
    few = _few(outcome, sample)
    if few:
        return ToldOutcome(outcome.name, few)
    coarse = _coarse(outcome, sample)
    made = replace(made, table=_told_table(made, coarse))
    table = made.table[made.table["group"] == "everybody"]
    shown = told_diagnostics(diagnostics, sample, outcome, coarse=made.verdict.best in coarse)
    return ToldOutcome(
        outcome.name,
        "",
        tuple(_discreet(line, made) for line in made.verdict.words),
        tuple(_rows(table, made)),
        tuple(
            {"category": row["category"], "recruitment": row["recruitment_homophily"]}
            for row in shown.homophily.to_dict("records")
        ),
        tuple(
            {"of": f"{row['by']} = {row['value']}", "person": row["per_person"], "coupon": row["per_coupon"]}
            for row in shown.effectiveness.to_dict("records")
        ),
        tuple(_facts(diagnostics)),
        (made, shown),
    )


def _few(outcome: Outcome, sample: Sample) -> str:
    """Say why an outcome is not told; nothing if it may be."""
    known = outcome.known & ~sample.seed
    bands = outcome.bands[known]
    counts = np.bincount(bands, minlength=len(outcome.band_names))
    if counts.min(initial=len(sample)) < FEWEST:
        return f"fewer than {FEWEST} recruits have one of its answers"
    return f"fewer than {_LEAST_TREE} recruits have a known answer" if len(bands) < _LEAST_TREE else ""


def _coarse(outcome: Outcome, sample: Sample) -> frozenset[str]:
    """Estimators whose shares would say how many people answered: plain shares, of a small sample."""
    recruits = ~sample.seed
    answered = int((outcome.known & recruits).sum())
    if outcome.numeric or answered >= _LEAST_FOR_PERCENTS or answered == int(recruits.sum()):
        return frozenset()
    alike = bool((sample.network_size == sample.network_size[0]).all())  # then all weigh people alike
    return frozenset({MEAN, RDS_II, SS} if alike else {MEAN})


def _told_table(made: OutcomeEstimates, coarse: frozenset[str]) -> pd.DataFrame:
    """The estimates as precise as they are told: whole percents, 5% for coarse ones, three digits of a number."""
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
    return table


def _rows(table: pd.DataFrame, made: OutcomeEstimates) -> list[dict[str, Any]]:
    """One row for each estimate; what is estimated stands in the first of its rows alone."""
    rows, before = [], ""
    for each in table.to_dict("records"):
        row = _row(each, made)
        rows.append(row | {"what": "" if row["what"] == before else row["what"]})
        before = row["what"]
    return rows


def _row(row: dict[Any, Any], made: OutcomeEstimates) -> dict[str, Any]:
    number = made.outcome.numeric

    def shown(value: float) -> str:
        return "" if value != value else f"{value:.3g}" if number else f"{value:.0%}"

    known = row["low"] == row["low"]
    effect, bias = row["design_effect"], row["likely_bias"]
    return {
        "what": made.outcome.name if number else f"{made.outcome.name} = {row['category']}",
        "estimator": row["estimator"],
        "described": IN_WORDS[row["estimator"]],
        "estimate": shown(row["estimate"]),
        "interval": f"{shown(row['low'])} to {shown(row['high'])}" if known else "",
        "effect": "" if effect != effect else f"{effect:.1f}",
        "worth": "" if effect != effect else f"{5 * round(row['effective_size'] / 5):,.0f}",
        "off": "" if bias != bias else f"{bias:+.2g}" if number else f"{round(100 * bias) + 0:+d} points",
        "valid": bool(row["valid"]),
        "best": row["estimator"] == made.verdict.best,
        "why": _discreet(row["why"], made),
    }


def _discreet(text: str, made: OutcomeEstimates) -> str:
    """The same words without saying which people, who may be few, brought how many or nobody."""
    verdict = made.verdict
    if verdict.brought:
        text = text.replace(
            verdict.brought, "people with one answer brought clearly more recruits than those with another"
        )
    for why in verdict.cannot.values():
        text = text.replace(why, "some groups of answers or strata have too few recruits, or none in common")
    return text


def _facts(diagnostics: Diagnostics) -> list[tuple[str, str]]:
    waves = int(diagnostics.seeds["wave"].max())
    settle = diagnostics.waves_to_settle
    return [
        (
            "waves until the seeds no longer matter",
            "not known" if settle is None else f"{settle} (the sample has {waves})",
        ),
        ("share of the recruits who descend from one seed", percent(diagnostics.largest_tree)),
    ]


def told_diagnostics(
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
