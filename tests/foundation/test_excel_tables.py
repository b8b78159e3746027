"""Workbooks: cells as a person sees them, headers with merged cells, formulas and errors, and files that are none."""

import contextlib
import datetime
import io
import warnings
import zipfile
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.foundation import excel_tables
from peerfront.foundation.errors import DataFileError, PeerfrontError, UnknownName
from peerfront.foundation.excel_tables import cell_text, open_workbook


def saved(book) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def book_of(*rows, merged=()):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(list(row))
    for cells in merged:
        book.active.merge_cells(cells)
    return book


def table_of(book, sheet="Sheet", **options):
    return open_workbook(Path("study.xlsx"), saved(book)).read(sheet, **options)


def changed(content: bytes, part: str, change) -> bytes:
    """The same archive with one part changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == part else old.read(name))
    return buffer.getvalue()


SHEET = "xl/worksheets/sheet1.xml"


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        ("007", "General", "007"),
        (" x ", "General", "x"),
        (12.0, "General", "12"),
        (7, "000", "007"),
        (0.1 + 0.2, "General", "0.3"),
        (True, "General", "TRUE"),
        (datetime.datetime(2024, 5, 1), "yyyy-mm-dd", "2024-05-01"),
        (datetime.datetime(2024, 5, 1, 12, 30, 5, 999), "yyyy", "2024-05-01 12:30:05"),
        (datetime.time(9, 5), "hh:mm", "09:05:00"),
        (1234567890123456789012, "General", "1.23457E+21"),
        (123456789012345, "0", "123456789012345"),
        ("'=1+1", "General", "=1+1"),
    ],
)
def test_cells_become_the_text_that_a_person_sees(value, number_format, text) -> None:
    assert cell_text(value, number_format) == text


@given(st.integers(-(10**14), 10**14))
def test_whole_numbers_have_no_point(number) -> None:
    assert cell_text(float(number)) == str(number)


def test_a_plain_sheet() -> None:
    table = table_of(book_of(["id", "code", "born"], ["a", "007", datetime.date(1990, 1, 2)], [], ["b", 8, None]))
    assert table.frame.to_dict("list") == {"id": ["a", "b"], "code": ["007", "8"], "born": ["1990-01-02", ""]}
    assert table.rows.tolist() == [2, 4]
    assert (table.notes, table.sheet) == ((), "Sheet")


def test_zeros_that_a_number_format_shows_are_kept() -> None:
    book = book_of(["id", "code"], ["a", 7])
    book.active["B2"].number_format = "0000"
    assert table_of(book).frame["code"].tolist() == ["0007"]


def test_titles_and_two_header_rows() -> None:
    book = book_of(
        ["All interviews"],
        ["printed in May"],
        ["id", "Coupons", None, "About", None],
        [None, 1, 2, "sex", "age"],
        ["a", "A1", "A2", "f", 30],
        merged=["A1:E1", "B3:C3", "D3:E3", "A3:A4"],
    )
    table = table_of(book)
    assert list(table.frame.columns) == ["id", "Coupons 1", "Coupons 2", "sex", "age"]
    assert table.frame.iloc[0].tolist() == ["a", "A1", "A2", "f", "30"]
    assert table.rows.tolist() == [5]


def test_a_group_above_some_columns_only() -> None:
    table = table_of(book_of([None, "Coupons", None], ["id", "1", "2"], ["a", "A1", "A2"], merged=["B1:C1"]))
    assert list(table.frame.columns) == ["id", "Coupons 1", "Coupons 2"]


def test_names_that_stand_in_two_groups_are_told_apart() -> None:
    book = book_of(["id", "Before", None, "After", None], [None, "sex", "age", "sex", "age"], [1, 2, 3, 4, 5])
    for cells in ("A1:A2", "B1:C1", "D1:E1"):
        book.active.merge_cells(cells)
    assert list(table_of(book).frame.columns) == ["id", "Before sex", "Before age", "After sex", "After age"]


def test_merged_cells_count_for_each_row_with_a_note() -> None:
    table = table_of(book_of(["id", "town"], ["a", "North"], ["b"], ["c"], ["d", "South"], merged=["B2:B4"]))
    assert table.frame["town"].tolist() == ["North", "North", "North", "South"]
    assert [(note.kind, note.row) for note in table.notes] == [("merged-cells", 2)]
    assert "B2 to B4 are merged" in str(table.notes[0].message)


def test_formulas_and_errors_are_noted_with_their_cells() -> None:
    book = book_of(["id", "n", "m"], ["a", "=1+1", "#REF!"], ["b", "=2+2", "#N/A"])
    content = changed(saved(book), SHEET, lambda xml: xml.replace(b"<f>2+2</f><v></v>", b"<f>2+2</f><v>4</v>").replace(
        b"<f>2+2</f><v />", b"<f>2+2</f><v>4</v>"))  # fmt: skip
    table = open_workbook(Path("study.xlsx"), content).read("Sheet")
    assert table.frame["n"].tolist() == ["", "4"]
    assert table.frame["m"].tolist() == ["", "#N/A"]  # the last is how Excel says "not known"
    assert [(note.row, note.column) for note in table.notes] == [(2, "n"), (2, "m")]
    assert "Cell B2 (column 'n') holds a formula without a saved value" in str(table.notes[0].message)
    assert "Cell C2 (column 'm') holds the error #REF!" in str(table.notes[1].message)


def test_sheets_by_name() -> None:
    book = book_of(["id"], ["a"])
    book.create_sheet("Old").sheet_state = "hidden"
    workbook = open_workbook(Path("study.xlsx"), saved(book))
    assert (workbook.names, workbook.hidden) == (("Sheet",), ("Old",))
    with pytest.raises(UnknownName, match="no sheet in study.xlsx called 'Shet'. Did you mean 'Sheet'"):
        workbook.read("Shet")
    with pytest.raises(DataFileError, match="sheet 'Old': the sheet is empty"):
        workbook.read("Old")


def test_far_cells_and_huge_merges_take_no_room() -> None:
    book = book_of(["id", "x"], ["a", "b"])
    book.active["A1048576"] = "z"
    content = changed(
        saved(book),
        SHEET,
        lambda xml: xml.replace(
            b"</sheetData>", b'</sheetData><mergeCells><mergeCell ref="C3:XFD1048576"/></mergeCells>'
        ),
    )
    table = open_workbook(Path("study.xlsx"), content).read("Sheet")
    assert table.frame["id"].tolist() == ["a", "z"]
    assert table.rows.tolist() == [2, 1048576]


def test_bombs_and_entities_are_refused(monkeypatch) -> None:
    content = saved(book_of(["id"], ["a"]))
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]>'
    for part in (SHEET, "xl/workbook.xml"):
        evil = changed(
            content, part, lambda xml: bomb + xml.partition(b"?>")[2] if xml.startswith(b"<?xml") else bomb + xml
        )
        with pytest.raises(DataFileError, match="defines XML entities"):
            open_workbook(Path("study.xlsx"), evil).read("Sheet")
    monkeypatch.setattr(excel_tables, "MOST_CELLS", 3)
    with pytest.raises(DataFileError, match="more than 3 cells and texts"):
        open_workbook(Path("study.xlsx"), saved(book_of(["id", "x"], ["a", "b"])))
    monkeypatch.setattr(excel_tables, "LARGEST_UNPACKED", 1000)
    with pytest.raises(DataFileError, match="unpacked, this workbook has .* bytes"):
        open_workbook(Path("study.xlsx"), content)


@pytest.mark.parametrize("cut", [10, 200, -30])
def test_damaged_workbooks(cut) -> None:
    content = saved(book_of(["id"], ["a"]))
    with pytest.raises(DataFileError, match="cannot be read: it is damaged"):
        open_workbook(Path("study.xlsx"), content[:cut])


def test_archives_that_are_no_workbook() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("study.csv", "id\n1\n")
    with pytest.raises(DataFileError, match="zip archive and no Excel workbook.*Unpack it"):
        open_workbook(Path("study.zip"), buffer.getvalue())


def test_parts_that_are_no_numbers() -> None:
    content = changed(saved(book_of(["id"], [5])), SHEET, lambda xml: xml.replace(b"<v>5</v>", b"<v>five</v>"))
    with pytest.raises(DataFileError, match="cannot be read: it is damaged"):
        open_workbook(Path("study.xlsx"), content).read("Sheet")


def test_a_password_is_named_as_the_reason() -> None:
    content = b"\xd0\xcf\x11\xe0" + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(DataFileError, match="is protected by a password.*Encrypt with Password"):
        open_workbook(Path("study.xlsx"), content)


MAIN = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
END = b"</sheetData></worksheet>"


@pytest.mark.parametrize(
    ("sheet", "message"),
    [
        (MAIN + (b"<row>" + b"<c/>" * 1000 + b"</row>") * 4000 + END, "more than 3,000,000 cells"),
        (MAIN + b"<row/>" * 4_000_000 + END, "more than 3,000,000 cells"),
        (MAIN + b"<a>" * 600_000 + b"</a>" * 600_000 + END, "more than 3,000,000 cells"),
        (MAIN + b'<row><c r="' + b"A" * 3_000_000 + b'1"><v>1</v></c></row>' + END, "damaged"),
        (MAIN + b"<!--" + b"<>" * 2_000_000 + b"-->" + END, "more than 3,000,000 cells"),
        (MAIN + b"<row><c><v>" + b"1" * 3_000_000 + b"</v></c></row>" + END, "damaged"),
        (MAIN + b'<row><c r="AAAAAAAAAAAAAA1"><v>1</v></c></row>' + END, "damaged"),
        (MAIN + b'<row r="9999999999"><c><v>1</v></c></row>' + END, "damaged"),
        (MAIN + b'<row r="-1"><c><v>1</v></c></row>' + END, "damaged"),
        (MAIN + b"<row>" + b"<c><v>1</v></c>" * 20_000 + b"</row>" + END, "damaged"),
        (
            MAIN + b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (n, n) for n in range(1, 2000)) + END,
            "more than 3,000,000 cells",
        ),
    ],
    ids=["cells", "rows", "deep", "a long tag", "a long comment", "a long text", "a far column", "a far row", "row -1",
         "many columns", "far cells"],
)  # fmt: skip
def test_sheets_that_would_take_for_ever(sheet, message) -> None:
    content = changed(saved(book_of(["id"], ["a"])), SHEET, lambda _: sheet)
    with pytest.raises(DataFileError, match=message):
        open_workbook(Path("study.xlsx"), content).read("Sheet")


def test_cells_and_characters_are_counted_while_they_are_parsed(monkeypatch) -> None:
    content = saved(book_of(*([["id", "x"]] * 20)))
    monkeypatch.setattr(excel_tables, "_check_part", lambda *_: None)
    monkeypatch.setattr(excel_tables, "MOST_CELLS", 30)
    with pytest.raises(DataFileError, match="has more than 30 cells and texts. Save the sheet as CSV"):
        open_workbook(Path("study.xlsx"), content).read("Sheet")
    monkeypatch.undo()
    monkeypatch.setattr(excel_tables, "_MOST_CHARACTERS", 10)
    with pytest.raises(DataFileError, match="Save the sheet as CSV"):
        open_workbook(Path("study.xlsx"), content).read("Sheet")


def test_texts_with_formats_of_their_own() -> None:
    piece = b'<is><r><rPr><b/></rPr><t>0</t></r><r><t>07 </t></r><rPh sb="0" eb="1"><t>x</t></rPh></is>'
    content = changed(saved(book_of(["id", "code"], ["a", 5])), SHEET, lambda xml: xml.replace(
        b'<c r="B2" t="n"><v>5</v></c>', b'<c r="B2" t="inlineStr">' + piece + b"</c>"))  # fmt: skip
    assert open_workbook(Path("study.xlsx"), content).read("Sheet").frame["code"].tolist() == ["007"]


WORKBOOK = saved(book_of(["id", "x"], *([f"p{n}", n] for n in range(20)), merged=["A3:A4"]))


@given(st.lists(st.tuples(st.integers(0, len(WORKBOOK) - 1), st.integers(0, 255)), min_size=1), st.integers(0, 3000))
def test_changed_bytes_are_read_or_refused_in_words(changes, cut) -> None:
    content = bytearray(WORKBOOK)
    for place, byte in changes:
        content[place] = byte
    with contextlib.suppress(PeerfrontError):
        open_workbook(Path("study.xlsx"), bytes(content[: len(content) - cut])).read("Sheet")


with zipfile.ZipFile(io.BytesIO(WORKBOOK)) as _archive:
    PARTS = {name: _archive.read(name) for name in _archive.namelist()}


@given(st.sampled_from(sorted(PARTS)), st.floats(0, 1), st.binary(max_size=6), st.integers(0, 40), st.booleans())
def test_changed_parts_are_read_or_refused_in_words(part, place, new, gone, twice) -> None:
    old = PARTS[part]
    at = int(place * len(old))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in PARTS.items():
            archive.writestr(name, old[:at] + new + old[at + gone :] if name == part else content)
        if twice:
            archive.writestr(part, old)
    with contextlib.suppress(PeerfrontError):
        open_workbook(Path("study.xlsx"), buffer.getvalue()).read("Sheet")
