"""A study on a day: what is open, who waits, and how it looked earlier."""

import dataclasses
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.dated_studies import FIRST, dated_studies, day_text, study_of_rows
from peerfront.data.read.dates import date_text
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import study_from_table
from peerfront.data.study import Study
from peerfront.data.study_calendar import assumed_days, coupon_counts, issued_since
from peerfront.foundation.errors import SettingError
from peerfront.simulation.demo_study import demo_study


def same(one: Study, other: Study) -> bool:
    """Whether two studies hold the same in every field."""
    for field in dataclasses.fields(Study):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, pd.DataFrame):
            equal = a.equals(b)
        elif isinstance(a, np.ndarray):
            equal = np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        else:
            equal = a == b
        if not equal:
            return False
    return True


def on(study: Study, day: float) -> Study:
    return study.as_of(date_text(day))


@given(dated_studies(), st.integers(0, 45), st.integers(0, 45))
def test_an_earlier_day_does_not_depend_on_the_way_to_it(study, one, other) -> None:
    first = float((FIRST - pd.Timestamp(0)).days)
    early, late = sorted((first + one, first + other))
    try:
        seen = on(study, early)
    except SettingError as problem:
        assert "had nobody yet" in str(problem)  # noqa: PT017 - either answer is right, depending on the day
        return
    assert same(on(on(study, late), early), seen)


@given(dated_studies())
def test_on_its_last_day_a_study_is_all_there(study) -> None:
    assert study.day is not None
    assert same(on(study, study.day), study)
    assert not on(study, study.day).cut


@settings(max_examples=30)
@given(dated_studies())
def test_counts_never_shrink_with_the_day(study) -> None:
    assert study.day is not None
    before = (0, 0, 0)
    for day in np.arange(study.day - 45, study.day + 3):
        try:
            seen = on(study, day)
        except SettingError:
            assert before == (0, 0, 0)
            continue
        counts = (len(seen), int(seen.issued.sum()), int(seen.recruits.sum()))
        assert all(now >= then for now, then in zip(counts, before, strict=True))
        assert (seen.recruits <= seen.issued).all()
        before = counts
    assert before == (len(study), study.issued.sum(), study.recruits.sum())


@given(dated_studies(), st.integers(0, 10))
def test_coupons_are_used_open_expired_or_undated(study, later) -> None:
    assert study.day is not None
    counts = coupon_counts(on(study, study.day + later))
    assert counts.used + counts.open + counts.expired + counts.undated == counts.issued
    assert (study.open["open"] == study.open["coupons"] - study.open["used"]).all()


PEOPLE = [
    ("a", "seed", "3", day_text(0)),
    ("b", "a", "3", day_text(7)),
    ("c", "a", "2", day_text(9)),
    ("d", "b", "0", day_text(20)),
]


def test_open_coupons_have_an_age_and_a_last_day() -> None:
    table = pd.DataFrame(PEOPLE, columns=["id", "recruiter.id", "coupons.issued", "date"])
    study = study_from_table(table, ReadSettings(valid_days=14))
    assert study.day == study.days.max()
    # Those of a were valid until day 14, those of b until day 21; the study is seen on day 20.
    assert study.open.to_dict("records") == [
        {"id": "b", "coupons": 3, "used": 1, "open": 2, "issued": day_text(7), "age": 13.0, "expires": day_text(21)},
        {"id": "c", "coupons": 2, "used": 0, "open": 2, "issued": day_text(9), "age": 11.0, "expires": day_text(23)},
    ]
    assert study.as_of(day_text(21)).open["id"].tolist() == ["c"]  # in the evening of the last day it is too late
    counts = coupon_counts(study)
    assert (counts.issued, counts.used, counts.open, counts.expired, counts.waiting) == (8, 3, 4, 1, 1)


def test_without_expiry_coupons_stay_open() -> None:
    study = study_of_rows(PEOPLE)
    assert study.open["expires"].tolist() == [""] * 3
    assert study.open["open"].sum() == 5


def test_a_rule_for_open_coupons_wins_over_the_dates() -> None:
    table = pd.DataFrame(PEOPLE, columns=["id", "recruiter.id", "coupons.issued", "date"])
    for rule, ids in (("none", []), ("12", ["c"]), ("auto", ["a", "b", "c"])):
        assert study_from_table(table, ReadSettings(still_open=rule)).open["id"].tolist() == ids


def test_expiry_by_column_by_days_and_by_setting() -> None:
    table = pd.DataFrame(PEOPLE, columns=["id", "recruiter.id", "coupons.issued", "date"])
    table = table.assign(expiry_date=[day_text(30), "", "", ""], valid_days=["", "5", "", ""])
    study = study_from_table(table, ReadSettings(valid_days=60))
    np.testing.assert_array_equal(study.valid_days, [30, 5, 60, np.nan])


def test_earlier_the_others_were_not_there_and_coupons_not_issued() -> None:
    study = study_of_rows(PEOPLE, issued_date=[day_text(1), day_text(8), day_text(15), ""])
    seen = study.as_of(date(2024, 3, 11))  # day 10
    assert seen.ids.tolist() == ["a", "b", "c"]
    assert seen.issued.tolist() == [3, 3, 0]
    assert seen.waiting["id"].tolist() == ["c"]
    assert seen.waiting["issued_date"].tolist() == [""]
    assert seen.open["open"].tolist() == [1, 3]
    with pytest.raises(SettingError, match="what came later is not in it"):
        seen.as_of(day_text(20))


@pytest.mark.parametrize("day", ["2024", "soon", "2024-3-1", "01.03.2024", "", "2024-03-01T10:00", "-1"])
def test_a_day_must_be_a_date(day) -> None:
    with pytest.raises(SettingError, match="year-month-day, such as"):
        study_of_rows(PEOPLE).as_of(day)


def test_days_in_the_future_and_before_the_beginning() -> None:
    with pytest.raises(SettingError, match="lies in the future"):
        study_of_rows(PEOPLE).as_of("2199-01-01")
    with pytest.raises(SettingError, match="begins on 2024-03-01"):
        study_of_rows(PEOPLE).as_of("2024-02-29")


def test_a_study_without_dates_has_no_day() -> None:
    study = study_from_table(demo_study(60).study.drop(columns=["date"]))
    assert study.day is None
    assert study.issued_days is None
    assert not len(study.open)
    assert len(study.waiting)
    with pytest.raises(SettingError, match="how it was on '2024-03-01'. .* columns={'date'"):
        study.as_of("2024-03-01")


def test_numbered_days() -> None:
    rows = [(person, who, k, str(17 + n)) for n, (person, who, k, _) in enumerate(PEOPLE)]
    study = study_of_rows(rows)
    assert study.day == 20
    assert study.open["issued"].tolist() == ["17", "18", "19"]
    assert study.as_of("18").ids.tolist() == ["a", "b"]
    with pytest.raises(SettingError, match="numbers its days"):
        study.as_of("2024-03-01")


# Who waits -----------------------------------------------------------------------------------------------------------


def test_people_since_the_last_issue_wait_and_those_before_were_passed_over() -> None:
    rows = [*PEOPLE, ("e", "b", "2", day_text(21)), ("f", "c", "0", day_text(21)), ("g", "c", "0", day_text(24))]
    study = study_of_rows(rows)
    assert study.waiting["id"].tolist() == ["f", "g"]
    assert coupon_counts(study).passed_over == 1  # d, the day before
    given_late = [day_text(n) for n in (1, 8, 10)] + ["", day_text(24), "", ""]
    assert study_of_rows(rows, issued_date=given_late).waiting["id"].tolist() == ["g"]


def test_a_column_says_who_waits() -> None:
    rows = [*PEOPLE, ("e", "b", "2", day_text(21)), ("f", "c", "0", day_text(22))]
    study = study_of_rows(rows, waiting=["no", "", "", "yes", "", "no"])
    assert study.waiting["id"].tolist() == ["d"]
    assert study_of_rows(rows, waiting=["", "", "", "maybe", "", ""]).waiting["id"].tolist() == ["f"]


def test_the_whole_last_wave_waits() -> None:
    made = demo_study(150)
    assert study_from_table(made.study).waiting["id"].tolist() == made.frontier["id"].tolist()


# Hand-outs that a log dates ------------------------------------------------------------------------------------------


def handed_out_later(**columns: list[str]) -> Study:
    """Five people who took part on days 0 to 4, each with a log that says: no coupons before day 10, except for e."""
    brought = ("f", "a", "0", day_text(12)), ("g", "b", "0", day_text(6))
    rows = [(name, "seed", "2", day_text(day)) for day, name in enumerate("abcde")]
    study = study_of_rows([*rows, *brought], **columns)
    first = float((FIRST - pd.Timestamp(0)).days)
    return issued_since(study, np.array([*[first + 10.0] * 4, np.nan, first + 10.0, np.nan]))


def test_coupons_are_no_older_than_the_sheet_that_gave_them() -> None:
    issued = handed_out_later().open.set_index("id")["issued"]
    assert issued.to_dict() == {
        "a": day_text(10),
        "b": day_text(1),  # somebody came with one on day 6: it was out before, and entered late
        "c": day_text(10),
        "d": day_text(10),
        "e": day_text(4),  # nothing is logged
    }
    assert handed_out_later().open.set_index("id").loc["a", "age"] == 2.0


def test_a_later_date_of_the_file_and_a_date_of_expiry_stay() -> None:
    given = ["", "", day_text(11), day_text(5), "", "", ""]
    table = handed_out_later(issued_date=given, expiry_date=[day_text(40)] * 5 + [""] * 2).open.set_index("id")
    assert table["issued"][["a", "c", "d"]].tolist() == [day_text(10), day_text(11), day_text(10)]
    assert set(table["expires"]) == {day_text(40)}


def test_an_assumed_day_of_issue_is_said_until_it_is_known() -> None:
    rows = [("a", "seed", "2", day_text(0)), ("b", "a", "0", day_text(3))]
    remedies = [each.remedies[0] for each in assumed_days(study_of_rows(rows))]
    assert [(each.setting, each.value) for each in remedies] == [("map", ("issued_date",))]
    day = float((FIRST - pd.Timestamp(0)).days)
    assert not assumed_days(issued_since(study_of_rows(rows), np.array([day + 1.0, np.nan])))
    assert not assumed_days(study_of_rows(rows, issued_date=[day_text(1), ""]))
    assert not assumed_days(study_of_rows([("a", "seed", "0", day_text(0))])), "nothing is open"


def test_a_logged_day_is_the_last_issue_for_who_waits() -> None:
    rows = [("a", "seed", "2", day_text(5)), ("b", "seed", "0", day_text(2)), ("c", "seed", "0", day_text(8))]
    day = float((FIRST - pd.Timestamp(0)).days)
    assert study_of_rows(rows).waiting["id"].tolist() == ["c"]
    assert issued_since(study_of_rows(rows), np.array([day + 8.0, np.nan, np.nan])).waiting["id"].tolist() == ["c"]
    assert issued_since(study_of_rows(rows), np.array([day + 9.0, np.nan, np.nan])).waiting.empty
