"""Tables in Excel workbooks (.xlsx, .xlsm), read as the text that a person sees in the cells.

A code typed as text keeps its zeros (007), a number loses its `.0`, dates are written as 2024-05-31. Formulas count
with the value that Excel saved for them. Titles above the header are skipped, header rows with merged cells become one
name per column, and a merged cell below the header counts for each of its rows, with a note. Cells that hold an error
(#REF!) or a formula without a saved value are empty, with a note that gives their address.

A workbook is an archive of XML files, and may come from anywhere: entities are refused by defusedxml, which openpyxl
uses where it is installed, archives that announce more than `LARGEST_UNPACKED` bytes are refused before they are
unpacked, and tags and cells are counted before and while they are parsed. Whatever else openpyxl raises becomes an
error for people.
"""

import contextlib
import dataclasses
import datetime
import io
import math
import re
import warnings
import zipfile
from bisect import bisect_right
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from defusedxml.common import DefusedXmlException
from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.reader.excel import ExcelReader
from openpyxl.utils import coordinate_to_tuple, get_column_letter
from openpyxl.utils.datetime import to_excel
from openpyxl.worksheet._reader import FORMULA_TAG, INLINE_STRING, MERGE_TAG, ROW_TAG, WorkSheetParser
from openpyxl.worksheet.cell_range import CellRange
from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS
from openpyxl.xml.functions import iterparse

from peerfront.foundation.errors import DataFileError, PeerfrontError
from peerfront.foundation.files import Note, is_encrypted
from peerfront.foundation.messages import Message, note
from peerfront.foundation.spreadsheets import MOST_ROWS, as_typed
from peerfront.foundation.table_layout import Area, Span, areas
from peerfront.foundation.text_tables import Book, TextTable, first_table, table_of

LARGEST_UNPACKED = 300 * 2**20
"""Bytes that the parts of a workbook may have unpacked: some hundred thousand rows."""
MOST_CELLS = 3_000_000
"""Cells of the largest sheet that is read, empty ones with a format too; openpyxl reads some 100,000 in a second."""
_MOST_PARTS = 10_000
_MOST_TAGS = 10_000_000  # of all texts
_MOST_OTHER_TAGS = 500_000  # of any other part, and of a sheet beside its cells
_TAGS_OF_CELL = 10  # a text with its format
_MOST_MERGED = 20_000
_MOST_CHARACTERS = 300 * 2**20  # of a sheet; the same long text may stand in many cells
_MOST_COLUMNS = 16_384  # of a sheet
_LONGEST_PLACE = 12  # characters of XFD1048576
_CHUNK = 2**20  # bytes that a tag or a comment may have: parsers read endless ones again and again
_MARKS = ((b"<!--", b"<![", b"<?"), (b"-->", b"]]>", b"?>"))
_STRING_TAG, _PIECE_TAG, _RUN_TAG = (f"{{{SHEET_MAIN_NS}}}{name}" for name in ("si", "t", "r"))
_CELL_TAG = re.compile(rb"<(?:\w+:)?(?:c|row)[\s/>]")
_MERGE_TAG = re.compile(rb"<(?:\w+:)?mergeCell[\s/>]")
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
        source = _opened(content)
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
        for part in parts:
            if part.filename.lower().endswith((".xml", ".rels")):
                _check_part(path, archive, part)


def _check_part(path: Path, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    """Count what a part holds as it is unpacked, and refuse what would take too long to parse."""
    name = part.filename.lower()
    is_sheet = "/worksheets/" in name
    most = _MOST_TAGS if "sharedstrings" in name else _MOST_OTHER_TAGS
    tags = cells = merged = unclosed = 0
    with archive.open(part) as source:
        while chunk := source.read(_CHUNK):
            tags += chunk.count(b"<")
            opened, closed = (max(map(chunk.rfind, marks)) for marks in _MARKS)
            unclosed = unclosed + 1 if opened > closed or (unclosed and closed < 0) else 0
            if is_sheet:
                cells += sum(1 for _ in _CELL_TAG.finditer(chunk))
                merged += sum(1 for _ in _MERGE_TAG.finditer(chunk))
            of_cells = _TAGS_OF_CELL * cells
            if tags > most + of_cells or cells > MOST_CELLS or merged > _MOST_MERGED:
                raise DataFileError("workbook.too_many_cells", path=path, most=MOST_CELLS)
            if unclosed > 1 or (len(chunk) == _CHUNK and b"<" not in chunk):
                raise ValueError("an endless tag")


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
        source = _opened(content)
        sheet = _parsed(path, source, name)
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


def _opened(content: bytes) -> Any:
    reader = _Reader(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    reader.read()
    return reader.wb


class _Reader(ExcelReader):
    """openpyxl's reader, with a faster way to the texts that cells share."""

    def read_strings(self) -> None:
        part: Any = self.package.find(SHARED_STRINGS)  # type: ignore[no-untyped-call]
        if part is None:
            return
        with self.archive.open(part.PartName[1:]) as source:
            for _, element in iterparse(source):
                if element.tag == _STRING_TAG:
                    self.shared_strings.append(_text_in(element).replace("x005F_", ""))
                    element.clear()


def _text_in(element: Any) -> str:
    """The text of a cell, in one piece or in several with formats of their own, without how it is pronounced."""
    pieces = [] if element is None else [*element.findall(_PIECE_TAG), *element.findall(f"{_RUN_TAG}/{_PIECE_TAG}")]
    return "".join(piece.text or "" for piece in pieces)


class _Parser(WorkSheetParser):
    """openpyxl's own parser of cells, which also tells formulas without a saved value from empty ones."""

    merged: tuple[Span, ...] = ()

    def parse(self) -> Generator[Any, None, None]:
        """Parse the rows and the merged cells; nothing else of a sheet is needed."""
        for _, element in iterparse(self.source):
            if element.tag == ROW_TAG:
                yield self.parse_row(element)
                element.clear()
            elif element.tag == MERGE_TAG:
                places = [str(cell.get("ref"))[: 2 * _LONGEST_PLACE] for cell in element]
                self.merged = tuple(CellRange(place).bounds for place in places)
                element.clear()

    def parse_cell(self, element: Any) -> dict[str, Any]:
        if len(element.get("r", "")) > _LONGEST_PLACE:
            raise ValueError("no place of a cell")
        text = _text_in(element.find(INLINE_STRING)) if element.get("t") == "inlineStr" else ""
        if text:
            element.set("t", "str")  # openpyxl takes a tenth of a millisecond for each
        cell: dict[str, Any] = super().parse_cell(element)
        if text:
            cell |= {"value": text, "data_type": "s"}
        if cell["value"] is None and element.find(FORMULA_TAG) is not None:
            cell["data_type"] = "f"
        return cell


def _parsed(path: Path, workbook: Any, name: str) -> _Sheet:
    """Read a sheet cell by cell: rows and columns that a sheet only announces take no room."""
    sheet = workbook[name]
    rows: Rows = {}
    faults: dict[tuple[int, int], str] = {}
    formats: dict[int, str] = {}
    count = characters = 0
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
            count += len(cells)
            if count > MOST_CELLS or characters > _MOST_CHARACTERS:
                raise DataFileError("workbook.too_many_cells", path=path, most=MOST_CELLS)
            for cell in cells:
                place = cell["row"], cell["column"]
                if not (0 < place[0] <= MOST_ROWS and 0 < place[1] <= _MOST_COLUMNS):
                    raise ValueError("no place of a sheet")
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
                        characters += len(text)
    width = sum(max(cells) for cells in rows.values())  # far cells make long rows
    if width > 2 * MOST_CELLS:
        raise DataFileError("workbook.too_many_cells", path=path, most=MOST_CELLS)
    return _Sheet(dict(sorted(rows.items())), parser.merged, faults)


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
    by_row = {row: cells for row, _, cells in place.records}
    numbers = list(by_row)
    for span in sheet.merged:
        below = slice(bisect_right(numbers, span[1]), bisect_right(numbers, span[3]))
        if span[1] > place.last_header and _fill_down(by_row, numbers[below], span, place.left):
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


def _fill_down(by_row: dict[int, list[str]], below: list[int], span: Span, before: int) -> bool:
    """Give each row of a merged range its value; tell whether it had one to give. Columns `before` are not here."""
    n, top = span[0] - 1 - before, by_row.get(span[1], [])
    text = top[n] if 0 <= n < len(top) else ""
    if not text or span[3] == span[1]:
        return False
    for row in below:
        cells = by_row[row]
        cells += [""] * (n + 1 - len(cells))
        cells[n] = text
    return True
