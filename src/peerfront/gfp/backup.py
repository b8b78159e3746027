"""The closed-form backup: what the next frontier is worth in expectation (Proposition 1).

With k coupons a person brings G(k) recruits in expectation and leaves a share T_j(k) = E[alpha_j^N(k)] of coordinate j
uncovered (`problem.response` says what they are; for the paper's capacity T is its tau). People are independent, so the
expected value of the next frontier is

    sum_j w_j * (1 - prod_i T_ij(k_i)).

No network and no model is in sight here: the planner gets `Tables` of what each coupon adds. Several stories of what a
coupon does, with their own values, enter as more coordinates (`story.Story`). Coupons beyond the tables are never
used. `paper.py` says the same as the paper does.

**Recruits still to come** from coupons that are out join the next frontier, whatever is given out now. Coordinate j of
it stays uncovered by all of them with

    U_j = product over holders of E[alpha_j^M],     M: recruits that the holder still brings, alpha by the generator,

so that the value of a spend s becomes, with w = w(r - s),

    sum_i G_i(k_i) + discount * sum_j w_j (1 - U_j prod_i T_ij(k_i))
        = sum_i G_i(k_i) + discount * sum_j U_j w_j (1 - prod_i T_ij(k_i)) + discount * sum_j w_j (1 - U_j).

The first two terms are the old objective with weights U_j w_j: greedy and its guarantee stay as they are. The last one
(`base`) is the same for all allocations of a spend, and falls with the spend: coupons that are kept are worth more when
people are coming.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.problem.coverage import coverage_gains

Array = NDArray[np.float64]
_ROUNDING = 1e-9  # relative; tables that rise by less were rounded


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What each coupon of each person adds."""

    gains: Array  # [people, coupons]
    """G(k + 1) - G(k): the expected recruits that one more coupon brings; for the paper's capacity its survival."""
    covers: Array  # [people, coupons, latent]
    """1 - T(k + 1) / T(k): the share of what is uncovered that one more coupon covers."""

    @classmethod
    def of_capacity(cls, survival: Array, uncovered: Array) -> "Tables":
        """Tables of N = min(k, C) from P(C >= l) [people, coupons] and alpha [people, latent]."""
        if survival.ndim != 2 or uncovered.ndim != 2 or len(survival) != len(uncovered):
            raise SettingError(
                "plan_tables.other_embeddings", survival=str(survival.shape), embeddings=str(uncovered.shape)
            )
        check_embeddings(uncovered)
        survival = np.ascontiguousarray(survival, dtype=np.float64)
        return cls(survival, coverage_gains(survival, np.ascontiguousarray(uncovered, dtype=np.float64)))

    @property
    def people(self) -> int:
        return len(self.gains)

    @property
    def coupons(self) -> int:
        return self.gains.shape[1]

    @property
    def latent(self) -> int:
        return self.covers.shape[2]

    def take(self, rows: NDArray[np.int64] | slice) -> "Tables":
        """The tables of some of the people."""
        return Tables(self.gains[rows], self.covers[rows])

    def transform(self) -> Array:
        """T(k) for k = 0 .. coupons, [people, coupons + 1, latent]."""
        start = np.ones((self.people, 1, self.latent))
        return np.concatenate([start, np.cumprod(1.0 - self.covers, axis=1)], axis=1)

    def check(self, weights: Array) -> None:
        """Refuse what would make a plan meaningless, before any planning; `weights` is [budget + 1, latent]."""
        shapes = (("gains", self.gains, 2), ("covers", self.covers, 3), ("weights", weights, 2))
        fit = self.covers.shape == (*self.gains.shape, weights.shape[-1])
        plain = all(
            table.ndim == n and table.flags.c_contiguous and table.dtype == np.float64 for _, table, n in shapes
        )
        if fit and plain and _acceptable(self.gains, self.covers, weights):
            return  # what follows finds what is wrong, and where
        for name, table, dimensions in shapes:
            if table.ndim != dimensions:
                raise SettingError("plan_tables.other_dimensions", table=name, needed=dimensions, dimensions=table.ndim)
            if not np.isfinite(table).all():
                place = tuple(int(index[0]) for index in np.nonzero(~np.isfinite(table)))
                raise SettingError("plan_tables.not_finite", table=name, value=float(table[place]), place=str(place))
        if self.covers.shape[:2] != self.gains.shape or self.latent != weights.shape[1]:
            raise SettingError(
                "plan_tables.other_shapes",
                gains=str(self.gains.shape),
                covers=str(self.covers.shape),
                weights=str(weights.shape),
            )
        gains, covers = self.gains, self.covers
        _refuse(gains, (gains < 0.0) | (gains > 1.0), "plan_tables.no_chance")
        _refuse(gains, _rises(gains), "plan_tables.rising_gain")
        _refuse(covers, (covers < 0.0) | (covers > 1.0), "plan_tables.no_covered_share")
        _refuse(covers, _rises(covers), "plan_tables.rising_share")
        _refuse(weights, weights < 0.0, "plan_tables.negative_weight")


def check_embeddings(uncovered: Array) -> None:
    """Refuse what no recruit can leave uncovered, alpha [people, latent]."""
    if uncovered.size and not (uncovered.min() > 0.0 and uncovered.max() <= 1.0):
        wrong = ~((uncovered > 0.0) & (uncovered <= 1.0))
        _refuse(uncovered, wrong, "plan_tables.no_embedding")


@njit(cache=True, nogil=True)
def _acceptable(gains: Array, covers: Array, weights: Array) -> bool:
    """Whether `Tables.check` has nothing to refuse, in one pass."""
    people, coupons, latent = covers.shape
    for i in range(people):
        for k in range(coupons):
            if not 0.0 <= gains[i, k] <= 1.0:
                return False
            if k > 0 and gains[i, k] > gains[i, k - 1] * (1.0 + _ROUNDING) + _ROUNDING:
                return False
            for j in range(latent):
                if not 0.0 <= covers[i, k, j] <= 1.0:
                    return False
                if k > 0 and covers[i, k, j] > covers[i, k - 1, j] * (1.0 + _ROUNDING) + _ROUNDING:
                    return False
    for r in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            if not 0.0 <= weights[r, j] < np.inf:
                return False
    return True


def _rises(table: Array) -> NDArray[np.bool_]:
    """Where a row rises from coupon to coupon by more than rounding explains."""
    rising = np.zeros(table.shape, dtype=bool)
    rising[:, 1:] = table[:, 1:] > table[:, :-1] * (1.0 + _ROUNDING) + _ROUNDING
    return rising


def _refuse(table: Array, wrong: NDArray[np.bool_], code: str) -> None:
    if wrong.any():
        place = tuple(int(index[0]) for index in np.nonzero(wrong))
        raise SettingError(code, row=place[0], column=place[1:], value=float(table[place]))


# ---- recruits still to come ------------------------------------------------------------------------------------------


def left_uncovered(more: Array, uncovered: Array, in_time: Array | float = 1.0) -> Array:
    """E[alpha^M] of each holder, [holders, latent].

    `more` [holders, most + 1] are the chances of M = 0 .. most, `uncovered` [holders, latent] is alpha, and `in_time`
    [holders] the chance that a recruit who comes does so before the study ends; others are as good as none.
    """
    late = 1.0 - np.broadcast_to(np.asarray(in_time, dtype=np.float64), len(more))[:, None]
    base = late + (1.0 - late) * uncovered  # E[alpha^1{in time}]
    left = np.zeros_like(base)
    for count in range(more.shape[1] - 1, -1, -1):  # Horner
        left = left * base + more[:, count, None]
    return np.clip(left, 0.0, 1.0)


def left_by_frontier(left: Array, frontier: NDArray[np.int64], frontiers: int) -> Array:
    """U of each of many frontiers, [frontiers, latent]: products over the holders of each."""
    product = np.ones((frontiers, left.shape[1]))
    np.multiply.at(product, frontier, left)
    return product


def check_coming(coming: Array, latent: int) -> Array:
    """Refuse anything but one share from 0 to 1 for each coordinate."""
    shares = np.asarray(coming, dtype=np.float64)
    if shares.shape != (latent,) or not ((shares >= 0.0) & (shares <= 1.0)).all():
        raise SettingError("plan_tables.other_coming", latent=latent, shape=str(shares.shape))
    return shares


@njit(cache=True, nogil=True)
def split_weights(weights: Array, coming: Array) -> tuple[Array, Array]:
    """Weights of what is left uncovered, U w, [budget + 1, latent], and the value of who comes anyway, [budget + 1]."""
    rows, latent = weights.shape
    scaled, base = np.empty((rows, latent)), np.zeros(rows)
    for r in range(rows):
        for j in range(latent):
            scaled[r, j] = weights[r, j] * coming[j]
            base[r] += weights[r, j] * (1.0 - coming[j])
    return scaled, base
