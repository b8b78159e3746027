"""Does a response model describe the referrals of a study?"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2

from peerfront.foundation.binomials import thinned_counts
from peerfront.foundation.counts import n_parameters
from peerfront.foundation.settings import whole_number
from peerfront.models.offspring.pairs import check_schema
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.returns.coupons_seen import count_chances
from peerfront.problem import History, ResponseModel

Array = NDArray[np.float64]
MISFIT = 0.01
"""A p-value below this is called a misfit."""


@dataclass(frozen=True, eq=False)
class CapacityReport:
    """How well a response model describes some referrals."""

    log_likelihood: float | None
    """Log-likelihood per informative row."""
    rootogram: pd.DataFrame
    """recruits, observed, expected: how many people brought 0, 1, 2, ... and how many the model expects."""
    chi_square: float
    degrees: int
    p_value: float
    """Of the rootogram (cells expecting fewer than 5 are joined): small means that the family does not fit."""
    calibration: pd.DataFrame
    """coupon, people, predicted, observed, low, high: the chance that the l-th coupon is used, 95% intervals."""

    @property
    def misfit(self) -> bool:
        """Whether the counts are so unlike the model's that chance does not explain it (p below `MISFIT`)."""
        return self.degrees > 0 and self.p_value < MISFIT


def response_report(model: ResponseModel, history: History, parameters: int | None = None) -> CapacityReport:
    """Compare predictions with what happened; `parameters` are taken off the degrees of freedom.

    None: those that the family of a fitted model has for the shape of its counts, and 1 for other models.
    """
    check_schema(model, history.schema)
    if parameters is None:
        parameters = n_parameters(model.family) if isinstance(model, LearnedResponse) else 1
    parameters = whole_number("parameters", parameters, 0)
    rows = history.informative_rows()
    coupons, recruits = history.coupons[rows], history.recruits[rows]
    most = int(coupons.max())
    chances = count_chances(model, history.referrers[rows], coupons)  # [rows, most + 1]
    exposure = history.exposure_of(rows)
    if exposure is not None:
        chances = thinned_counts(chances, exposure)  # of recruits so far
    at_least = np.cumsum(chances[:, ::-1], axis=1)[:, -2::-1]  # P(N >= l), l = 1 .. most
    levels = np.arange(most + 1)
    rootogram = pd.DataFrame(
        {"recruits": levels, "observed": np.bincount(recruits, minlength=most + 1), "expected": chances.sum(axis=0)}
    )
    statistic, degrees = _chi_square(rootogram, parameters)
    likelihood = None
    if isinstance(model, LearnedResponse):
        likelihood = float(log_likelihoods(model, history).mean())
    return CapacityReport(
        likelihood,
        rootogram,
        statistic,
        degrees,
        float(chi2.sf(statistic, degrees)) if degrees > 0 else float("nan"),
        _calibration(at_least, coupons, recruits),
    )


def log_likelihoods(model: LearnedResponse, history: History) -> Array:
    """Log-likelihood of each informative row."""
    check_schema(model, history.schema)
    rows = history.informative_rows()
    people, exposure = history.referrers[rows], history.exposure_of(rows)
    return model.log_likelihoods(people, history.coupons[rows], history.recruits[rows], exposure)


def _chi_square(rootogram: pd.DataFrame, parameters: int) -> tuple[float, int]:
    """The statistic and its degrees of freedom; cells expecting fewer than 5 are joined with their neighbours."""
    observed, expected = rootogram["observed"].to_numpy(float), rootogram["expected"].to_numpy(float)
    cells: list[list[float]] = []
    for seen, predicted in zip(observed, expected, strict=True):
        if cells and (cells[-1][1] < 5 or predicted < 5):
            cells[-1][0] += seen
            cells[-1][1] += predicted
        else:
            cells.append([seen, predicted])
    statistic = sum((seen - predicted) ** 2 / predicted for seen, predicted in cells if predicted > 0)
    return float(statistic), len(cells) - 1 - parameters


def _calibration(at_least: Array, coupons: NDArray[np.int64], recruits: NDArray[np.int64]) -> pd.DataFrame:
    """One row per coupon, with Wilson intervals; the l-th is observed only for people who got at least l."""
    rows = []
    for level in range(1, at_least.shape[1] + 1):
        given = coupons >= level
        n = int(given.sum())
        if not n:
            continue
        used = float((recruits[given] >= level).mean())
        low, high = share_interval(used, n)
        rows.append(
            {
                "coupon": level,
                "people": n,
                "predicted": float(at_least[given, level - 1].mean()),
                "observed": used,
                "low": low,
                "high": high,
            }
        )
    return pd.DataFrame(rows)


def share_interval(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share that was seen in n cases."""
    z = 1.96
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n**2)) / (1 + z * z / n)
    return max(middle - reach, 0.0), min(middle + reach, 1.0)
