"""Estimate outcomes of a study: which estimator is valid given how coupons were handed out, numbers, diagnostics."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from peerfront.data.reading import read_study
from peerfront.data.study import Study
from peerfront.estimates.diagnostics import Diagnostics, diagnosed
from peerfront.estimates.estimating import (
    FEWEST_PEOPLE,
    MOST_BOOTSTRAPS,
    OutcomeEstimates,
    checked_population,
    estimate_outcome,
)
from peerfront.estimates.estimators import IN_WORDS
from peerfront.estimates.resampling import BOOTSTRAPS, NEIGHBOURHOOD
from peerfront.foundation.errors import SettingError
from peerfront.foundation.settings import one_of, seed_number, whole_number
from peerfront.foundation.words import Sentences, as_html, n_people, percent
from peerfront.study.decision_log import RecordedStrata, recorded_strata
from peerfront.study.study_sample import StudySample, groups_of, outcome_of, sample_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_OUTCOMES = 20
Recorded = Path | str | pd.DataFrame | Sequence[Path | str | pd.DataFrame]
"""Files (or tables) that hold decisions about people."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of one or more outcomes of a study, as `estimate` makes them.

    >>> made = pf.estimate(study, outcome=["gender", "housing"], by="district", bootstraps=20)
    >>> sorted(made.plot("housing"))
    ['bottlenecks', 'convergence', 'estimates', 'seeds']
    """

    source: str
    made: tuple[OutcomeEstimates, ...]
    study_sample: StudySample
    population: int | None
    interval: str
    notes: tuple[str, ...]
    """What was decided about the file: answers and network sizes that are not known, strata that were joined."""

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each outcome, group, category and estimator."""
        return pd.concat([each.table for each in self.made], ignore_index=True)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostics, ...]:
        """Diagnostics of each outcome."""
        return tuple(
            diagnosed(self.study_sample.sample, each.outcome, each.verdict.best, self.population) for each in self.made
        )

    def diagnostic_table(self) -> pd.DataFrame:
        """Homophily, recruitment effectiveness and seed dependence as one long table."""
        return pd.concat([each.table() for each in self.diagnostics], ignore_index=True)

    def lines(self) -> Sentences:
        """Say which estimate to use and why, what it is, and what was decided on the way."""
        lines: list[str] = []
        for each, diagnostics in zip(self.made, self.diagnostics, strict=True):
            lines += [f"{each.outcome.name}:", *(f"  {line}" for line in each.verdict.words)]
            lines += [f"  {line}" for line in _best_words(each)]
            lines += [f"  {line}" for line in _diagnostic_words(diagnostics)]
        if self.study_sample.strata:
            lines.append(f"Strata: {self.study_sample.strata} ({', '.join(self.study_sample.sample.strata)}).")
        lines += self.notes
        lines.append(f"Intervals hold 95%, by the {self.interval} bootstrap.")
        return Sentences(lines)

    def plot(self, outcome: str | None = None, *, narrow: bool = False) -> "dict[str, Figure]":
        """Draw the pictures of an outcome (the first, if none is named): estimates, convergence, bottlenecks, seeds."""
        from peerfront.estimates.figures import figures_of

        names = [each.outcome.name for each in self.made]
        place = 0 if outcome is None else names.index(one_of("outcome", outcome, names))
        return figures_of(self.made[place], self.diagnostics[place], narrow=narrow)

    def _repr_html_(self) -> str:
        return as_html(self.lines(), self.table)


def _best_words(made: OutcomeEstimates) -> list[str]:
    rows = made.best[made.best["group"] == "everybody"]
    lines = []
    for row in rows.to_dict("records"):
        what = made.outcome.name if made.outcome.numeric else f"{made.outcome.name} = {row['category']}"
        name = IN_WORDS[row["estimator"]]
        if np.isfinite(row["low"]):
            shown = [_number(row[key], made.outcome.numeric) for key in ("estimate", "low", "high")]
            worth = f"worth {row['effective_size']:,.0f} drawn at random (design effect {row['design_effect']:.1f})"
            lines.append(f"{what}: {shown[0]} ({shown[1]} to {shown[2]}), {name}; {n_people(row['people'])}, {worth}.")
        else:
            lines.append(f"{what}: {_number(row['estimate'], made.outcome.numeric)}, {name}; no interval, because "
                         "resampling does not show how sure it is.")  # fmt: skip
    return lines


def _number(value: float, numeric: bool) -> str:
    return f"{value:.4g}" if numeric else f"{value:.1%}"


def _diagnostic_words(diagnostics: Diagnostics) -> list[str]:
    lines = []
    waves = int(diagnostics.seeds["wave"].max())
    if diagnostics.waves_to_settle is not None and diagnostics.waves_to_settle > waves:
        lines.append(f"The seeds still matter: as people recruit, that takes {diagnostics.waves_to_settle} waves to "
                     f"fade, and the sample has {waves}.")  # fmt: skip
    if diagnostics.largest_tree > 0.5:
        lines.append(f"{percent(diagnostics.largest_tree)} of the recruits descend from one seed.")
    return lines


def estimate(
    study: Study | Path | str | pd.DataFrame,
    outcome: str | Sequence[str],
    *,
    population: int | None = None,
    by: str | Sequence[str] = (),
    strata: str | Sequence[str] = (),
    sheet: Recorded = (),
    decisions: Recorded = (),
    bootstraps: int = 1000,
    interval: str = NEIGHBOURHOOD,
    seed: int = 0,
) -> Estimates:
    """Estimate shares or means in the population from a study, also where coupons depended on people.

    `outcome` names columns, `by` columns whose categories are subgroups, and `strata` the columns by which coupons were
    given out. Instead of columns, coupon sheets (`sheet`) or the decision log (`decisions`) say everybody's stratum;
    without any of them it is how many coupons people were issued. `population` is the number of people there are, if
    it is known.

    >>> study = pf.read_study(pf.demo_study(people=300).study)
    >>> made = pf.estimate(study, outcome="housing", bootstraps=50)
    >>> made.made[0].verdict.best  # everybody had three coupons
    'RDS-II'
    >>> list(made.table.columns)[:5]
    ['outcome', 'group', 'category', 'estimator', 'estimate']
    """
    study = study if isinstance(study, Study) else read_study(study)
    outcomes, groups_by, columns = (
        (names,) if isinstance(names, str) else tuple(names) for names in (outcome, by, strata)
    )
    if not outcomes or len(outcomes) > _MOST_OUTCOMES:
        raise SettingError(f"Name 1 to {_MOST_OUTCOMES} outcomes; found {len(outcomes)}.")
    if len(set(outcomes)) < len(outcomes):
        raise SettingError(f"An outcome is named twice: {', '.join(outcomes)}. Name each once.")
    bootstraps, seed = whole_number("bootstraps", bootstraps, 2, MOST_BOOTSTRAPS), seed_number("seed", seed)
    interval = one_of("interval", interval, BOOTSTRAPS)
    read = [outcome_of(study, name) for name in outcomes]
    groups = tuple(groups_of(study, name) for name in groups_by)
    recorded = _recorded(columns, sheet, decisions)
    study_sample = sample_of(study, columns, recorded)
    population = checked_population(study_sample.sample, population)
    made = tuple(
        estimate_outcome(
            study_sample.sample, one, groups=groups, population=population, bootstraps=bootstraps, interval=interval,
            seed=seed,
        )
        for one, _ in read
    )  # fmt: skip
    notes = [note for _, own in read for note in own] + list(study_sample.notes)
    notes += [] if recorded is None else recorded.notes
    if groups:
        notes.append(f"Groups with fewer than {FEWEST_PEOPLE} recruits whose answer is known are left out.")
    return Estimates(study.source, made, study_sample, population, interval, tuple(dict.fromkeys(notes)))


def _recorded(columns: Sequence[str], sheet: Recorded, decisions: Recorded) -> RecordedStrata | None:
    """Strata from coupon sheets or from the decision log; None if neither was given."""
    sheets, logs = (
        (files,) if isinstance(files, Path | str | pd.DataFrame) else tuple(files) for files in (sheet, decisions)
    )
    given = [name for name, there in (("--strata", columns), ("--sheet", sheets), ("--decisions", logs)) if there]
    if len(given) > 1:
        raise SettingError(f"{' and '.join(given)} say twice what the strata are. Give one of them.")
    if sheets:
        return recorded_strata(sheets, "coupon sheet")
    return recorded_strata(logs, "decision log") if logs else None
