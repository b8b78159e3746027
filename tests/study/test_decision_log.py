"""The decision log: rounds are added, nothing is lost, and estimates read their strata from it or from sheets."""

import pandas as pd
import pytest

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import note
from peerfront.study.coupon_sheet import Heading
from peerfront.study.decision_log import COLUMNS, extended_log, log_rows, recorded_strata, write_log
from peerfront.study.planning import plan_coupons
from study.small_advice import a_fit, a_frontier, order


def a_sheet(**changed: object):
    return plan_coupons(a_fit(), a_frontier(6), order(strata="sex", rounds_left=1, **changed))  # type: ignore[arg-type]


def test_rounds_are_added_and_none_twice(tmp_path) -> None:
    path = tmp_path / "log.csv"
    first = extended_log(path, a_sheet(), Heading("study", "2026-03-02", 1))
    write_log(path, first)
    assert path.stat().st_mode & 0o077 == 0
    both = extended_log(path, a_sheet(seed=4), Heading("study", "2026-03-09", 2))
    write_log(path, both)
    read = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert tuple(read.columns) == COLUMNS
    assert read["round"].tolist() == ["1"] * 6 + ["2"] * 6
    assert read["seed"].tolist() == ["0"] * 6 + ["4"] * 6
    assert set(read["strata"]) == {"sex"}
    before = path.read_bytes()
    with pytest.raises(DataFileError, match="round 2, for 6 people of this sheet already"):
        extended_log(path, a_sheet(), Heading("study", "2026-03-09", 2))
    assert path.read_bytes() == before


def test_another_file_is_no_log(tmp_path) -> None:
    path = tmp_path / "study.csv"
    path.write_text("id,sex\n1,f\n")
    with pytest.raises(DataFileError, match="no decision log: its columns are id, sex"):
        extended_log(path, a_sheet(), Heading())


def test_strata_are_read_from_log_sheet_and_workbook(tmp_path) -> None:
    sheet = a_sheet()
    expected = dict(zip(sheet.table["person"], sheet.table["stratum"], strict=True))
    write_log(tmp_path / "log.csv", log_rows(sheet, Heading()))
    sheet.save(tmp_path / "sheet.csv")
    sheet.save(tmp_path / "sheet.xlsx")
    for name, what in (
        ("log.csv", "sex"),
        ("sheet.csv", "strata of the coupon sheet"),
        ("sheet.xlsx", "strata of the coupon sheet"),
    ):
        recorded = recorded_strata([tmp_path / name], note("decision_log.coupon_sheet"))
        assert recorded.of_person == expected
        assert str(recorded.what) == what


def test_without_strata_the_number_decided_stands_in() -> None:
    table = pd.DataFrame({"person": ["a", "b"], "coupons": [3, 1]})
    recorded = recorded_strata([table], note("decision_log.coupon_sheet"))
    assert recorded.of_person == {"a": "3", "b": "1"}
    assert "no stratum for 2 people" in str(recorded.notes[0])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"id": ["a"], "coupons": [1]}, "no column 'person'"),
        ({"person": ["a"], "coupons": ["many"]}, "row 2: coupons are 'many'"),
        ({"person": ["a", "a"], "coupons": [1, 1], "stratum": ["x", "y"]}, "row 3: a is recorded as 'y'"),
    ],
)
def test_bad_records_are_refused_with_their_row(table: dict[str, list[object]], message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        recorded_strata([pd.DataFrame(table)], note("decision_log.coupon_sheet"))
