"""Change single cells of a table's file; every other byte of it stays as it is.

A text is edited where the cell stands, with the quotation marks and blanks that were around it. A workbook's sheet is
edited in its XML: other sheets, formats, formulas and the values that Excel saved for them are not touched, which
writing the whole workbook anew would lose. A row that is left out becomes an empty one: rows keep their numbers.
"""

import io
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from xml.parsers import expat
from xml.sax.saxutils import escape

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.spreadsheets import as_typed, neutralised
from peerfront.foundation.text_tables import TextTable

Span = tuple[int, int]
Edits = Mapping[tuple[int, str], str]  # (row, column) -> what the cell should hold


class Cells(Protocol):
    """The cells of some rows of a file, and how to change them."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    def text(self, row: int, column: str) -> str | None:
        """What the cell holds; None if there is no such cell."""

    def others(self, row: int, column: str) -> bool:
        """Whether other rows share the cell, or, without a column, a cell of the row."""

    def changed(self, edits: Edits, emptied: Collection[int]) -> bytes:
        """The file with these cells changed and these rows left out."""


# Text -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextCells:
    """Cells of a text: where they stand, how they are read, and how they are written in the place of an earlier one."""

    content: str
    columns: tuple[str, ...]
    places: Mapping[int, Mapping[str, Span]]  # row -> column -> where it stands
    rows: Mapping[int, Span]  # without their line ends
    read: Callable[[str], str]
    write: Callable[[str, str], str]  # (what stood there, new text)
    encoded: Callable[[str], bytes] = str.encode
    left_out: Callable[[str], str] = field(default=lambda row: "")
    shared: Collection[int] = ()
    """Rows that hold cells of another table."""

    def text(self, row: int, column: str) -> str | None:
        place = self.places.get(row, {}).get(column)
        return None if place is None else self.read(self.content[slice(*place)])

    def others(self, row: int, column: str) -> bool:
        return not column and row in self.shared

    def changed(self, edits: Edits, emptied: Collection[int]) -> bytes:
        changes = {
            self.places[row][column]: self.write(self.content[slice(*self.places[row][column])], text)
            for (row, column), text in edits.items()
            if row not in emptied
        }
        changes |= {self.rows[row]: self.left_out(self.content[slice(*self.rows[row])]) for row in emptied}
        return self.encoded(_replaced(self.content, changes))


def _replaced(content: str, changes: Mapping[Span, str]) -> str:
    parts, end = [], 0
    for (start, stop), text in sorted(changes.items()):
        parts += [content[end:start], text]
        end = stop
    return "".join([*parts, content[end:]])


def table_cells(
    text: str, table: TextTable, wanted: Collection[int], encoded: Callable[[str], bytes] = str.encode
) -> TextCells:
    """The cells of a table in a text, in some of its rows."""
    if table.separator == " ":
        return _blank_cells(text, table, wanted, encoded)
    sign = re.escape(table.separator)
    cell = re.compile(rf'("(?:[^"]|"")*"|[^{sign}\r\n]*)({sign}|\r\n|\r|\n|\Z)')
    places: dict[int, dict[str, Span]] = {}
    rows: dict[int, Span] = {}
    here = set(wanted) & set(table.rows.tolist())
    left, right = min(table.places.values()), max(table.places.values()) + 1
    shared = set()
    for row, spans in _records(cell, text, table.separator):
        if row in here:
            rows[row] = spans[0][0], spans[-1][1]
            places[row] = {name: spans[n - 1] for name, n in table.places.items() if n <= len(spans)}
            if any(text[slice(*span)].strip() for span in [*spans[: left - 1], *spans[right:]]):
                shared.add(row)

    def written(before: str, new: str) -> str:
        core = neutralised(new)
        if before.strip().startswith('"') or re.search(rf'[{sign}"\r\n]', core):
            return '"' + core.replace('"', '""') + '"'
        blanks = len(before) - len(before.lstrip()), len(before.rstrip())
        return core if not before.strip() else before[: blanks[0]] + core + before[blanks[1] :]

    def read(raw: str) -> str:
        return as_typed(_unquoted(raw).strip())

    return TextCells(text, tuple(table.places), places, rows, read, written, encoded, shared=shared)


def _records(cell: re.Pattern[str], text: str, separator: str) -> Iterator[tuple[int, list[Span]]]:
    """Cut a text into records as the csv module does: the number of each, and where its cells stand."""
    row, spans = 1, []
    for match in cell.finditer(text):
        spans.append(match.span(1))
        if match[2] != separator:
            yield row, spans
            row, spans = row + 1, []


def _unquoted(raw: str) -> str:
    return raw[1:-1].replace('""', '"') if len(raw) > 1 and raw[0] == raw[-1] == '"' else raw


def _blank_cells(text: str, table: TextTable, wanted: Collection[int], encoded: Callable[[str], bytes]) -> TextCells:
    """Cells between blanks, or in fixed places: a new text takes the blanks behind it, so that the others stay."""
    places: dict[int, dict[str, Span]] = {}
    rows: dict[int, Span] = {}
    word = re.compile(r'"(?:[^"]|"")*" *|\S+ *')
    start = 0
    for row, line in enumerate(text.splitlines(keepends=True), start=1):
        bare = line.rstrip("\r\n")
        spans = [(start + match.start(), start + match.end()) for match in word.finditer(bare)]
        if row in wanted and len(spans) == max(table.places.values()):
            rows[row] = start, start + len(bare)
            places[row] = {name: spans[n - 1] for name, n in table.places.items()}
        start += len(line)

    def written(before: str, new: str) -> str:
        core = f'"{new}"' if " " in new or before.startswith('"') else new
        return core.ljust(max(len(before), len(core) + 1)) if before.endswith(" ") else core

    return TextCells(text, tuple(table.places), places, rows, lambda raw: _unquoted(raw.strip()), written, encoded)


# Workbooks --------------------------------------------------------------------------------------------------------


_CHAIN = "xl/calcChain.xml"  # in which order Excel computes formulas; it makes a new one
_LISTED_CHAIN = re.compile(rb"<(?:\w+:)?(?:Override|Relationship)\b[^>]*calcChain\.xml[^>]*/>")
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # signs that XML cannot hold


@dataclass(frozen=True)
class _Element:
    """A cell of a sheet's XML: where it stands, and what it is."""

    start: int
    end: int
    kind: str
    style: str
    formula: bool
    shared: bool
    """Whether its formula is that of other cells too."""


class WorkbookCells:
    """Cells of a sheet of a workbook."""

    def __init__(self, path: Path, content: bytes, table: TextTable) -> None:
        from peerfront.foundation.excel_tables import SheetGrid, sheet_grid  # only here: openpyxl takes a while to load

        self._content, self._places = content, table.places
        self._grid: SheetGrid = sheet_grid(path, content, table.sheet)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            self._xml = archive.read(self._grid.part).removeprefix(b"\xef\xbb\xbf")
        self._prefix, self._elements, self._ends = _elements_of(path, self._xml)
        self._width = range(min(table.places.values()), max(table.places.values()) + 2)  # with notes beside it

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._places)

    def text(self, row: int, column: str) -> str | None:
        place = self._places.get(column)
        return None if place is None or row not in self._ends else self._grid.rows.get(row, {}).get(place, "")

    def others(self, row: int, column: str) -> bool:
        places = {self._places[column]} if column else set(self._width)
        elements = [self._elements.get((row, place)) for place in places]
        merged = any(
            top <= row <= bottom and bottom > top and places & set(range(left, right + 1)) and (column or top == row)
            for left, top, right, bottom in self._grid.merged
        )
        beside = not column and not set(self._grid.rows.get(row, {})) <= places
        return beside or merged or any(each is not None and each.shared for each in elements)

    def changed(self, edits: Edits, emptied: Collection[int]) -> bytes:
        values = {(row, self._places[column]): text for (row, column), text in edits.items()}
        values |= {place: "" for place in self._elements if place[0] in emptied and place[1] in self._width}
        xml, parts, end = self._xml, [], 0
        changes = [self._change(row, place, text) for (row, place), text in values.items()]
        for start, stop, new in sorted(changes):
            parts += [xml[end:start], new]
            end = stop
        formulas = any(self._elements[place].formula for place in values if place in self._elements)
        return self._with(b"".join([*parts, xml[end:]]), formulas)

    def _change(self, row: int, column: int, text: str) -> tuple[int, int, bytes]:
        """Where in the XML something is replaced, and by what."""
        from peerfront.foundation.excel_tables import address, stored_number

        there = self._elements.get((row, column))
        if there is None:  # an empty cell without a format: it stands before the next one of its row
            later = [each.start for place, each in self._elements.items() if place[0] == row and place[1] > column]
            start = end = min(later, default=self._ends[row])
        else:
            start, end = there.start, there.end
        tag = f"<{self._prefix}c"
        opened = f'{tag} r="{address(column, row)}"' + (f' s="{there.style}"' if there and there.style else "")
        if not text:
            return start, end, f"{opened}/>".encode()
        number = None
        if there is not None and there.kind in ("", "n"):
            number = stored_number(text, self._grid.rows.get(row, {}).get(column, ""), self._grid.epoch)
        x = self._prefix
        if number is not None:
            return start, end, f"{opened}><{x}v>{number}</{x}v></{x}c>".encode()
        shown = escape(_UNFIT.sub("", text)).encode("ascii", "xmlcharrefreplace").decode()
        inline = f'{opened} t="inlineStr"><{x}is><{x}t xml:space="preserve">{shown}</{x}t></{x}is></{x}c>'
        return start, end, inline.encode()

    def _with(self, xml: bytes, formulas: bool) -> bytes:
        """The workbook with another sheet; without Excel's list of formulas, if some are gone."""
        new = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(self._content)) as source, zipfile.ZipFile(new, "w") as target:
            for part in source.infolist():
                content = xml if part.filename == self._grid.part else source.read(part)
                if formulas and part.filename == _CHAIN:
                    continue
                if formulas and part.filename in ("[Content_Types].xml", "xl/_rels/workbook.xml.rels"):
                    content = _LISTED_CHAIN.sub(b"", content)
                target.writestr(part, content, compress_type=part.compress_type)
        return new.getvalue()


def _elements_of(path: Path, xml: bytes) -> tuple[str, dict[tuple[int, int], _Element], dict[int, int]]:
    """The prefix of a sheet's elements, its cells by row and column, and where the cells of each row end."""
    from peerfront.foundation.excel_tables import place_of

    elements: dict[tuple[int, int], _Element] = {}
    ends: dict[int, int] = {}
    prefix, row, column, start, opening = "", 0, 0, 0, 0
    opened: dict[str, str] = {}
    formula: dict[str, str] | None = None
    parser = expat.ParserCreate()

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal prefix, row, column, start, opening, opened, formula
        before, _, local = name.rpartition(":")
        if local == "row":
            prefix = f"{before}:" if before else ""
            row, column = int(attributes.get("r", row + 1)), 0
        elif local == "c":
            place = place_of(attributes["r"]) if "r" in attributes else (row, column + 1)
            column, start, opened, formula = place[1], parser.CurrentByteIndex, attributes, None
            opening = xml.index(b">", start) + 1
        elif local == "f":
            formula = attributes

    def finish(name: str) -> None:
        local = name.rpartition(":")[2]
        here = parser.CurrentByteIndex
        if local == "c":
            shared = formula is not None and "ref" in formula
            kind, style = opened.get("t", ""), opened.get("s", "")
            end = opening if xml[opening - 2 : opening] == b"/>" else xml.index(b">", here) + 1
            elements[row, column] = _Element(start, end, kind, style, formula is not None, shared)
        elif local == "row" and xml[here : here + 2] == b"</" and column:
            ends[row] = here

    def refuse(*_: object) -> None:
        raise DataFileError("workbook.entities", path=path)

    parser.StartElementHandler, parser.EndElementHandler, parser.EntityDeclHandler = begin, finish, refuse
    try:
        parser.Parse(xml, True)
    except (expat.ExpatError, ValueError) as problem:
        raise DataFileError("workbook.damaged", path=path, problem=type(problem).__name__) from None
    return prefix, elements, ends
