"""Codes that stand where a coupon should, and are none.

Real files hold two sorts. A whole column may hold a code made from the person's own id ("90" + id): nobody carried it,
but recruits whose coupon was lost are entered with it, so it does tell the recruiter. And one code may be issued to
many people ("900"): it tells nothing. Neither is a coupon issued.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.listing import Texts

_MANY = 3  # a code issued to so many people is a placeholder; to two, one of them is a typing error
_FEWEST = 5  # rows that can show a pattern
_SHARE = 0.9  # of them that must follow it


@dataclass(frozen=True)
class Placeholders:
    """Columns of codes made from ids, and codes that mean nothing."""

    columns: NDArray[np.bool_]  # [slots]
    codes: frozenset[str]


def find_placeholders(ids: Texts, coupons: Texts) -> Placeholders:
    """Look for both sorts among the coupons issued, [people, slots]."""
    prefixes = [_prefix_before_id(ids, coupons[:, slot]) for slot in range(coupons.shape[1])]
    made = np.array([prefix is not None for prefix in prefixes], dtype=bool)
    if made.all():  # then that is simply how this study numbers its coupons
        made[:] = False
    codes: set[str] = set()
    for prefix, is_made in zip(prefixes, made, strict=True):
        if is_made and prefix:
            codes |= {prefix, f"{prefix}0"}  # the same for a person without an id, or with id 0
    real = coupons[:, ~made]
    held = pd.DataFrame({"who": np.repeat(np.arange(len(ids)), real.shape[1]), "code": real.ravel()})
    held = held[held["code"] != ""].drop_duplicates()
    counts = held["code"].value_counts()
    codes |= {str(code) for code in counts.index[counts >= _MANY]}
    return Placeholders(made, frozenset(codes))


def _prefix_before_id(ids: Texts, column: Texts) -> str | None:
    """The fixed text that, before a person's id, makes their code in this column; None if codes are not made so."""
    filled = np.flatnonzero((column != "") & (ids != ""))
    if len(filled) < max(_FEWEST, int((ids != "").sum())):  # what a program fills in, it fills in for everybody
        return None
    for some in (filled[:50], filled):  # most columns are ruled out by their first codes
        prefixes = pd.Series([_before(str(column[i]), str(ids[i])) for i in some], dtype=object)
        counts = prefixes.dropna().value_counts()
        if not len(counts) or counts.iloc[0] < _SHARE * len(some):
            return None
    return str(counts.index[0])


def _before(code: str, person: str) -> str | None:
    return code[: len(code) - len(person)] if code.endswith(person) else None
