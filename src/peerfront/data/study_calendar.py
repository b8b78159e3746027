"""A study on a day: who waits for coupons, whose coupons are open, expired or used, and how it looked earlier.

A coupon of somebody who got it on day d with a validity of V days can be used until the end of day d + V. What a study
shows on a day is what was known in the evening.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date as calendar_date
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.read.coupon_codes import NOT_SAID, SEED, seed_marks
from peerfront.data.read.dates import EPOCH, date_remedies, date_text, dates_as_text, last_day, latest_date
from peerfront.data.read.read_settings import ReadSettings
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, Remedy, note
from peerfront.foundation.recruitment_trees import NOBODY, trees_of
from peerfront.foundation.settings import calendar_day
from peerfront.foundation.typed_dates import Days
from peerfront.foundation.typed_values import typed_number

if TYPE_CHECKING:
    from peerfront.data.study import Study

Mask = NDArray[np.bool_]
_OF_PEOPLE = (
    "rows", "ids", "seed", "issued", "days", "network_size", "own_coupons", "coupons", "redeemed_days", "issued_days",
    "issue_known", "valid_days", "listed",
)  # fmt: skip
RECENT_DAYS = 28.0
"""Days before the last issue within which people without coupons are mentioned: they may have been overlooked."""


@dataclass(frozen=True)
class CouponCounts:
    """The coupons of a study on its day, and the people who wait."""

    issued: int
    used: int
    open: int
    """Not used, and still valid."""
    expired: int
    undated: int
    """Not used, and issued nobody knows when."""
    holders_open: int
    """People with open coupons."""
    waiting: int
    """People who wait for coupons."""
    passed_over: int
    """People without coupons who took part shortly before the last issue, and are not taken for people who wait."""


# Whose coupons are open ----------------------------------------------------------------------------------------------


def still_open(
    settings: ReadSettings,
    days: Days | None,
    wave: NDArray[np.int64],
    day: float | None,
    source: str,
    other_dates: Sequence[str] = (),
) -> Mask:
    """Mark the people whose counts are not final by the settings' own rule; nobody where dates decide, [people].

    Somebody without a date counts as finished.
    """
    if settings.open_last_wave:
        return np.asarray(wave == wave.max(initial=0))
    window = settings.open_days
    if window is None:
        return np.zeros(len(wave), dtype=bool)
    if days is None or day is None or not np.isfinite(days).any():
        remedies = {"column": date_remedies(other_dates), "still_open": Remedy("still_open", "last-wave")}
        raise SettingError("study_day.no_dates_to_count", days=window, source=source, **remedies)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.floor(days) > day - window)


def open_coupons(study: "Study") -> NDArray[np.int64]:
    """How many coupons of each person can still be used on the study's day, [people].

    By the dates; or, where the settings say whose coupons are open, all unused ones of these people.
    """
    unused = np.maximum(study.issued - study.recruits, 0)
    if not study.settings.open_by_dates:
        return np.where(study.still_open, unused, 0)
    if study.day is None or study.issued_days is None or study.valid_days is None:
        return np.zeros(len(study), dtype=np.int64)
    with np.errstate(invalid="ignore"):
        valid = study.day - study.issued_days < study.valid_days  # not true of unknown dates
    return np.where(valid, unused, 0)


def open_table(study: "Study") -> pd.DataFrame:
    """Holders of coupons that can still be used: id, coupons, used, open, issued, age, expires."""
    is_open = open_coupons(study)
    rows = np.flatnonzero(is_open)
    unknown = np.full(len(study), np.nan)
    issued = unknown if study.issued_days is None else study.issued_days
    valid = unknown if study.valid_days is None else study.valid_days
    day = np.nan if study.day is None else study.day
    return pd.DataFrame(
        {
            "id": study.ids[rows],
            "coupons": study.issued[rows],
            "used": study.recruits[rows],
            "open": is_open[rows],
            "issued": dates_as_text(issued[rows], study.numbered_days),
            "age": day - issued[rows],
            "expires": dates_as_text((issued + valid)[rows], study.numbered_days),
        }
    )


def assumed_days(study: "Study") -> tuple[Message, ...]:
    """What is assumed about the age of open coupons: the day of the interview where nobody knows that of the issue."""
    if study.issue_known is None or not study.settings.open_by_dates or study.days is None:
        return ()
    assumed = (open_coupons(study) > 0) & ~study.issue_known
    return (note("study_day.issue_assumed", column=Remedy("map", ("issued_date",))),) if assumed.any() else ()


def coupon_counts(study: "Study") -> CouponCounts:
    """Count the coupons of a study on its day."""
    used = np.minimum(study.recruits, study.issued)
    unused = study.issued - used
    is_open = open_coupons(study)
    no_date = np.ones(len(study), dtype=bool) if study.issued_days is None else np.isnan(study.issued_days)
    undated = unused[no_date & (is_open == 0)].sum() if study.settings.open_by_dates else 0
    waits, passed_over = waiting_people(study)
    return CouponCounts(
        issued=int(study.issued.sum()),
        used=int(used.sum()),
        open=int(is_open.sum()),
        expired=int(unused.sum() - is_open.sum() - undated),
        undated=int(undated),
        holders_open=int((is_open > 0).sum()),
        waiting=int(waits.sum()),
        passed_over=int(passed_over.sum()),
    )


# Who waits -----------------------------------------------------------------------------------------------------------


def waiting_people(study: "Study") -> tuple[Mask, Mask]:
    """Mark the people who wait for coupons, and those who might and are not taken for it, [people] each.

    1. Where the settings say whose coupons are open, these people wait.
    2. Otherwise whoever took part since the last coupons were issued and has none waits: on that day or later where it
       is known when coupons were issued; otherwise after the last person with coupons, by date and row. Whoever took
       part before and has none was passed over, or wanted none; those of the last 28 days before are the second answer.
    3. Without dates the order of the file stands for time; somebody without a date came with the person above.
    4. By the log of a study whoever was on a sheet, or came after the last one, waits until they have coupons.
    5. A column of yes and no (`waiting`) wins over all of it, where it is filled.
    """
    none = np.zeros(len(study), dtype=bool)
    if study.still_open.any():
        waits, passed_over = study.still_open, none
    else:
        waits, passed_over = _since_last_issue(study)
    if study.listed is not None:
        waits = (waits | study.listed) & (study.issued == 0)
        passed_over = passed_over & ~waits
    if "waiting" in study.columns:
        marks = seed_marks(study.people[study.columns["waiting"][0]].to_numpy(dtype=object))
        waits = np.where(marks == NOT_SAID, waits, marks == SEED)
        passed_over = passed_over & (marks == NOT_SAID)
    return waits, passed_over


def _since_last_issue(study: "Study") -> tuple[Mask, Mask]:
    without = study.issued == 0
    nobody = np.zeros(len(study), dtype=bool)
    if study.days is None or not np.isfinite(study.days).any():
        after = np.arange(len(study)) > np.max(np.flatnonzero(~without), initial=-1)
        return without & after, nobody
    with np.errstate(invalid="ignore"):
        if study.issue_known is not None and study.issue_known.any():
            assert study.issued_days is not None, "known days are days"
            last = float(np.nanmax(study.issued_days))
            since = np.floor(study.days) >= last
        else:
            # Rows of one day are in the order in which people came; somebody without a date came with the one above.
            order = np.argsort(pd.Series(study.days).ffill().bfill().to_numpy(), kind="stable")
            place = np.empty(len(study), dtype=np.int64)
            place[order] = np.arange(len(study))
            since = place > np.max(place[~without], initial=-1)
            issue_dates = study.days[~without & np.isfinite(study.days)]
            last = float(np.max(issue_dates, initial=-np.inf))
        recent = (np.floor(study.days) > last - RECENT_DAYS) & (study.days <= last)
    return without & since, without & ~since & recent


# When coupons were handed out ----------------------------------------------------------------------------------------


def issued_since(study: "Study", earliest: Days) -> "Study":
    """The study with coupons issued on these days at the earliest, [people]; nan where that is not known.

    A later day in the file stays. So does an earlier one of somebody whose recruit came before `earliest`: coupons were
    handed out then, and entered later.
    """
    if study.day is None or study.issued_days is None or study.valid_days is None or study.redeemed_days is None:
        return study
    if study.numbered_days:
        return study  # nobody knows which dates they are
    came = np.flatnonzero((study.recruiter != NOBODY) & np.isfinite(study.redeemed_days))
    first_return = np.full(len(study), np.inf)
    np.minimum.at(first_return, study.recruiter[came], study.redeemed_days[came])
    later = (study.issued > 0) & (first_return >= earliest)  # not true of nan
    days = np.where(later, np.fmax(study.issued_days, earliest), study.issued_days)
    days[study.issued == 0] = np.nan
    usual = np.inf if study.settings.valid_days is None else study.settings.valid_days
    valid = np.where(later & np.isnan(study.valid_days), usual, study.valid_days)
    if "expiry_date" in study.columns:  # that day stays
        dated = (study.people[study.columns["expiry_date"][0]] != "").to_numpy() & np.isfinite(study.issued_days)
        valid = np.where(later & dated, np.maximum(valid - (days - study.issued_days), 0.0), valid)
    return replace(
        study,
        issued_days=days,
        issue_known=later if study.issue_known is None else study.issue_known | later,
        valid_days=valid,
        day=max(study.day, float(np.max(days[later], initial=-np.inf))),
    )


# As it was on an earlier day -----------------------------------------------------------------------------------------


def study_as_of(study: "Study", date: str | calendar_date) -> "Study":
    """The study as it was seen in the evening of a day: later people are not there, later coupons not issued."""
    if study.day is None:
        column = date_remedies(study.other_dates)
        raise SettingError("study_day.no_dates", source=study.source, date=str(date)[:40], column=column)
    day = _wanted_day(study, date)
    if study.cut and day > study.day:
        seen = date_text(study.day, study.numbered_days)
        raise SettingError("study_day.cut", source=study.source, day=seen, date=date)
    enters, issues = _first_days(study)
    there = enters <= day
    if not there.any():
        first = date_text(float(enters.min()), study.numbered_days)
        raise SettingError("study_day.before_start", source=study.source, date=date, first=first)
    not_yet = (study.issued > 0) & (issues > day)
    if there.all() and not not_yet.any():
        return replace(study, day=day, still_open=_still_open_on(study, day, study.days, study.trees.wave))
    return _cut(study, day, there, not_yet)


def _wanted_day(study: "Study", date: str | calendar_date) -> float:
    if study.numbered_days:
        number = typed_number(str(date))
        if number is None:
            raise SettingError("study_day.numbered", source=study.source, date=str(date)[:40])
        return float(np.floor(number))
    wanted = calendar_day(note("study_day.day"), date)
    if wanted > latest_date():
        raise SettingError("study_day.future", day=str(wanted))
    return float((wanted - EPOCH).days)


def _first_days(study: "Study") -> tuple[Days, Days]:
    """The days from which on people are there and their coupons are issued, [people] each.

    Whoever has no date is there with their first recruit, or else on the last day of the file. Nobody is there before
    their recruiter, and coupons were issued when somebody came with one, whatever the dates say.
    """
    unknown = np.full(len(study), np.nan)
    days = np.floor(unknown if study.days is None else study.days)
    issued = unknown if study.issued_days is None else study.issued_days
    last = last_day(study.days, study.issued_days, study.redeemed_days)
    enters = np.where(np.isnan(days), np.inf, days)
    if study.days is None:  # dates of coupons are all there is
        assert study.redeemed_days is not None
        enters = np.where(np.isnan(study.redeemed_days), np.inf, study.redeemed_days)
        enters = np.minimum(enters, np.where(np.isnan(issued), np.inf, issued))
    first_recruit = np.full(len(study), np.inf)
    by_wave = np.argsort(-study.trees.wave, kind="stable")
    ends = np.flatnonzero(np.diff(study.trees.wave[by_wave])) + 1
    for people in np.split(by_wave, ends):  # from the deepest wave on
        enters[people] = np.minimum(enters[people], first_recruit[people])
        recruits = people[study.recruiter[people] != NOBODY]
        np.minimum.at(first_recruit, study.recruiter[recruits], enters[recruits])
    assert last is not None, "a study with a day has dates"
    enters = np.where(np.isinf(enters), last, enters)
    issues = np.minimum(np.where(np.isnan(issued), enters, np.maximum(issued, enters)), first_recruit)
    return enters, issues


def _cut(study: "Study", day: float, there: Mask, not_yet: Mask) -> "Study":
    """The study with the people who are there, some of whom have no coupons yet."""
    rows = np.flatnonzero(there)
    place = np.append(np.cumsum(there) - 1, NOBODY)
    later = not_yet[rows]
    recruiter = place[study.recruiter[rows]]
    people = study.people.iloc[rows].reset_index(drop=True)
    for role in ("issued_date", "expiry_date", "valid_days"):
        for name in study.columns.get(role, ()):
            people[name] = people[name].where(~later, "")
    kept = set(study.rows[rows].tolist())
    columns = {name: getattr(study, name) for name in _OF_PEOPLE}
    there_now: dict[str, Any] = {name: None if values is None else values[rows] for name, values in columns.items()}
    for name, nothing in (
        ("issued", 0), ("coupons", ""), ("issued_days", np.nan), ("issue_known", False), ("valid_days", np.nan),
    ):  # fmt: skip
        if there_now[name] is not None:
            there_now[name][later] = nothing
    return replace(
        study,
        **there_now,
        recruiter=recruiter,
        people=people,
        still_open=_still_open_on(study, day, there_now["days"], trees_of(recruiter).wave),
        problems=tuple(problem for problem in study.problems if problem.row is None or problem.row in kept),
        day=day,
        cut=True,
        coupons_left=None,
    )


def _still_open_on(study: "Study", day: float, days: Days | None, wave: NDArray[np.int64]) -> Mask:
    return still_open(study.settings, days, wave, day, study.source)
