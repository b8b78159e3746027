"""Return times: distributions in whole days with expiry and sites, open coupons, draws, and keeping."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.stored import Stored
from peerfront.foundation.time_families import TIME_FAMILIES
from peerfront.models.returns.return_times import NEVER, ReturnTimes

ITRIP = ReturnTimes("lognormal", 20.0, float(np.log(2.0) / 0.6744897501960817))
families = st.sampled_from(TIME_FAMILIES)


def test_the_published_lag() -> None:
    """Median 20 days, quartiles 10 and 40; by day 7, 14, 28 and 60: 15%, 36%, 63% and 86% (of times, to the minute)."""
    assert ITRIP.quantile([0.25, 0.5, 0.75]).tolist() == [10.0, 20.0, 40.0]
    assert ITRIP.cdf(np.array([7, 14, 28, 60]) - 0.5) == pytest.approx([0.153, 0.364, 0.628, 0.857], abs=0.001)


@given(family=families, median=st.floats(1.0, 90.0), spread=st.floats(0.3, 2.0), valid=st.integers(1, 200))
@settings(max_examples=80, deadline=None)
def test_days_are_a_distribution(family, median, spread, valid) -> None:
    times, days = ReturnTimes(family, median, spread), np.arange(0, valid + 1)
    chances = np.diff(times.cdf(days, valid), prepend=0.0)
    assert (chances >= 0.0).all()
    assert chances.sum() == pytest.approx(1.0)
    assert times.cdf(days, valid) + times.survival(days, valid) == pytest.approx(1.0, abs=1e-9)
    assert times.cdf([valid, valid + 5], valid).tolist() == [1.0, 1.0]
    assert times.cdf([-1], valid).tolist() == [0.0]
    # Expiry cuts the same distribution off.
    assert times.cdf(days, valid) * times.cdf(valid) == pytest.approx(times.cdf(days), rel=1e-9, abs=1e-12)


@given(family=families, share=st.floats(0.0, 1.0), valid=st.one_of(st.integers(0, 100), st.just(NEVER)))
@settings(max_examples=80, deadline=None)
def test_quantiles_are_the_first_day(family, share, valid) -> None:
    times = ReturnTimes(family, 15.0, 1.1)
    day = float(times.quantile(share, valid))
    if np.isinf(day):
        assert share == 1.0 or share > 1.0 - 1e-12
        return
    assert day == int(day) and 0 <= day <= valid  # noqa: PT018
    assert times.cdf(day, valid) >= share - 1e-9
    assert day == 0 or times.cdf(day - 1, valid) <= share + 1e-9


@pytest.mark.parametrize("family", TIME_FAMILIES)
def test_samples(family) -> None:
    times, luck = ReturnTimes(family, 15.0, 1.0, ("north", "south"), np.array([0.0, 1.0])), named_luck(("r",), 6000)
    site = np.arange(6000) % 2
    drawn = times.sample(luck, 2, 60.0, site)
    assert drawn.shape == (6000, 2)
    for code in (0, 1):
        for day in (5, 20, 50):
            expected = float(times.cdf(day, 60.0, code))
            assert (drawn[site == code] <= day).mean() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 6000))
    # More returns, and more people, change nobody's luck.
    assert np.array_equal(times.sample(luck, 5, 60.0, site)[:, :2], drawn)
    later = times.sample_open(luck, 1, np.full(6000, 12.0), 60.0, site)[:, 0]
    assert later.min() >= 13
    assert later.max() <= 60
    for code in (0, 1):
        expected = float(times.chance_by(30, 12, 1.0, 60.0, code))
        assert (later[site == code] <= 30).mean() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 3000))
    assert np.isnan(times.sample_open(luck, 1, np.full(6000, 60.0), 60.0)).all()


def test_the_chance_of_an_open_coupon() -> None:
    """By Bayes: use (F(t) - F(a)) / (1 - use F(a)), in time or never."""
    for use, age, day, valid in ((0.3, 10, 30, NEVER), (1.0, 0, 14, 28.0), (0.7, 27, 40, 28.0), (0.2, 300, 900, NEVER)):
        past, by = (float(ITRIP.cdf(d, valid)) for d in (age, day))
        expected = use * (by - past) / (1.0 - use * past)
        assert float(ITRIP.chance_by(day, age, use, valid)) == pytest.approx(expected, rel=1e-6)
    assert float(ITRIP.chance_by(5, 10, 0.5)) == 0.0  # that day has passed
    assert float(ITRIP.chance_by(50, 30, 0.5, 28.0)) == 0.0  # expired
    assert float(ITRIP.chance_by(NEVER, 30, 1.0, 60.0)) == 1.0
    ages = np.array([0, 5, 50, 500])
    assert (np.diff(ITRIP.chance_by(NEVER, ages, 0.5)) < 0).all()  # the longer it is open, the less is to come


def test_sites_shift_the_scale_and_unknown_ones_do_not() -> None:
    times = ReturnTimes("weibull", 10.0, 1.0, ("a", "b"), np.array([-0.5, 0.7]))
    assert float(times.cdf(13, site=-1)) == pytest.approx(float(ReturnTimes("weibull", 10.0, 1.0).cdf(13)))
    moved = ReturnTimes("weibull", 10.0 * float(np.exp(0.7)), 1.0)
    assert float(times.cdf(13, site=1)) == pytest.approx(float(moved.cdf(13)))
    with pytest.raises(SettingError, match="Sites are numbered from 0 to 1"):
        times.cdf(3, site=2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"median": 0.0}, "median must be a number of at least 0.1 and at most 3,650"),
        ({"median": np.nan}, "median must be"),
        ({"spread": 9.0}, "spread must be"),
        ({"sites": ("a",), "shifts": np.zeros(2)}, "1 sites, and"),
        ({"draws": np.zeros((3, 5))}, "draws, 2"),
    ],
)
def test_impossible_times_are_refused(change, words) -> None:
    with pytest.raises(SettingError, match=words):
        dataclasses.replace(ITRIP, **change)


def test_wrong_arguments() -> None:
    with pytest.raises(UnknownName, match="lognorml"):
        ReturnTimes("lognorml", 10.0, 1.0)
    with pytest.raises(SettingError, match="between 0 and 1"):
        ITRIP.quantile(1.5)
    with pytest.raises(SettingError, match="no draws"):
        ITRIP.draw(0)
    assert np.isnan(ITRIP.interval(0.5)).all()


def test_kept_and_made_again() -> None:
    draws = np.log([[18.0, 1.0, 1.2, 0.9], [22.0, 1.1, 1.0, 1.3]])
    times = ReturnTimes("gamma", 20.0, 1.05, ("a", "b"), np.array([0.1, -0.1]), draws)
    again = ReturnTimes.restored(times.stored())
    site = np.arange(50) % 3 - 1
    assert np.array_equal(again.cdf(np.arange(50), 40.0, site), times.cdf(np.arange(50), 40.0, site))
    assert again.draw(1).median == pytest.approx(22.0)
    assert again.interval(0.5) == times.interval(0.5)
    plain = ReturnTimes.restored(ITRIP.stored())
    assert (plain.median, plain.sites, plain.draws) == (20.0, (), None)
    for wrong in ({"median": -3.0}, {"spread": 1e9}, {"family": "normal"}):
        stored = times.stored()
        with pytest.raises((DataFileError, UnknownName)):
            ReturnTimes.restored(Stored({**stored.settings, **wrong}, stored.arrays))
