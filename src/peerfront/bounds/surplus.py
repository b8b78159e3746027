"""What a person is worth when every coupon has a price: the sum over l of max(0, p(l) * worth - price).

p(l), what the l-th coupon adds to the expected recruits, falls with l, so the sum takes the coupons whose p is above
price / worth and no others: a binary search in the person's row and two looked-up sums, whatever the number of coupons.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.problem import ResponseModel

Array = NDArray[np.float64]
_FIRST_LEVELS = 32


@dataclass(frozen=True, eq=False)
class Chances:
    """Gains of some people, up to the last coupon that can matter, with their running sums."""

    gains: Array  # [people, levels], what each coupon adds to the expected recruits
    sums: Array  # [people, levels + 1], expected recruits of 0 .. levels coupons

    @classmethod
    def of(cls, gains: Array) -> "Chances":
        people = len(gains)
        return cls(np.ascontiguousarray(gains), np.concatenate([np.zeros((people, 1)), gains.cumsum(axis=1)], axis=1))

    def take(self, rows: NDArray[np.int64]) -> "Chances":
        return Chances(self.gains[rows], self.sums[rows])

    def surplus(self, worth: Array, prices: Array) -> Array:
        """sum over l of max(0, p(l) * worth - price), [people, prices]; `prices` is [prices] or [people, prices]."""
        each = np.ascontiguousarray(np.atleast_2d(prices), dtype=np.float64)
        return _surplus(self.gains, self.sums, np.ascontiguousarray(worth), each)


def chances_that_matter(
    response: ResponseModel, covariates: Codes, most: int, smallest_price: float, largest_worth: float
) -> Chances:
    """Gains up to `most` coupons, cut where no coupon is worth the smallest price: nothing is lost by the cut."""
    levels = min(_FIRST_LEVELS, most)
    while True:
        gains = response.gains(covariates, levels)
        if levels == most or (gains[:, -1] * largest_worth <= smallest_price).all():
            return Chances.of(gains)
        levels = min(2 * levels, most)


def _surplus_plain(gains: Array, sums: Array, worth: Array, prices: Array) -> Array:
    people, levels = gains.shape
    columns = worth.shape[1]
    shared = prices.shape[0] == 1
    total = np.zeros((people, columns))
    for i in range(people):
        row = 0 if shared else i
        for j in range(columns):
            price = prices[row, j]
            low, high = 0, levels  # coupons 1 .. low are worth their price, those beyond high are not
            while low < high:
                middle = (low + high) // 2
                if gains[i, middle] * worth[i, j] > price:
                    low = middle + 1
                else:
                    high = middle
            total[i, j] = worth[i, j] * sums[i, low] - price * low
    return total


_surplus: Callable[[Array, Array, Array, Array], Array] = njit(cache=True, nogil=True)(_surplus_plain)
