"""Tables of text, as spreadsheets and statistics programs write them.

Every cell stays text, with blanks around it removed: a coupon of 22 digits or with leading zeros survives. Numbers and
dates are read from that text by `typed_values`.

Columns may also be separated by blanks, or stand in fixed places. Where every line has as many words as the header,
words are cells (one more is a row name, as R writes it). Otherwise, or where lines are aligned to as many columns,
these are found by their places: between them every line is blank.
"""

import csv
import dataclasses
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.errors import DataFileError, UnknownName
from peerfront.foundation.files import Note, decoded, file_bytes
from peerfront.foundation.messages import Message, first_of, note
from peerfront.foundation.spreadsheets import as_typed
from peerfront.foundation.table_layout import Area, Record, areas

# Tables of blanks -------------------------------------------------------------------------------------------------


_LONGEST_LINE = 20_000  # characters of a line with fixed places


@dataclass(frozen=True)
class BlankTable:
    """Cells of a table without separators; line numbers count from 1."""

    header: list[str]
    records: list[tuple[int, list[str]]]  # line, cells
    fixed: bool
    """Whether the columns were found by their places."""


def read_blank_table(text: str) -> BlankTable | None:
    """Read a table separated by blanks or with columns in fixed places; None if it is neither."""
    lines = [(number, line.expandtabs()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if len(lines) < 2 or len(_words(lines[0][1])) < 2:
        return None
    if np.median([len(line.split()) for _, line in lines[1:]]) < 2:
        return None  # one column, whose name has blanks in it
    words, places = _by_words(lines), _by_places(lines)
    if words is None or places is None:
        return words or places
    same = len(places.header) == len(words.header) and places.records != words.records
    return places if same else words


def _words(line: str) -> list[str]:
    """Cut a line at blanks that do not stand in quotation marks."""
    try:
        return next(csv.reader([line.strip()], delimiter=" ", skipinitialspace=True, strict=True))
    except csv.Error:
        return []


def _by_words(lines: Sequence[tuple[int, str]]) -> BlankTable | None:
    header = _words(lines[0][1])
    records = [(number, _words(line)) for number, line in lines[1:]]
    widths = {len(cells) for _, cells in records}
    if widths == {len(header) + 1}:
        header = ["", *header]
    elif widths != {len(header)}:
        return None
    return BlankTable(header, records, fixed=False)


def _by_places(lines: Sequence[tuple[int, str]]) -> BlankTable | None:
    width = max(len(line) for _, line in lines)
    if width > _LONGEST_LINE:
        return None
    filled = np.zeros(width, dtype=bool)
    for _, line in lines:
        filled[: len(line)] |= np.array([not letter.isspace() for letter in line], dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], filled, [False])).astype(np.int8)))
    spans: list[tuple[int, int]] = []
    head = lines[0][1]
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if spans and not head[start:end].strip():  # blanks inside a text that happen to stand below each other
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    if len(spans) < 2:
        return None
    cells = [(number, [line[start:end].strip().strip('"') for start, end in spans]) for number, line in lines]
    if any("  " in name for name in cells[0][1]):
        return None  # names of two columns, whose values overlap
    return BlankTable(cells[0][1], cells[1:], fixed=True)


# Tables with separators -------------------------------------------------------------------------------------------


_SEPARATORS = {
    ",": note("tables.commas"),
    ";": note("tables.semicolons"),
    "\t": note("tables.tabs"),
    "|": note("tables.bars"),
}
_GUESSED = (",", ";", "\t")
MOST_COLUMNS = 10_000
"""Columns of the widest table that is read."""
LONGEST_CELL = 131_072
"""Characters of the longest cell that is read, as in Python's own csv module."""
MOST_CELLS = 50_000_000
"""Rows times columns of the largest table that is read."""
_SAMPLE = 1_000_000  # characters from which the separator is guessed
_NAMED = 5  # columns that a message names


@dataclass(frozen=True)
class TextTable:
    """Cells as text under the names of the header."""

    frame: pd.DataFrame  # [records, columns], every cell a str
    rows: NDArray[np.int64]  # [records], row in a spreadsheet; the header is row 1
    lines: NDArray[np.int64]  # [records], line in a text editor, on which the record ends
    notes: tuple[Note, ...] = ()
    separator: str = ","
    sheet: str = ""
    """The sheet of the workbook it comes from, or the name of the table in a file of R."""
    places: Mapping[str, int] = field(default_factory=dict)
    """Where each column stands in its text or sheet, counted from 1."""
    declared: Mapping[str, str] = field(default_factory=dict)
    """Columns by the part of a study that the file itself says they are."""
    others: tuple["TextTable", ...] = ()
    """Tables that stand below or beside it in the same text or sheet."""
    whole: "TextTable | None" = None
    """All columns as one table, where an empty column may mean that another one stands beside it."""


@dataclass(frozen=True)
class Book:
    """A file that holds several tables: a workbook, or a file of R."""

    path: Path
    names: tuple[str, ...]
    """Visible tables, in their order."""
    hidden: tuple[str, ...]
    word: str
    """What one of them is called: sheet or table."""
    table: Callable[[str, bool], TextTable]
    """Reads the table of this name, which must have rows unless the second argument allows an empty one."""

    def read(self, name: str, *, may_be_empty: bool = False) -> TextTable:
        """Read one of the tables, which may be a hidden one if it is named."""
        if name not in (*self.names, *self.hidden):
            code = "workbook.sheet_in" if self.word == "sheet" else "r_file.table_in"
            raise UnknownName(note(code, path=self.path), name, self.names)
        return self.table(name, may_be_empty)


def read_table_file(path: Path, *, may_be_empty: bool = False, whole_rows: bool = False) -> TextTable:
    """Read a file that is a table; the options are those of `read_table`."""
    text, notes = decoded(path, file_bytes(path))
    table = read_table(path, text, may_be_empty=may_be_empty, whole_rows=whole_rows)
    return dataclasses.replace(table, notes=(*notes, *table.notes))


def read_table(path: Path, text: str, *, may_be_empty: bool = False, whole_rows: bool = False) -> TextTable:
    """Read a table with a header, separated by commas, semicolons, tabs or blanks; messages call it `path`.

    It must have a row below the header unless it `may_be_empty`. Rows that end early are filled with empty cells, as
    spreadsheets mean them, unless `whole_rows` are demanded.
    """
    first, body, separator = _declared_separator(path, text)
    typed = as_typed if "'" in text else str
    blanks = read_blank_table(body) if not separator and _one_name(body) else None
    if blanks is not None:
        header = [typed(name.strip()) for name in blanks.header]
        records = [(line, line, cells) for line, cells in blanks.records]
        table = table_of(path, header, records, typed, may_be_empty=may_be_empty, whole_rows=whole_rows)
        fixed = Note("fixed-places", None, note("problems.fixed_places", columns=header))
        return dataclasses.replace(table, notes=(fixed, *table.notes) if blanks.fixed else table.notes, separator=" ")
    separator = separator or _likely_separator(body)
    numbered = enumerate(_records(path, body, separator, first), start=first)
    rows = [(row, line, record) for row, (line, record) in numbered if any(map(str.strip, record))]
    if not rows:
        raise DataFileError("files.empty", path=path)
    places = [Area(rows[0][2], rows[1:], 0, rows[0][0])] if whole_rows else areas(rows)

    def table_at(place: Area) -> TextTable:
        header = [typed(name.strip()) for name in place.header]
        flags = {"may_be_empty": may_be_empty, "whole_rows": whole_rows}
        return table_of(path, header, place.records, typed, left=place.left, **flags)

    return dataclasses.replace(first_table(places, table_at), separator=separator)


def first_table(places: Sequence[Area], table_at: Callable[[Area], TextTable]) -> TextTable:
    """Read the tables of a text or sheet: the first that can be read, with the others."""
    if len(places) == 1:
        return table_at(places[0])
    tables, faults = [], []
    for place in places:
        try:
            whole = None if place.whole is None else table_at(place.whole)
            tables.append(dataclasses.replace(table_at(place), whole=whole))
        except DataFileError as fault:
            faults.append(fault)
    if not tables:
        raise faults[0]
    return dataclasses.replace(tables[0], others=tuple(tables[1:]))


def table_of(
    path: Path | Message,
    header: list[str],
    records: Iterable[Record],
    typed: Callable[[str], str] = str,
    *,
    may_be_empty: bool = False,
    whole_rows: bool = False,
    left: int = 0,
) -> TextTable:
    """Make a table of its header and its records, each with its row and line, `left` columns from the edge.

    `typed` is applied to every cell.
    """
    header = _checked_header(path, header)
    full = [numbered for numbered in records if any(numbered[2])]
    n_cells = len(full) * len(header)
    if n_cells > MOST_CELLS:
        sizes = {"rows": len(full), "columns": len(header), "n": n_cells, "most": MOST_CELLS}
        raise DataFileError("tables.too_large", path=path, **sizes)
    rows, lines, kept = [], [], []
    for row, line, record in full:
        if any(map(str.strip, record)):
            rows.append(row)
            lines.append(line)
            kept.append(_fitted(path, row, record, len(header), whole_rows))
    if not kept and not may_be_empty:
        raise DataFileError("tables.nobody", path=path)
    columns: Iterable[Sequence[str]] = zip(*kept, strict=True) if kept else [() for _ in header]
    cells = [[typed(cell.strip()) for cell in column] for column in columns]
    frame = pd.DataFrame({n: pd.Series(column, dtype=object) for n, column in enumerate(cells)})
    frame, notes = _named(frame, header)
    places = {name: left + n for n, name in enumerate(header, start=1) if name}
    return TextTable(frame, np.array(rows, dtype=np.int64), np.array(lines, dtype=np.int64), notes, places=places)


def _one_name(text: str) -> bool:
    """Tell whether the first line that is not blank has blanks in it, and it and most others no usual separator."""
    lines = [line.strip() for line in text[:_SAMPLE].splitlines() if line.strip()][:20]
    if not lines or " " not in lines[0]:
        return False
    return not any(mark in lines[0] or 2 * sum(mark in line for line in lines) > len(lines) for mark in _SEPARATORS)


def _declared_separator(path: Path, text: str) -> tuple[int, str, str]:
    """Read a first line such as `sep=;`, Excel's own way: the number of the first row, the rest, and the separator."""
    match = re.match(r'"?sep=([^\r\n])"?[;,\t |]*(?:\r\n|\r|\n)', text[:100], flags=re.IGNORECASE)
    if match is None:
        return 1, text, ""
    if match[1] not in _SEPARATORS:
        allowed = list(_SEPARATORS.values())
        raise DataFileError("tables.bad_separator", path=path, separator=match[1], separators=allowed)
    return 2, text[match.end() :], match[1]


def _likely_separator(text: str) -> str:
    """Return the separator that cuts the first lines into most columns, the same number in each if possible."""
    lines = text[:_SAMPLE].splitlines()
    if len(text) > _SAMPLE and len(lines) > 1:
        lines.pop()  # it may have been cut
    sample = "\n".join(lines[:20])
    best, likely = (0.0, 0), ","
    for separator in _GUESSED:
        with _cells_of_up_to(_SAMPLE):
            reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
            widths = Counter(len(row) for row in reader if row)
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        score = (count / widths.total() if width > 1 else 0.0, width)
        if score > best:
            best, likely = score, separator
    return likely


@contextmanager
def _cells_of_up_to(characters: int) -> Iterator[None]:
    """Set the longest cell that the csv module reads; it is one setting for the whole program, so set it back."""
    before = csv.field_size_limit(characters)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _records(path: Path, body: str, separator: str, first: int) -> list[tuple[int, list[str]]]:
    """Cut a table into records, each with the line on which it ends; `first` is the number of the first line."""
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
    try:
        with _cells_of_up_to(LONGEST_CELL):
            return [(reader.line_num + first - 1, record) for record in reader]
    except csv.Error as problem:
        if "field limit" in str(problem):
            line = reader.line_num + first - 1
            raise DataFileError("tables.long_cell", path=path, line=line, most=LONGEST_CELL) from None
        named = _SEPARATORS[separator]
        raise DataFileError("tables.unreadable", path=path, separator=named, problem=str(problem)) from None


def _checked_header(path: Path | Message, header: list[str]) -> list[str]:
    """Drop empty names at the end; refuse too many columns, and names that stand twice."""
    named = max((n + 1 for n, name in enumerate(header) if name), default=1)
    header = header[:named]  # spreadsheets like to leave empty columns at the end
    if len(header) > MOST_COLUMNS:
        raise DataFileError("tables.too_many_columns", path=path, n=len(header), most=MOST_COLUMNS)
    repeated = [name for name, count in Counter(filter(None, header)).items() if count > 1]
    if repeated:
        names = first_of([repr(name) for name in repeated], _NAMED)
        raise DataFileError("tables.names_twice", path=path, names=names)
    return header


def _fitted(path: Path | Message, row: int, record: list[str], width: int, whole_rows: bool) -> list[str]:
    """Drop empty cells beyond the header, which spreadsheets add, and add those at the end that they leave out."""
    if len(record) == width:
        return record
    if len(record) > width:
        last = max((n + 1 for n in range(width, len(record)) if record[n].strip()), default=width)
        record = record[:last]
    if len(record) > width or (whole_rows and len(record) < width):
        raise DataFileError("tables.cells", path=path, row=row, n=len(record), expected=width)
    return record + [""] * (width - len(record))


def _named(frame: pd.DataFrame, header: list[str]) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """Name the columns and drop unnamed ones; do so without a note for empty ones and for R's row numbers."""
    notes = []
    for number, name in enumerate(header):
        if name:
            continue
        row_numbers = list(frame[number]) == [str(n + 1) for n in range(len(frame))]
        if not row_numbers and frame[number].any():
            notes.append(Note("unnamed-column", 1, note("problems.unnamed_column", number=number + 1)))
    named = frame[[number for number, name in enumerate(header) if name]]
    return named.set_axis([name for name in header if name], axis=1), tuple(notes)
