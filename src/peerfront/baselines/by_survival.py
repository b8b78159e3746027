"""Vouchers in the order of their chance to be used: the greedy allocation by immediate reward."""

import numpy as np
from numpy.typing import NDArray


def most_likely_used(survival: NDArray[np.float64], spend: int) -> NDArray[np.int64]:
    """Who gets voucher 1, 2, ..., spend, [spend]: always the person with the largest P(C >= k + 1), ties to the first.

    `survival` is [people, vouchers] with nonincreasing rows, so a stable sort of all its entries is the greedy order.
    """
    people, levels = survival.shape
    chances = survival.reshape(-1)
    if spend < len(chances):
        # Only entries at or above the spend-th largest can be chosen; sorting the others is wasted work.
        smallest = np.partition(chances, len(chances) - spend)[len(chances) - spend] if spend else np.inf
        entries = np.flatnonzero(chances >= smallest)
    else:
        entries = np.arange(people * levels)
    order = entries[np.argsort(-chances[entries], kind="stable")][:spend]
    persons: NDArray[np.int64] = order // max(levels, 1)
    return persons
