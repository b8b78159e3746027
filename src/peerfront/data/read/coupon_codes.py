"""Codes: which are real coupons and who holds them, and which people came with a code of their own as seeds.

Real files hold two sorts of placeholder codes, and neither counts as a coupon issued. A whole column may hold codes
made from each person's own id ("90" + id): nobody carried such a coupon, but recruits whose coupon was lost are entered
with it, so it identifies the recruiter. And one code may be issued to many people ("900"): it identifies nobody.

Many studies give their seeds codes, too (1 to 7, S01, ...), which nobody was issued. Such a person is taken for a seed
if nobody is named as their recruiter, the code is no misspelt coupon, and they came early: before everybody whose
recruiter is known, or among the first quarter with a code unlike every coupon. People who came later with a code like
those are seeds, too. What was assumed is a warning for each of them.
"""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.problems import Problem, at
from peerfront.data.read.listing import Listing, Texts, each
from peerfront.foundation.messages import note
from peerfront.foundation.typed_dates import read_days

# Coupons ----------------------------------------------------------------------------------------------------------


_MANY_HOLDERS = 3  # people: a code issued to as many is a placeholder; to two, one of them is a typing error
_MIN_ROWS = 5  # fewer rows show no pattern
_MIN_SHARE = 0.9  # of rows that must follow a pattern


def _placeholders(ids: Texts, coupons: Texts) -> tuple[NDArray[np.bool_], frozenset[str]]:
    """Which columns of coupons, [people, slots], hold codes made from people's ids; and codes that identify nobody."""
    prefixes = [_prefix_before_id(ids, coupons[:, slot]) for slot in range(coupons.shape[1])]
    from_ids = np.array([prefix is not None for prefix in prefixes], dtype=bool)
    if from_ids.all():  # then this is how the study numbers its real coupons
        from_ids[:] = False
    codes: set[str] = set()
    for prefix, is_placeholder in zip(prefixes, from_ids, strict=True):
        if is_placeholder and prefix:
            codes |= {prefix, f"{prefix}0"}  # what a person without an id, or with id 0, gets
    real = coupons[:, ~from_ids]
    held = pd.DataFrame({"who": np.repeat(np.arange(len(ids)), real.shape[1]), "code": real.ravel()})
    held = held[held["code"] != ""].drop_duplicates()
    counts = held["code"].value_counts()
    codes |= {str(code) for code in counts.index[counts >= _MANY_HOLDERS]}
    return from_ids, frozenset(codes)


def _prefix_before_id(ids: Texts, column: Texts) -> str | None:
    """Return the prefix if the codes of a column are a fixed prefix and the person's id, else None."""
    filled = np.flatnonzero((column != "") & (ids != ""))
    if len(filled) < max(_MIN_ROWS, int((ids != "").sum())):  # a program that makes codes makes one for everybody
        return None
    for rows in (filled[:50], filled):  # the first codes rule most columns out
        counts = pd.Series([column[i].removesuffix(ids[i]) for i in rows if column[i].endswith(ids[i])]).value_counts()
        if not len(counts) or counts.iloc[0] < _MIN_SHARE * len(rows):
            return None
    return str(counts.index[0])


@dataclass(frozen=True)
class IssuedCoupons:
    """Coupons and their holders, in the order of the file; each code once per person."""

    listing: Listing
    holder: NDArray[np.int64]  # [coupons], index of the person
    code: Texts  # [coupons]
    id_code_holder: NDArray[np.int64]  # [codes made from ids], index of the person
    id_code: Texts  # [codes made from ids]
    placeholders: frozenset[str]
    """Codes that identify nobody."""
    problems: tuple[Problem, ...]

    @property
    def count(self) -> NDArray[np.int64]:
        """Number of coupons issued to each person, k, [people]."""
        return np.bincount(self.holder, minlength=len(self.listing.ids)).astype(np.int64)

    def issued_twice(self, redeemed: Texts) -> list[Problem]:
        """Warn of codes issued to two people and redeemed by nobody. (Redeemed ones are errors: `ambiguous-coupon`.)"""
        series = pd.Series(self.code, dtype=object)
        again = np.flatnonzero(series.duplicated().to_numpy() & ~series.isin(redeemed).to_numpy())
        if not len(again):
            return []
        first = pd.Series(self.holder).groupby(series).first()
        rows, ids = self.listing.rows, self.listing.ids
        texts = []
        for coupon in again:
            other = int(first[self.code[coupon]])
            held = note("problems.value_at", value=ids[other], at=at(self.listing.place, rows[other]))
            person = ids[self.holder[coupon]]
            texts.append(note("problems.issued_twice", code=self.code[coupon], person=person, other=held))
        return each(self.listing, "issued-twice", self.holder[again], texts)


def issued_coupons(listing: Listing, coupons: Texts) -> IssuedCoupons:
    """Separate the real coupons of a listing, [people, slots], from placeholders and repetitions."""
    n_people, n_slots = coupons.shape
    made_from_ids, placeholders = _placeholders(listing.ids, coupons)
    held = pd.DataFrame(
        {
            "holder": np.repeat(np.arange(n_people), n_slots),
            "slot": np.tile(np.arange(n_slots), n_people),
            "code": coupons.ravel(),
        }
    )
    held = held[held["code"] != ""]
    from_ids = held[made_from_ids[held["slot"].to_numpy(dtype=np.int64)]] if n_slots else held
    real = held.drop(from_ids.index)
    void = real["code"].isin(placeholders)
    faults = [
        Problem("made-from-id", None, "", note("problems.column_from_ids", column=name), name)
        for name, is_placeholder in zip(listing.columns["coupons"], made_from_ids, strict=False)
        if is_placeholder
    ]
    messages = [note("problems.placeholder", code=code) for code in real["code"][void]]
    faults += each(listing, "placeholder", real["holder"][void].to_numpy(), messages)
    real = real[~void]
    again = real.duplicated(["holder", "code"])
    repeated = real[again]
    pairs = zip(repeated["holder"], repeated["code"], strict=True)
    messages = [note("problems.listed_twice", code=code, person=listing.ids[i]) for i, code in pairs]
    faults += each(listing, "repeated-in-row", repeated["holder"].to_numpy(), messages)
    real = real[~again]
    return IssuedCoupons(
        listing,
        real["holder"].to_numpy(dtype=np.int64),
        real["code"].to_numpy(dtype=object),
        from_ids["holder"].to_numpy(dtype=np.int64),
        from_ids["code"].to_numpy(dtype=object),
        placeholders,
        tuple(faults),
    )


# Seeds ------------------------------------------------------------------------------------------------------------


YES = ("1", "yes", "y", "true", "t", "seed", "x", "checked", "si", "sí", "oui", "ja", "sim", "1.0")
NO = ("0", "no", "n", "false", "f", "recruit", "unchecked", "non", "nein", "nao", "não", "2", "0.0", "peer", "not seed")
SEED, RECRUIT, NOT_SAID = 1, 0, -1
_EARLY = 0.25  # share of the people among whom a code unlike every coupon is a seed's


_MOSTLY_MARKS = 0.8  # share of yes and no in a column that says it


def seed_marks(values: Texts) -> NDArray[np.int8]:
    """Read a column of yes and no: SEED, RECRUIT, or NOT_SAID for anything else."""
    lower = pd.Series(values, dtype=object).str.lower()
    return np.where(lower.isin(YES), SEED, np.where(lower.isin(NO), RECRUIT, NOT_SAID)).astype(np.int8)


def are_marks(values: Texts) -> bool:
    """Tell whether a column says yes and no, but for a few values that will be asked about."""
    filled = values[values != ""]
    return bool(len(filled)) and float((seed_marks(filled) != NOT_SAID).mean()) >= _MOSTLY_MARKS


def are_seed_marks(values: Texts) -> bool:
    """Tell whether a column says yes and no, and both."""
    return are_marks(values) and {SEED, RECRUIT} <= set(seed_marks(values[values != ""]).tolist())


def own_code_seeds(
    listing: Listing,
    own: Texts,
    candidates: NDArray[np.bool_],
    recruited: NDArray[np.bool_],
    issued: Texts,
    typos: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Mark the candidates who are taken for seeds, [people]: they came early, or their code is like those who did.

    Codes that may be `typos` of a coupon are only taken for a seed's if they came before every recruit.
    """
    if not candidates.any() or not recruited.any():
        return np.zeros(len(own), dtype=bool)
    order = order_of_arrival(listing)
    early = candidates & (order < order[recruited].min())
    coupons = {code_shape(code) for code in issued}
    unlike = np.zeros(len(own), dtype=bool)
    at = np.flatnonzero(candidates)
    unlike[at] = [code_shape(own[i]) not in coupons and not typos[i] for i in at]
    start = early | (unlike & (order < _EARLY * len(own)))
    kinds = {_kind(own[i]) for i in np.flatnonzero(start & unlike)}
    late = np.zeros(len(own), dtype=bool)
    late[at] = [_kind(own[i]) in kinds for i in at]
    return np.asarray(start | (unlike & late))


def order_of_arrival(listing: Listing) -> NDArray[np.int64]:
    """Return each person's place by date and then by row; by row alone where dates are missing, [people]."""
    order = np.arange(len(listing.ids))
    if "date" in listing.columns:
        days = read_days(listing.people[listing.columns["date"][0]].reset_index(drop=True))
        if np.isfinite(days).all():
            order = np.argsort(np.argsort(days, kind="stable"), kind="stable")
    return order.astype(np.int64)


def code_shape(code: str) -> str:
    """Reduce a code to its shape: AB-17 is aa-99."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", code))


def _kind(code: str) -> str:
    """Reduce a code to its kind, whatever its length: S1 and S12 are of one kind, and the letters count."""
    return re.sub(r"\d+", "9", code.lower())
