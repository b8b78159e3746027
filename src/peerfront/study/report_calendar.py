"""The calendar of the report: recruits by week beside an earlier forecast, open coupons by age, and the back-test.

Numbers of people and coupons are rounded to fives, so that no week and no age reveals single people.
"""

import base64
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from peerfront.data.read.dates import EPOCH, date_text
from peerfront.data.study import Study
from peerfront.data.study_calendar import assumed_days, open_coupons
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import decoded, file_bytes
from peerfront.foundation.messages import Message, note
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.stored import rounded_counts
from peerfront.foundation.text_tables import read_table_file
from peerfront.foundation.typed_values import typed_number

Whole = NDArray[np.int64]
_LARGEST_PICTURE = 5 * 2**20
_MOST_LINES, _LONGEST_LINE = 60, 2_000
_PNG = b"\x89PNG\r\n\x1a\n"
_AGES = (7, 14, 28, 60)
_NEEDED = ("policy", "until", "recruits", "p10", "p90")
_MOST_WEEKS = 600


@dataclass(frozen=True, eq=False)
class EarlierForecast:
    """Weeks of an earlier forecast: the last day of each, interviews expected, and the 80% band."""

    until: tuple[date, ...]
    interviews: NDArray[np.float64]  # [weeks]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EarlierBacktest:
    """A back-test read from its folder: its text, and its picture as a data URL."""

    lines: tuple[str, ...]
    picture: str


@dataclass(frozen=True, eq=False)
class CalendarPage:
    """What the section shows."""

    ends: tuple[str, ...]
    """The last day of each week."""
    recruits: NDArray[np.float64]  # [weeks], rounded
    open_by_age: tuple[tuple[int, int | None, int], ...]
    """Range of ages in days (None: without end) and open coupons, rounded; empty if it is unknown which are open."""
    before: EarlierForecast | None
    weeks_over: int
    """Weeks of the earlier forecast that are over."""
    weeks_inside: int
    """How many of these weeks ended inside the band."""
    backtest: EarlierBacktest | None
    notes: tuple[Message, ...] = ()
    """What is assumed about the age of open coupons."""


def read_earlier_forecast(path: Path) -> EarlierForecast:
    """Read `weeks.csv` of an earlier forecast by date, or the folder it is in."""
    file = path / "weeks.csv" if path.is_dir() else path
    table = read_table_file(file).frame.rename(columns={"interviews": "recruits"})  # as 0.3 named it
    absent = [name for name in _NEEDED if name not in table.columns]
    if absent or not len(table):
        raise DataFileError("calendar.no_forecast", file=file.name, missing=absent or [note("calendar.no_rows")])
    own = table[table["policy"] == table["policy"].iloc[0]].head(_MOST_WEEKS)
    try:
        days = tuple(date.fromisoformat(text) for text in own["until"])
        numbers = [[_number(text) for text in own[name]] for name in ("recruits", "p10", "p90")]
    except ValueError as problem:
        raise DataFileError("calendar.bad_forecast", file=file.name, why=str(problem)) from None
    return EarlierForecast(days, *(np.array(each) for each in numbers))


def read_earlier_backtest(folder: Path) -> EarlierBacktest:
    """Read the folder of a back-test."""
    text = decoded(folder / "backtest.txt", file_bytes(folder / "backtest.txt"))[0]
    picture = file_bytes(folder / "backtest.png")
    if not picture.startswith(_PNG) or len(picture) > _LARGEST_PICTURE:
        raise DataFileError("calendar.no_picture", file=folder / "backtest.png")
    lines = tuple(line.strip()[:_LONGEST_LINE] for line in text.splitlines() if line.strip())[:_MOST_LINES]
    return EarlierBacktest(lines, f"data:image/png;base64,{base64.b64encode(picture).decode()}")


def calendar_page(
    study: Study, before: EarlierForecast | None = None, backtest: EarlierBacktest | None = None
) -> CalendarPage | None:
    """The calendar of a study; None without dates and without a back-test."""
    if study.day is None or study.days is None or study.numbered_days or not np.isfinite(study.days).any():
        if backtest is None:
            return None
        return CalendarPage((), np.zeros(0), (), None, 0, 0, backtest)
    anchor = np.floor(study.day) if before is None else float((before.until[0] - EPOCH).days)
    ends, counts = recruits_by_week(study, anchor)
    over, inside = (0, 0) if before is None else _inside(before, ends, counts, study.day)
    return CalendarPage(
        tuple(date_text(end) for end in ends),
        rounded_counts(counts),
        tuple(_open_by_age(study)),
        before,
        over,
        inside,
        backtest,
        assumed_days(study),
    )


def recruits_by_week(study: Study, anchor: float) -> tuple[NDArray[np.float64], Whole]:
    """The last day and the recruits of each week up to the study's day; weeks are counted from `anchor`."""
    assert study.days is not None, "a calendar needs dates"
    assert study.day is not None, "a calendar needs dates"
    days = np.floor(study.days)
    dated = np.isfinite(days)
    came = days[dated & (study.recruiter != NOBODY)]
    first = anchor - 7.0 * np.ceil((anchor - days[dated].min()) / 7.0)
    if first < days[dated].min():
        first += 7.0
    last = first + 7.0 * np.ceil(max(np.floor(study.day) - first, 0.0) / 7.0)
    ends = np.arange(first, last + 1.0, 7.0)
    week = np.clip(np.ceil((came - first) / 7.0), 0, len(ends) - 1).astype(np.int64)
    return ends, np.bincount(week, minlength=len(ends))


def _inside(before: EarlierForecast, ends: NDArray[np.float64], counts: Whole, day: float) -> tuple[int, int]:
    """Weeks of the forecast that are over, and how many of them ended inside the band."""
    forecast = {float((each - EPOCH).days): number for number, each in enumerate(before.until)}
    over = [
        (forecast[end], count)
        for end, count in zip(ends.tolist(), counts.tolist(), strict=True)
        if end in forecast and end <= day
    ]
    return len(over), sum(bool(before.low[number] <= count <= before.high[number]) for number, count in over)


def _open_by_age(study: Study) -> list[tuple[int, int | None, int]]:
    """Open coupons by their age in days, rounded."""
    is_open = open_coupons(study)
    if study.issued_days is None or study.day is None or not is_open.any():
        return []
    ages = study.day - study.issued_days
    edges = [0, *_AGES, np.inf]
    rows = []
    for low, high in pairwise(edges):
        with np.errstate(invalid="ignore"):
            own = rounded_counts(is_open[(ages >= low) & (ages < high)].sum())
        rows.append((int(low), None if np.isinf(high) else int(high) - 1, int(own)))
    return rows


def _number(text: str) -> float:
    number = typed_number(text)
    if number is None:
        raise ValueError(text[:40])
    return float(number)
