"""The back-test: forecasts that could have been made on earlier days of a study, compared with what happened.

A study is cut at several days (or waves), the models are fitted to the data up to the cut, and the rest is forecast
(`past_forecast` says what a forecast may use). Each is compared with what came and with simple forecasts;
`forecast_trust` says what follows for each horizon. The forecasts of one study are not independent: later cuts include
the days that earlier ones had to forecast.
"""

import contextlib
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
from numpy.typing import NDArray

import peerfront
from peerfront.data.read.dates import date_text
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, encode_study
from peerfront.foundation.errors import DamagedFile, DataFileError, SettingError
from peerfront.foundation.files import write_text
from peerfront.foundation.messages import DONE, Message, Progress, Readable, Remedy, note, silent
from peerfront.foundation.own_files import exactly, own_json
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.settings import check_fields, optional, positive, seed_number, whole_number
from peerfront.study.forecast_trust import HorizonTrust, PastForecasts, ratio_of, trust_at, trust_of
from peerfront.study.outlook_tables import QUANTILES, quantile_of
from peerfront.study.past_forecast import PastForecast, forecast_from_day, forecast_from_wave
from peerfront.study.simple_forecasts import CAN_SMOOTH, Whole, log_score, recruits_until, simple_forecasts
from peerfront.study.slowing import limit_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARES = (0.25, 0.4, 0.55, 0.7, 0.85)
"""Of the study's time at which it is cut, if no days are given."""
HORIZONS = (14, 42)
"""Days ahead that are judged, and the end of the study."""
END = "to the end"
FEWEST_WAVES = 2
"""One to learn from, one to forecast."""
MOST_CUTS, MOST_STUDIES = 40, 5_000
MOST_UNDATED = 0.1
"""Share of recruits without a date up to which a study is judged by date, without them."""
LONGEST_GAP = 1 / 3
"""Of the study's time, in which nobody came, without doubt about its dates."""
_QUICK = 50_000  # people in all simulated studies of a quick back-test
_DAILY = 60  # days up to which totals are kept day by day


@dataclass(frozen=True)
class BacktestSettings:
    """Where the study is cut, and how it is simulated."""

    at: tuple[str, ...] = ()
    """Days (year-month-day, or numbers if the file numbers its days) or waves; none: `shares` of its time."""
    shares: tuple[float, ...] = SHARES
    """Of the study's time at which it is cut, if no days are given."""
    by_waves: bool = False
    """Whether to cut by waves even if there are dates."""
    studies: int = 300
    """Simulated studies for each cut."""
    interviews_per_week: float | None = None
    """Interviews that could be held in a week; None for any number."""
    smoothing: bool = CAN_SMOOTH
    """Whether exponential smoothing is among the simple forecasts: it needs statsmodels."""
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
            raise SettingError("backtest.too_many_cuts", most=MOST_CUTS, cuts=len(self.at))


@dataclass(frozen=True, eq=False)
class Backtest(Readable):
    """Forecasts of the past, and what happened; returned by `backtest`."""

    _in_words = "backtest_words.backtest_lines"

    forecasts: pd.DataFrame
    """One row per cut and horizon: cut, people (who had taken part), horizon, days, expected, p10, p25, median, p75,
    p90, realised, inside (the 8-of-10 band), rank (share of simulated studies with fewer), ratio (median over realised,
    1 added to both), score (`simple_forecasts.log_score`)."""
    simple: pd.DataFrame
    """One row per cut, horizon and simple forecast: cut, horizon, forecast (its name), and from p10 to
    score as above."""
    trust: tuple[HorizonTrust, ...]
    """The verdict on each horizon, the shortest first."""
    weeks: pd.DataFrame
    """One row per cut and week (or day, or wave): cut, day, date, and totals since the cut: expected, median, p10, p90,
    realised."""
    recruits: pd.DataFrame
    """What happened: date (or wave), recruits, by week."""
    by_waves: bool
    source: str
    people: int
    settings: BacktestSettings
    notes: tuple[Message, ...] = ()
    """Cuts that were left out, and why."""

    @property
    def table(self) -> pd.DataFrame:
        """The forecasts, rounded."""
        return self.forecasts.round(1)

    def trust_at(self, days: int) -> HorizonTrust | None:
        """The verdict on forecasts with this horizon, in days or waves; None where nothing can be concluded."""
        return trust_at(self.trust, days)

    @property
    def is_flat(self) -> bool:
        """Whether each week brought about as many recruits, as if interviews were the limit."""
        whole = self.recruits["recruits"].to_numpy(dtype=np.int64)[:-1]  # the last week may not be
        return not self.by_waves and limit_of(whole)[0] > 0.5

    def plot(self, *, narrow: bool = False) -> "Figure":
        """Draw what happened, and the forecasts from each cut."""
        figure: Figure = import_module("peerfront.words.outlook_figures").backtest_figure(self, narrow=narrow)
        return figure


def backtest(
    study: Study,
    schema: StudySchema,
    settings: BacktestSettings | None = None,
    progress: Progress = silent,
    kept: Path | None = None,
) -> Backtest:
    """Forecast the study from earlier days, or waves where it has no dates.

    `kept` is a folder in which every finished cut is saved: a stopped run continues from there.
    """
    settings = settings or BacktestSettings()
    by_waves = settings.by_waves or study.day is None or study.days is None
    asked = bool(settings.at)
    cuts = _waves(study, settings) if by_waves else _days(study, settings)
    name = _fingerprint(study, schema, settings)
    rows: list[dict[str, Any]] = []
    simple: list[dict[str, Any]] = []
    weeks: list[dict[str, Any]] = []
    notes = _doubts(study, by_waves)
    for number, cut in enumerate(cuts):
        progress(number / len(cuts), cut)
        place = None if kept is None else kept / f"cut-{number + 1}.json"
        try:
            result = _remembered(place, name, cut, lambda cut=cut: _judged(study, schema, settings, cut, by_waves))  # type: ignore[misc] # bound now
        except DataFileError as problem:
            if asked:
                raise
            notes.append(note("backtest.left_out", why=problem.message))
            continue
        rows += result["forecasts"]
        simple += result["simple"]
        weeks += result["weeks"]
    if not rows:
        raise DataFileError("backtest.too_small", file=study.source, notes=notes[-1:])
    progress(1.0, DONE)
    forecasts, rivals = pd.DataFrame(rows), pd.DataFrame(simple)
    return Backtest(
        forecasts, rivals, trust_of(forecasts, rivals), pd.DataFrame(weeks), _came(study, by_waves), by_waves,
        study.source, len(study), settings, tuple(notes),
    )  # fmt: skip


def past_forecasts(study: Study, schema: StudySchema, seed: int = 0, progress: Progress = silent) -> PastForecasts:
    """A quick back-test for a fit; nothing of a study that is too small for one."""
    studies = int(np.clip(_QUICK // max(len(study), 1), 20, 100))
    settings = BacktestSettings(shares=SHARES[1:], studies=studies, smoothing=False, seed=seed)
    try:
        test = backtest(study, schema, settings, progress)
    except (DataFileError, SettingError):
        return PastForecasts()
    return PastForecasts(test.by_waves, test.trust)


def _judged(
    study: Study, schema: StudySchema, settings: BacktestSettings, cut: str, by_waves: bool
) -> dict[str, list[dict[str, Any]]]:
    """The forecasts of one cut by horizon, and its totals by week."""
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
        "simple": _simple_rows(past, ahead, recruits_until(study, cut, by_waves=by_waves), settings, by_waves),
        "weeks": [_week_row(past, day, text) for day, text in dates.items()],
    }


def _forecast_row(past: PastForecast, days: int, name: str) -> dict[str, Any]:
    totals, realised = past.totals(days), _came_by(past, days)
    return {
        "cut": past.label,
        "people": past.people,
        "horizon": name,
        "days": days,
        "expected": float(totals.mean()),
        **_judgement(totals, realised),
        "rank": float((totals < realised).mean() + 0.5 * (totals == realised).mean()),
    }


def _simple_rows(
    past: PastForecast, ahead: list[tuple[int, str]], series: Whole, settings: BacktestSettings, by_waves: bool
) -> list[dict[str, Any]]:
    rows = []
    for days, horizon in ahead:
        rng = named_generator("simple forecasts", past.label, days, settings.seed)
        totals = simple_forecasts(series, days, settings.studies, rng, by_waves=by_waves, smoothing=settings.smoothing)
        own, came = {"cut": past.label, "horizon": horizon}, _came_by(past, days)
        rows += [{**own, "forecast": name, **_judgement(each, came)} for name, each in totals.items()]
    return rows


def _came_by(past: PastForecast, days: int) -> int:
    return int(past.realised[: days + 1].sum())


def _judgement(totals: NDArray[Any], realised: int) -> dict[str, Any]:
    """A forecast's quantiles beside what came."""
    bands = {label: float(quantile_of(totals, share)) for label, share in QUANTILES.items()}
    return {
        **bands,
        "realised": realised,
        "inside": bool(bands["p10"] <= realised <= bands["p90"]),
        "ratio": ratio_of(bands["median"], realised),
        "score": log_score(totals, realised),
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
        "realised": _came_by(past, day),
    }


def _doubts(study: Study, by_waves: bool) -> list[Message]:
    """What makes every forecast of this study doubtful, and an error where nothing could be judged."""
    came = study.recruiter != NOBODY
    notes = []
    if not by_waves:
        assert study.days is not None, "`backtest` looks"
        undated = int((came & ~np.isfinite(study.days)).sum())
        if undated > MOST_UNDATED * came.sum():
            raise DataFileError(
                "backtest.dates_missing", file=study.source, undated=undated, came=int(came.sum()),
                waves=Remedy("by_waves", True),
            )  # fmt: skip
        if undated:
            notes.append(note("backtest.undated", undated=undated))
        days = np.unique(np.floor(study.days[np.isfinite(study.days)]))
        gaps = np.diff(days)
        if len(gaps) and gaps.max() > max(LONGEST_GAP * (days[-1] - days[0]), max(HORIZONS)):
            last, again = (date_text(day, study.numbered_days) for day in days[gaps.argmax() :][:2])
            notes.append(note("backtest.gap", last=last, again=again))
    if came.any() and len(np.unique(study.trees.root[came])) == 1:
        notes.append(note("backtest.one_tree"))
    return notes


# Cuts ----------------------------------------------------------------------------------------------------------------


def _days(study: Study, settings: BacktestSettings) -> list[str]:
    assert study.days is not None, "`backtest` looks"
    assert study.day is not None, "`backtest` looks"
    if not study.settings.open_by_dates:
        rule, waves = study.settings.still_open, Remedy("by_waves", True)
        raise SettingError("backtest.open_by_rule", rule=rule, file=study.source, waves=waves)
    first, last = float(np.floor(np.nanmin(study.days))), float(study.day)
    if settings.at:
        for cut in settings.at:
            at = study.as_of(cut).day  # refuses what is no day
            assert at is not None, "a study seen on a day has one"
            if at >= last:
                raise SettingError("backtest.nothing_left", cut=cut, last=date_text(last, study.numbered_days))
        return list(settings.at)
    cuts = [date_text(np.floor(first + share * (last - first)), study.numbered_days) for share in settings.shares]
    return list(dict.fromkeys(cuts))


def _waves(study: Study, settings: BacktestSettings) -> list[str]:
    deepest = int(study.trees.wave.max(initial=0))
    for cut in settings.at:
        if not cut.isdigit() or not 1 <= int(cut) < deepest:
            raise SettingError("backtest.no_wave", cut=cut[:20], last=deepest - 1, deepest=deepest, file=study.source)
    if settings.at:
        return list(settings.at)
    if deepest < FEWEST_WAVES:
        raise DataFileError("backtest.too_few_waves", file=study.source, deepest=deepest, fewest=FEWEST_WAVES)
    waves = [max(round(share * deepest), 1) for share in settings.shares]
    return [str(wave) for wave in dict.fromkeys(waves) if wave < deepest]


def _on(study: Study, cut: str, day: int) -> str:
    if study.numbered_days:
        return f"{float(cut) + day:.0f}"
    return (date.fromisoformat(cut) + timedelta(days=day)).isoformat()


def _came(study: Study, by_waves: bool) -> pd.DataFrame:
    """Observed recruits by week since the first person, or by wave."""
    came = study.recruiter != NOBODY
    if by_waves:
        counts = np.bincount(study.trees.wave[came])
        return pd.DataFrame({"date": [str(wave) for wave in range(len(counts))], "recruits": counts})
    assert study.days is not None, "`backtest` looks"
    assert study.day is not None, "`backtest` looks"
    dated = np.isfinite(study.days)
    first = np.floor(study.days[dated].min())
    week = ((np.floor(study.days[came & dated]) - first) // 7).astype(np.int64)
    number = int((np.floor(study.day) - first) // 7) + 1
    counts = np.bincount(week, minlength=number)
    dates = [date_text(first + 7 * each + 6, study.numbered_days) for each in range(len(counts))]
    return pd.DataFrame({"date": dates, "recruits": counts})


# Cuts of a run that was stopped --------------------------------------------------------------------------------------


def _fingerprint(study: Study, schema: StudySchema, settings: BacktestSettings) -> str:
    """Identify study, settings and version, to recognise saved cuts that still hold."""
    known = [peerfront.__version__, HORIZONS, asdict(settings), repr(schema.schema)]
    hashed = hashlib.sha256(json.dumps(known).encode())
    for array in (encode_study(study, schema), study.recruiter, study.issued, study.days, study.issued_days):
        if array is not None:
            hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


def _remembered(
    place: Path | None, name: str, cut: str, make: Callable[[], dict[str, list[dict[str, Any]]]]
) -> dict[str, list[dict[str, Any]]]:
    """Read the saved result of a cut if it still holds; otherwise compute and save it."""
    if place is not None:
        with contextlib.suppress(DamagedFile):  # not ours, or incomplete: computed again
            kept: dict[str, list[dict[str, Any]]] = own_json(
                place, {"fingerprint": exactly(name), "cut": exactly(cut), "result": {str: [{}]}}
            )["result"]
            return kept
    result = make()
    if place is not None:
        write_text(place, json.dumps({"fingerprint": name, "cut": cut, "result": result}) + "\n")
    return result
