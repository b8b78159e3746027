"""Dates with two readings, and dates with typing errors, in a study."""

from datetime import date, timedelta

import pandas as pd

from peerfront.data.problems import Problem
from peerfront.data.read.dates import date_text
from peerfront.data.reading import study_from_table
from peerfront.data.study import Study

START = date(2024, 3, 1)
DAYS = [START + timedelta(days=3 * n) for n in range(40)]


def study_of(texts: list[str], **columns: list[str]) -> Study:
    """People in a chain of recruiters, three days apart."""
    ids = [f"p{n}" for n in range(len(texts))]
    table = pd.DataFrame({"id": ids, "recruiter": ["", *ids[:-1]], "coupons_issued": "3", "date": texts, **columns})
    return study_from_table(table)


def read(study: Study) -> list[str]:
    assert study.days is not None
    return [date_text(day) for day in study.days]


def unsure(study: Study) -> list[Problem]:
    return [problem for problem in study.problems if problem.kind == "unsure-dates"]


def test_a_column_with_certain_dates_is_read_without_a_word() -> None:
    for pattern in ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%y"):
        study = study_of([day.strftime(pattern) for day in DAYS])
        assert read(study) == [day.isoformat() for day in DAYS]
        assert not study.problems


def test_rows_in_two_orders_are_decided_one_by_one_and_offered() -> None:
    texts = [day.strftime("%d/%m/%Y" if n % 3 else "%m/%d/%Y") for n, day in enumerate(DAYS)]
    study = study_of(texts)
    assert read(study) == [day.isoformat() for day in DAYS]
    doubtful = [n for n, day in enumerate(DAYS) if day.day <= 12 and day.day != day.month]
    assert [problem.row for problem in unsure(study)] == [n + 2 for n in doubtful]
    for problem, n in zip(unsure(study), doubtful, strict=True):
        assert problem.proposal is not None
        assert (problem.proposal.found, problem.proposal.proposed) == (texts[n], DAYS[n].isoformat())


def test_the_same_separator_is_written_alike() -> None:
    ids = [f"p{n}" for n in range(9)]
    texts = ["13/03/2024", "14/03/2024", "03.14.2024", "03.15.2024", "04/03/2024", "03.04.2024", *["2024-03-05"] * 3]
    table = pd.DataFrame({"id": ids, "recruiter": "", "coupons_issued": "3", "date": texts})
    study = study_from_table(table)
    assert read(study)[4:6] == ["2024-03-04", "2024-03-04"]


def test_a_column_without_a_certain_date_contradicts_itself_least_and_says_so() -> None:
    few = [date(2024, month, day) for month in (3, 4, 5) for day in (2, 5, 8, 11)]
    for pattern, words in (("%d/%m/%Y", "day, then month"), ("%m/%d/%Y", "month, then day")):
        study = study_of([day.strftime(pattern) for day in few])
        assert read(study) == [day.isoformat() for day in few]
        [problem] = unsure(study)
        assert f"11 dates such as {few[0].strftime(pattern)!r} were read as {words}" in str(problem.message)
    one = study_of(["03/04/2024", "", "", ""])
    assert read(one)[0] == "2024-04-03"


def test_dates_that_a_spreadsheet_has_swapped_are_swapped_back_and_offered() -> None:
    texts = [
        date(day.year, day.day, day.month).isoformat() if day.day <= 12 else day.strftime("%d/%m/%Y") for day in DAYS
    ]
    study = study_of(texts)
    assert read(study) == [day.isoformat() for day in DAYS]
    offers = [problem.proposal for problem in unsure(study)]
    assert offers
    assert all(offer is not None and offer.proposed == DAYS[offer.row - 2].isoformat() for offer in offers)


def test_numbers_of_a_spreadsheet_are_dates_and_told() -> None:
    study = study_of([str((day - date(1899, 12, 30)).days) for day in DAYS])
    assert read(study) == [day.isoformat() for day in DAYS]
    assert not study.numbered_days
    assert "40 numbers were read as a spreadsheet counts days: '45352' is 2024-03-01" in str(unsure(study)[0].message)


def test_other_columns_follow_the_interview() -> None:
    issued = [(day + timedelta(days=1)).strftime("%m/%d/%Y") if day.day < 12 else "" for day in DAYS]
    study = study_of([day.isoformat() for day in DAYS], issued_date=issued)
    assert "issued_date: " in str(unsure(study)[0].message)
    assert "month, then day" in str(unsure(study)[0].message)


def test_slips_of_a_year_are_offered() -> None:
    texts = [day.isoformat() for day in DAYS]
    texts[5], texts[9], texts[20], texts[30] = "2924-03-16", "2042-03-28", "0224-04-30", "2014-05-30"
    study = study_of(texts)
    offers = {p.proposal.row: p.proposal.proposed for p in study.problems if p.proposal is not None}
    assert offers == {n + 2: DAYS[n].isoformat() for n in (5, 9, 20, 30)}
    assert {problem.kind for problem in study.problems} == {
        "bad-date",
        "future-date",
        "before-recruiter",
        "long-before",
    }


def test_a_slip_with_two_ways_out_is_not_offered() -> None:
    texts = [(START + timedelta(days=30 * n)).isoformat() for n in range(40)]
    texts[20] = "3025-10-22"
    texts[39] = "2047-05-14"
    study = study_of(texts)
    assert [p.proposal for p in study.problems if p.row == 41] == [None]
