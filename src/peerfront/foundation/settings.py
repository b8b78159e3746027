"""Checked settings: one rule for each kind of value, so that every part of the program refuses the same things.

A rule takes the name and the value of a setting and returns the value in plain Python types, or raises an error that
says what was found and what is allowed. A settings class applies its rules when it is made:

    def __post_init__(self) -> None:
        check_fields(self, budget=at_least(1), seed=seed_number, max_per_person=optional(at_least(1)))

A `Spec` names a world or a policy with its settings in one word: `threshold:cutoff=0.9,at_least=12`.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.messages import Message, note
from peerfront.foundation.typed_values import typed_number

Name = str | Message
"""What messages call a setting."""
Rule = Callable[[Any, Any], Any]
NumberRule = Callable[[Any, Any], float]
_NUMBERS = (int, float, np.integer, np.floating)
MOST = 10**9
"""The largest whole number of anything: people, coupons, rounds. Settings with a tighter limit say so."""
_MOST_SHOWN = 60  # characters of a value in a message
MOST_SEED = 10**18 - 1
"""The largest number that names luck."""


def check_fields(settings: object, owner: str = "", /, **rules: Rule) -> None:
    """Hold each named field of a frozen settings object to its rule, and keep it as a plain Python value.

    `owner` tells users whose setting it is: "coupons of constant must be ...".
    """
    for field, rule in rules.items():
        name: Name = field.replace("_", " ")
        name = note("settings.of", name=name, owner=owner) if owner else name
        object.__setattr__(settings, field, rule(name, getattr(settings, field)))


# Rules -----------------------------------------------------------------------------------------------------------


def at_least(smallest: int, largest: int | None = None) -> Rule:
    """Rule: a whole number of at least `smallest` and at most `largest` (None: MOST, more than anything has)."""
    return lambda name, value: whole_number(name, value, smallest, largest)


def optional(rule: Rule) -> Rule:
    """Rule: None, or what the other rule allows."""
    return lambda name, value: None if value is None else rule(name, value)


def several(rule: Rule, if_empty: str | None = "settings.empty") -> Rule:
    """Rule: values, each as the other rule wants it, kept as a tuple; without any, the error of the code `if_empty`."""

    def check(name: Name, value: Any) -> tuple[Any, ...]:
        values = tuple(rule(_each(name), each) for each in _several(name, value))
        if not values and if_empty:
            raise SettingError(if_empty, name=name)
        return values

    return check


def among(kind: Name, allowed: Iterable[str]) -> Rule:
    """Rule: one of these names; `kind` says in messages what they are names of."""
    return lambda _, value: one_of(kind, value, allowed)


def number_that(fits: Callable[[Any], bool], allowed: Message) -> NumberRule:
    """Rule: a number that fits; `allowed` describes it in messages."""

    def check(name: Name, value: Any) -> float:
        if not is_finite(value) or not fits(value):
            raise SettingError("settings.wrong", name=name, allowed=allowed, value=readable(value))
        return float(value)

    return check


def between(low: float, high: float, allowed: Message | None = None) -> NumberRule:
    """Rule: a number from `low` to `high`, both included; `allowed` describes it in messages."""
    return number_that(lambda v: low <= v <= high, allowed or note("settings.between", low=low, high=high))


def up_to(high: float, allowed: Message | None = None) -> NumberRule:
    """Rule: a number above 0 and at most `high`; `allowed` describes it in messages."""
    return number_that(lambda v: 0.0 < v <= high, allowed or note("settings.up_to", high=high))


def inside(low: float, high: float) -> NumberRule:
    """Rule: a number above `low` and below `high`."""
    return number_that(lambda v: low < v < high, note("settings.inside", low=low, high=high))


one_or_more = at_least(1)
step_size = up_to(1, note("settings.step_size"))
"""Rule: a learning rate. Adam moves every weight by about that much at each step: above 1 nothing is learned."""
positive = up_to(MOST)
not_negative = between(0, MOST)
spread = between(0, 100)
"""Rule: how much people differ (a standard deviation of log rates)."""
mean_rate = up_to(1_000)
"""Rule: a mean number of recruits."""
share = number_that(lambda v: 0 < v < 1, note("settings.inner_share"))
"""Rule: a part of the data that leaves something on both sides."""
proportion = between(0, 1, note("settings.share"))
layer_widths = several(one_or_more, if_empty=None)
"""Rule: widths of hidden layers; none at all is allowed."""
penalty_list = several(not_negative, if_empty="settings.no_penalties")


def seed_number(name: Name, value: Any) -> int:
    """Rule: any whole number of at most 18 digits."""
    number_that(lambda v: v == int(v) and abs(v) <= MOST_SEED, note("settings.seed"))(name, value)
    return int(value)


def number_pair(name: Name, value: Any) -> tuple[float, float]:
    """Rule: two numbers."""
    numbers = _several(name, value)
    if len(numbers) != 2:
        raise SettingError("settings.no_pair", name=name, value=readable(value))
    any_number = number_that(lambda v: True, note("settings.number"))
    return any_number(_each(name), numbers[0]), any_number(_each(name), numbers[1])


def truth(name: Name, value: Any) -> bool:
    """Rule: True or False."""
    if not isinstance(value, bool | np.bool_):
        raise SettingError("settings.no_truth", name=name, value=readable(value))
    return bool(value)


def text(name: Name, value: Any) -> str:
    """Rule: a text, which may be empty."""
    if not isinstance(value, str):
        raise SettingError("settings.no_text", name=name, value=readable(value))
    return str(value)


def text_list(name: Name, value: Any) -> tuple[str, ...]:
    """Rule: texts, none at all included."""
    if not _is_list(value):
        raise SettingError("settings.no_texts", name=name, value=readable(value))
    return tuple(text(_each(name), each) for each in value)


def discount_factor(name: Name, value: Any) -> float:
    """Rule: a discount above 0 and at most 1."""
    return checked_discount(value)


# Single values ---------------------------------------------------------------------------------------------------


def whole_number(name: Name, value: Any, at_least: int, at_most: int | None = None) -> int:
    """Return `value` as an int, or raise an error that says what was found and what is allowed."""
    largest = MOST if at_most is None else at_most
    whole = is_finite(value) and value == int(value)
    if whole and at_least <= value <= largest:
        return int(value)
    if whole and value > largest:
        allowed = note("settings.whole_between", low=at_least, high=largest)
    else:
        allowed = note("settings.at_least", low=at_least)
    raise SettingError("settings.wrong", name=name, allowed=allowed, value=readable(value))


def checked_discount(value: Any) -> float:
    """Return a discount factor in (0, 1], or raise an error."""
    if isinstance(value, bool) or not isinstance(value, _NUMBERS) or not 0.0 < value <= 1.0:
        raise SettingError("settings.discount", value=readable(value))
    return float(value)


def calendar_day(name: Name, value: Any) -> date:
    """Return a day that was typed as year-month-day, or raise an error."""
    if isinstance(value, date) and value == value:  # not so of pandas' NaT
        return value
    text = str(value).strip()
    try:
        if len(text) != len("2026-03-02"):  # Python also reads 20260302 and weeks
            raise ValueError
        return date.fromisoformat(text)
    except ValueError:
        raise SettingError("settings.no_day", name=name, value=text[:40]) from None


def optional_day(name: Name, value: Any) -> str:
    """Rule: a day as year-month-day, or nothing; kept as text."""
    return calendar_day(name, value).isoformat() if value is not None and str(value).strip() else ""


def one_of(kind: Name, value: Any, allowed: Iterable[str]) -> str:
    """Return a known name, or raise an error that suggests one."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        raise UnknownName(kind, value if isinstance(value, str) else str(readable(value)), names)
    return value


def _each(name: Name) -> Message:
    return note("settings.each", name=name)


def is_finite(value: Any) -> bool:
    """Tell whether a value is a number that a float can hold: Python's whole numbers can be larger."""
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def readable(value: Any) -> str | Message:
    """A value for a message: numbers and texts shortly, whole numbers of thousands of digits by their length."""
    if isinstance(value, float | np.floating):
        return f"{value:g}"
    if isinstance(value, int | np.integer) and abs(int(value)) >= 10**18:
        return note("settings.huge", digits=int(abs(int(value)).bit_length() * math.log10(2)) + 1)
    if value is None or isinstance(value, str | bytes | int | np.integer | Path):
        shown = repr(str(value) if isinstance(value, Path) else value)
        return shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}..."
    return note("types.object", name=value.__name__ if isinstance(value, type) else type(value).__name__)


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes) and getattr(value, "ndim", 1) > 0


def _several(name: Name, value: Any) -> tuple[Any, ...]:
    if not _is_list(value):
        raise SettingError("settings.no_list", name=name, value=readable(value))
    return tuple(value)


# Settings in one word ------------------------------------------------------------------------------------------------


Value = str | int | float | tuple[str, ...]


@dataclass(frozen=True)
class Option:
    """One setting that may be given after the colon."""

    kind: type[str] | type[int] | type[float] | type[tuple[str, ...]]
    help: Message | str
    is_file: bool = False
    """Whether the value is the path of a file that what is made depends on."""

    def read(self, owner: str, name: str, text: str) -> Value:
        if self.kind is tuple:
            return tuple(part for part in text.split("+") if part)
        if self.kind is str:
            return text
        number = typed_number(text)
        if self.kind is int and number is not None and abs(number) <= MOST_SEED and number == int(number):
            return int(text) if text.lstrip("+-").isdigit() else int(number)
        if self.kind is float and number is not None:
            return number
        allowed = note("settings.whole" if self.kind is int else "settings.number")
        raise SettingError("specs.wrong", owner=owner, name=name, allowed=allowed, value=text)


@dataclass(frozen=True)
class Spec:
    """A name and the settings given with it, still as text."""

    name: str
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Spec":
        name, _, rest = text.strip().partition(":")
        options = []
        for part in rest.split(",") if rest else []:
            key, equals, value = part.partition("=")
            if not equals or not key.strip():
                raise SettingError("specs.unreadable", part=part, spec=text)
            if key.strip() == "name" and not re.fullmatch(r"\w[\w .-]{0,79}", value.strip()):
                raise SettingError("specs.bad_name", name=value, spec=text)
            options.append((key.strip(), value.strip()))
        return cls(name.strip(), tuple(options))

    def __str__(self) -> str:
        return self.name + (":" + ",".join(f"{k}={v}" for k, v in self.options) if self.options else "")

    @property
    def label(self) -> str:
        """What tables and figures call it: the name it was given (name=...), else its text without folders."""
        named = dict(self.options).get("name")
        if named:
            return named
        short = tuple((key, value.replace("\\", "/").rsplit("/", 1)[-1]) for key, value in self.options)
        return str(Spec(self.name, short))

    def read_options(self, allowed: Mapping[str, Option]) -> dict[str, Any]:
        """The settings as values of their kinds; unknown or repeated ones are errors."""
        values: dict[str, Any] = {}
        for key, text in self.options:
            if key == "name":
                continue  # every world and policy can be given a name for tables and figures
            if key not in allowed:
                if not allowed:
                    raise SettingError("specs.no_settings", name=self.name, key=key)
                raise UnknownName(note("specs.setting_of", name=self.name), key, allowed)
            if key in values:
                raise SettingError("specs.twice", spec=str(self), key=key)
            values[key] = allowed[key].read(self.name, key, text)
        return values
