"""What coupons may do: one family, in which only the change from one number of coupons to another is assumed.

Somebody with k coupons brings N(k) = E(k) * Binomial(min(k, C), P): the person could bring C people, a coupon is used
with chance P, and with chance 1 - pi(k) nothing comes of it at all. Data with one number K of coupons show how many
come with K, Y = N(K), and nothing else; so the distribution f of Y is left free, and two numbers say the rest:

- `limited`, the share of people with P = 1 and C = Y, who use the first coupons first; the coupons of the others are
  used on their own (C without limit), so that the Y used ones are any Y of K;
- `spur`: P(E(k) = 1) = pi(k) = (k / K)^spur. More coupons motivate where it is above 0.

Somebody with k <= K coupons therefore brings y with chance

    sum over Y of f(Y) * transport(k)[y, Y],
    transport(k)[y, Y] = pi(k) (limited [min(k, Y) = y] + (1 - limited) hypergeometric(y; K, Y, k))
                         + (1 - pi(k)) [y = 0],

linear in f. limited = 1 and spur = 0 is the paper's N = min(k, C); limited = 0 and spur = 0 is each coupon on its own,
whatever the differences between people.

Beyond K nothing was seen, and little is assumed: somebody who is limited and used all K goes on with chance 1/2 for
each further coupon, and of the others each further coupon is used with chance (Y + 1/2) / (K + 1), up to `FURTHEST`
times K.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb
from scipy.stats import binom

Array = NDArray[np.float64]


FURTHEST = 2
"""Coupons beyond this many times the most that data show are never used."""


def tilt(most: int) -> Array:
    """How much zeal adds to the log chance of 0 .. most recruits, [most + 1]: 3 for all, whatever their number."""
    return np.arange(most + 1, dtype=np.float64) * (3.0 / max(most, 3))


def moved(coupons: NDArray[np.int64] | int, most: int, spur: Array | float) -> Array:
    """pi(k): the chance that something comes of k coupons, relative to `most` coupons; 1 beyond these."""
    chances: Array = np.minimum(np.asarray(coupons) / most, 1.0) ** spur
    return chances


@lru_cache(maxsize=4096)
def transport(coupons: int, most: int, limited: float, spur: float) -> Array:
    """P(N(coupons) = y | N(most) = Y), [coupons + 1, most + 1]."""
    within, furthest = min(coupons, most), FURTHEST * most
    y, used = np.arange(coupons + 1)[:, None], np.arange(most + 1)[None, :]
    first = (np.minimum(within, used) == y).astype(np.float64)
    any_of = np.asarray(comb(used, y) * comb(most - used, within - y) / comb(most, within))
    more = min(coupons, furthest) - most
    if more > 0:
        first[:, most] = 0.0
        first[most : most + more, most] = 0.5 ** np.arange(1, more + 1)
        first[most + more, most] = 0.5**more
        any_of = np.asarray(binom.pmf(y - used, more, (used + 0.5) / (most + 1.0)))
    table: Array = limited * first + (1.0 - limited) * any_of
    chance = float(moved(coupons, most, spur)) if coupons else 1.0
    table = chance * table
    table[0] += 1.0 - chance
    return table


@lru_cache(maxsize=4096)
def expected(max_coupons: int, most: int, limited: float, spur: float) -> Array:
    """E[N(k) | N(most) = Y] for k = 0 .. max_coupons, [max_coupons + 1, most + 1]."""
    rows = [np.arange(k + 1) @ transport(k, most, limited, spur) for k in range(max_coupons + 1)]
    return np.stack(rows)


def seen_so_far(coupons: int, exposures: Array) -> Array:
    """P(y seen | N = n), [coupons + 1, coupons + 1], if each recruit has come already with one of these chances.

    The chances are draws of one unknown exposure: the table is their average.
    """
    n, came = np.arange(coupons + 1), np.asarray(exposures, dtype=np.float64)
    missing = np.maximum(n[None, :] - n[:, None], 0)  # [seen, N]
    powers = (came ** n[:, None, None] * (1.0 - came) ** missing[:, :, None]).mean(axis=2)
    average: Array = np.asarray(comb(n[None, :], n[:, None])) * powers
    return average
