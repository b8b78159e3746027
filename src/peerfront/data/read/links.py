"""Who recruited whom: from the codes and ids of a listing to an array of recruiters, with every fault on the way.

Where a file lists coupons, a person's recruiter is whoever was issued the coupon that person came with
(`link_coupons`). Recruiter-id tables and survey apps name the recruiter by id (`link_recruiters`).
"""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.problems import Problem, at
from peerfront.data.read.coupon_codes import (
    NOT_SAID,
    RECRUIT,
    SEED,
    IssuedCoupons,
    issued_coupons,
    own_code_seeds,
    seed_marks,
)
from peerfront.data.read.listing import Listing, Texts, each, of_people
from peerfront.foundation.messages import Message, note
from peerfront.foundation.recruitment_trees import NOBODY

SEED_MARKS = ("seed", "0", "-1", "none", "seeds", "__seed__")
_LOST_DIGITS = re.compile(r"\d(?:[.,]\d+)?[eE]\+\d+")  # 1.425E+21
_POINT_ZERO = r"\d+\.0"
_LOST_SIGNS = str.maketrans("", "", " _-")  # signs that people leave out when they copy a code


@dataclass(frozen=True)
class Links:
    """Recruiters, seeds and numbers of coupons, as the file states them."""

    recruiter: NDArray[np.int64]  # [people], index; NOBODY for seeds and where it is not known
    seed: NDArray[np.bool_]  # [people]; somebody who has no recruiter and is no seed has an unknown one
    issued: NDArray[np.int64]  # [people], coupons issued, k
    problems: tuple[Problem, ...]


def places_of(wanted: Texts, among: Texts) -> NDArray[np.int64]:
    """Return the first place of each wanted code, or NOBODY; the empty code stands nowhere."""
    first = np.flatnonzero(~pd.Series(among, dtype=object).duplicated().to_numpy() & (among != ""))
    if not len(first):
        return np.full(len(wanted), NOBODY, dtype=np.int64)
    place = pd.Index(among[first], dtype=object).get_indexer(pd.Index(wanted, dtype=object))
    return np.where(place < 0, NOBODY, first[place]).astype(np.int64)


def is_seed_mark(codes: Texts) -> NDArray[np.bool_]:
    """Mark the codes that usually mean "nobody recruited this person"; somebody's id may be the same."""
    return np.asarray(pd.Series(codes, dtype=object).str.lower().isin(SEED_MARKS), dtype=bool)


def without_point_zero(wanted: Texts, among: Texts) -> Texts:
    """Turn `17.0` into `17` if every code of the column looks so and none is known as it stands.

    Such columns went through a program that took codes for numbers.
    """
    codes = pd.Series(wanted, dtype=object)
    filled = codes[codes != ""]
    if not len(filled) or not filled.str.fullmatch(_POINT_ZERO).all() or (places_of(wanted, among) != NOBODY).any():
        return wanted
    return codes.str.removesuffix(".0").to_numpy(dtype=object)


def faults_of_codes(listing: Listing) -> list[Problem]:
    """Find missing and repeated ids, and codes that a spreadsheet has cut short."""
    ids, place = listing.ids, listing.place
    absent = np.flatnonzero(ids == "")
    faults = of_people(listing, "missing-id", absent, "problems.no_id")
    again = np.flatnonzero(pd.Series(ids, dtype=object).duplicated().to_numpy() & (ids != ""))
    earlier = listing.rows[places_of(ids[again], ids)]
    repeated = [note("problems.id_again", id=ids[i], at=at(place, row)) for i, row in zip(again, earlier, strict=True)]
    faults += each(listing, "repeated-id", again, repeated, mends=_same_rows(listing, again, earlier))
    columns = [codes for codes in (ids, listing.own_coupons, listing.recruiters) if codes is not None]
    columns += list(listing.coupons.T) if listing.coupons is not None else []
    for codes in columns:
        candidates = (i for i, code in enumerate(codes) if "+" in code)
        short = np.array([i for i in candidates if _LOST_DIGITS.fullmatch(codes[i])], dtype=np.intp)
        faults += of_people(listing, "digits-lost", short, "problems.cut_short", coupon=codes)
    return faults


def _same_rows(
    listing: Listing, again: NDArray[np.intp], earlier: NDArray[np.int64]
) -> list[tuple[str, str, None, Message] | None]:
    """Propose to leave out the rows that say the same as the earlier row of the person."""
    held = [listing.people.to_numpy(dtype=object), listing.coupons]
    own = None if listing.own_coupons is None else _alike(listing.own_coupons)  # one of two may be mended already
    single = (own, listing.recruiters, listing.issued, listing.seed_marks)
    held += [values[:, None] for values in single if values is not None]
    everything = np.hstack([values.astype(object) for values in held if values is not None])
    first = places_of(listing.ids[again], listing.ids)
    column = listing.columns["id"][0]
    return [
        (column, str(listing.ids[i]), None, note("mends.same_as", at=at(listing.place, row)))
        if (everything[i] == everything[j]).all()
        else None
        for i, j, row in zip(again, first, earlier, strict=True)
    ]


def without_self(listing: Listing, recruiter: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Problem]]:
    """Remove recruiters that are the person themselves, as faults."""
    selves = np.flatnonzero(recruiter == np.arange(len(recruiter)))
    faults = of_people(listing, "self-recruited", selves, "problems.own_recruiter")
    return np.where(recruiter == np.arange(len(recruiter)), NOBODY, recruiter), faults


def link_coupons(listing: Listing) -> Links:
    """Find everybody's recruiter by coupon; seeds came without one."""
    assert listing.own_coupons is not None
    assert listing.coupons is not None
    faults = faults_of_codes(listing)
    coupons = issued_coupons(listing, listing.coupons)
    own = without_point_zero(listing.own_coupons, coupons.code)
    own = np.where(is_seed_mark(own) & (places_of(own, coupons.code) == NOBODY), "", own)
    came = own != ""
    place = places_of(own, coupons.code)
    recruiter = np.append(coupons.holder, NOBODY)[place]  # a place of -1 is the last one: NOBODY
    id_place = places_of(own, coupons.id_code)
    by_id = (recruiter == NOBODY) & (id_place != NOBODY)
    recruiter = np.where(by_id, np.append(coupons.id_code_holder, NOBODY)[id_place], recruiter)

    void = came & pd.Series(own, dtype=object).isin(coupons.placeholders).to_numpy() & ~by_id
    recruiter = np.where(void, NOBODY, recruiter).astype(np.int64)
    orphan = came & (recruiter == NOBODY)
    faults += [*coupons.problems, *coupons.issued_twice(own), *_ambiguous(listing, own, coupons)]
    faults += _redeemed_twice(listing, own, ~(by_id | void | orphan))
    made, holders = np.flatnonzero(by_id), listing.ids[recruiter]
    faults += of_people(listing, "made-from-id", made, "problems.person_from_id", coupon=own, recruiter=holders)
    assumed = _assumed_seeds(listing, own, orphan & ~void, recruiter != NOBODY, coupons.code)
    recruiter, selves = without_self(listing, recruiter)
    faults += selves
    seed, doubts = _seeds(listing, own, ~came, assumed, recruiter)
    faults += [*doubts, *_not_issued(listing, own, orphan & ~seed, coupons)]
    if listing.recruiters is not None:
        faults += _disagreements(listing, listing.recruiters, recruiter)
    return Links(recruiter, seed, coupons.count, tuple(faults))


def _assumed_seeds(
    listing: Listing, own: Texts, orphan: NDArray[np.bool_], recruited: NDArray[np.bool_], issued: Texts
) -> NDArray[np.bool_]:
    """Mark the people who came with a code of their own and are taken for seeds, [people]."""
    people = np.flatnonzero(orphan)
    candidates = np.zeros(len(own), dtype=bool)
    candidates[people] = places_of(_alike(own[people]), _alike(issued)) == NOBODY  # the others are misspelt coupons
    if listing.recruiters is not None:
        candidates &= places_of(listing.recruiters, listing.ids) == NOBODY
    return own_code_seeds(listing, own, candidates, recruited, issued)


def _seeds(
    listing: Listing,
    own: Texts,
    without_code: NDArray[np.bool_],
    assumed: NDArray[np.bool_],
    recruiter: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], list[Problem]]:
    """Decide who is a seed, [people]: whoever is marked, or else came without a code or with one of their own."""
    ids = listing.ids
    marks = np.full(len(ids), NOT_SAID) if listing.seed_marks is None else seed_marks(listing.seed_marks)
    alone = recruiter == NOBODY
    seed = alone & np.where(marks == NOT_SAID, without_code | assumed, marks == SEED)
    guessed = np.flatnonzero(seed & assumed & (marks == NOT_SAID))
    faults = of_people(listing, "assumed-seed", guessed, "problems.assumed_seed", coupon=own)
    wrong = np.flatnonzero((marks == SEED) & ~alone)
    faults += of_people(listing, "seed-with-coupon", wrong, "problems.seed_recruited", recruiter=ids[recruiter])
    unmarked = np.flatnonzero(without_code & (marks == RECRUIT) & alone)
    return seed, faults + of_people(listing, "not-marked-seed", unmarked, "problems.not_marked_seed")


def _ambiguous(listing: Listing, own: Texts, coupons: IssuedCoupons) -> list[Problem]:
    """Find people whose coupon was issued to two."""
    shared = pd.Series(coupons.code, dtype=object).duplicated(keep=False).to_numpy()
    holders_of = pd.Series(coupons.holder[shared]).groupby(coupons.code[shared]).agg(list)
    wrong = np.flatnonzero(pd.Series(own, dtype=object).isin(holders_of.index).to_numpy())
    texts = []
    for person in wrong:
        first, second = (
            note("problems.value_at", value=listing.ids[holder], at=at(listing.place, listing.rows[holder]))
            for holder in holders_of[own[person]][:2]
        )
        holders = note("problems.two", first=first, second=second)
        texts.append(note("problems.ambiguous", person=listing.ids[person], code=own[person], holders=holders))
    return each(listing, "ambiguous-coupon", wrong, texts)


def _redeemed_twice(listing: Listing, own: Texts, real: NDArray[np.bool_]) -> list[Problem]:
    """Find people who came with a real coupon that somebody above them came with."""
    again = np.flatnonzero(pd.Series(own, dtype=object).duplicated().to_numpy() & (own != "") & real)
    first = dict(zip(again, listing.rows[places_of(own[again], own)], strict=True))
    values = {"coupon": own, "at": lambda person: at(listing.place, first[person])}
    return of_people(listing, "redeemed-twice", again, "problems.redeemed_already", **values)


def _not_issued(listing: Listing, own: Texts, orphan: NDArray[np.bool_], coupons: IssuedCoupons) -> list[Problem]:
    """Report the people whose coupon nobody was issued, with the code that was probably meant."""
    people = np.flatnonzero(orphan)
    if not len(people):
        return []
    places = places_of(_alike(own[people]), _alike(coupons.code))
    column = listing.columns["own_coupon"][0]
    texts: list[Message] = []
    mends: list[tuple[str, str, str | None, Message] | None] = []
    for person, place in zip(people, places, strict=True):
        name, code = listing.ids[person], own[person]
        if place == NOBODY:
            texts.append(note("problems.not_issued", person=name, code=code))
            mends.append(None)
        else:
            near, holder = coupons.code[place], listing.ids[coupons.holder[place]]
            texts.append(note("problems.not_issued_but_near", person=name, code=code, near=near, holder=holder))
            mends.append((column, str(code), str(near), note("mends.issued_to", person=holder)))
    return each(listing, "not-issued", people, texts, mends=mends)


def _alike(codes: Texts) -> Texts:
    """Reduce codes to what survives copying: drop case, leading zeros, a final `.0`, blanks and hyphens."""
    alike = np.empty(len(codes), dtype=object)
    alike[:] = [code.lower().removesuffix(".0").translate(_LOST_SIGNS).lstrip("0") for code in codes]
    return alike


def _disagreements(listing: Listing, named: Texts, recruiter: NDArray[np.int64]) -> list[Problem]:
    """Find people whose recruiter by id is not their recruiter by coupon."""
    by_id = places_of(without_point_zero(named, listing.ids), listing.ids)
    wrong = np.flatnonzero((by_id != NOBODY) & (by_id != recruiter))
    ids = listing.ids
    texts = [
        note("problems.disagrees", person=ids[i], by_id=ids[by_id[i]], by_coupon=ids[recruiter[i]])
        if recruiter[i] != NOBODY
        else note("problems.disagrees_with_nobody", person=ids[i], by_id=ids[by_id[i]])
        for i in wrong
    ]
    return each(listing, "recruiter-disagrees", wrong, texts)


def link_recruiters(listing: Listing) -> Links:
    """Find everybody's recruiter by id. Seeds have no recruiter id, or share a mark that is nobody's id."""
    assert listing.recruiters is not None
    faults = faults_of_codes(listing)
    named = without_point_zero(listing.recruiters, listing.ids)
    recruiter = places_of(named, listing.ids)
    no_id = (recruiter == NOBODY) & (named != "")
    marks = no_id & is_seed_mark(named)
    if (named != "").all() and not marks.any() and len(set(named[no_id])) == 1:
        marks = no_id  # everybody has a recruiter, and one value is nobody's id: that is how R marks seeds
    if listing.seed_marks is not None:
        named = np.where(
            (seed_marks(listing.seed_marks) == SEED) & (no_id | (recruiter == np.arange(len(named)))), "", named
        )
        recruiter, no_id = np.where(named == "", NOBODY, recruiter), no_id & (named != "")
    unknown = np.flatnonzero(no_id & ~marks)
    faults += of_people(listing, "unknown-recruiter", unknown, "problems.recruiter_absent", recruiter=named)
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
    nobody = np.zeros(len(named), dtype=bool)
    seed, doubts = _seeds(listing, named, (named == "") | marks, nobody, recruiter)
    return Links(recruiter, seed, issued, (*faults, *doubts))


def _not_on_the_list(
    listing: Listing, own: Texts, coupons: IssuedCoupons, recruiter: NDArray[np.int64]
) -> list[Problem]:
    """Find people whose code is not among those issued to the recruiter they name."""
    came = np.flatnonzero((recruiter != NOBODY) & (own != ""))
    held = pd.MultiIndex.from_arrays([coupons.holder, coupons.code])
    wanted = pd.MultiIndex.from_arrays([recruiter[came], own[came]])
    absent = came[~wanted.isin(held)]
    holders = listing.ids[recruiter]
    return of_people(listing, "not-on-list", absent, "problems.not_on_list", recruiter=holders, coupon=own)
