"""Seeds with codes of their own, and columns that say who is a seed."""

import numpy as np
import pytest

from data.made_exports import made_study, table_bytes
from peerfront.data.read.coupon_codes import are_seed_marks
from peerfront.data.read.read_settings import ReadSettings, parse_columns
from peerfront.data.reading import read_study


def study_file(tmp_path, study, seed_column=None, dates=True):
    header = ["id", "own_coupon", "coupon_1", "coupon_2", "coupon_3", *(["date"] if dates else [])]
    rows = [header + ([seed_column[0]] if seed_column else [])]
    for n, p in enumerate(study.people):
        rows.append(
            [p.id, p.own, *p.slots, *([p.date] if dates else []), *([seed_column[1][n]] if seed_column else [])]
        )
    path = tmp_path / "study.csv"
    path.write_bytes(table_bytes(rows))
    return path


@pytest.mark.parametrize("codes", [("1", "2", "3", "4", "5"), ("S1", "S2", "S3", "S4", "S12"), ("Seed-A",) * 5])
@pytest.mark.parametrize("dates", [True, False])
def test_codes_of_their_own_make_seeds(tmp_path, codes, dates) -> None:
    made = made_study(seed_codes=codes)
    study = read_study(study_file(tmp_path, made, dates=dates))
    assert np.flatnonzero(study.seed).tolist() == [0, 1, 2, 3, 4]
    assert not study.orphan.any()
    assert [(p.kind, p.row) for p in study.problems] == [("assumed-seed", row) for row in range(2, 7)]
    assert f"came with {codes[0]!r}, which nobody was issued: taken for a seed" in str(study.problems[0].message)


def test_a_late_seed_is_known_by_its_code(tmp_path) -> None:
    made = made_study(seed_codes=("S1", "S2", "S3", "S4", "S5"))
    late = made.people[60]
    late.own, late.recruiter = "S6", ""
    study = read_study(study_file(tmp_path, made))
    assert np.flatnonzero(study.seed).tolist() == [0, 1, 2, 3, 4, 60]


def test_a_late_code_like_a_coupon_is_no_seed(tmp_path) -> None:
    made = made_study()
    made.people[60].own = "09999X"
    made.people[61].own = "00001"  # looks like a coupon
    study = read_study(study_file(tmp_path, made))
    assert study.ids[study.orphan].tolist() == [made.people[60].id, made.people[61].id]
    assert {p.kind for p in study.problems} == {"not-issued"}


def test_a_misspelt_coupon_is_no_seed_however_early(tmp_path) -> None:
    made = made_study()
    first = made.people[5]
    first.own = first.own.lstrip("0")  # Excel dropped the zero
    made.people[5:] = made.people[5:]
    study = read_study(study_file(tmp_path, made))
    assert study.orphan[5]
    assert "Did they mean" in str(study.problems[0].message)


def test_nothing_is_assumed_where_nobody_is_linked(tmp_path) -> None:
    path = tmp_path / "study.csv"
    path.write_text("id,own.coupon,coupon.1\n1,X,a\n2,Y,b\n")
    study = read_study(path)
    assert not study.seed.any()
    assert [p.kind for p in study.problems] == ["not-issued", "not-issued"]


def test_a_recruiter_by_id_is_no_seed(tmp_path) -> None:
    path = tmp_path / "study.csv"
    path.write_text("id,own.coupon,coupon.1,coupon.2,recruiter\n1,,A1,A2,\n2,zz,B1,B2,1\n3,A1,,,1\n")
    study = read_study(path)
    assert study.seed.tolist() == [True, False, False]
    assert "not-issued" in {p.kind for p in study.problems}


def test_a_column_of_seeds_decides(tmp_path) -> None:
    made = made_study(seed_codes=("09001", "09002", "09003", "09004", "09005"))
    marks = ["yes" if n < 5 else "no" for n in range(len(made.people))]
    marks[7] = "yes"  # who is a recruit by the coupon
    made.people[40].own = ""  # without a coupon, and no seed
    path = study_file(tmp_path, made, ("first in chain", marks))
    study = read_study(path, ReadSettings(columns=parse_columns(["seed=first in chain"])))
    assert np.flatnonzero(study.seed).tolist() == [0, 1, 2, 3, 4]
    assert study.ids[study.orphan].tolist() == [made.people[40].id]
    assert {(p.kind, p.row) for p in study.problems} == {("seed-with-coupon", 9), ("not-marked-seed", 42)}
    assert study.columns["seed"] == ("first in chain",)
    assert "first in chain" not in study.people.columns


def test_the_usual_name_is_recognised_if_it_says_yes_and_no(tmp_path) -> None:
    made = made_study(seed_codes=("09001", "09002", "09003", "09004", "09005"))
    marks = [int(n < 5) for n in range(len(made.people))]
    assert read_study(study_file(tmp_path, made, ("is_seed", marks))).columns["seed"] == ("is_seed",)
    names = [f"tree {n % 4}" for n in range(len(made.people))]
    assert "seed" not in read_study(study_file(tmp_path, made, ("seed", names))).columns


def test_seeds_of_recruiter_tables(tmp_path) -> None:
    path = tmp_path / "study.csv"
    path.write_text("id,recruiter,is_seed,coupons_issued\na,site 1,1,3\nb,b,1,3\nc,a,0,3\nd,c,0,3\n")
    study = read_study(path)
    assert study.seed.tolist() == [True, True, False, False]
    assert study.recruiter.tolist() == [-1, -1, 0, 2]
    assert study.problems == ()


@pytest.mark.parametrize(("values", "answer"), [(["1", "0", ""], True), (["1", "1"], False), (["1", "17"], False)])
def test_what_marks_seeds(values, answer) -> None:
    assert are_seed_marks(np.array(values, dtype=object)) is answer
