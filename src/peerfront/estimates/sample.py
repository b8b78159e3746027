"""A referral sample as estimators see it: plain arrays, one entry per person.

`Sample` says who recruited whom, in which order people came, how many people everybody knows, how many coupons they had
and in which stratum of the coupon rule they are. `Outcome` is what is estimated, `Groups` for whom.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NOBODY, UNKNOWN = -1, -1
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
        if (self.wave == n_people).any():
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
    def wave(self) -> Ints:
        """Steps from the root of the tree, [people]; the number of people for those in or behind a circle."""
        wave = np.where(self.recruiter == NOBODY, 0, len(self.recruiter))
        at = np.flatnonzero(self.recruiter == NOBODY)
        number = 0
        by_recruiter = np.argsort(self.recruiter, kind="stable")
        first = np.searchsorted(self.recruiter[by_recruiter], np.arange(len(self.recruiter) + 1))
        while len(at):
            number += 1
            starts, counts = first[at], first[at + 1] - first[at]
            places = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(counts.sum())
            at = by_recruiter[places]
            wave[at] = number
        return wave.astype(np.int64)

    @cached_property
    def root(self) -> Ints:
        """Place of the person with whom each tree begins, [people]."""
        root = np.arange(len(self))
        for place in np.argsort(self.wave, kind="stable"):
            if self.recruiter[place] != NOBODY:
                root[place] = root[self.recruiter[place]]
        return root

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
