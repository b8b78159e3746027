"""A referral sample as estimators see it: plain arrays, one entry per person; and intervals from its replicates.

`Sample` says who recruited whom, in which order people came, how many people everybody knows, how many coupons they had
and in which stratum of the coupon rule they are. `Outcome` is what is estimated, `Groups` for whom.

A replicate of a bootstrap (`bootstraps.py`) says how often each person, and each recruiter-recruit pair, counts.
Intervals are centred on the estimate and as wide as the replicates' standard deviation says; those of shares are made
on the logit scale, so that they stay between 0 and 1. Percentiles of the replicates themselves are not used:
replicates of the neighbourhood bootstrap count people with many recruits more often than the sample does.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.foundation.recruitment_trees import NOBODY, Trees, trees_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
UNKNOWN = -1
Z_95 = 1.959963984540054
_ENOUGH = 0.8  # of the replicates must give a number
BANDS = 3
"""Bands into which a numeric outcome is cut where people are told apart by it (the states of a chain)."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Who recruited whom, and what the estimators need to know about everybody."""

    recruiter: Ints  # [people], place of the recruiter; NOBODY for seeds and where it is not known
    seed: NDArray[np.bool_]  # [people]
    network_size: Floats  # [people], above 0
    arrival: Ints  # [people], rank in the order in which people came
    coupons: Ints  # [people], coupons issued; UNKNOWN where that is not known or not decided yet
    stratum: Ints  # [people], place in `strata`; UNKNOWN where it is not known
    strata: tuple[str, ...]
    """Names of the strata between which the number of coupons differed; one if everybody was treated alike."""

    def __post_init__(self) -> None:
        n_people = len(self.recruiter)
        for name in ("seed", "network_size", "arrival", "coupons", "stratum"):
            if len(getattr(self, name)) != n_people:
                raise SettingError("referral_sample.lengths", name=name, people=n_people)
        if not n_people:
            raise SettingError("referral_sample.nobody")
        if (self.recruiter >= n_people).any() or (self.recruiter < NOBODY).any():
            raise SettingError("referral_sample.recruiters", last=n_people - 1, nobody=NOBODY)
        if not (np.isfinite(self.network_size) & (self.network_size > 0)).all():
            raise SettingError("referral_sample.network_sizes")
        if (self.stratum >= len(self.strata)).any() or (self.stratum < UNKNOWN).any():
            raise SettingError("referral_sample.strata", last=len(self.strata) - 1, unknown=UNKNOWN)
        if self.trees.circles:
            raise SettingError("referral_sample.circle")

    def __len__(self) -> int:
        return len(self.recruiter)

    @cached_property
    def recruited(self) -> Ints:
        """Places of people whose recruiter is known, [pairs]."""
        return np.flatnonzero(self.recruiter != NOBODY)

    @cached_property
    def recruits(self) -> Ints:
        """Number of recruits of each person, [people]."""
        return np.bincount(self.recruiter[self.recruited], minlength=len(self)).astype(np.int64)

    @cached_property
    def trees(self) -> Trees:
        return trees_of(self.recruiter)

    @property
    def equal_coupons(self) -> bool | None:
        """Whether everybody whose number is known had the same number of coupons; None if no number is known."""
        issued = self.coupons[self.coupons != UNKNOWN]
        return None if not len(issued) else bool((issued == issued[0]).all())


@dataclass(frozen=True, eq=False)
class Outcome:
    """What is estimated: the share of each category, or the mean of a number."""

    name: str
    values: Floats  # [people], category codes or numbers; nan where they are not known
    categories: tuple[str, ...] = ()
    """Names of the categories, in the order of their codes; empty for a number."""

    @property
    def numeric(self) -> bool:
        return not self.categories

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """Whether the value is known, [people]."""
        return np.isfinite(self.values)

    @cached_property
    def bands(self) -> Ints:
        """Category codes; for a number its band (thirds of the answers), [people]; UNKNOWN if not known.

        A chain needs a few states: people with similar numbers share one.
        """
        codes = np.full(len(self.values), UNKNOWN, dtype=np.int64)
        answers = self.values[self.answered]
        if self.numeric:
            cuts = np.unique(np.quantile(answers, np.arange(1, BANDS) / BANDS)) if len(answers) else answers
            codes[self.answered] = np.searchsorted(cuts, answers, side="left")
        else:
            codes[self.answered] = answers.astype(np.int64)
        return codes

    @property
    def band_names(self) -> tuple[str, ...]:
        """What the codes of `bands` are called."""
        if not self.numeric:
            return self.categories
        return tuple(f"{self.name} band {number + 1}" for number in range(int(self.bands.max(initial=0)) + 1))


@dataclass(frozen=True, eq=False)
class Groups:
    """Subgroups for which the outcome is estimated, beside everybody."""

    name: str
    codes: Ints  # [people]; UNKNOWN where it is not known
    categories: tuple[str, ...]


def nobody_apart(n_people: int) -> Groups:
    """Return the one group of everybody."""
    return Groups("", np.zeros(n_people, dtype=np.int64), ("",))


# Replicates ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """How often everybody counts in each of some replicates."""

    people: Floats  # [replicates, people]
    pairs: Floats  # [replicates, people], the pair of a person with their recruiter; 0 for those without


def the_sample(sample: Sample) -> Replicates:
    """Return the sample itself, as one replicate."""
    people = np.ones((1, len(sample)))
    return Replicates(people, np.where(sample.recruiter != NOBODY, 1.0, 0.0)[None, :])


# Intervals ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Spread:
    """How far estimates may be from the truth; one entry per estimate, nan where that cannot be said."""

    standard_error: Floats
    low: Floats
    high: Floats


def spread_of(estimate: Floats, replicates: Floats, *, share: bool) -> Spread:
    """Return standard errors and 95% intervals, [estimates]; replicates are [replicates, estimates]."""
    usable = np.isfinite(replicates).mean(axis=0) >= _ENOUGH
    error = np.full(len(estimate), np.nan)
    if usable.any():
        error[usable] = np.nanstd(replicates[:, usable], axis=0, ddof=1)
    error[~(error > 1e-12)] = np.nan  # replicates that are all alike say nothing
    if not share:
        return Spread(error, estimate - Z_95 * error, estimate + Z_95 * error)
    inside = (estimate > 0) & (estimate < 1)
    error = np.where(inside, error, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        logit, reach = np.log(estimate / (1.0 - estimate)), Z_95 * error / (estimate * (1.0 - estimate))
        low, high = (1.0 / (1.0 + np.exp(-(logit + sign * reach))) for sign in (-1.0, 1.0))
    return Spread(error, low, high)


def design_effect(standard_error: Floats, variance: Floats, people: Floats) -> Floats:
    """How many times the variance is that of a simple random sample of as many people; nan where it has none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > 0, standard_error**2 * people / variance, np.nan)
