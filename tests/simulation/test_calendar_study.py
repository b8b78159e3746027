"""A made-up study on a calendar: what its file shows on a day, and who comes when."""

from datetime import date, timedelta

import pandas as pd
import pytest

from peerfront.models.returns.return_times import ReturnTimes
from simulation.calendar_study import CalendarStudy
from study.running_study import FIRST, small_world


def made(coupons: int = 3, name: str = "field study") -> CalendarStudy:
    study = CalendarStudy(small_world(), ReturnTimes("lognormal", 6.0, 0.7), FIRST, 10, name, valid_days=20.0)
    study.hand_out(FIRST, dict.fromkeys(study.ids[:10], coupons))
    return study


def test_recruits_come_later_on_weekdays_and_in_time() -> None:
    table = made().table(FIRST + timedelta(days=60)).set_index("id")
    came = table[table["recruiter"] != ""]
    assert len(came) > 5
    issued = pd.to_datetime(table.loc[came["recruiter"], "issued_date"]).to_numpy()
    days = (pd.to_datetime(came["date"]).to_numpy() - issued) / pd.Timedelta(days=1)
    assert days.min() >= 1
    assert days.max() <= 20 + 2, "a weekend may lie between"
    assert pd.to_datetime(came["date"]).dt.day_of_week.max() < 5
    assert set(table["coupons_issued"]) == {"0", "3"}


def test_the_file_of_a_day_knows_nothing_of_later_days() -> None:
    study = made()
    before = study.table(FIRST + timedelta(days=7))
    study.hand_out(
        FIRST + timedelta(days=8), {study.ids[10]: 2} if study.enrolled(FIRST + timedelta(days=8)) > 10 else {}
    )
    assert study.table(FIRST + timedelta(days=7)).equals(before)
    sizes = [len(study.table(FIRST + timedelta(days=day))) for day in range(0, 60, 6)]
    assert sizes == sorted(sizes)
    assert sizes[0] == study.enrolled(FIRST) == 10


def test_the_same_people_come_whatever_others_get() -> None:
    few, many = made(1), made(3)
    late = FIRST + timedelta(days=60)
    assert len(many.table(late)) > len(few.table(late))
    assert many.table(FIRST)["district"].equals(few.table(FIRST)["district"])
    assert not made(3, "another").table(late).equals(many.table(late))


def test_coupons_are_for_people_who_took_part_and_have_none() -> None:
    study = made()
    with pytest.raises(ValueError, match="has coupons already"):
        study.hand_out(FIRST, {study.ids[0]: 1})
    with pytest.raises(ValueError, match="has not taken part by 2026-03-02"):
        study.hand_out(date(2026, 3, 2), {study.ids[-1]: 1})
