"""Vouchers in the order of their chance to be used: the greedy allocation by immediate reward."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from peerfront.problem import CapacityModel, State


def survival_tables(capacity: CapacityModel, states: Sequence[State]) -> list[NDArray[np.float64]]:
    """P(C >= l) of everybody on each frontier, [people, most per person]; the model is asked once for all of them."""
    if not states:
        return []
    most = max(state.most_per_person for state in states)
    chances = capacity.survival(np.concatenate([state.frontier.covariates for state in states]), most)
    ends = np.cumsum([len(state.frontier) for state in states])
    tables = np.split(chances, ends[:-1])
    return [table[:, : state.most_per_person] for table, state in zip(tables, states, strict=True)]


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
