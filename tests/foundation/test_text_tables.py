"""Tables of text as spreadsheets write them, and the numbers and dates in them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.text_tables import read_table, read_table_file
from peerfront.foundation.typed_dates import read_days
from peerfront.foundation.typed_values import read_numbers


def table_of(text: str, **options):
    return read_table(Path("table.csv"), text, **options)


@pytest.mark.parametrize(
    "text",
    [
        "id,town\n 007 ,North\n8,\n",
        "id;town\n007;North\n8;\n",
        "id\ttown\n007\tNorth\n8\t\n",
        "sep=;\nid;town\n007;North\n8;\n",
        "\n\nid,town,,\n007,North,,\n\n8\n",
        '"","id","town"\n"1","007","North"\n"2","8",""\n',
    ],
)
def test_the_same_table_however_it_is_written(text) -> None:
    table = table_of(text)
    assert table.frame.to_dict("list") == {"id": ["007", "8"], "town": ["North", ""]}
    assert not table.notes


def test_rows_are_those_of_a_spreadsheet_and_lines_those_of_an_editor() -> None:
    table = table_of('sep=,\nid,note\n1,"two\nlines"\n\n2,x\n')
    assert table.rows.tolist() == [3, 5]
    assert table.lines.tolist() == [4, 6]


def test_unnamed_columns_are_dropped_with_a_note() -> None:
    table = table_of("id,,town\n1,x,North\n")
    assert list(table.frame.columns) == ["id", "town"]
    assert [str(note.message) for note in table.notes] == ["Column 2 has no name."]


def test_empty_tables_and_short_rows_may_be_refused() -> None:
    with pytest.raises(DataFileError, match="table.csv: there is a header and nobody below it"):
        table_of("id,town\n,\n")
    empty = table_of("id,town\n,\n", may_be_empty=True)
    assert list(empty.frame.columns) == ["id", "town"]
    assert len(empty.frame) == len(empty.rows) == 0
    assert table_of("id,town\n1\n").frame["town"].tolist() == [""]
    with pytest.raises(DataFileError, match="row 2: 1 values for 2 columns"):
        table_of("id,town\n1\n", whole_rows=True)


def test_files_in_other_encodings(tmp_path) -> None:
    path = tmp_path / "table.csv"
    for encoding, notes in (("utf-8", 0), ("utf-8-sig", 0), ("utf-16", 0), ("cp1252", 1)):
        path.write_bytes("id,town\n1,Ávila\n".encode(encoding))
        table = read_table_file(path)
        assert table.frame["town"].tolist() == ["Ávila"]
        assert [note.kind for note in table.notes] == ["encoding"] * notes


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["2024-03-01", "", "2024-03-03"], [0, np.nan, 2]),
        (["2024-03-01T00:00:00Z", "2024-03-01T12:00:00Z"], [0, 0.5]),
        (["01.03.2024", "31.03.2024"], [0, 30]),
        (["03/01/2024", "03/31/2024"], [0, 30]),
        (["01/03/2024", "02/03/2024"], [0, 1]),
        (["1 Mar 2024", "3 Mar 2024"], [0, 2]),
        (["20240301", "20240303"], [0, 2]),
        (["2024/03/01 10:00", "2024/03/01 22:00"], [0, 0.5]),
        (["3", "4,5"], [0, 1.5]),
        (["soon", "2024-03-01"], [np.nan, 0]),
    ],
)
def test_dates_as_people_write_them(texts, days) -> None:
    read = read_days(pd.Series(texts, dtype=object))
    assert np.allclose(read - np.nanmin(read), days, equal_nan=True)


def test_numbers_with_commas() -> None:
    read = read_numbers(pd.Series(["1", "2,5", "x", "", "inf"], dtype=object))
    assert np.array_equal(read, [1, 2.5, np.nan, np.nan, np.nan], equal_nan=True)
