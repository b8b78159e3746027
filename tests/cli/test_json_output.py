"""`--json`: every command gives one document, with the figures that it prints."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import peerfront as pf
from cli.commands import run_command
from peerfront.cli.json_output import to_data
from peerfront.cli.main import GROUPS
from peerfront.experiments.reproduction import Reproduction, reproduction_plan
from peerfront.foundation.messages import Remedy, note
from peerfront.gfp.policy_iteration import PolicyIterationSettings
from peerfront.gfp.surrogate import LaplaceSettings, SurrogateSettings
from peerfront.study.fit_settings import FitSettings
from peerfront.words.language import say
from peerfront.words.reproduction_words import Answer
from study.running_study import Running
from study.small_advice import a_fit, study_csv

SERVERS = {"app"}
ASKED: dict[str, tuple[object, ...]] = {
    "check": ("study.csv",),
    "week": ("harbour.csv", "--budget", 120, "--deadline", "2026-05-25", "--date", "2026-03-02"),
    "fit": ("demo.csv", "--out", "fitted", "--budget", 20, "--rounds", 2),
    "plan": ("model", "frontier.csv", "--budget", 9),
    "forecast": ("model", "frontier.csv", "--budget", 9, "--target", 5, "--episodes", 20),
    "backtest": ("demo.csv", "--at", "2024-02-01", "--episodes", 20),
    "report": ("model", "study.csv", "--out", "report.html", "--episodes", 10),
    "estimate": ("demo.csv", "--outcome", "housing", "--bootstraps", 10),
    "design": (
        "--population", 200, "--coupons", 90, "--rounds", 2, "--seeds", 20, "--bootstraps", 3, "--randomise", 0,
        "--repetitions", 3,
    ),
    "convert": ("study.csv", "--to", "rdsat", "--out", "study.txt"),
    "example": ("--out", "example", "--people", 60),
    "worlds": (),
    "policies": (),
    "simulate": ("--world", "boom_bust", "--budget", 10),
    "compare": ("--world", "boom_bust", "--policy", "constant", "--discount", 1, "--episodes", 5, "--budget", 10),
    "doctor": (),
    "reproduce": ("--quick", "--out", "reproduction"),
}  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    a_fit().save(tmp_path / "model")
    (tmp_path / "frontier.csv").write_text("id,sex,town,date\nann,f,north,2024-08-01\nbob,m,south,2024-08-02\n")
    (tmp_path / "study.csv").write_text(study_csv())
    pf.demo_study(people=120).study.to_csv(tmp_path / "demo.csv", index=False)
    Running(tmp_path).write()
    learning = PolicyIterationSettings(
        rounds=1, episodes=30, states=80, steps=100, judged_episodes=20,
        surrogate=SurrogateSettings(latent=4, hidden=16, deadline=True),
        laplace=LaplaceSettings(parents=60, children=8, steps=60),
    )  # fmt: skip
    monkeypatch.setattr(FitSettings, "learning_for", lambda settings, people: learning)  # the real thing, smaller
    answer = Answer(say("Does it?"), say("It does."))
    monkeypatch.setattr("peerfront.words.reproduction_report.write_reproduction", lambda *_: [answer])
    made = Reproduction(reproduction_plan("quick"), {}, pd.DataFrame({"seconds": [1.5]}))
    monkeypatch.setattr("peerfront.experiments.reproduction.reproduce", lambda *_, **__: made)
    return tmp_path


@pytest.fixture
def run(monkeypatch, capsys, place):
    return lambda *arguments: run_command(place, monkeypatch, capsys, *arguments, columns=140)


@pytest.mark.parametrize("command", [name for commands in GROUPS.values() for name in commands if name not in SERVERS])
def test_every_command_gives_one_document(run, command: str) -> None:
    code, out, err = run(command, *ASKED[command], "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert (document["peerfront"], document["format"], document["command"]) == (pf.__version__, 1, command)
    assert document["result"]


def test_figures_are_those_that_are_printed(run) -> None:
    asked = ("plan", "model", "frontier.csv", "--budget", 9, "--target", 95)
    sheet = json.loads(run("--json", *asked)[1])["result"]
    printed = run(*asked)[1]
    assert sheet["lines"]
    assert all(line in " ".join(printed.split()) for line in sheet["lines"])
    assert sum(row["coupons"] for row in sheet["table"]) == sheet["spend"]
    plan = sheet["outlook"]["summary"][0]
    assert f"Expect {plan['p10']:.0f} to {plan['p90']:.0f} more people" in printed
    assert plan["recruits"] == pf.load("model").plan("frontier.csv", budget=9, target=95).expected  # in full precision
    assert {"code", "coupons", "text"} <= set(sheet["table"][0]["reason"])


def test_a_report_gives_the_results_of_its_page(run) -> None:
    asked = ("model", "study.csv", "--out", "page.html", "--episodes", 10, "--budget", 9, "--json")
    report = json.loads(run("report", *asked)[1])["result"]
    order = ("--study-file", "study.csv", "--budget", 9, "--episodes", 10, "--json")
    outlook = json.loads(run("forecast", "model", *order)[1])["result"]
    assert report["outlook"]["summary"] == outlook["summary"]
    assert 0 < report["plan"]["coupons"]["number"] <= report["rules"]["budget"] == 9
    assert (report["file"], report["sheet"], report["estimates"]) == ("page.html", None, None)
    assert "person-" not in json.dumps(report), "nobody's id"
    named = json.loads(run("report", *asked, "--with-ids", "--outcome", "sex", "--overwrite")[1])["result"]
    given = sum(row["coupons"] for row in named["sheet"]["table"])
    assert given == named["sheet"]["spend"] == named["plan"]["coupons"]["number"]
    assert named["estimates"]


def test_errors_are_documents_too(run) -> None:
    for asked, error in (
        (("plan", "nowhere", "frontier.csv", "--budget", 9), "saved_fits.no_folder"),
        (("plan", "model", "frontier.csv"), "commands.usage"),
        (("--language", "xx", "worlds"), "names.unknown"),
        (("check", "\x9b31m.csv"), "files.missing"),
    ):
        code, out, err = run(*asked, "--json")
        assert (code, out) == (2, "")
        assert err.isascii()
        assert json.loads(err)["error"]["code"] == error
    code, _, err = run("forecast", "model", "frontier.csv", "--budget", 9, "--deadline", "2030-01-01", "--json")
    remedies = json.loads(err)["error"]["remedies"]
    assert (code, remedies[1]) == (2, {"setting": "study_file", "value": "FILE", "text": "--study-file FILE"})


def test_the_others_results_stand_beside_the_error(run) -> None:
    asked = ("--world", "icpsr22140", "--discount", 1, "--episodes", 5, "--budget", 10, "--json")
    code, out, err = run("compare", "--policy", "price_index", "--policy", "constant", *asked)
    document = json.loads(err)
    assert (code, out, document["error"]["code"]) == (2, "", "comparison.failed")
    assert document["result"] == json.loads(run("compare", "--policy", "constant", *asked)[1])["result"]


def test_help_is_not_json(run) -> None:
    code, out, _ = run("plan", "--help", "--json")
    assert code == 0
    assert "Usage" in out


def test_data() -> None:
    table = pd.DataFrame({"whole": np.array([1, 2]), "part": [0.1, math.nan]})
    assert to_data(table) == [{"whole": 1, "part": 0.1}, {"whole": 2, "part": None}]
    assert to_data({1: np.array([[1.5, math.inf]]), "at": Path("a")}) == {"1": [[1.5, None]], "at": "a"}
    message = to_data(note("amounts.coupons", n=3, remedy=Remedy("valid_days", 60)))
    assert (message["code"], message["arguments"]["n"], message["text"]) == ("amounts.coupons", 3, "3 coupons")
    assert message["arguments"]["remedy"] == {"setting": "valid_days", "value": 60, "text": "valid_days=60"}
    with pytest.raises(TypeError, match="no place for object"):
        to_data(object())
