"""Fits of return times to made studies: what is found, when it is found, and how sure it is."""

from itertools import pairwise

import numpy as np
import pytest

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.randomness import named_generator
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.models.returns.return_fit import ReturnSettings, fit_return_times
from peerfront.models.returns.return_times import NEVER, ReturnTimes

ITRIP = ReturnTimes("lognormal", 20.0, 1.0277)
QUICK = ReturnSettings(family="lognormal")


def made(
    name: str,
    holders: int = 300,
    share: float = 0.35,
    times: ReturnTimes = ITRIP,
    day: float = 400.0,
    enrolled_over: int = 0,
    valid: float = NEVER,
    site: np.ndarray | None = None,
) -> CouponsSeen:
    """A study with 3 coupons each, used on their own, as it is seen on a day."""
    rng = named_generator("made study", name)
    recruits = rng.binomial(3, share, holders)
    holder = np.repeat(np.arange(holders), recruits)
    own_site = -1 if site is None else site[holder]
    ages = times.quantile(rng.random(len(holder)), valid, own_site)
    since = day - rng.integers(0, enrolled_over + 1, holders)
    there = ages <= since[holder]
    return CouponsSeen(
        np.full(holders, 3), since.astype(float), holder[there], ages[there], np.full(holders, valid), site, times.sites
    )


def test_open_coupons_are_no_failures() -> None:
    """On day 14 as many as 62% of the returns are still to come."""
    seen = made("open", 2000, day=14.0)
    fit = fit_return_times(seen, QUICK)
    assert seen.recruits.sum() / (3 * 2000) < 0.16
    low, high = np.quantile(fit.used(seen.coupons), [0.1, 0.9])
    assert low < 0.35 < high
    assert fit.used(seen.coupons).mean() == pytest.approx(0.35, rel=0.2)


def test_with_many_holders_the_truth_is_found() -> None:
    """Enrolled over 60 days, half of the coupons valid for four weeks."""
    seen = made("many", 6000, day=70.0, enrolled_over=60)
    fit = fit_return_times(seen, QUICK)
    assert fit.times.median == pytest.approx(20.0, rel=0.06)
    assert fit.times.spread == pytest.approx(1.03, rel=0.06)
    assert fit.used(seen.coupons).mean() == pytest.approx(0.35, rel=0.04)
    short = fit_return_times(made("short", 6000, day=70.0, enrolled_over=60, valid=28.0), QUICK)
    assert short.used(np.array([3])).mean() == pytest.approx(0.35, rel=0.04)  # of use in time
    assert short.times.median == pytest.approx(20.0, rel=0.2)


def test_the_family_is_chosen_by_holders_left_out() -> None:
    seen = made("weibull", 3000, times=ReturnTimes("weibull", 15.0, 0.6))
    fit = fit_return_times(seen)
    assert fit.times.family != "lognormal"
    assert max(fit.held_out, key=fit.held_out.get) in ("weibull", "gamma")
    assert str(fit.reason).startswith(("Weibull", "Gamma"))
    plain = fit_return_times(made("lognormal", 300, day=60.0))
    assert plain.times.family == "lognormal"
    assert set(plain.held_out) < {"lognormal", "weibull", "gamma"}  # one that fits far worse is not tried
    assert str(plain.reason).startswith("Lognormal")


def test_sites_are_partly_pooled() -> None:
    rng = named_generator("sites")
    names = tuple("abcd")
    site = rng.integers(0, 4, 1200)
    site[site == 3] = np.where(rng.random((site == 3).sum()) < 0.06, 3, 0)  # the last site has few people
    apart = ReturnTimes("lognormal", 18.0, 0.9, names, np.array([-0.6, 0.0, 0.6, 0.6]))
    fit = fit_return_times(made("apart", 1200, times=apart, site=site), QUICK)
    assert fit.times.shifts[2] - fit.times.shifts[0] == pytest.approx(1.2, abs=0.3)
    alike = fit_return_times(made("alike", 1200, times=ReturnTimes("lognormal", 18.0, 0.9, names), site=site), QUICK)
    assert np.abs(alike.times.shifts).max() < 0.15
    assert "sites vary by about" in str(fit.reason)
    spread = fit.times.draws[:, 2:].std(axis=0)
    assert spread[3] > spread[2]  # of whom little is known
    assert fit.times.sites == names


def test_the_prior_speaks_where_data_do_not() -> None:
    """Nobody has come yet: times are the prior's. Much was seen: the prior says nothing."""
    nobody = CouponsSeen(np.full(20, 3), np.full(20, 2.0), np.empty(0, int), np.empty(0))
    fit = fit_return_times(nobody)
    assert fit.times.median == pytest.approx(15.5, rel=0.2)
    assert "too little was seen" in str(fit.reason)
    assert fit.times.interval(0.5, 0.8)[0] < 11
    assert fit.times.interval(0.5, 0.8)[1] > 21
    slow = made("slow", 2000, times=ReturnTimes("lognormal", 60.0, 0.8), day=600.0)
    assert fit_return_times(slow, QUICK).times.median == pytest.approx(60.0, rel=0.06)
    early = made("early", 150, day=7.0)
    priors = [ReturnSettings(family="lognormal", prior_variation=variation) for variation in (0.2, 0.9)]
    widths = [np.ptp(np.quantile(fit_return_times(early, prior).shares, [0.1, 0.9])) for prior in priors]
    assert widths[0] < widths[1]


def test_more_follow_up_never_changes_what_the_past_implied_beyond_its_error() -> None:
    """Twelve studies, each seen on days 10, 20, 40 and 80: what was said early agrees with what is said late."""
    misses, pairs = 0, 0
    for number in range(12):
        whole = made(f"followed {number}", 250, day=80.0)
        said = [
            np.log(fit_return_times(whole.earlier(80.0 - day), QUICK).used(np.array([3]))) for day in (10, 20, 40, 80)
        ]
        for early, late in pairwise(said):
            # The late answer knows all that the early one did: their difference varies as the early less the late.
            error = np.sqrt(max(early.var() - late.var(), 0.0) + 1e-4)
            misses += abs(early.mean() - late.mean()) > 2.0 * error
            pairs += 1
        assert said[0].std() > said[-1].std()
    assert misses <= 5, f"{misses} of {pairs}"  # 5% of 36 are 2; 6 or more have a chance of 1%


def test_the_same_study_gives_the_same_answer() -> None:
    seen = made("again", 200, day=30.0)
    first, second = fit_return_times(seen, QUICK), fit_return_times(seen, QUICK)
    assert np.array_equal(first.times.draws, second.times.draws)
    assert np.array_equal(first.shares, second.shares)
    assert first.effective > 50


def test_different_numbers_of_coupons_have_shares_of_their_own() -> None:
    """Capacity 1 each: of one coupon 60% are used, of three 20%; recent holders got one."""
    rng = named_generator("numbers")
    coupons = np.repeat([3, 1], 800)
    since = np.where(coupons == 3, 90.0, 14.0)
    holder = np.flatnonzero(rng.random(1600) < 0.6)
    ages = ITRIP.quantile(rng.random(len(holder)))
    there = ages <= since[holder]
    fit = fit_return_times(CouponsSeen(coupons, since, holder[there], ages[there]), QUICK)
    assert fit.used(np.array([3])).mean() == pytest.approx(0.2, rel=0.1)
    assert fit.used(np.array([1])).mean() == pytest.approx(0.6, rel=0.15)
    with pytest.raises(SettingError, match="known of holders of 1, 3 coupons"):
        fit.used(np.array([2]))


def test_counts_that_vary_more_make_intervals_wider() -> None:
    rng = named_generator("dispersed")
    recruits = rng.binomial(3, rng.beta(0.35, 0.65, 300))
    holder = np.repeat(np.arange(300), recruits)
    seen = CouponsSeen(np.full(300, 3), np.full(300, 500.0), holder, ITRIP.quantile(rng.random(len(holder)) * 0.99))
    fit = fit_return_times(seen, QUICK)
    assert fit.dispersion == pytest.approx(2.0, rel=0.2)
    assert fit.shares.std() == pytest.approx(np.sqrt(2.0 * 0.35 * 0.65 / 900), rel=0.25)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"prior_median": 0.0}, "prior median must be"),
        ({"folds": 0}, "folds must be"),
        ({"draws": 1.5}, "draws must be"),
    ],
)
def test_wrong_settings_are_refused(change, words) -> None:
    with pytest.raises(SettingError, match=words):
        ReturnSettings(**change)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(UnknownName, match="normal"):
        ReturnSettings(family="normal")
    with pytest.raises(SettingError, match="Nobody has a coupon with a date"):
        fit_return_times(CouponsSeen(np.empty(0, int), np.empty(0), np.empty(0, int), np.empty(0)))
