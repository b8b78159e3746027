"""Dates as people write them: each text is read by itself, and 03/04/2024 keeps both of its readings.

Months may be names in several languages, years two digits, days numbers of a spreadsheet (45355); times of day are
kept, and words behind a date ("3 May 2024 (Fri)") say nothing. Who knows the study decides between two readings.
"""

import re
from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.typed_values import WORDS, Texts, plain_signs, read_numbers, unified

Days = NDArray[np.float64]
FIRST_YEAR, LAST_YEAR = 1900, 2199
"""Years that a date of a study may have; 0224 and 2924 are typing errors."""
MOST_DAYS = 100_000.0
"""Plain numbers up to this size count as days, since whatever day."""
SERIALS = (36_526.0, 51_502.0)
"""The years 2000 to 2040 as spreadsheets number their days."""
_SERIAL_ZERO = 25_569  # 1970-01-01
_EPOCH = date(1970, 1, 1).toordinal()
_NUMBERS = 0.9  # share of plain numbers from which on a column numbers its days
_LONGEST = 60
_CENTURY = 69  # two digits below this are of the years 2000
# pandas takes more for ISO dates: 'now' and 'today' would be another day tomorrow
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}.*")
_SHORT = re.compile(r"([0-9]{2})[-/.]([0-9]{2})[-/.]([0-9]{2})")
_FEW = 3  # dates
_EIGHT = re.compile(r"(?:19|20)[0-9]{6}")
_MONTHS = {name: int(number) for number, names in WORDS["months"].items() for name in names}
_OF = r"[-/.,_ ]*(?:(?:de|del|of|du|den|ya|the) )?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th|er|[oa](?![a-z]))?"
_YEAR = r"(?P<year>[0-9]{4}|'?[0-9]{2})(?![0-9])"
_NAME = r"(?P<name>[^\W\d_]+)"
_BEHIND = (
    r"(?:[ t,]+(?:(?:a las|at|as) )?(?P<hour>[0-2]?[0-9])(?::|h|\.)(?P<minute>[0-5][0-9])"
    r"(?:[:.](?P<second>[0-5][0-9])(?:[.,][0-9]+)?)? ?(?P<half>[ap])?(?:\.? ?m\.?)?"
    r"(?: ?(?:z|utc|gmt|h|hrs|[+-](?:0[0-9]|1[0-4]):?[0-5][0-9]))?)?(?:[^\w]+[^0-9]*|[^\w]*)"
)
_FORMS = tuple(
    re.compile(rf"(?:[^\W\d_]+[., ]+)?{form}{_BEHIND}")
    for form in (
        r"(?P<year>[0-9]{4})(?:[-/._ ]+)(?P<month>[0-9]{1,2})(?:[-/._ ]+)(?P<day>[0-9]{1,2})(?![0-9])",
        r"(?P<year>(?:19|20)[0-9]{2})(?P<month>[0-9]{2})(?P<day>[0-9]{2})(?![0-9])",
        rf"(?P<first>[0-9]{{1,2}}) ?[-/.,_\\| ] ?(?P<second_>[0-9]{{1,2}}) ?[-/.,_\\| ] ?{_YEAR}",
        rf"{_DAY}{_OF}{_NAME}{_OF}{_YEAR}",
        rf"{_NAME}{_OF}{_DAY}[-/.,_ ]+(?:(?:de|del|of) )?{_YEAR}",
        rf"(?P<year>[0-9]{{4}}){_OF}{_NAME}{_OF}{_DAY}(?![0-9])",
    )
)


@dataclass(frozen=True)
class DateTexts:
    """The readings of a column of dates, in days since 1970; nan where a text is no date."""

    day_first: Days  # [texts]
    month_first: Days  # [texts], the same where there is only one reading
    tells: NDArray[np.float64]  # [texts], 1 if only day first is possible, -1 if only month first, otherwise 0
    iso: NDArray[np.bool_]  # [texts], whether written as 2024-05-31, as cells of dates in workbooks arrive

    @property
    def open(self) -> NDArray[np.bool_]:
        """[texts], whether there are two readings."""
        return np.asarray(np.isfinite(self.day_first) & (self.day_first != self.month_first))


def read_texts(texts: pd.Series) -> DateTexts:
    """Read a column of dates, each different text once."""
    codes, different = pd.factorize(texts.to_numpy(dtype=object))
    plain = np.array([plain_signs(text) for text in different], dtype=object)
    found = np.full((len(different), 3), np.nan)
    found[:, 2] = 0.0
    iso = np.array([_ISO.fullmatch(text) is not None and len(text) <= _LONGEST for text in plain], dtype=bool)
    found[iso, 0] = _iso_days(plain[iso])
    for place in np.flatnonzero(np.isnan(found[:, 0])):
        found[place] = _reading(plain[place])
    _years_first(plain, found)
    iso &= np.isfinite(found[:, 0])
    found[iso, 1] = found[iso, 0]
    if not len(codes):
        codes = np.zeros(0, dtype=np.int64)
    return DateTexts(found[codes, 0], found[codes, 1], found[codes, 2], iso[codes])


def read_days(texts: pd.Series) -> Days:
    """Read a column of dates by itself, as days since 1970; nan where a text is none. Plain numbers count as days.

    Of two readings that one is taken which rows with a single one have; day first if none has.
    """
    if are_day_numbers(texts):
        return day_numbers(texts)
    read = read_texts(texts)
    return read.month_first if read.tells.sum() < 0 else read.day_first


def day_numbers(texts: pd.Series) -> Days:
    """Read numbers of days; nan for what is none, or too large to be one."""
    numbers = read_numbers(texts)
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(numbers) <= MOST_DAYS, numbers, np.nan)


def are_day_numbers(texts: pd.Series) -> bool:
    """Tell whether a column numbers its days (17, 18, 25) instead of giving dates: most of its values are numbers.

    20240531 and numbers of a spreadsheet's days are dates.
    """
    filled = texts[texts != ""]
    if not len(filled):
        return False
    numbers = read_numbers(filled)
    with np.errstate(invalid="ignore"):
        plain = np.isfinite(numbers) & ~((numbers >= SERIALS[0]) & (numbers <= SERIALS[1]))
    plain &= ~filled.str.fullmatch(_EIGHT).to_numpy(dtype=bool)
    return bool(plain.sum() >= _NUMBERS * len(filled))


def _iso_days(texts: Texts) -> Days:
    dates = pd.Series(pd.to_datetime(pd.Series(texts, dtype=object), format="ISO8601", errors="coerce", utc=True))
    # Subtracting a time stamp overflows for years that nanoseconds cannot count to, so these go first.
    plausible = dates.where(dates.dt.year.between(FIRST_YEAR, LAST_YEAR))
    return np.asarray((plausible - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1), dtype=np.float64)


def _years_first(texts: Texts, found: Days) -> None:
    """Read 24-05-31 as year, month, day where that keeps a column's dates closer together."""
    short = [(i, match) for i, text in enumerate(texts) if (match := _SHORT.fullmatch(text))]
    if len(short) < _FEW:
        return
    days = np.array([_day(2000 + int(match[1]), int(match[2]), int(match[3])) for _, match in short])
    others = found[[i for i, _ in short], 0]
    if np.isfinite(days).all() and np.isfinite(others).any() and np.ptp(days) < np.nanmax(others) - np.nanmin(others):
        for (i, _), day in zip(short, days, strict=True):
            found[i] = day, day, 0.0


def _reading(text: str) -> tuple[float, float, float]:
    """The readings of one text as day first and month first, and which of the two it tells (`DateTexts.tells`)."""
    number = re.fullmatch(r"[0-9]{5}(?:[.,][0-9]+)?", text)
    if number:
        serial = float(text.replace(",", "."))
        day = serial - _SERIAL_ZERO if SERIALS[0] <= serial <= SERIALS[1] else np.nan
        return day, day, 0.0
    parts = date_parts(text)
    if parts is None:
        return np.nan, np.nan, 0.0
    year, month, day, time, numeric = parts
    first = _day(year, month, day)
    second = _day(year, day, month) if numeric else first
    first, second = first + time, second + time
    if np.isnan(first) or np.isnan(second):
        either = second if np.isnan(first) else first
        return either, either, 0.0 if not numeric or np.isnan(either) else -1.0 if np.isnan(first) else 1.0
    return first, second, 0.0


def date_parts(text: str) -> tuple[int, int, int, float, bool] | None:
    """Year, month, day, time of day, and whether day and month may change places; None if a text is built otherwise.

    The parts need not make a date: 31/02/2924 has parts, too.
    """
    if len(text) > _LONGEST:
        return None
    plain = unified(text)
    for form in _FORMS:
        match = form.fullmatch(plain)
        parts = match.groupdict() if match else {}
        if not match or ("name" in parts and parts["name"] not in _MONTHS):
            continue
        year = int(parts["year"].removeprefix("'"))
        if len(parts["year"]) < 4:
            year += 2000 if year < _CENTURY else 1900
        numeric = "first" in parts
        if numeric:
            day, month = int(parts["first"]), int(parts["second_"])
        else:
            day, month = int(parts["day"]), _MONTHS[parts["name"]] if "name" in parts else int(parts["month"])
        return year, month, day, _time_of(parts), numeric
    return None


def _time_of(parts: dict[str, str | None]) -> float:
    hour = int(parts["hour"] or 0)
    if parts["half"] and hour <= 12:
        hour = hour % 12 + 12 * (parts["half"] == "p")
    seconds = 3600 * hour + 60 * int(parts["minute"] or 0) + int(parts["second"] or 0)
    return seconds / 86_400 if hour < 24 else np.nan


def _day(year: int, month: int, day: int) -> float:
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return np.nan
    try:
        return float(date(year, month, day).toordinal() - _EPOCH)
    except ValueError:
        return np.nan


def likely_day(text: str, earliest: float, latest: float, *, month_first: bool = False) -> float | None:
    """The one day within a span that a single slip makes of a text: a digit of the year, or day and month swapped.

    Only if that gives none, other single digits are tried. None if no day fits, or more than one.
    """
    parts = date_parts(plain_signs(text))
    if parts is None:
        return None
    year, month, day, _, numeric = parts
    if numeric and month_first:
        month, day = day, month
    years = [(int(slip), month, day) for slip in _slips(f"{year:04}")]
    of_others = [(year, int(slip), day) for slip in _slips(f"{month:02}")]
    of_others += [(year, month, int(slip)) for slip in _slips(f"{day:02}")]
    for tried in ([*years, (year, day, month)], of_others):
        fits = {found for each in tried if earliest <= (found := _day(*each)) <= latest}
        if fits:
            return fits.pop() if len(fits) == 1 else None
    return None


def _slips(digits: str) -> set[str]:
    """The numbers with one digit changed, or two neighbours swapped."""
    changed = {digits[:i] + new + digits[i + 1 :] for i in range(len(digits)) for new in "0123456789"}
    swapped = {digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :] for i in range(len(digits) - 1)}
    return (changed | swapped) - {digits}
