"""Links of files that name the recruiter: recruiter-id tables and survey apps."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.issued_coupons import IssuedCoupons, issued_coupons
from peerfront.data.links import Links, each, faults_of_codes, is_seed_mark, places_of, without_point_zero, without_self
from peerfront.data.listing import Listing, Texts
from peerfront.data.problems import Problem
from peerfront.data.trees import NOBODY


def link_recruiters(listing: Listing) -> Links:
    """Everybody's recruiter by id. All seeds share a mark that is nobody's id, or have none."""
    assert listing.recruiters is not None
    faults = faults_of_codes(listing)
    named = without_point_zero(listing.recruiters, listing.ids)
    recruiter = places_of(named, listing.ids)
    strange = (recruiter == NOBODY) & (named != "")
    marks = strange & is_seed_mark(named)
    if (named != "").all() and not marks.any() and len(set(named[strange])) == 1:
        marks = strange  # one value that is nobody's id, and everybody has one: that is how R marks seeds
    unknown = np.flatnonzero(strange & ~marks)
    texts = [f"The recruiter of {listing.ids[i]!r}, {named[i]!r}, is not in the file." for i in unknown]
    faults += each(listing, "unknown-recruiter", unknown, texts)
    recruiter, selves = without_self(listing, recruiter)
    faults += selves
    issued = listing.issued
    if issued is None:
        assert listing.coupons is not None
        coupons = issued_coupons(listing, listing.coupons)
        issued = coupons.count
        faults += [*coupons.problems, *coupons.issued_twice(np.zeros(0, dtype=object))]
        if listing.own_coupons is not None:
            faults += _not_on_the_list(listing, listing.own_coupons, coupons, recruiter)
    return Links(recruiter, (named == "") | marks, issued, tuple(faults))


def _not_on_the_list(
    listing: Listing, own: Texts, coupons: IssuedCoupons, recruiter: NDArray[np.int64]
) -> list[Problem]:
    """People whose code is not among those that the recruiter they name was issued."""
    came = np.flatnonzero((recruiter != NOBODY) & (own != ""))
    held = pd.MultiIndex.from_arrays([coupons.holder, coupons.code])
    wanted = pd.MultiIndex.from_arrays([recruiter[came], own[came]])
    absent = came[~wanted.isin(held)]
    ids = listing.ids
    texts = [f"{ids[recruiter[i]]!r}, named as recruiter, was not issued code {own[i]!r}." for i in absent]
    return each(listing, "not-on-list", absent, texts)
