"""Planning one spend by a common price, as plain text: what the kernels of `price_plan.py` are tested against.

Everybody is listed one by one, logarithms are those of the transform, coupons are sorted by their gains, and allotments
are mixed by plain Frank-Wolfe steps.
"""

import numpy as np
from numpy.typing import NDArray

from peerfront.gfp.backup import Array, Tables


def entries(tables: Tables, most: int) -> tuple[Array, Array]:
    """The gain and log(T(l - 1) / T(l)) of every person and coupon: [people, coupons], [people, coupons, latent]."""
    return tables.gains[:, :most], -np.diff(np.log(tables.transform()[:, : most + 1]), axis=1)


def price_bound(tables: Tables, worth: Array, left: Array, price: float, spend: int, most: int, least: int) -> float:
    """Equation (1) of `price_plan.py`: no allocation of `spend` is worth more, whatever `left` and `price` are."""
    chance, logs = entries(tables, most)
    gains = chance + logs @ (worth * left)
    surplus = gains[:, :least].sum() + np.maximum(gains[:, least:] - price, 0.0).sum()
    tangent = worth @ (1.0 - left + np.where(left > 0.0, left * np.log(np.where(left > 0.0, left, 1.0)), 0.0))
    return float(tangent + price * (spend - least * tables.people) + surplus)


def allotment(gains: Array, spend: int, least: int) -> NDArray[np.int64]:
    """Everybody's least, and the largest gains up to `spend` coupons, [people]."""
    people, columns = gains.shape
    given = np.zeros((people, columns), dtype=np.int64)
    given[:, :least] = 1
    beyond = [(-gains[i, k], k, i) for i in range(people) for k in range(least, columns)]
    for _, k, i in sorted(beyond)[: spend - least * people]:
        given[i, k] = 1
    coupons: NDArray[np.int64] = given.sum(axis=1)
    return coupons


def mixed_value(tables: Tables, worth: Array, spend: int, most: int, least: int, steps: int = 2000) -> float:
    """The value of the best mixture of allocations of `spend`, nearly: from below, by plain Frank-Wolfe steps."""
    chance, logs = entries(tables, most)
    reward, covered = 0.0, np.zeros(len(worth))
    for step in range(steps):
        coupons = allotment(chance + logs @ (worth * np.exp(-covered)), spend, least)
        given = np.arange(chance.shape[1]) < coupons[:, None]
        share = 2.0 / (step + 2.0)
        reward += share * (float(chance[given].sum()) - reward)
        covered = covered + share * (logs[given].sum(axis=0) - covered)
    return float(reward - worth @ np.expm1(-covered))
