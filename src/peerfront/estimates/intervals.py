"""Intervals, design effects and effective sample sizes, from bootstrap replicates of an estimate.

Intervals are centred on the estimate and as wide as the replicates' standard deviation says; those of shares are made
on the logit scale, so that they stay between 0 and 1. Percentiles of the replicates themselves are not used:
replicates of the neighbourhood bootstrap count people with many recruits more often than the sample does.
"""

from dataclasses import dataclass

import numpy as np

from peerfront.estimates.sample import Floats

Z_95 = 1.959963984540054
_ENOUGH = 0.8  # of the replicates must give a number


@dataclass(frozen=True, eq=False)
class Spread:
    """How far estimates may be from the truth; one entry per estimate, nan where that cannot be said."""

    standard_error: Floats
    low: Floats
    high: Floats


def spread_of(estimate: Floats, replicates: Floats, *, share: bool) -> Spread:
    """Return standard errors and 95% intervals, [estimates]; replicates are [replicates, estimates]."""
    usable = np.isfinite(replicates).mean(axis=0) >= _ENOUGH
    error = np.full(len(estimate), np.nan)
    if usable.any():
        error[usable] = np.nanstd(replicates[:, usable], axis=0, ddof=1)
    error[~(error > 1e-12)] = np.nan  # replicates that are all alike say nothing
    if not share:
        return Spread(error, estimate - Z_95 * error, estimate + Z_95 * error)
    inside = (estimate > 0) & (estimate < 1)
    error = np.where(inside, error, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        logit, reach = np.log(estimate / (1.0 - estimate)), Z_95 * error / (estimate * (1.0 - estimate))
        low, high = (1.0 / (1.0 + np.exp(-(logit + sign * reach))) for sign in (-1.0, 1.0))
    return Spread(error, low, high)


def design_effect(standard_error: Floats, variance: Floats, people: Floats) -> Floats:
    """How many times the variance is that of a simple random sample of as many people; nan where it has none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > 0, standard_error**2 * people / variance, np.nan)
