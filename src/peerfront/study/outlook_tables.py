"""Tables of simulated studies: recruits by week or round, bands, dates, and a summary row for each rule."""

import math
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.study.day_simulator import DayPaths
from peerfront.study.rivals import Lead

Whole = NDArray[np.int64]
NOT_REACHED = -1
QUANTILES = {"p10": 0.10, "p25": 0.25, "median": 0.50, "p75": 0.75, "p90": 0.90}


def widened(paths: DayPaths, wider: float) -> DayPaths:
    """The same studies with a band that is `wider` times as wide, on the log scale of 1 + recruits; the mean stays.

    The numbers of a study are multiplied by what its total calls for, from the first day on.
    """
    total = paths.total
    if wider == 1.0 or not total.any():
        return paths
    logs = np.log1p(total)
    apart = np.maximum(np.expm1(np.median(logs) + wider * (logs - np.median(logs))), 0.0)
    apart *= total.mean() / apart.mean()
    times = np.divide(apart, total, out=np.zeros(len(total)), where=total > 0)
    so_far = np.round(np.cumsum(paths.interviews, axis=1) * times[:, None]).astype(np.int64)
    return replace(paths, interviews=np.diff(so_far, axis=1, prepend=0))


def steps_table(policy: str, paths: DayPaths, today: date | None) -> pd.DataFrame:
    """One row per week or round; the columns are described at `Outlook.steps`."""
    by_step = paths.by_week
    totals = np.cumsum(by_step, axis=1)
    return pd.DataFrame(
        {
            "policy": policy,
            "step": np.arange(1, len(paths.ends) + 1),
            "until": [_on(today, day) for day in paths.ends],
            "days": list(paths.ends),
            "recruits": by_step.mean(axis=0),
            **{name: quantile_of(by_step, share) for name, share in QUANTILES.items()},
            "total": totals.mean(axis=0),
            **{f"total_{name}": quantile_of(totals, share) for name, share in QUANTILES.items()},
            "arrivals": paths.arrivals.mean(axis=0),
            "queue": paths.queue.mean(axis=0),
            "spent": paths.spent.mean(axis=0),
            "spent_so_far": np.cumsum(paths.spent, axis=1).mean(axis=0),
            "open": paths.open.mean(axis=0),
        }
    )


def part_row(paths: DayPaths, plan: DayPaths, own: NDArray[np.bool_], wanted: int | None) -> dict[str, float]:
    """Recruits in the studies of one part of the belief, and how many more the plan brings there."""
    totals = paths.total[own]
    return {
        "studies": int(own.sum()),
        "recruits": float(totals.mean()),
        **{label: float(quantile_of(totals, QUANTILES[label])) for label in ("p10", "p90")},
        "reaches_target": math.nan if wanted is None else float((totals >= wanted).mean()),
        **_lead(plan.total[own], totals),
    }


def part_steps(part: str, plan: DayPaths, own: NDArray[np.bool_], today: date | None) -> pd.DataFrame:
    """part, step, until, recruits, total: means over the studies of one part of the belief."""
    means = plan.by_week[own].mean(axis=0)
    steps, until = np.arange(1, len(means) + 1), [_on(today, day) for day in plan.ends]
    columns = {"part": part, "step": steps, "until": until, "recruits": means, "total": np.cumsum(means)}
    return pd.DataFrame(columns)


def quantile_of(counts: Whole, share: float) -> NDArray[np.float64]:
    """A quantile over studies, in whole people."""
    quantiles: NDArray[np.float64] = np.quantile(counts, share, axis=0, method="inverted_cdf").astype(np.float64)
    return quantiles


def summary_row(
    paths: DayPaths, plan: DayPaths, budget: int, in_hand: int, wanted: int | None, today: date | None
) -> dict[str, Any]:
    """The summary row of one rule; it is compared with `plan`. `in_hand` are the coupons that are open today."""
    totals, spent = paths.total, paths.spent.sum(axis=1)
    row: dict[str, Any] = {
        "recruits": float(totals.mean()),
        **{name: float(quantile_of(totals, share)) for name, share in QUANTILES.items()},
        "reaches_target": math.nan,
        "target_p25": "",
        "target_date": "",
        "target_p75": "",
        "dies_out": float(paths.died.mean()),
        "spent": float(spent.mean()),
        "unused": float((in_hand + spent - paths.arrivals.sum(axis=1)).mean()),
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


def _lead(plan: Whole, totals: Whole) -> dict[str, float]:
    lead = Lead.of(plan, totals)
    return {"plan_lead": lead.mean, "plan_lead_low": lead.low, "plan_lead_high": lead.high}


def dates_reached(paths: DayPaths, wanted: int) -> Whole:
    """The day on which each simulated study reaches a number of interviews, [studies]; `NOT_REACHED` if never."""
    reached = np.cumsum(paths.interviews, axis=1) >= wanted
    days: Whole = np.where(reached[:, -1], reached.argmax(axis=1), NOT_REACHED)
    return days


def target_table(policy: str, days: Whole, ends: tuple[int, ...], today: date) -> pd.DataFrame:
    """The share of studies that have reached the target by the end of each week."""
    shares = [float(((days != NOT_REACHED) & (days <= end)).mean()) for end in ends]
    return pd.DataFrame({"policy": policy, "date": [_on(today, end) for end in ends], "reached": shares})


def _day_of_share(days: Whole, share: float) -> int | None:
    """The day by which this share of the studies has reached the target; None if there is none."""
    reached = np.sort(np.where(days == NOT_REACHED, np.iinfo(np.int64).max, days))
    day = int(reached[max(int(np.ceil(share * len(days))) - 1, 0)])
    return None if day == np.iinfo(np.int64).max else day


def _on(today: date | None, day: int) -> str:
    return "" if today is None else (today + timedelta(days=int(day))).isoformat()
