"""The decision log: a CSV file to which every round's decisions are added, and which estimates read.

One row for each person and round: how many coupons, how likely that number was, how it was decided, in which stratum,
with which seed and model. Coupon sheets, as CSV or as workbooks, hold the same for one round and are read alike.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import decoded, file_bytes, is_workbook, write_csv
from peerfront.foundation.messages import Message, Remedy, note
from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.text_tables import TextTable, read_table
from peerfront.foundation.typed_values import typed_number
from peerfront.study.study_folder import LOG, StudyFolder

if TYPE_CHECKING:
    from peerfront.study.coupon_sheet import CouponSheet, Heading

COLUMNS = (
    "study", "date", "round", "person", "coupons", "probability", "decided_by", "stratum", "strata", "randomise",
    "seed", "model",
)  # fmt: skip
NUMBERS = "Numbers"
"""The worksheet of a printed sheet that holds every column."""


def log_rows(sheet: "CouponSheet", heading: "Heading") -> pd.DataFrame:
    """The decisions of a sheet as rows of the log."""
    table, order = sheet.table, sheet.order
    return pd.DataFrame(
        {
            "study": heading.or_study(sheet.study).study if sheet.study else heading.study,
            "date": heading.date,
            "round": "" if heading.round is None else str(heading.round),
            "person": table["person"].astype(str),
            "coupons": table["coupons"].astype(str),
            "probability": [f"{each:.6g}" for each in table["probability"]],
            "decided_by": table["decided_by"],
            "stratum": table.get("stratum", ""),
            "strata": "+".join(order.strata),
            "randomise": f"{order.randomise:g}",
            "seed": str(order.seed),
            "model": sheet.model_fingerprint,
        },
        columns=list(COLUMNS),
        dtype=object,
    )


def extended_log(path: Path, sheet: "CouponSheet", heading: "Heading") -> pd.DataFrame:
    """Add a sheet's decisions to the log; refuse a file that is no log, and decisions that are in it already."""
    rows = log_rows(sheet, heading)
    if not path.exists():
        return rows
    before = _read(path, may_be_empty=True).frame
    if tuple(map(str, before.columns)) != COLUMNS:
        columns = [str(name) for name in before.columns[:5]]
        raise DataFileError("decision_log.other_columns", path=path, columns=columns, needed=COLUMNS)
    key = ["date", "round", "person"]
    again = pd.merge(before[key], rows[key], on=key)
    if len(again):
        first = again.iloc[0]
        raise DataFileError(
            "decision_log.decided_before" if first["round"] else "decision_log.decided_before_without_round",
            path=path, date=first["date"], round=first["round"], people=len(again), person=first["person"],
            another_round=Remedy("round"), another_date=Remedy("date", "DATE"),
        )  # fmt: skip
    return pd.concat([before, rows], ignore_index=True)


def write_log(path: Path, log: pd.DataFrame) -> None:
    """Write the log; it holds participants' ids, so a new one can be read by its owner alone."""
    write_csv(path, csv_text(log), private=True)


@dataclass(frozen=True)
class RecordedStrata:
    """The stratum of people, as sheets or the decision log recorded it."""

    of_person: Mapping[str, str]
    what: str | Message
    """A description of the strata."""
    kind: Message
    """Where they were read from: the decision log or coupon sheets."""
    notes: tuple[Message, ...] = ()
    coupons: Mapping[str, int] = field(default_factory=dict)
    """Coupons decided for people, all rounds together."""


def recorded_strata(files: Iterable[Path | str | pd.DataFrame], kind: Message) -> RecordedStrata:
    """Read people's strata; without a recorded stratum, the number of coupons decided is used. `kind` is for messages.

    Somebody who is recorded in two different strata is refused: the rule was not the same for them.
    """
    strata: dict[str, str] = {}
    decided: dict[str, int] = {}
    named = unnamed = 0
    fields: dict[str, None] = {}
    for file in files:
        name = note("decision_log.the_table") if isinstance(file, pd.DataFrame) else str(file)
        table = _table_text(file) if isinstance(file, pd.DataFrame) else _read(Path(file))
        frame = table.frame
        for needed in ("person", "coupons"):
            if needed not in frame.columns:
                columns = [str(each) for each in frame.columns]
                raise DataFileError("decision_log.no_column", name=name, kind=kind, needed=needed, columns=columns)
        recorded = frame["stratum"].tolist() if "stratum" in frame.columns else [""] * len(frame)
        for row, person, coupons, stratum in zip(
            table.rows.tolist(), frame["person"].tolist(), frame["coupons"].tolist(), recorded, strict=True
        ):
            number = typed_number(coupons)
            if number is None or number < 0 or number != int(number):
                raise DataFileError("decision_log.bad_coupons", name=name, row=row, coupons=coupons)
            own = stratum or f"{int(number)}"
            decided[person] = decided.get(person, 0) + int(number)
            named, unnamed = named + bool(stratum), unnamed + (not stratum)
            if strata.setdefault(person, own) != own:
                raise DataFileError(
                    "decision_log.two_strata",
                    name=name, row=row, person=person, stratum=own, before=strata[person],
                    remedy=Remedy("strata", "FIELD"),
                )  # fmt: skip
        if "strata" in frame.columns:
            fields.update(dict.fromkeys(text for text in frame["strata"] if text))
    notes = (note("decision_log.no_stratum", kind=kind, people=unnamed),) if unnamed else ()
    what: str | Message = note("decision_log.coupons_decided")
    if named:
        what = " / ".join(fields).replace("+", " x ") or note("decision_log.strata_of", kind=kind)
    return RecordedStrata(strata, what, kind, notes, decided)


def _read(path: Path, *, may_be_empty: bool = False) -> TextTable:
    if path.is_dir() or path.name == LOG:  # the folder of a running study, or the log in it
        folder = path if path.is_dir() else path.parent
        if not (folder / LOG).is_file():
            raise DataFileError("decision_log.no_log", folder=folder, log=LOG)
        return _table_text(StudyFolder(folder).decided())
    content = file_bytes(path)
    if not is_workbook(content):
        return read_table(path, decoded(path, content)[0], may_be_empty=may_be_empty)
    from peerfront.foundation.excel_tables import open_workbook

    book = open_workbook(path, content)
    if NUMBERS not in book.names:
        raise DataFileError("decision_log.no_worksheet", path=path, needed=NUMBERS, names=book.names)
    return book.read(NUMBERS)


def _table_text(table: pd.DataFrame) -> TextTable:
    return read_table(Path(str(note("decision_log.the_table"))), csv_text(table))
