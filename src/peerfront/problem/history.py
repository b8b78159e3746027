"""Past referrals, which models learn from: who got how many coupons, how many came, and who brought whom."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import DataFileError, SettingError


@dataclass(frozen=True)
class History:
    """Censored triples (x, k, y) and parent-child pairs (Section 3.1), checked on the way in.

    >>> from peerfront.simulation.history import simulate_history
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

    def __post_init__(self) -> None:
        for codes in (self.referrers, self.parents, self.children):
            self.schema.check(codes)
        if not len(self.referrers) == len(self.coupons) == len(self.recruits):
            raise DataFileError(
                f"{len(self.referrers)} referrers, {len(self.coupons)} coupon counts and {len(self.recruits)} "
                "recruit counts do not match; give one of each per person."
            )
        if len(self.parents) != len(self.children):
            raise DataFileError(f"{len(self.parents)} parents and {len(self.children)} children do not form pairs.")
        _refuse_rows("have negative counts", (self.coupons < 0) | (self.recruits < 0))
        _refuse_rows("have more recruits than coupons", self.recruits > self.coupons)

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """Rows with y = k, which say only that C >= k."""
        saturated: NDArray[np.bool_] = self.recruits == self.coupons
        return saturated

    def informative_rows(self) -> NDArray[np.int64]:
        """Rows that say something about capacities: those with a coupon. None at all is an error."""
        counts = np.stack([self.coupons, self.recruits])
        if not np.issubdtype(counts.dtype, np.integer):
            raise DataFileError(
                f"Coupons and recruits are stored as {counts.dtype}; they are counts. Fill or drop missing ones, and "
                "convert them to whole numbers."
            )
        rows = np.flatnonzero(self.coupons > 0)
        if not len(rows):
            raise SettingError(
                "No row says anything about capacities: nobody was given a coupon. Add people with at least one."
            )
        return rows


def _refuse_rows(fault: str, wrong: NDArray[np.bool_]) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows):
        shown = ", ".join(str(row) for row in rows[:5]) + (", ..." if len(rows) > 5 else "")
        raise DataFileError(f"{len(rows)} referral rows {fault} (rows {shown}). Correct them, or leave them out.")
