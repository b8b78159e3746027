"""The likelihood of what a cut study shows, vectorised and with gradients: how many were used, on which days.

Holder by holder: the count of coupons used so far, thinned by the exposure, times the chance of each return's day among
the days that could be seen (`holder_likelihood` is the same in plain text; the tests hold them equal). Everybody is
alike, so that holders with the same coupons, returns, age, validity and site are one cell, and so are returns of one
day among the same days.

A point in the space of parameters is a row: log median, log spread, one standardised shift for each site, log rate and
log size of the count family, and one standardised shift of the log rate for each number of coupons that occurs. All
functions take several rows at once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from peerfront.foundation import time_families
from peerfront.foundation.time_families import LARGEST_SPREAD, SMALLEST_SPREAD
from peerfront.models.response.response_likelihood import log_likelihood
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.models.returns.return_times import HALF_DAY, LONGEST_MEDIAN, SHORTEST_MEDIAN

Array = NDArray[np.float64]
COUPONS_SPREAD = 0.5
"""Standard deviation of the shifts of log rates between numbers of coupons: what a third coupon does is not assumed."""
_STEP = 1e-5  # of central differences in the log spread
_TINY = 1e-290
_LARGEST_RATE = 200.0


class _GammaCdf(torch.autograd.Function):
    """P(time <= median * exp(x)) of gamma times: torch has no derivative of the incomplete gamma function in its shape.

    `sign` is 1 for this, and -1 for the chance of a later time.
    """

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor, log_spread: Tensor, sign: float) -> Tensor:
        function = time_families.cdf if sign > 0 else time_families.survival
        at, spread = x.detach().numpy(), np.exp(log_spread.detach().numpy())  # broadcast late: shapes are costly
        value = function("gamma", at, spread)
        in_x = sign * time_families.density("gamma", at, spread)
        up, down = (function("gamma", at, spread * np.exp(step)) for step in (_STEP, -_STEP))
        ctx.save_for_backward(torch.as_tensor(in_x), torch.as_tensor((up - down) / (2 * _STEP)))
        ctx.shapes = x.shape, log_spread.shape  # type: ignore[attr-defined]
        return torch.as_tensor(value)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        in_x, in_spread = ctx.saved_tensors  # type: ignore[attr-defined]
        for_x, for_spread = ctx.shapes  # type: ignore[attr-defined]
        return (gradients[0] * in_x).sum_to_size(for_x), (gradients[0] * in_spread).sum_to_size(for_spread), None


def time_cdf(family: str, x: Tensor, log_spread: Tensor) -> Tensor:
    """P(time <= median * exp(x)), elementwise."""
    if family == "lognormal":
        return torch.special.ndtr(x * torch.exp(-log_spread))
    if family == "weibull":
        return -torch.expm1(-np.log(2.0) * torch.exp(x * torch.exp(-log_spread) * np.pi / np.sqrt(6.0)))
    return _GammaCdf.apply(x, log_spread, 1.0)


def time_survival(family: str, x: Tensor, log_spread: Tensor) -> Tensor:
    """P(time > median * exp(x)), elementwise."""
    if family == "lognormal":
        return torch.special.ndtr(-x * torch.exp(-log_spread))
    if family == "weibull":
        return torch.exp(-np.log(2.0) * torch.exp(x * torch.exp(-log_spread) * np.pi / np.sqrt(6.0)))
    return _GammaCdf.apply(x, log_spread, -1.0)


@dataclass(frozen=True, eq=False)
class Cells:
    """A study seen on one day, as cells: holders who show the same, and returns that show the same."""

    coupons: Tensor  # [count cells]
    recruits: Tensor  # [count cells]
    followed: Tensor  # [count cells], days during which returns were seen
    validity: Tensor  # [count cells]
    site: Tensor  # [count cells], -1 unknown
    days: Tensor  # [time cells], age of a return
    days_followed: Tensor  # [time cells]
    days_site: Tensor  # [time cells]
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
        coupons, recruits, followed, validity, site = (torch.as_tensor(column.copy()) for column in counts.T)
        day, day_followed, day_site = (torch.as_tensor(column.copy()) for column in days.T)
        return cls(
            coupons,
            recruits,
            followed,
            validity,
            site.long(),
            day,
            day_followed,
            day_site.long(),
            cell_of_holder.reshape(-1),
            cell_of_return.reshape(-1),
            whose,
            len(seen.sites),
            np.unique(seen.coupons),
        )

    def weights(self, holders: NDArray[np.bool_]) -> tuple[Tensor, Tensor]:
        """How many of these holders, and of their dated returns, are in each cell."""
        counts = np.bincount(self.cell_of_holder[holders], minlength=len(self.coupons))
        days = np.bincount(self.cell_of_return[holders[self.holder_of_return]], minlength=len(self.days))
        return torch.as_tensor(counts, dtype=torch.float64), torch.as_tensor(days, dtype=torch.float64)

    def by_holder(self, counts: Array, days: Array) -> Array:
        """Log-likelihood of each holder, [holders], from those of the cells."""
        returns = np.bincount(
            self.holder_of_return, weights=days[self.cell_of_return], minlength=len(self.cell_of_holder)
        )
        own: Array = counts[self.cell_of_holder] + returns
        return own


def cell_log_likelihoods(
    cells: Cells, family: str, count_family: str, points: Tensor, site_spread: float
) -> tuple[Tensor, Tensor]:
    """Log-likelihood of each cell at each point, [points, count cells] and [points, time cells]."""
    log_median, log_spread, shifts, log_rates, log_size = unpacked(points, cells.sites)
    log_medians = log_median + torch.cat([site_spread * shifts, torch.zeros_like(log_median)], dim=1)  # unknown: last

    def ratio(ages: Tensor, site: Tensor) -> Tensor:
        return torch.log(ages + HALF_DAY) - log_medians[:, site]

    expires, complete = torch.isfinite(cells.validity), cells.followed >= cells.validity
    valid = torch.where(expires, cells.validity, 1.0)
    in_time = torch.where(expires, time_cdf(family, ratio(valid, cells.site), log_spread), 1.0)
    so_far = time_cdf(family, ratio(cells.followed, cells.site), log_spread)
    exposure = (so_far / in_time.clamp(min=_TINY)).clamp(1e-12, 1.0 - 1e-12)
    exposure = torch.where(complete, 1.0, exposure)
    own_number = torch.as_tensor(np.searchsorted(cells.numbers, cells.coupons.numpy()))
    rates = torch.exp(log_rates)[:, own_number].clamp(max=_LARGEST_RATE)
    zero = torch.zeros_like(log_median)
    coupons, recruits = (part.expand_as(exposure) for part in (cells.coupons, cells.recruits))
    counts = log_likelihood(count_family, coupons, recruits, rates, log_size, zero, zero, exposure)

    has_before = cells.days > HALF_DAY
    before = torch.where(has_before, cells.days - 2 * HALF_DAY, 1.0)  # `ratio` adds half a day
    low, high = ratio(before, cells.days_site), ratio(cells.days, cells.days_site)
    early = time_cdf(family, high, log_spread) - torch.where(has_before, time_cdf(family, low, log_spread), 0.0)
    late = time_survival(family, low, log_spread) - time_survival(family, high, log_spread)
    chance = torch.where(has_before & (high > 0.0), late, early)
    whole = time_cdf(family, ratio(cells.days_followed, cells.days_site), log_spread)
    days = torch.log(chance.clamp(min=_TINY)) - torch.log(whole.clamp(min=_TINY))
    return counts, days


def unpacked(points: Tensor, sites: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Log median, log spread, shifts of sites, log rates by number of coupons, and log size: [points, some] each."""
    log_median = points[:, :1].clamp(np.log(SHORTEST_MEDIAN), np.log(LONGEST_MEDIAN))
    log_spread = points[:, 1:2].clamp(np.log(SMALLEST_SPREAD), np.log(LARGEST_SPREAD))
    shifts = points[:, 2 : 2 + sites]
    log_rates = points[:, 2 + sites : 3 + sites] + COUPONS_SPREAD * points[:, 4 + sites :]
    return log_median, log_spread, shifts, log_rates, points[:, 3 + sites : 4 + sites].clamp(-5.0, 8.0)


# The same, plainly -----------------------------------------------------------------------------------------------


def holder_likelihood(
    chances: Sequence[float],
    return_ages: Sequence[float | None],
    age: float,
    valid_days: float,
    time_cdf: Callable[[float], float],
) -> float:
    """The likelihood of one holder, over the orders of returns that look the same.

    A holder of k coupons, all of the same age a, has used y of them, on days t_1 .. t_y. If n will be used in the end,
    each at an independent time, the chance of exactly this, whichever coupons they were, is

        n! / (n - y)! * f(t_1) .. f(t_y) * (1 - F(a))^(n - y),       n >= y,

    and the likelihood is the mean over n. F and f are truncated at expiry; once it is reached F(a) = 1, and n = y. (The
    same as choose(n, y) F(a)^y (1 - F(a))^(n - y), the count thinned by the exposure F(a), times the truncated
    densities f(t_j) / F(a), times y! orders.)

    `chances` are P(N = n) for n = 0 .. k, `return_ages` the ages of the coupons used so far (None: not known), and
    `time_cdf` the distribution of times without expiry. A day reaches from half a day before to half a day after.
    """
    used = len(return_ages)
    all_in_time = time_cdf(valid_days + 0.5) if math.isfinite(valid_days) else 1.0
    last_day = min(age, valid_days)
    seen = time_cdf(last_day + 0.5) / all_in_time if age < valid_days else 1.0
    total = 0.0
    for n in range(used, len(chances)):
        likelihood = chances[n] * math.comb(n, used) * (1.0 - seen) ** (n - used)
        for day in return_ages:
            if day is None:
                likelihood *= seen
            else:
                before = time_cdf(day - 0.5) if day > 0.5 else 0.0
                likelihood *= (time_cdf(day + 0.5) - before) / all_in_time
        total += likelihood
    return total
