"""Forecasts by date: tables, the date of the target, words and pictures."""

import re
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from peerfront.study.date_forecast import DateForecast, forecast_by_date
from peerfront.study.forecast_tables import NOT_REACHED, dates_reached, day_summary
from peerfront.words.date_forecast_words import long_date

from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.foundation.errors import SettingError
from peerfront.foundation.pictures import rendered
from peerfront.study.coupon_calendar import coupons_seen
from peerfront.study.day_simulator import DayPaths
from peerfront.study.model import Model
from peerfront.study.study_state import share_left_of, standing_of
from study.small_advice import a_fit, a_study, order, study_csv
from study.small_standing import a_standing, some_times

UNTIL = date(2027, 3, 20)


def made(**changed: object) -> DateForecast:
    given = {"target": 50, "studies": 120, **changed}
    asked = given.pop("order", order(15))
    standing = given.pop("standing", a_standing())
    return forecast_by_date(a_fit("capacity", "per_coupon"), standing, asked, some_times(), UNTIL, **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def forecast() -> DateForecast:
    return made()


def test_weeks_add_up(forecast: DateForecast) -> None:
    for policy, own in forecast.weeks.groupby("policy", sort=False):
        np.testing.assert_allclose(np.cumsum(own["interviews"]), own["total"])
        np.testing.assert_allclose(np.cumsum(own["spent"]), own["spent_so_far"])
        assert own["until"].iloc[-1] == UNTIL.isoformat()
        assert own["until"].iloc[0] == "2027-01-11"
        for low, high in (("p10", "p25"), ("p25", "median"), ("median", "p75"), ("p75", "p90")):
            assert (own[f"total_{low}"] <= own[f"total_{high}"]).all()
        row = forecast.summary.set_index("policy").loc[str(policy)]
        assert row["recruits"] == pytest.approx(own["total"].iloc[-1])
        assert row["spent"] + row["never_issued"] == pytest.approx(15)


def test_the_same_arguments_give_the_same_tables(forecast: DateForecast) -> None:
    again = made()
    assert again.weeks.equals(forecast.weeks)
    assert not made(seed=2).weeks.equals(forecast.weeks)


def test_the_date_of_a_target_is_the_day_on_which_half_of_the_studies_have_it() -> None:
    interviews = np.zeros((4, 11), np.int64)
    interviews[0, 3], interviews[1, 5], interviews[2, [2, 9]], interviews[3, 4] = 2, 2, 1, 1
    nothing = np.zeros((4, 1), np.int64)
    paths = DayPaths(interviews, nothing, nothing, nothing, nothing, (10,))
    assert dates_reached(paths, 2).tolist() == [3, 5, 9, NOT_REACHED]
    row = day_summary(paths, paths, 5, 2, date(2027, 1, 1))
    assert row["reaches_target"] == 0.75
    assert (row["target_p25"], row["target_date"], row["target_p75"]) == ("2027-01-04", "2027-01-06", "2027-01-10")


def test_words_tell_the_state_the_weeks_and_the_target(forecast: DateForecast) -> None:
    lines = [str(line) for line in forecast.lines()]
    assert lines[0].startswith("On 4 January 2027: 6 people waiting for coupons, 15 coupons left to give out, 10")
    assert any(line.startswith("By 18 January 2027 the plan brings") for line in lines)
    assert any("20 March 2027" in line for line in lines)
    assert any(line.startswith("The target of 50 (10 to come) is reached") for line in lines)
    assert any(line.startswith("3 coupons each, while they last, as so far: ") for line in lines)
    assert str(long_date(date(2027, 3, 5))) == "5 March 2027"
    reached = made(target=30, studies=20)
    assert "The target of 30 is reached already." in str(reached)
    certain = made(target=41, studies=60)
    assert re.search("is reached on .*half of the simulated studies between", str(certain))


def test_few_interviews_queue_and_are_told() -> None:
    tight = made(interviews_per_week=1, studies=60)
    assert "With 1 interviews a week people queue" in str(tight)
    assert tight.of_plan["recruits"] < made(studies=60).of_plan["recruits"]
    assert rendered(tight.plot(), "png").startswith(b"\x89PNG")
    assert rendered(tight.plot(narrow=True), "svg").startswith(b"<?xml")


def test_nothing_to_give_out_leaves_what_is_open() -> None:
    closed = made(order=order(15, round_cap=0), studies=60)
    assert len(closed.summary) == 1
    assert closed.of_plan["spent"] == 0.0
    assert 0.0 < closed.of_plan["recruits"] == pytest.approx(closed.from_open, abs=1.5)
    assert next(each.code for each in closed.notes) == "outlook.nothing_is_given"


def test_a_population_that_runs_out() -> None:
    fit, standing = a_fit("capacity", "per_coupon"), a_standing()
    asked = replace(order(15), population=("44",))
    left = share_left_of(fit, standing, asked)
    assert left is not None
    assert left(np.array([0, 2, 4, 50])).tolist() == sorted(left(np.array([0, 2, 4, 50])).tolist(), reverse=True)
    assert left(np.array([50]))[0] == 0.0
    few = made(order=asked, share_left=left, studies=60)
    assert few.of_plan["p90"] <= 6.0 < made(studies=60).of_plan["p90"]
    assert share_left_of(fit, standing, order(15)) is None
    with pytest.raises(SettingError, match="The target is 45 people, and the population has 44"):
        share_left_of(fit, standing, asked, 45)


def test_deadlines_that_cannot_be_are_refused() -> None:
    fit = a_fit("capacity", "per_coupon")
    for until in (date(2027, 1, 4), date(2026, 1, 1), date(2035, 1, 1)):
        with pytest.raises(SettingError, match="allowed are 1 to"):
            forecast_by_date(fit, a_standing(), order(15), some_times(), until)


def test_a_study_stands_where_its_file_says(tmp_path) -> None:
    path = tmp_path / "study.csv"
    path.write_text(study_csv())
    study = read_study(path, ReadSettings(valid_days=30))
    schema = a_study()[1]
    standing = standing_of(study, schema, some_times())
    seen, rows = coupons_seen(study)
    assert standing.coupons_open == study.open["open"].sum() == seen.open.sum()
    assert standing.valid_days == 30.0
    assert len(standing.holders) == len(rows)
    assert standing.enrolled == len(study)
    assert [str(each) for each in standing.waiting.ids] == list(study.waiting["id"])
    model = Model(a_fit("capacity", "per_coupon"))
    last = str(np.datetime64(standing.today) + 30)
    found = model.forecast_by_date(study, last, 10, episodes=20)
    assert found.in_hand == standing.coupons_open
    with pytest.raises(SettingError, match="year-month-day"):
        model.forecast_by_date(study, "soon", 10)
    undated = tmp_path / "undated.csv"
    undated.write_text("\n".join(line.rpartition(",")[0] for line in study_csv().splitlines()) + "\n")
    with pytest.raises(SettingError, match="no dates"):
        standing_of(read_study(undated), schema, some_times())
    with pytest.raises(SettingError, match="still_open"):
        standing_of(read_study(path, ReadSettings(still_open="40")), schema, some_times())
