"""Read a file of people who wait for coupons: a table with an id, and the columns that the schema uses.

It may be an export or a workbook like the study's own file; it is brought into the same shape.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.problems import at
from peerfront.data.read.listing import guess_columns, texts
from peerfront.data.read.read_settings import AUTO
from peerfront.data.read.shaping import Shaped, shape
from peerfront.data.read.sheets import holds_sheets, sheet_of
from peerfront.data.reading import MOST_KNOWN, fault_of
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.errors import DataFileError, PeerfrontError, UnknownName
from peerfront.foundation.files import decoded, file_bytes
from peerfront.foundation.messages import Lines, Message, Remedy, first_of, note
from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.text_tables import TextTable, read_table
from peerfront.foundation.typed_values import read_numbers
from peerfront.problem import Frontier

_MOST_LISTED = 10
LEFT_COLUMN = "acquaintances left"
"""The column of acquaintances who have not taken part, however it is written (`Acquaintances_Left`)."""


def read_frontier(
    file: Path | str | pd.DataFrame,
    schema: StudySchema,
    id_column: str | None = None,
    sheet: str = "",
    left_column: str | None = None,
) -> Frontier:
    """Read the people who wait for coupons, in their order: ids, and categories of the schema's columns.

    `file` is a CSV file, an Excel workbook (`sheet` names the sheet, if several would do) or a pandas table; other
    columns are ignored. A column `acquaintances left` (or the one that `left_column` names) says how many of their
    acquaintances have not taken part; it may be empty where nobody asked.

    >>> frontier = pf.read_frontier(pf.demo_study(people=120).frontier, model.schema)
    >>> frontier.covariates.shape == (len(frontier), 5)
    True
    """
    if isinstance(file, pd.DataFrame):
        path = Path("the table")
        table = read_table(path, csv_text(file), may_be_empty=True)
        return _frontier(path, table, schema, id_column, left_column)
    path = Path(file)
    content = file_bytes(path)
    if holds_sheets(content):
        table, _ = sheet_of(
            path, content, sheet, lambda table: _misfit(path, table, schema, id_column), may_be_empty=True
        )
    elif sheet:
        raise DataFileError("sheets.no_workbook", path=path, sheet=Remedy("sheet", sheet))
    else:
        table = read_table(path, decoded(path, content)[0], may_be_empty=True)
    return _frontier(path, table, schema, id_column, left_column)


def _shaped(path: Path, table: TextTable, schema: StudySchema) -> Shaped:
    """Shape the table as the study's own was; a table of other kind than the study's shows what it is by itself."""
    settings = dataclasses.replace(schema.reading, columns={}, preset=AUTO)
    return shape(table, settings, path.name)


def _misfit(path: Path, table: TextTable, schema: StudySchema, id_column: str | None) -> Message | None:
    """Say why a table has not an id and every column that the schema uses; None if it has."""
    try:
        shaped = _shaped(path, table, schema)
        _id_column(path, shaped, schema, id_column)
    except PeerfrontError as problem:
        return fault_of(problem)
    absent = [rule.name for rule in schema.used if rule.name not in shaped.table.frame.columns]
    return note("recognition.no_used_column", column=absent[0]) if absent else None


def _frontier(
    path: Path, table: TextTable, schema: StudySchema, id_column: str | None, left_column: str | None = None
) -> Frontier:
    if not len(table.rows):
        raise DataFileError("frontier_file.nobody", path=path)
    shaped = _shaped(path, table, schema)
    frame, rows = shaped.table.frame, shaped.table.rows
    ids = texts(frame, _id_column(path, shaped, schema, id_column))
    faults = [note("frontier_file.no_id_in", at=at("row", row)) for row in rows[ids == ""]]
    again = np.flatnonzero(pd.Series(ids, dtype=object).duplicated().to_numpy() & (ids != ""))
    faults += [note("frontier_file.id_again", at=at("row", rows[i]), id=ids[i]) for i in again]
    if faults:
        listed = faults[:_MOST_LISTED]
        if len(faults) > _MOST_LISTED:
            listed.append(note("problems.more", n=len(faults) - _MOST_LISTED))
        raise DataFileError("frontier_file.faults", path=path, faults=Lines(listed))
    return Frontier(ids, schema.encode(frame, rows, str(path), "row"), _left(path, shaped.table, schema, left_column))


def _left(path: Path, table: TextTable, schema: StudySchema, named: str | None) -> NDArray[np.int64] | None:
    """Acquaintances left, [people], -1 where the cell is empty; None without such a column."""
    header = [str(name) for name in table.frame.columns]
    if named is not None and named not in header:
        raise UnknownName(note("recognition.column_in", source=path), named, header)
    used = {rule.name for rule in schema.used}
    candidates = [name for name in header if _plain(name) == _plain(LEFT_COLUMN) and name not in used]
    column = named if named is not None else candidates[0] if candidates else None
    if column is None:
        return None
    cells = texts(table.frame, column)
    numbers = read_numbers(pd.Series(cells, dtype=object))
    with np.errstate(invalid="ignore"):
        wrong = ~((numbers >= 0) & (numbers <= MOST_KNOWN) & (numbers == np.floor(numbers))) & (cells != "")
    if wrong.any():
        values = [
            note("frontier_file.value_in", value=cells[i], at=at("row", table.rows[i])) for i in np.flatnonzero(wrong)
        ]
        raise DataFileError(
            "frontier_file.acquaintances", path=path, column=column, most=MOST_KNOWN, values=first_of(values, 5)
        )
    return np.where(np.isfinite(numbers), numbers, -1).astype(np.int64)


def _plain(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def _id_column(path: Path, shaped: Shaped, schema: StudySchema, named: str | None) -> str:
    """Return the column that the caller named, or that the study uses, or that looks like an id."""
    header = [str(name) for name in shaped.table.frame.columns]
    if named is not None:
        if named not in header:
            raise UnknownName(note("recognition.column_in", source=path), named, header)
        return named
    of_study = schema.reading.columns.get("id", ())
    if of_study and of_study[0] in header:
        return of_study[0]
    guessed = guess_columns([name for name in header if name not in shaped.own], {}, path.name).get("id")
    instead = shaped.instead.get("id")
    if guessed is None and instead is None:
        raise DataFileError("frontier_file.no_id", path=path, header=list(header))
    return guessed[0] if guessed is not None else str(instead)
