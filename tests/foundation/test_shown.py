"""Text that people typed is seen as it is: on screens, in figures and in spreadsheets."""

import io
import re
import tempfile
import warnings
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerfront.foundation import spreadsheets
from peerfront.foundation.files import write_csv
from peerfront.foundation.pictures import new_figure, rendered
from peerfront.foundation.shown import lose_nothing, visible, visible_message, visible_on_page
from peerfront.foundation.spreadsheets import as_typed, csv_text, neutralised, write_rows
from peerfront.foundation.text_tables import read_table
from peerfront.foundation.typed_dates import read_days
from peerfront.foundation.typed_values import read_numbers, typed_number
from peerfront.words.notebook import html_of

TYPED = st.text(max_size=12) | st.from_regex(r"'{0,3}[=+\-@\t\r\n]['=+\-@0-9a.]{0,4}", fullmatch=True)


@given(TYPED)
def test_a_spreadsheet_runs_nothing_and_reading_gives_the_text_back(text) -> None:
    safe = neutralised(text)
    assert as_typed(safe) == text
    assert not re.match(r"[=+@\t\r\n]", safe)
    assert not safe.startswith("-") or re.fullmatch(r"-[0-9]+(\.[0-9]+)?", safe)


def test_tables_for_spreadsheets_neutralise_texts_and_names_and_leave_numbers() -> None:
    made = csv_text(pd.DataFrame({"=a": ["@x", "b", "-5"], "n": [-1.5, 2.0, 3.0], "k": [-1, 2, 3]}))
    assert made == "'=a,n,k\n'@x,-1.5,-1\nb,2.0,2\n-5,3.0,3\n"
    back = read_table("made", made).frame
    assert list(back.columns) == ["=a", "n", "k"]
    assert back["=a"].tolist() == ["@x", "b", "-5"]
    assert csv_text(pd.DataFrame({"a": []})) == "a\n"
    assert read_table("made", csv_text(pd.DataFrame({"a": ["x\ry"]}))).frame["a"].tolist() == ["x\ry"]


@settings(deadline=None)
@given(st.lists(st.tuples(TYPED, TYPED), max_size=8), st.integers(1, 4), st.sampled_from(("b", "b\u0301", "=b")))
def test_a_table_that_is_written_row_by_row_has_the_same_bytes(rows, at_once, name) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(spreadsheets, "_ROWS_AT_ONCE", at_once)
        by_row, whole = Path(folder, "rows.csv"), Path(folder, "whole.csv")
        write_rows(by_row, ["a", name], lambda: iter(rows))
        write_csv(whole, csv_text(pd.DataFrame(rows, columns=["a", name], dtype=object)))
        assert by_row.read_bytes() == whole.read_bytes()


@given(st.text(max_size=40))
def test_what_is_shown_can_be_seen(text) -> None:
    shown = visible(text)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert isinstance(shown.encode(), bytes)  # no half of a pair is left
    if text.isascii() and text.isprintable():
        assert shown == text


def test_long_texts_are_cut_and_keep_their_end() -> None:
    shown = visible("x" * 5000 + " is no number.")
    assert len(shown) < 400
    assert shown.endswith("is no number.")
    assert "characters" in shown
    message = visible_message("\n".join(map(str, range(1000))))
    assert message.endswith("[... 800 ...]")
    assert visible_on_page("data:image/png;base64," + "x" * 5000).count("x") == 5000
    assert "\x1b" not in html_of(["a\x1b[31m"], pd.DataFrame({"a": ["\x1b[31m"]}))


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_a_stream_writes_every_character(encoding) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    lose_nothing(stream)
    stream.write("6.2 ± 0.3 ☃ \ud800")
    stream.flush()
    written = stream.buffer.getvalue().decode(encoding)
    assert written == {"ascii": "6.2 +/- 0.3 ", "cp1252": "6.2 ± 0.3 ", "utf-8": "6.2 ± 0.3 "}[encoding] + (
        "☃ \\ud800" if encoding == "utf-8" else "\\u2603 \\ud800"
    )


@pytest.mark.parametrize("name", ["$x$", "$\\frac{1}{0}$", "a $ b $ c", "$", "\\", "☃漢"])
def test_names_in_figures_are_no_mathematics(name) -> None:
    def drawn(kind: str) -> bytes:
        figure = new_figure(3, 2)
        axis = figure.subplots()
        axis.plot([0, 1], [0, 1], label=name)
        axis.set_title(name)
        axis.set_xticks([0, 1], [name, name])
        figure.legend(loc="outside lower center")
        return rendered(figure, kind)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert drawn("png") == drawn("png")
        assert drawn("svg").decode().count(f"<!-- {name} -->") == 4


@pytest.mark.parametrize("text", ["3", "-3.5", "+2e3", ".5", " 7 "])
def test_numbers_in_ascii_digits_are_numbers(text) -> None:
    assert typed_number(text) == float(text)


@pytest.mark.parametrize("text", ["\u0663\u0662", "\u06f3\u06f2", "\uff13\uff12", "\u0969\u0968", "\u200b32"])
def test_digits_of_any_script_are_read(text) -> None:
    assert typed_number(text) == 32
    assert read_numbers(pd.Series([text, f"{text},5", f"\u2212{text}"])).tolist() == [32, 32.5, -32]


def test_dates_in_digits_of_any_script() -> None:
    arabic = str.maketrans("0123456789", "".join(chr(0x0660 + n) for n in range(10)))
    days = read_days(pd.Series(["2024-05-31", "2024-05-31".translate(arabic), "2024\u201305\u201331"]))
    assert days.tolist() == [19874.0] * 3


@pytest.mark.parametrize("text", ["", "nan", "inf", "1e999", "1_000", "0x10", "3\u00b2", "9" * 401, "1,5", "--1", "1e"])
def test_other_texts_are_no_numbers(text) -> None:
    assert typed_number(text) is None
