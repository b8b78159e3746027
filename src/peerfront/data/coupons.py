"""The coupons that people were issued: which codes are real coupons, who holds them, and how many each person had.

Real files hold two sorts of placeholder codes, and neither counts as a coupon issued. A whole column may hold codes
made from each person's own id ("90" + id): nobody carried such a coupon, but recruits whose coupon was lost are entered
with it, so it identifies the recruiter. And one code may be issued to many people ("900"): it identifies nobody.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.listing import Listing, Texts, each
from peerfront.data.problems import Problem, at
from peerfront.foundation.messages import note

_MANY_HOLDERS = 3  # a code issued to so many people is a placeholder; to two, one of them is a typing error
_MIN_ROWS = 5  # fewer rows show no pattern
_MIN_SHARE = 0.9  # of rows that must follow a pattern


@dataclass(frozen=True)
class Placeholders:
    """Placeholder codes among the coupons issued."""

    from_ids: NDArray[np.bool_]  # [slots], columns of codes made from the ids of people
    codes: frozenset[str]
    """Codes that identify nobody."""


def find_placeholders(ids: Texts, coupons: Texts) -> Placeholders:
    """Detect placeholder codes among the coupons issued, [people, slots]."""
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
    return Placeholders(from_ids, frozenset(codes))


def _prefix_before_id(ids: Texts, column: Texts) -> str | None:
    """Return the prefix if the codes of a column are a fixed prefix and the person's id, else None."""
    filled = np.flatnonzero((column != "") & (ids != ""))
    if len(filled) < max(_MIN_ROWS, int((ids != "").sum())):  # a program that makes codes makes one for everybody
        return None
    for rows in (filled[:50], filled):  # the first codes rule most columns out
        prefixes = pd.Series([_before(str(column[i]), str(ids[i])) for i in rows], dtype=object)
        counts = prefixes.dropna().value_counts()
        if not len(counts) or counts.iloc[0] < _MIN_SHARE * len(rows):
            return None
    return str(counts.index[0])


def _before(code: str, person: str) -> str | None:
    """Return what stands before the id in a code that ends with it."""
    return code[: len(code) - len(person)] if code.endswith(person) else None


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
    false = find_placeholders(listing.ids, coupons)
    held = pd.DataFrame(
        {
            "holder": np.repeat(np.arange(n_people), n_slots),
            "slot": np.tile(np.arange(n_slots), n_people),
            "code": coupons.ravel(),
        }
    )
    held = held[held["code"] != ""]
    from_ids = held[false.from_ids[held["slot"].to_numpy(dtype=np.int64)]] if n_slots else held
    real = held.drop(from_ids.index)
    void = real["code"].isin(false.codes)
    faults = [
        Problem("made-from-id", None, "", note("problems.column_from_ids", column=name), name)
        for name, is_placeholder in zip(listing.columns["coupons"], false.from_ids, strict=False)
        if is_placeholder
    ]
    faults += each(
        listing,
        "placeholder",
        real["holder"][void].to_numpy(),
        [note("problems.placeholder", code=code) for code in real["code"][void]],
    )
    real = real[~void]
    again = real.duplicated(["holder", "code"])
    faults += each(
        listing,
        "repeated-in-row",
        real["holder"][again].to_numpy(),
        [
            note("problems.listed_twice", code=code, person=listing.ids[i])
            for i, code in zip(real["holder"][again], real["code"][again], strict=True)
        ],
    )
    real = real[~again]
    return IssuedCoupons(
        listing,
        real["holder"].to_numpy(dtype=np.int64),
        real["code"].to_numpy(dtype=object),
        from_ids["holder"].to_numpy(dtype=np.int64),
        from_ids["code"].to_numpy(dtype=object),
        false.codes,
        tuple(faults),
    )
