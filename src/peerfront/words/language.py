"""The language in use, and sentences that are translated when somebody reads them.

`say("Give out {coupons} coupons.", coupons=31)` is a `Text`: an English sentence and its values. It becomes words when
it is shown (`str(text)`), in the language in use then, so a result can be kept, sent to another process, and read by
several people in their own languages. English sentences are their own keys: `docs/update_translations.py` collects
those of `words`, `web` and `cli` into one catalogue for each language (`locale/es/LC_MESSAGES/django.po`).
"""

import gettext
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import import_module
from numbers import Number
from pathlib import Path
from typing import Any

from peerfront.foundation.messages import Lines, Measured, Message, Remedies, Remedy, Severity
from peerfront.foundation.shown import LONGEST_LINE, visible

LOCALE = Path(__file__).parent / "locale"
LANGUAGES = {"en": "English", "es": "Español"}
"""Languages with a complete catalogue; a test holds that."""
MACHINE_MADE = {"ar": "العربية (machine)"}
"""Translated by a machine and checked by no speaker; for pages alone, and what is missing stays English."""
PAGE_LANGUAGES = LANGUAGES | MACHINE_MADE


class Medium(StrEnum):
    """Where sentences are read: a remedy is an option in a terminal, an argument in Python, a field on a page."""

    TERMINAL = "terminal"
    PYTHON = "python"
    PAGE = "page"


@dataclass(frozen=True)
class Typed:
    """A command as somebody typed it, so that it can be offered again with more settings."""

    words: tuple[str, ...]
    """Without the name of the program."""
    takes: frozenset[str]
    """Settings that its options set."""
    file: str
    """The study's file; "" without one."""


@dataclass(frozen=True)
class Speaker:
    """The language of sentences, and the medium in which they are read."""

    language: str
    medium: Medium
    one: Callable[[str], str]
    several: Callable[[str, str, int], str]
    fields: Mapping[str, object] = field(default_factory=dict)
    """Labels of the fields on a page, by setting; columns of a study's file have `role_` before their name."""
    typed: Typed | None = None
    """The command in a terminal."""
    marks: Mapping[int, str] = field(default_factory=dict)
    """What a page writes in numbers instead of commas and points (a table of `str.translate`)."""


@cache
def catalogue(language: str, where: Medium) -> Speaker:
    """The speaker with a language's catalogue; English if there is none."""
    translation = gettext.translation("django", LOCALE, [language], fallback=True)
    return Speaker(language, where, translation.gettext, translation.ngettext)


SPEAKER: ContextVar[Speaker | None] = ContextVar("speaker", default=None)


def speaker() -> Speaker:
    """The speaker in use; by default English, for Python."""
    return SPEAKER.get() or catalogue("en", Medium.PYTHON)


@contextmanager
def speaking(who: Speaker) -> Iterator[None]:
    """Use a speaker until the end of the block: `with speaking(catalogue("es", Medium.TERMINAL)):`."""
    before = SPEAKER.set(who)
    try:
        yield
    finally:
        SPEAKER.reset(before)


def language_of_the_user() -> str:
    """The language set in the environment (PEERFRONT_LANGUAGE, LC_ALL, LC_MESSAGES, LANG), if any."""
    for name in ("PEERFRONT_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        if wanted := os.environ.get(name, ""):
            code = wanted.replace("-", "_").partition("_")[0].partition(".")[0].lower()
            return code if code in LANGUAGES else "en"
    return "en"


# Sentences --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Text:
    """A sentence with its values; written in the language that is in use when it is read."""

    sentence: str
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)
    many: str = ""  # the plural sentence, for any number `n` but one
    severity: Severity | None = None

    def __str__(self) -> str:
        if self.many:
            sentence = speaker().several(self.sentence, self.many, self.values["n"])
        else:
            sentence = speaker().one(_on_this_medium(self.sentence)) if self.sentence else ""
        return sentence.format_map(_Shown(self.values)) if self.values else sentence

    def __format__(self, form: str) -> str:
        return format(str(self), form)

    def __bool__(self) -> bool:
        return bool(self.sentence)


def _on_this_medium(sentence: str) -> str:
    if speaker().medium is not Medium.PAGE:
        return sentence
    return str(import_module("peerfront.words.messages").on_pages().get(sentence, sentence))


class _Shown(dict[str, Any]):
    """Values as sentences show them: lists with commas, typed text with invisible characters spelled out."""

    def __getitem__(self, name: str) -> Any:
        return _shown(super().__getitem__(name))


@dataclass(frozen=True)
class _Number:
    """A number as the language in use writes it."""

    value: Any
    """A number, or one with its margin."""

    def __format__(self, form: str) -> str:
        return format(self.value, form).translate(speaker().marks)

    def __repr__(self) -> str:
        return repr(self.value)


class _Typed(str):
    """A typed text or a name: its invisible characters are spelled out once, also in quotation marks (`!r`)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return visible(super().__repr__(), LONGEST_LINE)

    def __format__(self, form: str) -> str:
        return format(visible(str(self), LONGEST_LINE), form)


def _shown(value: Any) -> Any:
    if isinstance(value, Text | Message | Remedy):
        return str(value)
    if isinstance(value, str):
        return _Typed(value)
    if isinstance(value, Number | Measured):
        return _Number(value)
    if isinstance(value, Remedies):
        return str(import_module("peerfront.words.messages").remedies_text(value))
    if isinstance(value, Lines):
        return "\n".join(f"  {_shown(each)}" for each in value)
    if isinstance(value, list | tuple):
        return _Listed(_shown(each) for each in value)
    return value


class _Listed(tuple[Any, ...]):
    """Values with commas between them, or semicolons if they have commas; with `!r` each has quotation marks."""

    __slots__ = ()

    def __str__(self) -> str:
        shown = [f"{each}" for each in self]
        return ("; " if speaker().marks and "," in "".join(shown) else ", ").join(shown)

    def __repr__(self) -> str:
        return ", ".join(map(repr, self))

    def __format__(self, form: str) -> str:
        return format(str(self), form)


def say(sentence: str, /, **values: Any) -> Text:
    """A sentence and its values."""
    return Text(sentence, values)


def say_n(one: str, many: str, n: int, /, **values: Any) -> Text:
    """A sentence about a number of things: `say_n("{n:,} coupon", "{n:,} coupons", 3)`."""
    return Text(one, {"n": n, **values}, many)


def warn(sentence: str, /, **values: Any) -> Text:
    """A sentence that is a warning; it is marked as such when shown."""
    return Text(sentence, values, severity=Severity.WARNING)


def joined(parts: Iterable[object], separator: str = " ") -> Text:
    """Several sentences as one; empty ones are left out."""
    named = {f"part{number}": part for number, part in enumerate(part for part in parts if part)}
    return _Joined("joined", named, separator) if named else Text("")


@dataclass(frozen=True)
class _Joined(Text):
    def __str__(self) -> str:
        return self.many.join(str(part) for part in self.values.values())


def first_warning(warnings: Sequence[Text]) -> list[Text]:
    """The first of several warnings, and how many more the details have; nothing if there are none."""
    more = len(warnings) - 1
    if more < 1:
        return list(warnings)
    return [warn("{first} ({n:,} more: {details})", first=warnings[0], n=more, details=Remedy("details", True))]


def marked(text: object) -> str:
    """A sentence as a terminal or a file shows it: a warning begins with the word "Warning"."""
    grave = getattr(text, "severity", None)
    return str(say("Warning: {sentence}", sentence=text)) if grave is Severity.WARNING else str(text)


# Numbers ----------------------------------------------------------------------------------------------------------


def in_digits(value: float, form: str) -> Text:
    """A number in a form such as ",.1f"."""
    return Text(f"{{n:{form}}}", {"n": value})


def percent(share: float) -> Text:
    """A share such as 31%; only exactly 0 is 0%, and only exactly 1 is 100%."""
    if 0.0 < share < 0.005:
        return say("under 1%")
    if 0.995 <= share < 1.0:
        return say("over 99%")
    return say("{share:.0%}", share=share)


def n_coupons(number: int) -> Text:
    """A number of coupons: 1 coupon, 1,200 coupons."""
    return say_n("{n:,} coupon", "{n:,} coupons", number)


def n_people(number: int) -> Text:
    """A number of people: 1 person, 1,200 people."""
    return say_n("{n:,} person", "{n:,} people", number)


def ordinal(number: int) -> Text:
    """An ordinal number: first, second, ..., 6th."""
    named = {1: say("first"), 2: say("second"), 3: say("third"), 4: say("fourth"), 5: say("fifth")}
    return named.get(number, say("{number}th", number=number))
