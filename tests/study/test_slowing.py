"""What slows a study down is learned: flat weeks speak for a limit of staff, a falling drift for few people left."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from peerfront.foundation.randomness import named_luck
from peerfront.study.day_simulator import DayPaths, DaySettings, simulate_days
from peerfront.study.outlook_tables import widened
from peerfront.study.slowing import Reachable, brakes_of, limit_of
from study.small_advice import a_fit
from study.small_standing import a_standing, drawn_models
from study.test_day_simulator import Three


@pytest.mark.parametrize(
    ("weeks", "least", "most"),
    [
        ([5, 5, 4, 7, 5, 5, 5, 5, 5], 0.9, 1.0),
        ([2, 6, 11, 20, 24, 23, 24, 24, 23], 0.8, 1.0),
        ([4, 13, 9, 13, 20, 18, 31], 0.0, 0.05),
        ([10, 14, 20, 29, 41, 60], 0.0, 0.05),
        ([0, 0, 0, 0, 0, 0], 0.0, 0.0),
        ([9, 9], 0.0, 0.0),
        ([], 0.0, 0.0),
    ],
)
def test_weeks_that_are_alike_speak_for_a_limit(weeks: list[int], least: float, most: float) -> None:
    chance, middle, spread = limit_of(np.array(weeks, dtype=np.int64))
    assert least <= chance <= most
    assert spread > 0.0
    if chance > 0.5:
        assert np.exp(middle) == pytest.approx(weeks[-1], rel=0.1)


def test_the_evidence_of_a_limit_is_that_of_the_normal_distributions() -> None:
    """With three weeks after one: their joint density with a common mean, against steps from week to week."""
    weeks = np.array([8, 12, 13, 12])
    x, noise = np.log(weeks), 1.0 / weeks
    common = multivariate_normal(np.full(3, x[0]), np.diag(0.12**2 + (0.5 * noise[1:]) ** 2) + np.ones((3, 3))).logpdf(
        x[1:]
    )
    steps = multivariate_normal(np.zeros(3), np.diag(0.35**2 + noise[1:] + noise[:-1])).logpdf(np.diff(x))
    odds = 0.25 / 0.75 * np.exp(common - steps)
    assert limit_of(weeks)[0] == pytest.approx(odds / (1.0 + odds))


def _left(drift: float, waves: int, enrolled: int) -> np.ndarray:
    belief = a_fit().belief
    belief = dataclasses.replace(belief, drift=np.full(len(belief), drift), waves=waves)
    standing, luck = dataclasses.replace(a_standing(), enrolled=enrolled), named_luck(("left",), 400)
    brakes = brakes_of(belief, np.zeros(400, np.int64), standing, luck)
    assert isinstance(brakes.share_left, Reachable)
    return brakes.share_left.people


def test_a_falling_study_has_fewer_people_left() -> None:
    falling, level = _left(-0.3, 8, 500), _left(0.0, 8, 500)
    assert np.median(falling) < 0.5 * np.median(level)
    assert np.median(_left(-0.3, 1, 500)) == np.median(_left(0.0, 1, 500))  # one wave shows no drift
    for enrolled in (0, 40, 50_000, 10_000_000):
        assert (_left(-0.1, 5, enrolled) > 0.0).all()


def test_what_is_known_is_not_drawn() -> None:
    standing, luck, belief = a_standing(), named_luck(("known",), 5), a_fit().belief
    brakes = brakes_of(belief, np.zeros(5, np.int64), standing, luck, lambda recruited, study: recruited * 0.0, 12.0)
    assert brakes.limit.tolist() == [12.0] * 5
    assert brakes.share_left(np.arange(5), np.arange(5)).tolist() == [0.0] * 5


@cache
def _paths() -> DayPaths:
    models, luck = drawn_models(30)
    return simulate_days(models, a_standing(), Three(), DaySettings(days=59, budget=60), luck)


@given(st.floats(1.0, 3.0))
def test_wider_bands_keep_means_and_order(factor: float) -> None:
    paths = _paths()
    wide = widened(paths, factor)
    assert (wide.interviews >= 0).all()
    assert wide.total.mean() == pytest.approx(paths.total.mean(), abs=0.5)  # whole people
    assert (np.diff(wide.total[np.argsort(paths.total, kind="stable")]) >= 0).all()
    before, after = (np.diff(np.quantile(np.log1p(each.total), [0.1, 0.9]))[0] for each in (paths, wide))
    assert before * (1.0 + 0.6 * (factor - 1.0)) - 0.1 <= after <= before * factor + 0.25
