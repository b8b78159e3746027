"""What settings and inputs of the models are allowed: one rule each, so that every fit refuses the same things.

A rule takes the name and the value of a setting and returns the value, or raises an error that says what is allowed.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.covariates import Codes, Schema
from peerfront.errors import DataFileError, SettingError, UnknownName
from peerfront.problem import History, whole_number
from peerfront.randomness import Luck

Rule = Callable[[str, Any], Any]
_NUMBERS = (int, float, np.integer, np.floating)


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
    return _number(name, value, "a number above 0 and at most 1, such as 0.001", lambda v: 0 < v <= 1)


def not_negative(name: str, value: Any) -> float:
    return _number(name, value, "a number of at least 0", lambda v: v >= 0)


def share(name: str, value: Any) -> float:
    """A part of the data that leaves something on both sides."""
    return _number(name, value, "a share above 0 and below 1, such as 0.2", lambda v: 0 < v < 1)


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


def check_people(schema: Schema, codes: Codes) -> None:
    """Category codes of this schema: with others NumPy would find some answer of its own."""
    if not isinstance(codes, np.ndarray) or not np.issubdtype(codes.dtype, np.integer):
        found = f"an array of {codes.dtype}" if isinstance(codes, np.ndarray) else type(codes).__name__
        raise SettingError(
            f"Covariates must be an array of whole-numbered category codes; found {found}. "
            "Schema.encode makes one from records."
        )
    schema.check(codes)


def check_luck(codes: Codes, luck: Luck) -> None:
    """One luck each: a single one would silently be everybody's."""
    if len(luck) != len(codes):
        raise SettingError(f"There are {len(codes)} covariate rows and {len(luck)} lucks; give one of each per person.")


def check_schema(model: object, schema: Schema) -> None:
    """A model that names its schema is only judged on data with that schema."""
    own = getattr(model, "schema", schema)
    if own != schema:
        raise SettingError(
            f"The model knows people by {_described(own)}, the data by {_described(schema)}. "
            "Encode the data with the model's schema, or fit a model to them."
        )


def _described(schema: Schema) -> str:
    fields = [f"{field.name} ({len(field)} categories)" for field in schema.fields]
    return ", ".join(fields[:4]) + (f" and {len(fields) - 4} more fields" if len(fields) > 4 else "")


def informative_rows(history: History) -> NDArray[np.int64]:
    """Rows that say something about capacities: somebody was given a voucher. Without any there is nothing to learn."""
    check_people(history.schema, history.referrers)
    counts = np.stack([history.vouchers, history.recruits])
    if not np.issubdtype(counts.dtype, np.integer):
        raise DataFileError(
            f"Vouchers and recruits are stored as {counts.dtype}; they are counts. Fill or drop missing ones, and "
            "convert them to whole numbers."
        )
    rows = np.flatnonzero(history.vouchers > 0)
    if not len(rows):
        raise SettingError(
            "No row says anything about capacities: nobody was given a voucher. Add people with at least one."
        )
    return rows
