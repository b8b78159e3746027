"""Which estimator is valid for a sample, and why; in words that a coordinator can pass on.

What decides is how coupons were given out, how many people brought, and how much of the population came. RDS-II and
successive sampling count on everybody having had the same number of coupons, and on people with the outcome bringing
about as many as the others. RDS-I on the outcome is right also where the number depended on the
outcome alone. On outcome x stratum it is right where the number depended on the stratum. All but
successive sampling count on a population that is much larger than the sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from peerfront.estimates.chain import Pairs, separate_parts
from peerfront.estimates.estimators import (
    MEAN,
    RDS_I,
    RDS_II,
    SS,
    STRATIFIED,
    STRATIFIED_SS,
    Impossible,
)
from peerfront.estimates.resampling import the_sample
from peerfront.estimates.sample import UNKNOWN, Outcome, Sample
from peerfront.foundation.words import Sentences, percent

LARGE_PART = 0.1
"""Share of the population from which on a sample is too large for estimators that ignore the population's size."""
_FEWEST, _CLEAR, _MORE = 10, 3.0, 1.2  # people of a category, standard errors, and times by which recruits must differ
_APART = "nobody recruited between groups of answers, so that their shares are those that the seeds began"
_UNEQUAL = "coupons differed between people, and it assumes that everybody had the same number"


@dataclass(frozen=True)
class Verdict:
    """Which estimator to use, and why not the others."""

    best: str | None
    """The estimator to use; None if none is valid here."""
    invalid: dict[str, str]
    """Why an estimator is not valid here, by its name."""
    words: Sentences
    brought: str = ""
    """Whose people clearly brought more recruits than others', where coupons did not differ."""
    cannot: dict[str, str] = field(default_factory=dict)
    """Why an estimator cannot be computed, by its name."""


def judged(sample: Sample, outcome: Outcome, estimators: Sequence[object], population: int | None) -> Verdict:
    """Judge every estimator of a sample."""
    there = {str(getattr(each, "name", "")): each for each in estimators}
    cannot = {name: each.why for name, each in there.items() if isinstance(each, Impossible)}
    equal, part = sample.equal_coupons, len(sample) / population if population else None
    invalid = {MEAN: "people who know many are recruited more often, and it ignores that"}
    by_outcome = equal is False and depends_on_outcome_alone(sample, outcome)
    brought = unequal_recruitment(sample, outcome) if equal is not False else ""
    if brought:
        invalid[RDS_II] = invalid[SS] = f"{brought}, and it assumes that everybody brings about as many"
    if equal is False:
        invalid[RDS_II] = invalid[SS] = _UNEQUAL
        if not by_outcome:
            invalid[RDS_I] = "coupons differed between people with the same outcome, and it knows only the outcome"
    apart = recruited_apart(sample, outcome)
    if apart:
        invalid[RDS_II] = invalid[SS] = _APART
    if part is not None and part > LARGE_PART:
        for name in (RDS_II, RDS_I, STRATIFIED):
            invalid.setdefault(name, f"{percent(part)} of the population was sampled, and it assumes a small part")
    invalid.update({name: f"it cannot be computed: {why}" for name, why in cannot.items()})
    order = [SS, RDS_II, RDS_I] if equal is not False and not brought else [STRATIFIED_SS, STRATIFIED, RDS_I]
    best = next((name for name in (*order, STRATIFIED_SS, STRATIFIED) if name in there and name not in invalid), None)
    kept = {name: why for name, why in invalid.items() if name in there}
    return Verdict(best, kept, _words(best, equal, by_outcome, brought, part, cannot, apart), brought, cannot)


def recruited_apart(sample: Sample, outcome: Outcome) -> bool:
    """Tell whether nobody recruited between two groups of answers, each with a fair number of recruits."""
    pairs = Pairs.of(sample, outcome.bands, len(outcome.band_names))
    return separate_parts(pairs.counts(the_sample(sample).pairs)[0], _FEWEST) > 1


def depends_on_outcome_alone(sample: Sample, outcome: Outcome) -> bool:
    """Tell whether people with the same category of the outcome all had the same number of coupons."""
    known = (outcome.bands != UNKNOWN) & (sample.coupons != UNKNOWN)
    if outcome.numeric or not known.any():
        return False
    order = np.lexsort((sample.coupons[known], outcome.bands[known]))
    band, coupons = outcome.bands[known][order], sample.coupons[known][order]
    return not bool(((band[1:] == band[:-1]) & (coupons[1:] != coupons[:-1])).any())


def unequal_recruitment(sample: Sample, outcome: Outcome) -> str:
    """Say whose people clearly brought more recruits than others', by the outcome; nothing if chance explains it."""
    settled = (sample.coupons != UNKNOWN) & (outcome.bands != UNKNOWN)
    groups = []
    for code, name in enumerate(outcome.band_names):
        brought = sample.recruits[settled & (outcome.bands == code)]
        if len(brought) >= _FEWEST:
            groups.append((float(brought.mean()), float(brought.var(ddof=1)) / len(brought), name))
    if len(groups) < 2:
        return ""
    (least, least_error, few), (most, most_error, many) = min(groups), max(groups)
    error = np.sqrt(least_error + most_error)
    if most - least <= _CLEAR * error or most < _MORE * least:
        return ""
    times = f"{most / least:.1f} times as many recruits as" if least > 0 else "recruits, unlike"
    return f"people with {many} brought {times} those with {few}"


def _words(
    best: str | None,
    equal: bool | None,
    by_outcome: bool,
    brought: str,
    part: float | None,
    cannot: dict[str, str],
    apart: bool,
) -> Sentences:
    lines = []
    if apart:
        lines.append(f"RDS-II is not valid: {_APART}.")
    elif brought:
        lines.append(f"RDS-II is not valid, although coupons did not differ: {brought}, so people like those whom they "
                     "know come more often. RDS-I and its relatives look at recruits by their recruiter's "
                     "outcome.")  # fmt: skip
    elif equal:
        lines.append("Everybody had the same number of coupons, so estimators that assume this are valid.")
    elif equal is None:
        lines.append("How many coupons people had is not known; if everybody had the same number, RDS-II is valid.")
    elif by_outcome:
        lines.append("The number of coupons depended on the outcome alone, so RDS-I, which looks at recruits by their "
                     "recruiter's outcome, stays valid; RDS-II does not.")  # fmt: skip
    else:
        lines.append("The number of coupons differed between people, so RDS-II is not valid: those who got more "
                     "could bring more people like themselves.")  # fmt: skip
    if best in (STRATIFIED, STRATIFIED_SS) and equal is False:
        lines.append("Use the stratified estimate: it looks at recruits by their recruiter's outcome and stratum, and "
                     "whom people recruit does not depend on how many coupons they had.")  # fmt: skip
    elif best is not None:
        lines.append(f"Use {best}.")
    else:
        lines.append("No estimator is valid here. What can be shown is shown, and should not be reported.")
    lines += [f"{name} cannot be computed: {why}." for name, why in cannot.items()]
    if part is not None and part > LARGE_PART:
        sampled = percent(part)
        lines.append(f"{sampled[0].upper()}{sampled[1:]} of the population was sampled: only estimators that count "
                     "with that are valid.")  # fmt: skip
    elif part is None:
        lines.append("The population's size was not given; if a tenth of it or more was sampled, give it "
                     "(--population), or all estimates are off.")  # fmt: skip
    return Sentences(lines)
