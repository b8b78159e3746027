"""The dates of a study: when people took part, were issued coupons and came with one, and when coupons expire.

Columns are optional. Coupons without a date of issue were issued when their holder took part, and redeemed when the
recruit took part. What cannot be a date, lies in the future or contradicts another date is a problem with its row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date as calendar_date
from datetime import timedelta

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.problems import Problem, Proposal
from peerfront.data.read.listing import Listing, Texts, each, of_people
from peerfront.data.read.read_settings import MOST_DAYS_VALID
from peerfront.data.read.unsure_dates import decide, within
from peerfront.foundation.messages import Remedy, note
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.typed_dates import (
    FIRST_YEAR,
    LAST_YEAR,
    Days,
    are_day_numbers,
    day_numbers,
    likely_day,
    read_days,
    read_texts,
)
from peerfront.foundation.typed_values import read_numbers

EPOCH = calendar_date(1970, 1, 1)
FEW_MISSING = 0.2
"""Share of missing dates up to which each is reported, and dates decide which coupons are open."""
_DATES, _LOOKED_AT = 0.6, 200  # a column holds dates if 60% of its first 200 values are dates
_EARLY = 0.1  # share of people who came before their recruiter
_LONGEST_STUDY = 1_000.0  # days between the first and the last quarter of the people
_LONG_AFTER = 180.0  # days without anybody before a last date that may be a typing error
_TOMORROW = timedelta(days=1)  # it may be tomorrow already where the file was written


@dataclass(frozen=True, eq=False)
class Dates:
    """The dates of a study in days since 1970, or since whatever day if the file numbers its days; nan: not known.

    Dates of issue and redemption are whole days.
    """

    taken_part: Days | None = None  # [people], with the time of day if the file has it; None without such a column
    issued: Days | None = None  # [people], nan also for those who were issued no coupons; None without dates
    redeemed: Days | None = None  # [people], nan also for those who came without a known coupon; None without dates
    issue_known: NDArray[np.bool_] | None = None  # [people], whether a column says when coupons were issued
    valid_days: Days | None = None  # [people], inf: never expire, nan: date of issue not known; None without dates
    numbered: bool = False
    """Whether the file numbers its days, so that nobody knows which dates they are."""
    problems: tuple[Problem, ...] = field(default=())
    unused: tuple[str, ...] = ()
    """Where nobody's day is known: other columns of dates, the likeliest first."""

    @property
    def last(self) -> float | None:
        """The last day on which something happened; None if no date is known."""
        return last_day(self.taken_part, self.issued, self.redeemed)


def last_day(*columns: Days | None) -> float | None:
    """The last known day of several columns; None if there is none."""
    dated = [column[np.isfinite(column)] for column in columns if column is not None]
    days = np.concatenate([np.zeros(0), *dated])
    return float(np.floor(days.max())) if len(days) else None


def date_text(day: float, numbered: bool = False) -> str:
    """Write a day as 2024-05-31, or as its number where the file numbers its days; "" for no day."""
    if not np.isfinite(day):
        return ""
    return f"{np.floor(day):.0f}" if numbered else (EPOCH + timedelta(days=int(np.floor(day)))).isoformat()


def latest_date() -> calendar_date:
    """The last day that does not lie in the future, wherever the file was written."""
    return calendar_date.today() + _TOMORROW


def day_after_latest() -> float:
    """The first day that lies in the future."""
    return float((latest_date() - EPOCH).days + 1)


def read_dates(listing: Listing, recruiter: NDArray[np.int64], issued: NDArray[np.int64]) -> Dates:
    """Read and check the dates of everybody in a listing, given recruiters and numbers of coupons, [people]."""
    reader = _Columns(listing, recruiter)
    taken_part = reader.days("date")
    given, came = reader.days("issued_date", taken_part), reader.days("redeemed_date")
    expiry = reader.days("expiry_date", taken_part, future=True)
    unused = _unused(listing, recruiter) if taken_part is None or np.isnan(taken_part).all() else ()
    if unused:
        fault = note("problems.unused_dates", columns=list(unused), remedies=date_remedies(unused))
        reader.problems.append(Problem("unused-dates", None, "", fault))
    if all(column is None for column in (taken_part, given, came)):
        return Dates(problems=tuple(reader.problems), unused=unused)
    unknown = np.full(len(listing.ids), np.nan)
    taken = unknown if taken_part is None else taken_part
    given, came = unknown if given is None else given, unknown if came is None else came
    issue_days = np.where(issued > 0, np.floor(np.where(np.isnan(given), taken, given)), np.nan)
    with_coupon = recruiter != NOBODY
    redeemed = np.where(with_coupon, np.floor(np.where(np.isnan(came), taken, came)), np.nan)
    early = _before_recruiter(listing, recruiter, taken)
    valid, faults = _validity(listing, issue_days, expiry)
    numbered = reader.numbered or False
    reported = {problem.row for problem in early}
    problems = [*reader.problems, *_missing(listing, taken_part), *early, *faults]
    problems += _contradictions(listing, recruiter, taken, issue_days, redeemed, valid, reported, numbered)
    problems += _far_away(listing, taken, numbered)
    if not numbered and taken_part is not None:
        problems = _with_proposals(listing, recruiter, taken, problems, month_first=reader.month_first)
    known = (issued > 0) & np.isfinite(given)
    return Dates(taken_part, issue_days, redeemed, known, valid, numbered, tuple(problems), unused)


def date_remedies(unused: Sequence[str]) -> list[Remedy]:
    """How to name the column with the day people took part: one of these, if there are any."""
    return [Remedy("map", ("date", name)) for name in unused] or [Remedy("map", ("date",))]


def _unused(listing: Listing, recruiter: NDArray[np.int64]) -> tuple[str, ...]:
    """Columns of dates that are read as nothing, the likeliest first: few people come before their recruiter.

    Dates that are spread over many years are dates of birth.
    """
    if listing.settings.columns.get("date") == ():  # the user says that there is none
        return ()
    taken = {name for names in listing.columns.values() for name in names}
    early: dict[str, float] = {}
    for name in map(str, listing.people.columns):
        texts = listing.people[name].reset_index(drop=True)
        filled = texts[texts != ""]
        if name in taken or not len(filled) or are_day_numbers(filled):
            continue
        if np.isfinite(read_days(filled.head(_LOOKED_AT))).mean() < _DATES:
            continue
        days = read_days(texts)
        low, high = np.nanquantile(days, [0.25, 0.75])
        came = np.flatnonzero(recruiter != NOBODY)
        with np.errstate(invalid="ignore"):
            share = float((days[came] < days[recruiter[came]]).mean()) if len(came) else 0.0
        # Five digits may be anything; as days of a spreadsheet they must follow who recruited whom.
        if high - low <= _LONGEST_STUDY and (share <= _EARLY or not filled.str.fullmatch(r"\d{5}").all()):
            early[name] = share
    return tuple(sorted(early, key=lambda name: early[name]))


class _Columns:
    """Reads one column of dates after another, and collects what is wrong with them."""

    def __init__(self, listing: Listing, recruiter: NDArray[np.int64]) -> None:
        self.listing = listing
        self.recruiter = recruiter
        self.month_first = False  # most dates of the interviews
        self.problems: list[Problem] = []
        self.numbered: bool | None = None  # as the first column has it

    def days(self, role: str, after: Days | None = None, *, future: bool = False) -> Days | None:
        """Read the column of a role, [people]; None without one. Dates in the future are unknown unless allowed.

        Of two readings one that is not before `after`, nor before the recruiter's, is likelier.
        """
        if role not in self.listing.columns:
            return None
        name = self.listing.columns[role][0]
        texts = self.listing.people[name].reset_index(drop=True)
        numbered = are_day_numbers(texts)
        filled = (texts != "").to_numpy()
        if self.numbered is not None and filled.any() and numbered != self.numbered:
            code = "problems.days_among_dates" if numbered else "problems.dates_among_days"
            self.problems.append(Problem("unlike-dates", None, "", note(code, column=name), name))
            return np.full(len(texts), np.nan)
        if filled.any():
            self.numbered = numbered
        days = day_numbers(texts) if numbered else self._decided(role, name, texts, after, future=future)
        unreadable = np.flatnonzero(np.isnan(days) & filled)
        values = {"value": texts, "first": FIRST_YEAR, "last": LAST_YEAR}
        self.problems += of_people(self.listing, "bad-date", unreadable, "problems.bad_date", name, **values)
        if numbered or future:
            return days
        with np.errstate(invalid="ignore"):
            later = days >= day_after_latest()
        ahead = np.flatnonzero(later)
        self.problems += of_people(self.listing, "future-date", ahead, "problems.future_date", name, value=texts)
        return np.where(later, np.nan, days)

    def _decided(self, role: str, name: str, texts: pd.Series, after: Days | None, *, future: bool) -> Days:
        """Decide between day first and month first, and say what was decided."""
        recruiter = np.full_like(self.recruiter, NOBODY) if after is not None else self.recruiter
        earliest = np.full(len(texts), np.nan) if after is None else np.floor(after)
        latest = np.full(len(texts), np.inf if future else day_after_latest())
        decided = decide(read_texts(texts), texts, recruiter, (earliest, latest))
        self.month_first = decided.month_first if role == "date" else self.month_first
        serial = np.flatnonzero(texts.str.fullmatch(r"[0-9]{5}(?:[.,][0-9]+)?").to_numpy() & np.isfinite(decided.days))
        if len(serial):
            values = {"value": texts[serial[0]], "n": len(serial), "date": date_text(decided.days[serial[0]])}
            fault = note("problems.serial_dates", column=name, **values)
            self.problems.append(Problem("unsure-dates", None, "", fault, name))
        unsure = np.flatnonzero(np.isfinite(decided.others))
        if not len(unsure):
            return decided.days
        if decided.whole:
            order = note("problems.month_then_day") if decided.month_first else note("problems.day_then_month")
            values = {"value": texts[unsure[0]], "n": len(unsure), "order": order}
            self.problems.append(
                Problem("unsure-dates", None, "", note("problems.unsure_dates", column=name, **values), name)
            )
            return decided.days
        read, other = dates_as_text(decided.days, False), dates_as_text(decided.others, False)
        messages = [
            note("problems.unsure_date", column=name, value=texts[i], date=read[i], other=other[i]) for i in unsure
        ]
        mends = [(name, texts[i], read[i], decided.reasons[int(i)]) for i in unsure]
        self.problems += each(self.listing, "unsure-dates", unsure, messages, name, mends)
        return decided.days


def _missing(listing: Listing, taken_part: Days | None) -> list[Problem]:
    """Report people without a date: each of a few, or how many they are."""
    if taken_part is None:
        return []
    name = listing.columns["date"][0]
    empty = (listing.people[name] == "").to_numpy()
    absent = np.flatnonzero(empty)
    if empty.all():
        return []
    if len(absent) <= FEW_MISSING * len(empty):
        return of_people(listing, "missing-date", absent, "problems.no_date", name)
    fault = note("problems.dates_missing", column=name, n=len(absent), people=len(empty))
    return [Problem("missing-date", None, "", fault, name)]


def _before_recruiter(listing: Listing, recruiter: NDArray[np.int64], taken: Days) -> list[Problem]:
    if "date" not in listing.columns:
        return []
    with np.errstate(invalid="ignore"):
        early = np.flatnonzero((recruiter != NOBODY) & (taken < taken[recruiter]))
    texts: Texts = listing.people[listing.columns["date"][0]].to_numpy(dtype=object)
    of_recruiter = {"recruiter": listing.ids[recruiter], "recruiter_date": texts[recruiter]}
    return of_people(listing, "before-recruiter", early, "problems.before_recruiter", date=texts, **of_recruiter)


def _validity(listing: Listing, issue_days: Days, expiry: Days | None) -> tuple[Days, list[Problem]]:
    """For how many days everybody's coupons are valid, by date of expiry, number of days, or the settings, [people]."""
    valid = np.full(len(listing.ids), np.nan)
    faults: list[Problem] = []
    with np.errstate(invalid="ignore"):
        if expiry is not None:
            valid = np.floor(expiry) - issue_days
            wrong = np.flatnonzero(valid < 0.0)
            name = listing.columns["expiry_date"][0]
            faults += of_people(listing, "expires-before-issue", wrong, "problems.expires_early", name)
            valid = np.where(valid < 0.0, np.nan, valid)
        if "valid_days" in listing.columns:
            name = listing.columns["valid_days"][0]
            texts = listing.people[name].reset_index(drop=True)
            numbers = read_numbers(texts)
            impossible = ~((numbers >= 0.0) & (numbers <= MOST_DAYS_VALID))
            wrong = np.flatnonzero(impossible & (texts != "").to_numpy())
            values = {"value": texts, "most": MOST_DAYS_VALID}
            faults += of_people(listing, "bad-valid-days", wrong, "problems.bad_valid_days", name, **values)
            valid = np.where(np.isnan(valid) & ~impossible, numbers, valid)
    usual = np.inf if listing.settings.valid_days is None else listing.settings.valid_days
    return np.where(np.isnan(issue_days), np.nan, np.where(np.isnan(valid), usual, valid)), faults


def _contradictions(
    listing: Listing,
    recruiter: NDArray[np.int64],
    taken: Days,
    issue_days: Days,
    redeemed: Days,
    valid: Days,
    reported: set[int | None],
    numbered: bool,
) -> list[Problem]:
    """Find coupons used before they were issued or after they expired, and issued before their holder took part."""
    came = np.flatnonzero(recruiter != NOBODY)
    holder = recruiter[came]
    with np.errstate(invalid="ignore"):
        ages = redeemed[came] - issue_days[holder]
        before = came[(ages < 0.0) & ~np.isin(listing.rows[came], [row for row in reported if row is not None])]
        after = came[ages > valid[holder]]
        ahead = np.flatnonzero(issue_days < np.floor(taken))

    def on(days: Days) -> Callable[[int], str]:
        return lambda person: date_text(days[person], numbered)

    of_holder = {"date": on(redeemed), "holder": listing.ids[recruiter]}
    issued, expired = on(issue_days[recruiter]), on((issue_days + valid)[recruiter])
    own = {"issued": on(issue_days), "date": on(taken)}
    return [
        *of_people(listing, "redeemed-before-issue", before, "problems.redeemed_early", issued=issued, **of_holder),
        *of_people(listing, "used-after-expiry", after, "problems.redeemed_late", expired=expired, **of_holder),
        *of_people(listing, "issued-before-date", ahead, "problems.issued_early", **own),
    ]


def _far_away(listing: Listing, taken: Days, numbered: bool) -> list[Problem]:
    """Find a single date long after or before all others: the study would be seen on a day that is a typing error."""
    dated = np.flatnonzero(np.isfinite(taken))
    if len(dated) < 3:
        return []
    order = dated[np.argsort(taken[dated], kind="stable")]
    problems = []
    late, early = ("long-after", "problems.long_after"), ("long-before", "problems.long_before")
    for (kind, code), far, next_to in ((late, order[-1], order[-2]), (early, order[0], order[1])):
        days = float(abs(taken[far] - taken[next_to]))
        if days > _LONG_AFTER:
            date = date_text(taken[far], numbered)
            problems += of_people(listing, kind, np.array([far]), code, date=date, days=days)
    return problems


def _may_be_slip(problem: Problem, column: str) -> bool:
    kinds = ("bad-date", "future-date", "long-after", "long-before", "before-recruiter")
    return problem.kind in kinds and problem.column in ("", column)


def _with_proposals(
    listing: Listing, recruiter: NDArray[np.int64], taken: Days, problems: list[Problem], *, month_first: bool
) -> list[Problem]:
    """Propose the date that a single slip makes of a wrong one, if exactly one fits among the others'."""
    name = listing.columns["date"][0]
    texts = listing.people[name]
    person_in = {int(row): person for person, row in enumerate(listing.rows)}
    wrong = [p.row for p in problems if p.row is not None and _may_be_slip(p, name)]
    sure = np.where(np.isin(listing.rows, wrong), np.nan, np.floor(taken))
    if not np.isfinite(sure).any():
        return problems
    spans = np.full(len(taken), np.nanmin(sure)), np.full(len(taken), np.nanmax(sure))
    earliest, latest = within(sure, recruiter, spans)

    def mended(problem: Problem) -> Problem:
        if problem.row is None or not _may_be_slip(problem, name):
            return problem
        person = person_in[problem.row]
        day = likely_day(texts[person], earliest[person], latest[person], month_first=month_first)
        if day is None:
            return problem
        offer = Proposal(problem.row, name, texts[person], date_text(day), note("mends.slip"))
        return replace(problem, proposal=offer)

    return [mended(problem) for problem in problems]


def dates_as_text(values: Days, numbered: bool) -> pd.Series:
    """Write days as dates, "" where they are not known."""
    return pd.Series([date_text(value, numbered) for value in values], dtype=object)
