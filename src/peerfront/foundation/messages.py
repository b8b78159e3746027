"""What a user has to know, as data: a code, how grave it is, its arguments, and what can be done about it.

Rooms below `words` never write sentences. They say `Message("files.missing", path=path)`, or raise an error with that
code, and `words/messages/*.toml` holds the English sentence of each code, `words/locale` the others. Arguments are
numbers (`Measured` if they have a margin), names, text as people typed it, other messages, remedies, or lists of those.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import Any, ClassVar


class Severity(StrEnum):
    """How grave a message is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Remedy:
    """Something the user can set: `--valid-days 60` in a terminal, `valid_days=60` in Python, a field on a page.

    `value` is None where the user has to choose one; True stands for a setting that is just switched on.
    """

    setting: str
    value: Any = None

    def __str__(self) -> str:
        return str(import_module("peerfront.words.messages").remedy_text(self))


@dataclass(frozen=True)
class Measured:
    """A number and its margin: half the width of its 95% interval. In sentences and tables: 2.4 ± 0.3.

    This is the only place that writes ±. A margin that would be rounded to 0 is shown as 1 in the last decimal; one
    that is not known (NaN), or exactly 0, is left out.
    """

    number: float
    margin: float

    @classmethod
    def of(cls, number: float, standard_error: float, errors: float = 1.96) -> "Measured":
        """From a standard error; where few runs are behind it, `errors` is Student's t."""
        return cls(number, errors * standard_error)

    def __format__(self, form: str) -> str:
        shown = f"{self.number:{form}}"
        if not self.margin > 0.0:
            return shown
        least = 10.0 ** -int(form[-2]) * (0.01 if form.endswith("%") else 1.0)
        return f"{shown} ± {max(self.margin, least):{form.lstrip('+')}}"


@dataclass(frozen=True)
class Message:
    """A code with its arguments; as text it is the code's sentence in the language in use."""

    code: str
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)
    severity: Severity = Severity.NOTE

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """What can be done about it, of this message and of the messages in it."""
        return tuple(remedy for value in self.arguments.values() for remedy in _remedies(value))

    @property
    def has_lines(self) -> bool:
        """Whether it offers settings together (`Remedies`), which a terminal shows as lines to paste."""
        return any(map(_has_lines, self.arguments.values()))

    def __str__(self) -> str:
        # `words` is above this room and knows every sentence: it is asked only when somebody reads the message.
        return str(import_module("peerfront.words.messages").text_of(self))


class Remedies(tuple[Remedy, ...]):
    """Settings to be given together."""

    __slots__ = ()


class Lines(tuple[Any, ...]):
    """Messages that a sentence shows one below the other, indented."""

    __slots__ = ()


def note(code: str, /, **arguments: Any) -> Message:
    """A message that is good to know."""
    return Message(code, arguments)


def warning(code: str, /, **arguments: Any) -> Message:
    """A message that somebody should act on."""
    return Message(code, arguments, Severity.WARNING)


def in_english(message: Message | str) -> str:
    """A message's English sentence, for files that do not depend on the language in use; other text as it is."""
    if isinstance(message, str):
        return message
    return str(import_module("peerfront.words.messages").in_english(message))


def n_coupons(number: int) -> Message:
    """1 coupon, 1,200 coupons: for the arguments of other messages."""
    return note("amounts.coupon") if number == 1 else note("amounts.coupons", n=number)


def n_people(number: int) -> Message:
    """1 person, 1,200 people: for the arguments of other messages."""
    return note("amounts.person") if number == 1 else note("amounts.people", n=number)


class Readable:
    """A result that people can read: as text, and in a notebook. `words` has the function that writes its sentences."""

    _in_words: ClassVar[str]
    """Module and function of `words`, such as "sheet.sheet_lines"; it takes the result and returns sentences."""
    _details_in_words: ClassVar[str] = ""
    """The same for details; empty if there are none."""

    def lines(self) -> list[Any]:
        """The result in sentences (`words.language.Text`), the most important first."""
        module, _, function = self._in_words.rpartition(".")
        return list(getattr(import_module(f"peerfront.words.{module}"), function)(self))

    def details(self) -> list[Any]:
        """More sentences, for who wants to know."""
        module, _, function = self._details_in_words.rpartition(".")
        return list(getattr(import_module(f"peerfront.words.{module}"), function)(self)) if function else []

    def __str__(self) -> str:
        marked = import_module("peerfront.words.language").marked
        return "\n".join(map(marked, self.lines()))

    def _repr_html_(self) -> str:
        return str(import_module("peerfront.words.notebook").as_html(self))


def first_of(names: Sequence[Any], most: int) -> Any:
    """The first names of a list, and how many more there are, for a sentence."""
    return (
        note("lists.and_more", names=list(names[:most]), more=len(names) - most) if len(names) > most else list(names)
    )


def _has_lines(value: Any) -> bool:
    if isinstance(value, Message):
        return value.has_lines
    return isinstance(value, Remedies) or (isinstance(value, (list, tuple)) and any(map(_has_lines, value)))


def _remedies(value: Any) -> tuple[Remedy, ...]:
    if isinstance(value, Remedy):
        return (value,)
    if isinstance(value, Message):
        return value.remedies
    if isinstance(value, (list, tuple)):
        return tuple(remedy for each in value for remedy in _remedies(each))
    return ()


# How far long work has come ------------------------------------------------------------------------------------------


Progress = Callable[[float, Message | str], None]
"""Called with the share that is done, from 0 to 1, and what is being done: a message, or the name of a part."""
DONE = Message("progress.done")


def silent(share: float, what: Message | str) -> None:
    """Report to nobody."""


def printed(share: float, what: Message | str) -> None:
    """Report on standard error, on one line that is written over."""
    sys.stderr.write(f"\r{share:4.0%} {what!s:<70.70}")
    if share >= 1.0:
        sys.stderr.write("\n")
    sys.stderr.flush()


def part_of(progress: Progress, start: float, end: float, purpose: Message | None = None) -> Progress:
    """Report on a part of the work: its 0 is `start` of the whole, its 1 is `end`; `purpose` goes before the rest."""

    def report(share: float, what: Message | str) -> None:
        named = what if purpose is None else note("progress.part", purpose=purpose, what=what)
        progress(start + (end - start) * share, named)

    return report
