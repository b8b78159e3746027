"""The estimators: what share of the population each cell of people is, from how often people and pairs count.

A cell is a state of people with one value of the outcome, in one group. Estimators that weigh people one by one
(`PeopleWeighted`) are the sample mean, RDS-II and Gile's successive sampling. Those of a chain (`ChainWeighted`) are
RDS-I, on the outcome, and the stratified ones, on outcome x coupon stratum: each state's share of the population is its
share of all ties divided by the mean network size of its people; within a state people are weighed as in RDS-II. Where
the population's size is known, no state is estimated to have fewer people than came.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.estimates.recruitment_chain import (
    Depletion,
    FinitePopulation,
    Pairs,
    balanced,
    fit_depletion,
    inclusion_chances,
    stationary,
    summed,
    unconnected,
)
from peerfront.estimates.sample import UNKNOWN, Floats, Ints, Outcome, Replicates, Sample, the_sample
from peerfront.foundation.messages import Message, note

MEAN, RDS_I, RDS_II, SS = "mean", "RDS-I", "RDS-II", "SS"
STRATIFIED, STRATIFIED_SS = "stratified", "stratified SS"
NEEDS_POPULATION = (SS, STRATIFIED_SS)
_TINY = 1e-300
_BARELY = 1e-3  # of a recruit, spread over the row of a state: a replicate may lack what the sample has


@dataclass(frozen=True, eq=False)
class PeopleWeighted:
    """Weighs every recruit by a number of their own; seeds count nothing."""

    name: str
    weights: Floats  # [people]

    def totals(self, replicates: Replicates, codes: Ints, n_codes: int, values: Floats | None = None) -> Floats:
        """Sum weights (times values, if given) over the people of each code, [replicates, codes]."""
        return summed(replicates.people, codes, n_codes, self.weights if values is None else self.weights * values)

    def of_people(self, replicates: Replicates) -> Floats:
        """Everybody's weight, [replicates, people]."""
        return replicates.people * self.weights


@dataclass(frozen=True, eq=False)
class ChainWeighted:
    """Weighs the people of each state so that the states have the shares that the chain gives them."""

    name: str
    state: Ints  # [people]
    network_size: Floats  # [people]
    weights: Floats  # [people], within a state
    pairs: Pairs
    depletion: Depletion | None
    """None for the plain chain of RDS-I; otherwise the chain is balanced."""
    start: Floats | None = None  # [states, states], ties of the whole sample: replicates are near them
    finite: FinitePopulation | None = None
    """Where the population's size is known: how depletion answers a replicate's change of the states' ties."""
    raised: Floats | None = None  # [states], times what the chain alone gives, so that no state has fewer than came

    def totals(self, replicates: Replicates, codes: Ints, n_codes: int, values: Floats | None = None) -> Floats:
        """Sum weights (times values, if given) over the people of each code, [replicates, codes]."""
        n_states = self.pairs.n_states
        factor = self._factors(replicates)
        # Codes may cut across states: sum by both, then weigh the states.
        both = np.where((codes == UNKNOWN) | (self.state == UNKNOWN), UNKNOWN, self.state * n_codes + codes)
        weights = self.weights if values is None else self.weights * values
        table = summed(replicates.people, both, n_states * n_codes, weights).reshape(-1, n_states, n_codes)
        return np.asarray(np.einsum("bs,bsc->bc", factor, table))

    def of_people(self, replicates: Replicates) -> Floats:
        """Everybody's weight, [replicates, people]."""
        factor = np.where(self.state == UNKNOWN, 0.0, self._factors(replicates)[:, self.state])
        return np.asarray(replicates.people * self.weights * factor)

    def _factors(self, replicates: Replicates) -> Floats:
        """What a unit of weight is worth in each state, [replicates, states]."""
        ties = self.tie_shares(replicates)
        if self.finite is not None:
            ties = ties * np.exp((ties - self.finite.ties.sum(axis=1)) @ self.finite.stretch.T)
        reported = summed(replicates.people, self.state, self.pairs.n_states, self.weights * self.network_size)
        factor = np.where(reported > 0, ties / np.maximum(reported, _TINY), 0.0)
        return factor if self.raised is None else factor * self.raised

    def tie_shares(self, replicates: Replicates) -> Floats:
        """Each state's share of all ties, [replicates, states]."""
        if self.depletion is not None:
            shares = balanced(self.pairs, replicates.pairs, self.depletion, self.start).sum(axis=2)
            if self.finite is None:
                return np.asarray(shares)
            centre = self.finite.ties.sum(axis=1)
            answered = np.maximum(centre + (shares - centre) @ self.finite.response.T, 0.01 * centre)
            return np.asarray(answered / answered.sum(axis=1, keepdims=True))
        counts = self.pairs.counts(replicates.pairs)
        if len(counts) > 1 or not counts[0].sum(axis=1).all():
            everybody = np.bincount(self.pairs.target, minlength=self.pairs.n_states)
            counts = counts + _BARELY * everybody / max(everybody.sum(), 1)
        return stationary(counts)


def not_below(least: Floats, sizes: Floats) -> Floats:
    """Shares of 1 in proportion to sizes, raised to `least` where they are below, [states]."""
    raised = np.zeros(len(sizes), dtype=bool)
    shares: Floats = sizes / sizes.sum()
    while (shares < least).any():
        raised |= shares < least
        if raised.all():
            return np.asarray(least / least.sum())
        rest = np.where(raised, 0.0, sizes)
        shares = np.where(raised, least, rest * ((1.0 - least[raised].sum()) / max(float(rest.sum()), _TINY)))
    return shares


Weighted = PeopleWeighted | ChainWeighted


@dataclass(frozen=True)
class Impossible:
    """An estimator that cannot be used on a sample, and why."""

    name: str
    why: Message


def estimators_for(sample: Sample, outcome: Outcome, population: int | None = None) -> list[Weighted | Impossible]:
    """Make every estimator that the sample allows; for the others, say why they cannot be made."""
    recruit = ~sample.seed & outcome.answered
    size = sample.network_size
    estimators: list[Weighted | Impossible] = [
        PeopleWeighted(MEAN, recruit.astype(np.float64)),
        PeopleWeighted(RDS_II, np.where(recruit, 1.0 / size, 0.0)),
    ]
    if population is not None:
        chance = np.ones(len(sample))
        chance[~sample.seed] = inclusion_chances(size[~sample.seed], population)
        estimators.append(PeopleWeighted(SS, np.where(recruit, 1.0 / chance, 0.0)))
    estimators.append(_chain(RDS_I, sample, *_states(outcome.bands, outcome.band_names), None))
    state, names = crossed_states(sample, outcome)
    if len(sample.strata) > 1:
        estimators.append(_chain(STRATIFIED, sample, state, names, None))
    if population is not None:  # with one stratum, the finite population's answer to RDS-I
        estimators.append(_chain(STRATIFIED_SS, sample, state, names, population))
    return estimators


def crossed_states(sample: Sample, outcome: Outcome) -> tuple[Ints, tuple[str, ...]]:
    """States of outcome x stratum that occur."""
    has_state = (outcome.bands != UNKNOWN) & (sample.stratum != UNKNOWN)
    crossed = np.where(has_state, outcome.bands * len(sample.strata) + sample.stratum, UNKNOWN)
    names = tuple(f"{band}, {stratum}" for band in outcome.band_names for stratum in sample.strata)
    return _states(crossed, names)


def _states(codes: Ints, names: tuple[str, ...]) -> tuple[Ints, tuple[str, ...]]:
    """Number the codes that occur from 0 on."""
    occurring = np.unique(codes[codes != UNKNOWN])
    state = np.full(len(codes), UNKNOWN, dtype=np.int64)
    coded = codes != UNKNOWN
    state[coded] = np.searchsorted(occurring, codes[coded])
    return state, tuple(names[code] for code in occurring)


def _chain(
    name: str, sample: Sample, state: Ints, names: tuple[str, ...], population: int | None
) -> ChainWeighted | Impossible:
    pairs = Pairs.of(sample, state, len(names))
    whole = the_sample(sample)
    counts = pairs.counts(whole.pairs)[0]
    why = unconnected(counts, names, balanced_chain=name != RDS_I)
    if why is None and name != RDS_I:
        why = _silent_stratum(sample, pairs)
    if not len(pairs.child):
        why = note("estimators.no_pairs")
    if why is not None:
        return Impossible(name, why)
    size = sample.network_size
    if name == RDS_I:  # as in R: seeds count for the mean network sizes
        return ChainWeighted(name, state, size, 1.0 / size, pairs, None)
    if population is None:
        nothing = Depletion.none(len(pairs.child), pairs.n_states)
        ties = balanced(pairs, whole.pairs, nothing)[0]
        return ChainWeighted(name, state, size, np.where(sample.seed, 0.0, 1.0 / size), pairs, nothing, ties)
    finite = fit_depletion(sample, state, pairs, population, whole.pairs)
    chain = ChainWeighted(name, state, size, finite.weights, pairs, finite.depletion, finite.ties, finite)
    people = summed(chain.of_people(whole), state, pairs.n_states)[0]  # in each state, in the chain's own unit
    raised = not_below(finite.least, people) * people.sum() / np.maximum(people, _TINY)
    return replace(chain, raised=raised)


def _silent_stratum(sample: Sample, pairs: Pairs) -> Message | None:
    """The strata that brought nobody: nothing is known about whom their people know."""
    recruiters = sample.recruiter[pairs.child]
    brought = np.bincount(sample.stratum[recruiters], minlength=len(sample.strata))
    present: NDArray[np.bool_] = np.isin(np.arange(len(sample.strata)), sample.stratum)
    silent = [name for name, here, count in zip(sample.strata, present, brought, strict=True) if here and not count]
    return note("estimators.stratum_without_recruits", strata=silent) if silent else None
