"""What is known about a person: named categorical fields, and the only place that knows their layout.

Inside the program a person is a row of category codes, one small integer per field; networks see the one-hot row of
the paper (x in {0, 1}^72). A code of -1 means "not known" and becomes a block of zeros.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import note
from peerfront.foundation.typed_values import typed_number

Codes = NDArray[np.int16]  # [people, fields]
UNKNOWN = -1
MOST_CATEGORIES = int(np.iinfo(np.int16).max)
"""Categories that one field can have: codes are small integers, counted from 0."""
_IN_CACHE = 512  # people whose sums stay in the processor's cache


@dataclass(frozen=True)
class Field:
    """One categorical covariate: its name and the names of its categories, in the order of their codes."""

    name: str
    categories: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.categories:
            raise SettingError("fields.no_categories", name=self.name)
        if len(self.categories) > MOST_CATEGORIES:
            raise SettingError(
                "fields.too_many_categories", name=self.name, n=len(self.categories), most=MOST_CATEGORIES
            )
        if len(set(self.categories)) != len(self.categories):
            repeated = sorted(c for c, count in Counter(self.categories).items() if count > 1)
            raise SettingError("fields.category_twice", name=self.name, repeated=list(repeated))

    def __len__(self) -> int:
        return len(self.categories)

    @cached_property
    def code_of(self) -> Mapping[str, int]:
        return {category: code for code, category in enumerate(self.categories)}


@dataclass(frozen=True)
class Schema:
    """The fields of a study, in order; turns codes into records and one-hot rows."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        if not names:
            raise SettingError("fields.none")
        if len(set(names)) != len(names):
            raise SettingError("fields.same_name", names=list(names))

    @classmethod
    def of_sizes(cls, sizes: Mapping[str, int]) -> "Schema":
        """Fields whose categories are just numbered 1 .. size."""
        return cls(tuple(Field(name, tuple(str(c + 1) for c in range(size))) for name, size in sizes.items()))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Categories per field, [fields]."""
        return np.array([len(field) for field in self.fields], dtype=np.int64)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """The one-hot column at which each field starts, [fields]."""
        starts: NDArray[np.int64] = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.sizes)[:-1]])
        return starts

    @property
    def columns(self) -> int:
        """Width of the one-hot row (72 in the paper)."""
        return int(self.sizes.sum())

    def one_hot(self, codes: Codes) -> NDArray[np.float32]:
        """Rows of zeros and ones, [people, columns]; an unknown category is a block of zeros."""
        rows = np.zeros((len(codes), self.columns), dtype=np.float32)
        places = np.arange(len(codes))[:, None] * self.columns + self.offsets + codes
        filled = codes >= 0
        rows.reshape(-1)[places if filled.all() else places[filled]] = 1.0
        return rows

    def linear(self, weights: NDArray[np.float64], codes: Codes) -> NDArray[np.float64]:
        """weights . x for one-hot x, without building x: a table look-up per field, [people]."""
        padded = np.append(weights, 0.0)  # the last entry answers for unknown categories
        scores: NDArray[np.float64] = padded[np.where(codes >= 0, self.offsets + codes, len(weights))].sum(axis=1)
        return scores

    def summed_rows(self, weights: NDArray[np.float32], codes: Codes) -> NDArray[np.float32]:
        """x @ weights for one-hot x, [people, outputs] from [columns, outputs]; nobody's sums depend on the others."""
        padded = np.concatenate([weights, np.zeros((1, weights.shape[1]), dtype=weights.dtype)])  # unknown: zeros
        places = np.where(codes >= 0, self.offsets + codes, len(weights))
        sums = np.empty((len(codes), weights.shape[1]), dtype=weights.dtype)
        for start in range(0, len(codes), _IN_CACHE):
            part = slice(start, start + _IN_CACHE)
            sums[part] = padded.take(places[part, 0], axis=0)
            for field in range(1, len(self.fields)):
                sums[part] += padded.take(places[part, field], axis=0)
        return sums

    def decode(self, codes: Codes) -> list[dict[str, str]]:
        """Records by category name; unknown categories become empty text."""
        return [
            {f.name: f.categories[c] if c >= 0 else "" for f, c in zip(self.fields, row, strict=True)} for row in codes
        ]

    def check(self, codes: Codes) -> None:
        """Refuse what are not category codes of this schema, before they become a wrong answer."""
        if not isinstance(codes, np.ndarray) or not np.issubdtype(codes.dtype, np.integer):
            is_array = isinstance(codes, np.ndarray)
            kind = note("fields.array_of", kind=str(codes.dtype)) if is_array else type(codes).__name__
            raise SettingError("fields.no_codes", value=kind)
        if codes.ndim != 2 or codes.shape[1] != len(self.fields):
            raise SettingError("fields.bad_shape", shape=codes.shape, n=len(self.fields))
        wrong = (codes < UNKNOWN) | (codes >= self.sizes)
        if wrong.any():
            person, field = (int(index[0]) for index in np.nonzero(wrong))
            allowed = {"name": self.names[field], "most": self.sizes[field] - 1, "unknown": UNKNOWN}
            raise SettingError("fields.bad_code", row=person, value=codes[person, field], **allowed)


@dataclass(frozen=True, eq=False)
class Kinds:
    """People counted by kind: those with the same codes in every field."""

    rows: Codes  # [kinds, fields]
    kind: NDArray[np.int64]  # [people], the row of each person
    number: NDArray[np.int64]  # [kinds], people of each


def kinds_of(codes: Codes) -> Kinds:
    """Count people by kind; kinds are in the order of their codes, the first field first."""
    lowest = codes.min(axis=0, initial=0).astype(np.int64)
    spans = codes.max(axis=0, initial=0).astype(np.int64) - lowest + 1
    if float(np.prod(spans.astype(np.float64))) < 2.0**62:  # one number says a whole row: ten times faster
        places = np.append(np.cumprod(spans[:0:-1])[::-1], 1)
        key = np.zeros(len(codes), dtype=np.int64)
        for field in range(codes.shape[1]):
            key += (codes[:, field] - lowest[field]) * places[field]
        _, first, kind, number = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    else:
        _, first, kind, number = np.unique(codes, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return Kinds(codes[first], kind.reshape(-1), number)


def uniform_codes(schema: Schema, uniforms: NDArray[np.float64]) -> Codes:
    """A category drawn evenly in each field, from one uniform per person and field."""
    codes: Codes = (uniforms * schema.sizes).astype(np.int16)
    return codes


def categories_in(values: Sequence[str]) -> tuple[str, ...]:
    """The categories that occur, in a stable order: numbers by size, then text by alphabet."""

    def order(value: str) -> tuple[int, float, str]:
        number = typed_number(value)  # "NAN" and "inf" are texts: a value that equals nothing has no place
        return (1, 0.0, value) if number is None else (0, number, value)

    return tuple(sorted(set(values), key=order))
