"""The sentences of all messages: the TOML files of this folder hold the English sentence of each code.

A file has a table for each topic, and a sentence for each code: `missing` in `[files]` is the code "files.missing".
Values are filled in by name: {path}; how a remedy is written depends on the medium. A page may have a sentence of its
own for a code (`on_pages.toml`).
"""

import shlex
import tomllib
from functools import cache
from importlib.resources import files

from peerfront.foundation.messages import Message, Remedies, Remedy
from peerfront.words.commands import command_line, commands_with
from peerfront.words.language import Medium, Text, catalogue, joined, say, speaker, speaking


@cache
def sentences() -> dict[str, str]:
    """The English sentence of each code."""
    by_code: dict[str, str] = {}
    for file in sorted(files(__package__).iterdir(), key=lambda each: each.name):
        if file.name.endswith(".toml"):
            for topic, entries in tomllib.loads(file.read_text("utf-8")).items():
                by_code.update({f"{topic}.{name}": sentence.strip() for name, sentence in entries.items()})
    return by_code


@cache
def on_pages() -> dict[str, str]:
    """Sentences that pages replace, each with that of the page."""
    every = sentences()
    first = "on_page."
    return {every[code.removeprefix(first)]: own for code, own in every.items() if code.startswith(first)}


def text_of(message: Message) -> Text:
    """A message as a sentence or a warning; a code without a sentence is shown as it is."""
    sentence = sentences().get(message.code)
    if sentence is None:
        return joined([message.code])
    return Text(sentence, message.arguments, severity=message.severity)


def in_english(message: Message) -> str:
    """A message's English sentence, whatever the language in use."""
    with speaking(catalogue("en", Medium.PYTHON)):
        return str(text_of(message))


def remedy_text(remedy: Remedy) -> Text | str:
    """A remedy in the form of the medium: `--valid-days 60`, `valid_days=60`, or the label of a field."""
    where = speaker().medium
    if remedy.setting == "map":
        return _columns_text(*remedy.value)
    if remedy.setting == "mend":
        return _mend_text(remedy)
    if remedy.setting == "details" and where is not Medium.TERMINAL:
        return say("in the details")
    if where is Medium.PAGE:
        return _field_text(remedy.setting, () if remedy.value in (None, True) else (remedy.value,))
    if where is Medium.TERMINAL:
        option = f"--{remedy.setting.replace('_', '-')}"
        return option if remedy.value is True else f"{option} {_shell(remedy.value)}"
    value = "..." if remedy.value is None else repr(remedy.value)
    return f"{remedy.setting}={value}"


def remedies_text(remedies: Remedies) -> str:
    """Several settings to be given together, in the form of the medium: in a terminal, the lines to paste."""
    where = speaker().medium
    if where is Medium.TERMINAL:
        again = commands_with(speaker().typed, remedies)
        return "".join(f"\n    {command_line(each)}" for each in again) or " ".join(map(str, remedies))
    if where is Medium.PAGE:
        return ", ".join(map(str, remedies))
    named = {each.value[0]: tuple(each.value[1:]) or ("COLUMN",) for each in remedies if each.setting == "map"}
    columns = {role: tuple(filter(None, names)) for role, names in named.items()}
    others = [str(each) for each in remedies if each.setting != "map"]
    return ", ".join([f"columns={columns!r}", *others] if columns else others)


def _mend_text(remedy: Remedy) -> Text | str:
    """Where changes that would mend a file are offered: the command that was typed with --mend, or on the page."""
    where, typed = speaker().medium, speaker().typed
    if where is Medium.PAGE:
        return say("“Accept”, below")
    takes = where is Medium.TERMINAL and typed is not None and remedy.setting in typed.takes
    return command_line(commands_with(typed, [remedy])[0]) if takes else "peerfront check FILE --mend"


def _columns_text(role: str, *columns: str) -> Text | str:
    """How to say which columns hold a part of a study, in the form of the medium; without columns, a
    placeholder, and "" for none."""
    where = speaker().medium
    if where is Medium.TERMINAL:
        return f"--map {shlex.quote(role + '=' + '+'.join(columns or ('COLUMN',)))}"
    if where is Medium.PYTHON:
        return f"columns={{{role!r}: {tuple(filter(None, columns)) if columns else ('COLUMN',)!r}}}"
    return _field_text(f"role_{role}", tuple(filter(None, columns)))


def _field_text(name: str, values: tuple[object, ...]) -> Text:
    """The label of a page's field, if the page has it, and what to enter there."""
    label = str(speaker().fields.get(name, name.removeprefix("role_").replace("_", " ")))
    return say("“{field}: {values}”", field=label, values=values) if values else say("“{field}”", field=label)


def _shell(value: object) -> str:
    return "N" if value is None else shlex.quote(str(value))
