"""Past referrals, which models learn from: who got how many coupons, how many came, and who brought whom."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.checked_calls import checked_class
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import note


@checked_class
@dataclass(frozen=True)
class History:
    """Censored triples (x, k, y) and parent-child pairs (Section 3.1), checked on the way in.

    Where coupons may still be used, y counts the recruits so far: `exposure` is the chance that a recruit who will come
    is among them already, so that y = Binomial(N(k), exposure).

    >>> from peerfront.simulation.simulated_history import simulate_history
    >>> history = simulate_history(pf.make_world("bridge"))
    >>> bool((history.recruits <= history.coupons).all())
    True
    """

    schema: Schema
    referrers: Codes  # [triples, fields], x
    coupons: NDArray[np.int64]  # [triples], k
    recruits: NDArray[np.int64]  # [triples], y = min(k, C)
    parents: Codes  # [pairs, fields]
    children: Codes  # [pairs, fields]
    exposure: NDArray[np.float64] | None = None
    """[triples], from 0 (just issued) to 1 (everybody who will come has come); None for 1 everywhere."""
    wave: NDArray[np.int64] | None = None
    """[triples], steps from the first people to each referrer; None if that is not known."""
    planned: NDArray[np.int64] | None = None
    """[triples], the number of coupons that a plan or a lot gave, -1 where staff decided; None: always staff."""
    exposure_draws: NDArray[np.float64] | None = None
    """[triples, draws], what the exposure may be instead, as far as it is not known; None if that is not told."""

    def __post_init__(self) -> None:
        for codes in (self.referrers, self.parents, self.children):
            self.schema.check(codes)
        if not len(self.referrers) == len(self.coupons) == len(self.recruits):
            raise DataFileError(
                "history.other_counts",
                referrers=len(self.referrers),
                coupons=len(self.coupons),
                recruits=len(self.recruits),
            )
        if len(self.parents) != len(self.children):
            raise DataFileError("history.no_pairs", parents=len(self.parents), children=len(self.children))
        _refuse_rows("history.negative_counts", (self.coupons < 0) | (self.recruits < 0))
        _refuse_rows("history.more_recruits_than_coupons", self.recruits > self.coupons)
        if self.exposure is not None:
            if self.exposure.shape != self.coupons.shape:
                raise DataFileError(
                    "history.other_exposures", coupons=len(self.coupons), shape=str(self.exposure.shape)
                )
            _refuse_rows("history.exposure_no_share", ~_is_share(self.exposure))
            _refuse_rows("history.recruits_unexposed", (self.exposure == 0.0) & (self.recruits > 0))

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """Rows with y = k, which say only that C >= k."""
        saturated: NDArray[np.bool_] = self.recruits == self.coupons
        return saturated

    def exposure_of(self, rows: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Exposures of some triples; None where everybody who will come has come, in the whole history."""
        if self.exposure is None or bool((self.exposure == 1.0).all()):
            return None
        return self.exposure[rows]

    def part(self, triples: NDArray[np.int64], pairs: NDArray[np.int64]) -> "History":
        """Some of the triples and some of the pairs, by their row numbers."""
        for rows, of in ((triples, self.coupons), (pairs, self.parents)):
            if len(rows) and not -len(of) <= rows.min() <= rows.max() < len(of):
                raise SettingError("history.no_such_row", rows=len(of))
        return History(
            self.schema,
            self.referrers[triples],
            self.coupons[triples],
            self.recruits[triples],
            self.parents[pairs],
            self.children[pairs],
            None if self.exposure is None else self.exposure[triples],
            None if self.wave is None else self.wave[triples],
            None if self.planned is None else self.planned[triples],
            None if self.exposure_draws is None else self.exposure_draws[triples],
        )

    def informative_rows(self) -> NDArray[np.int64]:
        """Rows that say something about capacities: with a coupon, and time to use it. None at all is an error."""
        counts = np.stack([self.coupons, self.recruits])
        if not np.issubdtype(counts.dtype, np.integer):
            raise DataFileError("history.no_whole_numbers", kind=str(counts.dtype))
        rows = np.flatnonzero(self.coupons > 0)
        if not len(rows):
            raise SettingError("history.nobody_had_coupons")
        if self.exposure is not None:
            rows = rows[self.exposure[rows] > 0.0]
            if not len(rows):
                raise SettingError("history.nobody_had_time")
        return rows


def _is_share(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    shares: NDArray[np.bool_] = (values >= 0.0) & (values <= 1.0)  # not true of NaN
    return shares


def _refuse_rows(code: str, wrong: NDArray[np.bool_]) -> None:
    rows = np.flatnonzero(wrong).tolist()
    if rows:
        first = [*rows[:5], "..."] if len(rows) > 5 else rows
        raise DataFileError("history.bad_rows", number=len(rows), fault=note(code), rows=first)
