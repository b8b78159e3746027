"""A week of a running study: read the file, say what changed, refit if it pays, plan for who waits, look ahead by date.

`run_week` makes a week and keeps it in the study's folder (`study_folder`). The same file on the same day with the same
order gives the same answer: it is read back, not made again.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.dates import EPOCH
from peerfront.data.problems import KINDS
from peerfront.data.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.data.schema_file import read_schema, schema_text
from peerfront.data.schema_guess import guess_schema
from peerfront.data.study import Study
from peerfront.data.study_calendar import waiting_people
from peerfront.foundation.claims import claimed_folder
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.files import write_text
from peerfront.foundation.progress import Progress, part_of, silent
from peerfront.foundation.settings import whole_number
from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.text_tables import read_table_file
from peerfront.foundation.words import counted, n_coupons, n_people
from peerfront.problem.limits import MOST_COUPONS
from peerfront.study.heading import Heading, name_of
from peerfront.study.study_folder import SCHEMA, StudyFolder, Week, check_is_folder
from peerfront.study.week_changes import changes_since, handed_out, snapshot
from peerfront.study.week_model import ModelChoice, chosen_model
from peerfront.study.week_order import WeekOrder
from peerfront.study.week_plan import WeekPlan, planned_week

PEOPLE, SUMMARY, MODEL = "people.csv", "summary.txt", "model"
EXPECT, THE_MODEL = "What to expect", "The model"
_OLD_FILE = 60  # days after a file's last date beyond which the day of the plan must be given
_WEEK = 7


@dataclass(frozen=True, eq=False)
class WeekResult:
    """A week that was made, or had been."""

    week: Week
    folder: Path
    """Where its files are."""
    lines: tuple[str, ...]
    """Everything in words, in the order in which a coordinator asks."""
    again: bool
    """Whether it had been made before, from the same file, and is only shown again."""
    plan: WeekPlan | None
    """The sheet and the forecast; None where the week is only shown again."""


@dataclass(frozen=True)
class WeekRequest:
    """What was asked for this week; what is None is as it was last week."""

    day: date | None = None
    """The day of the plan; None for today."""
    refit: str = "auto"
    schema: Path | None = None
    """How the file is read; kept in the study's folder from then on."""
    study: str = ""
    """Name of the study, above its sheets."""
    given: Mapping[str, Any] | None = None
    """Fields of `WeekOrder` that are new this week."""
    studies: int = 400
    """Simulated studies of the forecast by date."""


def run_week(file: Path, folder: Path, request: WeekRequest, progress: Progress = silent) -> WeekResult:
    """Make this week of the study, or show it again if it was made already."""
    with claimed_folder(folder, lambda: check_is_folder(folder)):
        return _week(file, StudyFolder(folder), request, progress)


def undo_week(folder: Path) -> Week:
    """Take back the last week of a study."""
    if not folder.is_dir():
        raise DataFileError(f"There is no study in {folder}. Name the folder that `peerfront week` wrote.")
    with claimed_folder(folder, lambda: check_is_folder(folder)):
        return StudyFolder(folder).undo()


def _week(file: Path, kept: StudyFolder, request: WeekRequest, progress: Progress) -> WeekResult:
    last = kept.last
    order = _order(last, dict(request.given or {}))
    schema_file = _schema_file(kept, request.schema)
    written = None if schema_file is None else read_schema(schema_file)
    reading = ReadSettings() if written is None else written.reading
    if order.valid_days is not None:
        reading = replace(reading, valid_days=order.valid_days)
    study = read_study(file, reading)
    schema = guess_schema(study).schema if written is None else written
    day = _day_of(study, request.day)
    order.last_day(day)  # refuses a deadline that has passed
    in_file = len(study)
    if study.day is not None:
        study = study.as_of(day)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    if last is not None:
        shown = _shown_again(kept, last, day, digest, order)
        if shown is not None:
            return shown
    before = None if last is None else _people(kept, last)
    given: list[dict[str, Any]] = []
    since: list[str] = []
    if last is not None and before is not None:
        done = handed_out(last.decisions, before, study)
        given = done.entries(last.number)
        since = [*changes_since(before, study).lines(), *done.lines()]
    left, words = _coupons_left(kept, study, order)
    doubts = [*_left_out(in_file - len(study), day), *_doubts(study, file, kept)]
    choice = chosen_model(kept, study, schema, order, left, day, request.refit, part_of(progress, 0.0, 0.8, ""))
    number = 1 if last is None else last.number + 1
    looking, waits = part_of(progress, 0.8, 1.0, ""), _waiting(study, kept.weeks, before)
    plan = planned_week(choice.model, study, waits, order, left, day, number, request.studies, looking)
    lines = [
        _title(study, day, last),
        *doubts,
        *_section("Since last week", since),
        *_section("This week", [words, *plan.words]),
        *_section(EXPECT, plan.ahead),
        *_section(THE_MODEL, choice.words),
    ]
    name = kept.free_name(number, day.isoformat())
    heading = Heading(request.study or _name(last, study), day.isoformat(), number)
    files = _files(study, choice, plan, heading, [*lines, *_section("More about the sheet", plan.details)])
    facts = {
        "number": number,
        "day": day.isoformat(),
        "study": request.study or _name(last, study),
        "file": file.name,
        "digest": digest,
        "people": len(study),
        "coupons_left": left,
        "model": "" if choice.model is None else choice.model.fit.fingerprint,
        "model_folder": f"{name}/{MODEL}" if choice.refitted else choice.folder,
        "fitted": asdict(choice.fitted_to),
        "refitted": choice.refitted,
        "order": order.for_log(),
        **({} if last is not None else {"issued_before": int(study.issued.sum())}),
    }
    if schema_file is None or schema_file.parent != kept.path:
        write_text(kept.path / SCHEMA, schema_text(schema, study=file.name))
    kept.add_week(name, files, facts, plan.decisions, given)
    progress(1.0, "done")
    week = kept.last
    assert week is not None, "it was just added"
    return WeekResult(week, kept.path / name, (*lines, _log_line(kept)), False, plan)


# What is asked -------------------------------------------------------------------------------------------------------


def _order(last: Week | None, given: dict[str, Any]) -> WeekOrder:
    """This week's order: last week's, with what is new."""
    if last is not None:
        if given.get("budget") is not None:
            raise SettingError(
                "The coupons of this study were given in its first week, and what is left follows from the file. If "
                "some were added, say how many with --more-coupons."
            )
        more = whole_number("--more-coupons", given.pop("more_coupons", None) or 0, 0, MOST_COUPONS)
        order = WeekOrder.from_log(dict(last.facts["order"]))
        return replace(order.changed(**given), budget=order.budget + more)
    if given.pop("more_coupons", None) is not None:
        raise SettingError("In the first week --budget says how many coupons there are; leave --more-coupons out.")
    if given.get("budget") is None:
        raise SettingError("The first week needs --budget: the coupons that are left to give out in this study.")
    return WeekOrder(**{name: value for name, value in given.items() if value is not None})


def _schema_file(kept: StudyFolder, asked: Path | None) -> Path | None:
    if asked is not None and kept.schema is not None and asked.resolve() != kept.schema.resolve():
        raise SettingError(f"{kept.schema} says how this study's file is read. Edit it, instead of giving another one.")
    return asked if kept.schema is None else kept.schema


def _day_of(study: Study, asked: date | None) -> date:
    """The day of the plan: the one that was given, or today, unless the file ends long before."""
    if study.numbered_days:
        raise SettingError(
            f"{study.source} numbers its days. A running study needs dates: write them as year-month-day, or leave the "
            "column out (--map date= in `peerfront check`, then give its schema with --schema)."
        )
    if asked is not None:
        return asked
    today = date.today()
    if study.day is None:
        return today
    last = EPOCH + timedelta(days=int(study.day))
    if (today - last).days > _OLD_FILE:
        raise SettingError(
            f"The last date in {study.source} is {last.isoformat()}, {(today - last).days} days ago. Give the day of "
            "the plan with --date, or the newest file."
        )
    return today


def _shown_again(kept: StudyFolder, last: Week, day: date, digest: str, order: WeekOrder) -> WeekResult | None:
    """The week as it was made, if this is it; an error if it would contradict what was made."""
    then = date.fromisoformat(last.day)
    if day > then:
        return None
    if day < then:
        raise SettingError(
            f"The last week in {kept.path} is of {last.day}, after {day.isoformat()}. Weeks follow each other: give a "
            "later --date, or undo that week (peerfront week --undo)."
        )
    if digest != last.facts["digest"] or order.for_log() != last.facts["order"]:
        what = "another file" if digest != last.facts["digest"] else "another order"
        raise SettingError(
            f"The week of {last.day} was made from {what}. Undo it first (peerfront week --undo), then make it again; "
            "nothing is lost."
        )
    folder = kept.path / last.folder
    lines = (folder / SUMMARY).read_text(encoding="utf-8").partition("\nMore about the sheet\n")[0].splitlines()
    return WeekResult(last, folder, (*lines, _log_line(kept)), True, None)


# What is known -------------------------------------------------------------------------------------------------------


def _people(kept: StudyFolder, week: Week) -> pd.DataFrame:
    """Who was in the file of that week."""
    table = read_table_file(kept.file(week, PEOPLE)).frame
    return table.astype({"seed": "int64", "issued": "int64", "recruits": "int64"})


def _waiting(study: Study, weeks: Sequence[Week], before: pd.DataFrame | None) -> NDArray[np.bool_]:
    """Who is to get coupons this week, [people]: without any, and waiting by the file, new since last week, or still to
    get what a sheet said. Whom a sheet gave none is done with, unless it had none for anybody."""
    waits, _ = waiting_people(study)
    if before is None or "waiting" in study.columns:
        return waits
    without = study.issued == 0
    new = ~np.isin(study.ids, before["id"].to_numpy(dtype=object))
    waits_on: dict[str, bool] = {}
    for week in weeks:
        none_at_all = not any(entry["planned"] for entry in week.decisions)
        waits_on |= {str(entry["person"]): none_at_all or entry["planned"] > 0 for entry in week.decisions}
    owed = np.array([waits_on.get(person, False) for person in study.ids.tolist()], dtype=np.bool_)
    done = np.array([not waits_on.get(person, True) for person in study.ids.tolist()], dtype=np.bool_)
    result: NDArray[np.bool_] = without & ~done & (waits | new | owed)
    return result


def _coupons_left(kept: StudyFolder, study: Study, order: WeekOrder) -> tuple[int, str]:
    """Coupons left to give out, and a sentence about them."""
    begun = kept.weeks[0].facts["issued_before"] if kept.weeks else int(study.issued.sum())
    gone = _coupons_of_missing(kept, study)
    used = int(study.issued.sum()) + gone - begun
    left = order.budget - used
    missing = f"{n_coupons(gone)} of people who are no longer in the file" if gone else ""
    if left < 0:
        raise SettingError(
            f"{used:,} coupons were handed out since the first week{f' ({missing} among them)' if missing else ''}, "
            f"and there were {order.budget:,}. If some were added, say how many: --more-coupons."
            + (" If this is another study's file, or ids were changed, correct that." if missing else "")
        )
    note = f" {missing} count as handed out." if missing else ""
    return left, f"{n_coupons(left)} left to give out, of {order.budget:,}.{note}"


def _coupons_of_missing(kept: StudyFolder, study: Study) -> int:
    """Coupons that people had when they were last in the file, and who are not in it now: they were handed out."""
    had: dict[str, int] = {}
    for week in kept.weeks:
        people = _people(kept, week)
        had |= dict(zip(people["id"].tolist(), people["issued"].tolist(), strict=True))
    here = set(study.ids.tolist())
    return sum(issued for person, issued in had.items() if person not in here)


def _left_out(later: int, day: date) -> list[str]:
    """A sentence about people of the file who had not taken part on that day, if there are any."""
    if not later:
        return []
    are = f"{n_people(later)} of the file took part after {day.isoformat()}, the day of this plan, and"
    return [f"Warning: {are} {'is' if later == 1 else 'are'} left out. Give a later --date if that is wrong."]


def _doubts(study: Study, file: Path, kept: StudyFolder) -> list[str]:
    """A sentence about what may be wrong in the file, if anything."""
    kinds = Counter(KINDS[problem.kind].title for problem in study.warnings)
    if not kinds:
        return []
    found = ", ".join(f"{title} ({count:,})" for title, count in kinds.most_common())
    look = f"peerfront check {file.name} --schema {kept.path.name}/{SCHEMA}"
    return [
        f"Warning: the file has {counted(kinds.total(), 'doubtful place', 'doubtful places')}: {found}. `{look}` "
        "shows where, and what to do."
    ]


def _title(study: Study, day: date, last: Week | None) -> str:
    if last is None:
        return f"Week 1, {day.isoformat()}: {n_people(len(study))} in {study.source}."
    gap = (day - date.fromisoformat(last.day)).days
    skipped = gap // _WEEK - 1
    note = (
        f" {counted(skipped, 'week was', 'weeks were')} skipped: the last plan is {gap} days old."
        if skipped > 0
        else ""
    )
    return f"Week {last.number + 1}, {day.isoformat()}: {n_people(len(study))} in {study.source}.{note}"


def _name(last: Week | None, study: Study) -> str:
    return str(last.facts["study"]) if last is not None else name_of(study.source)


def _section(title: str, lines: Sequence[str]) -> list[str]:
    """Lines below a title; nothing where there are none."""
    return ["", title, *(f"  {line}" for line in lines)] if lines else []


def _log_line(kept: StudyFolder) -> str:
    lines = counted(len(kept.log.entries), "line", "lines")
    return f"Log: {lines}, last hash {kept.log.head} (write it on the printed sheet)."


def _files(study: Study, choice: ModelChoice, plan: WeekPlan, heading: Heading, lines: list[str]) -> dict[str, bytes]:
    """The files of a week's folder."""
    files = {
        PEOPLE: csv_text(snapshot(study)).encode(),
        SUMMARY: "".join(f"{line}\n" for line in lines).encode(),
        **plan.files(heading),
    }
    if choice.refitted and choice.model is not None:
        files |= {f"{MODEL}/{name}": content for name, content in choice.model.fit.files().items()}
    return files
