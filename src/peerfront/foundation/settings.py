"""Checked settings: one rule for each kind of value, so that every part of the program refuses the same things.

A rule takes the name and the value of a setting and returns the value in plain Python types, or raises an error that
says what was found and what is allowed. A settings class applies its rules when it is made:

    def __post_init__(self) -> None:
        check_fields(self, budget=at_least(1), seed=seed_number, max_per_person=optional(at_least(1)))
"""

import math
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any

import numpy as np

from peerfront.foundation.errors import SettingError, UnknownName

Rule = Callable[[str, Any], Any]
_NUMBERS = (int, float, np.integer, np.floating)
MOST = 10**9
"""The largest whole number of anything: people, coupons, rounds. Settings with a tighter limit say so."""
MOST_SEED = 10**18 - 1
"""The largest number that names luck."""


def check_fields(settings: object, owner: str = "", /, **rules: Rule) -> None:
    """Hold each named field of a frozen settings object to its rule, and keep it as a plain Python value.

    `owner` tells users whose setting it is: "coupons of constant must be ...".
    """
    ending = f" of {owner}" if owner else ""
    for name, rule in rules.items():
        object.__setattr__(settings, name, rule(name.replace("_", " ") + ending, getattr(settings, name)))


# Rules -----------------------------------------------------------------------------------------------------------


def at_least(smallest: int, largest: int | None = None) -> Rule:
    """Rule: a whole number of at least `smallest` and at most `largest` (None: MOST, more than anything has)."""
    return lambda name, value: whole_number(name, value, smallest, largest)


def optional(rule: Rule) -> Rule:
    """Rule: None, or what the other rule allows."""
    return lambda name, value: None if value is None else rule(name, value)


def several(rule: Rule) -> Rule:
    """Rule: one or more values, each as the other rule wants it; kept as a tuple."""

    def check(name: str, value: Any) -> tuple[Any, ...]:
        values = tuple(rule(f"each of {name}", each) for each in _several(name, value))
        if not values:
            raise SettingError(f"{name} is empty; give at least one.")
        return values

    return check


def among(kind: str, allowed: Iterable[str]) -> Rule:
    """Rule: one of these names; `kind` says in messages what they are names of."""
    return lambda _, value: one_of(kind, value, allowed)


def one_or_more(name: str, value: Any) -> int:
    """Rule: a whole number of at least 1."""
    return whole_number(name, value, 1)


def seed_number(name: str, value: Any) -> int:
    """Rule: any whole number of at most 18 digits."""
    return int(
        _number(name, value, "a whole number of at most 18 digits", lambda v: v == int(v) and abs(v) <= MOST_SEED)
    )


def step_size(name: str, value: Any) -> float:
    """Rule: a learning rate. Adam moves every weight by about that much at each step: above 1 nothing is learned."""
    return float(_number(name, value, "a number above 0 and at most 1, such as 0.001", lambda v: 0 < v <= 1))


def positive(name: str, value: Any) -> float:
    """Rule: a number above 0."""
    return float(_number(name, value, "a number above 0 and at most 1e9", lambda v: 0 < v <= MOST))


def not_negative(name: str, value: Any) -> float:
    """Rule: a number of at least 0."""
    return float(_number(name, value, "a number of at least 0 and at most 1e9", lambda v: 0 <= v <= MOST))


def spread(name: str, value: Any) -> float:
    """Rule: how much people differ (a standard deviation of log rates), from 0 to 100."""
    return float(_number(name, value, "a number of at least 0 and at most 100", lambda v: 0 <= v <= 100))


def mean_rate(name: str, value: Any) -> float:
    """Rule: a mean number of recruits, above 0 and at most 1,000."""
    return float(_number(name, value, "a number above 0 and at most 1,000", lambda v: 0 < v <= 1_000))


def share(name: str, value: Any) -> float:
    """Rule: a part of the data that leaves something on both sides."""
    return float(_number(name, value, "a share above 0 and below 1, such as 0.2", lambda v: 0 < v < 1))


def proportion(name: str, value: Any) -> float:
    """Rule: a share from 0 to 1, both included."""
    return float(_number(name, value, "a share between 0 and 1", lambda v: 0 <= v <= 1))


def between(low: float, high: float, allowed: str) -> Rule:
    """Rule: a number from `low` to `high`, both included; `allowed` describes it in messages."""
    return lambda name, value: float(_number(name, value, allowed, lambda v: low <= v <= high))


def up_to(high: float, allowed: str) -> Rule:
    """Rule: a number above 0 and at most `high`; `allowed` describes it in messages."""
    return lambda name, value: float(_number(name, value, allowed, lambda v: 0.0 < v <= high))


def inside(low: float, high: float) -> Rule:
    """Rule: a number above `low` and below `high`."""
    allowed = f"a number above {low:g} and below {high:g}"
    return lambda name, value: float(_number(name, value, allowed, lambda v: low < v < high))


def number_pair(name: str, value: Any) -> tuple[float, float]:
    """Rule: two numbers."""
    numbers = _several(name, value)
    if len(numbers) != 2:
        raise SettingError(f"{name} must be two numbers; found {value!r}.")
    first, second = (float(_number(f"each of {name}", each, "a number", lambda v: True)) for each in numbers)
    return first, second


def truth(name: str, value: Any) -> bool:
    """Rule: True or False."""
    if not isinstance(value, bool | np.bool_):
        raise SettingError(f"{name} must be True or False; found {value!r}.")
    return bool(value)


def layer_widths(name: str, value: Any) -> tuple[int, ...]:
    """Rule: widths of hidden layers; none at all is allowed."""
    return tuple(whole_number(f"each of {name} (a layer's width)", width, 1) for width in _several(name, value))


def text(name: str, value: Any) -> str:
    """Rule: a text, which may be empty."""
    if not isinstance(value, str):
        raise SettingError(f"{name} must be a text in quotation marks; found {value!r}.")
    return str(value)


def text_list(name: str, value: Any) -> tuple[str, ...]:
    """Rule: texts, none at all included."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SettingError(f"{name} must be a list of texts; found {value!r}. Write a single one as ({value!r},).")
    texts = tuple(value)
    for text in texts:
        if not isinstance(text, str):
            raise SettingError(f"each of {name} must be a text in quotation marks; found {text!r}.")
    return tuple(map(str, texts))


def penalty_list(name: str, value: Any) -> tuple[float, ...]:
    """Rule: one or more numbers of at least 0."""
    penalties = tuple(not_negative(f"each of {name}", penalty) for penalty in _several(name, value))
    if not penalties:
        raise SettingError(f"{name} is empty; give at least one number, such as 0.1.")
    return penalties


def discount_factor(name: str, value: Any) -> float:
    """Rule: a discount above 0 and at most 1."""
    return checked_discount(value)


# Single values ---------------------------------------------------------------------------------------------------


def whole_number(name: str, value: Any, at_least: int, at_most: int | None = None) -> int:
    """Return `value` as an int, or raise an error that says what was found and what is allowed."""
    largest = MOST if at_most is None else at_most
    if not _is_finite(value):
        raise SettingError(f"{name} must be a whole number of at least {at_least}; found {_found(value)}.")
    if value != int(value) or value < at_least:
        raise SettingError(f"{name} must be a whole number of at least {at_least}; found {_found(value)}.")
    if value > largest:
        raise SettingError(
            f"{name} must be a whole number of at least {at_least} and at most {largest:,}; found {_found(value)}."
        )
    return int(value)


def checked_discount(value: Any) -> float:
    """Return a discount factor in (0, 1], or raise an error."""
    if isinstance(value, bool) or not isinstance(value, _NUMBERS) or not 0.0 < value <= 1.0:
        raise SettingError(
            f"A discount must lie above 0 and be at most 1; found {value!r}. "
            "Use 1 to value late recruits like early ones."
        )
    return float(value)


def calendar_day(name: str, value: Any) -> date:
    """Return a day that was typed as year-month-day, or raise an error."""
    if isinstance(value, date):
        return value
    text = str(value).strip()
    try:
        if len(text) != len("2026-03-02"):  # Python also reads 20260302 and weeks
            raise ValueError
        return date.fromisoformat(text)
    except ValueError:
        raise SettingError(
            f"{name} must be year-month-day, such as 2026-03-02; found {text[:40]!r}. Write it like that."
        ) from None


def optional_day(name: str, value: Any) -> str:
    """Rule: a day as year-month-day, or nothing; kept as text."""
    return calendar_day(name, value).isoformat() if value is not None and str(value).strip() else ""


def one_of(kind: str, value: Any, allowed: Iterable[str]) -> str:
    """Return a known name, or raise an error that suggests one."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        raise UnknownName(kind, str(value), names)
    return value


def _number(name: str, value: Any, allowed: str, fits: Callable[[Any], bool]) -> Any:
    if not _is_finite(value) or not fits(value):
        raise SettingError(f"{name} must be {allowed}; found {_found(value)}.")
    return value


def _is_finite(value: Any) -> bool:
    """Tell whether a value is a number that a float can hold: Python's whole numbers can be larger."""
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _found(value: Any) -> str:
    """Write a value for a message: numbers shortly, whole numbers of thousands of digits by their length."""
    if isinstance(value, float | np.floating):
        return f"{value:g}"
    if isinstance(value, int | np.integer) and abs(int(value)) >= 10**18:
        return f"a whole number of {int(abs(int(value)).bit_length() * math.log10(2)) + 1:,} digits or so"
    return repr(value)


def _several(name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SettingError(f"{name} must be a list; found {value!r}. Write a single one as ({value!r},).")
    return tuple(value)
