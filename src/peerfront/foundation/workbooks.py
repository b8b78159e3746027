"""Write Excel workbooks in which nothing that people typed is a formula, with the same bytes for the same content.

Every text is stored as a text, also one that begins with = + - @, and marked as such (Excel's quote prefix), so that it
stays a text when the cell is edited. Characters that cannot be seen or stored are spelled out, as on the screen. The
time of writing is left out of the file.
"""

import io
import re
import zipfile
from datetime import datetime

from openpyxl import Workbook
from openpyxl.cell.cell import Cell
from openpyxl.worksheet.worksheet import Worksheet

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.shown import LONGEST_LINE, visible
from peerfront.foundation.spreadsheets import neutralised

A4 = 9
"""Excel's number of the paper size; Excel and LibreOffice put an A4 page on Letter paper when asked to print there."""
MOST_ROWS = 1_048_576
"""Rows of a worksheet."""
SUFFIX = ".xlsx"
_EPOCH = datetime(2000, 1, 1)
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*(</dcterms:modified>)")


def put(sheet: Worksheet, row: int, column: int, value: str | int | float | None) -> Cell:
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
    assert isinstance(cell, Cell)
    return cell


def check_rows(rows: int, what: str) -> None:
    """Refuse more rows than a worksheet has."""
    if rows > MOST_ROWS:
        raise DataFileError("workbook.too_many_rows", what=what, rows=rows, most=MOST_ROWS)


def set_print(sheet: Worksheet, *, repeated: str, landscape: bool, header: str = "", footer: str = "") -> None:
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


def workbook_bytes(book: Workbook) -> bytes:
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
