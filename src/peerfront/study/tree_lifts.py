"""Trees that carry a study: some trees bring more people than others of the same time, and their branches go on so.

A tree's recruits are Poisson with a mean of theta times what is expected of its holders by those of all trees whose
coupons were given out in the same generation; theta is gamma with mean 1. How much trees differ is one of a few values
with prior weights: counts have a closed form, and so has what is known of each theta. Every simulated study draws its
own; people whose tree is not known have theta 1.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp
from scipy.stats import gamma

from peerfront.foundation.randomness import Luck, fold
from peerfront.models.belief.belief import Belief
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.study.coupon_calendar import calendar_step
from peerfront.study.study_state import Standing

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
DIFFER = ((0.05, 0.5), (0.3, 0.2), (0.6, 0.2), (0.9, 0.1))
"""Standard deviations of theta, with prior weights."""
_MOST_TREES = 200  # that are followed: the largest


def tree_lifts(belief: Belief, standing: Standing, times: ReturnTimes, luck: Luck) -> Array | None:
    """What belongs to each tree is added to the zeal of its people, [studies, trees + 1]; None if trees are not known.

    Numbers of trees are those of `Standing.trees`; the first column (0) is 0.
    """
    if standing.trees is None or not len(standing.trees):
        return None
    came, expected = _by_tree(belief, standing, times)
    logs = [np.log(weight) + evidence(came, expected, differ) for differ, weight in DIFFER]
    shares = np.cumsum(np.exp(np.array(logs) - logsumexp(logs)))
    which = np.minimum(np.searchsorted(shares, luck.uniform("how much trees differ")), len(DIFFER) - 1)
    shape = np.array([1.0 / differ**2 for differ, _ in DIFFER])[which]  # [studies]
    lifts, largest = np.zeros((len(luck), len(came))), np.argsort(-expected, kind="stable")[:_MOST_TREES]
    for tree in largest.tolist():
        if tree and expected[tree] > 0.0:
            uniform = np.clip(Luck(fold(luck.keys, np.full(len(luck), tree))).uniform("a tree"), 1e-6, 1.0 - 1e-6)
            theta = gamma.ppf(uniform, shape + came[tree]) / (shape + expected[tree])
            lifts[:, tree] = np.log(np.maximum(theta, 1e-3))
    return lifts


def evidence(came: Array, expected: Array, differ: float) -> float:
    """Log chance of what the trees brought, if theta has this standard deviation (terms without it left out)."""
    shape, some = 1.0 / differ**2, expected > 0.0
    y, e = came[some], expected[some]
    logs = gammaln(shape + y) - gammaln(shape) + shape * np.log(shape / (shape + e)) - y * np.log(shape + e)
    return float(logs.sum())


def _by_tree(belief: Belief, standing: Standing, times: ReturnTimes) -> tuple[Array, Array]:
    """What each tree has brought, and what is expected of its holders by others of their generation, [trees + 1]."""
    assert standing.trees is not None, "`tree_lifts` looks"
    seen, most = standing.seen, max(int(standing.seen.coupons.max(initial=1)), 1)
    each = belief.to_plan_with().expected_recruits(standing.holders, most)
    due = each[np.arange(len(seen)), seen.coupons - 1] * seen.exposure(times)
    generation = np.minimum(seen.ages / calendar_step(times), 1e6).astype(np.int64)
    _, generation = np.unique(generation, return_inverse=True)
    came, promised = (np.bincount(generation, weights=each) for each in (seen.recruits, due))
    due = due * (came / np.maximum(promised, 1e-9))[generation]
    size = int(max(standing.trees.max(), 0)) + 1
    own = [np.bincount(standing.trees, weights=each, minlength=size) for each in (seen.recruits, due)]
    return own[0].astype(np.float64), own[1].astype(np.float64)
