"""Checked settings: one rule for each kind of value, so that every part of the program refuses the same things.

A rule takes the name and the value of a setting and returns the value in plain Python types, or raises an error that
says what was found and what is allowed. A settings class applies its rules with `check_fields`.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from peerfront.foundation.errors import SettingError, UnknownName

Rule = Callable[[str, Any], Any]
_NUMBERS = (int, float, np.integer, np.floating)


def whole_number(name: str, value: Any, at_least: int) -> int:
    """`value` as an int, or an error that says what was found and what is allowed."""
    if isinstance(value, bool) or not isinstance(value, _NUMBERS) or not math.isfinite(value):
        raise SettingError(f"{name} must be a whole number of at least {at_least}; found {value!r}.")
    if value != int(value) or value < at_least:
        raise SettingError(f"{name} must be a whole number of at least {at_least}; found {value:g}.")
    return int(value)


def checked_discount(value: Any) -> float:
    """A discount factor in (0, 1], or an error."""
    if isinstance(value, bool) or not isinstance(value, _NUMBERS) or not 0.0 < value <= 1.0:
        raise SettingError(
            f"A discount must lie above 0 and be at most 1; found {value!r}. "
            "Use 1 to value late recruits like early ones."
        )
    return float(value)


def check_fields(settings: object, **rules: Rule) -> None:
    """Hold each named field of a frozen settings object to its rule, in plain Python types."""
    for name, rule in rules.items():
        object.__setattr__(settings, name, rule(name.replace("_", " "), getattr(settings, name)))


def one_or_more(name: str, value: Any) -> int:
    return whole_number(name, value, 1)


def seed_number(name: str, value: Any) -> int:
    """Any whole number. As an int: randomness is named by it, and NumPy's 3 would be another name than Python's."""
    return int(_number(name, value, "a whole number", lambda v: v == int(v)))


def step_size(name: str, value: Any) -> float:
    """A learning rate. Adam moves every weight by about that much at each step: above 1 nothing is learned."""
    return float(_number(name, value, "a number above 0 and at most 1, such as 0.001", lambda v: 0 < v <= 1))


def not_negative(name: str, value: Any) -> float:
    return float(_number(name, value, "a number of at least 0", lambda v: v >= 0))


def share(name: str, value: Any) -> float:
    """A part of the data that leaves something on both sides."""
    return float(_number(name, value, "a share above 0 and below 1, such as 0.2", lambda v: 0 < v < 1))


def _number(name: str, value: Any, allowed: str, fits: Callable[[Any], bool]) -> Any:
    known = isinstance(value, _NUMBERS) and not isinstance(value, bool)
    if not known or not math.isfinite(value) or not fits(value):
        raise SettingError(f"{name} must be {allowed}; found {value!r}.")
    return value if isinstance(value, int) else value.item() if isinstance(value, np.generic) else value


def layer_widths(name: str, value: Any) -> tuple[int, ...]:
    """Hidden layers; none at all is allowed."""
    return tuple(whole_number(f"each of {name} (a layer's width)", width, 1) for width in _several(name, value))


def penalty_list(name: str, value: Any) -> tuple[float, ...]:
    penalties = tuple(not_negative(f"each of {name}", penalty) for penalty in _several(name, value))
    if not penalties:
        raise SettingError(f"{name} is empty; give at least one number, such as 0.1.")
    return penalties


def _several(name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SettingError(f"{name} must be a list of numbers; found {value!r}. Write a single one as ({value!r},).")
    return tuple(value)


def one_of(kind: str, found: Any, allowed: Iterable[str]) -> str:
    """A known name, or an error that suggests one."""
    names = tuple(allowed)
    if not isinstance(found, str) or found not in names:
        raise UnknownName(kind, str(found), names)
    return found
