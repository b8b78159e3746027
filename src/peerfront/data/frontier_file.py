"""The people who may refer next, from a plain CSV file: an id and the columns that the schema uses."""

from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.data.columns import guess_columns
from peerfront.data.listing import texts, without_missing
from peerfront.data.study_schema import StudySchema
from peerfront.data.text_tables import TextTable, decoded, file_bytes, read_table
from peerfront.errors import DataFileError, UnknownName
from peerfront.problem import Frontier


def read_frontier(path: Path | str, schema: StudySchema, id_column: str | None = None) -> Frontier:
    """Ids and category codes of the people in the file, in its order; other columns are ignored."""
    path = Path(path)
    text, _ = decoded(path, file_bytes(path))
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        raise DataFileError(f"{path}: there is a header and nobody below it: nobody is on the frontier. Add people.")
    return _frontier(path, read_table(path, text), schema, id_column)


def frontier_from_table(
    table: pd.DataFrame, schema: StudySchema, id_column: str | None = None, name: str = "the table"
) -> Frontier:
    """The same from a pandas table, read as its CSV file would be; messages count rows from 2 and call it `name`."""
    return _frontier(Path(name), read_table(Path(name), table.to_csv(index=False)), schema, id_column)


def _frontier(path: Path, table: TextTable, schema: StudySchema, id_column: str | None) -> Frontier:
    frame = without_missing(table.frame, schema.reading.missing)
    ids = texts(frame, _id_column(path, list(frame.columns), schema, id_column))
    faults = [f"row {row:,}: the id is empty." for row in table.rows[ids == ""]]
    again = np.flatnonzero(pd.Series(ids, dtype=object).duplicated().to_numpy() & (ids != ""))
    faults += [f"row {table.rows[i]:,}: id {ids[i]!r} stands already above." for i in again]
    if faults:
        more = f"\n  ... and {len(faults) - 10:,} more." if len(faults) > 10 else ""
        listed = "\n  ".join(faults[:10])
        raise DataFileError(f"{path}: everybody needs a row and an id of their own.\n  {listed}{more}")
    return Frontier(ids, schema.encode(frame, table.rows, str(path), "row"))


def _id_column(path: Path, header: list[str], schema: StudySchema, told: str | None) -> str:
    """The column that was named, or that the study uses, or that looks like an id."""
    if told is not None:
        if told not in header:
            raise UnknownName(f"column in {path}", told, header)
        return told
    of_study = schema.reading.columns.get("id", ())
    if of_study and of_study[0] in header:
        return of_study[0]
    found = guess_columns(header, {}, path.name).get("id")
    if found is None:
        raise DataFileError(f"{path}: there is no id column. Name one column 'id'. Found: {', '.join(header)}.")
    return found[0]
