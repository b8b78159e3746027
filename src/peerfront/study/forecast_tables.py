"""Tables of simulated studies by rounds and by days: recruits, bands, dates, and a summary row for each policy."""

import math
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.problem import Ending, Rules, Trajectories
from peerfront.study.day_simulator import DayPaths
from peerfront.study.rivals import Lead

Whole = NDArray[np.int64]
NOT_REACHED = -1
QUANTILES = {"p10": 0.10, "p25": 0.25, "median": 0.50, "p75": 0.75, "p90": 0.90}


def rounds_table(name: str, played: Trajectories) -> pd.DataFrame:
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
    return pd.DataFrame(columns)


def story_row(played: Trajectories, plan: Trajectories, own: NDArray[np.bool_], wanted: int | None) -> dict[str, float]:
    """Recruits in the episodes of one story, and how many more the plan brings there."""
    totals = played.total_recruits[own]
    band = {label: float(quantile_of(totals, QUANTILES[label])) for label in ("p10", "p90")}
    return {
        "episodes": int(own.sum()),
        "recruits": float(totals.mean()),
        "error": _error(totals),
        **band,
        "reaches_target": _share_of(totals, wanted),
        **_lead(plan.total_recruits[own], totals),
    }


def _lead(plan: Whole, totals: Whole) -> dict[str, float]:
    lead = Lead.of(plan, totals)
    return {"plan_lead": lead.mean, "plan_lead_low": lead.low, "plan_lead_high": lead.high}


def story_means(story: str, plan: Trajectories, own: NDArray[np.bool_]) -> pd.DataFrame:
    """story, round, recruits, total: means over the episodes of one story; empty if there is none."""
    recruits = plan.recruits[own]
    rounds = np.arange(1, recruits.shape[1] + 1) if len(recruits) else np.zeros(0, np.int64)
    means = recruits.mean(axis=0) if len(recruits) else np.zeros(0)
    return pd.DataFrame({"story": story, "round": rounds, "recruits": means, "total": np.cumsum(means)})


def _error(values: NDArray[np.int64]) -> float:
    """Standard error of a mean; unknown for a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else math.nan


def _bands(prefix: str, counts: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    return {f"{prefix}{label}": quantile_of(counts, share) for label, share in QUANTILES.items()}


def quantile_of(counts: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    """A quantile over episodes, in whole people."""
    quantiles: NDArray[np.float64] = np.quantile(counts, share, axis=0, method="inverted_cdf").astype(np.float64)
    return quantiles


def round_summary(played: Trajectories, plan: Trajectories, rules: Rules, wanted: int | None) -> dict[str, float]:
    totals, spent = played.total_recruits, played.spend.sum(axis=1)
    return {
        "recruits": float(totals.mean()),
        **{label: float(quantile_of(totals, share)) for label, share in QUANTILES.items()},
        "reaches_target": _share_of(totals, wanted),
        "dies_out": float(_dies_out(played, rules).mean()),
        "unused": float((spent - totals).mean()),
        "never_issued": float((rules.budget - spent).mean()),
        "rounds": float(played.rounds.mean()),
        **_lead(plan.total_recruits, totals),
    }


def _share_of(totals: NDArray[np.int64], wanted: int | None) -> float:
    return math.nan if wanted is None else float((totals >= wanted).mean())


def _dies_out(played: Trajectories, rules: Rules) -> NDArray[np.bool_]:
    """Mark episodes in which nobody is left to refer although coupons and rounds remain, [episodes]."""
    ended = (played.ending == Ending.EXTINCT) | (played.ending == Ending.STOPPED)
    return np.asarray(ended & (played.rounds < rules.rounds))


# By days ---------------------------------------------------------------------------------------------------------


def weeks_table(policy: str, paths: DayPaths, today: date) -> pd.DataFrame:
    """One row per week; the columns are described at `DateForecast.weeks`."""
    by_week = paths.by_week
    totals = np.cumsum(by_week, axis=1)
    weeks = len(paths.ends)
    return pd.DataFrame(
        {
            "policy": policy,
            "week": np.arange(1, weeks + 1),
            "until": [_on(today, day) for day in paths.ends],
            "days": list(paths.ends),
            "interviews": by_week.mean(axis=0),
            **{name: quantile_of(by_week, share) for name, share in QUANTILES.items()},
            "total": totals.mean(axis=0),
            **{f"total_{name}": quantile_of(totals, share) for name, share in QUANTILES.items()},
            "arrivals": paths.arrivals.mean(axis=0),
            "queue": paths.queue.mean(axis=0),
            "spent": paths.spent.mean(axis=0),
            "spent_so_far": np.cumsum(paths.spent, axis=1).mean(axis=0),
            "open": paths.open.mean(axis=0),
        }
    )


def dates_reached(paths: DayPaths, wanted: int) -> Whole:
    """The day on which each simulated study reaches a number of interviews, [studies]; `NOT_REACHED` if never."""
    reached = np.cumsum(paths.interviews, axis=1) >= wanted
    days: Whole = np.where(reached[:, -1], reached.argmax(axis=1), NOT_REACHED)
    return days


def day_summary(paths: DayPaths, plan: DayPaths, budget: int, wanted: int | None, today: date) -> dict[str, Any]:
    """The summary row of one policy; it is compared with `plan`."""
    totals, spent = paths.total, paths.spent.sum(axis=1)
    row: dict[str, Any] = {
        "recruits": float(totals.mean()),
        **{name: float(quantile_of(totals, share)) for name, share in QUANTILES.items()},
        "reaches_target": float("nan"),
        "target_p25": "",
        "target_date": "",
        "target_p75": "",
        "spent": float(spent.mean()),
        "never_issued": float((budget - spent).mean()),
        "open": float(paths.open[:, -1].mean()),
        "queue": float(paths.queue[:, -1].mean()),
        **_lead(plan.total, totals),
    }
    if wanted is not None:
        days = dates_reached(paths, wanted)
        row["reaches_target"] = float((days != NOT_REACHED).mean())
        for name, share in (("target_p25", 0.25), ("target_date", 0.5), ("target_p75", 0.75)):
            day = _day_of_share(days, share)
            row[name] = "" if day is None else _on(today, day)
    return row


def target_table(policy: str, days: Whole, ends: tuple[int, ...], today: date) -> pd.DataFrame:
    """The share of studies that have reached the target by the end of each week."""
    shares = [float(((days != NOT_REACHED) & (days <= end)).mean()) for end in ends]
    return pd.DataFrame({"policy": policy, "date": [_on(today, end) for end in ends], "reached": shares})


def _day_of_share(days: Whole, share: float) -> int | None:
    """The day by which this share of the studies has reached the target; None if there is none."""
    reached = np.sort(np.where(days == NOT_REACHED, np.iinfo(np.int64).max, days))
    day = int(reached[max(int(np.ceil(share * len(days))) - 1, 0)])
    return None if day == np.iinfo(np.int64).max else day


def _on(today: date, day: int) -> str:
    return (today + timedelta(days=int(day))).isoformat()
