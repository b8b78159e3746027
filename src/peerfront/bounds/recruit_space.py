"""Kinds of recruits that a table of prices lists, and the mean over the recruits of each recruiter.

A table needs the chances of every kind of recruit, given every kind of recruiter. Where each field of a recruit depends
on the same field of the recruiter alone, as in most fitted models, two things keep it small:

- Fields that the response model does not look at change nobody's worth, now or later, so they are left out: exactly.
- The matrix is a product of one small table per field (a Kronecker product), which is applied field by field.

A recruiter's category may also be unknown, as in a file with missing answers; a recruit's never is.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.problem import OffspringModel, ResponseModel

Array = NDArray[np.float64]


@runtime_checkable
class InheritsByField(Protocol):
    """An offspring model in which a recruit's field depends on the same field of the recruiter, and on nothing else."""

    @property
    def field_tables(self) -> tuple[Array, ...]:
        """Per field the chances of each category, [categories + 1, categories]; the last row is for an unknown one."""
        ...


@runtime_checkable
class LooksAtSomeFields(Protocol):
    """A response model that says which fields it looks at."""

    @property
    def columns_used(self) -> tuple[int, ...] | None:
        """Columns of the codes; all others change nothing. None if it cannot say."""
        ...


@dataclass(frozen=True, eq=False)
class RecruitSpace:
    """The fields that matter, each inherited by a table of its own."""

    columns: tuple[int, ...]  # those that matter
    fields: int  # of a person, in all
    tables: tuple[Array, ...]  # for each column that matters [categories + 1, categories]

    @classmethod
    def of(cls, response: ResponseModel, offspring: OffspringModel, schema: Schema) -> "RecruitSpace | None":
        """None where a recruit's fields do not depend on the recruiter one by one."""
        if not isinstance(offspring, InheritsByField):
            return None
        columns = response.columns_used if isinstance(response, LooksAtSomeFields) else None
        if columns is None:
            columns = tuple(range(len(schema.fields)))
        return cls(columns, len(schema.fields), tuple(offspring.field_tables[column] for column in columns))

    @property
    def recruiters(self) -> int:
        """Number of kinds of recruiters, with unknown categories."""
        return int(np.prod([len(table) for table in self.tables], dtype=np.float64))

    @property
    def people(self) -> Codes:
        """One recruit of every kind, [kinds, fields]."""
        sizes = [table.shape[1] for table in self.tables]
        rows = np.zeros((int(np.prod(sizes)), self.fields), dtype=np.int16)
        if sizes:
            rows[:, self.columns] = np.stack(np.unravel_index(np.arange(len(rows)), sizes), axis=1)
        return rows

    def means(self, values: Array) -> Array:
        """Mean over the recruits of each recruiter, [recruiters, prices], of values of recruits, [kinds, prices]."""
        by_field = values.reshape(*(table.shape[1] for table in self.tables), -1)
        for axis, table in enumerate(self.tables):
            by_field = np.moveaxis(np.tensordot(table, by_field, axes=(1, axis)), 0, axis)
        return by_field.reshape(-1, values.shape[1])

    def of_recruits(self, values: Array) -> Array:
        """The rows of `people`, [kinds, prices], among those of all recruiters, [recruiters, prices]."""
        by_field = values.reshape(*(len(table) for table in self.tables), -1)
        without_unknown = by_field[tuple(slice(-1) for _ in self.tables)]
        return without_unknown.reshape(-1, values.shape[1])

    def places(self, covariates: Codes) -> NDArray[np.int64]:
        """The row of each person among the recruiters, [people]."""
        if not self.tables:
            return np.zeros(len(covariates), dtype=np.int64)
        sizes = [len(table) for table in self.tables]
        codes = [covariates[:, column] % size for column, size in zip(self.columns, sizes, strict=True)]  # -1: the last
        return np.ravel_multi_index(codes, sizes).astype(np.int64)
