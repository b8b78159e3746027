"""The back-test: forecasts that could have been made on earlier days of a study, beside what came.

A study is cut at several days (or waves), the models are fitted to what was known then, and the rest is forecast
(`past_forecast` says what a forecast is told). How often the 8-of-10 bands hold what came, and by how much forecasts
miss on average, says whether forecasts can be trusted on this study. The forecasts of one study are not independent:
later cuts see what earlier ones were to forecast.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import peerfront
from peerfront.data.dates import date_text
from peerfront.data.study import NOBODY, Study
from peerfront.data.study_schema import StudySchema, encode_study
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.files import write_text
from peerfront.foundation.progress import Progress, silent
from peerfront.foundation.settings import check_fields, optional, positive, seed_number, whole_number
from peerfront.foundation.words import as_html
from peerfront.study.backtest_words import backtest_lines, flat_weeks
from peerfront.study.forecast_tables import QUANTILES, quantile_of
from peerfront.study.past_forecast import PastForecast, forecast_from_day, forecast_from_wave

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARES = (0.25, 0.5, 0.75)
"""Of the study's time at which it is cut, if no days are given."""
HORIZONS = (14, 28)
"""Days ahead that are judged, and the end of the study."""
END = "to the end"
MOST_CUTS, MOST_STUDIES = 40, 5_000
_DAILY = 60  # days up to which totals are kept day by day


@dataclass(frozen=True)
class BacktestSettings:
    """Where the study is cut, and how it is simulated."""

    at: tuple[str, ...] = ()
    """Days (year-month-day, or numbers where the file numbers its days) or waves; none for quarters of its time."""
    by_waves: bool = False
    """Whether to cut by waves although there are dates."""
    studies: int = 300
    """Simulated studies for each cut."""
    interviews_per_week: float | None = None
    """Interviews that could be held in a week; None for any number."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            at=lambda _, days: tuple(str(day).strip() for day in days),
            studies=lambda name, value: whole_number(name, value, 20, MOST_STUDIES),
            interviews_per_week=optional(positive),
            seed=seed_number,
        )
        if len(self.at) > MOST_CUTS:
            raise SettingError(f"A study is cut at most {MOST_CUTS} times; found {len(self.at)} days.")


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts of the past, and what came; `backtest` makes it."""

    forecasts: pd.DataFrame
    """One row per cut and horizon: cut, people (who had taken part), horizon, days, expected, p10, p25, median, p75,
    p90, realised, inside (the 8-of-10 band), rank (share of simulated studies with fewer)."""
    weeks: pd.DataFrame
    """One row per cut and week (or day, or wave): cut, day, date, and totals since the cut: expected, median, p10, p90,
    realised."""
    recruits: pd.DataFrame
    """What came: date (or wave), recruits, by week."""
    by_waves: bool
    source: str
    people: int
    settings: BacktestSettings
    notes: tuple[str, ...] = ()

    @property
    def coverage(self) -> pd.DataFrame:
        """One row per horizon: horizon, forecasts, inside, middle (sum of medians), realised (sum), bias (share)."""
        return coverage_of(self.forecasts)

    @property
    def is_flat(self) -> bool:
        """Whether recruits came so evenly week by week that interviews may have been the limit."""
        return not self.by_waves and flat_weeks(self.recruits["recruits"].to_numpy(dtype=np.int64))

    def lines(self) -> list[str]:
        """Whether forecasts can be trusted on this study, in words."""
        return backtest_lines(self)

    def plot(self, *, narrow: bool = False) -> "Figure":
        """Draw what came, and the forecasts from each cut."""
        figure: Figure = import_module("peerfront.words.backtest_figure").backtest_figure(self, narrow=narrow)
        return figure

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return as_html(self.lines(), self.forecasts.round(1))


def coverage_of(forecasts: pd.DataFrame) -> pd.DataFrame:
    """How forecasts fared, by horizon."""
    rows = []
    for horizon, own in forecasts.groupby("horizon", sort=False):
        middle, realised = float(own["median"].sum()), float(own["realised"].sum())
        rows.append(
            {
                "horizon": horizon,
                "forecasts": len(own),
                "inside": int(own["inside"].sum()),
                "middle": middle,
                "realised": realised,
                "bias": middle / realised - 1.0 if realised else float("nan"),
            }
        )
    return pd.DataFrame(rows, columns=["horizon", "forecasts", "inside", "middle", "realised", "bias"])


def backtest(
    study: Study,
    schema: StudySchema,
    settings: BacktestSettings | None = None,
    progress: Progress = silent,
    kept: Path | None = None,
) -> Backtest:
    """Forecast the study from earlier days, or waves where it has no dates.

    `kept` is a folder in which every finished cut is kept: a run that was stopped goes on there.
    """
    settings = settings or BacktestSettings()
    by_waves = settings.by_waves or study.day is None or study.days is None
    asked = bool(settings.at)
    cuts = _waves(study, settings) if by_waves else _days(study, settings)
    name = _fingerprint(study, schema, settings)
    rows: list[dict[str, Any]] = []
    weeks: list[dict[str, Any]] = []
    notes = []
    for number, cut in enumerate(cuts):
        progress(number / len(cuts), f"{'wave ' if by_waves else ''}{cut}")
        place = None if kept is None else kept / f"cut-{number + 1}.json"
        try:
            found = _remembered(place, name, cut, lambda cut=cut: _judged(study, schema, settings, cut, by_waves))  # type: ignore[misc] # bound now
        except DataFileError as problem:
            if asked:
                raise
            notes.append(f"Left out: {problem}")
            continue
        rows += found["forecasts"]
        weeks += found["weeks"]
    if not rows:
        raise DataFileError(
            f"{study.source} is too small for a back-test: at none of its cuts were there enough people. "
            + " ".join(notes)
        )
    progress(1.0, "done")
    return Backtest(
        pd.DataFrame(rows), pd.DataFrame(weeks), _came(study, by_waves), by_waves, study.source, len(study), settings,
        tuple(notes),
    )  # fmt: skip


def _judged(
    study: Study, schema: StudySchema, settings: BacktestSettings, cut: str, by_waves: bool
) -> dict[str, list[dict[str, Any]]]:
    """One cut: its forecasts by horizon, and its totals by week."""
    if by_waves:
        past = forecast_from_wave(study, schema, int(cut), settings.studies, settings.seed)
        horizons = [(1, "next wave"), (2, "next 2 waves")]
    else:
        limit = settings.interviews_per_week
        past = forecast_from_day(study, schema, cut, settings.studies, settings.seed, limit)
        horizons = [(days, f"next {days // 7} weeks") for days in HORIZONS]
    ahead = [(days, name) for days, name in horizons if days < past.days] + [(past.days, END)]
    step = 1 if by_waves or past.days <= _DAILY else 7
    ends = [*range(step, past.days, step), past.days]
    dates = {day: str(int(cut) + day) if by_waves else _on(study, cut, day) for day in [0, *ends]}
    return {
        "forecasts": [_forecast_row(past, days, name) for days, name in ahead],
        "weeks": [_week_row(past, day, text) for day, text in dates.items()],
    }


def _forecast_row(past: PastForecast, days: int, name: str) -> dict[str, Any]:
    totals, realised = past.totals(days), int(past.realised[: days + 1].sum())
    bands = {label: float(quantile_of(totals, share)) for label, share in QUANTILES.items()}
    return {
        "cut": past.label,
        "people": past.people,
        "horizon": name,
        "days": days,
        "expected": float(totals.mean()),
        **bands,
        "realised": realised,
        "inside": bool(bands["p10"] <= realised <= bands["p90"]),
        "rank": float((totals < realised).mean() + 0.5 * (totals == realised).mean()),
    }


def _week_row(past: PastForecast, day: int, label: str) -> dict[str, Any]:
    totals = past.totals(day)
    return {
        "cut": past.label,
        "people": past.people,
        "day": day,
        "date": label,
        "expected": float(totals.mean()),
        "median": float(quantile_of(totals, 0.5)),
        "p10": float(quantile_of(totals, 0.1)),
        "p90": float(quantile_of(totals, 0.9)),
        "realised": int(past.realised[: day + 1].sum()),
    }


# Cuts ----------------------------------------------------------------------------------------------------------------


def _days(study: Study, settings: BacktestSettings) -> list[str]:
    assert study.days is not None, "`backtest` looks"
    assert study.day is not None, "`backtest` looks"
    if not study.settings.open_by_dates:
        raise SettingError(
            f"still_open = {study.settings.still_open!r} says whose coupons are open in {study.source}; a back-test by "
            "date needs the dates to decide. Leave still_open out, or test by waves (--by-waves)."
        )
    first, last = float(np.floor(np.nanmin(study.days))), float(study.day)
    if settings.at:
        for cut in settings.at:
            at = study.as_of(cut).day  # refuses what is no day
            assert at is not None, "a study seen on a day has one"
            if at >= last:
                raise SettingError(
                    f"{cut} is not before {date_text(last, study.numbered_days)}, the study's last day: nothing is "
                    "left to forecast. Cut earlier."
                )
        return list(settings.at)
    cuts = [date_text(np.floor(first + share * (last - first)), study.numbered_days) for share in SHARES]
    return list(dict.fromkeys(cuts))


def _waves(study: Study, settings: BacktestSettings) -> list[str]:
    deepest = int(study.trees.wave.max(initial=0))
    for cut in settings.at:
        if not cut.isdigit() or not 1 <= int(cut) < deepest:
            raise SettingError(
                f"--at {cut[:20]!r}: a wave is a number from 1 to {deepest - 1}; the deepest wave of {study.source} is "
                f"{deepest}."
            )
    if settings.at:
        return list(settings.at)
    waves = [max(round(share * deepest), 1) for share in SHARES]
    return [str(wave) for wave in dict.fromkeys(waves) if wave < deepest]


def _on(study: Study, cut: str, day: int) -> str:
    if study.numbered_days:
        return f"{float(cut) + day:.0f}"
    return (date.fromisoformat(cut) + timedelta(days=day)).isoformat()


def _came(study: Study, by_waves: bool) -> pd.DataFrame:
    """Recruits by week from the first person on, or by wave."""
    came = study.recruiter != NOBODY
    if by_waves:
        counts = np.bincount(study.trees.wave[came])
        return pd.DataFrame({"date": [str(wave) for wave in range(len(counts))], "recruits": counts})
    assert study.days is not None, "`backtest` looks"
    assert study.day is not None, "`backtest` looks"
    known = np.isfinite(study.days)
    first = np.floor(study.days[known].min())
    week = ((np.floor(study.days[came & known]) - first) // 7).astype(np.int64)
    number = int((np.floor(study.day) - first) // 7) + 1
    counts = np.bincount(week, minlength=number)
    dates = [date_text(first + 7 * each + 6, study.numbered_days) for each in range(len(counts))]
    return pd.DataFrame({"date": dates, "recruits": counts})


# What is kept of a run that was stopped ------------------------------------------------------------------------------


def _fingerprint(study: Study, schema: StudySchema, settings: BacktestSettings) -> str:
    """Whether a cut that was kept is one of the same study, settings and version."""
    hashed = hashlib.sha256(json.dumps([peerfront.__version__, asdict(settings), repr(schema.schema)]).encode())
    for array in (encode_study(study, schema), study.recruiter, study.issued, study.days, study.issued_days):
        if array is not None:
            hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


def _remembered(
    place: Path | None, name: str, cut: str, make: Callable[[], dict[str, list[dict[str, Any]]]]
) -> dict[str, list[dict[str, Any]]]:
    """A cut as it was kept, if it is the same; otherwise made, and kept."""
    if place is not None and place.exists():
        try:
            found = json.loads(place.read_text(encoding="utf-8"))
            if found["fingerprint"] == name and found["cut"] == cut:
                kept: dict[str, list[dict[str, Any]]] = found["result"]
                return kept
        except (OSError, ValueError, LookupError, TypeError):
            pass  # not ours, or not whole: made again
    made = make()
    if place is not None:
        write_text(place, json.dumps({"fingerprint": name, "cut": cut, "result": made}) + "\n")
    return made
