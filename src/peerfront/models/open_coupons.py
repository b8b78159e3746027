"""Recruits still to come from coupons that are out: how many in the end, how many by a date, and drawn by chance.

Somebody who brought y recruits so far, with exposure e (`CouponsSeen.exposure`), brings N in the end with chances

    P(N = n | y) = P(N = n) choose(n, y) e^y (1 - e)^(n - y) / sum over n,

where P(N = n) is the response model's. The N - y still to come return independently, each at a time that is later than
now: by day t with the chance (F(t) - F(a)) / (1 - F(a)) of the return times.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerfront.foundation.binomials import log_thinning
from peerfront.foundation.counts import count_from_survival
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck
from peerfront.models.coupons_seen import CouponsSeen
from peerfront.models.return_times import ReturnTimes
from peerfront.problem import ResponseModel

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


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
    """Expected recruits still to come within so many days of the day of the data, [holders, days]."""
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
