"""From a study's dates to what models of return times see."""

import numpy as np
import pandas as pd
import pytest

from data.dated_studies import day_text, study_of_rows
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import study_from_table
from peerfront.foundation.errors import SettingError
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.simulation.demo_study import demo_study
from peerfront.study.coupon_calendar import coupons_seen, exposure_of, why_undated

PEOPLE = [
    ("a", "seed", "3", day_text(0)),
    ("b", "a", "3", day_text(7)),
    ("c", "a", "2", day_text(9)),
    ("d", "b", "0", day_text(20)),
]
TIMES = ReturnTimes("lognormal", 20.0, 1.0)


def seen_of(settings: ReadSettings | None = None, **columns: list[str]):
    table = pd.DataFrame(PEOPLE, columns=["id", "recruiter.id", "coupons.issued", "date"]).assign(**columns)
    return coupons_seen(study_from_table(table, settings))


def test_holders_and_returns() -> None:
    seen, rows = seen_of()
    assert rows.tolist() == [0, 1, 2]
    assert seen.coupons.tolist() == [3, 3, 2]
    assert seen.ages.tolist() == [20, 13, 11]
    assert seen.holder.tolist() == [0, 0, 1]
    assert seen.return_ages.tolist() == [7, 9, 13]
    assert np.isinf(seen.validity).all()


def test_expiry_and_the_day_from_which_coupons_can_be_used() -> None:
    seen, _ = seen_of(ReadSettings(valid_days=12, active_after_days=2))
    assert seen.ages.tolist() == [18, 11, 9]
    assert seen.return_ages.tolist() == [5, 7, 11]
    assert seen.validity.tolist() == [10, 11, 10]  # a coupon of b was used late, and counts
    assert seen.open.tolist() == [0, 0, 2]


def test_returns_whose_dates_cannot_be_are_of_unknown_age() -> None:
    seen, _ = seen_of(issued_date=[day_text(8), "", "", ""])
    assert seen.recruits.tolist() == [2, 1, 0]
    np.testing.assert_array_equal(seen.return_ages, [np.nan, 1, 13])


def test_people_without_a_date_or_with_more_recruits_than_coupons_are_left_out() -> None:
    rows = [*PEOPLE, ("e", "seed", "1", ""), ("f", "e", "1", day_text(12)), ("g", "f", "0", ""), ("h", "f", "0", "")]
    study = study_of_rows(rows)
    seen, people = coupons_seen(study)
    assert study.ids[people].tolist() == ["a", "b", "c"]
    exposure = exposure_of(study, TIMES)
    assert np.isfinite(exposure).nonzero()[0].tolist() == [0, 1, 2]
    np.testing.assert_allclose(exposure[people], seen.exposure(TIMES), atol=0.005)  # in steps of 1%


def test_sites_of_five_people_or_more() -> None:
    rows = [(f"p{n}", "seed", "2", day_text(n)) for n in range(14)]
    study = study_of_rows(rows, site=["north"] * 6 + ["south"] * 5 + ["west"] * 2 + [""])
    seen, _ = coupons_seen(study)
    assert seen.sites == ("north", "south")
    assert seen.site_codes.tolist() == [0] * 6 + [1] * 5 + [-1] * 3
    alone, _ = coupons_seen(study_of_rows(rows, site=["north"] * 14))
    assert alone.sites == ()


def test_when_dates_do_not_suffice() -> None:
    made, anyway = demo_study(80).study, ReadSettings(read_anyway=True)
    assert why_undated(study_from_table(made)) is None
    assert "no column of the file was read as dates" in str(why_undated(study_from_table(made.drop(columns=["date"]))))
    assert "nothing in 'date' can be read" in str(why_undated(study_from_table(made.assign(date="soon"), anyway)))
    assert "still_open = 'none'" in str(why_undated(study_from_table(made, ReadSettings(still_open="none"))))
    assert "fewer than 10" in str(why_undated(study_of_rows(PEOPLE)))
    some = made.assign(date=made["date"].where(np.arange(len(made)) % 10 < 7, ""))
    assert "only 7" in str(why_undated(study_from_table(some)))
    with pytest.raises(SettingError, match="No column of the table was read as dates"):
        coupons_seen(study_from_table(made.drop(columns=["date"])))
