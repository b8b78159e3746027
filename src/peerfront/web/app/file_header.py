"""The columns of a file, for the form that says which is what: also of a file that cannot be read as a study yet."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from peerfront.data.read.listing import guess_columns
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.read.recognition import recognised
from peerfront.data.read.shaping import shape
from peerfront.data.read.sheets import Book, holds_sheets
from peerfront.data.reading import format_by_beginning, misfit
from peerfront.foundation.errors import DataFileError, PeerfrontError
from peerfront.foundation.excel_tables import open_workbook
from peerfront.foundation.r_tables import open_r_file
from peerfront.foundation.shown import visible
from peerfront.foundation.text_files import decoded, file_bytes, is_workbook
from peerfront.foundation.text_tables import TextTable, read_table

MOST_COLUMNS = 1_000
"""Columns that pages list."""
_EXAMPLES = 3


@dataclass(frozen=True)
class Header:
    """The columns of a file, whether or not it can be read as a study."""

    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Name and some of the values."""
    recognised: Mapping[str, tuple[str, ...]] | None = None
    """Columns by role, by their names and content alone."""
    sheets: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


def header_of(path: Path, reading: Mapping[str, Any]) -> Header:
    """The columns of the file; none where its layout is fixed, or nothing can be read."""
    try:
        content = file_bytes(path)
        sheets: tuple[str, ...] = ()
        if holds_sheets(content):
            book: Book = open_workbook(path, content) if is_workbook(content) else open_r_file(path, content)
            sheets = book.names
            table = _meant_table(book, reading, path)
        else:
            text = decoded(path, content)[0]
            if format_by_beginning(text):
                return Header()
            table = read_table(path, text)
    except PeerfrontError:
        return Header()
    if table is None:
        return Header(sheets=sheets)
    try:
        shaped = shape(table, ReadSettings(missing=tuple(reading.get("missing", ()))), path.name)
        frame = shaped.table.frame
        names = [name for name in map(str, frame.columns) if name not in shaped.own or name in shaped.instead.values()]
    except PeerfrontError:
        frame, names = table.frame, list(map(str, table.frame.columns))
        return Header(_with_examples(frame, names), {}, sheets)
    try:
        columns, _ = recognised(shaped, path.name)
    except PeerfrontError:
        columns = guess_columns(names, {}, path.name)
    return Header(_with_examples(frame, names), columns, sheets)


def _meant_table(book: Book, reading: Mapping[str, Any], path: Path) -> TextTable | None:
    """The sheet that was named, or the first that says who recruited whom, or the first that holds a table."""
    wanted = str(reading.get("sheet") or "")
    settings = read_settings_of({**reading, "sheet": ""})
    first = None
    for name in (wanted,) if wanted in book.names else book.names:
        try:
            table = book.read(name)
        except DataFileError:
            continue
        if not misfit(table, settings, path):
            return table
        first = first or table
    return first


def read_settings_of(reading: Mapping[str, Any]) -> ReadSettings:
    """How the file is read, from what was chosen in the form of the columns."""
    fields = {
        name: reading[name] for name in ("coupons_each", "still_open", "valid_days", "sheet") if reading.get(name)
    }
    columns = {role: tuple(names) for role, names in reading.get("columns", {}).items()}
    return ReadSettings(columns=columns, missing=tuple(reading.get("missing", ())), **fields)


def _with_examples(frame: pd.DataFrame, names: list[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    columns = []
    for name in names[:MOST_COLUMNS]:
        values = frame[name].head(200)
        different = values[values != ""].drop_duplicates().head(_EXAMPLES)
        columns.append((name, tuple(visible(str(value), 40) for value in different)))
    return tuple(columns)
