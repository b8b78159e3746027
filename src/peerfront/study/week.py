"""A week of a running study: read the file, compare it with last week, refit if needed, plan, and forecast by date.

`run_week` plans a week and saves it in the study's folder (`study_folder`). The same file on the same day with the same
order gives the same week: it is read from the folder, not planned again.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.mending import changes_of
from peerfront.data.read.dates import EPOCH
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.data.schema_file import read_schema, schema_text
from peerfront.data.study import Study
from peerfront.data.study_calendar import waiting_people
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.errors import DamagedFile, DataFileError, PeerfrontError, SettingError
from peerfront.foundation.files import claimed_folder, write_text
from peerfront.foundation.messages import DONE, Message, Progress, Readable, Remedy, n_coupons, note, part_of, silent
from peerfront.foundation.settings import whole_number
from peerfront.foundation.spreadsheets import csv_text
from peerfront.problem.state import MOST_COUPONS
from peerfront.study.coupon_sheet import Heading, study_name
from peerfront.study.log_lines import MODEL, PEOPLE, SCHEMA, Week
from peerfront.study.study_folder import CHANGES, StudyFolder, check_is_folder
from peerfront.study.week_changes import (
    Changes,
    CouponsLeft,
    HandedOut,
    changes_since,
    check_newest,
    coupons_left,
    digest_of,
    handed_out,
    last_date_of,
    people_of_week,
    snapshot,
    with_hand_outs,
)
from peerfront.study.week_model import ModelChoice, given_model, model_of_week
from peerfront.study.week_plan import WeekOrder, WeekPlan, planned_week

_OLD_FILE = 60  # more days than this after the file's last date, the day of the plan must be given
_WEEK = 7


@dataclass(frozen=True, eq=False)
class NewWeek:
    """A newly planned week."""

    number: int
    day: date
    source: str
    """Name of the study's file."""
    people: int
    """People in the file by this day."""
    days_since: int | None
    """Days since the last plan; None in the first week."""
    later: int
    """People of the file who took part after this day, and so are left out."""
    problems: Mapping[str, int]
    """Doubtful places in the file: kinds of problems and their numbers."""
    changes: Changes | None
    """What changed in the file; None in the first week."""
    handed_out: HandedOut | None
    """Last week's plan and what was handed out; None in the first week."""
    coupons: CouponsLeft
    choice: ModelChoice
    plan: WeekPlan
    check: tuple[str, str]
    """The study's file and its schema, to name in a command that checks the file."""
    notes: tuple[Message, ...] = ()
    """What is to be decided once, and where the order could not be kept."""

    @property
    def skipped(self) -> int:
        """Weeks without a plan before this one."""
        return 0 if self.days_since is None else max(self.days_since // _WEEK - 1, 0)


@dataclass(frozen=True, eq=False)
class WeekResult(Readable):
    """The result of `week`: newly made, or read from the folder."""

    _in_words = "week_words.week_lines"

    week: Week
    folder: Path
    """Where its files are."""
    log_lines: int
    log_head: str
    """The log's last hash, to be written on the printed sheet."""
    new: NewWeek | None = None
    """The newly planned week; None if the same week was read from the folder."""

    @property
    def again(self) -> bool:
        """Whether the week was read from the folder, unchanged."""
        return self.new is None

    @property
    def plan(self) -> WeekPlan | None:
        """The sheet and the forecast of a new week."""
        return None if self.new is None else self.new.plan


@dataclass(frozen=True)
class WeekRequest:
    """The request for this week; None stands for the same as last week."""

    day: date | None = None
    """The day of the plan; None for today."""
    refit: str = "auto"
    schema: Path | None = None
    """How the file is read; kept in the study's folder from then on."""
    model: Path | None = None
    """Folder of a model of this file, to begin with in the first week; None: it is fitted."""
    study: str = ""
    """Name of the study, above its sheets."""
    given: Mapping[str, Any] | None = None
    """Fields of `WeekOrder` that change this week."""
    studies: int = 400
    """Simulated studies of the forecast by date."""


def run_week(file: Path, folder: Path, request: WeekRequest, progress: Progress = silent) -> WeekResult:
    """Make this week's plan, or read it from the folder if it was made before."""
    with claimed_folder(folder, lambda: check_is_folder(folder)):
        return _week(file, StudyFolder(folder), request, progress)


def undo_week(folder: Path) -> Week:
    """Take back the last week of a study."""
    if not folder.is_dir():
        raise DataFileError("week.no_study", folder=folder)
    with claimed_folder(folder, lambda: check_is_folder(folder)):
        return StudyFolder(folder).undo()


def _week(file: Path, kept: StudyFolder, request: WeekRequest, progress: Progress) -> WeekResult:
    last = kept.last
    before_it = None if last is None else _order_of(kept, last)
    order = _order(before_it, dict(request.given or {}))
    schema_file = _schema_file(kept, request.schema)
    written = None if schema_file is None else read_schema(schema_file)
    reading = ReadSettings() if written is None else written.reading
    if order.valid_days is not None:
        reading = replace(reading, valid_days=order.valid_days)
    study = read_study(file, reading)
    last_date = last_date_of(study)
    study = with_hand_outs(study, kept)
    schema = guess_schema(study).schema if written is None else replace(written, reading=reading)
    day = _day_of(study, request.day)
    order.check_deadline(day)
    in_file = len(study)
    if study.day is not None:
        study = study.as_of(day)
    digest = digest_of(file)
    if last is not None:
        result = _read_again(kept, last, day, digest, order)
        if result is not None:
            return result
        if (request.given or {}).get("budget") is not None:
            raise SettingError("week.budget_again", remedy=Remedy("more_coupons"))
    before = None if last is None else people_of_week(kept, last)
    done = changes = None
    if last is not None and before is not None:
        done, changes = handed_out(last.decisions, before, study), changes_since(before, study)
        check_newest(kept, study.source, digest, last_date, changes, len(before))
    coupons = coupons_left(kept, study, order.budget)
    left = coupons.left
    if last is None and request.model is not None:
        choice = given_model(request.model, study, day)
    else:
        choice = model_of_week(kept, study, schema, order, left, day, request.refit, part_of(progress, 0.0, 0.8))
    number = 1 if last is None else last.number + 1
    looking, waits = part_of(progress, 0.8, 1.0), waiting_people(study)[0]
    plan = planned_week(choice.model, study, waits, order, left, number, request.studies, looking)
    new = NewWeek(
        number=number,
        day=day,
        source=study.source,
        people=len(study),
        days_since=None if last is None else (day - date.fromisoformat(last.day)).days,
        later=in_file - len(study),
        problems=study.problem_kinds,
        changes=changes,
        handed_out=done,
        coupons=coupons,
        choice=choice,
        plan=plan,
        check=(file.name, f"{kept.path.name}/{SCHEMA}"),
        notes=(
            *_notes(order, plan, is_asked=last is None and (request.given or {}).get("min_per_person") is None),
            *([note("week.schema_edited", day=last.day)] if last is not None and kept.has_other_schema(last) else ()),
        ),
    )
    name = kept.free_name(number, day.isoformat())
    heading = Heading(request.study or _name(last, study), day.isoformat(), number)
    facts = {
        "number": number,
        "day": day.isoformat(),
        "study": request.study or _name(last, study),
        "file": file.name,
        "digest": digest,
        "people": len(study),
        "last_date": last_date,
        "coupons_left": left,
        "model": _checksum(choice, last),
        "model_folder": f"{name}/{MODEL}" if choice.refitted else choice.folder,
        "fitted": asdict(choice.fitted_to),
        "refitted": choice.refitted,
        "order": order.for_log(),
    }
    if schema_file is None or schema_file.parent != kept.path:
        write_text(kept.path / SCHEMA, schema_text(schema, study=file.name))
    given = [] if done is None or last is None else done.entries(last.number)
    kept.add_week(name, _files(study, new, heading) | _changes(file), facts, plan.decisions, given)
    progress(1.0, DONE)
    return _result(kept, new)


# What is asked -------------------------------------------------------------------------------------------------------


def _order_of(kept: StudyFolder, week: Week) -> WeekOrder:
    """The order of an earlier week."""
    try:
        return WeekOrder.from_log(dict(week.facts["order"]))
    except PeerfrontError as problem:
        raise DamagedFile(kept.log.path, problem.message) from None


def _order(last: WeekOrder | None, given: dict[str, Any]) -> WeekOrder:
    """This week's order: last week's, with the changed fields."""
    if last is not None:
        more = whole_number("more coupons", given.pop("more_coupons", None) or 0, 0, MOST_COUPONS)
        order = last.changed(**given)
        return replace(order, budget=order.budget + more)
    if given.pop("more_coupons", None) is not None:
        raise SettingError("week.more_coupons_too_early", budget=Remedy("budget"), more=Remedy("more_coupons"))
    if given.get("budget") is None:
        raise SettingError("week.needs_budget", remedy=Remedy("budget"))
    return WeekOrder(**{name: value for name, value in given.items() if value is not None})


def _schema_file(kept: StudyFolder, asked: Path | None) -> Path | None:
    if asked is None and kept.schema is None and kept.last is not None:
        raise DamagedFile(kept.path / SCHEMA, note("own_files.missing"))
    if asked is not None and kept.schema is not None and _read_as(asked) != _read_as(kept.schema):
        raise SettingError("week.another_schema", schema=kept.schema)
    return asked if kept.schema is None else kept.schema


def _read_as(schema: Path) -> StudySchema:
    return replace(read_schema(schema), source="")


def _day_of(study: Study, asked: date | None) -> date:
    """The day of the plan: the given one, or today; refuse to guess if the file ends long before."""
    if study.numbered_days:
        raise SettingError(
            "week.numbered_days", file=study.source, map=Remedy("map", ("date", "")), schema=Remedy("schema")
        )
    if asked is not None:
        return asked
    today = date.today()
    if study.day is None:
        return today
    last = EPOCH + timedelta(days=int(study.day))
    age = (today - last).days
    if age > _OLD_FILE:
        raise SettingError(
            "week.old_file", file=study.source, last=last.isoformat(), days=age, remedy=Remedy("date", "DATE")
        )
    return today


def _read_again(kept: StudyFolder, last: Week, day: date, digest: str, order: WeekOrder) -> WeekResult | None:
    """The last week, if the request is the same; None for a later day. Refuse a different request for the same day.

    What an order has for one week only may be left out.
    """
    then = date.fromisoformat(last.day)
    if day > then:
        return None
    undo = Remedy("undo", True)
    if day < then:
        raise SettingError(
            "week.before_the_last",
            folder=kept.path,
            last=last.day,
            day=day.isoformat(),
            later=Remedy("date", "DATE"),
            undo=undo,
        )
    if digest != last.facts["digest"]:
        raise SettingError("week.from_another_file", day=last.day, undo=undo)
    if kept.has_other_schema(last):
        raise SettingError("week.from_another_schema", day=last.day, schema=kept.path / SCHEMA, undo=undo)
    made_with = _order_of(kept, last)
    if order.as_of_week(made_with) != made_with:
        raise SettingError("week.from_another_order", day=last.day, undo=undo)
    return _result(kept, None)


def _notes(order: WeekOrder, plan: WeekPlan, *, is_asked: bool) -> list[Message]:
    """Ask once whether everybody gets at least one coupon; and say where coupons do not suffice for that."""
    if is_asked:
        yes, no = Remedy("min_per_person", 1), Remedy("min_per_person", 0)
        return [note("week.at_least_one", yes=yes, no=no)]
    enough = plan.sheet.order.min_per_person == order.min_per_person
    return [] if enough else [note("week.too_few_for_least", coupons=n_coupons(order.min_per_person))]


# What comes out ------------------------------------------------------------------------------------------------------


def _result(kept: StudyFolder, new: NewWeek | None) -> WeekResult:
    week = kept.last
    assert week is not None, "a week was added, or had been"
    return WeekResult(week, kept.path / week.folder, len(kept.log.entries), kept.log.head, new)


def _checksum(choice: ModelChoice, last: Week | None) -> str:
    """The checksum of a week's model: of one that is kept, as the log says."""
    if choice.model is None:
        return ""
    return choice.model.fit.fingerprint if choice.refitted or last is None else str(last.facts["model"])


def _name(last: Week | None, study: Study) -> str:
    return str(last.facts["study"]) if last is not None else study_name(study.source)


def _changes(file: Path) -> dict[str, bytes]:
    """The log of changes of a file that is a mended copy."""
    changes = changes_of(file)
    return {} if changes is None else {CHANGES: changes}


def _files(study: Study, new: NewWeek, heading: Heading) -> dict[str, bytes]:
    """The files of a week's folder."""
    # This package must not import `words` at the top.
    summary = import_module("peerfront.words.week_words").summary_files(new)
    files = {PEOPLE: csv_text(snapshot(study)).encode(), **summary, **new.plan.files(heading)}
    if new.choice.refitted and new.choice.model is not None:
        files |= {f"{MODEL}/{name}": content for name, content in new.choice.model.fit.files().items()}
    return files
