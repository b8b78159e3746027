"""Tables in Excel workbooks (.xlsx, .xlsm), read as the text that a person sees in the cells.

A code typed as text keeps its zeros (007), a number loses its `.0`, dates are written as 2024-05-31. Formulas count
with the value that Excel saved for them. Titles above the header are skipped, header rows with merged cells become one
name per column, and a merged cell below the header counts for each of its rows, with a note. Cells that hold an error
(#REF!) or a formula without a saved value are empty, with a note that gives their address.

A workbook is an archive of XML files, and may come from anywhere: entities are refused by defusedxml, which openpyxl
uses where it is installed, and archives that announce more than `LARGEST_UNPACKED` bytes are refused before they are
unpacked.
"""

import dataclasses
import datetime
import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from openpyxl import load_workbook
from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.utils import get_column_letter
from openpyxl.utils.exceptions import InvalidFileException
from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import Note, is_encrypted
from peerfront.foundation.messages import note
from peerfront.foundation.spreadsheets import as_typed
from peerfront.foundation.text_tables import MOST_CELLS, Book, TextTable, table_of

LARGEST_UNPACKED = 300 * 2**20
"""Bytes that the parts of a workbook may have unpacked: some hundred thousand rows."""
_MOST_PARTS = 10_000
_MOST_EXACT = 1e15  # Excel keeps fifteen digits of a number; longer codes have lost the others
_NOT_KNOWN = "#N/A"  # Excel's own way to say so, which readers of tables understand
_TITLES = 10  # rows looked at below a title
_ZEROS = re.compile(r"0+")

Span = tuple[int, int, int, int]  # first column, first row, last column, last row
Rows = dict[int, dict[int, str]]  # row -> column -> text, filled cells only


def open_workbook(path: Path, content: bytes) -> Book:
    """Open a workbook that is given as the bytes of its file; messages call it `path`."""
    if is_encrypted(content):
        raise DataFileError("workbook.encrypted", path=path)
    with _in_words(path):
        _check_archive(path, content)
        source = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    states = {sheet.title: sheet.sheet_state for sheet in source.worksheets}
    visible = tuple(name for name, state in states.items() if state == "visible")

    def table(name: str, may_be_empty: bool) -> TextTable:
        with _in_words(path):
            sheet = _parsed(path, source, name)
        return _table(path, name, sheet, may_be_empty)

    return Book(path, visible, tuple(name for name in states if name not in visible), "sheet", table)


def _check_archive(path: Path, content: bytes) -> None:
    """Refuse archives that are no workbook, or too large; the sizes announced bound what is unpacked."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
    size = sum(part.file_size for part in parts)
    if size > LARGEST_UNPACKED or len(parts) > _MOST_PARTS:
        limits = {"most": LARGEST_UNPACKED, "most_parts": _MOST_PARTS}
        raise DataFileError("workbook.too_large", path=path, size=size, parts=len(parts), **limits)
    names = {part.filename for part in parts}
    if "[Content_Types].xml" not in names or "xl/workbook.xml" not in map(str.lower, names):
        raise DataFileError("workbook.no_workbook", path=path)


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Turn whatever a damaged or hostile workbook raises into an error for people; silence openpyxl's warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (
        zipfile.BadZipFile, InvalidFileException, ParseError, KeyError, ValueError, TypeError, AttributeError,
        IndexError, EOFError, NotImplementedError, RuntimeError, OSError, OverflowError, zipfile.LargeZipFile,
    ) as problem:  # fmt: skip
        if _is_forbidden(problem):
            raise DataFileError("workbook.entities", path=path) from None
        if isinstance(problem, RuntimeError) and "password" in str(problem):
            raise DataFileError("workbook.protected", path=path) from None
        raise DataFileError("workbook.damaged", path=path, problem=type(problem).__name__) from None


def _is_forbidden(problem: BaseException | None) -> bool:
    """Tell whether defusedxml refused something, also if openpyxl has put the error into words of its own."""
    while problem is not None and not isinstance(problem, DefusedXmlException):
        problem = problem.__cause__ or problem.__context__
    return problem is not None


# A sheet's cells ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sheet:
    """The filled cells of a sheet, its merged ranges, and the cells that have no value although they should."""

    rows: Rows
    merged: tuple[Span, ...]
    faults: dict[tuple[int, int], str]  # (row, column) -> the error in the cell; "": a formula without a saved value


class _Parser(WorkSheetParser):
    """openpyxl's own parser, which also tells formulas without a saved value from empty cells."""

    def parse_cell(self, element: Any) -> dict[str, Any]:
        cell: dict[str, Any] = super().parse_cell(element)
        if cell["value"] is None and element.find(FORMULA_TAG) is not None:
            cell["data_type"] = "f"
        return cell


def _parsed(path: Path, workbook: Any, name: str) -> _Sheet:
    """Read a sheet cell by cell: rows and columns that a sheet only announces take no room."""
    sheet = workbook[name]
    rows: Rows = {}
    faults: dict[tuple[int, int], str] = {}
    formats: dict[int, str] = {}
    count = 0
    with sheet._get_source() as source:
        parser = _Parser(
            source,
            sheet._shared_strings,
            data_only=True,
            epoch=workbook.epoch,
            date_formats=workbook._date_formats,
            timedelta_formats=workbook._timedelta_formats,
        )
        for _, cells in parser.parse():
            for cell in cells:
                place = cell["row"], cell["column"]
                value, kind, style = cell["value"], cell["data_type"], cell["style_id"]
                if kind == "f":
                    faults[place] = ""
                elif kind == "e" and value != _NOT_KNOWN:
                    faults[place] = str(value)
                elif value is not None:
                    if style not in formats:
                        formats[style] = ReadOnlyCell(sheet, *place, None, style_id=style).number_format
                    text = cell_text(value, formats[style])
                    if text:
                        rows.setdefault(place[0], {})[place[1]] = text
                        count += 1
        if count > MOST_CELLS:
            raise DataFileError("workbook.too_many_cells", path=path, sheet=name, n=count, most=MOST_CELLS)
        ranges = parser.merged_cells.mergeCell if parser.merged_cells is not None else ()
        merged = tuple(cells.bounds for cells in ranges)
    return _Sheet(dict(sorted(rows.items())), merged, faults)


def cell_text(value: Any, number_format: str = "General") -> str:
    """Write the value of a cell as a person sees it; numbers that have lost digits are written as 1.42500E+21."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        return value.date().isoformat() if midnight else value.replace(microsecond=0).isoformat(" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, int | float):
        if abs(value) >= _MOST_EXACT:
            return f"{value:.5E}"
        if value == int(value):
            whole = str(int(value))
            return whole.zfill(len(number_format)) if _ZEROS.fullmatch(number_format) else whole
        return f"{value:.15g}"
    return as_typed(str(value).strip())


# From cells to a table ----------------------------------------------------------------------------------------------


def _table(path: Path, name: str, sheet: _Sheet, may_be_empty: bool) -> TextTable:
    """Find the header, name the columns, and put the rows below it into a table."""
    called = note("workbook.sheet", path=path, sheet=name)
    if not sheet.rows:
        raise DataFileError("workbook.empty_sheet", path=called)
    width = max(max(cells) for cells in sheet.rows.values())
    first = _header_row(sheet, width)
    last = _last_header_row(sheet, first)
    header = _names(sheet, first, last, width)
    notes = []
    for span in sheet.merged:
        if span[1] > last and _fill_down(sheet, span):
            fault = note("problems.merged_cells", first=_address(*span[:2]), last=_address(*span[2:]))
            notes.append(Note("merged-cells", span[1], fault))
    records = [
        (row, row, [cells.get(column, "") for column in range(1, max(cells) + 1)])
        for row, cells in sorted(sheet.rows.items())
        if row > last
    ]
    table = table_of(called, header, records, may_be_empty=may_be_empty)
    for (row, column), error in sorted(sheet.faults.items()):
        if row > last and column <= len(header) and header[column - 1]:
            title, cell = header[column - 1], _address(column, row)
            fault = note("problems.cell_formula", cell=cell, column=title)
            if error:
                fault = note("problems.cell_error", cell=cell, column=title, error=error)
            notes.append(Note("cell-without-value", row, fault, title))
    return dataclasses.replace(table, notes=(*notes, *table.notes), sheet=name)


def _address(column: int, row: int) -> str:
    return f"{get_column_letter(column)}{row}"


def _header_row(sheet: _Sheet, width: int) -> int:
    """Return the first row that is neither empty nor a title: a text alone, or one merged over the whole table."""
    rows = list(sheet.rows)
    for n, row in enumerate(rows):
        below = [len(sheet.rows[other]) for other in rows[n + 1 : n + 1 + _TITLES]]
        if len(sheet.rows[row]) > 1 or max(below, default=0) < 2:
            return row
        column = next(iter(sheet.rows[row]))
        span = next((span for span in sheet.merged if span[:2] == (column, row)), (column, row, column, row))
        is_group = span[2] > span[0] and (span[0] > 1 or span[2] < width - 1)
        if is_group:
            return row
    return rows[-1]


def _last_header_row(sheet: _Sheet, first: int) -> int:
    """Return the last row of the header: names stand below cells merged side by side, or beside those merged down."""
    last = first
    while True:
        spans = [span for span in sheet.merged if first <= span[1] <= last]
        below = max((bottom + (right > left) for left, _, right, bottom in spans), default=last)
        below = min(below, first + _TITLES)
        if below <= last:
            return last
        last = below


def _names(sheet: _Sheet, first: int, last: int, width: int) -> list[str]:
    """Name each column by its lowest header cell, with the group above it where that alone says too little."""
    parts: list[list[str]] = [[] for _ in range(width)]
    for row in range(first, last + 1):
        texts = dict(sheet.rows.get(row, {}))
        for left, top, right, bottom in sheet.merged:
            if top <= row <= bottom and top <= last:
                text = sheet.rows.get(top, {}).get(left, "")
                texts.update(dict.fromkeys(range(left, min(right, width) + 1), text))
        for column, text in texts.items():
            if text and text not in parts[column - 1][-1:]:
                parts[column - 1].append(text)
    counts = Counter(names[-1] for names in parts if names)

    def says_little(name: str) -> bool:
        return counts[name] > 1 or name.isdigit() or len(name) == 1

    return [" ".join(names if says_little(names[-1]) else names[-1:]) if names else "" for names in parts]


def _fill_down(sheet: _Sheet, span: Span) -> bool:
    """Give each row of a merged range its value; tell whether it had one to give."""
    left, top, _, bottom = span
    text = sheet.rows.get(top, {}).get(left, "")
    if not text or bottom == top:
        return False
    for row in list(sheet.rows):
        if top < row <= bottom:
            sheet.rows[row][left] = text
    return True
