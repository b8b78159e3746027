"""Algorithm 1 as the paper writes it: for every spend, one coupon at a time to the largest marginal gain.

Slow and plain, the yardstick for `greedy.py`. Sums run over the latent coordinates in order, as they do there, so that
the two agree to the last bit and break ties the same way.
"""

import numpy as np
from numpy.typing import NDArray

from peerfront.gfp.backup import Array, Tables


def greedy_reference(
    tables: Tables,
    weights: Array,
    discount: float,
    *,
    spendable: int,
    most_per_person: int,
    least_per_person: int = 0,
    base: Array | None = None,
) -> tuple[NDArray[np.int64], Array]:
    """Coupons of the first best spend, [people], and the value of every spend, [spendable + 1] (NaN: not allowed).

    `weights` is [budget + 1, latent]: row r - s holds w(r - s), so its last row belongs to the whole remaining budget.
    `base` [budget + 1] is the value of who comes anyway.
    """
    people, columns = tables.gains.shape
    budget = len(weights) - 1
    beyond = max(most_per_person - columns, 0) + 1
    chance = np.concatenate([tables.gains, np.zeros((people, beyond))], axis=1)
    gains = np.concatenate([tables.covers, np.zeros((people, beyond, tables.latent))], axis=1)
    everybody = np.arange(people)
    values = np.full(spendable + 1, np.nan)
    best, best_coupons = -np.inf, np.full(people, least_per_person, dtype=np.int64)
    for spend in range(people * least_per_person, spendable + 1):
        worth = discount * weights[budget - spend]
        coupons = np.zeros(people, dtype=np.int64)
        left = np.ones(tables.latent)  # u_j, what nobody covers
        reward = 0.0
        for person in np.repeat(everybody, least_per_person).tolist():
            reward += chance[person, coupons[person]]
            left = left * (1.0 - gains[person, coupons[person]])
            coupons[person] += 1
        for _ in range(spend - people * least_per_person):
            gain = chance[everybody, coupons].copy()
            for j in range(len(left)):
                gain += worth[j] * left[j] * gains[everybody, coupons, j]
            gain[coupons >= most_per_person] = -np.inf
            person = int(gain.argmax())
            reward += chance[person, coupons[person]]
            left = left * (1.0 - gains[person, coupons[person]])
            coupons[person] += 1
        value = reward
        for j in range(len(left)):
            value += worth[j] * (1.0 - left[j])
        if base is not None:
            value += discount * base[budget - spend]
        values[spend] = value
        if value > best:
            best, best_coupons = value, coupons
    return best_coupons, values
