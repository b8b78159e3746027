"""What changed since last week, and the plan against what was handed out."""

import pandas as pd

import peerfront as pf
from peerfront.study.week_changes import changes_since, handed_out, snapshot
from peerfront.words.language import marked
from peerfront.words.week_lines import change_lines, handed_out_lines

COLUMNS = ("id", "recruiter", "coupons_issued")


def study(*rows: tuple[str, str, int]) -> pf.Study:
    return pf.read_study(pd.DataFrame(rows, columns=list(COLUMNS)).astype(str))


BEFORE = (("S1", "", 3), ("S2", "", 3), ("A", "S1", 0), ("B", "S1", 0), ("C", "S2", 0))
PLAN = tuple({"person": person, "planned": planned} for person, planned in (("A", 2), ("B", 1), ("C", 3)))


def test_what_is_new_lost_or_different_is_said() -> None:
    last = snapshot(study(*BEFORE))
    now = study(("S1", "", 3), ("S2", "", 2), ("A", "S2", 2), ("B", "S1", 1), ("D", "A", 0), ("S3", "", 3))
    changes = changes_since(last, now)
    assert (changes.seeds, changes.recruits, changes.issued, changes.lost) == (1, 1, 6, ("C",))
    assert changes.fewer_coupons == (("S2", 2, 3),)
    assert changes.other_recruiter == (("A", "S2", "S1"),)
    told = "\n".join(map(marked, change_lines(changes)))
    assert "Changed since last week: S2 has 2 coupons, last week 3, A is a recruit of S2, last week of S1." in told
    assert "New: 1 recruit, 1 seed; 6 coupons handed out." in told
    assert "Warning: Missing from last week's file: C." in told


def test_the_same_file_has_no_changes() -> None:
    changes = changes_since(snapshot(study(*BEFORE)), study(*BEFORE))
    assert (changes.people, changes.issued, changes.lost, changes.fewer_coupons) == (0, 0, (), ())
    assert [str(line) for line in change_lines(changes)] == ["New: 0 recruits, 0 seeds; 0 coupons handed out."]


def test_the_plan_against_what_was_handed_out() -> None:
    last = snapshot(study(*BEFORE))
    now = study(("S1", "", 4), ("S2", "", 3), ("A", "S1", 2), ("B", "S1", 3), ("C", "S2", 0), ("D", "A", 1))
    done = handed_out(PLAN, last, now)
    assert done.table.values.tolist() == [["A", 2, 2.0], ["B", 1, 3.0], ["C", 3, 0.0]]
    assert done.unplanned.values.tolist() == [["S1", 1], ["D", 1]]
    told = "\n".join(map(str, handed_out_lines(done)))
    assert "6 coupons planned for 3 people, 5 handed out; 1 as planned" in told
    assert "Nothing yet for C" in told
    assert "Another number: B (3, planned 1)" in told
    assert "Not on the sheet, and got coupons: S1 (1), D (1)" in told
    assert done.entries(4)[1] == {"week": 4, "person": "B", "planned": 1, "given": 3}
    assert done.entries(4)[-1] == {"week": 4, "person": "D", "planned": None, "given": 1}


def test_people_who_left_the_file_have_no_number() -> None:
    done = handed_out(PLAN, snapshot(study(*BEFORE)), study(*BEFORE[:-1]))
    assert done.entries(1)[2] == {"week": 1, "person": "C", "planned": 3, "given": None}
    assert "3 coupons planned for 2 people" in str(handed_out_lines(done)[0])
