"""What a model is made of, ready to be written down: plain settings and arrays, no code.

Each model that can be saved gives a `Stored` (`stored()`) and can be made again from one (`restored(...)`); the file
format (`artifacts`) only composes them. Reading is strict: what is missing, of another kind or shape, or not finite is
an error that names it.

What is kept must not tell how few people gave an answer: it is computed from counts that were rounded to multiples of
five first, and from categories that at least five people share.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import note

T = TypeVar("T")
_LARGEST = 1e12  # numbers of any array: budgets and the like stay far below
_APART = "/"  # between the name of a part and the name of its array


@dataclass(frozen=True, eq=False)
class Stored:
    """Settings (what JSON can hold: texts, numbers, truths, lists, None) and arrays, by name."""

    settings: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    place: str = "the fit"
    """What this belongs to, for messages."""

    @classmethod
    def of_parts(cls, settings: Mapping[str, Any], **parts: "Stored") -> "Stored":
        """Several as one: settings of a part under its name, arrays as `part/array`."""
        arrays = {f"{name}{_APART}{key}": array for name, part in parts.items() for key, array in part.arrays.items()}
        return cls({**settings, **{name: dict(part.settings) for name, part in parts.items()}}, arrays)

    def part(self, name: str) -> "Stored":
        """One of the parts `of_parts` put together."""
        return Stored(self.setting(name, dict), self.part_arrays(name).arrays, f"{self.place}, {name}")

    def part_arrays(self, name: str) -> "Stored":
        """The arrays of a part that has no settings."""
        prefix = name + _APART
        arrays = {key.removeprefix(prefix): array for key, array in self.arrays.items() if key.startswith(prefix)}
        return Stored({}, arrays, f"{self.place}, {name}")

    def setting(self, name: str, kind: type[T]) -> T:
        """The setting of this name, which must be of this kind (a whole number passes for a float)."""
        value = self.settings.get(name)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            wanted = _KINDS[kind]
            raise DataFileError("stored_fit.other_kind", place=self.place, name=name, value=value, kind=wanted)
        return value

    def optional(self, name: str, kind: type[T]) -> T | None:
        """The same, or None where None is written."""
        return None if name in self.settings and self.settings[name] is None else self.setting(name, kind)

    def later(self, name: str, kind: type[T]) -> T | None:
        """The same, or None in what an earlier version wrote, which did not know this setting."""
        return self.optional(name, kind) if name in self.settings else None

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        values = self.setting(name, list)
        if not all(type(value) is str for value in values):
            raise DataFileError("stored_fit.no_texts", place=self.place, name=name, value=values)
        return tuple(values)

    def number(self, name: str, default: float, least: float) -> float:
        """A number of at least `least`; `default` where it was not written (`unless_default`)."""
        value = self.later(name, float)
        if value is None:
            return default
        if not least <= value < math.inf:
            raise DataFileError("stored_fit.too_small", place=self.place, name=name, value=value, least=least)
        return value

    def whole_numbers(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers."""
        values = self.setting(name, list)
        if not all(type(value) is int for value in values):
            raise DataFileError("stored_fit.no_whole_numbers", place=self.place, name=name, value=values)
        return tuple(values)

    def array(
        self,
        name: str,
        shape: tuple[int | None, ...],
        dtype: type[np.generic] = np.float64,
        *,
        finite: bool = True,
        largest: float = _LARGEST,
    ) -> NDArray[Any]:
        """The array of this name, of this shape (None: any size) and kind; all numbers finite and not absurdly large.

        `finite=False` allows any numbers.
        """
        array = self.arrays.get(name)
        if array is None:
            raise DataFileError("stored_fit.no_array", place=self.place, name=name)
        wanted = np.dtype(dtype)
        fits = len(array.shape) == len(shape) and all(
            size is None or size == own for size, own in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype != wanted:
            sizes = ", ".join("any" if size is None else str(size) for size in shape)
            own, expected = {"kind": str(array.dtype), "shape": array.shape}, str(wanted)
            raise DataFileError(
                "stored_fit.other_shape", place=self.place, name=name, expected=expected, sizes=sizes, **own
            )
        if finite and not np.isfinite(array).all():
            raise DataFileError("stored_fit.not_finite", place=self.place, name=name)
        if finite and (np.abs(array) > largest).any():
            raise DataFileError("stored_fit.too_large", place=self.place, name=name, largest=largest)
        return array


_KINDS = {
    str: note("stored_fit.text"),
    int: note("stored_fit.whole_number"),
    float: note("stored_fit.number"),
    bool: note("stored_fit.truth"),
    list: note("stored_fit.list"),
    dict: note("stored_fit.table"),
}


def unless_default(name: str, value: float, default: float) -> dict[str, float]:
    """A setting to write, or nothing where it has its usual value: such files stay as they were."""
    return {} if value == default else {name: value}


# Counts --------------------------------------------------------------------------------------------------------------


FEWEST = 5
"""A count of fewer people is not told."""


def rounded_counts(counts: Any, to: int = FEWEST) -> NDArray[np.float64]:
    """Round counts to the nearest multiple of five (or `to`): 0, 1 and 2 become 0, and 3 to 7 become 5."""
    rounded: NDArray[np.float64] = to * np.floor(np.asarray(counts, dtype=np.float64) / to + 0.5)
    return rounded


def rounded_count(count: int) -> int:
    """Round one count, as `rounded_counts` does."""
    return int(rounded_counts(count))
