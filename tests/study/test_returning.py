"""Return times as part of a fit: what they are fitted to, what is kept of them, and what is said."""

import dataclasses
from functools import cache

import numpy as np
import pytest

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import study_from_table
from peerfront.data.study import Study
from peerfront.data.study_schema import history_of
from peerfront.foundation.messages import note
from peerfront.models.returns.return_fit import ReturnSettings, fit_return_times
from peerfront.models.returns.return_times import ReturnTimes, private_returns
from peerfront.simulation.demo_study import demo_study
from peerfront.study.artifacts import load_fit
from peerfront.study.coupon_calendar import Returning, coupons_seen, exposure_of, fitted_returns
from study.made_calendar import VALID_DAYS, date_of, made_study
from study.small_study import small_fit, small_study

READ = ReadSettings(valid_days=VALID_DAYS)


@cache
def seen_on(day: int, seed: int = 1) -> Study:
    return study_from_table(made_study(seed).file_on(day), READ, name="made.csv")


def test_the_share_that_has_been_seen_grows() -> None:
    assert returning_on(28).share_seen < returning_on(60).share_seen < 1.0


@cache
def returning_on(day: int) -> Returning:
    found, why = fitted_returns(seen_on(day))
    assert found is not None, why
    return found


def test_more_follow_up_does_not_change_what_the_past_implied() -> None:
    """The share of coupons used in the end, seen on day 28 and on day 60: 8-of-10 intervals of both overlap.

    Taking open coupons for failures says a third of the final share on day 28, far outside of what comes later.
    """
    shares = {}
    for day in (28, 60):
        seen, _ = coupons_seen(seen_on(day))
        fitted = fit_return_times(seen, ReturnSettings(family="lognormal"))
        shares[day] = np.quantile(fitted.used(seen.coupons), [0.1, 0.9])
    assert shares[28][0] <= shares[60][1]
    assert shares[60][0] <= shares[28][1]
    early, _ = coupons_seen(seen_on(28))
    assert early.recruits.sum() / early.coupons.sum() < 0.6 * shares[60][0]
    assert shares[28][1] - shares[28][0] > shares[60][1] - shares[60][0]


def test_what_was_seen_early_is_what_a_later_file_shows_of_that_day() -> None:
    """Only rows that were entered late are not in the early file."""
    early, late = seen_on(28), seen_on(60).as_of(date_of(28))
    assert set(early.ids) <= set(late.ids)
    there = np.isin(late.ids, early.ids)
    np.testing.assert_array_equal(late.issued[there], early.issued)
    assert 0 < len(late) - len(early) < 0.3 * len(late)


def test_open_coupons_count_for_as_long_as_they_were_out() -> None:
    study, found = seen_on(42), returning_on(42)
    schema = guess_schema(study).schema
    history = history_of(study, schema, found.exposure)
    assert history.exposure is not None
    assert len(history.coupons) == (study.issued > 0).sum() == len(found.rows)
    held = np.isfinite(found.exposure)
    ages = study.day - study.issued_days[held]
    order = np.argsort(ages)
    assert (np.diff(found.exposure[held][order]) >= 0).all()
    assert (found.exposure[held][ages >= VALID_DAYS] == 1.0).all()
    left_out = np.where(np.arange(len(study)) < 5, np.nan, found.exposure)
    assert len(history_of(study, schema, left_out).coupons) == (study.issued[5:] > 0).sum()


def test_return_times_are_saved_with_the_model(tmp_path) -> None:
    fit = small_fit().fit
    assert fit.returns is not None
    fit.save(tmp_path / "model")
    again = load_fit(tmp_path / "model")
    assert again.returns is not None
    assert (again.returns.family, again.returns.median, again.returns.spread) == (
        fit.returns.family,
        fit.returns.median,
        fit.returns.spread,
    )
    np.testing.assert_array_equal(again.returns.draws, fit.returns.draws)
    assert again.fingerprint == fit.fingerprint
    without = dataclasses.replace(fit, returns=None)  # as earlier versions wrote it
    without.save(tmp_path / "older")
    assert load_fit(tmp_path / "older").returns is None


def test_a_fit_says_when_people_come_and_what_is_open() -> None:
    model = small_fit()
    line = next(line for line in map(str, model.summary.details()) if line.startswith("Half of those"))
    assert "Half of those who come, come within 7 days (8 of 10: after " in line
    assert "Coupons still open on 2024-" in line
    told = model.fit.scores["returns"]
    assert told["open_coupons"] % 5 == 0
    assert model.fit.settings["day"] == told["day"]
    assert "fits.all_finished" not in {each.code for each in model.fit.messages}
    study, _ = small_study()
    exposure = exposure_of(study, model.fit.returns)  # what a report of the same study uses
    np.testing.assert_array_equal(exposure, fitted_returns(study)[0].exposure)


@pytest.mark.parametrize("rule", ["none", "8"])
def test_a_rule_for_open_coupons_is_followed(rule) -> None:
    table = small_study()[0]
    study = dataclasses.replace(table, settings=dataclasses.replace(table.settings, still_open=rule))
    found, why = fitted_returns(study)
    assert found is None
    assert f"still_open = '{rule}'" in str(why)


def test_without_dates_there_are_no_return_times() -> None:
    study = study_from_table(demo_study(80).study.drop(columns=["date"]))
    assert fitted_returns(study) == (None, note("undated.no_dates"))


@pytest.mark.parametrize("returns", [0, 7, 40, 400, 40_000])
def test_return_times_are_rounded_by_what_five_people_move(returns) -> None:
    draws = np.column_stack([np.full(200, np.log(18.3)), np.full(200, np.log(1.07))])
    rng = np.random.default_rng(returns)
    draws = draws + rng.standard_normal(draws.shape) / np.sqrt(returns + 10)
    times = ReturnTimes("lognormal", 18.3, 1.07, draws=draws)
    kept = private_returns(times, returns)
    step = min(max(5 / max(returns, 5), 0.01), 0.25)
    assert abs(np.log(kept.median / times.median)) <= step / 2 + 1e-4
    assert kept.draws.std(axis=0) == pytest.approx(draws.std(axis=0), abs=0.6 * step)
    assert np.log(kept.median) / step == pytest.approx(round(np.log(kept.median) / step), abs=0.02)
    # Somebody who returned a day later does not show.
    moved = dataclasses.replace(times, median=18.3 * np.exp(0.2 * step / 5))
    assert private_returns(moved, returns).median in (kept.median, pytest.approx(kept.median * np.exp(step), rel=0.01))
