"""The commands of the app's steps: what it runs, and shows, so that everything can be repeated in a terminal.

Each function turns what was chosen in a form into the arguments of one `peerfront` command. They run in the study's
folder, so paths are relative to it.
"""

import os
import shlex
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any

from peerfront.web.app.folder import (
    BY_DATE,
    CHECKED,
    ESTIMATES,
    FILES,
    FORECAST,
    MODEL,
    PDF,
    REPORT,
    SCHEMA,
    SHEET,
    WAITING,
    WORKBOOK,
)

Command = tuple[str, ...]
Choices = Mapping[str, Any]
EXAMPLE = f"{FILES}/example"


def shown(command: Command) -> str:
    """A command as it can be pasted into a terminal; characters that would not be seen are spelled out."""
    words = ("peerfront", *command)
    if os.name == "nt":
        return subprocess.list2cmdline(words)
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    plain = word.replace("\\", "\\\\").replace("'", "\\'")
    spelled = "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in plain)
    return f"$'{spelled}'"  # understood by bash and zsh


def example() -> Command:
    return ("example", "--out", EXAMPLE, "--overwrite")


def check(file: str, reading: Choices) -> Command:
    maps = [f"{role}={'+'.join(names)}" for role, names in reading.get("columns", {}).items()]
    return (
        "check",
        file,
        *_option("--sheet", reading.get("sheet")),
        *(part for each in maps for part in ("--map", each)),
        *_each("--missing", reading.get("missing", ())),
        *_option("--coupons-each", reading.get("coupons_each")),
        *_option("--still-open", reading.get("still_open")),
        *_option("--valid-days", reading.get("valid_days")),
        *("--out", CHECKED, "--waiting", WAITING, "--overwrite"),
    )


def fit(file: str, chosen: Choices) -> Command:
    return (
        *("fit", file, "--schema", SCHEMA, "--out", MODEL),
        *_option("--budget", chosen.get("budget")),
        *_option("--rounds", chosen.get("rounds")),
        *_option("--max-per-person", chosen.get("max_per_person")),
        *_option("--round-cap", chosen.get("round_cap")),
        *_option("--people", chosen.get("people")),
        *_option("--response", chosen.get("response"), usual="auto"),
        *_option("--discount", chosen.get("discount"), usual=1.0),
        *_flag("--accept-gain", chosen.get("accept_gain")),
        "--overwrite",
    )


def order(chosen: Choices) -> Command:
    """Options that sheet, forecast and report share: what the sheet was ordered with."""
    return (
        *_option("--budget", chosen.get("budget")),
        *_option("--max-per-person", chosen.get("max_per_person")),
        *_option("--min-per-person", chosen.get("min_per_person"), usual=0),
        *_option("--round-cap", chosen.get("round_cap")),
        *_option("--rounds-left", chosen.get("rounds_left")),
        *_option("--reserve", chosen.get("reserve"), usual=0),
        *_option("--response", chosen.get("response"), usual="average"),
        *_option("--strata", chosen.get("strata")),
        *_option("--randomise", chosen.get("randomise"), usual=0.0),
    )


def plan(waiting: str, chosen: Choices) -> Command:
    return (
        *("plan", MODEL, waiting),
        *order(chosen),
        *_each("--at-least", chosen.get("at_least", ())),
        *_option("--spend", chosen.get("spend")),
        *_option("--seed", chosen.get("seed"), usual=0),
        *_heading(chosen),
        *("--out", SHEET, "--out", WORKBOOK, "--out", PDF, "--overwrite"),
    )


def _heading(chosen: Choices) -> Command:
    return (
        *_option("--study", chosen.get("study")),
        *_option("--date", chosen.get("date")),
        *_option("--round", chosen.get("round")),
    )


def forecast(waiting: str, ordered: Choices, chosen: Choices) -> Command:
    """A forecast by rounds, from the people who wait."""
    return (
        *("forecast", MODEL, waiting),
        *order(ordered),
        *_option("--target", chosen.get("target")),
        *_option("--already", chosen.get("already"), usual=0),
        *_option("--episodes", chosen.get("episodes"), usual=1000),
        *("--out", FORECAST, "--overwrite"),
    )


def forecast_by_date(file: str, ordered: Choices, chosen: Choices) -> Command:
    """A forecast by date, from the study's file."""
    return (
        *("forecast", MODEL, "--study", file),
        *_option("--until", chosen.get("until")),
        *order(ordered),
        *_option("--target", chosen.get("target")),
        *_option("--interviews-per-week", chosen.get("interviews_per_week")),
        *_option("--episodes", chosen.get("episodes"), usual=1000),
        *("--out", BY_DATE, "--overwrite"),
    )


def estimate(file: str, chosen: Choices, decisions: str = "") -> Command:
    return (
        *("estimate", file, "--schema", SCHEMA),
        *_each("--outcome", chosen.get("outcome", ())),
        *_each("--by", chosen.get("by", ())),
        *_option("--population", chosen.get("population")),
        *_option("--decisions", decisions),
        *_option("--interval", chosen.get("interval"), usual="neighbourhood"),
        *_option("--bootstraps", chosen.get("bootstraps"), usual=1000),
        *("--out", ESTIMATES, "--overwrite"),
    )


def report(file: str, waiting: str, ordered: Choices, chosen: Choices) -> Command:
    """The report; without a file of people who wait where nobody does."""
    return (
        *("report", MODEL, file),
        *_option("--frontier", waiting),
        *order(ordered),
        *_each("--at-least", ordered.get("at_least", ())),
        *_option("--target", chosen.get("target")),
        *_each("--outcome", chosen.get("outcome", ())),
        *_flag("--with-ids", chosen.get("with_ids")),
        *_flag("--without-trees", chosen.get("without_trees")),
        *_option("--episodes", chosen.get("episodes"), usual=1000),
        *_heading({**ordered, **{name: value for name, value in chosen.items() if name == "date"}}),
        *("--out", REPORT, "--overwrite"),
    )


def week(file: str, chosen: Choices) -> Command:
    return (
        *("week", file, "--folder", "."),
        *_option("--budget", chosen.get("budget")),
        *_option("--more-coupons", chosen.get("more_coupons")),
        *_option("--deadline", chosen.get("deadline")),
        *_option("--target", chosen.get("target")),
        *_option("--valid-days", chosen.get("valid_days")),
        *_option("--max-per-person", chosen.get("max_per_person")),
        *_option("--min-per-person", chosen.get("min_per_person")),
        *_option("--week-cap", chosen.get("week_cap")),
        *_option("--reserve", chosen.get("reserve")),
        *_option("--interviews-per-week", chosen.get("interviews_per_week")),
        *_each("--at-least", chosen.get("at_least", ())),
        *_option("--refit", chosen.get("refit"), usual="auto"),
        *_option("--study", chosen.get("study")),
        *_option("--date", chosen.get("date")),
    )


def undo_week() -> Command:
    return ("week", "--folder", ".", "--undo")


def _option(name: str, value: Any, usual: Any = None) -> Command:
    if value is None or value == "" or value == usual:
        return ()
    return (name, f"{value:g}" if isinstance(value, float) else str(value))


def _each(name: str, values: Iterable[str]) -> Command:
    return tuple(part for value in values for part in (name, value))


def _flag(name: str, given: Any) -> Command:
    return (name,) if given else ()
