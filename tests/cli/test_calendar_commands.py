"""`forecast --study-file`, `backtest` and the report's calendar as a coordinator uses them."""

import base64
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from cli.commands import run_command
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.schema_file import schema_text
from study.small_advice import a_fit, a_study, study_csv
from study.small_standing import some_times

HORIZONS = "next 2 weeks", "next 6 weeks", "to the end"
BY_DATE = ("--budget", 9, "--deadline", "2024-10-15", "--episodes", 30)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calendar")
    by_dates = schema_text(replace(a_study()[1], reading=ReadSettings(valid_days=60)))
    replace(a_fit(), returns=some_times(), study_schema=by_dates).save(folder / "model")
    dated = study_csv().splitlines()
    (folder / "study.csv").write_text("\n".join(dated) + "\n")
    (folder / "undated.csv").write_text("\n".join(line.rpartition(",")[0] for line in dated) + "\n")
    (folder / "frontier.csv").write_text("id,sex,town,date\nann,f,north,2024-08-01\nbob,m,south,2024-08-02\n")
    return folder


@pytest.fixture
def run(monkeypatch, capsys, place):
    return lambda *arguments: run_command(place, monkeypatch, capsys, *arguments, columns=140)


def test_a_forecast_by_date_is_printed_and_kept(run, place) -> None:
    asked = ("forecast", place / "model", "--study-file", place / "study.csv", *BY_DATE, "--target", 95)
    code, out, err = run(*asked, "--interviews-per-week", 3, "--details", "--out", place / "dates")
    assert code == 0, err
    for part in ("week by week", "2024-10-15", "people's hands", "Target 95", "3 coupons each", "Written to"):
        assert part in out
    names = sorted(path.name for path in (place / "dates").iterdir())
    assert names == ["forecast.png", "forecast.svg", "parts.csv", "summary.csv", "target.csv", "weeks.csv"]
    weeks = pd.read_csv(place / "dates" / "weeks.csv")
    assert weeks["until"].iloc[-1] == "2024-10-15"
    assert weeks["policy"].nunique() == 5
    assert run(*asked, "--out", place / "dates")[0] == 2  # nothing is written over
    code, early, err = run(*asked[:-2], "--as-of", "2024-06-30", "--details")
    assert code == 0, err
    assert "On 30 June 2024" in early


def test_weeks_in_which_nothing_happens_any_more_are_not_printed(run, place) -> None:
    asked = ("forecast", place / "model", "--study-file", place / "study.csv", *BY_DATE[:2], "--episodes", 30)
    code, out, err = run(*asked, "--deadline", "2026-12-31", "--out", place / "long")
    assert code == 0, err
    assert "Nobody is expected after the last line." in out
    weeks = pd.read_csv(place / "long" / "weeks.csv").query("policy == 'plan'")
    printed = [day for day in weeks["until"] if f"{day} " in out]
    assert printed == weeks["until"].tolist()[: len(printed)], "the first weeks, none left out"
    rest = weeks[~weeks["until"].isin(printed)]
    assert len(rest) > 10
    assert rest[["spent", "recruits", "p90"]].max().max() < 0.05


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--budget", 9, "--deadline", "2024-10-15"), "one of them"),
        (("frontier.csv", "--study-file", "study.csv", *BY_DATE), "one of them"),
        (("frontier.csv", *BY_DATE), "needs a study whose file has dates"),
        (("--study-file", "undated.csv", *BY_DATE), "dates"),
        (("--study-file", "study.csv", "--budget", 9, "--deadline", "15.10.2024"), "year-month-day"),
        (("--study-file", "study.csv", "--budget", 9, "--deadline", "2023-01-01"), "2023-01-01"),
        (("--study-file", "study.csv", *BY_DATE, "--interviews-per-week", 0), "interviews per week"),
    ],
)
def test_bad_orders_by_date_are_refused(run, place, arguments, said) -> None:
    named = [place / each if str(each).endswith(".csv") else each for each in arguments]
    code, _, err = run("forecast", place / "model", *named)
    assert code == 2
    assert said in err
    assert "Traceback" not in err


def test_a_back_test_is_printed_kept_and_shown_in_the_report(run, place) -> None:
    asked = ("backtest", place / "study.csv", "--at", "2024-05-15", "--episodes", 20, "--valid-days", 60)
    code, out, err = run(*asked, "--out", place / "tested")
    assert code == 0, err
    for part in ("Forecasts, and what came", "2024-05-15", "next 2 weeks", "too few people or forecasts", "Written to"):
        assert part in out
    names = {path.name for path in (place / "tested").iterdir()}
    assert {"forecasts.csv", "simple.csv", "weeks.csv", "backtest.txt", "backtest.png", "backtest.svg"} <= names
    assert [each["horizon"] for each in json.loads((place / "tested" / "trust.json").read_text())] == list(HORIZONS)
    rows = pd.read_csv(place / "tested" / "forecasts.csv")
    assert tuple(rows["horizon"]) == HORIZONS
    code, _, err = run(*asked, "--out", place / "tested")
    assert code == 2
    assert "--overwrite" in err
    assert run(*asked, "--out", place / "tested", "--overwrite")[0] == 0  # from what was kept: at once
    early = ("forecast", place / "model", "--study-file", place / "study.csv", *BY_DATE, "--as-of", "2024-06-30")
    assert run(*early, "--out", place / "early")[0] == 0
    page = ("report", place / "model", place / "study.csv", "--out", place / "page.html", "--episodes", 20)
    shown = ("--frontier", place / "frontier.csv", "--budget", 9, "--forecast-before", place / "early")
    code, _, err = run(*page, *shown, "--backtest", place / "tested")
    assert code == 0, err
    text = (place / "page.html").read_text()
    assert "The calendar" in text
    assert "that were forecast and are over" in text
    assert "How forecasts fared on this study" in text
    assert base64.b64encode((place / "tested" / "backtest.png").read_bytes()).decode() in text


def test_what_is_no_forecast_and_no_back_test_is_refused(run, place, tmp_path) -> None:
    page = ("report", place / "model", place / "study.csv", "--out", tmp_path / "page.html", "--episodes", 20)
    shown = (*page, "--frontier", place / "frontier.csv", "--budget", 9)
    code, _, err = run(*shown, "--forecast-before", place / "study.csv")
    assert code == 2
    assert "not the weeks.csv" in err
    (tmp_path / "backtest.txt").write_text("fine")
    (tmp_path / "backtest.png").write_bytes(b"<svg onload=alert(1)>")
    code, _, err = run(*shown, "--backtest", tmp_path)
    assert code == 2
    assert "not the picture" in err
    assert not (tmp_path / "page.html").exists()


def test_back_tests_of_bad_files(run, place) -> None:
    code, _, err = run("backtest", place / "study.csv", "--at", "2030-01-01")
    assert code == 2
    assert "2030-01-01" in err
    code, _, err = run("backtest", place / "undated.csv", "--at", "99")
    assert code == 2
    assert "a wave is a number" in err
    code, _, err = run("backtest", place / "study.csv", "--episodes", 3)
    assert code == 2
    assert "20" in err
