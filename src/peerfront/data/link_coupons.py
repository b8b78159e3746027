"""Links of files that list coupons: the coupon somebody came with leads to whoever was issued it."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.issued_coupons import IssuedCoupons, issued_coupons
from peerfront.data.links import Links, each, faults_of_codes, is_seed_mark, places_of, without_point_zero, without_self
from peerfront.data.listing import Listing, Texts
from peerfront.data.problems import Problem
from peerfront.data.trees import NOBODY

_SIGNS = str.maketrans("", "", " _-")


def link_coupons(listing: Listing) -> Links:
    """Everybody's recruiter by coupon; seeds came without one."""
    assert listing.own_coupons is not None
    assert listing.coupons is not None
    faults = faults_of_codes(listing)
    coupons = issued_coupons(listing, listing.coupons)
    own = without_point_zero(listing.own_coupons, coupons.code)
    own = np.where(is_seed_mark(own) & (places_of(own, coupons.code) == NOBODY), "", own)
    came = own != ""
    place = places_of(own, coupons.code)
    recruiter = np.append(coupons.holder, NOBODY)[place]  # a place of -1 is the last one: NOBODY
    made = places_of(own, coupons.made_code)
    by_id = (recruiter == NOBODY) & (made != NOBODY)
    recruiter = np.where(by_id, np.append(coupons.made_holder, NOBODY)[made], recruiter)

    void = came & pd.Series(own, dtype=object).isin(coupons.placeholders).to_numpy() & ~by_id
    recruiter = np.where(void, NOBODY, recruiter).astype(np.int64)
    orphan = came & (recruiter == NOBODY)
    faults += [*coupons.problems, *coupons.issued_twice(own), *_ambiguous(listing, own, coupons)]
    faults += _redeemed_twice(listing, own, ~(by_id | void | orphan))
    faults += _made_from_ids(listing, own, by_id, recruiter)
    faults += _not_issued(listing, own, orphan, coupons)
    recruiter, selves = without_self(listing, recruiter)
    faults += selves
    if listing.recruiters is not None:
        faults += _disagreements(listing, listing.recruiters, recruiter)
    return Links(recruiter, ~came, coupons.count, tuple(faults))


def _ambiguous(listing: Listing, own: Texts, coupons: IssuedCoupons) -> list[Problem]:
    shared = pd.Series(coupons.code, dtype=object).duplicated(keep=False).to_numpy()
    holders_of = pd.Series(coupons.holder[shared]).groupby(coupons.code[shared]).agg(list)
    wrong = np.flatnonzero(pd.Series(own, dtype=object).isin(holders_of.index).to_numpy())
    texts = []
    for person in wrong:
        holders = holders_of[own[person]][:2]
        named = " and ".join(f"{listing.ids[h]!r} ({listing.place} {listing.rows[h]:,})" for h in holders)
        texts.append(f"{listing.ids[person]!r} came with coupon {own[person]!r}, which was issued to {named}.")
    return each(listing, "ambiguous-coupon", wrong, texts)


def _redeemed_twice(listing: Listing, own: Texts, known: NDArray[np.bool_]) -> list[Problem]:
    again = np.flatnonzero(pd.Series(own, dtype=object).duplicated().to_numpy() & (own != "") & known)
    first = listing.rows[places_of(own[again], own)]
    texts = (
        f"Coupon {own[i]!r} of {listing.ids[i]!r} was redeemed already in {listing.place} {row:,}."
        for i, row in zip(again, first, strict=True)
    )
    return each(listing, "redeemed-twice", again, texts)


def _made_from_ids(
    listing: Listing, own: Texts, by_id: NDArray[np.bool_], recruiter: NDArray[np.int64]
) -> list[Problem]:
    people = np.flatnonzero(by_id)
    texts = (
        f"{listing.ids[i]!r} came with {own[i]!r}, made from the id of {listing.ids[recruiter[i]]!r}, whose recruit "
        "they count as."
        for i in people
    )
    return each(listing, "made-from-id", people, texts)


def _not_issued(listing: Listing, own: Texts, orphan: NDArray[np.bool_], coupons: IssuedCoupons) -> list[Problem]:
    people = np.flatnonzero(orphan)
    if not len(people):
        return []
    near = places_of(_alike(own[people]), _alike(coupons.code))
    texts = []
    for person, place in zip(people, near, strict=True):
        text = f"{listing.ids[person]!r} came with coupon {own[person]!r}, which nobody was issued."
        if place != NOBODY:
            holder = coupons.holder[place]
            text += f" Did they mean {coupons.code[place]!r} of {listing.ids[holder]!r}?"
        texts.append(text)
    return each(listing, "not-issued", people, texts)


def _alike(codes: Texts) -> Texts:
    """Codes without what gets lost on the way: case, leading zeros, a point and zero, blanks and hyphens."""
    alike = np.empty(len(codes), dtype=object)
    alike[:] = [code.lower().removesuffix(".0").translate(_SIGNS).lstrip("0") for code in codes]
    return alike


def _disagreements(listing: Listing, named: Texts, recruiter: NDArray[np.int64]) -> list[Problem]:
    """Where a column with recruiter ids says something else than the coupons."""
    told = places_of(without_point_zero(named, listing.ids), listing.ids)
    wrong = np.flatnonzero((told != NOBODY) & (told != recruiter))
    ids = listing.ids
    texts = [
        f"The recruiter id of {ids[i]!r} says {ids[told[i]]!r}, the coupon "
        + (f"{ids[recruiter[i]]!r}." if recruiter[i] != NOBODY else "nobody.")
        for i in wrong
    ]
    return each(listing, "recruiter-disagrees", wrong, texts)
