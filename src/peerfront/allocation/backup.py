"""The closed-form backup: what the next frontier is worth in expectation (Proposition 1).

Somebody whose recruits keep a share alpha_j = E[exp(-h_j(recruit))] of coordinate j uncovered leaves, with k coupons,

    tau_j(k) = E[alpha_j^min(k, C)] = 1 - (1 - alpha_j) * sum_{l <= k} alpha_j^(l-1) p(l),        p(l) = P(C >= l),

of it uncovered; people are independent, so the expected value of the next frontier is

    sum_j w_j * (1 - prod_i tau_ij(k_i)).

Everything here takes plain arrays: `survival` [people, coupons] (p), `uncovered` [people, latent] (alpha), `weights`
[latent] (w); no network is in sight. Coupons beyond the columns of `survival` are never used (p = 0).

The planner works with `coverage_gains`, the share 1 - tau(k + 1) / tau(k) of what is uncovered that one more coupon
covers. Its numerator is (1 - alpha) alpha^k p(k + 1), and tau is summed from nonnegative terms, alpha^c P(C = c), so
that nothing cancels even for alpha near 0 and p near 1, where the identity above loses all its digits.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError

Array = NDArray[np.float64]


def tau_table(survival: Array, uncovered: Array) -> Array:
    """tau_ij(k) for k = 0 .. coupons, [people, coupons + 1, latent], by the identity in the module's docstring."""
    people, coupons = survival.shape
    powers = uncovered[:, None, :] ** np.arange(coupons)[None, :, None]  # alpha^(l - 1)
    covered = (1.0 - uncovered[:, None, :]) * np.cumsum(powers * survival[:, :, None], axis=1)
    return np.concatenate([np.ones((people, 1, uncovered.shape[1])), 1.0 - covered], axis=1)


def expected_future_value(survival: Array, uncovered: Array, weights: Array, coupons: NDArray[np.integer]) -> float:
    """E[V(next frontier)] of an allocation: Proposition 1, written plainly."""
    levels = np.minimum(coupons, survival.shape[1])
    tau = tau_table(survival, uncovered)[np.arange(len(coupons)), levels]  # [people, latent]
    return float(weights @ (1.0 - tau.prod(axis=0)))


def expected_recruits(survival: Array, coupons: NDArray[np.integer]) -> float:
    """The expected immediate reward A(F, k): the sum of P(C_i >= l) over the coupons given (Equation 2)."""
    given = np.arange(1, survival.shape[1] + 1)[None, :] <= np.asarray(coupons)[:, None]
    return float(survival[given].sum())


@njit(cache=True, nogil=True)
def coverage_gains(survival: Array, uncovered: Array) -> Array:
    """1 - tau_ij(k + 1) / tau_ij(k) for k = 0 .. coupons - 1, [people, coupons, latent]."""
    people, coupons = survival.shape
    latent = uncovered.shape[1]
    gains = np.zeros((people, coupons, latent))
    for i in range(people):
        for j in range(latent):
            alpha = uncovered[i, j]
            stopped = 0.0  # sum over c < k of alpha^c P(C = c)
            power = 1.0  # alpha^k
            reached = 1.0  # P(C >= k)
            for k in range(coupons):
                chance = survival[i, k]
                tau = stopped + power * reached
                if tau > 0.0:
                    gains[i, k, j] = min((1.0 - alpha) * power * chance / tau, 1.0)
                stopped += power * (reached - chance)
                power *= alpha
                reached = chance
    return gains


def check_tables(survival: Array, uncovered: Array, weights: Array) -> None:
    """Refuse what would make a plan meaningless, before any planning."""
    for name, table, dimensions in (("survival", survival, 2), ("uncovered", uncovered, 2), ("weights", weights, 2)):
        if table.ndim != dimensions:
            raise SettingError(f"The table of {name} must have {dimensions} dimensions; found {table.ndim}.")
        if not np.isfinite(table).all():
            place = tuple(int(index[0]) for index in np.nonzero(~np.isfinite(table)))
            raise SettingError(f"The table of {name} has {table[place]} at {place}; every number must be finite.")
    if len(survival) != len(uncovered) or uncovered.shape[1] != weights.shape[1]:
        raise SettingError(
            f"Tables do not fit together: survival {survival.shape}, uncovered {uncovered.shape}, weights "
            f"{weights.shape}. Give [people, coupons], [people, latent] and [budget + 1, latent]."
        )
    _refuse(survival, (survival < 0.0) | (survival > 1.0), "a chance that a coupon is used of {}", "0 to 1")
    rising = np.zeros(survival.shape, dtype=bool)
    rising[:, 1:] = survival[:, 1:] > survival[:, :-1]
    _refuse(survival, rising, "a chance of use that rises to {}", "chances that never rise from coupon to coupon")
    _refuse(uncovered, (uncovered <= 0.0) | (uncovered > 1.0), "a Laplace embedding of {}", "above 0 and at most 1")
    _refuse(weights, weights < 0.0, "a weight of {}", "weights of at least 0")


def _refuse(table: Array, wrong: NDArray[np.bool_], what: str, allowed: str) -> None:
    if wrong.any():
        row, column = (int(index[0]) for index in np.nonzero(wrong))
        raise SettingError(
            f"Row {row}, column {column} (counted from 0) has {what.format(table[row, column])}; allowed: {allowed}. "
            "Check the model that made it."
        )
