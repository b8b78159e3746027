"""Every command, run in a made-up language: text outside its brackets, names and numbers aside, is a fault."""

import re
import sys
from pathlib import Path

import pytest

from peerfront.cli import main as program
from peerfront.experiments.policies import POLICIES
from peerfront.simulation.catalog import WORLDS
from study.small_advice import a_fit, study_csv
from words.made_up_language import bracketing, outside_brackets, untranslated

FRONTIER = "id,sex,town,date\nann,f,north,2024-08-01\nbob,m,south,2024-08-02\ncleo,f,south,2024-08-03\n"
SETTINGS = ("plan", "name", *(option for entry in POLICIES.values() for option in entry.options))
# What files and people are called, and settings as they are typed.
NAMES = "|".join(
    (
        r"[\w./-]*/[\w./-]+",  # paths
        r"\b[\w-]+\.(?:csv|json|toml|txt|xlsx|pdf|html|md|svg|png|safetensors)\b",
        r"--[a-z-]+(?: [\w./-]+)?",
        r"\bperson-\d+|\b(?:ann|bob|cleo|sex|town|date|north|south|peerfront)\b",
        rf"\b(?:{'|'.join(sorted((*WORLDS, *POLICIES, *SETTINGS), key=len, reverse=True))})\b",
        r"\bRDS-I+\b|\(mean\)",
    )
)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("translated")
    a_fit().save(folder / "model")
    (folder / "frontier.csv").write_text(FRONTIER)
    (folder / "study.csv").write_text(study_csv())
    return folder


@pytest.fixture
def spoken(monkeypatch, capsys, place):
    """Run a command in the made-up language; its output and errors."""

    def run(*arguments: object) -> str:
        monkeypatch.setattr(program, "catalogue", lambda *_: bracketing())
        monkeypatch.setattr(sys, "argv", ["peerfront", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "1000")
        monkeypatch.chdir(place)
        with pytest.raises(SystemExit):
            program.main()
        out, err = capsys.readouterr()
        return f"{out}\n{err}"

    return run


COMMANDS = {
    "check": "check study.csv",
    "check a missing file": "check nothing.csv",
    "plan": "plan model frontier.csv --budget 9 --out sheet.csv --overwrite",
    "plan with too few": "plan model frontier.csv --budget -3",
    "forecast": "forecast model frontier.csv --budget 9 --target 5 --rounds-left 3 --episodes 20 --out forecast",
    "backtest": "backtest study.csv --cuts 2 --episodes 20",
    "week": "week study.csv --folder running --budget 9 --date 2024-09-02 --deadline 2024-10-31 --valid-days 30",
    "report": "report model study.csv --frontier frontier.csv --budget 9 --episodes 20 --out report.html",
    "estimate": "estimate study.csv --outcome sex --bootstraps 50 --out estimates --overwrite",
    "convert": "convert study.csv --to rdsat --out study.rdsat",
    "worlds": "worlds",
    "policies": "policies",
    "simulate": "simulate --world bridge --policy threshold --budget 8 --people 4 --rounds 2",
    "compare": "compare --world bridge --policy threshold --policy evenly --episodes 5 --budget 8 --workers 1",
    "no budget": "plan model frontier.csv",
    "no number": "plan model frontier.csv --budget five",
    "no such option": "plan model frontier.csv --bugdet 5",
    "an unknown world": "compare --world brigde --policy threshold",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "week" else name for name in COMMANDS]
)
def test_a_command_speaks_the_language(spoken, name: str) -> None:
    shown = spoken(*COMMANDS[name].split())
    assert "⟦" in shown
    assert untranslated(shown, NAMES) == []


def test_files_of_a_command_speak_it_too(spoken, place) -> None:
    spoken("plan", "model", "frontier.csv", "--budget", 9, "--out", "spoken.csv")
    reasons = [line.rpartition(",")[2] for line in (place / "spoken.csv").read_text("utf-8").splitlines()[1:]]
    assert all(re.search("⟦", line) for line in reasons)


def test_help_is_translated(spoken) -> None:
    assert "Make the coupon sheet" not in outside_brackets(spoken("plan", "--help"))
