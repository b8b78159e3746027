"""Inheritance probabilities from recruiter-recruit pairs (appendix C.1), and a kernel whose other draws are not even.

The paper's kernel gives a recruit the recruiter's category of field k with probability p_k, and one drawn evenly from
all c_k otherwise. Recruiter and recruit then agree with probability p_k + (1 - p_k) / c_k, whoever the recruiter is, so

    p_k = (match_k - 1 / c_k) / (1 - 1 / c_k),

with match_k the share of pairs that agree. Where recruits who do not inherit are drawn like the recruits of the study
instead (`RECRUITS`), agreement by chance is sum_j P(recruiter has j) P(recruit has j) in place of 1 / c_k.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import note
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import one_of

UNIFORM, RECRUITS = "uniform", "recruits"
OTHERWISE = (UNIFORM, RECRUITS)
"""How a field is drawn that is not inherited: evenly from its categories (the paper), or like the recruits'."""
_FLOATS = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class InheritanceEstimate:
    """Inheritance probabilities of the fields, and how sure they are. Every array is [fields]."""

    schema: Schema
    pairs: NDArray[np.int64]
    """Pairs in which the field of both is known."""
    match: _FLOATS
    """Share of these pairs that agree; nan without pairs."""
    chance: _FLOATS
    """Share that would agree without any inheritance."""
    estimates: _FLOATS
    """p_k as the formula gives it: below 0 where people agree less than by chance, nan where nothing can be said."""
    standard_errors: _FLOATS
    """Of the estimates; nan where nothing can be said."""

    @property
    def probabilities(self) -> _FLOATS:
        """p_k for a kernel: negative estimates are 0, because a kernel cannot avoid; so are those that are nan."""
        return np.clip(np.nan_to_num(self.estimates, nan=0.0), 0.0, 1.0)

    @property
    def table(self) -> pd.DataFrame:
        """One row per field: categories, pairs, match, chance, estimate, standard error, and what a kernel uses."""
        return pd.DataFrame(
            {
                "field": self.schema.names,
                "categories": self.schema.sizes,
                "pairs": self.pairs,
                "match": self.match,
                "chance": self.chance,
                "estimate": self.estimates,
                "standard_error": self.standard_errors,
                "probability": self.probabilities,
            }
        )


def estimate_inheritance(
    schema: Schema,
    recruiters: Codes,
    recruits: Codes,
    *,
    otherwise: str = UNIFORM,
    groups: NDArray[np.integer] | None = None,
) -> InheritanceEstimate:
    """Estimate p_k of every field from pairs of recruiters and recruits, row by row: appendix C.1 of the paper.

    A pair counts for a field if both values are known. A field with a single category, one in which everybody agrees by
    chance, and one without pairs say nothing: their estimate is nan.

    The standard error is that of a share, divided by 1 - chance. Two agreeing and two disagreeing pairs are added to it
    (Agresti and Coull), so that few pairs which happen to agree do not look certain. `groups` says which recruiter each
    pair belongs to, [pairs]; the error then allows for recruits of one recruiter being alike, which the paper's kernel
    excludes and real studies show. With `otherwise=RECRUITS` the agreement by chance counts as known.
    """
    one_of(note("kinds.otherwise"), otherwise, OTHERWISE)
    for codes in (recruiters, recruits):
        schema.check(codes)
    if len(recruiters) != len(recruits) or (groups is not None and len(groups) != len(recruits)):
        raise DataFileError("pairs.do_not_match", recruiters=len(recruiters), recruits=len(recruits))
    both = (recruiters >= 0) & (recruits >= 0)
    agree = both & (recruiters == recruits)
    pairs = both.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        match = agree.sum(axis=0) / pairs
        chance = 1.0 / schema.sizes if otherwise == UNIFORM else _agreement_by_chance(schema, recruiters, recruits)
        room = np.where(chance < 1.0, 1.0 - chance, np.nan)
        estimates = (match - chance) / room
    added = (agree.sum(axis=0) + 2.0) / (pairs + 4.0)
    variance = added * (1.0 - added) / (pairs + 4.0)
    if groups is not None:
        variance = np.maximum(variance, _variance_by_group(both, agree, groups))
    errors = np.where(np.isnan(estimates), np.nan, np.sqrt(variance) / room)
    return InheritanceEstimate(schema, pairs, match, chance, estimates, errors)


def recruit_shares(schema: Schema, recruits: Codes) -> tuple[_FLOATS, ...]:
    """The share of each category among recruits whose value is known, a row per field; even where none is known."""
    shares = []
    for field, size in enumerate(schema.sizes):
        counts = np.bincount(recruits[recruits[:, field] >= 0, field], minlength=size).astype(np.float64)
        shares.append(counts / counts.sum() if counts.any() else np.full(size, 1.0 / size))
    return tuple(shares)


def _agreement_by_chance(schema: Schema, recruiters: Codes, recruits: Codes) -> _FLOATS:
    both = (recruiters >= 0) & (recruits >= 0)
    of_recruiters = recruit_shares(schema, np.where(both, recruiters, -1).astype(np.int16))
    of_recruits = recruit_shares(schema, np.where(both, recruits, -1).astype(np.int16))
    return np.array([float(a @ b) for a, b in zip(of_recruiters, of_recruits, strict=True)])


def _variance_by_group(both: NDArray[np.bool_], agree: NDArray[np.bool_], groups: NDArray[np.integer]) -> _FLOATS:
    """Variance of the share that agrees if the pairs of a group are not independent, [fields]."""
    _, group = np.unique(groups, return_inverse=True)
    pairs = np.maximum(both.sum(axis=0), 1)
    off = np.where(both, agree - agree.sum(axis=0) / pairs, 0.0)
    variances = [float((np.bincount(group, weights=column) ** 2).sum()) for column in off.T]
    variance: _FLOATS = np.array(variances) / pairs**2
    return variance


@dataclass(frozen=True)
class InheritanceElseShares:
    """Each field is the parent's with its probability p_k, else drawn from given shares of its categories."""

    schema: Schema
    probabilities: _FLOATS  # [fields]
    shares: tuple[_FLOATS, ...]  # [fields][categories], rows sum to 1

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        # One uniform decides both, as in `Inheritance`: what lies above p_k, stretched to (0, 1), picks the category.
        u = luck.uniforms("offspring", len(self.schema.fields))
        room = np.where(self.probabilities < 1.0, 1.0 - self.probabilities, 1.0)
        fresh = np.maximum(u - self.probabilities, 0.0) / room
        drawn = np.stack(
            [np.searchsorted(np.cumsum(of)[:-1], fresh[:, k], side="right") for k, of in enumerate(self.shares)], axis=1
        )
        children: Codes = np.where(u < self.probabilities, parents, drawn).astype(np.int16)
        return children
