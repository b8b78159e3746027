"""Decide between two readings of a date (03/04/2024), and propose dates for typing errors.

A column whose other dates are certain is read like these. Where some are day first and others month first, each row is
decided: a recruit comes after the recruiter, files are often in the order of dates, dates with the same separator are
written alike, coupons are used soon. Where nothing is certain the whole column is read in the order that contradicts
least; day first if both do alike. What was decided is never silent.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.messages import Message, note
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.typed_dates import DateTexts, Days

_IN_ORDER = 0.9  # share of rows not before the row above, from which on a file is in the order of dates
_FEWEST = 5  # dates that show something
_UP_TO = 12  # days of a month that may be a month


@dataclass(frozen=True)
class Decided:
    """The days of a column, and what is unsure about them."""

    days: Days  # [people]
    others: Days  # [people], the other reading, nan where there is none
    month_first: bool = False
    """Whether most are."""
    whole: bool = False
    """Whether all dates in doubt were decided together; otherwise each has its reason."""
    reasons: dict[int, Message] = field(default_factory=dict)
    """By person, for dates in doubt that were decided one by one."""


def decide(read: DateTexts, texts: pd.Series, recruiter: NDArray[np.int64], bounds: tuple[Days, Days]) -> Decided:
    """Decide each date, given everybody's recruiter (`NOBODY` where it says nothing) and days it must lie between."""
    none = np.full(len(read.day_first), np.nan)
    day, month = int((read.tells > 0).sum()), int((read.tells < 0).sum())
    swapped = _swapped(read)
    if swapped is not None:
        return _excel(read, swapped, recruiter, bounds)
    if not read.open.any():
        return Decided(read.day_first, none, month > day)
    if not day and not month:
        first = _contradictions(read.day_first, recruiter, bounds)
        second = _contradictions(read.month_first, recruiter, bounds)
        days, others = (read.month_first, read.day_first) if second < first else (read.day_first, read.month_first)
        return Decided(days, np.where(read.open, others, np.nan), second < first, whole=True)
    if not day or not month:
        return Decided(read.month_first if month else read.day_first, none, month > day)
    return _one_by_one(read, texts, recruiter, bounds, month_first=month > day)


def _contradictions(days: Days, recruiter: NDArray[np.int64], bounds: tuple[Days, Days]) -> tuple[int, int]:
    """How many dates lie before the recruiter's or beyond their bounds, and how many before the row above."""
    earliest, latest = bounds
    with np.errstate(invalid="ignore"):
        early = (recruiter != NOBODY) & (days < np.floor(days[recruiter]))
        wrong = early | (days < earliest) | (days > latest)
    known = days[np.isfinite(days)]
    return int(wrong.sum()), int((np.diff(known) < 0).sum())


def _swapped(read: DateTexts) -> Days | None:
    """Dates up to the 12th that a spreadsheet took for month first, swapped back; None if it did not.

    It leaves 13/04/2024 as text and turns 03/04/2024 into 4 March: every date is up to the 12th, every text beyond.
    """
    texts = np.isfinite(read.day_first) & ~read.iso
    if read.iso.sum() < _FEWEST or texts.sum() < _FEWEST or not (read.tells[texts] > 0).all():
        return None
    dates = pd.to_datetime(pd.Series(np.floor(read.day_first[read.iso])), unit="D")
    if (dates.dt.day > _UP_TO).any():
        return None
    back = pd.DataFrame({"year": dates.dt.year, "month": dates.dt.day, "day": dates.dt.month})
    days = read.day_first.copy()
    days[read.iso] = (pd.to_datetime(back) - pd.Timestamp(0)) / pd.Timedelta(days=1)
    return days


def _excel(read: DateTexts, swapped: Days, recruiter: NDArray[np.int64], bounds: tuple[Days, Days]) -> Decided:
    better = _contradictions(swapped, recruiter, bounds) <= _contradictions(read.day_first, recruiter, bounds)
    days, others = (swapped, read.day_first) if better else (read.day_first, swapped)
    differ = np.isfinite(days) & (swapped != read.day_first)
    why = note("mends.excel")
    return Decided(
        days, np.where(differ, others, np.nan), reasons={int(person): why for person in np.flatnonzero(differ)}
    )


def _one_by_one(
    read: DateTexts, texts: pd.Series, recruiter: NDArray[np.int64], bounds: tuple[Days, Days], *, month_first: bool
) -> Decided:
    both = np.stack([read.day_first, read.month_first], axis=1)  # [people, order]
    left = read.open.copy()
    days = np.where(left, np.nan, read.day_first)
    reasons: dict[int, Message] = {}

    def settle(people: NDArray[np.bool_], orders: NDArray[np.int64], why: str) -> None:
        days[people] = both[people, orders[people]]
        reasons.update(dict.fromkeys(np.flatnonzero(people).tolist(), note(why)))
        left[people] = False

    while True:  # each settled date bounds those of the recruiter and of recruits
        earliest, latest = within(days, recruiter, bounds)
        fits = (both >= earliest[:, None]) & (both <= latest[:, None])
        one = left & (fits.sum(axis=1) == 1)
        if not one.any():
            break
        settle(one, fits.argmax(axis=1), "mends.after_recruiter")
    separator = np.array([next((sign for sign in text if not sign.isdigit()), "") for text in texts], dtype=object)
    for sign in set(separator[left]):
        told = read.tells[separator == sign]
        if (told > 0).any() != (told < 0).any():
            orders = np.full(len(days), int((told < 0).any()))
            settle(left & (separator == sign), orders, "mends.alike")
    near = np.where(recruiter == NOBODY, np.nan, days[recruiter])[:, None]
    known = days[np.isfinite(days)]
    if len(known) > _FEWEST and (np.diff(known) >= 0).mean() >= _IN_ORDER:
        above, below = pd.Series(days).ffill().to_numpy()[:, None], pd.Series(days).bfill().to_numpy()[:, None]
        off = np.fmax(above - both, 0.0) + np.fmax(both - below, 0.0)
        near = np.where(np.isnan(near), np.where(np.isnan(above), below, above), near)
        settle(left & (off[:, 0] != off[:, 1]), off.argmin(axis=1), "mends.in_order")
    settle(left & np.isfinite(near[:, 0]), np.abs(both - near).argmin(axis=1), "mends.nearest")
    settle(left.copy(), np.full(len(days), int(month_first)), "mends.most_others")
    others = np.where(read.open, read.day_first + read.month_first - days, np.nan)
    return Decided(days, others, month_first, reasons=reasons)


def within(days: Days, recruiter: NDArray[np.int64], bounds: tuple[Days, Days]) -> tuple[Days, Days]:
    """Days between which everybody's date lies, by those of the recruiter and of recruits, [people]."""
    came = np.flatnonzero(recruiter != NOBODY)
    earliest, latest = np.nan_to_num(bounds[0], nan=-np.inf), np.nan_to_num(bounds[1], nan=np.inf)
    of_recruiter = np.nan_to_num(np.floor(days[recruiter[came]]), nan=-np.inf)
    earliest[came] = np.maximum(earliest[came], of_recruiter)
    np.minimum.at(latest, recruiter[came], np.nan_to_num(days[came], nan=np.inf))
    return earliest, latest
