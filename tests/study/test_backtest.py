"""Back-tests: what a forecast of the past is told, what it is compared with, and what is said about it."""

import itertools
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.pictures import rendered
from peerfront.problem import Crowd
from peerfront.study import backtest as module
from peerfront.study.backtest import END, Backtest, BacktestSettings, backtest
from peerfront.study.day_policies import PlanningDay
from peerfront.study.past_forecast import AsHandedOut, forecast_from_day, forecast_from_wave
from study.small_advice import study_csv

FEW = BacktestSettings(studies=20)


@cache
def dated_rows() -> list[str]:
    """A file in which everybody comes between 1 and 30 days after the recruiter."""
    rng = np.random.default_rng(5)
    lines = study_csv(110).splitlines()
    day: dict[str, int] = {}
    rows = [lines[0]]
    for line in lines[1:]:
        cells = line.split(",")
        when = day.get(cells[1], int(rng.integers(0, 10))) if cells[1] else int(rng.integers(0, 20))
        for code in cells[2:5]:
            day[code] = when + int(rng.integers(1, 30))
        cells[-1] = str(np.datetime64("2024-01-01") + when)
        rows.append(",".join(cells))
    return rows


def read_rows(rows: list[str], folder: Path) -> Study:
    (folder / "study.csv").write_text("\n".join(rows) + "\n")
    return read_study(folder / "study.csv", ReadSettings(valid_days=40))


@pytest.fixture(scope="module")
def a_dated_study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, StudySchema]:
    study = read_rows(dated_rows(), tmp_path_factory.mktemp("dated"))
    return study, guess_schema(study).schema


@pytest.fixture(scope="module")
def by_date(a_dated_study: tuple[Study, StudySchema]) -> Backtest:
    return backtest(*a_dated_study, replace(FEW, at=("2024-03-15",)))


def test_what_came_is_counted_from_the_file(a_dated_study: tuple[Study, StudySchema], by_date: Backtest) -> None:
    study, _ = a_dated_study
    assert study.days is not None
    cut = (np.datetime64("2024-03-15") - np.datetime64("1970-01-01")).astype(int)
    came = (study.recruiter >= 0) & (study.days > cut)
    rows = by_date.forecasts.set_index("horizon")
    assert rows.loc[END, "realised"] == came.sum()
    assert rows.loc["next 2 weeks", "realised"] == (came & (study.days <= cut + 14)).sum()
    assert rows.loc["next 2 weeks", "days"] == 14
    assert (rows["p10"] <= rows["median"]).all()
    assert (rows["median"] <= rows["p90"]).all()
    assert (rows["inside"] == ((rows["p10"] <= rows["realised"]) & (rows["realised"] <= rows["p90"]))).all()
    assert rows["ratio"].tolist() == ((rows["median"] + 1) / (rows["realised"] + 1)).tolist()
    weeks = by_date.weeks
    assert weeks["realised"].iloc[-1] == rows.loc[END, "realised"]
    assert weeks["date"].iloc[0] == "2024-03-15"


def test_simple_forecasts_are_judged_alike(by_date: Backtest) -> None:
    assert list(by_date.forecasts["horizon"]) == ["next 2 weeks", "next 6 weeks", END]
    assert set(by_date.simple["forecast"]) == {"last weeks", "last wave", "smoothing"}
    came = by_date.forecasts.set_index("horizon")["realised"]
    assert (by_date.simple["realised"] == by_date.simple["horizon"].map(came)).all()
    assert (by_date.simple["score"] > 0).all()
    assert [each.horizon for each in by_date.trust] == list(by_date.forecasts["horizon"])
    assert by_date.trust_at(14) is None  # one cut says nothing


def test_the_future_is_not_looked_at(a_dated_study: tuple[Study, StudySchema]) -> None:
    """Whoever comes later changes what came, and not what was forecast: everybody got three, before and after."""
    study, schema = a_dated_study
    assert study.day is not None
    cut, end = "2024-03-15", np.datetime64("1970-01-01") + int(study.day)
    gone = study.as_of(str(end - 10))
    assert len(gone) < len(study)
    whole, shorter = (forecast_from_day(each, schema, cut, 20) for each in (study, gone))
    np.testing.assert_array_equal(whole.paths.interviews[:, : shorter.days + 1], shorter.paths.interviews)
    np.testing.assert_array_equal(whole.realised[: shorter.days], shorter.realised[: shorter.days])


def test_coupons_are_those_of_the_time() -> None:
    from foundation.test_randomness import named_luck  # type: ignore[attr-defined] # re-exported there

    days = np.arange(100.0)
    coupons = np.where(days < 50, 3, 1)
    luck = named_luck(("time",), 200)
    crowd = Crowd(np.zeros(200, np.int64), luck.keys, np.zeros((200, 1), np.int16))
    policy = AsHandedOut(days, coupons, 1000)

    def given(day: int, recruited: int = 0) -> np.ndarray:
        left = np.array([10_000])
        return policy.hand_out(PlanningDay(day, 10, crowd, left, np.array([recruited]), None, luck))  # type: ignore[arg-type]

    assert (given(10) == 3).all()
    assert (given(90) == 1).all()
    assert set(given(50).tolist()) == {1, 3}
    assert (given(10, recruited=1000) == 0).all()  # too many to go on with


def test_by_waves_without_dates(tmp_path: Path) -> None:
    lines = [line.rpartition(",")[0] for line in study_csv(160).splitlines()]
    path = tmp_path / "study.csv"
    path.write_text("\n".join(lines) + "\n")
    study = read_study(path)
    schema = guess_schema(study).schema
    past = forecast_from_wave(study, schema, 3, 200)
    waves = study.trees.wave
    assert past.realised[1] == (waves == 4).sum()
    assert past.realised.sum() == (waves > 3).sum()
    mean = past.totals(1).mean()
    assert 0.3 * past.realised[1] < mean < 3.0 * past.realised[1]
    test = backtest(study, schema, replace(FEW, at=("3",)))
    assert test.by_waves
    assert list(test.forecasts["horizon"]) == ["next wave", "next 2 waves", END]
    assert "closed" in str(test)
    with pytest.raises(SettingError, match="a wave is a number from 1"):
        backtest(study, schema, replace(FEW, at=("2024-01-01",)))
    assert rendered(test.plot(narrow=True), "png").startswith(b"\x89PNG")


def test_a_stopped_run_goes_on(
    a_dated_study: tuple[Study, StudySchema], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of each cut is used again if study, settings and version are the same."""
    settings, asked, stop = replace(FEW, at=("2024-03-15", "2024-03-20")), [], True

    def judged(study: Study, schema: StudySchema, of: BacktestSettings, cut: str, by_waves: bool) -> dict:
        asked.append(cut)
        if stop and cut == "2024-03-20":
            raise KeyboardInterrupt
        row = {
            "cut": cut,
            "horizon": END,
            "days": 9,
            "p10": 4,
            "median": 5,
            "p90": 6,
            "realised": 5,
            "inside": True,
            "ratio": 1,
            "score": 0,
        }
        return {"forecasts": [row], "simple": [{**row, "forecast": "last weeks"}], "weeks": []}

    monkeypatch.setattr(module, "_judged", judged)
    with pytest.raises(KeyboardInterrupt):
        backtest(*a_dated_study, settings, kept=tmp_path)
    assert json.loads((tmp_path / "cut-1.json").read_text())["cut"] == "2024-03-15"
    asked, stop = [], False
    test = backtest(*a_dated_study, settings, kept=tmp_path)
    assert asked == ["2024-03-20"]
    assert list(test.forecasts["cut"]) == ["2024-03-15", "2024-03-20"]
    (tmp_path / "cut-1.json").write_text("{ not whole")
    backtest(*a_dated_study, settings, kept=tmp_path)
    backtest(*a_dated_study, replace(settings, seed=7), kept=tmp_path)
    assert asked == ["2024-03-20", "2024-03-15", "2024-03-15", "2024-03-20"]


def test_impossible_cuts_are_refused(a_dated_study: tuple[Study, StudySchema]) -> None:
    with pytest.raises(SettingError, match="last day"):
        backtest(*a_dated_study, replace(FEW, at=("2026-01-01",)))
    with pytest.raises(SettingError, match="year-month-day"):
        backtest(*a_dated_study, replace(FEW, at=("March",)))
    with pytest.raises(DataFileError, match="too few to forecast from"):
        backtest(*a_dated_study, replace(FEW, at=("2024-01-10",)))
    with pytest.raises(SettingError):
        BacktestSettings(studies=3)


def codes(test: Backtest) -> set[str]:
    return {each.code for each in test.notes}


def test_three_waves_are_too_few_to_judge(tmp_path: Path) -> None:
    paths = [f"{seed}{path}" for seed in "ghijklmnopqrst" for path in ("", "a", "b", "aa", "ba", "bb", "aaa", "bba")]
    rows = [f"p{path},{path[1:] and path},{path}a,{path}b,{path}c,{'mf'[n % 2]}" for n, path in enumerate(paths)]
    study = read_rows(["id,own.coupon,coupon.1,coupon.2,coupon.3,sex", *rows], tmp_path)
    assert study.trees.wave.max() == 3
    test = backtest(study, guess_schema(study).schema, FEW)
    assert len(test.forecasts) == 3
    assert not any(each.judged or each.relied_on for each in test.trust)
    assert "to the end: too few people or forecasts to judge." in str(test)


def test_studies_of_which_little_can_be_said(a_dated_study: tuple[Study, StudySchema], tmp_path: Path) -> None:
    study, schema = a_dated_study
    wave, root = study.trees.wave, study.trees.root
    cut = replace(FEW, at=("2024-03-15",))
    header, *people = dated_rows()

    def only(there: np.ndarray) -> Study:
        return read_rows([header, *itertools.compress(people, there)], tmp_path)

    def dated(*numbers: int, day: str = "") -> Study:
        lines = [f"{line.rpartition(',')[0]},{day}" if n in numbers else line for n, line in enumerate(people)]
        return read_rows([header, *lines], tmp_path)

    with pytest.raises(DataFileError, match="too few waves"):
        backtest(only(wave <= 1), schema, replace(FEW, by_waves=True))

    tree = only(root == np.bincount(root).argmax())
    assert codes(backtest(tree, schema, cut)) == {"backtest.one_tree"}

    with pytest.raises(DataFileError, match="have no date"):
        backtest(dated(*range(60, len(people))), schema, cut)
    assert codes(backtest(dated(100), schema, cut)) == {"backtest.undated"}
    test = backtest(dated(len(people) - 1, day="2026-01-01"), schema, replace(FEW, at=("2025-01-01",)))
    assert "backtest.gap" in codes(test)
    assert test.trust_at(14) is None


@pytest.mark.parametrize(
    ("weeks", "even"),
    [
        ([0, 20, 22, 18, 25, 21, 19, 7], True),  # the last is not whole
        ([1, 2, 4, 9, 16, 30, 70, 10], False),
        ([1, 1, 2, 1, 1, 1], False),  # too few to say
        ([0] * 9, False),
    ],
)
def test_even_weeks_are_noticed(by_date: Backtest, weeks: list[int], even: bool) -> None:
    recruits = pd.DataFrame({"date": range(len(weeks)), "recruits": weeks})
    assert replace(by_date, by_waves=False, recruits=recruits).is_flat is even
    assert not replace(by_date, by_waves=True, recruits=recruits).is_flat
