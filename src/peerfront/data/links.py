"""Who recruited whom: from the codes and ids of a listing to an array of recruiters, with every fault on the way."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.listing import Listing, Texts
from peerfront.data.problems import Problem
from peerfront.data.trees import NOBODY

SEED_MARKS = ("seed", "0", "-1", "none", "seeds", "__seed__")
_LOST_DIGITS = re.compile(r"\d(?:[.,]\d+)?[eE]\+\d+")  # 1.425E+21
_FLOAT = r"\d+\.0"


@dataclass(frozen=True)
class Links:
    """The tree and the coupons, as far as the file states them."""

    recruiter: NDArray[np.int64]  # [people], index; NOBODY for seeds and where it is not known
    seed: NDArray[np.bool_]  # [people]; whoever has no recruiter and is no seed has an unknown one
    issued: NDArray[np.int64]  # [people], coupons issued, k
    problems: tuple[Problem, ...]


def each(listing: Listing, kind: str, people: NDArray[np.intp], texts: Iterable[str]) -> list[Problem]:
    """One problem per person, with the place in the file."""
    return [
        Problem(kind, int(listing.rows[i]), str(listing.ids[i]), text) for i, text in zip(people, texts, strict=True)
    ]


def places_of(wanted: Texts, among: Texts) -> NDArray[np.int64]:
    """Where each wanted code stands first, or NOBODY; nothing ("") is never found."""
    first = np.flatnonzero(~pd.Series(among, dtype=object).duplicated().to_numpy() & (among != ""))
    if not len(first):
        return np.full(len(wanted), NOBODY, dtype=np.int64)
    found = pd.Index(among[first], dtype=object).get_indexer(pd.Index(wanted, dtype=object))
    return np.where(found < 0, NOBODY, first[found]).astype(np.int64)


def is_seed_mark(codes: Texts) -> NDArray[np.bool_]:
    """Whether each code is one of the usual signs for "nobody recruited this person"; somebody's id may look so too."""
    return np.asarray(pd.Series(codes, dtype=object).str.lower().isin(SEED_MARKS), dtype=bool)


def without_point_zero(wanted: Texts, among: Texts) -> Texts:
    """`17.0` becomes `17` where whole columns went through a program that took codes for numbers, and only there."""
    codes = pd.Series(wanted, dtype=object)
    filled = codes[codes != ""]
    if not len(filled) or not filled.str.fullmatch(_FLOAT).all() or (places_of(wanted, among) != NOBODY).any():
        return wanted
    return codes.str.removesuffix(".0").to_numpy(dtype=object)


def faults_of_codes(listing: Listing) -> list[Problem]:
    """Missing and repeated ids, and codes that a spreadsheet has cut short."""
    ids, place = listing.ids, listing.place
    absent = np.flatnonzero(ids == "")
    faults = each(listing, "missing-id", absent, ["The id is empty."] * len(absent))
    again = np.flatnonzero(pd.Series(ids, dtype=object).duplicated().to_numpy() & (ids != ""))
    earlier = listing.rows[places_of(ids[again], ids)]
    stands = (f"Id {ids[i]!r} stands already in {place} {row:,}." for i, row in zip(again, earlier, strict=True))
    faults += each(listing, "repeated-id", again, stands)
    columns = [codes for codes in (ids, listing.own_coupons, listing.recruiters) if codes is not None]
    columns += list(listing.coupons.T) if listing.coupons is not None else []
    for codes in columns:
        candidates = (i for i, code in enumerate(codes) if "+" in code)
        short = np.array([i for i in candidates if _LOST_DIGITS.fullmatch(codes[i])], dtype=np.intp)
        faults += each(listing, "digits-lost", short, [f"{codes[i]!r} is a long number cut short." for i in short])
    return faults


def without_self(listing: Listing, recruiter: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Problem]]:
    """Nobody recruits themselves."""
    selves = np.flatnonzero(recruiter == np.arange(len(recruiter)))
    faults = each(listing, "self-recruited", selves, [f"{listing.ids[i]!r} is their own recruiter." for i in selves])
    return np.where(recruiter == np.arange(len(recruiter)), NOBODY, recruiter), faults
