"""The coupons that people were issued: which are real, how many each person had, and who holds which.

Codes that stand where a coupon should, and are none.

Real files hold two sorts. A whole column may hold a code made from the person's own id ("90" + id): nobody carried it,
but recruits whose coupon was lost are entered with it, so it does tell the recruiter. And one code may be issued to
many people ("900"): it tells nothing. Neither is a coupon issued.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.listing import Listing, Texts, each
from peerfront.data.problems import Problem

_MANY_HOLDERS = 3  # a code issued to so many people is a placeholder; to two, one of them is a typing error
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
    codes |= {str(code) for code in counts.index[counts >= _MANY_HOLDERS]}
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


@dataclass(frozen=True)
class IssuedCoupons:
    """Coupons and their holders, in the order of the file; each code once per person."""

    listing: Listing
    holder: NDArray[np.int64]  # [coupons], index of the person
    code: Texts  # [coupons]
    made_holder: NDArray[np.int64]  # [codes made from ids]
    made_code: Texts  # [codes made from ids]
    placeholders: frozenset[str]
    problems: tuple[Problem, ...]

    @property
    def count(self) -> NDArray[np.int64]:
        """Coupons issued to each person, k, [people]."""
        return np.bincount(self.holder, minlength=len(self.listing.ids)).astype(np.int64)

    def issued_twice(self, redeemed: Texts) -> list[Problem]:
        """Coupons of two people with which nobody came; the others are a matter for those who came."""
        series = pd.Series(self.code, dtype=object)
        again = np.flatnonzero(series.duplicated().to_numpy() & ~series.isin(redeemed).to_numpy())
        if not len(again):
            return []
        first = pd.Series(self.holder).groupby(series).first()
        rows, ids = self.listing.rows, self.listing.ids
        texts = []
        for at in again:
            other = int(first[self.code[at]])
            texts.append(
                f"Coupon {self.code[at]!r} of {ids[self.holder[at]]!r} was also issued to {ids[other]!r} "
                f"({self.listing.place} {rows[other]:,})."
            )
        return each(self.listing, "issued-twice", self.holder[again], texts)


def issued_coupons(listing: Listing, coupons: Texts) -> IssuedCoupons:
    """Sort out the coupons of a listing, [people, slots]."""
    people, slots = coupons.shape
    false = find_placeholders(listing.ids, coupons)
    held = pd.DataFrame(
        {
            "holder": np.repeat(np.arange(people), slots),
            "slot": np.tile(np.arange(slots), people),
            "code": coupons.ravel(),
        }
    )
    held = held[held["code"] != ""]
    made = held[false.columns[held["slot"].to_numpy(dtype=np.int64)]] if slots else held
    real = held.drop(made.index)
    void = real["code"].isin(false.codes)
    named = [n for n, is_made in zip(listing.columns["coupons"], false.columns, strict=False) if is_made]
    told = "Column {!r} holds codes made from the ids of people; they are not counted as coupons."
    faults = [Problem("made-from-id", None, "", told.format(name)) for name in named]
    faults += each(
        listing,
        "placeholder",
        real["holder"][void].to_numpy(),
        [f"Code {code!r} is a placeholder; it is not counted as a coupon." for code in real["code"][void]],
    )
    real = real[~void]
    again = real.duplicated(["holder", "code"])
    faults += each(
        listing,
        "repeated-in-row",
        real["holder"][again].to_numpy(),
        [
            f"Coupon {code!r} is listed twice for {listing.ids[i]!r}."
            for i, code in zip(real["holder"][again], real["code"][again], strict=True)
        ],
    )
    real = real[~again]
    return IssuedCoupons(
        listing,
        real["holder"].to_numpy(dtype=np.int64),
        real["code"].to_numpy(dtype=object),
        made["holder"].to_numpy(dtype=np.int64),
        made["code"].to_numpy(dtype=object),
        false.codes,
        tuple(faults),
    )
