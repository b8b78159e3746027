"""Numbers and dates as people write them, read from columns of text; what cannot be one is no number and no date."""

import math
import re
import unicodedata
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FIRST_YEAR, LAST_YEAR = 1900, 2199
"""Years that a date of a study may have; 0224 and 2924 are typing errors."""
MOST_DAYS = 100_000.0
"""Plain numbers up to this size count as days, since whatever day: spreadsheets number today about 46,000."""
_DAY_FIRST = ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%y", "%d.%m.%y")
_MONTH_FIRST = ("%m/%d/%Y", "%m.%d.%Y", "%m-%d-%Y", "%m/%d/%y", "%m.%d.%y")
_OTHERS = (
    "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d%b%Y", "%d %B %Y", "%b %d, %Y",
    "%B %d, %Y",
)  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# pandas takes more for ISO dates: 'now' and 'today' would be another day tomorrow
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}.*")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+")
_LONGEST_NUMBER, _LONGEST_DATE = 400, 40  # characters: the largest number takes 309 digits
Texts = NDArray[np.object_]


def plain_signs(text: str) -> str:
    """Write a text with the signs that programs read: digits of any script as 0 to 9, every dash as a hyphen.

    Blanks of any sort become ordinary ones, and signs that nobody sees (zero-width blanks, marks of direction) go.
    """
    return text if text.isascii() else "".join(map(_plain_sign, text)).strip()


@cache
def _plain_sign(sign: str) -> str:
    kind = unicodedata.category(sign)
    if kind == "Nd":
        return str(unicodedata.decimal(sign))
    if "\uff01" <= sign <= "\uff5e":  # full-width forms
        return _plain_sign(chr(ord(sign) - 0xFEE0))
    return {"Cf": "", "Zs": " ", "Pd": "-"}.get(kind, {"\u2212": "-", "\u066b": "."}.get(sign, sign))


def typed_number(text: str) -> float | None:
    """Read one number; None for anything but digits with sign, point and exponent, and for endless ones."""
    text = plain_signs(text).strip()
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def read_numbers(texts: pd.Series) -> NDArray[np.float64]:
    """Read numbers, also with a decimal comma; nan where a text is none."""
    return _read_once(texts, _numbers)


def looks_numeric(texts: pd.Series) -> bool:
    """Tell whether most of the first values are numbers; cheap for long columns of text."""
    return bool(np.isfinite(_numbers(texts.iloc[:100].to_numpy(dtype=object))).mean() > 0.5)


def _read_once(texts: pd.Series, read: Callable[[Texts], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Apply `read` to each different text once: columns have far fewer of them than people."""
    codes, different = pd.factorize(texts.to_numpy(dtype=object))
    return read(different)[codes] if len(codes) else np.zeros(0)


def _numbers(texts: Texts) -> NDArray[np.float64]:
    return np.array([_number(text) for text in texts], dtype=np.float64)


def _number(text: str) -> float:
    text = plain_signs(text)
    number = typed_number(text)
    if number is None and _DECIMAL_COMMA.fullmatch(text):
        number = typed_number(text.replace(",", "."))
    return math.nan if number is None else number


def read_days(texts: pd.Series) -> tuple[NDArray[np.float64], bool]:
    """Read dates as days since 1970, nan where a text is none; also tell whether day and month may be swapped.

    The one pattern that fits most of the column is used for all of it. Plain numbers count as days.
    """
    filled = texts[texts != ""]
    if not len(filled):
        return np.full(len(texts), np.nan), False
    if are_day_numbers(texts):
        numbers = read_numbers(texts)
        with np.errstate(invalid="ignore"):
            return np.where(np.abs(numbers) <= MOST_DAYS, numbers, np.nan), False
    best = np.full(len(texts), np.nan) if _are_eight_digits(filled) else _days(texts, "ISO8601")
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


def are_day_numbers(texts: pd.Series) -> bool:
    """Tell whether a column numbers its days (17, 18, 25) instead of giving dates: most of its values are numbers."""
    filled = texts[texts != ""]
    if not len(filled) or _are_eight_digits(filled):
        return False
    return bool(np.isfinite(read_numbers(filled)).sum() >= 0.9 * len(filled))


def _are_eight_digits(filled: pd.Series) -> bool:
    return all(re.fullmatch(r"(?:19|20)[0-9]{6}", plain_signs(text)) for text in filled)


def _days(texts: pd.Series, pattern: str) -> NDArray[np.float64]:
    return _read_once(texts, lambda different: _parsed(different, pattern))


def _parsed(texts: Texts, pattern: str) -> NDArray[np.float64]:
    """Read dates of one pattern; those of impossible years are none."""
    texts = np.array([*map(plain_signs, texts), None], dtype=object)[:-1]
    dates = [text if _may_be_date(text, pattern) else None for text in texts]
    parsed = pd.Series(pd.to_datetime(pd.Series(dates, dtype=object), format=pattern, errors="coerce", utc=True))
    # Subtracting a time stamp overflows for years that nanoseconds cannot count to, so these go first.
    plausible = parsed.where(parsed.dt.year.between(FIRST_YEAR, LAST_YEAR))
    since = (plausible - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    return np.asarray(since, dtype=np.float64)


def _may_be_date(text: str, pattern: str) -> bool:
    short = 0 < len(text) <= _LONGEST_DATE and text.isascii()
    return short and (pattern != "ISO8601" or _ISO.fullmatch(text) is not None)
