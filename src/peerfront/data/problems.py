"""What can be wrong with a study's file, how bad each fault is, and what to do about it.

An error is a fault that leaves somebody's recruiter ambiguous or impossible: the tree would be wrong, and the import
stops. A warning is a fault that leaves every link as the file states it: the import goes on, and the table says what
was made of the row. `--strict` (`ReadSettings.strict`) stops at warnings too.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.text_files import Note

ERROR = "error"
WARNING = "warning"
_SHOWN = 10  # faults that an error message lists


@dataclass(frozen=True)
class Kind:
    """A kind of fault: how bad it is, its name for tables, and what to do about it."""

    severity: str
    title: str
    remedy: str


KINDS = {
    "missing-id": Kind(ERROR, "no id", "Give everybody an id."),
    "repeated-id": Kind(ERROR, "id used twice", "Give everybody one row and an id of their own."),
    "digits-lost": Kind(
        ERROR,
        "code with lost digits",
        "A spreadsheet has shortened this code. Export again from the source, with the column formatted as text.",
    ),
    "self-recruited": Kind(
        ERROR,
        "recruited by themselves",
        "Correct the recruiter or the coupon; leave it empty if this person is a seed.",
    ),
    "unknown-recruiter": Kind(
        ERROR,
        "recruiter not in the file",
        "Correct the recruiter's id or add that person; leave the recruiter empty if this person is a seed.",
    ),
    "ambiguous-coupon": Kind(
        ERROR,
        "redeemed coupon issued to two people",
        "Correct the coupon of one of the two, so that the recruiter is certain.",
    ),
    "cycle": Kind(ERROR, "recruiters in a circle", "Correct one recruiter or coupon in the circle."),
    "bad-count": Kind(
        ERROR,
        "coupons issued is no number of coupons",
        "Write a whole number in digits, such as 3; 0 if this person got none.",
    ),
    "issued-twice": Kind(
        WARNING,
        "coupon issued to two people",
        "Correct one of them. Nobody came with it, so the tree is certain; it counts for both.",
    ),
    "repeated-in-row": Kind(WARNING, "coupon listed twice in a row", "It is counted once; correct it if it is a typo."),
    "redeemed-twice": Kind(
        WARNING,
        "coupon redeemed twice",
        "Correct the wrong one. If both came with it (a photocopy), keep it: both count as recruits.",
    ),
    "not-issued": Kind(
        WARNING,
        "redeemed coupon nobody was issued",
        "Correct the code. Until then this person's recruiter is unknown, and a tree of its own begins here.",
    ),
    "placeholder": Kind(
        WARNING,
        "placeholder instead of a coupon",
        "Nothing to do if it was meant so: placeholders do not count as coupons. --missing CODE (missing in a schema "
        "file) says it for good.",
    ),
    "made-from-id": Kind(
        WARNING,
        "code made from an id instead of a coupon",
        "Nothing to do if it was meant so: it tells the recruiter, and does not count as a coupon issued.",
    ),
    "too-many-recruits": Kind(
        WARNING,
        "more recruits than coupons",
        "Add the missing coupons. Until then this person does not count for how many people recruit.",
    ),
    "before-recruiter": Kind(WARNING, "dated before the recruiter", "Correct one of the two dates."),
    "recruiter-disagrees": Kind(
        WARNING,
        "coupon and recruiter id disagree",
        "The coupon was followed. Correct the coupon or the recruiter id.",
    ),
    "not-on-list": Kind(
        WARNING,
        "code not among the recruiter's",
        "The recruiter named was believed. Correct the code or the recruiter.",
    ),
    "bad-date": Kind(WARNING, "not a date", "Write dates as 2024-05-31. Until then the date counts as unknown."),
    "unsure-dates": Kind(WARNING, "day and month unsure", "Write dates as 2024-05-31 to be certain."),
    "future-date": Kind(WARNING, "dated in the future", "Correct the date. Until then it counts as unknown."),
    "missing-date": Kind(
        WARNING,
        "no date",
        "Add the date. Until then this person does not count for when people return and how many they bring.",
    ),
    "unlike-dates": Kind(WARNING, "dates and numbers of days", "Write dates as 2024-05-31 in every column of dates."),
    "long-after": Kind(
        WARNING,
        "dated long after everybody else",
        "Correct the date if it is a typo: coupons look older than they are. Otherwise nothing is to be done.",
    ),
    "redeemed-before-issue": Kind(
        WARNING,
        "coupon redeemed before its issue",
        "Correct one of the two dates. Until then it is not known how long this coupon took.",
    ),
    "used-after-expiry": Kind(
        WARNING,
        "coupon used after it expired",
        "Nothing to do if it was accepted: it counts as used. Otherwise correct the date, or for how long coupons are "
        "valid (valid_days in a schema file).",
    ),
    "issued-before-date": Kind(
        WARNING,
        "coupons issued before the person took part",
        "Correct one of the two dates. The coupons count from their date of issue.",
    ),
    "expires-before-issue": Kind(
        WARNING,
        "coupons expire before their issue",
        "Correct one of the two dates. Until then these coupons are valid as long as the others (valid_days).",
    ),
    "bad-valid-days": Kind(
        WARNING,
        "days of validity are no number of days",
        "Write a number of days, such as 60, or leave it empty. Until then these coupons are valid as long as the "
        "others.",
    ),
    "bad-network-size": Kind(
        WARNING,
        "network size is no number of people",
        "Write a number of at least 0, or leave it empty. Until then the size counts as unknown.",
    ),
    "encoding": Kind(WARNING, "not in UTF-8", "Check names with accents; save as 'CSV UTF-8' to be certain."),
    "unnamed-column": Kind(WARNING, "column without a name", "It was left out. Name it if it matters."),
    "cell-without-value": Kind(
        WARNING,
        "cell without a value",
        "Correct the formula in Excel, or type the value instead. Until then it counts as not known.",
    ),
    "code-without-value": Kind(
        ERROR,
        "id, coupon or recruiter without a value",
        "Correct the formula in Excel, or type the code instead, so that the recruiter is certain.",
    ),
    "merged-cells": Kind(
        WARNING,
        "merged cells",
        "Nothing to do if it was meant for each of these rows; unmerge the cells to be certain.",
    ),
    "several-rows": Kind(
        WARNING,
        "several rows of one person differ",
        "The first value was kept. Nothing to do if that is the one that counts; otherwise correct the rows.",
    ),
    "rows-contradict": Kind(
        ERROR,
        "rows of one person contradict each other about who recruited them",
        "Correct one of the rows, or give each person an id of their own.",
    ),
    "assumed-seed": Kind(
        WARNING,
        "code of their own, taken for a seed",
        "Nothing to do if they are seeds. Otherwise correct the code, or say who is a seed in a column of yes and no: "
        "--map seed=COLUMN (seed under [columns] in a schema file).",
    ),
    "seed-with-coupon": Kind(
        WARNING,
        "marked as a seed, with a coupon that was issued",
        "The coupon was followed, so this person is a recruit. Correct the mark or the coupon.",
    ),
    "not-marked-seed": Kind(
        WARNING,
        "no coupon or recruiter, and not marked as a seed",
        "Add the coupon or recruiter, or mark the person as a seed. Until then the recruiter is unknown.",
    ),
    "fixed-places": Kind(
        WARNING,
        "columns in fixed places",
        "Nothing to do if the columns are right; export with commas between them to be certain.",
    ),
    "deleted": Kind(WARNING, "deleted record", "It was left out, as the app says."),
    "row-count": Kind(WARNING, "other number of people than announced", "Check that the file is complete."),
}


@dataclass(frozen=True)
class Problem:
    """One fault of a file, with its place."""

    kind: str
    row: int | None
    """As in the file: the header is row 1. In a survey-app file: the record, from 1. None: the whole file."""
    person: str
    what: str

    @property
    def severity(self) -> str:
        return KINDS[self.kind].severity

    @property
    def remedy(self) -> str:
        return KINDS[self.kind].remedy


def noted(notes: Iterable[Note], codes: Collection[str] = ()) -> tuple[Problem, ...]:
    """Turn the notes of a table's reader into problems; `codes` are columns that decide who recruited whom."""
    worse = {"cell-without-value": "code-without-value"}
    return tuple(
        Problem(worse.get(note.kind, note.kind) if note.column in codes else note.kind, note.row, "", note.what)
        for note in notes
    )


class FaultyStudy(DataFileError):
    """A study's file with faults that stop the import; `problems` holds all of them."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


def in_file_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort problems: errors first, then by place in the file."""
    return tuple(sorted(problems, key=lambda p: (p.severity != ERROR, p.row or 0, p.kind)))


def problem_table(problems: Iterable[Problem]) -> pd.DataFrame:
    """Return the problems as a table for people."""
    columns = ["severity", "row", "person", "problem", "what", "what to do"]
    rows = [
        (p.severity, "" if p.row is None else p.row, p.person, KINDS[p.kind].title, p.what, p.remedy) for p in problems
    ]
    return pd.DataFrame(rows, columns=columns)


def stop_on(problems: Sequence[Problem], source: str, place: str, *, strict: bool) -> None:
    """Raise an error if problems stop the import: errors always, warnings if strict."""
    ordered = in_file_order(problems)
    stopping = [p for p in ordered if strict or p.severity == ERROR]
    if not stopping:
        return
    errors = sum(p.severity == ERROR for p in stopping)
    counted = [(errors, "error"), (len(stopping) - errors, "warning")]
    count = " and ".join(f"{n:,} {word}{'s' if n > 1 else ''}" for n, word in counted if n)
    lines = [f"{source} has {count}{'' if errors else ', and --strict stops on them'}:"]
    remedies: dict[str, None] = {}
    for problem in stopping[:_SHOWN]:
        where = "" if problem.row is None else f"{place} {problem.row:,}: "
        lines.append(f"  {where}{problem.what}")
        remedies[f"  {KINDS[problem.kind].title}: {problem.remedy}"] = None
    if len(stopping) > _SHOWN:
        lines.append(f"  ... and {len(stopping) - _SHOWN:,} more.")
    raise FaultyStudy("\n".join([*lines, "What to do:", *remedies]), ordered)
