"""Dates as people write them, text by text."""

from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.foundation.typed_dates import are_day_numbers, likely_day, read_days, read_texts

MONTHS = {
    "en": "January February March April May June July August September October November December",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "sw": "Januari Februari Machi Aprili Mei Juni Julai Agosti Septemba Oktoba Novemba Desemba",
}
"""A plain list of what each language calls its months."""


def day(year: int, month: int, day: int) -> int:
    return (date(year, month, day) - date(1970, 1, 1)).days


def column(*texts: str) -> pd.Series:
    return pd.Series(texts, dtype=object)


def name(when: date, language: str) -> str:
    return MONTHS[language].split()[when.month - 1]


WRITINGS = (
    lambda d: d.isoformat(),
    lambda d: f"{d.isoformat()} 00:00:00",
    lambda d: f"{d.isoformat()} (Fri)",
    lambda d: f"{d.year}/{d.month}/{d.day}",
    lambda d: d.strftime("%Y%m%d"),
    lambda d: str(d.toordinal() - date(1899, 12, 30).toordinal()),
    lambda d: f"{d.day} {name(d, 'en')} {d.year}",
    lambda d: f"{name(d, 'en')[:3]} {d.day}, {d.year}",
    lambda d: f"{d.day:02}-{name(d, 'en')[:3]}-{d.year % 100:02}",
    lambda d: f"Friday, {name(d, 'en')} {d.day}th, {d.year}",
    lambda d: f"{d.day} de {name(d, 'es')} de {d.year}",
    lambda d: f"{d.day}-{name(d, 'es')[:3].upper()}-{d.year}",
    lambda d: f"{d.day} {name(d, 'fr')} {d.year}",
    lambda d: f"{d.day}º de {name(d, 'pt')} de {d.year}",
    lambda d: f"{d.day}. {name(d, 'de')} {d.year}",
    lambda d: f"{d.day} {name(d, 'sw')} {d.year}",
    lambda d: f"{d.day}/{d.month}/{d.year}" if d.day > 12 else d.isoformat(),
    lambda d: f"{d.month:02}.{d.day:02}.{d.year}" if d.day > 12 else d.isoformat(),
    lambda d: f"{d.day}/{d.month}/{d.year % 100:02} 0:00" if d.day > 12 else d.isoformat(),
)
"""Unambiguous writings of a day."""


@given(st.lists(st.tuples(st.dates(date(2001, 1, 1), date(2039, 12, 31)), st.sampled_from(WRITINGS)), max_size=30))
def test_any_mixture_of_unambiguous_writings_reads_as_these_days(dated) -> None:
    read = read_texts(column(*(write(when) for when, write in dated)))
    expected = np.array([(when - date(1970, 1, 1)).days for when, _ in dated], dtype=np.float64)
    np.testing.assert_array_equal(read.day_first, expected)
    np.testing.assert_array_equal(read.month_first, expected)


@given(st.dates(date(2001, 1, 1), date(2039, 12, 31)), st.sampled_from(" /.-"), st.booleans())
def test_both_readings_of_numbers_are_kept(when: date, sign: str, short: bool) -> None:
    year = f"{when.year % 100:02}" if short else when.year
    read = read_texts(column(f"{when.day:02}{sign}{when.month:02}{sign}{year}"))
    assert read.day_first[0] == (when - date(1970, 1, 1)).days
    assert read.open[0] == (when.day <= 12 and when.day != when.month)
    assert read.tells[0] == (when.day > 12)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("3 May 2024 14:30", 14.5), ("03.05.2024, 14h30", 14.5), ("3/5/2024 2:30:00 PM", 14.5),
        ("2024-05-03T14:30:00Z", 14.5), ("3/5/2024 12:15 a.m.", 0.25), ("3 May 2024 at 9:00", 9.0),
    ],
)  # fmt: skip
def test_times_are_kept(text: str, time: float) -> None:
    assert read_texts(column(text)).day_first[0] == pytest.approx(day(2024, 5, 3) + time / 24)


@pytest.mark.parametrize(
    "text",
    ["now", "today", "May 2024", "3/5", "31/02/2024", "2024-13-05", "03/05/2924", "03/05/0224", "3 Mayhem 2024",
     "03/05/2024 or 04/05/2024", "1/2/3/2024", "soon", "45", "99999", "3 May 2024 12 people", "x" * 500],
)  # fmt: skip
def test_what_is_no_date(text: str) -> None:
    assert np.isnan(read_texts(column(text)).day_first[0])


@given(st.lists(st.text("0123456789/-. :aprilmy\u0663\u2013T+", max_size=30) | st.text(max_size=70), max_size=5))
def test_every_text_is_read_or_none(texts: list[str]) -> None:
    read = read_texts(column(*texts))
    assert (np.isnan(read.day_first) == np.isnan(read.month_first)).all()
    assert read_days(column(*texts)).shape == (len(texts),)
    for text in texts:
        likely_day(text, -1e5, 1e5)


def test_two_digits_of_the_year_may_come_first() -> None:
    read = read_days(column("24-05-03", "24-05-17", "24-06-30"))
    assert read.tolist() == [day(2024, 5, 3), day(2024, 5, 17), day(2024, 6, 30)]
    assert read_days(column("24-05-03", "25-05-03", "30-05-03"))[0] == day(2003, 5, 24)


def test_numbers_of_days_are_no_dates_and_numbers_of_spreadsheets_are() -> None:
    assert are_day_numbers(column("17", "18", "", "25"))
    assert not are_day_numbers(column("45355", "45356"))
    assert not are_day_numbers(column("20240503", "2024-05-04"))
    assert read_days(column("45355")).tolist() == [day(2024, 3, 4)]


def test_a_column_is_read_as_its_certain_dates_are() -> None:
    assert read_days(column("03/04/2024", "04/13/2024"))[0] == day(2024, 3, 4)
    assert read_days(column("03/04/2024", "13/04/2024"))[0] == day(2024, 4, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("03/05/2924", (2024, 5, 3)), ("03/05/0224", (2024, 5, 3)), ("2042-05-03", (2024, 5, 3)),
        ("2014-05-03", (2024, 5, 3)), ("2024-04-05", (2024, 5, 4)), ("2024-03-03", None),
        ("2024-09-05", (2024, 5, 9)), ("soon", None), ("20/05/204", None),
    ],
)  # fmt: skip
def test_the_one_date_that_a_slip_makes(text: str, expected: tuple[int, int, int] | None) -> None:
    found = likely_day(text, day(2024, 5, 1), day(2024, 6, 30))
    assert found == (None if expected is None else day(*expected))
