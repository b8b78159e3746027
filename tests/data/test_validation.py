"""Every fault that the validator knows, with its row; and what is made of dates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.data.problems import ERROR, KINDS, FaultyStudy
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.foundation.errors import SettingError
from peerfront.foundation.recruitment_trees import trees_of

HEAD = "id,own.coupon,coupon.1,coupon.2,date\n"


def study_of(tmp_path, text, **settings):
    path = tmp_path / "study.csv"
    path.write_text(text)
    return read_study(path, ReadSettings(**settings))


@pytest.mark.parametrize(
    ("rows", "kind", "place", "what"),
    [
        ("1,,A,B,\n,A,,,\n", "missing-id", 3, "The id is empty."),
        ("1,,A,B,\n1,A,,,\n", "repeated-id", 3, "Id '1' stands already in row 2."),
        ("1,,A,B,\n2,C,C,D,\n", "self-recruited", 3, "'2' is their own recruiter."),
        ("1,,A,B,\n2,A,C,A,\n3,A,,,\n", "ambiguous-coupon", 3, "issued to '1' (row 2) and '2' (row 3)"),
        ("1,,A,B,\n2,D,C,,\n3,C,D,,\n", "cycle", 3, "in a circle of 2: '2' <- '3' <- '2'."),
        ("1,,1.42E+21,B,\n", "digits-lost", 2, "'1.42E+21' is a long number cut short"),
    ],
)
def test_errors_stop_with_their_row(tmp_path, rows, kind, place, what) -> None:
    with pytest.raises(FaultyStudy) as stopped:
        study_of(tmp_path, HEAD + rows)
    found = [p for p in stopped.value.problems if p.kind == kind]
    assert [p.row for p in found][:1] == [place]
    assert what in str(found[0].message)
    assert f"row {place}: {found[0].message!s}" in str(stopped.value)
    assert KINDS[kind].severity == ERROR
    assert str(KINDS[kind].remedy) in str(stopped.value)


@pytest.mark.parametrize(
    ("rows", "kind", "place", "what", "recruiter"),
    [
        ("1,,A,B,\n2,A,B,,\n", "issued-twice", 3, "'B' of '2' was also issued to '1' (row 2)", [-1, 0]),
        ("1,,A,A,\n2,A,,,\n", "repeated-in-row", 2, "'A' is listed twice for '1'", [-1, 0]),
        ("1,,A,B,\n2,A,,,\n3,A,,,\n", "redeemed-twice", 4, "'A' of '3' was redeemed already in row 3", [-1, 0, 0]),
        ("1,,A,B,\n2,X,,,\n", "not-issued", 3, "'2' came with coupon 'X', which nobody was issued.", [-1, -1]),
        ("1,,0A7,B,\n2,a7,,,\n", "not-issued", 3, "Did they mean '0A7' of '1'?", [-1, -1]),
        (
            "1,,A,,\n2,A,,,\n3,A,,,\n",
            "too-many-recruits",
            2,
            "'1' brought 2 people with 1 coupons",
            [-1, 0, 0],
        ),
        (
            "1,,A,B,2024-03-02\n2,A,,,2024-03-01\n",
            "before-recruiter",
            3,
            "'2' (2024-03-01) is dated before their recruiter '1' (2024-03-02)",
            [-1, 0],
        ),
        ("1,,A,B,2024-03-02\n2,A,,,soon\n", "bad-date", 3, "date: 'soon' is not understood", [-1, 0]),
        (
            "1,,X,B,\n2,B,X,C,\n3,C,X,D,\n4,X,,,\n",
            "placeholder",
            2,
            "Code 'X' is a placeholder",
            [-1, 0, 1, -1],
        ),
    ],
)
def test_warnings_are_kept_with_their_row(tmp_path, rows, kind, place, what, recruiter) -> None:
    study = study_of(tmp_path, HEAD + rows)
    found = [p for p in study.problems if p.kind == kind]
    assert found, [p.kind for p in study.problems]
    assert found[0].row == place
    assert what in str(found[0].message)
    assert found[0].severity == "warning"
    assert study.recruiter.tolist() == recruiter
    with pytest.raises(FaultyStudy, match="strict=True stops on them"):
        study_of(tmp_path, HEAD + rows, strict=True)


def test_people_with_more_recruits_than_coupons_say_nothing_about_capacity(tmp_path) -> None:
    study = study_of(tmp_path, HEAD + "1,,A,,\n2,A,B,,\n3,A,,,\n")
    assert study.informative.tolist() == [False, True, False]  # too many; one coupon, nobody came; no coupon


def test_codes_made_from_ids(tmp_path) -> None:
    rows = [f"{i},,C{i},,90{i}" for i in range(1, 8)] + ["8,903,X1,900,908", "9,90,X2,,909", "10,C1,,,9010"]
    study = study_of(tmp_path, "id,own.coupon,coupon.1,coupon.2,coupon.3\n" + "\n".join(rows) + "\n")
    assert study.recruiter.tolist() == [-1] * 7 + [2, -1, 0]
    assert study.issued.tolist() == [1] * 9 + [0]
    assert study.orphan.tolist() == [False] * 8 + [True, False]
    kinds = [(p.kind, p.row) for p in study.problems]
    assert kinds == [("made-from-id", None), ("made-from-id", 9), ("placeholder", 9), ("not-issued", 10)]


def test_coupons_that_are_all_numbered_by_id_are_coupons(tmp_path) -> None:
    rows = [f"{i},{f'A{i - 1}' if i > 1 else ''},A{i},B{i}" for i in range(1, 9)]
    study = study_of(tmp_path, "id,own.coupon,coupon.1,coupon.2\n" + "\n".join(rows) + "\n")
    assert study.issued.tolist() == [2] * 8
    assert study.problems == ()


@pytest.mark.parametrize(
    ("rows", "kind", "row", "what"),
    [
        ("a,seed,1\nb,x,1\nc,a,1\n", "unknown-recruiter", 3, "The recruiter of 'b', 'x', is not in the file."),
        ("a,seed,1\nb,b,1\n", "self-recruited", 3, "'b' is their own recruiter"),
        ("a,b,1\nb,c,1\nc,a,1\nd,seed,1\n", "cycle", 2, "'a' <- 'b' <- 'c' <- 'a'"),
        ("a,seed,some\n", "bad-count", 2, "'some' is no whole number"),
        ("a,seed,-1\n", "bad-count", 2, "'-1' is no whole number"),
        ("a,seed,\n", "bad-count", 2, "'' is no whole number"),
    ],
)
def test_errors_of_recruiter_files(tmp_path, rows, kind, row, what) -> None:
    with pytest.raises(FaultyStudy) as stopped:
        study_of(tmp_path, "id,recruiter.id,coupons.issued\n" + rows)
    found = [p for p in stopped.value.problems if p.severity == ERROR]
    assert [(p.kind, p.row) for p in found] == [(kind, row)]
    assert what in str(found[0].message)


def test_long_circles_are_cut_short(tmp_path) -> None:
    rows = "".join(f"{i},{i - 1 if i else 19},1\n" for i in range(20))
    with pytest.raises(FaultyStudy, match="circle of 20: '0' <- '19' <- '18' <- '17' <- '16' <- '15' <- ... <- '0'."):
        study_of(tmp_path, "id,recruiter,coupons.issued\n" + rows)


def test_coupons_and_recruiter_ids_that_disagree(tmp_path) -> None:
    text = "id,recruiter.id,own.coupon,coupon.1\n1,,,A\n2,,,B\n3,1,A,\n4,1,B,\n"
    study = study_of(tmp_path, text)
    assert [(p.kind, p.row) for p in study.problems] == [("recruiter-disagrees", 5)]
    assert study.recruiter.tolist() == [-1, -1, 0, 1]


def test_a_code_that_the_named_recruiter_was_not_given(tmp_path) -> None:
    path = tmp_path / "app.json"
    path.write_text(
        '[{"surveyCode": "a", "parentSurveyCode": "__SEED__", "childSurveyCodes": ["b"]},'
        '{"surveyCode": "c", "parentSurveyCode": "a", "childSurveyCodes": []}]'
    )
    study = read_study(path)
    assert [(p.kind, p.row) for p in study.problems] == [("not-on-list", 2)]
    assert study.recruiter.tolist() == [-1, 0]


def test_long_lists_of_errors_are_counted(tmp_path) -> None:
    with pytest.raises(FaultyStudy) as stopped:
        study_of(tmp_path, HEAD + "1,,A,B,\n" * 30)
    assert "study.csv has 1 error in 29 rows" in str(stopped.value)
    assert "... and the same 27 times more: row 5" in str(stopped.value)
    assert len([p for p in stopped.value.problems if p.severity == ERROR]) == 29


def test_open_coupons(tmp_path) -> None:
    text = HEAD + "1,,A,B,2024-01-01\n2,A,C,,2024-02-01\n3,B,D,,2024-02-20\n4,C,E,,2024-02-29\n"
    assert study_of(tmp_path, text).still_open.sum() == 0
    assert study_of(tmp_path, text, still_open="10").still_open.tolist() == [False, False, True, True]
    assert study_of(tmp_path, text, still_open="9 days").still_open.tolist() == [False, False, False, True]
    waves = study_of(tmp_path, text, still_open="last-wave")
    assert waves.still_open.tolist() == [False, False, False, True]
    assert waves.informative.tolist() == [True, True, True, False]
    with pytest.raises(SettingError, match="was read as dates to count from"):
        study_of(tmp_path, "id,own.coupon,coupon.1\n1,,A\n", still_open="10")


def test_dates_that_could_be_read_two_ways_warn(tmp_path) -> None:
    study = study_of(tmp_path, HEAD + "1,,A,B,01/03/2024\n2,A,,,02/03/2024\n")
    assert [p.kind for p in study.problems] == ["unsure-dates"]


def test_network_sizes_that_are_no_numbers_warn(tmp_path) -> None:
    study = study_of(tmp_path, "id,own.coupon,coupon.1,degree\n1,,A,many\n2,A,,5\n")
    assert [(p.kind, p.row) for p in study.problems] == [("bad-network-size", 2)]


@given(st.lists(st.integers(-1, 11), min_size=1, max_size=12))
def test_trees_against_walking(parents) -> None:
    recruiter = np.array([p if p < len(parents) else -1 for p in parents], dtype=np.int64)
    trees = trees_of(recruiter)
    in_circles = set()
    for person in range(len(recruiter)):
        path, here = [person], person
        while recruiter[here] >= 0 and recruiter[here] not in path:
            here = int(recruiter[here])
            path.append(here)
        if recruiter[here] < 0:
            assert (trees.wave[person], trees.root[person]) == (len(path) - 1, here)
        elif recruiter[here] == person:
            in_circles.add(person)
    assert sorted(p for circle in trees.circles for p in circle) == sorted(in_circles)
    for circle in trees.circles:
        assert [int(recruiter[p]) for p in circle] == [*circle[1:], circle[0]]


@pytest.mark.parametrize("mark", ["seed", "0", "-1"])
def test_seeds_of_coupon_files_may_carry_a_mark(tmp_path, mark) -> None:
    study = study_of(tmp_path, HEAD + f"1,{mark},A,B,\n2,{mark},C,D,\n3,A,,,\n")
    assert study.seed.tolist() == [True, True, False]
    assert study.problems == ()


def test_what_is_neither_yes_nor_no_is_asked_about(tmp_path) -> None:
    rows = "".join(f"P{i},{f'c{i - 1}' if i else ''},c{i},{'no' if i else 'yes'},{'no'}\n" for i in range(12))
    text = "id,own.coupon,coupon.1,seed,waiting\n" + rows
    assert not study_of(tmp_path, text).problems
    odd = text.replace("P5,c4,c5,no,no", "P5,c4,c5,maybe,no").replace("P6,c5,c6,no,no", "P6,c5,c6,no,later")
    study = study_of(tmp_path, odd)
    assert [(p.kind, p.row, p.column) for p in study.problems] == [
        ("not-yes-or-no", 7, "seed"), ("not-yes-or-no", 8, "waiting"),
    ]  # fmt: skip
    assert str(study.problems[0].message) == "seed: 'maybe' is neither yes nor no."


def test_ids_that_differ_in_capitals_or_zeros_alone_are_asked_about(tmp_path) -> None:
    study = study_of(tmp_path, "id,own.coupon,coupon.1\nP5,,a\np5,a,b\n01,b,c\n1,c,d\n10,d,e\nP10,e,f\n")
    assert [(p.kind, p.row, p.person) for p in study.problems] == [("alike-ids", 3, "p5"), ("alike-ids", 5, "1")]
    assert str(study.problems[1].message).startswith("Id '1' and '01' (row 4)")
    assert len(study) == 6
