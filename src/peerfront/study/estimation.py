"""Estimate outcomes of a study: the estimators that are valid for how coupons were handed out, and diagnostics."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from peerfront.data.reading import read_study
from peerfront.data.study import Study
from peerfront.estimates.bootstraps import BOOTSTRAPS, NEIGHBOURHOOD
from peerfront.estimates.estimating import (
    FEWEST_PEOPLE,
    MOST_BOOTSTRAPS,
    OutcomeEstimates,
    Weighing,
    checked_population,
    estimate_outcome,
)
from peerfront.estimates.estimators import NEEDS_POPULATION, STRATIFIED
from peerfront.estimates.population_size import PopulationSize, population_size
from peerfront.estimates.sample_diagnostics import Diagnostics, diagnosed
from peerfront.foundation.checked_calls import checked, checked_class
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, Readable, Remedy, note
from peerfront.foundation.settings import one_of, seed_number, whole_number
from peerfront.study.decision_log import RecordedStrata, recorded_strata
from peerfront.study.study_sample import StudySample, groups_of, outcome_of, sample_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_OUTCOMES = 20
Recorded = Path | str | pd.DataFrame | Sequence[Path | str | pd.DataFrame]
"""Files (or tables) that hold decisions about people."""


@checked_class
@dataclass(frozen=True, eq=False)
class Estimates(Readable):
    """Estimates of one or more outcomes of a study; returned by `estimate`.

    >>> estimates = pf.estimate(study, outcome=["gender", "housing"], by="district", bootstraps=20)
    >>> sorted(estimates.plot("housing"))
    ['bottlenecks', 'convergence', 'estimates', 'seeds']
    >>> estimates.weights("housing").columns[:7].tolist()
    ['person', 'seed', 'tree', 'stratum', 'network_size', 'outcome', 'weight']
    >>> estimates.replicate_weights("housing").shape[1]  # the person, and 20 replicates
    21
    """

    _in_words = "estimates.estimate_lines"
    _details_in_words = "estimates.estimate_details"

    source: str
    outcomes: tuple[OutcomeEstimates, ...]
    study_sample: StudySample
    population: int | None
    interval: str
    notes: tuple[Message, ...]
    """Notes on how the file was read: unknown answers and network sizes, joined strata."""
    people: tuple[str, ...]
    """Everybody's id."""
    population_size: PopulationSize | None = None
    """What the order of network sizes says about the population's size, if a guess of it was given."""

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each outcome, group, category and estimator."""
        return pd.concat([each.table for each in self.outcomes], ignore_index=True)

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Differences and ratios between the groups of each column: one row for two groups, category and estimator."""
        return pd.concat([each.comparisons for each in self.outcomes], ignore_index=True)

    def weights(self, outcome: str | None = None, estimator: str | None = None) -> pd.DataFrame:
        """Everybody's weights under each estimator, for people whose outcome is known; `weight` is the advised one's.

        `outcome` is the first, and `estimator` the advised one, if none is named. Weights add up to the population if
        its size was given, otherwise to the number of recruits.
        """
        one, weighing, chosen = self._weighing(outcome, estimator)
        sample, people = self.study_sample.sample, weighing.people
        values = one.outcome.values[people]
        named = values if one.outcome.numeric else np.array(one.outcome.categories, dtype=object)[values.astype(int)]
        strata = np.array([*sample.strata, ""], dtype=object)  # the stratum of those for whom it is not known is -1
        ids = np.array(self.people, dtype=object)
        columns = {
            "person": ids[people], "seed": sample.seed[people].astype(int), "tree": ids[sample.trees.root[people]],
            "stratum": strata[sample.stratum[people]], "network_size": sample.network_size[people], "outcome": named,
            "weight": weighing.weights(chosen),
        }  # fmt: skip
        of_each = {_column_of(each.name): weighing.weights(each.name) for each in weighing.estimators}
        return pd.DataFrame(columns | of_each)

    def replicate_weights(self, outcome: str | None = None, estimator: str | None = None) -> pd.DataFrame:
        """The same people's weights in every replicate of the bootstrap: `person`, then `replicate_1` and so on.

        Replicates in which nobody counts are left out, as they are from standard errors.
        """
        _, weighing, chosen = self._weighing(outcome, estimator)
        replicates = weighing.replicate_weights(chosen)
        people = np.array(self.people, dtype=object)[weighing.people]
        names = [f"replicate_{number + 1}" for number in range(len(replicates))]
        return pd.concat([pd.DataFrame({"person": people}), pd.DataFrame(replicates.T, columns=names)], axis=1)

    def _weighing(self, outcome: str | None, estimator: str | None) -> tuple[OutcomeEstimates, Weighing, str]:
        """An outcome, how it was weighed, and the estimator whose weights are wanted."""
        by_name = {each.outcome.name: each for each in self.outcomes}
        one = self.outcomes[0] if outcome is None else by_name[one_of("outcome", outcome, by_name)]
        assert one.weighing is not None
        why = one.verdict.cannot.get(estimator or "")
        if why is not None:
            raise SettingError("estimation.weights_cannot", estimator=estimator, name=one.outcome.name, why=why)
        if estimator in NEEDS_POPULATION and self.population is None:
            raise SettingError("estimation.weights_need_population", estimator=estimator, remedy=Remedy("population"))
        if estimator == STRATIFIED and len(self.study_sample.sample.strata) == 1:
            raise SettingError("estimation.weights_one_stratum", estimator=estimator)
        if estimator is not None:
            names = [each.name for each in one.weighing.estimators]
            return one, one.weighing, one_of("estimator", estimator, names)
        if one.verdict.best is None:
            raise SettingError("estimation.no_weights", name=one.outcome.name, remedy=Remedy("estimator", "RDS-II"))
        return one, one.weighing, one.verdict.best

    @cached_property
    def diagnostics(self) -> tuple[Diagnostics, ...]:
        """Diagnostics of each outcome."""
        return tuple(
            diagnosed(self.study_sample.sample, each.outcome, each.verdict.best, self.population)
            for each in self.outcomes
        )

    def diagnostic_table(self) -> pd.DataFrame:
        """Homophily, recruitment effectiveness and seed dependence as one long table."""
        return pd.concat([each.table() for each in self.diagnostics], ignore_index=True)

    def plot(self, outcome: str | None = None, *, narrow: bool = False) -> "dict[str, Figure]":
        """Draw the pictures of an outcome (the first, if none is named): estimates, convergence, bottlenecks, seeds."""
        names = [each.outcome.name for each in self.outcomes]
        place = 0 if outcome is None else names.index(one_of("outcome", outcome, names))
        figures: dict[str, Figure] = import_module("peerfront.words.estimate_figures").figures_of(
            self.outcomes[place], self.diagnostics[place], narrow=narrow
        )
        return figures


@checked
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
    population_guess: int | None = None,
) -> Estimates:
    """Estimate shares or means in the population from a study, even if coupons depended on people.

    `outcome` names columns, `by` columns whose categories are subgroups, and `strata` the columns by which coupons were
    given out. Instead of columns, coupon sheets (`sheet`) or the decision log (`decisions`) give everybody's stratum;
    without any of them, strata are formed by the number of coupons issued. `population` is the size of the population,
    if known; if it is not, `population_guess` asks what the order of network sizes says about it, beginning with a
    guess. `interval` names the bootstrap: neighbourhood, tree, salganik, or ss, which needs `population`.

    >>> study = pf.read_study(pf.demo_study(people=300).study)
    >>> estimates = pf.estimate(study, outcome="housing", bootstraps=50)
    >>> estimates.outcomes[0].verdict.best  # everybody had three coupons
    'RDS-I'
    >>> list(estimates.table.columns)[:5]
    ['outcome', 'group', 'category', 'estimator', 'estimate']
    """
    study = study if isinstance(study, Study) else read_study(study)
    names, groups_by, columns = ((each,) if isinstance(each, str) else tuple(each) for each in (outcome, by, strata))
    if not names or len(names) > _MOST_OUTCOMES:
        raise SettingError("estimation.n_outcomes", most=_MOST_OUTCOMES, n=len(names))
    if len(set(names)) < len(names):
        raise SettingError("estimation.outcome_twice", names=names)
    bootstraps, seed = whole_number("bootstraps", bootstraps, 2, MOST_BOOTSTRAPS), seed_number("seed", seed)
    interval = one_of("interval", interval, BOOTSTRAPS)
    read = [outcome_of(study, name) for name in names]
    groups = tuple(groups_of(study, name) for name in groups_by)
    recorded = _recorded(columns, sheet, decisions)
    study_sample = sample_of(study, columns, recorded)
    population = checked_population(study_sample.sample, population)
    size = None if population_guess is None else _size_of_population(study, study_sample, population_guess)
    outcomes = tuple(
        estimate_outcome(
            study_sample.sample, one, groups=groups, population=population, bootstraps=bootstraps, interval=interval,
            seed=seed,
        )
        for one, _ in read
    )  # fmt: skip
    notes = [*(each for _, own in read for each in own), *study_sample.notes]
    notes += [] if recorded is None else recorded.notes
    if groups:
        notes.append(note("estimation.small_groups_left_out", fewest=FEWEST_PEOPLE))
    return Estimates(
        study.source, outcomes, study_sample, population, interval, tuple(dict.fromkeys(notes)),
        tuple(map(str, study.ids)), size,
    )  # fmt: skip


def _size_of_population(study: Study, study_sample: StudySample, guess: int) -> PopulationSize:
    if study.network_size is None:
        raise SettingError("population_size.no_sizes", source=study.source, remedy=Remedy("map", ("network_size",)))
    return population_size(study_sample.sample, guess)


def _column_of(estimator: str) -> str:
    """The column of an estimator's weights, a name in R, too."""
    return "weight_" + estimator.lower().replace("-", "_").replace(" ", "_")


def _recorded(columns: Sequence[str], sheet: Recorded, decisions: Recorded) -> RecordedStrata | None:
    """Strata from coupon sheets or from the decision log; None if neither was given."""
    sheets, logs = (
        (files,) if isinstance(files, Path | str | pd.DataFrame) else tuple(files) for files in (sheet, decisions)
    )
    given = [Remedy(name) for name, there in (("strata", columns), ("sheet", sheets), ("decisions", logs)) if there]
    if len(given) > 1:
        raise SettingError("estimation.strata_twice", remedies=given)
    if sheets:
        return recorded_strata(sheets, note("decision_log.coupon_sheet"))
    return recorded_strata(logs, note("decision_log.decision_log")) if logs else None
