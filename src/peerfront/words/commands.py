"""Commands to paste: those that repeat a step of the app, and the one that was typed with more settings.

Commands of the app run in the study's folder, so paths are relative to it. Settings with the command's default value
are left out.
"""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from peerfront.foundation.messages import Remedy
from peerfront.words.language import Typed

Command = tuple[str, ...]
Choices = Mapping[str, Any]

FILES, SCHEMA, WAITING, CHECKED, MODEL = "files", "schema.toml", "waiting.csv", "checked", "model"
SHEET, WORKBOOK, PDF = "sheet.csv", "sheet.xlsx", "sheet.pdf"
FORECAST, ESTIMATES, REPORT = "forecast", "estimates", "report.html"
EXAMPLE = f"{FILES}/example"

_ORDER = {
    "budget": None, "max_per_person": None, "min_per_person": 0, "round_cap": None, "rounds_left": None, "reserve": 0,
    "response": "average", "strata": None, "randomise": 0.0, "at_least": None, "spend": None, "deadline": None,
    "target": None, "interviews_per_week": None, "population": None, "seed": 0,
}  # fmt: skip
"""The order of sheet, forecast and report, and what commands take if nothing is given."""
_HEADING = dict.fromkeys(("study", "date", "round"))


def commands_of(work: str, choices: Choices, language: str = "") -> tuple[Command, ...]:
    """The arguments of `peerfront` that do the same, one command after another."""
    first = ("--language", language) if language else ()
    return tuple((*first, *command) for command in _COMMANDS[work](choices))


def command_line(command: Command) -> str:
    """A command to paste into a terminal; invisible characters are spelled out."""
    words = ("peerfront", *command)
    if os.name == "nt":
        return subprocess.list2cmdline(words)
    return " ".join(map(_quoted, words))


def commands_with(typed: Typed | None, remedies: Sequence[Remedy]) -> tuple[Command, ...]:
    """The command that was typed, with these settings too; first a `check` if only that can be told them.

    Options that the settings replace are left out; all others are kept. () if no command can take the settings.
    """
    if typed is None:
        return ()
    options = tuple(part for each in remedies for part in _told(each))
    if all(each.setting in typed.takes for each in remedies):
        return ((*_without(typed.words, remedies), *options),)
    if not typed.file or "schema" not in typed.takes:
        return ()
    again = (*_without(typed.words, [Remedy("schema")]), "--schema", f"{CHECKED}/{SCHEMA}")
    return ("check", typed.file, *options, "--out", CHECKED), again


def mended_command(typed: Typed | None, file: str, copy: str, columns: Mapping[str, Sequence[str]]) -> Command:
    """The command that was typed, for the mended copy of its file; `columns` are those it has to be told."""
    told = [Remedy("map", (role, *names)) for role, names in columns.items()]
    if typed is None:
        return ("check", copy, *(part for each in told for part in _told(each)))
    words = _without(tuple(word for word in typed.words if word not in ("--mend", "--yes")), [Remedy("copy"), *told])
    place = words.index(file) if file in words else 1
    return (*words[:place], copy, *words[place + 1 :], *(part for each in told for part in _told(each)))


def _told(remedy: Remedy) -> Command:
    if remedy.setting == "map":
        role, *columns = remedy.value
        return ("--map", f"{role}={'+'.join(columns) if columns else 'COLUMN'}")
    return _option(remedy.setting, "N" if remedy.value is None else remedy.value)


def _without(words: Command, remedies: Sequence[Remedy]) -> Command:
    """A command without the options that these settings replace; what `--missing` says is added to."""
    gone = {f"--{each.setting.replace('_', '-')}" for each in remedies if each.setting not in ("map", "missing")}
    roles = {each.value[0] for each in remedies if each.setting == "map"}
    kept: list[str] = []
    parts = iter(words)
    for word in parts:
        name, equals, value = word.partition("=")
        if name not in gone and name != "--map":
            kept.append(word)
            continue
        value = value if equals else next(parts, "")
        if name == "--map" and value.partition("=")[0].strip() not in roles:
            kept += ["--map", value]
    return tuple(kept)


def order_options(choices: Choices) -> Command:
    """The options of an order, and the day on which the study is seen."""
    return _options(choices, {**_ORDER, "as_of": None})


def _read(choices: Choices) -> tuple[Command, ...]:
    reading: Choices = choices.get("reading", {})
    maps = [f"{role}={'+'.join(names)}" for role, names in reading.get("columns", {}).items()]
    options = {
        **dict.fromkeys(("sheet", "map", "missing", "coupons_each", "valid_days")),
        "preset": "auto", "format": "auto", "still_open": "auto", "read_anyway": False,
    }  # fmt: skip
    check = (
        *("check", str(choices["file"]), *_options({**reading, "map": maps}, options)),
        *("--out", CHECKED, "--waiting", WAITING, "--overwrite"),
    )
    return (("example", "--out", EXAMPLE, "--overwrite"), check) if choices.get("example") else (check,)


def _mend(choices: Choices) -> tuple[Command, ...]:
    """Ask for each change, and read the copy."""
    check = _read({**choices, "file": choices["original"]})[-1]
    return ((*check[: check.index("--out")], "--mend", "--copy", str(choices["copy"])), *_read(choices)[-1:])


def _fit(choices: Choices) -> tuple[Command, ...]:
    options = {
        **dict.fromkeys(("budget", "rounds", "max_per_person", "round_cap", "people")),
        "response": "auto", "discount": 1.0, "accept_gain": False,
    }  # fmt: skip
    start = ("fit", str(choices["file"]), "--schema", SCHEMA, "--out", MODEL)
    return ((*start, *_options(choices, options), "--overwrite"),)


def _plan(choices: Choices) -> tuple[Command, ...]:
    """The sheet, and what to expect of it: `forecast` simulates what `plan` plans."""
    people: Command = ("--study-file", str(choices["file"]))
    if choices.get("waiting"):
        people = (str(choices["waiting"]), *_option("already", choices.get("already")))
    ordered = (*people, *order_options(choices))
    outputs = ("--out", SHEET, "--out", WORKBOOK, "--out", PDF, "--overwrite")
    plan = ("plan", MODEL, *ordered, *_options(choices, _HEADING), *outputs)
    forecast = ("forecast", MODEL, *ordered, *_to(FORECAST))
    return (plan, forecast) if choices.get("ahead", True) else (plan,)


def _estimate(choices: Choices) -> tuple[Command, ...]:
    options = {
        **dict.fromkeys(("outcome", "by", "population", "decisions")), "interval": "neighbourhood", "bootstraps": 1000,
    }  # fmt: skip
    return (("estimate", str(choices["file"]), "--schema", SCHEMA, *_options(choices, options), *_to(ESTIMATES)),)


def _report(choices: Choices) -> tuple[Command, ...]:
    order, own = choices["order"], {"outcome": None, "with_ids": False, "without_trees": False}
    return (
        (
            *("report", MODEL, str(choices["file"]), *_option("frontier", order.get("waiting"))),
            *order_options(order),
            *_options(order, _HEADING),
            *_options(choices, own),
            *_to(REPORT),
        ),
    )


def _week(choices: Choices) -> tuple[Command, ...]:
    own = ("week_cap", "more_coupons", "valid_days", "study", "date", "model")
    names = dict.fromkeys((*(name for name in _ORDER if name != "round_cap"), *own))  # 0 may change last week's order
    given = {**choices, "week_cap": choices.get("round_cap")}
    return (("week", str(choices["file"]), "--folder", ".", *_options(given, {**names, "refit": "auto"})),)


def _undo_week(choices: Choices) -> tuple[Command, ...]:
    return (("week", "--folder", ".", "--undo"),)


_COMMANDS = {
    "read": _read,
    "mend": _mend,
    "fit": _fit,
    "plan": _plan,
    "estimate": _estimate,
    "report": _report,
    "week": _week,
    "undo_week": _undo_week,
}


def _options(choices: Choices, usual: Mapping[str, Any]) -> Command:
    return tuple(part for name, value in usual.items() for part in _option(name, choices.get(name), value))


def _option(name: str, value: Any, usual: Any = None) -> Command:
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, list | tuple):
        return tuple(part for each in value for part in (option, str(each)))
    if value is None or value is False or value in ("", usual):
        return ()
    if value is True:
        return (option,)
    return (option, f"{value:g}" if isinstance(value, float) else str(value))


def _to(place: str) -> Command:
    return ("--out", place, "--overwrite")


def _quoted(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    plain = word.replace("\\", "\\\\").replace("'", "\\'")
    spelled = "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in plain)
    return f"$'{spelled}'"  # understood by bash and zsh
