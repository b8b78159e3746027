"""Workbooks of studies and of people waiting: which sheet is meant, and what is wrong in its cells."""

import openpyxl
import pytest

from data.made_exports import book_bytes, excel_sheets, made_study
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_frontier, read_study
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName

HEADER = ["id", "own coupon", "coupon 1", "coupon 2", "sex"]
ROWS = [["a", None, "A1", "A2", "f"], ["b", "A1", "B1", "B2", "m"], ["c", "B2", None, None, "f"]]


def put(tmp_path, sheets, change=lambda book: None):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    change(book)
    path = tmp_path / "study.xlsx"
    path.write_bytes(book_bytes(book))
    return path


def test_the_only_sheet_with_coupons_is_read_and_named(tmp_path) -> None:
    path = tmp_path / "study.xlsx"
    path.write_bytes(excel_sheets(made_study()))
    study = read_study(path)
    assert study.settings.sheet == "Interviews"
    assert tuple(map(str, study.steps)) == ("Sheet 'Interviews' was read, and not 'Read me', 'Codes', 'Old' (hidden).",)
    assert guess_schema(study).schema.reading.sheet == "Interviews"


def test_several_sheets_that_would_do_are_asked_for(tmp_path) -> None:
    path = put(tmp_path, {"Clinic A": [HEADER, *ROWS], "Clinic B": [HEADER, *ROWS]})
    with pytest.raises(
        DataFileError, match="any of these sheets could be meant: 'Clinic A', 'Clinic B'.*sheet='Clinic A'"
    ):
        read_study(path)
    assert len(read_study(path, ReadSettings(sheet="Clinic B"))) == 3
    with pytest.raises(UnknownName, match="no sheet in .* called 'Clinic C'"):
        read_study(path, ReadSettings(sheet="Clinic C"))


def test_no_sheet_that_would_do(tmp_path) -> None:
    path = put(tmp_path, {"x": [["a", "b"], [1, 2]], "y": [["c", "d"], [1, 2]]})
    with pytest.raises(DataFileError, match="none of these sheets has the columns that are needed: 'x', 'y'"):
        read_study(path)
    with pytest.raises(DataFileError, match="no sheet of this file holds a table"):
        read_study(put(tmp_path, {"x": [], "y": []}))
    with pytest.raises(DataFileError, match="sheet 'x': the sheet is empty"):
        read_study(put(tmp_path, {"x": []}))


def test_an_error_in_a_code_stops_and_elsewhere_warns(tmp_path) -> None:
    rows = [ROWS[0], ["b", "A1", "B1", "B2", "#REF!"], ROWS[2]]
    study = read_study(put(tmp_path, {"x": [HEADER, *rows]}))
    assert [(p.kind, p.row) for p in study.problems] == [("cell-without-value", 3)]
    assert "Cell E3 (column 'sex') holds the error #REF!" in str(study.problems[0].message)
    rows = [ROWS[0], ["b", "#REF!", "B1", "B2", "f"], ROWS[2]]
    with pytest.raises(DataFileError, match=r"row 3: Cell B3 \(column 'own coupon'\) holds the error #REF!"):
        read_study(put(tmp_path, {"x": [HEADER, *rows]}))


def test_a_formula_that_was_never_computed_is_no_empty_coupon(tmp_path) -> None:
    rows = [ROWS[0], ["b", "=C2", "B1", "B2", "f"], ROWS[2]]
    with pytest.raises(DataFileError, match="Cell B3 .* holds a formula without a saved value"):
        read_study(put(tmp_path, {"x": [HEADER, *rows]}))


def test_long_codes_that_excel_has_cut_are_refused(tmp_path) -> None:
    rows = [["a", None, 1234567890123456789012, None, "f"], ["b", 1234567890123456789012, None, None, "m"]]
    with pytest.raises(DataFileError, match="is a long number cut short"):
        read_study(put(tmp_path, {"x": [HEADER, *rows]}))


def test_merged_ids_bring_rows_together(tmp_path) -> None:
    rows = [["a", None, "A1"], [None, None, "A2"], ["b", "A1", "B1"], ["c", "A2", "C1"]]
    path = put(
        tmp_path,
        {"x": [["id", "own coupon", "coupon out"], *rows]},
        lambda book: book["x"].merge_cells("A2:A3"),
    )
    study = read_study(path)
    assert study.ids.tolist() == ["a", "b", "c"]
    assert study.issued.tolist() == [2, 1, 1]
    assert study.recruiter.tolist() == [-1, 0, 0]
    assert [p.kind for p in study.problems] == ["merged-cells"]


def test_a_workbook_is_no_rdsat_file(tmp_path) -> None:
    path = put(tmp_path, {"x": [HEADER, *ROWS]})
    with pytest.raises(SettingError, match="is an Excel workbook or a file of R, and no rdsat file"):
        read_study(path, ReadSettings(format="rdsat"))


def test_people_waiting_in_one_sheet_of_the_study_workbook(tmp_path) -> None:
    waiting = [["id", "sex"], ["x", "f"], ["y", "m"]]
    path = put(tmp_path, {"Interviews": [HEADER, *ROWS], "Waiting": waiting, "Codes": [["q", "a"], [1, 2]]})
    schema = guess_schema(read_study(path)).schema
    with pytest.raises(DataFileError, match="any of these sheets could be meant: 'Interviews', 'Waiting'"):
        read_frontier(path, schema)  # both have an id and the columns: whoever plans must say
    assert read_frontier(path, schema, sheet="Waiting").ids.tolist() == ["x", "y"]
    alone = put(tmp_path, {"Waiting": waiting, "Codes": [["q", "a"], [1, 2]]})
    assert read_frontier(alone, schema).ids.tolist() == ["x", "y"]
    (tmp_path / "w.csv").write_text("id,sex\nx,f\n")
    with pytest.raises(DataFileError, match="is no Excel workbook and no file of R"):
        read_frontier(tmp_path / "w.csv", schema, sheet="Waiting")


def test_xls_and_passwords_say_what_to_do(tmp_path) -> None:
    path = tmp_path / "study.xls"
    path.write_bytes(b"\xd0\xcf\x11\xe0" + b"\0" * 100)
    with pytest.raises(DataFileError, match="of the old kind .*Excel Workbook"):
        read_study(path)
    path.write_bytes(b"\xd0\xcf\x11\xe0" + b"\0" * 100 + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(DataFileError, match="protected by a password"):
        read_study(path)
