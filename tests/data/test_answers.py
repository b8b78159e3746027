"""Answers as people type them: words and numbers for "not known", writings of one category, sizes in words."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.problems import FaultyStudy, grouped
from peerfront.data.read.answers import codes_apart
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_frontier, study_from_table
from peerfront.data.schema_file import parse_schema, schema_text
from peerfront.data.study_schema import FieldRule, encode_study
from peerfront.foundation.typed_values import one_slip


def study_with(settings: ReadSettings | None = None, **columns: list[str]):
    """Forty people in a chain of recruiters, with these columns (repeated to their number)."""
    ids = [f"p{n}" for n in range(40)]
    table = pd.DataFrame({"id": ids, "recruiter": ["", *ids[:-1]], "coupons_issued": ["3"] * 40})
    for name, values in columns.items():
        table[name] = (values * 40)[:40]
    return study_from_table(table, settings)


def found(study, kind: str) -> list[tuple[int | None, str, str | None]]:
    return [(p.row, p.column, p.proposal.proposed if p.proposal else None) for p in study.problems if p.kind == kind]


def steps(study) -> str:
    return " ".join(map(str, study.steps))


ZONES = ["Norte", "NORTE", "norte ", "México", "Norte", "Mexico", "México"]


# Categories -----------------------------------------------------------------------------------------------------------


def test_one_category_has_one_writing_the_most_frequent() -> None:
    study = study_with(
        sex=["F", "f", "F", "M"], zone=["Norte", "NORTE", "norte ", "México", "Norte", "Mexico", "México"]
    )
    assert set(study.people["sex"]) == {"F", "M"}
    assert set(study.people["zone"]) == {"Norte", "México"}
    assert "differ only in capitals, blanks or accents are one: 'f' is 'F' (10 people)." in steps(study)
    rules = {rule.name: rule for rule in guess_schema(study).schema.fields}
    assert rules["sex"].categories == ("F", "M")


def test_a_schema_and_people_waiting_may_use_other_writings() -> None:
    schema = guess_schema(study_with(sex=["F", "f", "F", "M"])).schema
    waiting = read_frontier(pd.DataFrame({"id": ["x", "y", "z"], "sex": ["f", "m", "don't know"]}), schema)
    assert waiting.covariates[:, 0].tolist() == [0, 1, -1]
    earlier = parse_schema(b'[[field]]\nname = "sex"\ncategories = ["f", "m"]\n', "schema.toml")
    assert encode_study(study_with(sex=["F", "f", "F", "M"]), earlier)[:4, 0].tolist() == [0, 0, 0, 1]


def test_a_schema_may_tell_writings_apart() -> None:
    rule = FieldRule("sex", ("f", "F", "m"))
    codes, wrong = rule.encode(pd.Series(["f", "F", "M", "x"], dtype=object))
    assert codes.tolist()[:3] == [0, 1, 2]
    assert wrong.tolist() == [False, False, False, True]


def test_words_for_not_known_in_several_languages() -> None:
    words = ["No sabe", "DK", "refused", "?", "NS/NR", "-", "não sabe", "weiß nicht", "Don\u2019t know"]
    study = study_with(home=[*words, *["own", "rented"] * 8])
    assert set(study.people["home"]) == {"own", "rented", ""}
    assert "answers count as not known" in steps(study)
    kept = study_with(ReadSettings(missing=("not refused",)), home=[*words, *["own", "rented"] * 8])
    assert set(kept.people["home"]) == {"own", "rented", "refused", ""}


def test_two_letters_beside_others_are_codes() -> None:
    assert "DK" in set(study_with(country=["DK", "SE", "FI", "SE"]).people["country"])
    assert set(study_with(tested=["si", "no", "ns"]).people["tested"]) == {"si", "no", ""}


def test_results_are_no_words_for_not_known() -> None:
    assert set(study_with(result=["+", "-", "?"]).people["result"]) == {"+", "-", ""}
    assert set(study_with(result=["R", "NR", "-"]).people["result"]) == {"R", "NR", ""}


def test_a_likely_typing_error_is_offered_and_not_mended() -> None:
    zones = ["Norte", "Sur", "Norte", "Centro"] * 9 + ["Nortee", "Nrote", "Oeste", "Sur"]
    study = study_with(zone=zones)
    assert found(study, "odd-answer") == [(38, "zone", "Norte"), (39, "zone", "Norte")]
    assert study.people["zone"][36] == "Nortee"
    assert not found(study_with(zone=["Zone 1"] * 20 + ["Zone 2"] * 19 + ["Zone 3"]), "odd-answer")


@pytest.mark.parametrize(
    ("typed", "slip"), [("nortee", True), ("nrote", True), ("norta", True), ("nort", True), ("norte", False),
                        ("sur", False), ("onrt", False)],
)  # fmt: skip
def test_one_slip(typed: str, slip: bool) -> None:
    assert one_slip(typed, "norte") is slip


# Codes that stand apart -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([1, 2, 3] * 5 + [9, 9], {9}),
        ([1, 2, 3] * 5 + [8, 9], {8, 9}),
        ([0, 1] * 5 + [-1, -9], {-1, -9}),
        ([*range(1, 60), 99, 99], {99}),
        ([*range(1, 30), 999], {999}),
        ([*range(18, 70, 2), 98, 99, 99], {98, 99}),
        ([*range(80, 150)], set()),  # 98 and 99 are sizes
        ([*range(1, 10)] * 3, set()),
        ([1, 2, 3, 9], set()),  # too few to say
        ([-1, 0, 1] * 10, set()),
        ([-2, -1, 0, 1, 2] * 5, set()),
        ([1, 2, 3, 4, 5, 6, 7] * 4 + [9, 9], set()),
        ([1, 2, 3, 4, 5, 6, 7] * 9 + [9, 9], {9}),
        ([*range(0, 500, 7), 999], set()),  # one person, and not three times the next
        ([*range(1, 25), 77], set()),  # one person with a code that is less usual
        ([*range(1, 25), 77, 77], {77}),
    ],
)
def test_codes_that_stand_apart(numbers: list[int], codes: set[int]) -> None:
    assert codes_apart(np.array(numbers, dtype=np.float64)) == codes


@given(st.lists(st.integers(1, 99), min_size=8, max_size=60), st.integers(0, 3))
def test_only_codes_above_or_below_all_others_stand_apart(numbers: list[int], unknown: int) -> None:
    column = np.array(numbers + [999] * unknown, dtype=np.float64)
    apart = codes_apart(column)
    others = [n for n in column if n not in apart]
    assert apart <= {7, 8, 9, 77, 88, 97, 98, 99, 999}
    assert all(code > max(others) for code in apart)
    assert (999 in apart) is bool(unknown)


def test_a_code_is_not_known_in_its_column_in_the_schema_and_for_people_waiting() -> None:
    ages = [str(20 + n) for n in range(30)] + ["99", "99"]
    study = study_with(age=ages, hiv=["1", "2", "9", "1"])
    assert study.not_known == {"age": ("99",), "hiv": ("9",)}
    assert (study.people["age"] == "").sum() == 2
    messages = [str(p.message) for p in study.problems if p.kind == "stands-apart"]
    assert any("age: 99 stands apart from the other numbers and counts as not known (2 people)" in m for m in messages)
    schema = parse_schema(schema_text(guess_schema(study).schema).encode(), "schema.toml")
    assert {rule.name: rule.missing for rule in schema.fields}["age"] == ("99",)
    waiting = read_frontier(pd.DataFrame({"id": ["x", "y"], "age": ["99", "20"], "hiv": ["9", "1"]}), schema)
    assert waiting.covariates[0, 0] == -1 < waiting.covariates[1, 0]


def test_who_knows_better_says_so() -> None:
    ages = [str(20 + n) for n in range(30)] + ["99", "99"]
    study = study_with(ReadSettings(missing=("not 99",)), age=ages)
    assert study.not_known == {}
    assert (study.people["age"] == "99").sum() == 2


# Network sizes and other numbers --------------------------------------------------------------------------------------


def test_network_sizes_in_words() -> None:
    sizes = ["10", "about 20", "20+", ">50", "twenty", "10-15", "many", "-5", "\uff15", "2,000", "12 people"]
    study = study_with(network_size=[*sizes, *["7"] * 29])
    np.testing.assert_array_equal(study.network_size[:11], [10, 20, 20, 50, 20, np.nan, np.nan, np.nan, 5, 2000, 12])
    assert found(study, "bad-network-size") == [
        (7, "network_size", "12"), (8, "network_size", None), (9, "network_size", None)
    ]  # fmt: skip
    assert "network_size: 4 numbers were read from words: 'about 20' is 20." in steps(study)


def test_sizes_that_are_codes_and_sizes_of_nobody() -> None:
    study = study_with(network_size=[*map(str, range(5, 35)), "999", "0"])
    assert study.not_known == {"network_size": ("999",)}
    assert np.isnan(study.network_size[30])
    assert "1 people who recruited or were recruited have network size 0" in steps(study)
    among = study_with(network_size=[*map(str, range(80, 120))])
    assert among.not_known == {}


@pytest.mark.parametrize(
    ("sizes", "asked"),
    [
        ("1 2 3 4 5", "size_codes"), ("0 1 2 3 9", "size_codes"), ("1 2 3 4 99", "size_codes"),
        ("0-5 6-10 11-20", "size_bands"), ("0-5 6-10 more", "size_bands"), ("1 2 3 4 5 6 7 8 9", None),
        ("2 4 6 8", None), ("1 2 3 4 5 20", None), ("10 11 12", None), ("1 3 5 9", None), ("0-5 6 7 8 9", None),
    ],
)  # fmt: skip
def test_sizes_that_number_bands_are_asked_about(sizes: str, asked: str | None) -> None:
    study = study_with(network_size=sizes.split())
    codes = [problem for problem in study.problems if problem.kind == "coded-network-size"]
    assert [problem.message.code for problem in codes] == ([f"problems.{asked}"] if asked else [])
    assert [remedy.value for problem in codes for remedy in problem.remedies] == (
        [("network_size",), ("network_size", "")] if asked else []
    )
    unread = study_with(ReadSettings(columns={"network_size": ()}), network_size=sizes.split())
    assert not found(unread, "coded-network-size")


def test_units_are_read_and_what_is_no_number_is_told() -> None:
    ages = [f"{20 + n} años" for n in range(30)] + ["young", "20-25", "30ish"]
    study = study_with(age=ages)
    assert found(study, "bad-number") == [(32, "age", None), (33, "age", "22"), (34, "age", None)]
    [rule] = guess_schema(study).schema.fields
    assert rule.cuts
    assert len(grouped(study.problems)) == 1


def test_counts_of_coupons_in_words() -> None:
    table = pd.DataFrame({"id": ["a", "b", "c", "d"], "recruiter": ["", "a", "a", "b"]})
    issued = ["Three", "2 coupons", "ninguno", "0"]
    assert study_from_table(table.assign(coupons_issued=issued)).issued.tolist() == [3, 2, 0, 0]
    with pytest.raises(FaultyStudy, match="'some' is no whole number"):
        study_from_table(table.assign(coupons_issued=["3", "some", "0", "0"]))
