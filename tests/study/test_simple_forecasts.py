"""Simple forecasts: what they see, what they expect, and how forecasts are scored."""

import numpy as np
import pytest
from scoringrules import crps_ensemble

from peerfront.study.simple_forecasts import log_score, recruits_until, simple_forecasts
from study.small_advice import a_study


def totals(series: list[int], days: int = 14, *, by_waves: bool = False) -> dict[str, np.ndarray]:
    return simple_forecasts(np.array(series), days, 2000, np.random.default_rng(1), by_waves=by_waves)


def test_recent_weeks_go_on() -> None:
    made = totals([1, 1, 1, 5, 5, 20, 10])
    assert made["last weeks"].mean() == pytest.approx(2 * 10, rel=0.1)
    assert made["last wave"].mean() == pytest.approx(2 * 15, rel=0.1)
    waves = totals([1, 1, 1, 5, 5, 20, 10], 3, by_waves=True)
    assert waves["last wave"].mean() == pytest.approx(3 * 10, rel=0.1)
    even, uneven = totals([20, 20, 20, 20])["last weeks"], totals([2, 38, 2, 38])["last weeks"]
    assert uneven.std() > 2 * even.std()


def test_smoothing_follows_a_trend() -> None:
    growing = totals([5, 7, 10, 13, 17, 22, 29, 37, 46], 7)
    assert np.median(growing["smoothing"]) > 46
    assert np.median(growing["smoothing"]) > np.median(growing["last weeks"])


@pytest.mark.parametrize("series", [[0], [0, 0, 0, 0, 0], [3], [0] * 12, [7] * 12])
def test_little_to_see_gives_whole_finite_numbers(series: list[int]) -> None:
    for days in (3, 14, 200):
        for each in totals(series, days).values():
            assert each.shape == (2000,)
            assert (each >= 0).all()
            assert (each == np.round(each)).all()


def test_without_statsmodels_there_is_one_less() -> None:
    made = simple_forecasts(np.arange(9), 14, 20, np.random.default_rng(1), by_waves=False, smoothing=False)
    assert set(made) == {"last weeks", "last wave"}


def test_recruits_are_counted_back_from_the_cut() -> None:
    study = a_study()[0]
    assert study.days is not None
    cut = "2024-05-15"
    last = (np.datetime64(cut) - np.datetime64("1970-01-01")).astype(int)
    series = recruits_until(study, cut, by_waves=False)
    came = np.floor(study.days[study.recruiter >= 0])
    assert series[-1] == ((came <= last) & (came > last - 7)).sum()
    assert series[-3] == ((came <= last - 14) & (came > last - 21)).sum()
    waves = recruits_until(study, "3", by_waves=True)
    assert waves.tolist() == np.bincount(study.trees.wave)[1:4].tolist()


def test_close_and_narrow_scores_best() -> None:
    around = np.arange(90, 111)
    assert log_score(np.full(21, 100), 100) == pytest.approx(0.0)
    assert log_score(around, 100) < log_score(around, 150) < log_score(around, 400)
    assert log_score(around, 100) < log_score(np.arange(0, 210, 10), 100)
    assert log_score(np.full(21, 110), 100) == pytest.approx(np.log(111 / 101))


def test_the_score_is_that_of_scoringrules() -> None:
    for n in (1, 2, 40):
        totals = np.random.default_rng(n).poisson(20, n)
        expected = float(crps_ensemble(np.log1p(17), np.log1p(totals)))
        assert log_score(totals, 17) == pytest.approx(expected, rel=1e-12)
