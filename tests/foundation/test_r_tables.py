"""Files of R: data frames as text, what R's package RDS says about columns, and files that are damaged or worse."""

import bz2
import contextlib
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foundation import r_files
from peerfront.foundation import r_tables
from peerfront.foundation.errors import DataFileError, UnknownName
from peerfront.foundation.r_tables import is_r_data, open_r_file

COLUMNS = {
    "id": r_files.texts("007", "b", None),
    "n": r_files.integers(1, None, 3),
    "x": r_files.reals(1.0, 2.5, float("nan")),
    "ok": r_files.logicals(True, False, None),
    "sex": r_files.factor(["f", "m"], 2, 1, None),
    "day": r_files.reals(19844.0, 19845.0, float("nan"), **{"class": r_files.texts("Date")}),
    "at": r_files.reals(1267626300.0, 0.0, float("nan"), **{"class": r_files.texts("POSIXct", "POSIXt")}),
    "row": r_files.counted(3),
}
CELLS = {
    "id": ["007", "b", ""],
    "n": ["1", "", "3"],
    "x": ["1", "2.5", ""],
    "ok": ["TRUE", "FALSE", ""],
    "sex": ["m", "f", ""],
    "day": ["2024-05-01", "2024-05-02", ""],
    "at": ["2010-03-03T14:25:00", "1970-01-01T00:00:00", ""],
    "row": ["1", "2", "3"],
}
FILE = Path("study.RData")


@pytest.mark.parametrize("pack", [lambda content: content, bz2.compress, lzma.compress])
def test_every_kind_of_column(pack) -> None:
    content = pack(r_files.rdata(packed=False, study=r_files.table(COLUMNS)))
    assert is_r_data(content)
    file = open_r_file(FILE, content)
    assert file.names == ("study",)
    table = file.read("study")
    assert table.frame.to_dict("list") == CELLS
    assert table.rows.tolist() == [2, 3, 4]


def test_rds_files_hold_one_table_called_like_the_file() -> None:
    content = r_files.rds(r_files.table(COLUMNS))
    assert open_r_file(Path("visits.rds"), content).read("visits").frame.to_dict("list") == CELLS


def test_what_rds_says_about_columns() -> None:
    columns = {"SER": r_files.texts("1", "2"), "from": r_files.texts("seed", "1")}
    attributes = {"id": r_files.texts("SER"), "recruiter_id": r_files.texts("from"), "time": r_files.texts("gone")}
    content = r_files.rdata(x=r_files.table(columns, ("rds.data.frame", "data.frame"), **attributes))
    assert open_r_file(FILE, content).read("x").declared == {"id": "SER", "recruiter": "from"}


def test_calls_are_passed_over_and_never_run() -> None:
    content = r_files.rdata(formula=r_files.call(), study=r_files.table(COLUMNS))
    assert open_r_file(FILE, content).names == ("study",)


def test_files_without_a_table_or_with_another_name() -> None:
    with pytest.raises(DataFileError, match="without a table .data frame.. Found: x"):
        open_r_file(FILE, r_files.rdata(x=r_files.integers(1)))
    with pytest.raises(UnknownName, match="no table in study.RData called 'studi'. Did you mean 'study'"):
        open_r_file(FILE, r_files.rdata(study=r_files.table(COLUMNS))).read("studi")


def test_columns_of_different_lengths() -> None:
    content = r_files.rdata(x=r_files.table({"a": r_files.integers(1, 2), "b": r_files.integers(1)}))
    with pytest.raises(DataFileError, match="the table 'x' is damaged"):
        open_r_file(FILE, content).read("x")


def test_files_that_are_too_large(monkeypatch) -> None:
    monkeypatch.setattr(r_tables, "LARGEST_UNPACKED", 100)
    with pytest.raises(DataFileError, match="unpacked it has more than 100 bytes"):
        open_r_file(FILE, r_files.rdata(study=r_files.table(COLUMNS)))
    monkeypatch.undo()
    for columns in ({"a": r_files.counted(10**9)}, {f"x{n}": r_files.counted(400_000) for n in range(3)}):
        with pytest.raises(DataFileError, match="a vector is longer than the file"):
            open_r_file(FILE, r_files.rdata(study=r_files.table(columns)))


def test_vectors_are_bounded_by_the_file_and_counted() -> None:
    short = {f"v{n}": r_files.counted(100_000) for n in range(3)}
    assert open_r_file(FILE, r_files.rdata(study=r_files.table(short))).read("study").frame.shape == (100_000, 3)
    with pytest.raises(DataFileError, match="a vector is longer than the file"):
        open_r_file(FILE, r_files.rdata(study=r_files.table({"a": r_files.counted(100_001)})))
    with pytest.raises(DataFileError, match="it has more than 10,000,000 values"):
        open_r_file(FILE, r_files.rdata(study=r_files.table({f"v{n}": r_files.counted(100_000) for n in range(101)})))
    with pytest.raises(DataFileError, match="it is damaged or not complete"):
        open_r_file(FILE, lzma.compress(WHOLE, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 400 * 2**20}]))


@pytest.mark.parametrize("content", [b"\x1f\x8bxx", b"id,x\n1,2\n", b"PK\x03\x04", b"BZh9"])
def test_other_files_are_no_files_of_r(content) -> None:
    assert not is_r_data(content)


WHOLE = r_files.rdata(packed=False, study=r_files.table(COLUMNS))


@given(st.integers(7, len(WHOLE) - 1), st.integers(0, 255), st.booleans())
def test_damaged_files_give_a_message(place, byte, cut) -> None:
    content = WHOLE[:place] if cut else WHOLE[:place] + bytes([byte]) + WHOLE[place + 1 :]
    with contextlib.suppress(DataFileError):  # anything else would be a traceback for users
        file = open_r_file(FILE, content)
        for name in file.names:
            file.read(name)
