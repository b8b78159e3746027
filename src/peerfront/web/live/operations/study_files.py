"""Import a study that began in a spreadsheet, and export this one; both are noted in the chain of events.

What is decided about an import, and why:

1. Ids become pseudonyms; blanks and signs that a pseudonym cannot have become hyphens.
2. People whose recruiter is not known are imported as seeds, so that the tree stays a tree.
3. Files hold days, not hours: a day becomes noon in the study's time zone. People without a date are recorded as having
   come when the study began here.
4. Coupons expire as the file says; where it does not say, by the settings of the study.
5. Interviews and recruits of the file count as paid, so that nobody is paid twice.
6. Columns that are no answers (names, identifiers, free text, dates) are not imported: they may identify people.
"""

import math
import re
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from io import BytesIO
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.dates import EPOCH
from peerfront.data.study import Study
from peerfront.data.study_calendar import assumed_days
from peerfront.data.study_schema import FieldRule
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.files import write_bytes
from peerfront.foundation.messages import Message, Remedy, note
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.web.live.export_tables import ALIAS
from peerfront.web.live.exporting import write_study
from peerfront.web.live.operations.staff import accepted, answer_here, ask_here
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Action, Role
from peerfront.web.live.rules.deciding import Accepted, Answer
from peerfront.web.live.rules.events import ActionNoted, ImportedCoupon, PaymentKind
from peerfront.web.live.rules.requests import ChangeSettings, ImportedPerson, ImportPeople, NoteAction
from peerfront.web.live.rules.study_settings import (
    LONGEST_DAYS,
    LONGEST_TEXT,
    MOST_CHOICES,
    Question,
    QuestionKind,
    Settings,
)

_NOT_IN_IDENTIFIERS = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_ID = 40


@dataclass(frozen=True)
class FromFile:
    """The contents of a file that can be imported."""

    people: tuple[ImportedPerson, ...]
    questions: tuple[Question, ...]
    """The study's questions, or questions made from the file's columns if it has none."""
    notes: tuple[Message, ...]
    """Notes on what was assumed."""


@dataclass(frozen=True)
class Place:
    """Where and when a study is run, for what a file does not say."""

    settings: Settings
    sites: Mapping[str, str]
    """The names of sites by their short names."""
    site: str | None
    """The site of people without one in the file."""
    first_day: date
    """The day on which the study began here."""

    def at_noon(self, day: date) -> datetime:
        return datetime.combine(day, time(12), ZoneInfo(self.settings.timezone))


def people_of(study: Study, place: Place) -> FromFile:
    """Convert everybody in a file; an error names the row of what cannot be imported."""
    if study.numbered_days:
        raise DataFileError("live_import.numbered_days", file=study.source)
    questions = place.settings.questions or questions_of(study)
    names = _pseudonyms(study)
    sites = _sites(study, place)
    answers = _Answers(study, questions)
    people = tuple(
        ImportedPerson(
            person=names[index],
            site=sites[index],
            code="" if study.own_coupons is None else str(study.own_coupons[index]),
            recruiter=None if study.recruiter[index] == NOBODY else names[study.recruiter[index]],
            enrolled_at=place.at_noon(_day(study, index) or place.first_day),
            network_size=None if (size := _number(study.network_size, index)) is None else round(size),
            answers=answers.of(index),
            coupons=_coupons(study, index, place),
            paid=(PaymentKind.INTERVIEW,)
            if study.recruiter[index] == NOBODY
            else (PaymentKind.INTERVIEW, PaymentKind.RECRUITING),
        )
        for index in range(len(study))
    )
    return FromFile(people, questions, tuple(_notes(study, names, answers)))


def _pseudonyms(study: Study) -> list[str]:
    names: list[str] = []
    taken: dict[str, int] = {}
    for index, given in enumerate(study.ids):
        name = _NOT_IN_IDENTIFIERS.sub("-", _ascii(str(given))).strip("-_")[:_LONGEST_ID]
        if not name:
            raise DataFileError("live_import.empty_id", place=study.place, row=study.rows[index])
        if name in taken:
            rows = {"row": study.rows[taken[name]], "other_row": study.rows[index]}
            raise DataFileError("live_import.same_id", place=study.place, name=name, **rows)
        taken[name] = index
        names.append(name)
    return names


def _sites(study: Study, place: Place) -> list[str]:
    column = study.columns.get("site", (None,))[0]
    given = [""] * len(study) if column is None else [str(each).strip() for each in study.people[column]]
    sites_by_name = {name.casefold(): site for site, name in place.sites.items()}
    sites_by_name |= {site.casefold(): site for site in place.sites}
    only = next(iter(place.sites)) if len(place.sites) == 1 else None
    sites = []
    for index, name in enumerate(given):
        site = sites_by_name.get(name.casefold()) if name else place.site or only
        if site is None and name:
            where = {"place": study.place, "row": study.rows[index], "file": study.source}
            raise SettingError("live_import.no_such_site", site=name, **where)
        if site is None:
            raise SettingError("live_import.site_unknown", remedy=Remedy("site"))
        sites.append(site)
    return sites


def _number(values: NDArray[np.float64] | None, index: int) -> float | None:
    """A number of the file; None if it is not known."""
    return None if values is None or not np.isfinite(values[index]) else float(values[index])


def _day(study: Study, index: int) -> date | None:
    days = _number(study.days, index)
    return None if days is None else EPOCH + timedelta(days=math.floor(days))


def _coupons(study: Study, index: int, place: Place) -> tuple[ImportedCoupon, ...]:
    if study.coupons is None:
        return ()
    codes = [str(code) for code in study.coupons[index] if str(code)]
    day = _day(study, index) or place.first_day
    if (issued := _number(study.issued_days, index)) is not None:
        day = EPOCH + timedelta(days=int(issued))
    first = day + timedelta(days=place.settings.active_after_days)
    last = first + timedelta(days=place.settings.valid_days - 1)
    if (valid := _number(study.valid_days, index)) is not None:
        first, last = day, day + timedelta(days=min(int(valid), LONGEST_DAYS))
    if not study.settings.open_by_dates and not study.still_open[index]:
        first = last = day  # the file's schema says that these cannot be used any more
    return tuple(ImportedCoupon(code, place.at_noon(day), first, last, void=False) for code in codes)


def questions_of(study: Study) -> tuple[Question, ...]:
    """Questions for the columns that describe people; sensitive ones are not used for planning."""
    questions: dict[str, Question] = {}
    for rule in guess_schema(study).schema.fields:
        if rule.name == study.network_column:
            continue
        question = _question(rule, sorted({str(each) for each in study.people[rule.name]} - {""}))
        if question is not None and question.fault is None:
            questions.setdefault(question.name, question)
    return tuple(questions.values())


def _question(rule: FieldRule, values: list[str]) -> Question | None:
    name = question_name(rule.name)
    if not name:
        return None
    planning = rule.use is not False
    if rule.cuts:
        return Question(name, rule.name, QuestionKind.NUMBER, (), planning)
    if not 2 <= len(values) <= MOST_CHOICES or any(len(each) > 100 for each in values):
        return Question(name, rule.name, QuestionKind.TEXT, (), planning)
    in_order = [each for each in rule.categories if each in values]
    return Question(name, rule.name, QuestionKind.CHOICE, tuple(dict.fromkeys([*in_order, *values])), planning)


def question_name(text: str) -> str:
    """A question's name from a column's: small letters, digits and underscores; empty if nothing remains."""
    name = re.sub(r"[^a-z0-9]+", "_", _ascii(text).lower()).strip("_").lstrip("0123456789_")
    return name[:_LONGEST_ID].rstrip("_")


class _Answers:
    """People's answers to the questions of the study."""

    def __init__(self, study: Study, questions: tuple[Question, ...]) -> None:
        columns = {question_name(str(column)): str(column) for column in reversed(study.people.columns)}
        self.columns = {each.name: columns[each.name] for each in questions if each.name in columns}
        self.missing = [each.name for each in questions if each.name not in columns]
        self._people = study.people
        self._has_questions = bool(questions)

    def of(self, index: int) -> tuple[tuple[str, str], ...] | None:
        """A person's answers; None if there are none, so that they can still be recorded."""
        given = {name: str(self._people[column].iat[index])[:LONGEST_TEXT] for name, column in self.columns.items()}
        if self._has_questions and not any(given.values()):
            return None
        return tuple(sorted((name, text) for name, text in given.items() if text))


def _notes(study: Study, names: list[str], answers: _Answers) -> list[Message]:
    counts = {
        "live_import.ids_rewritten": sum(name != str(given) for name, given in zip(names, study.ids, strict=True)),
        "live_import.recruiter_unknown": int(study.orphan.sum()),
        "live_import.undated": len(study) if study.days is None else int((~np.isfinite(study.days)).sum()),
    }
    notes = [note(code, number=number) for code, number in counts.items() if number] + [*assumed_days(study)]
    if study.coupons is None and int(study.issued.sum()):
        notes.append(note("live_import.no_codes"))
    if study.coupons is not None and any(str(each).startswith(ALIAS) for each in study.coupons.flat):
        notes.append(note("live_import.aliases"))
    if answers.missing:
        notes.append(note("live_import.no_columns", names=list(answers.missing)))
    return notes


def _ascii(text: str) -> str:
    """Remove accents, so that names of columns and ids in many languages stay readable."""
    plain = unicodedata.normalize("NFKD", text)
    return "".join(each for each in plain if not unicodedata.combining(each))


@dataclass(frozen=True)
class Imported:
    """The result of an import: what was done, or why nothing was."""

    answer: Answer
    file: FromFile
    new_questions: int = 0

    @property
    def counts(self) -> tuple[int, int]:
        """People who were imported, and people who were there before."""
        fact = self.answer.events[0].fact
        assert isinstance(fact, ActionNoted)
        counts = dict(fact.details)
        return int(counts["imported"]), int(counts["there_before"])


def file_for_study(study: Study, site: str | None) -> FromFile:
    """Convert a file for import into the study of this database."""
    row = DatabaseRecords().study()
    if row is None:
        raise SettingError("live_import.not_begun")
    sites = dict(models.Site.objects.values_list("site", "name"))
    if not sites:
        raise SettingError("live_import.no_site_yet")
    if site is not None and site not in sites:
        raise SettingError("live_import.unknown_site", site=site, sites=sorted(sites))
    began: datetime = models.Event.objects.order_by("number").values_list("at", flat=True)[0]
    first_day = began.astimezone(ZoneInfo(row.settings.timezone)).date()
    file = people_of(study, Place(row.settings, sites, site, first_day))
    before = set(models.Person.objects.exclude(imported="").values_list("person", flat=True))
    missing = len(before - {each.person for each in file.people})
    return replace(file, notes=(*file.notes, note("live_import.missing", number=missing))) if missing else file


def import_study(study: Study, source: str, site: str | None, ask: Callable[..., Answer]) -> Imported:
    """Import a file, and make questions from its columns if the study has none, in one transaction.

    `ask` submits a wish to the rules; its arguments `ending` and `alongside` are those of `answer_here`.
    """
    file = file_for_study(study, site)
    new_questions = 0

    def make_questions(_: Accepted) -> None:
        nonlocal new_questions
        row = DatabaseRecords().study()
        assert row is not None, "people were imported into it"
        if row.settings.questions or not file.questions:
            return
        why = str(note("live_import.why_questions", file=source[:100]))
        wish = ChangeSettings(replace(row.settings, questions=file.questions), why)
        changed = ask(wish, ending="-questions")
        if not isinstance(changed, Accepted):
            raise SettingError("live_import.no_questions", problem=changed.refusal.messages[0])
        new_questions = len(file.questions)

    answered = ask(ImportPeople(file.people, source[:100]), alongside=make_questions)
    return Imported(answered, file, new_questions)


def import_here(study: Study, source: str, site: str | None) -> list[Message]:
    """Import from the command line; return messages for the user."""
    done = import_study(study, source, site, answer_here)
    accepted(done.answer)
    imported, there = done.counts
    notes = [note("live_import.imported", imported=imported, there=there), *done.file.notes]
    if done.new_questions:
        notes.append(note("live_import.new_questions", number=done.new_questions))
    return notes


def export_zip(*, real_codes: bool = False) -> bytes:
    """The study's files as one zip file."""
    content = BytesIO()
    with tempfile.TemporaryDirectory(prefix="peerfront-export-") as folder:
        files = write_study(Path(folder), real_codes=real_codes)
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files.all:
                archive.write(path, path.name)
    return content.getvalue()


def export_here(out: Path, *, real_codes: bool = False) -> Message:
    """Export from the command line into a zip file or a folder; return messages for the user."""
    noted, role = export_note(out.name, real_codes=real_codes), Role.MANAGER if real_codes else Role.ANALYST
    if out.suffix.lower() == ".zip":
        content = export_zip(real_codes=real_codes)
        ask_here(noted, role=role)
        write_bytes(out, content, private=True)
        return note("live_export.zipped", path=out)
    files = write_study(out, real_codes=real_codes)
    ask_here(noted, role=role)
    return note("live_export.written", path=out, study=files.study, schema=files.schema)


def export_note(name: str, *, real_codes: bool) -> NoteAction:
    """The note of an export."""
    return NoteAction(Action.EXPORT_CODES if real_codes else Action.EXPORT, name[:100])
