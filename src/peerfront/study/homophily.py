"""Homophily by field: the share of recruits who are like their recruiter, compared with chance."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, encode_study
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.recruitment_trees import NOBODY

_SHUFFLES = 1000
_TWO_SIDED = 1.959963984540054  # 97.5% quantile of the standard normal


def homophily_table(study: Study, schema: StudySchema, seed: int = 0) -> pd.DataFrame:
    """Measure homophily: field, pairs, same, low, high, chance, chance_low, chance_high, index; one row per field.

    `same` is the share of recruits in their recruiter's category, among pairs where both are known; its 95% interval
    allows for the recruits of one recruiter being alike. `chance` is the share if the same recruits were dealt to the
    same recruiters at random, with the middle 95% of 1,000 deals. `index` is Heckathorn's: 0 for chance, 1 if all are
    alike, below 0 if people avoid their like.
    """
    codes = encode_study(study, schema)
    recruits = np.flatnonzero(study.recruiter != NOBODY)
    recruiter = study.recruiter[recruits]
    shuffles = named_generator("homophily", seed)
    order = shuffles.permuted(np.tile(np.arange(len(recruits)), (_SHUFFLES, 1)), axis=1)  # [shuffles, pairs]
    rows = [
        _row(name, codes[recruiter, number], codes[recruits, number], recruiter, order)
        for number, name in enumerate(rule.name for rule in schema.used)
    ]
    return pd.DataFrame(rows, columns=["field", "pairs", *_COLUMNS])


_COLUMNS = ("same", "low", "high", "chance", "chance_low", "chance_high", "index")


def _row(
    name: str,
    parents: NDArray[np.int16],
    children: NDArray[np.int16],
    recruiter: NDArray[np.int64],
    order: NDArray[np.int64],
) -> dict[str, object]:
    answered = (parents >= 0) & (children >= 0)
    pairs = int(answered.sum())
    if not pairs:
        return {"field": name, "pairs": 0, **dict.fromkeys(_COLUMNS, np.nan)}
    alike = (parents == children)[answered]
    same = float(alike.mean())
    low, high = _interval(alike, recruiter[answered])
    dealt = children[order]  # [shuffles, pairs]
    both = (parents >= 0) & (dealt >= 0)
    by_chance = (both & (dealt == parents)).sum(axis=1) / np.maximum(both.sum(axis=1), 1)
    chance = float(by_chance.mean())
    return {
        "field": name,
        "pairs": pairs,
        "same": same,
        "low": low,
        "high": high,
        "chance": chance,
        "chance_low": float(np.quantile(by_chance, 0.025)),
        "chance_high": float(np.quantile(by_chance, 0.975)),
        "index": _index(same, chance),
    }


def _index(same: float, chance: float) -> float:
    span = 1.0 - chance if same >= chance else chance
    return (same - chance) / span if span > 0.0 else 0.0


def _interval(alike: NDArray[np.bool_], recruiter: NDArray[np.int64]) -> tuple[float, float]:
    """Wilson's interval for the effective number of independent pairs."""
    pairs, share = len(alike), float(alike.mean())
    off = np.bincount(recruiter, weights=alike - share)
    variance, plain = float((off**2).sum()) / pairs**2, share * (1.0 - share) / pairs
    worth = pairs * min(1.0, plain / variance) if variance > 0.0 else float(len(np.unique(recruiter)))
    z2 = _TWO_SIDED**2 / worth
    middle = (share + z2 / 2) / (1 + z2)
    reach = np.sqrt(z2 * share * (1 - share) + z2**2 / 4) / (1 + z2)
    return max(middle - reach, 0.0), min(middle + reach, 1.0)
