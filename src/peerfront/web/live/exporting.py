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

No lock is held: people are read first, in one query, and coupons afterwards, so every person's coupon is there.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
from django.db.models import Q

from peerfront.data.read.fixed_layouts import NETWORK_SIZE, OWN_COUPON, coupon_names
from peerfront.data.read.listing import guess_columns
from peerfront.data.reading import study_from_table
from peerfront.data.schema_file import schema_text
from peerfront.data.study import Study
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import make_folder, write_csv, write_text
from peerfront.foundation.messages import note
from peerfront.foundation.spreadsheets import csv_text
from peerfront.web.live.export_tables import (
    RECRUITER_ID,
    SITE,
    code_alias,
    code_text,
    coupon_table,
    days_of,
    decision_tables,
    export_schema,
    mark,
    one_line,
    reading_of,
    withdrawn_table,
    written_ids,
)
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords, waiting
from peerfront.web.live.rules.study_settings import Settings

FIXED = ("id", RECRUITER_ID, "seed", OWN_COUPON, NETWORK_SIZE, SITE, "interview.date", "issued.date", "expiry.date",
         "waiting")  # fmt: skip
"""Columns that every study has, beside its coupons and answers."""


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


def write_study(folder: Path, *, real_codes: bool = False) -> StudyFiles:
    """Write the study into a folder, replacing files of the same names. Only their owner can read them."""
    files, settings = StudyFiles(folder), study_settings()
    table, people = study_table()
    coupons = coupon_table(people, settings)
    if not real_codes:
        coupons["coupon"] = coupons["coupon"].map(code_alias)
        for name in table.columns.intersection([OWN_COUPON, *coupon_names(table.shape[1])]):
            table[name] = table[name].map(code_alias)
    study = live_study(table)
    make_folder(folder)
    write_csv(files.study, csv_text(table), private=True)
    schema, reasons = export_schema(study, settings, answer_columns(settings, ()))
    write_text(files.schema, schema_text(schema, reasons, files.study.name), private=True)
    decisions, details = decision_tables(people, settings)
    write_csv(files.decisions, csv_text(decisions), private=True)
    write_csv(files.decision_details, csv_text(details), private=True)
    write_csv(files.coupons, csv_text(coupons), private=True)
    write_csv(files.withdrawn, csv_text(withdrawn_table(people, settings)), private=True)
    codes = note("live_export.real_codes" if real_codes else "live_export.aliases")
    today = days_of(settings)(datetime.now(ZoneInfo(settings.timezone)))
    readme = note("live_export.readme", name=settings.name, day=today, codes=codes)
    write_text(files.readme, f"{readme}\n", private=True)
    return files


def live_study(table: pd.DataFrame | None = None) -> Study:
    """The study as `read_study` would read its files; with the `table` of `study_table` if there is one already."""
    settings = study_settings()
    table = study_table()[0] if table is None else table
    if table.empty:
        raise DataFileError("live_export.nobody")
    return study_from_table(table, reading_of(settings, tuple(table.columns)), "study.csv")


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


def study_table(at: datetime | None = None) -> tuple[pd.DataFrame, Mapping[str, str]]:
    """One row for each person in the order in which they came, as texts ("" if unknown); and their exported ids.

    At a time in the past: without people and coupons that came later; the answers are those of today.
    """
    settings = study_settings()
    day = days_of(settings)
    columns = ("person", "recruiter_id", "code", "site_id", "enrolled_at", "network_size", "answers", "withdrawn_at")
    everybody, coupons = models.Person.objects.all(), models.Coupon.objects.exclude(holder=None)
    if at is not None:
        everybody, coupons = everybody.filter(enrolled_at__lte=at), coupons.filter(issued_at__lte=at)
    people = list(everybody.order_by("enrolled_at", "person").values_list(*columns, named=True))
    held: dict[str, list[tuple[str, datetime, date]]] = {person.person: [] for person in people}
    not_void = Q(voided_at=None) if at is None else Q(voided_at=None) | Q(voided_at__gt=at)
    coupons = coupons.filter(not_void).order_by("issued_at", "code")
    handed_out = coupons.values_list("holder_id", "code", "issued_at", "last_day")
    for holder, code, issued_at, last_day in handed_out.iterator(chunk_size=2_000):
        if holder in held:  # otherwise the person came after people were read
            held[str(holder)].append((code_text(code), issued_at, last_day))
    ids = written_ids(held)
    waits = waiting_people()
    answers = {each.person: _answers(each.answers, each.withdrawn_at) for each in people}
    names = answer_columns(settings, {name for own in answers.values() for name in own})
    slots = coupon_names(max(1, *(len(own) for own in held.values())) if held else 1)
    rows = []
    for each in people:
        own = held[each.person]
        seed = each.recruiter_id is None
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
        rows.append(row | {names[name]: text for name, text in answers[each.person].items()})
    ordered = [*FIXED[:4], *slots, *FIXED[4:], *names.values()]
    return pd.DataFrame(rows, columns=ordered, dtype=object).fillna(""), ids


def waiting_people() -> set[str]:
    """Who waits for coupons (`records.database`)."""
    return set(waiting(study_settings()).values_list("person", flat=True))


def _answers(answers: list[list[str]] | None, withdrawn_at: datetime | None) -> dict[str, str]:
    """A person's answers; empty after withdrawal."""
    return {} if withdrawn_at is not None else {name: one_line(answer) for name, answer in answers or ()}
