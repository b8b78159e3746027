"""The plainest generator: for each field a table, recruiter's category -> recruit's category.

Rows with few pairs are shrunk towards the recruits' marginal; how strongly is chosen field by field by leave-one-out
likelihood. A category that no recruiter has, and an unknown one, give the marginal itself.

Such a table holds every count of recruiter and recruit: it can be solved for them. `fit_private_inheritance` makes one
from which no count under five can be recovered, for models that leave the house.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.randomness import Luck
from peerfront.foundation.stored import Stored, rounded_counts
from peerfront.models.offspring.pairs import Pairs

Array = NDArray[np.float64]
SHRINKAGES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)  # pairs the marginal is worth
_CHUNK = 4096  # children sampled at once: keeps the arrays in cache
_LARGE_CELL = 10  # pairs of a cell of its own in a private table; those, and matches, are rounded to multiples of it
_STRUCTURE_PAIRS = 50.0  # pairs that the paper's structure is worth in a private table
_MOST_ALIKE = 0.98


@dataclass(frozen=True, eq=False)
class InheritanceTable:
    """Transition tables, one per field; the last row of each is for unknown recruiters."""

    schema: Schema
    tables: tuple[Array, ...]  # per field [categories + 1, categories]
    name: str = "inheritance"

    @property
    def field_tables(self) -> tuple[Array, ...]:
        """The same tables, for bounds: each field depends on that field of the recruiter alone."""
        return self.tables

    def probabilities(self, parents: Codes) -> list[Array]:
        """Per field the chances of each category, [children, categories]."""
        self.schema.check(parents)
        return [table[parents[:, f]] for f, table in enumerate(self.tables)]

    @cached_property
    def _summed(self) -> Array:
        """Summed chances, [fields, most categories + 1, most categories]; the last row is for unknown recruiters, and
        what a field does not have is never reached."""
        most = int(self.schema.sizes.max())
        summed = np.full((len(self.tables), most + 1, most), np.inf)
        for field, table in zip(summed, self.tables, strict=True):
            size = table.shape[1]
            field[[*range(size), -1], :size] = np.cumsum(table, axis=1)
        return summed

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        """`draw_fields` of the tables, with their sums made once."""
        self.schema.check(parents)
        luck.check(len(parents))
        uniforms = luck.uniforms("offspring", len(self.tables))
        children, fields = np.empty(parents.shape, dtype=np.int16), np.arange(len(self.tables))
        for start in range(0, len(parents), _CHUNK):
            part = slice(start, start + _CHUNK)
            passed = uniforms[part, :, None] > self._summed[fields, parents[part]]
            # Rounding can leave the sum a hair below 1.
            children[part] = np.minimum(passed.sum(axis=2), self.schema.sizes - 1)
        return children

    def stored(self) -> Stored:
        return Stored({}, {f"field {f}": table for f, table in enumerate(self.tables)})

    @classmethod
    def restored(cls, stored: Stored, schema: Schema) -> "InheritanceTable":
        tables = tuple(stored.array(f"field {f}", (size + 1, size)) for f, size in enumerate(schema.sizes.tolist()))
        for f, table in enumerate(tables):
            if (table < 0.0).any() or not np.allclose(table.sum(axis=1), 1.0):
                raise DataFileError("generators.no_chances", place=stored.place, field=f)
        return cls(schema, tables)


def draw_fields(probabilities: list[Array], luck: Luck) -> Codes:
    """A category of each field, independently, by inversion of the child's own uniforms."""
    uniforms = luck.uniforms("offspring", len(probabilities))
    columns = [draw_categories(chances, uniforms[:, f]) for f, chances in enumerate(probabilities)]
    return np.stack(columns, axis=1).astype(np.int16)


def draw_categories(chances: Array, uniforms: Array) -> NDArray[np.int64]:
    """The category at which the summed chances reach the uniform, [children] from [children, categories]."""
    codes: NDArray[np.int64] = (uniforms[:, None] > np.cumsum(chances, axis=1)).sum(axis=1)
    return np.minimum(codes, chances.shape[1] - 1)  # rounding can leave the sum a hair below 1


def fit_inheritance(pairs: Pairs) -> InheritanceTable:
    """Fit the tables: counts of pairs, shrunk towards the marginal."""
    return InheritanceTable(
        pairs.schema,
        tuple(
            _field_table(field_counts(pairs.parents[:, f], pairs.children[:, f], int(size)))
            for f, size in enumerate(pairs.schema.sizes)
        ),
    )


def fit_private_inheritance(pairs: Pairs) -> InheritanceTable:
    """Tables made from rounded counts alone (`foundation.stored`): no count under five can be recovered from them.

    In each field recruits are like their recruiter with some chance, and otherwise like anybody (the paper's structure,
    from the totals of categories and of matches). Cells of many pairs, and the rest of their rows together, move the
    table away from that, as far as they outweigh `_STRUCTURE_PAIRS` pairs.
    """
    fields = enumerate(pairs.schema.sizes.tolist())
    tables = (private_table(field_counts(pairs.parents[:, f], pairs.children[:, f], size)) for f, size in fields)
    return InheritanceTable(pairs.schema, tuple(tables))


def private_table(counts: Array, alike: float | None = None, usual: Array | None = None) -> Array:
    """Chances from counts, [categories + 1, categories] both; the last row is for unknown recruiters.

    `alike` is the chance that a recruit is like the recruiter, if it is known better than from these counts, and
    `usual` [categories] are pairs that are added to the recruits' own totals.
    """
    totals = rounded_counts(counts.sum(axis=0)) + (0.0 if usual is None else usual)
    marginal = (totals + 0.5) / (totals + 0.5).sum()
    alike = private_alike(counts) if alike is None else min(max(alike, 0.0), _MOST_ALIKE)
    structure = np.vstack([alike * np.eye(len(marginal)) + (1.0 - alike) * marginal, marginal])
    large = counts >= _LARGE_CELL
    rest = rounded_counts(np.where(large, 0.0, counts).sum(axis=1, keepdims=True))
    spread = np.where(large, 0.0, structure)
    spread /= np.maximum(spread.sum(axis=1, keepdims=True), 1e-300)
    kept_counts = np.where(large, rounded_counts(counts, _LARGE_CELL), rest * spread)
    table: Array = (kept_counts + _STRUCTURE_PAIRS * structure) / (
        kept_counts.sum(axis=1, keepdims=True) + _STRUCTURE_PAIRS
    )
    table[-1] = marginal
    return table


def private_alike(counts: Array) -> float:
    """The chance that a recruit is like the recruiter, and otherwise like anybody, from rounded counts."""
    totals = rounded_counts(counts.sum(axis=0))
    marginal = (totals + 0.5) / (totals + 0.5).sum()
    by_chance = (marginal**2).sum()
    matching = rounded_counts(np.trace(counts), _LARGE_CELL) / max(totals.sum(), 1.0)
    return float(np.clip((matching - by_chance) / max(1.0 - by_chance, 1e-9), 0.0, _MOST_ALIKE))


def field_counts(parents: NDArray[np.int16], children: NDArray[np.int16], size: int) -> Array:
    """Pairs by the recruiter's and the recruit's category, [categories + 1, categories]."""
    known = children >= 0
    counts = np.zeros((size + 1, size))
    np.add.at(counts, (parents[known], children[known]), 1.0)  # an unknown recruiter, -1, is the last row
    return counts


def _field_table(counts: Array) -> Array:
    marginal = counts.sum(axis=0) + 0.5
    marginal /= marginal.sum()
    best = max(SHRINKAGES, key=lambda shrinkage: _leave_one_out(counts, marginal, shrinkage))
    table: Array = (counts + best * marginal) / (counts.sum(axis=1, keepdims=True) + best)
    table[-1] = marginal
    return table


def _leave_one_out(counts: Array, marginal: Array, shrinkage: float) -> float:
    """Log-likelihood of each pair given all the others."""
    others = np.maximum(counts.sum(axis=1, keepdims=True) - 1.0, 0.0)  # empty rows do not count below
    chances = (counts - 1.0 + shrinkage * marginal) / (others + shrinkage)
    return float((counts * np.log(np.where(counts > 0, np.maximum(chances, 1e-300), 1.0))).sum())
