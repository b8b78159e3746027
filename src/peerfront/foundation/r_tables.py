"""Tables in R's own files: data frames as text, with what R's package RDS says about their columns.

An `rds.data.frame` carries the names of its columns for id, recruiter, network size and time, and the most coupons that
somebody could get.
"""

import dataclasses
import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerfront.foundation.errors import DataFileError, UnknownName
from peerfront.foundation.messages import note
from peerfront.foundation.r_data import RObject, r_objects
from peerfront.foundation.text_tables import TextTable, table_of

_EPOCH = datetime.datetime(1970, 1, 1)
DECLARED = {"id": "id", "recruiter.id": "recruiter", "network.size.variable": "network_size", "time": "date"}
"""Attributes of R's package RDS, and the part of a study that they name."""


@dataclass(frozen=True)
class RFile:
    """The tables of an R file."""

    path: Path
    names: tuple[str, ...]
    objects: dict[str, RObject]
    hidden: tuple[str, ...] = ()
    word: str = "table"

    def read(self, name: str, *, may_be_empty: bool = False) -> TextTable:
        """Read one data frame as text."""
        if name not in self.names:
            raise UnknownName(note("r_file.table_in", path=self.path), name, self.names)
        frame = self.objects[name]
        header = frame.texts("names")
        columns = [_texts(column) for column in frame.value]
        if len(header) != len(columns) or len({len(column) for column in columns}) > 1:
            raise DataFileError("r_file.damaged", path=self.path, table=name)
        records = [(row, row, list(cells)) for row, cells in enumerate(zip(*columns, strict=True), start=2)]
        table = table_of(note("r_file.table", path=self.path, table=name), header, records, may_be_empty=may_be_empty)
        declared = {role: frame.texts(attribute)[:1] for attribute, role in DECLARED.items()}
        known = {role: names[0] for role, names in declared.items() if names and names[0] in header}
        return dataclasses.replace(table, sheet=name, declared=known)


def open_r_file(path: Path, content: bytes) -> RFile:
    """Find the data frames of a file of R."""
    objects = r_objects(path, content)
    tables = tuple(name for name, found in objects.items() if found.is_table)
    if not tables:
        raise DataFileError("r_file.no_table", path=path, names=list(objects) or note("r_file.nothing"))
    return RFile(path, tables, objects)


def _texts(column: Any) -> list[str]:
    """Return a column as text: the levels of factors, dates as 2024-05-31, numbers without a useless point."""
    if not isinstance(column, RObject):
        return []
    kinds, levels = column.texts("class"), column.texts("levels")
    if "factor" in kinds:
        return [levels[code - 1] if isinstance(code, int) and 0 < code <= len(levels) else "" for code in column.value]
    if "Date" in kinds or "POSIXct" in kinds:
        return [_date(value, in_days="Date" in kinds) for value in column.value]
    return [_text(value) for value in column.value]


def _date(value: Any, *, in_days: bool) -> str:
    if not isinstance(value, int | float):
        return ""
    try:
        time = _EPOCH + (datetime.timedelta(days=value) if in_days else datetime.timedelta(seconds=round(value)))
    except OverflowError:
        return str(value)
    return time.date().isoformat() if in_days else time.isoformat()


def _text(value: Any) -> str:
    if value is None or isinstance(value, RObject):
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    return str(value)
