"""Maximum likelihood of every family where nothing is known about people: no penalty, nothing held out, and its AIC.

A table to read beside the fits, which have covariates and are judged on people left out. There are only as many
different likelihoods as there are pairs of coupons and recruits, so that a maximum takes milliseconds.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from peerfront.foundation.errors import SettingError
from peerfront.foundation.response_families import (
    has_size,
    has_zero,
    n_parameters,
    response_log_likelihood,
    story_of,
)

Array = NDArray[np.float64]
_LARGEST_LOG = 12.0  # of rates and sizes: beyond it families become simpler ones


@dataclass(frozen=True)
class MaximumLikelihood:
    """The parameters of a family that make the counts most likely."""

    family: str
    log_likelihood: float
    parameters: int
    rate: float
    size: float
    zero: float
    use: float

    @property
    def aic(self) -> float:
        """Akaike's criterion: smaller is better."""
        return 2.0 * self.parameters - 2.0 * self.log_likelihood

    def expected_recruits(self, max_coupons: int) -> Array:
        """Expected recruits with 1 .. max_coupons coupons, [max_coupons]."""
        expected = np.zeros(max_coupons)
        for coupons in range(1, max_coupons + 1):
            counts = np.arange(coupons + 1)
            rates = np.full(coupons + 1, self.rate)
            given = np.full(coupons + 1, coupons)
            logs = response_log_likelihood(self.family, given, counts, rates, self.size, self.zero, self.use)
            expected[coupons - 1] = (counts * np.exp(logs)).sum()
        return expected


def maximum_likelihood(
    family: str, coupons: NDArray[np.int64], recruits: NDArray[np.int64], exposure: Array | None = None
) -> MaximumLikelihood:
    """Fit one family to counts, everybody alike; people without a coupon say nothing.

    With an exposure the recruits are those seen so far, Binomial(N(k), exposure).
    """
    seen = np.ones(len(coupons)) if exposure is None else exposure
    rows = (coupons > 0) & (seen > 0.0)
    if not rows.any():
        raise SettingError("response_model.nobody_with_coupons")
    columns = np.stack([coupons[rows], recruits[rows], seen[rows]], axis=1)
    cells, people = np.unique(columns, axis=0, return_counts=True)
    given, came = (column.astype(np.int64) for column in cells[:, :2].T)
    there_is = [True, has_size(family), has_zero(family), family == "thinned"]

    def named(values: Array) -> tuple[float, float, float, float]:
        left = iter(values.tolist())
        rate, size, zero, use = (next(left) if there else None for there in there_is)
        assert rate is not None, "every family has a rate"
        return (
            float(np.exp(min(rate, _LARGEST_LOG))),
            np.inf if size is None else float(np.exp(np.clip(size, -_LARGEST_LOG, _LARGEST_LOG))),
            0.0 if zero is None else float(expit(zero)),
            1.0 if use is None else float(expit(use)),
        )

    def loss(values: Array) -> float:
        rate, size, zero, use = named(values)
        rates = np.full(len(cells), rate)
        logs = response_log_likelihood(family, given, came, rates, size, zero, use, cells[:, 2])
        return float(-(people * logs).sum())

    mean_seen = seen[rows].mean()
    share = (min(recruits.sum() / mean_seen, coupons.sum()) + 0.5) / (coupons.sum() + 1.0)
    rough = -np.log1p(-share) if story_of(family) == "per_coupon" else recruits[rows].mean() / mean_seen + 0.1
    starts = [(np.log(rough) + more, size, -1.0, 0.8) for more in (0.0, 1.0) for size in (0.0, 2.0)]
    optima = [
        minimize(
            loss,
            [value for value, there in zip(start, there_is, strict=True) if there],
            method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": 4000, "maxfev": 4000},
        )
        for start in starts
    ]
    best = min(optima, key=lambda result: float(result.fun))
    return MaximumLikelihood(family, -float(best.fun), n_parameters(family), *named(best.x))
