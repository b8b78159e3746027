"""Dates and numbers as people write them."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_DAY_FIRST = ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%y", "%d.%m.%y")
_MONTH_FIRST = ("%m/%d/%Y", "%m.%d.%Y", "%m-%d-%Y", "%m/%d/%y", "%m.%d.%y")
_OTHERS = ("%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


def read_numbers(texts: pd.Series) -> NDArray[np.float64]:
    """Numbers, also with a decimal comma; nan where there is none."""
    return _read_once(texts, _numbers)


def looks_numeric(texts: pd.Series) -> bool:
    """Whether most of the first values are numbers; cheap for long columns of text."""
    return bool(np.isfinite(_numbers(texts.iloc[:100])).mean() > 0.5)


def _read_once(texts: pd.Series, read: Callable[[pd.Series], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Read each different text once: columns have far fewer of them than people."""
    codes, different = pd.factorize(texts.to_numpy(dtype=object))
    return read(pd.Series(different, dtype=object))[codes] if len(codes) else np.zeros(0)


def _numbers(texts: pd.Series) -> NDArray[np.float64]:
    plain = pd.to_numeric(texts, errors="coerce")
    if plain.isna().sum() > (texts == "").sum():
        commas = texts.where(texts.str.fullmatch(r"[-+]?\d+,\d+"), "").str.replace(",", ".")
        plain = plain.fillna(pd.to_numeric(commas, errors="coerce"))
    numbers = plain.to_numpy(dtype=np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def read_days(texts: pd.Series) -> tuple[NDArray[np.float64], bool]:
    """Dates in days, nan where there is none, and whether day and month could be the other way round.

    The one pattern that fits most of the column is used for all of it. Plain numbers count as days.
    """
    filled = texts[texts != ""]
    if not len(filled):
        return np.full(len(texts), np.nan), False
    numbers = read_numbers(texts)
    eight_digits = filled.str.fullmatch(r"(?:19|20)\d{6}").all()
    if not eight_digits and np.isfinite(numbers).sum() >= 0.9 * len(filled):
        return numbers, False
    best = _days(texts, "ISO8601") if not eight_digits else np.full(len(texts), np.nan)
    unsure = False
    if np.isnan(best).sum() > (texts == "").sum():
        for group in (_OTHERS, _DAY_FIRST, _MONTH_FIRST):
            for pattern in group:
                for time in _TIMES:
                    days = _days(texts, pattern + time)
                    gained = int(np.isfinite(days).sum()) - int(np.isfinite(best).sum())
                    if gained > 0:
                        best, unsure = days, False
                    elif gained == 0 and group is _MONTH_FIRST and np.isfinite(days).any():
                        unsure = unsure or not np.array_equal(days, best, equal_nan=True)
    return best, unsure


def _days(texts: pd.Series, pattern: str) -> NDArray[np.float64]:
    return _read_once(texts, lambda different: _parsed(different, pattern))


def _parsed(texts: pd.Series, pattern: str) -> NDArray[np.float64]:
    parsed = pd.to_datetime(texts.where(texts != "", None), format=pattern, errors="coerce", utc=True)
    since = (parsed - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    return np.asarray(since, dtype=np.float64)
