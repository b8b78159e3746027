"""Tables in Excel workbooks (.xlsx, .xlsm), read as the text that a person sees in the cells.

A code typed as text keeps its zeros (007), a number loses its `.0`, dates are written as 2024-05-31. Formulas count
with the value that Excel saved for them. Titles above the header are skipped, header rows with merged cells become one
name per column, and a merged cell below the header counts for each of its rows, with a note. Cells that hold an error
(#REF!) or a formula without a saved value are empty, with a note that gives their address.

A workbook is an archive of XML files, and may come from anywhere: entities are refused by defusedxml, which openpyxl
uses where it is installed, and archives that announce more than `LARGEST_UNPACKED` bytes, or whose parts hold more than
`MOST_ELEMENTS` cells and texts, are refused before they are parsed.
"""

import contextlib
import dataclasses
import datetime
import io
import math
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from defusedxml.common import DefusedXmlException
from openpyxl import load_workbook
from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.utils import coordinate_to_tuple, get_column_letter
from openpyxl.utils.datetime import to_excel
from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

from peerfront.foundation.errors import DataFileError, PeerfrontError
from peerfront.foundation.files import Note, is_encrypted
from peerfront.foundation.messages import Message, note
from peerfront.foundation.spreadsheets import as_typed
from peerfront.foundation.table_layout import Area, Span, areas
from peerfront.foundation.text_tables import Book, TextTable, first_table, table_of

LARGEST_UNPACKED = 300 * 2**20
"""Bytes that the parts of a workbook may have unpacked: some hundred thousand rows."""
MOST_ELEMENTS = 5_000_000
"""Cells, also empty ones, and shared texts that a workbook may have: half a minute of parsing."""
_MOST_PARTS = 10_000
_ELEMENTS = (b"<c", b":c", b"<si", b":si")  # how cells and shared texts begin, and a few others
_AT_ONCE = 2**20  # bytes
_MOST_EXACT = 1e15  # Excel keeps fifteen digits of a number; longer codes have lost the others
_NOT_KNOWN = "#N/A"  # Excel's own way to say so, which readers of tables understand
_ZEROS = re.compile(r"0+")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")

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
            sheet = _parsed(source, name)
        return _table(path, name, sheet, may_be_empty)

    return Book(path, visible, tuple(name for name in states if name not in visible), "sheet", table)


def _check_archive(path: Path, content: bytes) -> None:
    """Refuse archives that are no workbook, or too large; the sizes announced bound what is unpacked."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    parts = archive.infolist()
    size = sum(part.file_size for part in parts)
    if size > LARGEST_UNPACKED or len(parts) > _MOST_PARTS:
        limits = {"most": LARGEST_UNPACKED, "most_parts": _MOST_PARTS}
        raise DataFileError("workbook.too_large", path=path, size=size, parts=len(parts), **limits)
    names = {part.filename for part in parts}
    if "[Content_Types].xml" not in names or "xl/workbook.xml" not in map(str.lower, names):
        raise DataFileError("workbook.no_workbook", path=path)
    elements = 0
    for part in parts:
        if part.filename.endswith(".xml"):
            with archive.open(part) as stream:
                while block := stream.read(_AT_ONCE):
                    elements += sum(block.count(begin) for begin in _ELEMENTS)
                    if elements > MOST_ELEMENTS:
                        raise DataFileError("workbook.too_many_cells", path=path, most=MOST_ELEMENTS)


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Turn whatever a damaged or hostile workbook raises into an error for people; silence openpyxl's warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except PeerfrontError:
        raise
    except Exception as problem:  # a file from anywhere makes openpyxl, zipfile and the XML parser raise anything
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


# Where a sheet's cells stand, to change some -------------------------------------------------------------------------


@dataclass(frozen=True)
class SheetGrid:
    """The texts of a sheet by row and column, and where they stand in the workbook."""

    part: str
    """The sheet's file in the archive."""
    rows: Rows
    merged: tuple[Span, ...]
    epoch: datetime.datetime


def sheet_grid(path: Path, content: bytes, name: str) -> SheetGrid:
    """Read the cells of a sheet as they stand in it."""
    with _in_words(path):
        source = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
        sheet = _parsed(source, name)
        part = str(vars(source[name])["_worksheet_path"])
    return SheetGrid(part, sheet.rows, sheet.merged, source.epoch)


def stored_number(text: str, before: str, epoch: datetime.datetime) -> str | None:
    """The number that a sheet stores for a text in place of another number or date; None if it stays a text."""
    with contextlib.suppress(ValueError, OverflowError):
        if _ISO_DATE.match(before):
            day = datetime.datetime.fromisoformat(text)
            return f"{float(to_excel(day, epoch)):.15g}"  # type: ignore[no-untyped-call]
        if cell_text(float(text)) == text and math.isfinite(float(text)):
            return text
    return None


def address(column: int, row: int) -> str:
    """B7 of column 2 and row 7."""
    return f"{get_column_letter(column)}{row}"


def place_of(cell: str) -> tuple[int, int]:
    """Row and column of a cell such as B7."""
    row, column = coordinate_to_tuple(cell.replace("$", ""))
    return row, column


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


def _parsed(workbook: Any, name: str) -> _Sheet:
    """Read a sheet cell by cell: rows and columns that a sheet only announces take no room."""
    sheet = workbook[name]
    rows: Rows = {}
    faults: dict[tuple[int, int], str] = {}
    formats: dict[int, str] = {}
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
    """Find the tables of a sheet, and put the rows below each header into one."""
    called = note("workbook.sheet", path=path, sheet=name)
    if not sheet.rows:
        raise DataFileError("workbook.empty_sheet", path=called)
    rows = [
        (row, row, [cells.get(column, "") for column in range(1, max(cells) + 1)]) for row, cells in sheet.rows.items()
    ]
    return first_table(areas(rows, sheet.merged), lambda place: _table_at(called, name, sheet, place, may_be_empty))


def _table_at(called: Message, name: str, sheet: _Sheet, place: Area, may_be_empty: bool) -> TextTable:
    header = place.header
    named = max((n + 1 for n, title in enumerate(header) if title), default=0)
    notes = []
    for span in sheet.merged:
        if span[1] > place.last_header and _fill_down(place, span):
            fault = note("problems.merged_cells", first=address(*span[:2]), last=address(*span[2:]))
            notes.append(Note("merged-cells", span[1], fault))
    beyond = [(row, n) for row, _, cells in place.records for n in range(named, len(cells)) if cells[n]]
    for number in sorted({n for _, n in beyond}):
        first = next(row for row, n in beyond if n == number)
        fault = note("problems.unnamed_column", number=place.left + number + 1)
        notes.append(Note("unnamed-column", first, fault))
    records = [(row, line, cells[:named]) for row, line, cells in place.records] if named else place.records
    table = table_of(called, header, records, may_be_empty=may_be_empty, left=place.left)
    for (row, column), error in sorted(sheet.faults.items()):
        n = column - 1 - place.left
        if place.last_header < row < place.end and 0 <= n < len(header) and header[n]:
            cell = address(column, row)
            fault = note("problems.cell_formula", cell=cell, column=header[n])
            if error:
                fault = note("problems.cell_error", cell=cell, column=header[n], error=error)
            notes.append(Note("cell-without-value", row, fault, header[n]))
    return dataclasses.replace(table, notes=(*notes, *table.notes), sheet=name)


def _fill_down(place: Area, span: Span) -> bool:
    """Give each row of a merged range its value; tell whether it had one to give."""
    left, top, _, bottom = span
    n = left - 1 - place.left
    text = next((cells[n] for row, _, cells in place.records if row == top and 0 <= n < len(cells)), "")
    if not text or bottom == top:
        return False
    for row, _, cells in place.records:
        if top < row <= bottom:
            cells += [""] * (n + 1 - len(cells))
            cells[n] = text
    return True
