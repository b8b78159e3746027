"""What a study shows on the day of its data: who holds how many coupons, since when, and when some were used.

Recruits still to come from coupons that are out, below: somebody who brought y recruits so far, with exposure e
(`CouponsSeen.exposure`), brings N in the end with chances

    P(N = n | y) = P(N = n) choose(n, y) e^y (1 - e)^(n - y) / sum over n,

where P(N = n) is the response model's. The N - y still to come return independently, each at a time that is later than
now: by day t with the chance (F(t) - F(a)) / (1 - F(a)) of the return times.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerfront.foundation.binomials import log_thinning
from peerfront.foundation.counts import count_from_survival
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.randomness import Luck
from peerfront.models.returns.return_times import NEVER, ReturnTimes
from peerfront.problem import ResponseModel

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CouponsSeen:
    """Coupons by holder, and returns by coupon, as seen on one day; checked on the way in.

    All coupons of a holder were issued on one day, from which on ages count (the day from which on they can be used, if
    that is later). A return after expiry is kept: that holder's coupons were valid at least as long.
    """

    coupons: Whole  # [holders], above 0
    ages: Array  # [holders], days from issue to the day of the data
    holder: Whole  # [returns], row of the holder whose coupon it was
    return_ages: Array  # [returns], days from issue to use; NaN where it is not known
    valid_days: Array | None = None  # [holders]; None where coupons never expire
    site: Whole | None = None  # [holders], -1 unknown; None without sites
    sites: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        holders = len(self.coupons)
        valid = np.full(holders, NEVER) if self.valid_days is None else np.array(self.valid_days, dtype=np.float64)
        site = np.full(holders, -1) if self.site is None else np.asarray(self.site)
        if not holders == len(self.ages) == len(valid) == len(site):
            raise DataFileError(
                "coupons_seen.do_not_match",
                holders=holders,
                ages=len(self.ages),
                validities=len(valid),
                sites=len(site),
            )
        if len(self.holder) != len(self.return_ages):
            raise DataFileError(
                "coupons_seen.returns_do_not_match", holders=len(self.holder), ages=len(self.return_ages)
            )
        _refuse("coupons_seen.no_coupon", self.coupons < 1)
        _refuse("coupons_seen.issued_later", ~(self.ages >= 0.0))
        _refuse("coupons_seen.never_valid", ~(valid >= 0.0))
        _refuse("coupons_seen.unlisted_site", (site < -1) | (site >= len(self.sites)))
        _refuse("coupons_seen.nobodys_return", (self.holder < 0) | (self.holder >= holders))
        dated = ~np.isnan(self.return_ages)
        _refuse("coupons_seen.returned_before_issue", dated & (self.return_ages < 0.0))
        _refuse("coupons_seen.returned_later", dated & (self.return_ages > self.ages[self.holder]))
        np.maximum.at(valid, self.holder[dated], self.return_ages[dated])
        object.__setattr__(self, "valid_days", valid)
        object.__setattr__(self, "site", site)
        _refuse("coupons_seen.more_returns_than_coupons", self.recruits > self.coupons)

    def __len__(self) -> int:
        return len(self.coupons)

    @cached_property
    def recruits(self) -> Whole:
        """Coupons used so far, [holders]."""
        counts: Whole = np.bincount(self.holder, minlength=len(self.coupons))
        return counts

    @property
    def validity(self) -> Array:
        """Days that coupons are valid, [holders]; infinite where they never expire."""
        assert self.valid_days is not None, "__post_init__ fills it in"
        return self.valid_days

    @property
    def site_codes(self) -> Whole:
        """The site of each holder, [holders]; -1 where it is unknown."""
        assert self.site is not None, "__post_init__ fills it in"
        return self.site

    @property
    def followed(self) -> Array:
        """Days during which a return would have been seen, [holders]: to expiry, or to the day of the data."""
        return np.minimum(self.ages, self.validity)

    @property
    def open(self) -> Whole:
        """Coupons that may still be used, [holders]."""
        return np.where(self.ages < self.validity, self.coupons - self.recruits, 0)

    def exposure(self, times: ReturnTimes) -> Array:
        """The chance that a recruit who will come has come, [holders]: 1 from expiry on (`History.exposure`)."""
        return times.cdf(self.ages, self.validity, self.site_codes)

    def earlier(self, days: float) -> "CouponsSeen":
        """The same study as it was seen some days before; returns without a date are left out."""
        kept = self.ages >= days
        place = np.cumsum(kept) - 1
        age_then = self.ages - days
        there = kept[self.holder] & (self.return_ages <= age_then[self.holder])  # not true of NaN
        return CouponsSeen(
            self.coupons[kept],
            age_then[kept],
            place[self.holder[there]],
            self.return_ages[there],
            self.validity[kept],
            self.site_codes[kept],
            self.sites,
        )


def _refuse(code: str, wrong: NDArray[np.bool_]) -> None:
    rows = np.flatnonzero(wrong).tolist()
    if rows:
        raise DataFileError(code, n=len(rows), rows=[*rows[:5], "..."] if len(rows) > 5 else rows)


# Recruits still to come ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ReturnsToCome:
    """Returns drawn by chance: whose coupon, and how many days after the day of the data."""

    holder: Whole  # [returns]
    days: Array  # [returns], at least 1

    def by(self, days: ArrayLike) -> Whole:
        """How many have come by each of these days."""
        came: Whole = np.searchsorted(np.sort(self.days), np.asarray(days, dtype=np.float64), side="right")
        return came


def count_chances(response: ResponseModel, covariates: Codes, coupons: Whole) -> Array:
    """P(N(k) = n) of each person with their own number of coupons, n = 0 .. the most coupons, [people, most + 1]."""
    chances = np.zeros((len(coupons), int(coupons.max(initial=0)) + 1))
    for number in np.unique(coupons).tolist():
        rows = coupons == number
        chances[rows, : number + 1] = response.counts(covariates[rows], number)
    return chances


def still_to_come(chances: Array, seen: CouponsSeen, times: ReturnTimes) -> Array:
    """P(N - y = m | y so far) of each holder, m = 0 .. the most coupons, from P(N = n), both [holders, most + 1].

    Where the response model thought y impossible, nobody more is expected.
    """
    most = chances.shape[1] - 1
    with np.errstate(divide="ignore"):
        logs = np.log(chances) + log_thinning(seen.recruits, seen.exposure(times), most)
    best = logs.max(axis=1, keepdims=True)
    after = np.exp(logs - np.where(np.isfinite(best), best, 0.0))
    total = after.sum(axis=1, keepdims=True)
    after = after / np.where(total > 0.0, total, 1.0)
    places = np.arange(most + 1) + seen.recruits[:, None]
    more = np.where(places <= most, np.take_along_axis(after, np.minimum(places, most), axis=1), 0.0)
    more[total[:, 0] == 0.0, 0] = 1.0
    return more


def expected_returns(chances: Array, seen: CouponsSeen, times: ReturnTimes, days: ArrayLike) -> Array:
    """Expected recruits still to come within each number of days from the day of the data, [holders, days]."""
    more = still_to_come(chances, seen, times)
    expected = (more * np.arange(more.shape[1])).sum(axis=1)
    until = seen.ages[:, None] + np.atleast_1d(np.asarray(days, dtype=np.float64))
    by = times.chance_by(until, seen.ages[:, None], 1.0, seen.validity[:, None], seen.site_codes[:, None])
    return expected[:, None] * by


def sample_returns(chances: Array, seen: CouponsSeen, times: ReturnTimes, luck: Luck) -> ReturnsToCome:
    """Draw who is still to come, and when, by inversion of each holder's luck."""
    luck.check(len(seen))
    more = still_to_come(chances, seen, times)
    at_least = np.minimum(np.cumsum(more[:, ::-1], axis=1)[:, ::-1][:, 1:], 1.0)  # P(N - y >= m), m = 1 .. most
    counts = count_from_survival(luck.uniform("coupons still used"), at_least)
    counts = np.minimum(counts, seen.open)
    ages = times.sample_open(luck, more.shape[1] - 1, seen.ages, seen.validity, seen.site_codes)
    holder, which = np.nonzero(np.arange(ages.shape[1]) < counts[:, None])
    return ReturnsToCome(holder, ages[holder, which] - seen.ages[holder])
