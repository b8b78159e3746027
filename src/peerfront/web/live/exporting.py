"""Export the study as files that `peerfront check`, `fit`, `estimate` and `report` read unchanged.

study.csv             a row for each person: id, recruiter, coupons, dates, site, network size, answers
schema.toml           how study.csv is read, and which answers plans may use (`Question.for_planning`)
decisions.csv         the decision log: who got how many coupons in which round, with which probability
decision_details.csv  the same with what was planned, decided and handed out, and the program's reason
coupons.csv           every coupon: handed out, valid, used, void
withdrawn.csv         who withdrew, and when
README.txt            what these files are

What is decided here, and why:

1. There are no contact details: they are never read. Reasons that somebody typed stay in the audit alone, because they
   may name people.
2. People who withdrew keep their row, so that the tree stays whole; their answers and network size are left out, and so
   are their strata and the reasons of their numbers, which reveal answers.
3. Void coupons are in coupons.csv alone. Nobody can come with them, so they do not count as coupons that a person had;
   a coupon that was used is never void, so the tree does not change.
4. The codes of seeds are in coupons.csv alone: nobody handed them on.
5. A person who got coupons in several rounds has the first day of issue and the last day on which any is valid.
6. An open code is worth money to whoever comes with it. So aliases stand for codes: they follow from the study's secret
   key, so a coupon has the same one in every file and export. Real codes are a choice of their own, which the audit
   names; they are written in groups (K7M-4RT9-XC0), so that a spreadsheet does not take them for numbers.
7. Texts that a spreadsheet would run as formulas are marked as text (`foundation.spreadsheets`).

No lock is held: all is read as of one moment. Of people a table is held, because whether the files can be read shows
only in all of it; the other files, of coupons above all, are written row by row.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
from django.db.models import Count, Max, Q, QuerySet

from peerfront.data.read.fixed_layouts import NETWORK_SIZE, OWN_COUPON, coupon_names
from peerfront.data.read.listing import guess_columns
from peerfront.data.reading import study_from_text
from peerfront.data.schema_file import schema_text
from peerfront.data.study import Study
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import make_folder, write_csv, write_text
from peerfront.foundation.messages import note
from peerfront.foundation.spreadsheets import csv_text, write_rows
from peerfront.study.decision_log import COLUMNS as LOG_COLUMNS
from peerfront.web.live.export_tables import (
    COUPON_COLUMNS,
    DETAILS,
    RECRUITER_ID,
    SITE,
    WITHDRAWN_COLUMNS,
    aliases,
    code_text,
    coupon_rows,
    days_of,
    decision_rows,
    export_schema,
    mark,
    one_line,
    reading_of,
    withdrawn_rows,
    written_ids,
)
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords, one_moment, waiting
from peerfront.web.live.rules.study_settings import Settings

FIXED = ("id", RECRUITER_ID, "seed", OWN_COUPON, NETWORK_SIZE, SITE, "interview.date", "issued.date", "expiry.date",
         "waiting")  # fmt: skip
"""Columns that every study has, beside its coupons and answers."""


_PEOPLE_AT_ONCE = 500


class StudyFiles:
    """The paths of an exported study's files."""

    def __init__(self, folder: Path) -> None:
        self.study, self.schema = folder / "study.csv", folder / "schema.toml"
        self.decisions, self.decision_details = folder / "decisions.csv", folder / "decision_details.csv"
        self.coupons, self.withdrawn = folder / "coupons.csv", folder / "withdrawn.csv"
        self.readme = folder / "README.txt"

    @property
    def all(self) -> tuple[Path, ...]:
        return tuple(vars(self).values())


@one_moment()
def write_study(folder: Path, *, real_codes: bool = False) -> StudyFiles:
    """Write the study into a folder, replacing files of the same names. Only their owner can read them."""
    files, settings = StudyFiles(folder), study_settings()
    table, people = study_table()
    alias = str if real_codes else aliases()
    for name in table.columns.intersection([OWN_COUPON, *coupon_names(table.shape[1])]):
        table[name] = table[name].map(alias)
    text, columns = _text_of(table)
    del table
    schema, reasons = export_schema(_study_in(text, columns), settings, answer_columns(settings, ()))
    make_folder(folder)
    write_csv(files.study, text, private=True)
    del text
    write_text(files.schema, schema_text(schema, reasons, files.study.name), private=True)
    for path, columns, rows in (
        (files.decisions, LOG_COLUMNS, partial(decision_rows, people, settings, LOG_COLUMNS)),
        (files.decision_details, DETAILS, partial(decision_rows, people, settings, DETAILS)),
        (files.coupons, COUPON_COLUMNS, partial(coupon_rows, people, settings, alias)),
        (files.withdrawn, WITHDRAWN_COLUMNS, partial(withdrawn_rows, people, settings)),
    ):
        write_rows(path, columns, rows, private=True)
    codes = note("live_export.real_codes" if real_codes else "live_export.aliases")
    today = days_of(settings)(datetime.now(ZoneInfo(settings.timezone)))
    readme = note("live_export.readme", name=settings.name, day=today, codes=codes)
    write_text(files.readme, f"{readme}\n", private=True)
    return files


def live_study(table: pd.DataFrame | None = None) -> Study:
    """The study as `read_study` would read its files; with the `table` of `study_table` if there is one already."""
    table = study_table()[0] if table is None else table
    return _study_in(*_text_of(table))


def _text_of(table: pd.DataFrame) -> tuple[str, tuple[str, ...]]:
    """What study.csv holds, and its columns."""
    if table.empty:
        raise DataFileError("live_export.nobody")
    return csv_text(table), tuple(table.columns)


def _study_in(text: str, columns: tuple[str, ...]) -> Study:
    return study_from_text(text, reading_of(study_settings(), columns), "study.csv")


def study_settings() -> Settings:
    """The settings of the study; refuse a study that has not begun."""
    row = DatabaseRecords().study()
    if row is None:
        raise DataFileError("live_export.not_begun")
    return row.settings


def answer_columns(settings: Settings, others: Iterable[str]) -> dict[str, str]:
    """The column of each question and other answer: its name, or answer_NAME if that would be misread."""
    columns: dict[str, str] = {}
    taken = set(FIXED)
    for name in dict.fromkeys([*(question.name for question in settings.questions), *sorted(others)]):
        column = f"answer_{name}" if name in FIXED or guess_columns([name], {}, "the study") else name
        while column in taken:
            column += "_"
        taken.add(column)
        columns[name] = column
    return columns


@one_moment()
def study_table(at: datetime | None = None) -> tuple[pd.DataFrame, Mapping[str, str]]:
    """One row for each person in the order in which they came, as texts ("" if unknown); and their exported ids.

    At a time in the past: without people and coupons that came later; the answers are those of today. Days of imported
    people are noon, so a recruiter can have come later than a recruit: who recruited somebody stays, with that coupon.
    """
    settings = study_settings()
    everybody, coupons = models.Person.objects.all(), models.Coupon.objects.exclude(holder=None)
    not_void = Q(voided_at=None)
    if at is not None:
        everybody = _there_by(at)
        used = Q(redemption__person__in=everybody.values("person"))
        coupons = coupons.filter(Q(issued_at__lte=at) | used, holder__in=everybody.values("person"))
        not_void |= Q(voided_at__gt=at)
    people, coupons = everybody.order_by("enrolled_at", "person"), coupons.filter(not_void)
    ids = written_ids(people.values_list("person", flat=True))
    most = coupons.order_by().values("holder").annotate(number=Count("code")).aggregate(most=Max("number"))["most"]
    others: set[str] = set()
    for answers in people.filter(withdrawn_at=None).values_list("answers", flat=True).iterator(2_000):
        others.update(name for name, _ in answers or ())
    names = answer_columns(settings, others)
    slots = coupon_names(most or 1)
    columns = [*FIXED[:4], *slots, *FIXED[4:], *names.values()]
    cells: dict[str, list[str]] = {name: [] for name in columns}
    for row in _people_rows(settings, people, coupons, ids, slots, names):
        for name, column in cells.items():
            column.append(row.get(name, ""))
    return pd.DataFrame(cells, columns=columns, dtype=object), ids


def _there_by(at: datetime) -> QuerySet[models.Person]:
    """Who had come by a time, and their recruiters, and the recruiters of these."""
    later: set[str] = set()
    while True:
        there = models.Person.objects.filter(Q(enrolled_at__lte=at) | Q(person__in=later))
        recruiters = there.filter(recruiter__enrolled_at__gt=at).exclude(recruiter__in=later)
        if not (missing := set(recruiters.values_list("recruiter_id", flat=True))):
            return there
        later |= missing


def _people_rows(
    settings: Settings,
    people: QuerySet[models.Person],
    coupons: QuerySet[models.Coupon],
    ids: Mapping[str, str],
    slots: Sequence[str],
    names: Mapping[str, str],
) -> Iterator[dict[str, str]]:
    """The cells of each person that are not empty; coupons are read for some hundred people at a time."""
    day, waits = days_of(settings), waiting_people()
    fields = ("person", "recruiter_id", "code", "site_id", "enrolled_at", "network_size", "answers", "withdrawn_at")
    everybody = people.values_list(*fields, named=True).iterator(2_000)
    while some := list(islice(everybody, _PEOPLE_AT_ONCE)):
        held: dict[str, list[tuple[str, datetime, date]]] = {each.person: [] for each in some}
        handed_out = coupons.filter(holder__in=list(held)).order_by("issued_at", "code")
        for holder, code, issued_at, last_day in handed_out.values_list("holder_id", "code", "issued_at", "last_day"):
            held[str(holder)].append((code_text(code), issued_at, last_day))
        for each in some:
            own, seed = held[each.person], each.recruiter_id is None
            size = each.network_size if each.withdrawn_at is None else None
            row = {
                "id": ids[each.person],
                RECRUITER_ID: "" if seed else ids[each.recruiter_id],
                "seed": mark(seed),
                OWN_COUPON: "" if seed else code_text(each.code),
                **{slot: code for slot, (code, _, _) in zip(slots, own, strict=False)},
                NETWORK_SIZE: "" if size is None else str(size),
                SITE: each.site_id,
                "interview.date": day(each.enrolled_at),
                "issued.date": day(own[0][1]) if own else "",
                "expiry.date": max(last for _, _, last in own).isoformat() if own else "",
                "waiting": mark(each.person in waits),
            }
            answers = _answers(each.answers, each.withdrawn_at).items()
            yield row | {names[name]: text for name, text in answers}


def waiting_people() -> set[str]:
    """Who waits for coupons (`records.database`)."""
    return set(waiting(study_settings()).values_list("person", flat=True))


def _answers(answers: list[list[str]] | None, withdrawn_at: datetime | None) -> dict[str, str]:
    """A person's answers; empty after withdrawal."""
    return {} if withdrawn_at is not None else {name: one_line(answer) for name, answer in answers or ()}
