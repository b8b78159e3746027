"""Means, standard errors and paired differences, honest about what varied.

With one draw the episodes are the sample. With several, each draw is another world and its episodes resemble each
other, so the draws are the sample: the standard error comes from the spread of the draw means, and 95% intervals use
Student's t with (draws - 1) degrees of freedom.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

METRICS = ("discounted_reward", "recruits")


@dataclass(frozen=True)
class Estimate:
    """A mean and how sure it is."""

    mean: float
    standard_error: float
    low: float
    high: float
    """The ends of the 95% interval."""


def estimate(values: NDArray[np.float64], draws: NDArray[np.int64]) -> Estimate:
    """The mean of `values` [episodes], clustered by `draws` [episodes] when there are several."""
    names, cluster = np.unique(draws, return_inverse=True)
    sample = values if len(names) == 1 else np.bincount(cluster, weights=values) / np.bincount(cluster)
    mean = float(sample.mean())
    if len(sample) == 1:
        return Estimate(mean, float("nan"), float("nan"), float("nan"))
    error = float(sample.std(ddof=1) / np.sqrt(len(sample)))
    reach = float(student.ppf(0.975, len(sample) - 1)) * error
    return Estimate(mean, error, mean - reach, mean + reach)


def summary(episodes: pd.DataFrame) -> pd.DataFrame:
    """One row per world, discount, policy and metric."""
    rows = []
    for (world, discount, policy), group in episodes.groupby(["world", "discount", "policy"], sort=False):
        draws = group["draw"].to_numpy()
        for metric in METRICS:
            found = estimate(group[metric].to_numpy(dtype=float), draws)
            rows.append(
                {"world": world, "discount": discount, "policy": policy, "metric": metric, **_columns(found, group)}
            )
    return pd.DataFrame(rows)


def differences(episodes: pd.DataFrame) -> pd.DataFrame:
    """Paired differences `policy - against`, one row per world, discount, metric and pair of policies."""
    rows = []
    for (world, discount), group in episodes.groupby(["world", "discount"], sort=False):
        by_policy = {
            policy: part.set_index(["draw", "episode"]).sort_index()
            for policy, part in group.groupby("policy", sort=False)
        }
        for against, policy in combinations(by_policy, 2):
            one, other = by_policy[policy], by_policy[against]
            draws = one.index.get_level_values("draw").to_numpy()
            for metric in METRICS:
                # Same index on both sides: subtraction pairs the same people with the same luck.
                found = estimate((one[metric] - other[metric]).to_numpy(dtype=float), draws)
                keys = {"world": world, "discount": discount, "policy": policy, "against": against, "metric": metric}
                rows.append({**keys, **_columns(found, one.reset_index())})
    columns = ["world", "discount", "policy", "against", "metric", "mean", "standard_error", "low", "high"]
    return pd.DataFrame(rows, columns=[*columns, "draws", "episodes"])


def _columns(found: Estimate, group: pd.DataFrame) -> dict[str, float | int]:
    return {
        "mean": found.mean,
        "standard_error": found.standard_error,
        "low": found.low,
        "high": found.high,
        "draws": int(group["draw"].nunique()),
        "episodes": len(group),
    }
