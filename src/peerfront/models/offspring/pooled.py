"""Whom people of a small study bring, helped by earlier studies: how much recruits are like their recruiters.

In each field recruits are like their recruiter with some chance h, and otherwise like anybody (`inheritance`). Who
anybody is, is the study's own business: districts have other shares elsewhere. h is pooled with what earlier models say
of the same field (`models.pooling`); its error in a study of n pairs, of which a share p match, c of them by chance, is
sqrt(p (1 - p) / n) / (1 - c).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Schema
from peerfront.foundation.privacy import rounded_count
from peerfront.models.offspring.inheritance import InheritanceTable, field_counts, private_alike, private_table
from peerfront.models.pooling import Pooled, pooled
from peerfront.problem import History

Array = NDArray[np.float64]
ALIKE_DIFFERS = 0.15
"""How much the chance to be like one's recruiter usually differs between studies."""
_USUAL_PAIRS = 5.0  # that earlier shares of categories are worth
_LEAST_ERROR = 0.02


@dataclass(frozen=True, eq=False)
class EarlierAlike:
    """What one earlier study says about one field."""

    alike: float
    error: float
    shares: Array | None  # [categories], of its recruits; None if its categories are others


def alike_of(parents: NDArray[np.int16], children: NDArray[np.int16], size: int, pairs: int) -> tuple[float, float]:
    """The chance to be like one's recruiter in (many, drawn) pairs, and its error in a study of `pairs` pairs."""
    counts = field_counts(parents, children, size)
    total = max(counts.sum(), 1.0)
    marginal = counts.sum(axis=0) / total
    by_chance = min(float((marginal**2).sum()), 0.99)
    matching = float(np.trace(counts) / max(counts[:-1].sum(), 1.0))
    return float(np.clip((matching - by_chance) / (1.0 - by_chance), 0.0, 1.0)), _error(matching, by_chance, pairs)


def _error(matching: float, by_chance: float, pairs: float) -> float:
    share = min(max(matching, 0.05), 0.95)
    return max(float(np.sqrt(share * (1.0 - share) / max(pairs, 1.0))) / (1.0 - by_chance), _LEAST_ERROR)


def pool_inheritance(
    history: History, earlier: Mapping[str, Sequence[EarlierAlike]]
) -> tuple[InheritanceTable, dict[str, Pooled]]:
    """Tables of whom people bring, from the study's pairs and what earlier studies say by field; and how they count."""
    schema: Schema = history.schema
    tables, found = [], {}
    for number, field in enumerate(schema.fields):
        size = len(field)
        counts = field_counts(history.parents[:, number], history.children[:, number], size)
        others = earlier.get(field.name, ())
        if not others or size < 2:
            tables.append(private_table(counts))
            continue
        pairs = float(rounded_count(int(counts[:-1].sum())))
        marginal = (counts.sum(axis=0) + 0.5) / (counts.sum() + 0.5 * size)
        by_chance = float((marginal**2).sum())
        own = private_alike(counts)
        error = np.inf if pairs == 0.0 else _error(own + (1.0 - own) * by_chance, by_chance, pairs)
        known = pooled(own, error, [each.alike for each in others], [each.error for each in others], ALIKE_DIFFERS)
        shares = [each.shares for each in others if each.shares is not None]
        usual = _USUAL_PAIRS * np.mean(shares, axis=0) if shares else None
        tables.append(private_table(counts, round(known.mean, 2), usual))
        found[field.name] = known
    return InheritanceTable(schema, tuple(tables)), found
