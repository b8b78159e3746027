"""Tables of studies that were simulated by days: weeks, totals, and when the target is reached."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.study.day_simulator import DayPaths
from peerfront.study.forecast_tables import QUANTILES, quantile_of

Whole = NDArray[np.int64]
NOT_REACHED = -1


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
    """The day on which each simulated study has so many interviews, [studies]; `NOT_REACHED` if never."""
    reached = np.cumsum(paths.interviews, axis=1) >= wanted
    days: Whole = np.where(reached[:, -1], reached.argmax(axis=1), NOT_REACHED)
    return days


def summary_row(paths: DayPaths, plan: DayPaths, budget: int, wanted: int | None, today: date) -> dict[str, Any]:
    """One policy in one row; `plan` is what it is compared with."""
    totals, spent = paths.total, paths.spent.sum(axis=1)
    lead = plan.total - totals
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
        "plan_lead": float(lead.mean()),
        "plan_lead_error": float(lead.std(ddof=1) / np.sqrt(len(lead))),
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
    """The day by which so many studies have reached the target; None if they do not."""
    reached = np.sort(np.where(days == NOT_REACHED, np.iinfo(np.int64).max, days))
    day = int(reached[max(int(np.ceil(share * len(days))) - 1, 0)])
    return None if day == np.iinfo(np.int64).max else day


def _on(today: date, day: int) -> str:
    return (today + timedelta(days=int(day))).isoformat()
