"""Read a file of people who wait for coupons: a table with an id, and the columns that the schema uses.

It may be an export or a workbook like the study's own file; it is brought into the same shape.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.data.listing import guess_columns, texts
from peerfront.data.read_settings import AUTO
from peerfront.data.shaping import Shaped, shape
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.errors import DataFileError, PeerfrontError, UnknownName
from peerfront.foundation.r_data import is_r_data
from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.text_files import decoded, file_bytes, is_workbook
from peerfront.foundation.text_tables import TextTable, read_table
from peerfront.problem import Frontier


def read_frontier(
    file: Path | str | pd.DataFrame, schema: StudySchema, id_column: str | None = None, sheet: str = ""
) -> Frontier:
    """Read the people who wait for coupons, in their order: ids, and categories of the schema's columns.

    `file` is a CSV file, an Excel workbook (`sheet` names the sheet, if several would do) or a pandas table; other
    columns are ignored.

    >>> frontier = pf.read_frontier(pf.demo_study(people=120).frontier, model.schema)
    >>> frontier.covariates.shape == (len(frontier), 5)
    True
    """
    if isinstance(file, pd.DataFrame):
        return frontier_from_table(file, schema, id_column)
    path = Path(file)
    content = file_bytes(path)
    if not (is_workbook(content) or is_r_data(content)):
        if sheet:
            raise DataFileError(
                f"{path} is no Excel workbook, so there is no sheet {sheet!r} in it. Leave --sheet out."
            )
        return _frontier(path, read_table(path, decoded(path, content)[0], may_be_empty=True), schema, id_column)
    from peerfront.data.sheets import sheet_of  # only here: openpyxl takes a while to load

    table, _ = sheet_of(path, content, sheet, lambda table: _misfit(path, table, schema, id_column), may_be_empty=True)
    return _frontier(path, table, schema, id_column)


def frontier_from_table(
    table: pd.DataFrame, schema: StudySchema, id_column: str | None = None, name: str = "the table"
) -> Frontier:
    """Read the same from a pandas table, as from its CSV file; messages count rows from 2 and call it `name`."""
    text_table = read_table(Path(name), csv_text(table), may_be_empty=True)
    return _frontier(Path(name), text_table, schema, id_column)


def _shaped(path: Path, table: TextTable, schema: StudySchema) -> Shaped:
    """Shape the table as the study's own was; a table of other kind than the study's shows what it is by itself."""
    settings = dataclasses.replace(schema.reading, columns={}, preset=AUTO)
    return shape(table, settings, path.name)


def _misfit(path: Path, table: TextTable, schema: StudySchema, id_column: str | None) -> str:
    """Say why a table has not an id and every column that the schema uses; "" if it has."""
    try:
        shaped = _shaped(path, table, schema)
        _id_column(path, shaped, schema, id_column)
    except PeerfrontError as problem:
        return str(problem).partition("\n")[0].removeprefix(f"{path}: ")
    absent = [rule.name for rule in schema.used if rule.name not in shaped.table.frame.columns]
    return f"there is no column {absent[0]!r}." if absent else ""


def _frontier(path: Path, table: TextTable, schema: StudySchema, id_column: str | None) -> Frontier:
    if not len(table.rows):
        raise DataFileError(f"{path}: there is a header and nobody below it: nobody is on the frontier. Add people.")
    shaped = _shaped(path, table, schema)
    frame, rows = shaped.table.frame, shaped.table.rows
    ids = texts(frame, _id_column(path, shaped, schema, id_column))
    faults = [f"row {row:,}: the id is empty." for row in rows[ids == ""]]
    again = np.flatnonzero(pd.Series(ids, dtype=object).duplicated().to_numpy() & (ids != ""))
    faults += [f"row {rows[i]:,}: id {ids[i]!r} stands already above." for i in again]
    if faults:
        more = f"\n  ... and {len(faults) - 10:,} more." if len(faults) > 10 else ""
        listed = "\n  ".join(faults[:10])
        raise DataFileError(f"{path}: everybody needs a row and an id of their own.\n  {listed}{more}")
    return Frontier(ids, schema.encode(frame, rows, str(path), "row"))


def _id_column(path: Path, shaped: Shaped, schema: StudySchema, named: str | None) -> str:
    """Return the column that the caller named, or that the study uses, or that looks like an id."""
    header = [str(name) for name in shaped.table.frame.columns]
    if named is not None:
        if named not in header:
            raise UnknownName(f"column in {path}", named, header)
        return named
    of_study = schema.reading.columns.get("id", ())
    if of_study and of_study[0] in header:
        return of_study[0]
    guessed = guess_columns([name for name in header if name not in shaped.own], {}, path.name).get("id")
    instead = shaped.instead.get("id")
    if guessed is None and instead is None:
        raise DataFileError(f"{path}: there is no id column. Name one column 'id'. Found: {', '.join(header)}.")
    return guessed[0] if guessed is not None else str(instead)
