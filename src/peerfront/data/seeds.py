"""Who is a seed: people whom a column marks, and people who came with a code of their own.

Many studies give their seeds codes, too (1 to 7, S01, ...), which nobody was issued. Such a person is taken for a seed
if nobody is named as their recruiter, the code is no misspelt coupon, and they came early: before everybody whose
recruiter is known, or among the first quarter with a code unlike every coupon. People who came later with a code like
those are seeds, too. What was assumed is a warning for each of them.
"""

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.listing import Listing, Texts
from peerfront.foundation.typed_values import read_days

YES = ("1", "yes", "y", "true", "t", "seed", "x", "checked", "si", "sí", "oui", "ja", "sim", "1.0")
NO = ("0", "no", "n", "false", "f", "recruit", "unchecked", "non", "nein", "nao", "não", "2", "0.0", "peer", "not seed")
SEED, RECRUIT, NOT_SAID = 1, 0, -1
_EARLY = 0.25  # share of the people among whom a code unlike every coupon is a seed's


def seed_marks(values: Texts) -> NDArray[np.int8]:
    """Read a column of yes and no: SEED, RECRUIT, or NOT_SAID for anything else."""
    lower = pd.Series(values, dtype=object).str.lower()
    return np.where(lower.isin(YES), SEED, np.where(lower.isin(NO), RECRUIT, NOT_SAID)).astype(np.int8)


def are_marks(values: Texts) -> bool:
    """Tell whether a column says nothing but yes and no."""
    filled = values[values != ""]
    return bool(len(filled)) and bool((seed_marks(filled) != NOT_SAID).all())


def are_seed_marks(values: Texts) -> bool:
    """Tell whether a column says yes and no, and both."""
    return are_marks(values) and len(set(seed_marks(values[values != ""]).tolist())) == 2


def own_code_seeds(
    listing: Listing, own: Texts, candidates: NDArray[np.bool_], recruited: NDArray[np.bool_], issued: Texts
) -> NDArray[np.bool_]:
    """Mark the candidates who are taken for seeds, [people]: they came early, or their code is like those who did."""
    if not candidates.any() or not recruited.any():
        return np.zeros(len(own), dtype=bool)
    order = _order_of_arrival(listing)
    early = candidates & (order < order[recruited].min())
    coupons = {code_shape(code) for code in issued}
    unlike = np.zeros(len(own), dtype=bool)
    at = np.flatnonzero(candidates)
    unlike[at] = [code_shape(own[i]) not in coupons for i in at]
    start = early | (unlike & (order < _EARLY * len(own)))
    kinds = {_kind(own[i]) for i in np.flatnonzero(start & unlike)}
    late = np.zeros(len(own), dtype=bool)
    late[at] = [_kind(own[i]) in kinds for i in at]
    return np.asarray(start | (unlike & late))


def _order_of_arrival(listing: Listing) -> NDArray[np.int64]:
    """Return each person's place by date and then by row; by row alone where dates are missing, [people]."""
    order = np.arange(len(listing.ids))
    if "date" in listing.columns:
        days, _ = read_days(listing.people[listing.columns["date"][0]].reset_index(drop=True))
        if np.isfinite(days).all():
            order = np.argsort(np.argsort(days, kind="stable"), kind="stable")
    return order.astype(np.int64)


def code_shape(code: str) -> str:
    """Reduce a code to its shape: AB-17 is aa-99."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", code))


def _kind(code: str) -> str:
    """Reduce a code to its kind, whatever its length: S1 and S12 are of one kind, and the letters count."""
    return re.sub(r"\d+", "9", code.lower())
