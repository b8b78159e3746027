"""Tables and workbooks for spreadsheets, in which nothing that people typed becomes a formula.

A spreadsheet runs a cell that begins with = + - @ as a formula, wherever the text came from. Such texts (and those that
begin with a tab or a line break, which spreadsheets drop) are written with an apostrophe before them, the sign by which
spreadsheets mark text. Every reader of this package takes it away again: `as_typed(neutralised(text)) == text` for all
texts. Plain negative numbers (-5) stay as they are.

In a workbook every text is stored as a text and marked as such (Excel's quote prefix), so that it stays a text when the
cell is edited. The same content gives the same bytes: the time of writing is left out of the file.
"""

import codecs
import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import encoded, written_whole
from peerfront.foundation.shown import LONGEST_LINE, visible

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell.cell import Cell
    from openpyxl.worksheet.worksheet import Worksheet

_SIGNS = "[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"  # the full-width signs begin formulas in some editions
_FORMULA = re.compile(f"'*{_SIGNS}")
_MARKED = re.compile(f"'+{_SIGNS}")
_NEGATIVE = re.compile(r"-[0-9]+(?:\.[0-9]+)?")


def neutralised(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run, or that `as_typed` would change."""
    return f"'{text}" if _FORMULA.match(text) and not _NEGATIVE.fullmatch(text) else text


def as_typed(text: str) -> str:
    """Take away the apostrophe that marks a cell as text; texts that were never neutralised stay as they are."""
    return text[1:] if text[:1] == "'" and _MARKED.match(text) else text


def quoting_for(texts: Iterable[str]) -> Literal[0, 2]:
    """Return how the csv module must quote: a carriage return ends a row for readers, and is not quoted by itself."""
    return csv.QUOTE_NONNUMERIC if any("\r" in text for text in texts) else csv.QUOTE_MINIMAL


def csv_text(table: pd.DataFrame, float_format: str | None = None) -> str:
    """Write a table as CSV for spreadsheets: texts and the names of columns neutralised, numbers as they are."""
    safe = table.rename(columns=lambda name: neutralised(str(name)))
    texts = [str(name) for name in table.columns]
    for place, (_, values) in enumerate(table.items()):
        if values.dtype == object or isinstance(values.dtype, pd.StringDtype | pd.CategoricalDtype):
            cells = [neutralised(cell) if isinstance(cell, str) else cell for cell in values]
            texts += [cell for cell in cells if isinstance(cell, str)]
            safe.isetitem(place, np.array([*cells, None], dtype=object)[:-1])  # an array of objects, whatever they are
    return safe.to_csv(index=False, lineterminator="\n", float_format=float_format, quoting=quoting_for(texts))


_ROWS_AT_ONCE = 1_000


def write_rows(
    path: Path, columns: Sequence[str], rows: Callable[[], Iterable[Sequence[str]]], *, private: bool = False
) -> None:
    """Write a table of texts as `csv_text` and `write_csv` do, a row at a time.

    Letters beyond ASCII and carriage returns change how the whole file is written, so the first one starts it again,
    and `rows` is asked for the rows once more.
    """
    mark, quoting = b"", quoting_for(columns)
    with written_whole(path, private=private) as file:
        parts = _written_rows(columns, rows(), quoting)
        while (text := next(parts, None)) is not None:
            if (text.isascii() or mark) and ("\r" not in text or quoting != csv.QUOTE_MINIMAL):
                file.write(encoded(path, text, "utf-8"))
                continue
            mark, quoting = mark if text.isascii() else codecs.BOM_UTF8, quoting_for([text, *columns])
            file.seek(0)
            file.truncate()
            file.write(mark)
            parts = _written_rows(columns, rows(), quoting)


def _written_rows(columns: Sequence[str], rows: Iterable[Sequence[str]], quoting: Literal[0, 2]) -> Iterator[str]:
    """The text of the file, some rows at a time."""
    lines = iter(chain([columns], rows))
    while some := list(islice(lines, _ROWS_AT_ONCE)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n", quoting=quoting).writerows([map(neutralised, row) for row in some])
        yield text.getvalue()


# Workbooks -----------------------------------------------------------------------------------------------------------


A4 = 9
"""Excel's number of the paper size; Excel and LibreOffice put an A4 page on Letter paper when asked to print there."""
MOST_ROWS = 1_048_576
"""Rows of a worksheet."""
_EPOCH = datetime(2000, 1, 1)
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*(</dcterms:modified>)")


def put(sheet: "Worksheet", row: int, column: int, value: str | int | float | None) -> "Cell":
    """Write a number, or a text that stays a text whatever it begins with, and return the cell."""
    cell = sheet.cell(row, column)
    if isinstance(value, str):
        text = visible(value, LONGEST_LINE)
        cell.value = text
        cell.data_type = "s"
        if neutralised(text) != text:
            cell.quotePrefix = True
    else:
        cell.value = value
    return cell  # type: ignore[return-value] # a cell of a new sheet, not one that was merged away


def check_rows(rows: int, what: str) -> None:
    """Refuse more rows than a worksheet has."""
    if rows > MOST_ROWS:
        raise DataFileError("workbook.too_many_rows", what=what, rows=rows, most=MOST_ROWS)


def set_print(sheet: "Worksheet", *, repeated: str, landscape: bool, header: str = "", footer: str = "") -> None:
    """Prepare a sheet for the printer: one page wide on A4 and on Letter, some rows on every page, page numbers.

    `repeated` are rows such as "1:3". `header` stands above every page on the right, `footer` below it on the left.
    """
    sheet.print_title_rows = repeated
    sheet.page_setup.orientation = "landscape" if landscape else "portrait"
    sheet.page_setup.paperSize = A4
    sheet.sheet_properties.pageSetUpPr.fitToPage = True  # type: ignore[union-attr] # always there in a new sheet
    sheet.page_setup.fitToWidth = 1
    sheet.page_setup.fitToHeight = 0
    sheet.page_margins.left = sheet.page_margins.right = 0.45
    sheet.page_margins.top, sheet.page_margins.bottom = (0.7 if header else 0.45), 0.75
    above, below = sheet.oddHeader, sheet.oddFooter
    assert above is not None  # a new sheet has both
    assert below is not None
    above.right.text, below.left.text, below.right.text = _plain(header), _plain(footer), "Page &P of &N"
    sheet.print_options.horizontalCentered = True


def _plain(text: str) -> str | None:
    """A text above or below a page, where & begins a command; None for nothing."""
    return visible(text).replace("&", "&&") or None


def workbook_bytes(book: "Workbook") -> bytes:
    """The workbook as the bytes of a file, without the time at which it was made."""
    book.properties.creator = "peerfront"
    book.properties.created = _EPOCH
    buffer = io.BytesIO()
    book.save(buffer)
    stamp = f"{_EPOCH:%Y-%m-%dT%H:%M:%SZ}".encode()
    plain = io.BytesIO()
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(plain, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "docProps/core.xml":
                content = _MODIFIED.sub(rb"\g<1>" + stamp + rb"\g<2>", content)
            entry = zipfile.ZipInfo(name, _ZIP_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, content)
    return plain.getvalue()
