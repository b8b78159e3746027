"""What one more coupon covers: ratios of the transform T(k) = E[alpha^N(k)] without cancellation.

The planner works with the share 1 - T(k + 1) / T(k) of what is uncovered that one more coupon covers. For one value of
P, with beta = 1 - (1 - alpha) P = alpha P + (1 - P), its numerator is (1 - alpha) P beta^k p(k + 1), and T is summed
from nonnegative terms, beta^c P(C = c), so that nothing cancels even for alpha near 0 and p near 1, where the formula
of T as it is written loses all its digits. Over several values of P, numerators and T are averaged.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]


@njit(cache=True, nogil=True)
def coverage_gains(survival: Array, uncovered: Array) -> Array:
    """1 - T(k + 1) / T(k) for k = 0 .. coupons - 1 where P = 1, [people, coupons, latent]."""
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


@njit(cache=True, nogil=True)
def mixed_coverage_gains(survival: Array, uncovered: Array, chances: Array, shares: Array) -> Array:
    """The same where P takes the values `chances` with these `shares`, [people, values] each."""
    people, coupons = survival.shape
    latent, values = uncovered.shape[1], chances.shape[1]
    gains = np.zeros((people, coupons, latent))
    stopped, power = np.empty(values), np.empty(values)
    for i in range(people):
        for j in range(latent):
            stopped[:] = 0.0
            power[:] = 1.0
            reached = 1.0
            previous = 1.0
            for k in range(coupons):
                chance = survival[i, k]
                total, lost = 0.0, 0.0
                for v in range(values):
                    alpha, used = uncovered[i, j], chances[i, v]
                    total += shares[i, v] * (stopped[v] + power[v] * reached)
                    lost += shares[i, v] * ((1.0 - alpha) * used) * power[v] * chance
                    stopped[v] += power[v] * (reached - chance)
                    power[v] *= alpha * used + (1.0 - used)
                reached = chance
                if total > 0.0:
                    previous = min(lost / total, previous)  # never rising, whatever rounding does
                    gains[i, k, j] = previous
                else:
                    previous = 0.0
    return gains
