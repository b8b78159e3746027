"""Which estimator is valid for a sample, and why.

What decides is how coupons were given out, how many recruits people brought, and how much of the population came.
RDS-II and successive sampling assume that everybody had the same number of coupons, and that people with the outcome
bring about as many recruits as the others. RDS-I on the outcome is right also where the number depended on the outcome
alone. On outcome x stratum it is right where the number depended on the stratum. All but successive sampling assume a
population that is much larger than the sample.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from peerfront.estimates.estimators import MEAN, RDS_I, RDS_II, SS, STRATIFIED, STRATIFIED_SS, Impossible
from peerfront.estimates.recruitment_chain import Pairs, separate_parts
from peerfront.estimates.resampling import the_sample
from peerfront.estimates.sample import UNKNOWN, Outcome, Sample
from peerfront.foundation.messages import Message, note

LARGE_PART = 0.1
"""Share of the population from which on a sample is too large for estimators that ignore the population's size."""
_FEWEST, _CLEAR, _MORE = 10, 3.0, 1.2  # people of a category, standard errors, and times by which recruits must differ


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
    order = [STRATIFIED_SS, STRATIFIED, RDS_I] if unequal or recruitment is not None else [SS, RDS_II, RDS_I]
    best = next((name for name in (*order, STRATIFIED_SS, STRATIFIED) if name in there and name not in invalid), None)
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
    return separate_parts(pairs.counts(the_sample(sample).pairs)[0], _FEWEST) > 1


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
