"""The commands that the app shows: they are quoted as a terminal needs it, and the program knows their options."""

import shlex
import subprocess

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from peerfront.cli.main import app as program
from peerfront.words.commands import command_line, commands_of, order_options

ORDER = {
    "budget": 60, "max_per_person": 3, "min_per_person": 1, "round_cap": 20, "rounds_left": 4, "reserve": 5,
    "response": "belief", "strata": "district", "randomise": 0.1, "at_least": ["district=East:0.5"], "spend": 12,
    "seed": 3, "deadline": "2026-06-30", "target": 90, "interviews_per_week": 12.5, "population": 900,
    "as_of": "2026-03-02", "study": "Harbour study", "date": "2026-03-02", "round": 4,
}  # fmt: skip
READING = {
    "columns": {"id": ["who"], "coupons": ["c 1", "c 2"], "date": []}, "missing": ["99", "-1"], "coupons_each": 3,
    "still_open": "30", "valid_days": 60.0, "sheet": "Round 1",
}  # fmt: skip
FITTED = {**ORDER, "rounds": 5, "people": 30, "response": "capacity", "discount": 0.9, "accept_gain": True}
ESTIMATED = {"outcome": ["hiv", "-x"], "by": ["sex"], "population": 900, "interval": "tree", "bootstraps": 50}
REPORTED = {"with_ids": True, "without_trees": True, "outcome": ["hiv"]}
WEEKLY = {
    **ORDER, "more_coupons": 5, "valid_days": 30, "refit": "never", "model": "model",
}  # fmt: skip
EVERY = {
    "read": ({"file": "files/a.csv", "reading": READING, "example": True}, [2, 12]),
    "fit": ({"file": "files/a.csv", **FITTED}, [11]),
    "plan": ({"file": "files/a.csv", **ORDER}, [25, 20]),
    "estimate": ({"file": "files/a.csv", "decisions": ".", **ESTIMATED}, [10]),
    "report": ({"file": "files/a.csv", "order": {**ORDER, "waiting": "files/b.csv"}, **REPORTED}, [26]),
    "week": ({"file": "files/a.csv", **WEEKLY}, [23]),
    "undo_week": ({}, [2]),
}
"""Every work with everything chosen, and how many options its commands then have."""


@pytest.mark.parametrize("work", EVERY)
def test_the_program_knows_every_option(work) -> None:
    choices, options = EVERY[work]
    commands = commands_of(work, choices)
    for command in commands:
        known = typer.main.get_command(program).commands[command[0]]
        assert known.make_context(command[0], list(command[1:])).params, "what it does not know is refused"
    assert [sum(part.startswith("--") for part in command) for command in commands] == options


def test_what_was_left_empty_is_left_out() -> None:
    assert commands_of("fit", {"file": "files/a.csv", "budget": 60, "rounds": 5}) == (
        (
            "fit", "files/a.csv", "--schema", "schema.toml", "--out", "model", "--budget", "60", "--rounds", "5",
            "--overwrite",
        ),
    )  # fmt: skip
    assert commands_of("undo_week", {}, "es") == (("--language", "es", "week", "--folder", ".", "--undo"),)


def test_people_of_a_list_are_planned_without_a_study_file() -> None:
    choices = {"file": "files/a.csv", "waiting": "files/b.csv", "already": 80, "budget": 60, "ahead": False}
    assert commands_of("plan", choices) == (
        (
            "plan", "model", "files/b.csv", "--already", "80", "--budget", "60", "--out", "sheet.csv", "--out",
            "sheet.xlsx", "--out", "sheet.pdf", "--overwrite",
        ),
    )  # fmt: skip


def test_a_later_week_may_set_a_limit_back_to_nothing() -> None:
    (week,) = commands_of("week", {"file": "files/a.csv", "min_per_person": 0})
    assert week == ("week", "files/a.csv", "--folder", ".", "--min-per-person", "0")


def test_orders_are_the_same_if_their_options_are() -> None:
    assert order_options({"budget": 0, "response": "average", "date": "2026-03-02"}) == ("--budget", "0")


@given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=12),
        min_size=1,
        max_size=4,
    )
)
def test_a_shown_command_is_read_by_a_terminal_as_it_was_run(words) -> None:
    line = command_line(tuple(words))
    assert line.isprintable(), "nothing in it acts on a terminal, or hides"
    read = subprocess.run(
        ["bash", "-c", f'peerfront() {{ printf "%s\\0" "$@"; }}\n{line}'],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C.UTF-8"},
    )
    assert read.stdout.decode().split("\0")[:-1] == words


def test_plain_words_are_not_quoted() -> None:
    assert command_line(("plan", "model", "waiting.csv")) == "peerfront plan model waiting.csv"
    assert shlex.split(command_line(("plan", "it's"))) == ["peerfront", "plan", "it's"]
