"""Recruits still to come from coupons that are out: they join the next frontier, whatever is given out now.

Coordinate j of the next frontier stays uncovered by all of them with

    U_j = product over holders of E[alpha_j^M],     M: recruits that the holder still brings, alpha by the generator,

so that the value of a spend s becomes, with w = w(r - s),

    sum_i G_i(k_i) + discount * sum_j w_j (1 - U_j prod_i T_ij(k_i))
        = sum_i G_i(k_i) + discount * sum_j U_j w_j (1 - prod_i T_ij(k_i)) + discount * sum_j w_j (1 - U_j).

The first two terms are the old objective with weights U_j w_j: greedy and its guarantee stay as they are. The last one
(`base`) is the same for all allocations of a spend, and falls with the spend: coupons that are kept are worth more when
people are coming.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError

Array = NDArray[np.float64]


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
        raise SettingError(
            f"What recruits still to come leave uncovered is one share from 0 to 1 for each of {latent} coordinates; "
            f"found the shape {shares.shape}."
        )
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
