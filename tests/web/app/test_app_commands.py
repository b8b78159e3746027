"""The commands that the app shows: they are quoted as a terminal needs it, and the program knows their options."""

import shlex
import subprocess

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from peerfront.cli.main import app as program
from peerfront.web.app import commands
from peerfront.web.app.printed_words import below_the_forecast, below_the_sheet, below_the_weeks, sections_of

ORDER = {
    "budget": 60, "max_per_person": 3, "min_per_person": 1, "round_cap": 20, "rounds_left": 4, "reserve": 5,
    "response": "cautious", "strata": "district", "randomise": 0.1, "at_least": ["district=East:0.5"], "spend": 12,
    "seed": 3, "study": "Harbour study", "date": "2026-03-02", "round": 4,
}  # fmt: skip
READING = {
    "columns": {"id": ["who"], "coupons": ["c 1", "c 2"], "date": []}, "missing": ["99", "-1"], "coupons_each": 3,
    "still_open": "30", "valid_days": 60.0, "sheet": "Round 1",
}  # fmt: skip
LOOKING = {"target": 100, "already": 80, "until": "2026-06-30", "interviews_per_week": 12.5, "episodes": 200}
FITTED = {**ORDER, "rounds": 5, "people": 30, "response": "capacity", "discount": 0.9, "accept_gain": True}
ESTIMATED = {"outcome": ["hiv", "-x"], "by": ["sex"], "population": 900, "interval": "tree", "bootstraps": 50}
REPORTED = {**LOOKING, "with_ids": True, "without_trees": True, "outcome": ["hiv"]}
WEEKLY = {
    **ORDER, "more_coupons": 5, "deadline": "2026-06-30", "target": 90, "valid_days": 30, "week_cap": 9,
    "interviews_per_week": 2.5, "refit": "never",
}  # fmt: skip
EVERY = {
    commands.example(): 2,
    commands.check("files/a.csv", READING): 12,
    commands.fit("files/a.csv", FITTED): 11,
    commands.plan("waiting.csv", ORDER): 19,
    commands.forecast("waiting.csv", ORDER, LOOKING): 14,
    commands.forecast_by_date("files/a.csv", ORDER, LOOKING): 16,
    commands.estimate("files/a.csv", ESTIMATED, "."): 10,
    commands.report("files/a.csv", "waiting.csv", ORDER, REPORTED): 21,
    commands.week("files/a.csv", WEEKLY): 15,
    commands.undo_week(): 2,
}
"""Every command with everything chosen, and how many options that gives."""


@pytest.mark.parametrize("command", EVERY, ids=lambda command: command[0])
def test_the_program_knows_every_option(command) -> None:
    known = typer.main.get_command(program).commands[command[0]]
    assert known.make_context(command[0], list(command[1:])).params, "what it does not know is refused"
    assert sum(part.startswith("--") for part in command) == EVERY[command]


def test_what_was_left_empty_is_left_out() -> None:
    assert commands.fit("files/a.csv", {"budget": 60, "rounds": 5}) == (
        "fit", "files/a.csv", "--schema", "schema.toml", "--out", "model", "--budget", "60", "--rounds", "5",
        "--overwrite",
    )  # fmt: skip


@given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=12),
        min_size=1,
        max_size=4,
    )
)
def test_a_shown_command_is_read_by_a_terminal_as_it_was_run(words) -> None:
    shown = commands.shown(tuple(words))
    assert shown.isprintable(), "nothing in it acts on a terminal, or hides"
    read = subprocess.run(
        ["bash", "-c", f'peerfront() {{ printf "%s\\0" "$@"; }}\n{shown}'],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C.UTF-8"},
    )
    assert read.stdout.decode().split("\0")[:-1] == words


def test_plain_words_are_not_quoted() -> None:
    assert commands.shown(("plan", "model", "waiting.csv")) == "peerfront plan model waiting.csv"
    assert shlex.split(commands.shown(("plan", "it's"))) == ["peerfront", "plan", "it's"]


def test_sentences_are_found_below_tables() -> None:
    table, written = "person  coupons\nA       1\n\n", "\n\nWritten: sheet.csv (the sheet).\n\nWritten: sheet.pdf\n"
    assert below_the_sheet(f"{table}Give out 1.\n  inner\nWarning: x{written}") == [
        "Give out 1.",
        "  inner",
        "Warning: x",
    ]
    tables = "The plan, round by round\nround\n1\n\nThe plan and others\nrule\nplan\nconstant\n"
    assert below_the_forecast(f"{tables}From 4 people.\nMore.\n\nWritten to f: a.\n", 2) == ["From 4 people.", "More."]
    weeks = "The plan, week by week\nuntil\n2026\ngiven: coupons at the week's start; open: coupons at its end\n"
    assert below_the_weeks(f"{weeks}On day 1.\n\nWritten to f.\n") == ["On day 1."]


def test_the_summary_of_a_week_has_sections() -> None:
    found = sections_of("Week 1.\nWarning: x.\n\nThis week\n  Give out 3.\n\nThe model\n  Fitted.\n")
    assert [(section.title, section.lines) for section in found] == [
        ("", ("Week 1.", "Warning: x.")), ("This week", ("Give out 3.",)), ("The model", ("Fitted.",)),
    ]  # fmt: skip
