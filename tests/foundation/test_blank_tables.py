"""Tables without separators: words between blanks, and columns in fixed places."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.foundation.text_tables import read_blank_table, read_table

WORDS = st.text(st.sampled_from("abcXYZ019.-"), min_size=1, max_size=8)


def table_of(text):
    return read_table(Path("table.txt"), text)


def test_words_are_cells() -> None:
    table = table_of('id   town\n007  "Old North"\n8 South\n')
    assert table.frame.to_dict("list") == {"id": ["007", "8"], "town": ["Old North", "South"]}
    assert table.notes == ()


def test_row_names_of_r_are_dropped() -> None:
    table = table_of('"id" "town"\n"1" "a" "North"\n"2" "b" NA\n')
    assert table.frame.to_dict("list") == {"id": ["a", "b"], "town": ["North", "NA"]}
    assert table.rows.tolist() == [2, 3]


def test_columns_in_fixed_places() -> None:
    table = table_of("id   own    town\n1           Old North\n2    A1      South\n")
    assert table.frame.to_dict("list") == {"id": ["1", "2"], "own": ["", "A1"], "town": ["Old North", "South"]}
    assert [note.kind for note in table.notes] == ["fixed-places"]


@pytest.mark.parametrize("text", ["id,town\n1 2,3\n", "id\n1\n2\n", "a;b c\n1;2\n"])
def test_separators_come_first(text) -> None:
    assert table_of(text).separator != " "


def test_a_single_column_may_have_a_name_of_two_words() -> None:
    table = table_of("person id\nP001\nP002\n")
    assert table.frame.to_dict("list") == {"person id": ["P001", "P002"]}


def test_overlapping_columns_are_no_table() -> None:
    assert read_blank_table("id  own\n12345678\nab\n") is None


@given(st.lists(st.lists(WORDS, min_size=3, max_size=3), min_size=1, max_size=6))
def test_whatever_is_padded_is_read_back(rows) -> None:
    text = "\n".join("".join(cell.ljust(10) for cell in row).rstrip() for row in [["id", "own", "town"], *rows])
    table = read_blank_table(text)
    assert table is not None
    assert [cells for _, cells in table.records] == rows
