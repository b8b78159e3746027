"""Numbers as people write them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.foundation.typed_values import means_not_known, read_numbers, rough_number, unified


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        (["1,234", "900", "12,500"], [1234, 900, 12500]),
        (["1,234", "0,5"], [1.234, 0.5]),  # a decimal comma
        (["1,234.50", "7"], [1234.5, 7]),
        (["1.234", "2.5"], [1.234, 2.5]),
        (["1.234.567", "2.500"], [1234567, 2500]),
        (["1.234,5", "2.500"], [1234.5, 2500]),
        (["1 234", "1'234", "1\u00a0234"], [1234, 1234, 1234]),
        (["20 años", "21 yrs", "$30", "R$ 40", "50 %"], [20, 21, 30, 40, 50]),
        (["\uff11\uff12", "٣٤", "५६"], [12, 34, 56]),
        (["\u22125", "1e3", ".5"], [-5, 1000, 0.5]),
        (["3 (blue)", "1-2", "x", "", "inf", "1,2,3", "20 something"], [np.nan] * 7),
    ],
)
def test_numbers_of_a_column(column: list[str], numbers: list[float]) -> None:
    np.testing.assert_array_equal(read_numbers(pd.Series(column, dtype=object)), numbers)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("about 20", 20, 20), ("unos 20", 20, 20), ("~20", 20, 20), ("20+", 20, 20), (">50", 50, 50), ("20?", 20, 20),
     ("Twenty", 20, 20), ("10-15", 10, 15), ("10 to 15", 10, 15), ("10 \u2013 15", 10, 15),
     ("10 a 15 personas", 10, 15)],
)  # fmt: skip
def test_rough_numbers(text: str, least: float, most: float) -> None:
    assert rough_number(text) == (least, most)


@pytest.mark.parametrize("text", ["many", "15-10", "", "a", "1-2-3", "20" * 30, "about"])
def test_what_says_no_number(text: str) -> None:
    assert rough_number(text) is None


@given(st.lists(st.text(max_size=60), max_size=5))
def test_every_text_is_read_or_none(texts: list[str]) -> None:
    assert read_numbers(pd.Series(texts, dtype=object)).shape == (len(texts),)
    assert means_not_known(texts) <= set(texts)
    for text in texts:
        rough_number(text)
        assert unified(unified(text)) == unified(text)


def test_writings() -> None:
    assert unified("  São   PAULO ") == unified("sao paulo") == "sao paulo"
    assert unified("की") != unified("का")
