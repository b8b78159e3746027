"""`peerfront forecast` and `peerfront report` as a coordinator uses them."""

from datetime import date
from pathlib import Path

import pandas as pd
import pytest

from cli.commands import run_command
from study.small_advice import a_fit, study_csv

FRONTIER = "id,sex,town,date\nann,f,north,2024-08-01\nbob,m,south,2024-08-02\ncleo,f,south,2024-08-03\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("advice")
    a_fit().save(folder / "model")
    (folder / "frontier.csv").write_text(FRONTIER)
    (folder / "study.csv").write_text(study_csv())
    return folder


@pytest.fixture
def run(monkeypatch, capsys, place):
    return lambda *arguments: run_command(place, monkeypatch, capsys, *arguments, columns=140)


def test_a_forecast_is_printed_and_kept(run, place) -> None:
    asked = ("forecast", place / "model", place / "frontier.csv", "--budget", 9, "--target", 5, "--rounds-left", 3)
    code, out, err = run(*asked, "--episodes", 60, "--out", place / "out")
    assert code == 0, err
    for part in (
        "round by round",
        "3 coupons each",
        "in 3 rounds",
        "Target 5",
        "Written to",
    ):
        assert part in out
    assert sorted(path.name for path in (place / "out").iterdir()) == [
        "forecast.png", "forecast.svg", "parts.csv", "rounds.csv", "summary.csv",
    ]  # fmt: skip
    rounds = pd.read_csv(place / "out" / "rounds.csv")
    assert rounds["step"].max() == 3
    assert rounds["policy"].nunique() == 5
    code, _, err = run(*asked, "--out", place / "out")
    assert code == 2
    assert "Use --overwrite" in err
    first = {path.name: path.read_bytes() for path in (place / "out").iterdir()}
    assert run(*asked, "--episodes", 60, "--out", place / "out", "--overwrite")[0] == 0
    assert {path.name: path.read_bytes() for path in (place / "out").iterdir()} == first


def test_a_report_is_written(run, place) -> None:
    asked = ("report", place / "model", place / "study.csv", "--out", place / "report.html", "--episodes", 20)
    headed = ("--study", "Harbour <study>", "--date", "2026-03-02", "--round", 4)
    code, out, err = run(*asked, "--frontier", place / "frontier.csv", "--budget", 9, "--target", 95, *headed)
    assert code == 0, err
    assert "Written: " in out
    page = (place / "report.html").read_text()
    assert "<h1>Harbour &lt;study&gt;</h1>" in page
    assert "2026-03-02, round 4" in page
    assert "people on the list that was given" in page
    assert "Target 95 (5 to come)" in page
    assert "Warning." not in page  # the file is the one the model was fitted to
    code, _, err = run(*asked)
    assert code == 2
    assert "exists already" in err
    first = (place / "report.html").read_bytes()
    people = ("--frontier", place / "frontier.csv", "--budget", 9, "--target", 95, "--overwrite")
    assert run(*asked, *people, *headed)[0] == 0
    assert (place / "report.html").read_bytes() == first
    code, _, err = run(*asked, *people, "--date", "2nd of March")
    assert (code, "year-month-day" in err) == (2, True)
    assert run(*asked, *people, "--without-trees")[0] == 0  # and today's date
    page = (place / "report.html").read_text()
    assert f'<p class="when">{date.today().isoformat()}</p>' in page
    assert "The recruitment trees" not in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--budget": -3}, "budget must be a whole number of at least 0; found -3."),
        ({"--budget": 0}, "at least 1; found 0."),
        ({"--budget": 1.5}, "found 1.5"),
        ({"--budget": 2000}, "at most 20"),
        ({"--target": -1}, "target must be a whole number of at least 1; found -1"),
        ({"--rounds-left": 0}, "rounds left must be"),
        ({"--episodes": 0}, "must be a whole number of at least 2; found 0"),
        ({"model": "nowhere"}, "There is no fit at"),
        ({"frontier": "empty.csv"}, "nobody is on the frontier"),
        ({"frontier": "missing.csv"}, "missing.csv"),
        ({"frontier": "strange.csv"}, "the columns 'sex'"),
    ],
)
def test_bad_orders_are_one_message(run, place, changes: dict, message: str) -> None:
    (place / "empty.csv").write_text(FRONTIER.splitlines()[0] + "\n")
    (place / "strange.csv").write_text("id,town\nann,north\n")
    options = {"--budget": 9, "--episodes": 20, **{name: value for name, value in changes.items() if name[0] == "-"}}
    model, frontier = place / changes.get("model", "model"), place / changes.get("frontier", "frontier.csv")
    flat = [text for pair in options.items() for text in pair]
    for command in (
        ("forecast", model, frontier),
        ("report", model, place / "study.csv", "--frontier", frontier, "--out", place / "never.html"),
    ):
        code, _, err = run(*command, *flat)
        assert code == 2
        assert message in err


def test_other_faults_are_told(run, place) -> None:
    model, study, frontier = place / "model", place / "study.csv", place / "frontier.csv"
    broken = place / "broken"
    broken.mkdir()
    (broken / "manifest.json").write_text("{")
    for arguments, message in (
        (("forecast", broken, frontier, "--budget", 9), "cannot be used"),
        (("forecast", model, frontier, "--budget", 9, "--overwrite"), "--overwrite needs --out"),
        (("forecast", model, frontier, "--budget", 9, "--out", study), "is a file"),
        (("report", broken, study, "--out", place / "never.html"), "cannot be used"),
        (("report", model, study, "--out", place), "is a folder"),
        (("report", model, study, "--out", place / "no" / "such.html"), "There is no folder"),
        (("report", model, place / "frontier.csv", "--out", place / "never.html"), "frontier.csv"),
    ):
        code, _, err = run(*arguments)
        assert code == 2
        assert message in err
