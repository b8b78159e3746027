"""Dates of a study: which columns they are in, and what is wrong with them."""

import numpy as np
import pandas as pd
import pytest

from data.dated_studies import day_text, study_of_rows
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.problems import KINDS
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import study_from_table
from peerfront.data.schema_file import parse_schema, schema_text
from peerfront.foundation.errors import DataFileError, PeerfrontError, SettingError
from peerfront.study.coupon_calendar import why_undated

PEOPLE = [
    ("a", "seed", "3", day_text(0)),
    ("b", "a", "3", day_text(7)),
    ("c", "a", "2", day_text(9)),
    ("d", "b", "0", day_text(20)),
]


def faults(study) -> list[tuple[str, int | None]]:
    return [(problem.kind, problem.row) for problem in study.problems]


def with_dates(*days: str, **columns: list[str]):
    return study_of_rows(
        [(person, who, k, day) for (person, who, k, _), day in zip(PEOPLE, days, strict=True)], **columns
    )


def test_dates_of_issue_and_redemption_are_those_of_the_interview_unless_given() -> None:
    study = study_of_rows(PEOPLE)
    start = study.days[0]
    np.testing.assert_array_equal(study.issued_days - start, [0, 7, 9, np.nan])
    np.testing.assert_array_equal(study.redeemed_days - start, [np.nan, 7, 9, 20])
    np.testing.assert_array_equal(study.valid_days, [np.inf, np.inf, np.inf, np.nan])
    given = study_of_rows(
        PEOPLE,
        issued_date=[day_text(1), "", day_text(12), ""],
        redeemed_date=["", day_text(5), "", day_text(19)],
    )
    np.testing.assert_array_equal(given.issued_days - start, [1, 7, 12, np.nan])
    np.testing.assert_array_equal(given.redeemed_days - start, [np.nan, 5, 9, 19])
    assert faults(study) == faults(given) == []


@pytest.mark.parametrize(
    ("column", "role"),
    [
        ("Date issued", "issued_date"),
        ("coupon_issue_date", "issued_date"),
        ("redemption.date", "redeemed_date"),
        ("DateCouponRedeemed", "redeemed_date"),
        ("coupon expires", "expiry_date"),
        ("valid_until", "expiry_date"),
        ("site", "site"),
        ("Study Site", "site"),
    ],
)
def test_usual_names_are_recognised_and_describe_nobody(column, role) -> None:
    values = ["x", "y", "x", "y"] if role == "site" else [day_text(n + 21) for n in range(4)]
    study = study_of_rows(PEOPLE, **{column: values})
    assert study.columns[role] == (column,)
    assert (column in guess_schema(study).schema.schema.names) is (role == "site")


def test_dates_that_are_not_used_are_asked_for() -> None:
    rows = [(person, who, k, "") for person, who, k, _ in PEOPLE]
    columns = {
        "letter": [day_text(30), day_text(3), "", day_text(1)],
        "llegada": [day for *_, day in PEOPLE],
        "nacimiento": ["1980-02-01", "1999-01-31", "1971-05-09", "1988-08-08"],
        "age": ["20", "30", "40", "50"],
        "q": ["2024 or so", "2023", "2 of 3", "4 of 5"],
    }
    study = study_of_rows(rows, **columns)
    assert study.other_dates == ("llegada", "letter"), "recruits come after their recruiter"
    [problem] = [problem for problem in study.problems if problem.kind == "unused-dates"]
    remedies = [("date", "llegada"), ("date", "letter")]
    assert [remedy.value for remedy in problem.remedies] == remedies
    for ask in (lambda: study.as_of("2026-03-01"), lambda: read_again(rows, columns, still_open="14 days")):
        with pytest.raises(SettingError) as error:
            ask()
        assert [remedy.value for remedy in error.value.remedies][:2] == remedies
    assert why_undated(study).remedies == problem.remedies
    assert study_of_rows(PEOPLE, **columns).other_dates == (), "a column is read as the day people took part"
    assert read_again(rows, columns, columns={"date": ()}).problems == (), "the user says that none is"
    assert why_undated(read_again(rows, columns, columns={"date": ()})).code == "undated.no_dates"


def read_again(rows, more, **settings):
    table = pd.DataFrame(rows, columns=["id", "recruiter", "coupons_issued", "date"]).assign(**more)
    return study_from_table(table, ReadSettings(**settings))


def test_a_date_in_the_future_is_unknown_and_no_day_of_the_study() -> None:
    study = with_dates(day_text(0), day_text(7), "2142-03-01", day_text(20))
    assert faults(study) == [("future-date", 4)]
    assert np.isnan(study.days[2])
    assert study.day == study.days[3]
    assert "lies in the future" in str(study.problems[0].message)


def test_a_few_missing_dates_are_told_row_by_row_many_at_once() -> None:
    rows = [*PEOPLE, *((f"s{n}", "seed", "2", day_text(n)) for n in range(6))]
    study = study_of_rows([*rows, ("x", "c", "1", "")])
    assert faults(study) == [("missing-date", 12)]
    study = with_dates(day_text(0), "", "", "")
    assert faults(study) == [("missing-date", None)]
    assert "3 of 4 people" in str(study.problems[0].message)


def test_redeemed_before_issue_is_told_once() -> None:
    study = study_of_rows(PEOPLE, issued_date=[day_text(8), "", "", ""])
    assert faults(study) == [("redeemed-before-issue", 3)]
    assert "'b' came on 2024-03-08 with a coupon that 'a' got on 2024-03-09" in str(study.problems[0].message)
    study = with_dates(day_text(8), day_text(7), day_text(9), day_text(20))
    assert faults(study) == [("before-recruiter", 3)]


def test_a_coupon_used_after_expiry_is_kept() -> None:
    table = pd.DataFrame(PEOPLE, columns=["id", "recruiter.id", "coupons.issued", "date"])
    study = study_from_table(table, ReadSettings(valid_days=8))
    assert faults(study) == [("used-after-expiry", 4), ("used-after-expiry", 5)]
    assert study.recruits.tolist() == [2, 1, 0, 0]
    with pytest.raises(DataFileError, match="expired on 2024-03-09"):
        study_from_table(table, ReadSettings(valid_days=8, strict=True))


def test_what_cannot_be() -> None:
    issued = study_of_rows(PEOPLE, issued_date=["", day_text(3), "", ""])
    assert faults(issued) == [("issued-before-date", 3)]
    expiry = study_of_rows(PEOPLE, expiry_date=["", day_text(3), "soon", ""])
    assert faults(expiry) == [("expires-before-issue", 3), ("bad-date", 4)]
    valid = study_of_rows(PEOPLE, valid_days=["60", "-1", "two", "99999"])
    assert faults(valid) == [("bad-valid-days", row) for row in (3, 4, 5)]
    assert valid.valid_days[:3].tolist() == [60, np.inf, np.inf]
    mixed = study_of_rows(PEOPLE, issued_date=["1", "8", "10", ""])
    assert faults(mixed) == [("unlike-dates", None)]
    np.testing.assert_array_equal(mixed.issued_days, study_of_rows(PEOPLE).issued_days)
    late = with_dates(day_text(0), day_text(7), day_text(9), day_text(400))
    assert faults(late) == [("long-after", 5)]


def test_every_fault_says_what_to_do() -> None:
    assert all(str(kind.remedy).endswith(".") and str(kind.title) != kind.title.code for kind in KINDS.values())


def test_the_schema_file_keeps_how_long_coupons_are_valid() -> None:
    settings = ReadSettings(valid_days=60, active_after_days=1.5, still_open="auto")
    study = study_from_table(pd.DataFrame(PEOPLE, columns=["id", "recruiter.id", "coupons.issued", "date"]), settings)
    text = schema_text(guess_schema(study).schema)
    assert "valid_days = 60 " in text
    again = parse_schema(text.encode(), "schema.toml").reading
    assert (again.valid_days, again.active_after_days, again.still_open) == (60.0, 1.5, "auto")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("valid_days = -1", "valid days must be a number of days from 0 to 3,650; found -1"),
        ('valid_days = "60"', "valid days must be a number of days"),
        ("valid_days = nan", "valid days must be"),
        ("active_after_days = true", "active after days must be"),
        ("valid_days = 1\nactive_after_days = 2", "cannot be used before 2 days"),
        ("validdays = 60", "valid_days"),
    ],
)
def test_wrong_settings_of_the_calendar(written, message) -> None:
    with pytest.raises(PeerfrontError, match=message):
        parse_schema(f"[file]\n{written}\n".encode(), "schema.toml")


def test_settings_in_python() -> None:
    with pytest.raises(SettingError, match="valid days must be"):
        ReadSettings(valid_days=float("inf"))
