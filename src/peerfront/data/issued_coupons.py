"""The coupons that people were issued: which are real, how many each person had, and who holds which."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.links import each
from peerfront.data.listing import Listing, Texts
from peerfront.data.placeholders import find_placeholders
from peerfront.data.problems import Problem


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
