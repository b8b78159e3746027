"""Tables of simulated studies: recruits by round, bands, and one row a policy."""

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.problem import Ending, Rules, Trajectories

QUANTILES = {"p10": 0.10, "p25": 0.25, "median": 0.50, "p75": 0.75, "p90": 0.90}


def rounds_table(name: str, played: Trajectories, unsure: Trajectories | None) -> pd.DataFrame:
    totals = np.cumsum(played.recruits, axis=1)
    columns: dict[str, object] = {
        "policy": name,
        "round": np.arange(1, played.recruits.shape[1] + 1),
        "issued": played.spend.mean(axis=0),
        "recruits": played.recruits.mean(axis=0),
        **_bands("", played.recruits),
        "total": totals.mean(axis=0),
        **_bands("total_", totals),
    }
    for prefix, certain in (("", played.recruits), ("total_", totals)):
        counts = None if unsure is None else unsure.recruits if not prefix else np.cumsum(unsure.recruits, axis=1)
        columns |= _wider(f"{prefix}with_model_", certain, counts)
    return pd.DataFrame(columns)


def _wider(
    prefix: str, certain: NDArray[np.int64], unsure: NDArray[np.int64] | None
) -> dict[str, NDArray[np.float64] | float]:
    """The band with the model's uncertainty: never narrower than the one without, whatever chance does to either."""
    if unsure is None:
        return {f"{prefix}{label}": np.full(certain.shape[1:], np.nan) for label in ("p10", "p90")}
    low, high = QUANTILES["p10"], QUANTILES["p90"]
    return {
        f"{prefix}p10": np.minimum(quantile_of(certain, low), quantile_of(unsure, low)),
        f"{prefix}p90": np.maximum(quantile_of(certain, high), quantile_of(unsure, high)),
    }


def story_row(played: Trajectories, plan: Trajectories, own: NDArray[np.bool_], wanted: int | None) -> dict[str, float]:
    """Recruits in the episodes of one story, and how many more the plan brings there."""
    totals, lead = played.total_recruits[own], (plan.total_recruits - played.total_recruits)[own]
    band = {label: float(quantile_of(totals, QUANTILES[label])) for label in ("p10", "p90")}
    return {
        "episodes": int(own.sum()),
        "recruits": float(totals.mean()),
        "error": _error(totals),
        **band,
        "reaches_target": _share_of(totals, wanted),
        "plan_lead": float(lead.mean()),
        "plan_lead_error": _error(lead),
    }


def story_means(story: str, plan: Trajectories, own: NDArray[np.bool_]) -> pd.DataFrame:
    """story, round, recruits, total: means over the episodes of one story; empty if there is none."""
    recruits = plan.recruits[own]
    rounds = np.arange(1, recruits.shape[1] + 1) if len(recruits) else np.zeros(0, np.int64)
    means = recruits.mean(axis=0) if len(recruits) else np.zeros(0)
    return pd.DataFrame({"story": story, "round": rounds, "recruits": means, "total": np.cumsum(means)})


def _error(values: NDArray[np.int64]) -> float:
    """Standard error of a mean; not known from a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else math.nan


def _bands(prefix: str, counts: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    return {f"{prefix}{label}": quantile_of(counts, share) for label, share in QUANTILES.items()}


def quantile_of(counts: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    """Over episodes; whole people."""
    quantiles: NDArray[np.float64] = np.quantile(counts, share, axis=0, method="inverted_cdf").astype(np.float64)
    return quantiles


def summary_row(
    played: Trajectories, unsure: Trajectories | None, plan: Trajectories, rules: Rules, wanted: int | None
) -> dict[str, float]:
    totals, spent = played.total_recruits, played.spend.sum(axis=1)
    lead = plan.total_recruits - totals
    with_model = None if unsure is None else unsure.total_recruits
    return {
        "recruits": float(totals.mean()),
        **{label: float(quantile_of(totals, share)) for label, share in QUANTILES.items()},
        **{name: float(value) for name, value in _wider("with_model_", totals, with_model).items()},
        "reaches_target": _share_of(totals, wanted),
        "with_model_reaches_target": math.nan if with_model is None else _share_of(with_model, wanted),
        "dies_out": float(_dies_out(played, rules).mean()),
        "unused": float((spent - totals).mean()),
        "never_issued": float((rules.budget - spent).mean()),
        "rounds": float(played.rounds.mean()),
        "plan_lead": float(lead.mean()),
        "plan_lead_error": float(lead.std(ddof=1) / np.sqrt(len(lead))),
    }


def _share_of(totals: NDArray[np.int64], wanted: int | None) -> float:
    return math.nan if wanted is None else float((totals >= wanted).mean())


def _dies_out(played: Trajectories, rules: Rules) -> NDArray[np.bool_]:
    """Nobody is left who could refer, although coupons and rounds remain, [episodes]."""
    ended = (played.ending == Ending.EXTINCT) | (played.ending == Ending.STOPPED)
    return np.asarray(ended & (played.rounds < rules.rounds))
