"""The decision log: a CSV file to which every round's decisions are added, and what estimates read from it.

One row for each person and round: how many coupons, how likely that number was, how it was decided, in which stratum,
with which seed and model. Coupon sheets, as CSV or as workbooks, hold the same for one round and are read alike.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import write_csv
from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.text_files import decoded, file_bytes, is_workbook
from peerfront.foundation.text_tables import TextTable, read_table
from peerfront.foundation.typed_values import typed_number
from peerfront.foundation.words import n_coupons, n_people
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
    """The log with a sheet's decisions added; refuse a file that is no log, and decisions that stand there already."""
    rows = log_rows(sheet, heading)
    if not path.exists():
        return rows
    before = _read(path, may_be_empty=True).frame
    if tuple(map(str, before.columns)) != COLUMNS:
        raise DataFileError(
            f"{path} is no decision log: its columns are {', '.join(map(str, before.columns[:5]))}, ...; those of a "
            f"log are {', '.join(COLUMNS)}. Name another file."
        )
    key = ["date", "round", "person"]
    again = pd.merge(before[key], rows[key], on=key)
    if len(again):
        first = again.iloc[0]
        which = f"round {first['round']}" if first["round"] else "no round said"
        raise DataFileError(
            f"{path} holds decisions of {first['date']}, {which}, for {n_people(len(again))} of this sheet already "
            f"(such as {first['person']}). Give another --round or --date; or, if those coupons were not handed out, "
            "take their rows out of the log."
        )
    return pd.concat([before, rows], ignore_index=True)


def write_log(path: Path, log: pd.DataFrame) -> None:
    """Write the log; it holds participants' ids, so a new one can be read by its owner alone."""
    write_csv(path, csv_text(log), private=True)


@dataclass(frozen=True)
class RecordedStrata:
    """The stratum of people, as sheets or the decision log recorded it."""

    of_person: Mapping[str, str]
    what: str
    """What the strata are, in a few words."""
    notes: tuple[str, ...] = ()
    coupons: Mapping[str, int] = field(default_factory=dict)
    """Coupons decided for people, all rounds together."""
    kind: str = "decision log"
    """What was read: the decision log or coupon sheets."""


def recorded_strata(files: Iterable[Path | str | pd.DataFrame], kind: str) -> RecordedStrata:
    """Read people's strata; where none was recorded, the number of coupons decided stands in. `kind` is for messages.

    Somebody who is recorded in two different strata is refused: the rule was not the same for them.
    """
    strata: dict[str, str] = {}
    decided: dict[str, int] = {}
    named = unnamed = 0
    fields: dict[str, None] = {}
    for file in files:
        name = "the table" if isinstance(file, pd.DataFrame) else str(file)
        table = _table_text(file) if isinstance(file, pd.DataFrame) else _read(Path(file))
        frame = table.frame
        for needed in ("person", "coupons"):
            if needed not in frame.columns:
                raise DataFileError(
                    f"{name} is no {kind}: it has no column {needed!r}. Found: {', '.join(map(str, frame.columns))}."
                )
        recorded = frame["stratum"].tolist() if "stratum" in frame.columns else [""] * len(frame)
        for row, person, coupons, stratum in zip(
            table.rows.tolist(), frame["person"].tolist(), frame["coupons"].tolist(), recorded, strict=True
        ):
            number = typed_number(coupons)
            if number is None or number < 0 or number != int(number):
                raise DataFileError(
                    f"{name}, row {row:,}: coupons are {coupons!r}; a whole number of at least 0 is needed. Correct it."
                )
            own = stratum or n_coupons(int(number))
            decided[person] = decided.get(person, 0) + int(number)
            named, unnamed = named + bool(stratum), unnamed + (not stratum)
            if strata.setdefault(person, own) != own:
                raise DataFileError(
                    f"{name}, row {row:,}: {person} is recorded as {own!r}, and before as {strata[person]!r}. A person "
                    "has one stratum throughout a study. Correct it, or name the columns of the study with --strata."
                )
        if "strata" in frame.columns:
            fields.update(dict.fromkeys(text for text in frame["strata"] if text))
    notes = []
    if unnamed:
        notes.append(
            f"The {kind} records no stratum for {n_people(unnamed)}, so the number of coupons decided stands in for it."
        )
    what = (" / ".join(fields).replace("+", " x ") or f"strata of the {kind}") if named else "coupons decided"
    return RecordedStrata(strata, what, tuple(notes), decided, kind)


def _read(path: Path, *, may_be_empty: bool = False) -> TextTable:
    if path.is_dir() or path.name == LOG:  # the folder of a running study, or the log in it
        folder = path if path.is_dir() else path.parent
        if not (folder / LOG).is_file():
            raise DataFileError(f"{folder} holds no log of a running study ({LOG}). Name a folder of `peerfront week`.")
        return _table_text(StudyFolder(folder).decided())
    content = file_bytes(path)
    if not is_workbook(content):
        return read_table(path, decoded(path, content)[0], may_be_empty=may_be_empty)
    from peerfront.foundation.excel_tables import open_workbook

    book = open_workbook(path, content)
    if NUMBERS not in book.names:
        raise DataFileError(
            f"{path} has no worksheet {NUMBERS!r}, which a coupon sheet of peerfront has. Found: "
            f"{', '.join(book.names)}."
        )
    return book.read(NUMBERS)


def _table_text(table: pd.DataFrame) -> TextTable:
    return read_table(Path("the table"), csv_text(table))
