"""The likelihood of what a cut study shows, vectorised and with slopes: how many were used, on which days.

Holder by holder: the count of coupons used so far, thinned by the exposure, times the chance of each return's day among
the days that could be seen (the tests hold it equal to the same in plain text). Everybody is
alike, so that holders with the same coupons, returns, age, validity and site are one cell, and so are returns of one
day among the same days.

A point in the space of parameters is a row: log median, log spread, one standardised shift for each site, log rate of
the counts, a log size of no consequence (binomial counts have none), and one standardised shift of the log rate for
each number of coupons that occurs. All functions take several rows at once. The slopes are analytic, but for that in
the spread of gamma times: nobody has the derivative of the incomplete gamma function in its shape.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from peerfront.foundation import time_families
from peerfront.foundation.time_families import LARGEST_SPREAD, SMALLEST_SPREAD
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.models.returns.return_times import HALF_DAY, LONGEST_MEDIAN, SHORTEST_MEDIAN

Array = NDArray[np.float64]
Slopes = Callable[[Array, Array], Array]
"""From weights of count cells and of time cells to the slopes of their weighted sum, [points, parameters]."""
COUPONS_SPREAD = 0.5
"""Standard deviation of the shifts of log rates between numbers of coupons: what a third coupon does is not assumed."""
LIMITS = np.log([[SHORTEST_MEDIAN, LONGEST_MEDIAN], [SMALLEST_SPREAD, LARGEST_SPREAD]])
"""Of log median and log spread."""
_STEP = 1e-5  # of central differences in the log spread
_TINY = 1e-290
_LARGEST_RATE = 200.0
_LEAST_EXPOSURE = 1e-12
_BEFORE_ALL = -700.0  # log of a time over the median before which nobody comes


@dataclass(frozen=True, eq=False)
class Times:
    """Times of one family; x is the log of a time over the median. `slopes` are those in x (of all ends at once) and
    in the log spread."""

    family: str
    log_spread: Array  # [points, 1]

    def until(self, x: Array, log_spread: Array | None = None) -> Array:
        """P(time <= median * exp(x)), elementwise."""
        return time_families.cdf(self.family, x, np.exp(self.log_spread if log_spread is None else log_spread))

    def between(self, low: Array, high: Array, log_spread: Array | None = None) -> Array:
        """P(low < time <= high), precise where it is small."""
        spread = np.exp(self.log_spread if log_spread is None else log_spread)
        early, late = ([function(self.family, x, spread) for x in (low, high)] for function in _SIDES)
        return np.where(high > 0.0, late[0] - late[1], early[1] - early[0])

    def slopes_until(self, x: Array) -> tuple[Array, Array]:
        in_x = self._density(x)
        if self.family == "gamma":
            return in_x, self._difference(lambda log_spread: self.until(x, log_spread))
        return in_x, -x * in_x

    def slopes_between(self, low: Array, high: Array) -> tuple[Array, Array]:
        at_low, at_high = self._density(low), self._density(high)
        if self.family == "gamma":
            in_log_spread = self._difference(lambda log_spread: self.between(low, high, log_spread))
        else:
            in_log_spread = low * at_low - high * at_high
        return at_high - at_low, in_log_spread

    def _density(self, x: Array) -> Array:
        return time_families.density(self.family, x, np.exp(self.log_spread))

    def _difference(self, value: Callable[[Array], Array]) -> Array:
        difference: Array = (value(self.log_spread + _STEP) - value(self.log_spread - _STEP)) / (2 * _STEP)
        return difference


_SIDES = (time_families.cdf, time_families.survival)


@dataclass(frozen=True, eq=False)
class Cells:
    """A study seen on one day, as cells: holders who show the same, and returns that show the same."""

    coupons: Array  # [count cells]
    recruits: Array  # [count cells]
    followed: Array  # [count cells], days during which returns were seen
    validity: Array  # [count cells]
    site: NDArray[np.int64]  # [count cells], -1 unknown
    days: Array  # [time cells], age of a return
    days_followed: Array  # [time cells]
    days_site: NDArray[np.int64]  # [time cells]
    cell_of_holder: NDArray[np.int64]  # [holders]
    cell_of_return: NDArray[np.int64]  # [dated returns]
    holder_of_return: NDArray[np.int64]  # [dated returns]
    sites: int
    numbers: NDArray[np.int64]  # [numbers], of coupons that occur, in order

    @property
    def parameters(self) -> int:
        return 4 + self.sites + len(self.numbers)

    @classmethod
    def of(cls, seen: CouponsSeen) -> "Cells":
        holders = np.stack([seen.coupons, seen.recruits, seen.followed, seen.validity, seen.site_codes], axis=1)
        counts, cell_of_holder = np.unique(holders, axis=0, return_inverse=True)
        dated = ~np.isnan(seen.return_ages)
        whose = seen.holder[dated]
        returns = np.stack([seen.return_ages[dated], seen.followed[whose], seen.site_codes[whose]], axis=1)
        days, cell_of_return = np.unique(returns, axis=0, return_inverse=True)
        coupons, recruits, followed, validity, site = (column.copy() for column in counts.T)
        day, day_followed, day_site = (column.copy() for column in days.T)
        return cls(
            coupons,
            recruits,
            followed,
            validity,
            site.astype(np.int64),
            day,
            day_followed,
            day_site.astype(np.int64),
            cell_of_holder.reshape(-1),
            cell_of_return.reshape(-1),
            whose,
            len(seen.sites),
            np.unique(seen.coupons),
        )

    def weights(self, holders: NDArray[np.bool_]) -> tuple[Array, Array]:
        """How many of these holders, and of their dated returns, are in each cell."""
        counts = np.bincount(self.cell_of_holder[holders], minlength=len(self.coupons))
        days = np.bincount(self.cell_of_return[holders[self.holder_of_return]], minlength=len(self.days))
        return counts.astype(np.float64), days.astype(np.float64)

    def by_holder(self, counts: Array, days: Array) -> Array:
        """Log-likelihood of each holder, [holders], from those of the cells."""
        returns = np.bincount(
            self.holder_of_return, weights=days[self.cell_of_return], minlength=len(self.cell_of_holder)
        )
        own: Array = counts[self.cell_of_holder] + returns
        return own


def cell_log_likelihoods(cells: Cells, family: str, points: Array, site_spread: float) -> tuple[Array, Array, Slopes]:
    """Log-likelihood of each cell at each point, [points, count cells] and [points, time cells], and their slopes."""
    log_median, log_spread, shifts, log_rates = unpacked(points, cells.sites)
    log_medians = log_median + np.concatenate([site_spread * shifts, np.zeros_like(log_median)], axis=1)
    times = Times(family, log_spread)

    def ratio(ages: Array, site: NDArray[np.int64]) -> Array:
        x: Array = np.log(ages + HALF_DAY) - log_medians[:, site]  # the last one is of unknown sites
        return x

    # Counts: binomial, thinned by the share of returns that could be seen.
    expires, complete = np.isfinite(cells.validity), cells.followed >= cells.validity
    expiry, followed = ratio(np.where(expires, cells.validity, 1.0), cells.site), ratio(cells.followed, cells.site)
    in_time = np.maximum(np.where(expires, times.until(expiry), 1.0), _TINY)
    share = times.until(followed) / in_time
    exposure = np.where(complete, 1.0, np.clip(share, _LEAST_EXPOSURE, 1.0 - _LEAST_EXPOSURE))
    own_number = np.searchsorted(cells.numbers, cells.coupons)
    rates = np.minimum(np.exp(log_rates), _LARGEST_RATE)[:, own_number]
    will_be_used = -np.expm1(-rates)
    used, left = cells.recruits, cells.coupons - cells.recruits
    with np.errstate(divide="ignore"):  # where the exposure is 1
        log_not_seen = np.logaddexp(np.log1p(-exposure), np.log(exposure) - rates)
    counts = _log_choose(cells.coupons, used) + used * np.log(will_be_used * exposure) + left * log_not_seen

    # Days: the chance of each return's day, among the days that could be seen.
    has_before = cells.days > HALF_DAY
    before = ratio(np.where(has_before, cells.days - 2 * HALF_DAY, 1.0), cells.days_site)  # `ratio` adds half a day
    low, high = np.where(has_before, before, _BEFORE_ALL), ratio(cells.days, cells.days_site)
    last = ratio(cells.days_followed, cells.days_site)
    on_day, by_last = times.between(low, high), times.until(last)
    days = np.log(np.maximum(on_day, _TINY)) - np.log(np.maximum(by_last, _TINY))

    def slopes(of_counts: Array, of_days: Array) -> Array:
        not_seen = np.exp(log_not_seen)
        in_rates = (1.0 - will_be_used) * (used / will_be_used - left * exposure / not_seen)
        in_log_rates = np.where(rates < _LARGEST_RATE, of_counts * in_rates * rates, 0.0)
        in_exposure = used / exposure - left * will_be_used / not_seen
        in_share = np.where(~complete & (exposure == share), of_counts * in_exposure, 0.0)  # not where clipped
        parts = (  # the slope in each chance, and its own slopes in x and log spread
            (in_share / in_time, times.slopes_until(followed)),
            (np.where(expires & (in_time > _TINY), -in_share * share / in_time, 0.0), times.slopes_until(expiry)),
            (np.where(on_day > _TINY, of_days / np.maximum(on_day, _TINY), 0.0), times.slopes_between(low, high)),
            (np.where(by_last > _TINY, -of_days / np.maximum(by_last, _TINY), 0.0), times.slopes_until(last)),
        )
        in_x = [slope * own[0] for slope, own in parts]
        of_cells, of_returns = in_x[0] + in_x[1], in_x[2] + in_x[3]
        found = np.zeros((len(points), cells.parameters))
        found[:, 0] = -of_cells.sum(axis=1) - of_returns.sum(axis=1)  # a later median moves all x down
        found[:, 1] = sum((slope * own[1]).sum(axis=1) for slope, own in parts)
        found[:, :2] *= (points[:, :2] >= LIMITS[:, 0]) & (points[:, :2] <= LIMITS[:, 1])
        for site in range(cells.sites):
            own_site = of_cells[:, cells.site == site].sum(axis=1) + of_returns[:, cells.days_site == site].sum(axis=1)
            found[:, 2 + site] = -site_spread * own_site
        found[:, 2 + cells.sites] = in_log_rates.sum(axis=1)
        for number in range(len(cells.numbers)):
            own_rates = in_log_rates[:, own_number == number]
            found[:, 4 + cells.sites + number] = COUPONS_SPREAD * own_rates.sum(axis=1)
        return found

    return counts, days, slopes


def unpacked(points: Array, sites: int) -> tuple[Array, Array, Array, Array]:
    """Log median, log spread, shifts of sites and log rates by number of coupons: [points, some] each."""
    log_median, log_spread = (np.clip(points[:, i : i + 1], *LIMITS[i]) for i in (0, 1))
    log_rates = points[:, 2 + sites : 3 + sites] + COUPONS_SPREAD * points[:, 4 + sites :]
    return log_median, log_spread, points[:, 2 : 2 + sites], log_rates


def _log_choose(n: Array, y: Array) -> Array:
    return np.asarray(gammaln(n + 1.0) - gammaln(y + 1.0) - gammaln(n - y + 1.0))
