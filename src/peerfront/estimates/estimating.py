"""Estimate an outcome with every estimator at once: numbers, intervals, design effects, and which of them are valid.

What decides is how coupons were given out, how many recruits people brought, and how much of the population came.
RDS-II and successive sampling assume that everybody had the same number of coupons, and that people with the outcome
bring about as many recruits as the others. RDS-I on the outcome is right also where the number depended on the outcome
alone. On outcome x stratum it is right where the number depended on the stratum. All but successive sampling assume a
population that is much larger than the sample. Where several are valid the estimator of a chain is the one to use:
bootstraps show how unlike whole trees are only to a chain, so intervals of the others are too narrow
(docs/results/estimates.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import pandas as pd

from peerfront.estimates.bootstraps import BOOTSTRAPS, NEIGHBOURHOOD, batches
from peerfront.estimates.comparisons import COMPARISON_COLUMNS, comparison_rows
from peerfront.estimates.estimators import (
    MEAN,
    RDS_I,
    RDS_II,
    SS,
    STRATIFIED,
    STRATIFIED_SS,
    Impossible,
    Weighted,
    crossed_states,
    estimators_for,
)
from peerfront.estimates.recruitment_chain import Pairs, parts
from peerfront.estimates.sample import (
    UNKNOWN,
    Floats,
    Groups,
    Ints,
    Outcome,
    Replicates,
    Sample,
    design_effect,
    nobody_apart,
    spread_of,
    the_sample,
)
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, note
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.settings import one_of, whole_number

FEWEST_PEOPLE = 10
"""People of a group with a known outcome below which nothing is estimated for it."""
MOST_BOOTSTRAPS = 100_000
COLUMNS = (
    "outcome", "group", "category", "estimator", "estimate", "low", "high", "standard_error", "design_effect",
    "effective_size", "people", "valid", "likely_bias", "bias_low", "bias_high", "why",
)  # fmt: skip

LARGE_PART = 0.1
"""Share of the population from which on a sample is too large for estimators that ignore the population's size."""
_FEWEST, _CLEAR, _MORE = 10, 3.0, 1.2  # people of a category, standard errors, and times by which recruits must differ


# Which estimators are valid ------------------------------------------------------------------------------------------


class Situation(StrEnum):
    """What decides which estimators are valid."""

    GROUPS_APART = "groups apart"
    UNEQUAL_RECRUITMENT = "unequal recruitment"
    EQUAL_COUPONS = "equal coupons"
    COUPONS_UNKNOWN = "coupons unknown"
    COUPONS_BY_OUTCOME = "coupons by outcome"
    UNEQUAL_COUPONS = "unequal coupons"


@dataclass(frozen=True)
class Verdict:
    """Which estimator to use, and why not the others."""

    best: str | None
    """The estimator to use; None if none is valid here."""
    invalid: Mapping[str, Message]
    """Why an estimator is not valid here, by its name."""
    situation: Situation
    sampled: float | None = None
    """Share of the population that was sampled; None if its size is not known."""
    recruitment: Message | None = None
    """Whose people clearly brought more recruits than others', where coupons did not differ."""
    cannot: Mapping[str, Message] = field(default_factory=dict)
    """Why an estimator cannot be computed, by its name."""


def judged(sample: Sample, outcome: Outcome, estimators: Sequence[object], population: int | None) -> Verdict:
    """Judge every estimator of a sample."""
    there = {str(getattr(each, "name", "")): each for each in estimators}
    cannot = {name: each.why for name, each in there.items() if isinstance(each, Impossible)}
    sampled = len(sample) / population if population else None
    unequal = sample.equal_coupons is False
    recruitment = None if unequal else unequal_recruitment(sample, outcome)
    situation = _situation(sample, outcome, recruitment)
    invalid = {MEAN: note("estimators.ignores_network_sizes")}
    if recruitment is not None:
        invalid[RDS_II] = invalid[SS] = note("estimators.assumes_equal_recruitment", recruitment=recruitment)
    if unequal:
        invalid[RDS_II] = invalid[SS] = note("estimators.assumes_equal_coupons")
        if not depends_on_outcome_alone(sample, outcome):
            invalid[RDS_I] = note("estimators.knows_only_the_outcome")
    if situation is Situation.GROUPS_APART:
        invalid[RDS_II] = invalid[SS] = note("estimators.answers_apart")
    if sampled is not None and sampled > LARGE_PART:
        for name in (RDS_II, RDS_I, STRATIFIED):
            invalid.setdefault(name, note("estimators.assumes_small_sample", sampled=sampled))
    invalid.update({name: note("estimators.cannot_be_computed", why=why) for name, why in cannot.items()})
    differ = unequal or recruitment is not None
    order = (STRATIFIED_SS, *((STRATIFIED, RDS_I) if differ else (RDS_I, STRATIFIED)), SS, RDS_II)
    best = next((name for name in order if name in there and name not in invalid), None)
    kept = {name: why for name, why in invalid.items() if name in there}
    return Verdict(best, kept, situation, sampled, recruitment, cannot)


def _situation(sample: Sample, outcome: Outcome, recruitment: Message | None) -> Situation:
    if recruited_apart(sample, outcome):
        return Situation.GROUPS_APART
    if recruitment is not None:
        return Situation.UNEQUAL_RECRUITMENT
    if sample.equal_coupons is None:
        return Situation.COUPONS_UNKNOWN
    if sample.equal_coupons:
        return Situation.EQUAL_COUPONS
    by_outcome = depends_on_outcome_alone(sample, outcome)
    return Situation.COUPONS_BY_OUTCOME if by_outcome else Situation.UNEQUAL_COUPONS


def recruited_apart(sample: Sample, outcome: Outcome) -> bool:
    """Whether nobody recruited between two groups of answers, each with a fair number of recruits."""
    pairs = Pairs.of(sample, outcome.bands, len(outcome.band_names))
    counts = pairs.counts(the_sample(sample).pairs)[0]
    return bool((np.bincount(parts(counts), weights=counts.sum(axis=1)) >= _FEWEST).sum() > 1)


def depends_on_outcome_alone(sample: Sample, outcome: Outcome) -> bool:
    """Whether people with the same category of the outcome all had the same number of coupons."""
    both = (outcome.bands != UNKNOWN) & (sample.coupons != UNKNOWN)
    if outcome.numeric or not both.any():
        return False
    order = np.lexsort((sample.coupons[both], outcome.bands[both]))
    band, coupons = outcome.bands[both][order], sample.coupons[both][order]
    return not bool(((band[1:] == band[:-1]) & (coupons[1:] != coupons[:-1])).any())


def unequal_recruitment(sample: Sample, outcome: Outcome) -> Message | None:
    """Whose people clearly brought more recruits than others', by the outcome; None if chance explains it."""
    settled = (sample.coupons != UNKNOWN) & (outcome.bands != UNKNOWN)
    groups = []
    for code, name in enumerate(outcome.band_names):
        brought = sample.recruits[settled & (outcome.bands == code)]
        if len(brought) >= _FEWEST:
            groups.append((float(brought.mean()), float(brought.var(ddof=1)) / len(brought), name))
    if len(groups) < 2:
        return None
    (least, least_error, few), (most, most_error, many) = min(groups), max(groups)
    error = np.sqrt(least_error + most_error)
    if most - least <= _CLEAR * error or most < _MORE * least:
        return None
    if least > 0:
        return note("estimators.brought_more", many=many, few=few, times=most / least)
    return note("estimators.brought_unlike", many=many, few=few)


# Estimates ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Weighing:
    """How an outcome was estimated: the weights of people in the sample and in every replicate of the bootstrap."""

    sample: Sample
    outcome: Outcome
    estimators: tuple[Weighted, ...]
    population: int | None
    interval: str
    bootstraps: int
    seed: int

    def replicates(self) -> Iterator[Replicates]:
        """The replicates, some at a time; the same whenever they are asked for."""
        rng = named_generator("estimates", self.interval, self.seed)
        state, _ = crossed_states(self.sample, self.outcome)
        yield from batches(self.interval, self.sample, state, self.population, self.bootstraps, rng)

    @property
    def people(self) -> Ints:
        """Places of the people whose outcome is known."""
        return np.flatnonzero(self.outcome.answered)

    def weights(self, name: str) -> Floats:
        """Weights of the people whose outcome is known; they add up to the population, or to the recruits' number."""
        return np.asarray(self._scaled(self._named(name).of_people(the_sample(self.sample)))[0])

    def replicate_weights(self, name: str) -> Floats:
        """The same for every replicate of the bootstrap in which anybody counts, [replicates, people]."""
        weights = np.concatenate([self._scaled(self._named(name).of_people(each)) for each in self.replicates()])
        return np.asarray(weights[np.isfinite(weights).all(axis=1)])

    def _named(self, name: str) -> Weighted:
        return {each.name: each for each in self.estimators}[name]

    def _scaled(self, weights: Floats) -> Floats:
        weights = weights[:, self.people]
        total = self.population or int((self.outcome.answered & ~self.sample.seed).sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(weights * (total / weights.sum(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class OutcomeEstimates:
    """All estimates of one outcome."""

    outcome: Outcome
    table: pd.DataFrame
    """One row for each group, category and estimator; columns as in COLUMNS; `why` is a message, or empty."""
    comparisons: pd.DataFrame
    """One row for each two groups, category and estimator; columns as in COMPARISON_COLUMNS."""
    verdict: Verdict
    weighing: Weighing | None
    """How people were weighed; None where the numbers are published."""

    @property
    def best(self) -> pd.DataFrame:
        """The rows of the estimator to be used; none if no estimator is valid here."""
        return self.table[self.table["estimator"] == self.verdict.best]


@dataclass(frozen=True, eq=False)
class _Targets:
    """What is summed: people by group and category, or by group alone for a number."""

    codes: Ints  # [people], group * categories + category
    labels: list[tuple[str, str]]  # group, category
    people: Ints  # [labels], people of the group whose outcome is known
    categories: int
    values: Floats | None
    by: str
    """The column of the groups; empty for everybody."""

    def estimates(self, estimator: Weighted, replicates: Replicates) -> Floats:
        """Shares or means, [replicates, labels]; nan where nobody counts."""
        weights = estimator.totals(replicates, self.codes, len(self.labels))
        if self.values is None:
            grouped = weights.reshape(len(weights), -1, self.categories)
            above, below = weights, np.repeat(grouped.sum(axis=2), self.categories, axis=1)
        else:
            above, below = estimator.totals(replicates, self.codes, len(self.labels), self.values), weights
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(below > 0, above / below, np.nan))

    def variances(self, estimator: Weighted, whole: Replicates, estimate: Floats) -> Floats:
        """Variance of one person drawn at random, by the estimate, [labels]."""
        if self.values is None:
            return estimate * (1.0 - estimate)
        weights = estimator.totals(whole, self.codes, len(self.labels))[0]
        squares = estimator.totals(whole, self.codes, len(self.labels), self.values**2)[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(weights > 0, squares / weights - estimate**2, np.nan))


def estimate_outcome(
    sample: Sample,
    outcome: Outcome,
    *,
    groups: tuple[Groups, ...] = (),
    population: int | None = None,
    bootstraps: int = 1000,
    interval: str = NEIGHBOURHOOD,
    seed: int = 0,
) -> OutcomeEstimates:
    """Estimate with everything that the sample allows, for everybody and for each of the groups."""
    bootstraps = whole_number("bootstraps", bootstraps, 2, MOST_BOOTSTRAPS)
    interval = one_of("interval", interval, BOOTSTRAPS)
    population = checked_population(sample, population)
    whole = the_sample(sample)
    possible = estimators_for(sample, outcome, population)
    estimators = tuple(each for each in possible if not isinstance(each, Impossible))
    weighing = Weighing(sample, outcome, estimators, population, interval, bootstraps, seed)
    targets = [_targets(sample, outcome, each) for each in (nobody_apart(len(sample)), *groups)]
    drawn: dict[tuple[str, int], list[Floats]] = {}
    for replicates in weighing.replicates():
        for estimator in estimators:
            for number, target in enumerate(targets):
                drawn.setdefault((estimator.name, number), []).append(target.estimates(estimator, replicates))
    verdict = judged(sample, outcome, possible, population)
    rows: list[tuple[object, ...]] = []
    compared: list[tuple[object, ...]] = []
    for number, target in enumerate(targets):
        points = {each.name: target.estimates(each, whole)[0] for each in estimators}
        around = {each.name: np.concatenate(drawn[each.name, number]) for each in estimators}
        for each in possible:
            if isinstance(each, Impossible):
                rows += _impossible_rows(outcome, target, each)
                continue
            variances = target.variances(each, whole, points[each.name])
            rows += _rows(outcome, target, each.name, points, around, variances, verdict)
            if target.by:
                about = (outcome.name, each.name, each.name not in verdict.invalid)
                compared += comparison_rows(about, target.labels, points[each.name], around[each.name], outcome.numeric)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    order = {label: place for place, label in enumerate(label for target in targets for label in target.labels)}
    places = [order[label] for label in zip(table["group"], table["category"], strict=True)]
    table = table.iloc[np.argsort(places, kind="stable")].reset_index(drop=True)
    comparisons = pd.DataFrame(compared, columns=list(COMPARISON_COLUMNS))
    return OutcomeEstimates(outcome, table, comparisons, verdict, weighing)


def checked_population(sample: Sample, population: int | None) -> int | None:
    """Return a number of people that can be the population, or raise an error."""
    if population is None:
        return None
    population = whole_number("population", population, 1)
    if population < len(sample):
        raise SettingError("estimators.small_population", population=population, sampled=len(sample))
    return population


def _targets(sample: Sample, outcome: Outcome, groups: Groups) -> _Targets:
    """Combine groups and categories; groups with few people are left out."""
    recruit = outcome.answered & ~sample.seed
    counts = np.bincount(groups.codes[recruit & (groups.codes != UNKNOWN)], minlength=len(groups.categories))
    kept = np.flatnonzero(counts >= (FEWEST_PEOPLE if groups.name else 1))
    place = np.full(len(groups.categories) + 1, UNKNOWN)  # a code of -1 is the last one
    place[kept] = np.arange(len(kept))
    number = place[groups.codes]
    categories = 1 if outcome.numeric else len(outcome.categories)
    category = np.zeros(len(sample)) if outcome.numeric else np.nan_to_num(outcome.values)
    codes = np.where(outcome.answered & (number != UNKNOWN), number * categories + category, UNKNOWN).astype(np.int64)
    named = [f"{groups.name} = {groups.categories[group]}" if groups.name else "everybody" for group in kept]
    labels = [(name, label) for name in named for label in (("mean",) if outcome.numeric else outcome.categories)]
    values = np.nan_to_num(outcome.values) if outcome.numeric else None
    return _Targets(codes, labels, np.repeat(counts[kept], categories), categories, values, groups.name)


def _rows(
    outcome: Outcome,
    target: _Targets,
    name: str,
    points: dict[str, Floats],
    around: dict[str, Floats],
    variances: Floats,
    verdict: Verdict,
) -> list[tuple[object, ...]]:
    point = points[name]
    spread = spread_of(point, around[name], share=not outcome.numeric)
    effect = design_effect(spread.standard_error, variances, target.people.astype(np.float64))
    why = verdict.invalid.get(name)
    bias = [np.full(len(point), np.nan)] * 3
    if why is not None and verdict.best is not None and verdict.best in points:
        off = point - points[verdict.best]
        reach = spread_of(off, around[name] - around[verdict.best], share=False)
        bias = [off, reach.low, reach.high]
    return [
        (
            outcome.name, group, category, name, point[i], spread.low[i], spread.high[i], spread.standard_error[i],
            effect[i], target.people[i] / effect[i], target.people[i], why is None, bias[0][i], bias[1][i], bias[2][i],
            why or "",
        )
        for i, (group, category) in enumerate(target.labels)
    ]  # fmt: skip


def _impossible_rows(outcome: Outcome, target: _Targets, one: Impossible) -> list[tuple[object, ...]]:
    empty = (np.nan,) * 6
    why = note("estimators.cannot_be_computed", why=one.why)
    return [
        (outcome.name, group, category, one.name, *empty, people, False, np.nan, np.nan, np.nan, why)
        for (group, category), people in zip(target.labels, target.people, strict=True)
    ]
