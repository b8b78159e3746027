"""Simple forecasts that a back-test compares with; they see the recruits of each week (or wave) so far and no more.

The mean of the last four weeks, the last generation again (two weeks; the last wave where there are no dates), and
exponential smoothing of the logs with a damped trend, if statsmodels is installed. Each gives as many simulated totals
as it is asked for, and all are scored alike: by the continuous ranked probability score of log(1 + recruits), where
smaller is better and .1 is about 10% of the number.
"""

import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.study import Study
from peerfront.foundation.recruitment_trees import NOBODY

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
WEEK = 7
CAN_SMOOTH = find_spec("statsmodels") is not None
_FEWEST, _FEWEST_TREND = 4, 8  # weeks to smooth, and to see a trend in
_MOST_LOG = 12.0  # of recruits in a week of a smoothed path


def recruits_until(study: Study, cut: str, *, by_waves: bool) -> Whole:
    """Recruits of each wave until a cut, or of each whole week before it, the last one last."""
    came = study.recruiter != NOBODY
    if by_waves:
        return np.bincount(study.trees.wave[came], minlength=int(cut) + 1)[1 : int(cut) + 1]
    past = study.as_of(cut)
    assert past.day is not None, "a study seen on a day has one"
    assert past.days is not None, "a back-test by date needs dates"
    last, days = np.floor(past.day), np.floor(past.days)
    weeks = max(int(last - np.nanmin(days) + 1) // WEEK, 1)
    dated = days[(past.recruiter != NOBODY) & np.isfinite(days)]
    back = ((last - dated) // WEEK).astype(np.int64)
    return np.bincount(back[back < weeks], minlength=weeks)[::-1]


def simple_forecasts(
    series: Whole, days: int, n: int, rng: np.random.Generator, *, by_waves: bool, smoothing: bool = CAN_SMOOTH
) -> dict[str, Array]:
    """`n` totals of each simple forecast, in this number of days (or waves), from recruits by week (or wave) so far."""
    steps = days if by_waves else days / WEEK
    totals = {
        "last weeks": _repeated(series[-4:], steps, n, rng),
        "last wave": _repeated(series[-1:] if by_waves else series[-2:], steps, n, rng),
    }
    return totals | {"smoothing": _smoothed(series, steps, n, rng)} if smoothing else totals


def _repeated(weeks: Whole, steps: float, n: int, rng: np.random.Generator) -> Array:
    """The mean of these weeks, as unsure as their numbers vary."""
    varies = max(float(weeks.var(ddof=1) / weeks.mean()), 1.0) if len(weeks) > 1 and weeks.any() else 1.0
    rate = rng.gamma((weeks.sum() + 0.5) / varies, varies / len(weeks), n)
    totals: Array = rng.poisson(rng.gamma(np.maximum(rate * steps / varies, 1e-9), varies)).astype(np.float64)
    return totals


def _smoothed(series: Whole, steps: float, n: int, rng: np.random.Generator) -> Array:
    """Exponential smoothing of the logs, with a damped trend where there are enough weeks."""
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel  # an extra, and slow to load

    if len(series) < _FEWEST:
        return _repeated(series, steps, n, rng)
    whole, trend = int(steps), len(series) >= _FEWEST_TREND
    logs = pd.Series(np.log1p(series.astype(np.float64)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that did not converge is still a forecast
        fit = ETSModel(logs, trend="add" if trend else None, damped_trend=trend).fit(disp=False, maxiter=200)
        paths = fit.simulate(whole + 1, anchor="end", repetitions=n, rng=rng).to_numpy().reshape(whole + 1, n)
    weeks = np.expm1(np.clip(np.nan_to_num(paths), 0.0, _MOST_LOG))
    totals: Array = np.round(weeks[:whole].sum(axis=0) + (steps - whole) * weeks[whole])
    return totals


def log_score(totals: NDArray[np.number], came: int) -> float:
    """The continuous ranked probability score of log(1 + recruits): E|X - x| - E|X - X'| / 2 of the simulated X, X'."""
    logs = np.sort(np.log1p(totals))
    n = len(logs)
    pairs = ((2.0 * np.arange(n) - (n - 1.0)) * logs).sum() / n**2  # each number's rank says how often it is the larger
    return float(np.abs(logs - np.log1p(came)).mean() - pairs)
