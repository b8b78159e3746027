"""The likelihood of a cut study: vectorised against plain text, plain text against mpmath, gradients, and lifelines."""

import math
from collections.abc import Callable, Sequence

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lifelines import LogNormalFitter, WeibullFitter
from scipy import stats

from peerfront.foundation import time_families
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.time_families import TIME_FAMILIES
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.models.returns.return_fit import Mode, Posterior, ReturnSettings, fit_return_times
from peerfront.models.returns.return_likelihood import (
    COUPONS_SPREAD,
    Cells,
    Times,
    cell_log_likelihoods,
)
from peerfront.models.returns.return_times import NEVER, ReturnTimes

FLAT = {"prior_variation": 1e3, "prior_spread_variation": 1e3}


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


@st.composite
def studies(draw) -> CouponsSeen:
    """A few holders with any coupons, ages, expiry, sites and returns, some of them without a date."""
    holders = draw(st.integers(1, 5))
    coupons = [draw(st.integers(1, 4)) for _ in range(holders)]
    ages = [float(draw(st.integers(0, 90))) for _ in range(holders)]
    valid = [draw(st.sampled_from([NEVER, 14.0, 30.0])) for _ in range(holders)]
    holder, days = [], []
    for row in range(holders):
        for _ in range(draw(st.integers(0, coupons[row]))):
            holder.append(row)
            dated = draw(st.booleans())
            days.append(float(draw(st.integers(0, int(min(ages[row], valid[row]))))) if dated else math.nan)
    site = np.array([draw(st.integers(-1, 1)) for _ in range(holders)])
    return CouponsSeen(
        np.array(coupons), np.array(ages), np.array(holder, int), np.array(days), np.array(valid), site, ("a", "b")
    )


@pytest.mark.parametrize("family", TIME_FAMILIES)
@given(
    seen=studies(),
    median=st.floats(3.0, 60.0),
    spread=st.floats(0.4, 1.8),
    rate=st.floats(0.05, 2.0),
    size=st.floats(0.3, 5.0),
    shifts=st.tuples(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)),
)
@settings(max_examples=60, deadline=None)
def test_vectorised_and_plain_are_equal(family, seen, median, spread, rate, size, shifts) -> None:
    cells, site_spread = Cells.of(seen), 0.4
    by_number = np.linspace(-0.5, 0.5, len(cells.numbers))
    point = [math.log(median), math.log(spread), *shifts, math.log(rate), math.log(size), *by_number]
    assert len(point) == cells.parameters
    counts, days_of, _ = cell_log_likelihoods(cells, family, np.array([point, point]), site_spread)
    both = [cells.by_holder(counts[row], days_of[row]) for row in (0, 1)]
    assert np.array_equal(*both)
    for row in range(len(seen)):
        own, k = seen.holder == row, int(seen.coupons[row])
        shift = site_spread * (*shifts, 0.0)[seen.site_codes[row]]
        own_rate = rate * math.exp(COUPONS_SPREAD * by_number[np.searchsorted(cells.numbers, k)])
        chances = stats.binom.pmf(np.arange(k + 1), k, -math.expm1(-own_rate))

        def cdf(time: float, shift: float = shift) -> float:
            return float(time_families.cdf(family, np.array(math.log(time / median) - shift), spread))

        days = [None if math.isnan(day) else day for day in seen.return_ages[own]]
        plain = holder_likelihood(chances.tolist(), days, float(seen.ages[row]), float(seen.validity[row]), cdf)
        # A return without a date tells nothing of times, so that only the count is left of it.
        assert math.exp(both[0][row]) == pytest.approx(plain, rel=1e-6, abs=1e-12)  # the least exposure


def test_plain_text_against_mpmath() -> None:
    """Sum over n of P(N = n) choose(n, y) F^y (1 - F)^(n - y), times truncated densities, to 40 digits."""
    chances = [0.4, 0.3, 0.2, 0.1]
    with mpmath.workdps(40):

        def cdf(time):
            return mpmath.ncdf((mpmath.log(time) - mpmath.log(20)) / mpmath.mpf("1.03"))

        whole = cdf(28.5)
        seen = cdf(14.5) / whole
        count = mpmath.fsum(
            mpmath.mpf(chances[n]) * mpmath.binomial(n, 2) * seen**2 * (1 - seen) ** (n - 2) for n in (2, 3)
        )
        expected = float(count * (cdf(3.5) - cdf(2.5)) / cdf(14.5) * (cdf(0.5) - 0) / cdf(14.5))
    plain = holder_likelihood(chances, [3, 0], 14, 28, lambda t: float(stats.lognorm(1.03, scale=20).cdf(t)))
    assert plain == pytest.approx(expected, rel=1e-10)
    # Expired: who has not come will not, whatever the times.
    assert holder_likelihood(chances, [None], 40, 28, lambda t: 0.3) == pytest.approx(0.3)


def test_the_counts_of_a_holder_have_chances_that_sum_to_one() -> None:
    """Over all that can be seen by day 2: how many, and on which days (unordered, so weighted by their orders)."""
    times = ReturnTimes("weibull", 3.0, 1.0)
    chances, total = [0.5, 0.3, 0.2], 0.0

    def cdf(time: float) -> float:
        return float(times.cdf(time - 0.5))

    for days in ([], *([d] for d in range(3)), *([c, d] for c in range(3) for d in range(3))):
        total += holder_likelihood(chances, days, 2, NEVER, cdf)
    assert total == pytest.approx(1.0)


def in_torch(cells: Cells, family: str, point: torch.Tensor, site_spread: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The same likelihoods of one point in torch, for its slopes; lognormal and Weibull times only."""

    def cdf(ages: np.ndarray, site: np.ndarray) -> torch.Tensor:
        shifts = torch.cat([site_spread * point[2 : 2 + cells.sites], torch.zeros(1, dtype=torch.float64)])
        x = (torch.log(torch.as_tensor(ages) + 0.5) - point[0] - shifts[torch.as_tensor(site)]) * torch.exp(-point[1])
        if family == "lognormal":
            return torch.special.ndtr(x)
        return -torch.expm1(-math.log(2.0) * torch.exp(x * math.pi / math.sqrt(6.0)))

    expires, complete = np.isfinite(cells.validity), cells.followed >= cells.validity
    in_time = torch.where(
        torch.as_tensor(expires), cdf(np.where(expires, cells.validity, 1.0), cells.site), torch.ones(1).double()
    )
    exposure = torch.where(torch.as_tensor(complete), 1.0, cdf(cells.followed, cells.site) / in_time)
    by_number = point[4 + cells.sites :][np.searchsorted(cells.numbers, cells.coupons)]
    rates = torch.exp(point[2 + cells.sites] + COUPONS_SPREAD * by_number)
    k, y = torch.as_tensor(cells.coupons).double(), torch.as_tensor(cells.recruits).double()
    seen = -torch.expm1(-rates) * exposure
    choose = torch.lgamma(k + 1.0) - torch.lgamma(y + 1.0) - torch.lgamma(k - y + 1.0)
    counts = choose + y * torch.log(seen) + (k - y) * torch.log1p(-seen)
    first = torch.as_tensor(cells.days <= 0.5)
    early = torch.where(first, 0.0, cdf(np.maximum(cells.days - 1.0, 0.0), cells.days_site))
    chance = cdf(cells.days, cells.days_site) - early
    return counts, torch.log(chance) - torch.log(cdf(cells.days_followed, cells.days_site))


@pytest.mark.parametrize("family", ["lognormal", "weibull"])
@given(
    seen=studies(),
    point=st.tuples(*(st.floats(low, high) for low, high in ((2.0, 3.5), (-0.6, 0.5), (-1, 1), (-1, 1), (-2, 0.5)))),
)
def test_values_and_slopes_are_those_of_torch(family, seen, point) -> None:
    cells = Cells.of(seen)
    at = np.array([*point, 0.0, *np.linspace(-0.5, 0.5, len(cells.numbers))])
    rng = named_generator("weights of cells", len(seen))
    weights = rng.random(len(cells.coupons)), rng.random(len(cells.days))
    counts, days, slopes = cell_log_likelihoods(cells, family, at[None], 0.4)
    twin = torch.tensor(at, requires_grad=True)
    of_torch = in_torch(cells, family, twin, 0.4)
    np.testing.assert_allclose(counts[0], of_torch[0].detach().numpy(), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(days[0], of_torch[1].detach().numpy(), rtol=1e-6, atol=1e-8)
    total = sum((torch.as_tensor(w) * part).sum() for w, part in zip(weights, of_torch, strict=True))
    (expected,) = torch.autograd.grad(total, twin)
    np.testing.assert_allclose(slopes(*weights)[0], expected.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("family", TIME_FAMILIES)
def test_slopes_are_those_of_central_differences(family) -> None:
    times, x = Times(family, np.array([[0.1]])), np.array([[-2.0, -0.3, 0.0, 1.2]])
    low, high, step = x, x + 0.7, 1e-5
    for value, slopes in (
        (lambda moved, spread: times.until(x + moved, spread), times.slopes_until(x)),
        (lambda moved, spread: times.between(low + moved, high + moved, spread), times.slopes_between(low, high)),
    ):
        own = times.log_spread
        in_x = (value(step, own) - value(-step, own)) / (2 * step)
        in_spread = (value(0.0, own + step) - value(0.0, own - step)) / (2 * step)
        np.testing.assert_allclose(slopes[0], in_x, atol=1e-8)
        np.testing.assert_allclose(slopes[1], in_spread, atol=1e-8)
    seen = CouponsSeen(
        np.array([3, 2, 3]), np.array([14.0, 40.0, 9.0]), np.array([0, 1, 1]), np.array([0.0, 30.0, 3.0]),
        np.array([28.0, 35.0, NEVER]), np.array([0, -1, 1]), ("a", "b"),
    )  # fmt: skip
    posterior = Posterior(seen, ReturnSettings())
    weights = posterior.cells.weights(posterior.everybody)
    for point in (
        [2.7, 0.1, 0.3, -0.2, -0.5, 0.4, 0.1, 0.2],
        [2.7, 0.1, 0.3, -0.2, 7.0, 0.4, 0.1, 0.2],  # a rate beyond the largest
        [20.0, 9.0, 0.3, -0.2, -0.5, 0.4, 0.1, 0.2],  # median and spread beyond their limits
    ):
        mode = Mode(family, 0.5, 1.3, np.array(point), 0.0)
        moved = mode.point + step * np.concatenate([np.eye(8), -np.eye(8)])
        heights, _ = posterior.log_density(moved, mode, weights)
        (slopes_here,) = posterior.log_density(mode.point[None], mode, weights)[1]()
        np.testing.assert_allclose(slopes_here, (heights[:8] - heights[8:]) / (2 * step), rtol=1e-5, atol=1e-5)


# Where everything is used in the end and every holder has one coupon, it is plain right-censored survival analysis.


def censored(family: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = named_generator("censored", family)
    ages = rng.integers(10, 60, 400).astype(float)
    days = np.maximum(ReturnTimes(family, 18.0, 0.9).quantile(rng.random(400)), 1.0)
    return ages, days, days <= ages


def certain_use(ages, days, there) -> Callable[[str, float, float], float]:
    """Our likelihood as a function of family, median and spread, with a rate so high that every coupon is used."""
    seen = CouponsSeen(np.ones(len(ages), int), ages, np.flatnonzero(there), days[there])
    cells = Cells.of(seen)

    def total(family: str, median: float, spread: float) -> float:
        point = np.array([[math.log(median), math.log(spread), math.log(150.0), 0.0, 0.0]])
        counts, own, _ = cell_log_likelihoods(cells, family, point, 0.0)
        return float(cells.by_holder(counts[0], own[0]).sum())

    return total


@pytest.mark.parametrize(("family", "fitter"), [("lognormal", LogNormalFitter), ("weibull", WeibullFitter)])
def test_the_likelihood_is_that_of_lifelines_on_censored_data(family, fitter) -> None:
    ages, days, there = censored(family)
    low, high = np.where(there, days - 0.5, ages + 0.5), np.where(there, days + 0.5, np.inf)
    reference = fitter().fit_interval_censoring(low, high)
    if family == "lognormal":
        median, spread = math.exp(reference.mu_), reference.sigma_
    else:
        median, spread = reference.median_survival_time_, math.pi / (math.sqrt(6.0) * reference.rho_)
    total = certain_use(ages, days, there)
    assert total(family, median, spread) == pytest.approx(reference.log_likelihood_, abs=1e-3)
    best = total(family, median, spread)
    for other in (total(family, 1.05 * median, spread), total(family, median, 0.93 * spread)):
        assert other < best


def test_the_likelihood_is_that_of_scipy_for_gamma_times() -> None:
    ages, days, there = censored("gamma")
    shape = float(time_families.gamma_shape(0.9))
    known = stats.gamma(shape, scale=18.0 / stats.gamma(shape).median())
    expected = np.log(known.cdf(days[there] + 0.5) - known.cdf(days[there] - 0.5)).sum()
    expected += known.logsf(ages[~there] + 0.5).sum()
    assert certain_use(ages, days, there)("gamma", 18.0, 0.9) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("family", "fitter"), [("lognormal", LogNormalFitter), ("weibull", WeibullFitter)])
def test_the_fit_is_that_of_lifelines_where_all_has_been_seen(family, fitter) -> None:
    """Every return was seen: the cure share is the count's, and times are those of lifelines on the returns."""
    rng = named_generator("all seen", family)
    recruits = rng.binomial(3, 0.4, 300)
    holder = np.repeat(np.arange(300), recruits)
    days = np.maximum(ReturnTimes(family, 12.0, 0.8).quantile(rng.random(len(holder))), 1.0)
    seen = CouponsSeen(np.full(300, 3), np.full(300, 3000.0), holder, days)
    fit = fit_return_times(seen, ReturnSettings(family=family, draws=2000, **FLAT))
    reference = fitter().fit_interval_censoring(days - 0.5, days + 0.5)
    assert fit.times.median == pytest.approx(reference.median_survival_time_, rel=0.01)
    spread = reference.sigma_ if family == "lognormal" else math.pi / (math.sqrt(6.0) * reference.rho_)
    assert fit.times.spread == pytest.approx(spread, rel=0.01)
    assert fit.used(seen.coupons).mean() == pytest.approx(recruits.mean() / 3, rel=0.01)
    error = float(fit.times.draws[:, 0].std())
    if family == "lognormal":
        assert error == pytest.approx(float(reference.summary["se(coef)"]["mu_"]), rel=0.15)
