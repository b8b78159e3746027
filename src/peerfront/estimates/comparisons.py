"""Compare groups of a sample: the difference and the ratio of their estimates, with intervals from joint replicates.

Groups of one referral sample are not independent: people of one group recruited people of the other. Every replicate
of the bootstrap estimates all groups, so the spread of the replicates' differences and ratios accounts for that.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from peerfront.estimates.sample import Floats, spread_of

COMPARISON_COLUMNS = (
    "outcome", "category", "group", "compared_with", "estimator", "valid", "difference", "low", "high",
    "standard_error", "ratio", "ratio_low", "ratio_high",
)  # fmt: skip


def comparison_rows(
    about: tuple[str, str, bool], labels: Sequence[tuple[str, str]], point: Floats, around: Floats, numeric: bool
) -> Iterator[tuple[object, ...]]:
    """Compare every two groups, category by category; `around` is [replicates, labels]."""
    outcome, estimator, valid = about
    pairs = [(j, i) for i, j in combinations(range(len(labels)), 2) if labels[i][1] == labels[j][1]]
    if not pairs:
        return
    later, earlier = np.array(pairs).T
    if not numeric:  # no replicate says how far from none, or all, a group may be
        around = np.where((point > 0.0) & (point < 1.0), around, np.nan)
    difference = spread_of(point[later] - point[earlier], around[:, later] - around[:, earlier], share=False)
    most = np.inf if numeric else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(point[later] / point[earlier])
        logs = np.log(around[:, later] / around[:, earlier])
    log_ratio[~np.isfinite(log_ratio)] = np.nan
    ratio = spread_of(log_ratio, np.where(np.isfinite(logs), logs, np.nan), share=False)
    for k, (i, j) in enumerate(pairs):
        yield (
            outcome, labels[i][1], labels[i][0], labels[j][0], estimator, valid, point[i] - point[j],
            max(difference.low[k], -most), min(difference.high[k], most), difference.standard_error[k],
            np.exp(log_ratio[k]), np.exp(ratio.low[k]), np.exp(ratio.high[k]),
        )  # fmt: skip
