"""Four lines first: the commands of a running study say little, whatever is asked, and everything with --details."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands import run_command
from peerfront.study.model import load

LIMITS = {"check": 150, "fit": 120, "plan": 100, "week": 150, "forecast": 140, "estimate": 150}
SPENDS = "Other numbers of coupons this round"
DEADLINE, TARGET = ("--deadline", "2024-09-01"), ("--target", "230")
ASKED = {
    "nothing": (),
    "target": TARGET,
    "target and deadline": (*TARGET, *DEADLINE),
    "target far away": ("--target", "900", *DEADLINE),
    "interviews and a reserve": (*TARGET, *DEADLINE, "--interviews-per-week", "5", "--reserve", "5"),
    "more than shown": (*TARGET, *DEADLINE, "--max-per-person", "4"),
    "at least one": (*TARGET, "--min-per-person", "1"),
    "population": (*TARGET, "--population", "600"),
    "strata": (*TARGET, "--strata", "housing"),
    "random numbers": (*TARGET, *DEADLINE, "--randomise", "0.1"),
    "floors": (*TARGET, *DEADLINE, "--at-least", "housing=own:0.5"),
    "a story": (*TARGET, *DEADLINE, "--response", "capacity"),
    "a number": (*TARGET, *DEADLINE, "--spend", "20"),
    "last round": (*TARGET, "--rounds-left", "1"),
}


def beside_tables(out: str) -> int:
    """Words of an output without the rows of its tables."""
    return len(" ".join(line for line in out.splitlines() if not re.search(r"\S {2,}\S", line)).split())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("few words")


@pytest.fixture
def run(made: Path, monkeypatch, capsys) -> Callable[..., str]:
    """Run a command where a study and its model are, made once."""

    def ran(*arguments: object) -> str:
        code, out, err = run_command(made, monkeypatch, capsys, *arguments, columns=100)
        assert code == 0, err
        return out

    monkeypatch.chdir(made)
    if not (made / "model").exists():
        ran("example", "--out", ".", "--people", "200")
        assert beside_tables(ran("fit", "study.csv", "--budget", "60", "--out", "model")) <= LIMITS["fit"]
    return ran


QUICK = ("target and deadline", "random numbers")


@pytest.mark.parametrize(
    "asked", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in ASKED]
)
def test_commands_are_brief(run, asked: str) -> None:
    order = ("--study-file", "study.csv", "--budget", "60", *ASKED[asked])
    assert beside_tables(run("plan", "model", *order)) <= LIMITS["plan"]
    week = ("week", "study.csv", "--model", "model", "--folder", asked.replace(" ", "-"), "--date", "2024-06-01")
    assert beside_tables(run(*week, "--budget", "60", *ASKED[asked])) <= LIMITS["week"]


def test_details_say_the_rest(run, made: Path) -> None:
    assert beside_tables(run("check", "study.csv")) <= LIMITS["check"]
    estimate = ("estimate", "study.csv", "--outcome", "gender", "--by", "district", "--bootstraps", "20")
    assert beside_tables(run(*estimate)) <= LIMITS["estimate"]
    assert "likely off by" in run(*estimate, "--details")
    order = ("model", "--study-file", "study.csv", "--budget", "60")
    assert beside_tables(run("forecast", *order, *TARGET, "--episodes", "50")) <= LIMITS["forecast"]
    assert "Trees, the largest first" in run("check", "study.csv", "--details")
    assert SPENDS in run("plan", *order, "--details")
    week = ("week", "study.csv", "--folder", "weeks", "--date")
    run(*week, "2024-06-01", "--budget", "60", "--model", "model")
    assert beside_tables(run(*week, "2024-06-08", "--refit", "never", *TARGET)) <= LIMITS["week"]
    assert SPENDS not in run(*week, "2024-06-08"), "the same week again"
    assert SPENDS in run(*week, "2024-06-08", "--details")
    assert SPENDS in next((made / "weeks").glob("week-02*/summary.txt")).read_text("utf-8")
    assert any("Coupons used" in str(line) for line in load(made / "model").summary.details())
