"""Floors as people write them: read, checked, and refused in words."""

import numpy as np
import pytest

from peerfront.foundation.covariates import Field, Schema
from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.study.floors import Floor, floor_task, read_floors

SCHEMA = Schema((Field("district", ("East", "West", "a:b=c")), Field("sex", ("f", "m")), Field("x=y", ("z",))))
# Two people of the East, three of the West, nobody of the third; the last has no known sex.
WAITING = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [1, -1, 0]], dtype=np.int16)


def task(*texts: str, spendable: int = 10, most: int = 3, least: int = 0):
    floors = read_floors(texts, SCHEMA)
    return floor_task(floors, SCHEMA, WAITING, spendable=spendable, most_per_person=most, least_per_person=least)


@pytest.mark.parametrize(
    ("text", "floor"),
    [
        ("district=East:0.2", Floor("district", "East", 0.2)),
        ("district=East:1", Floor("district", "East", 1.0)),
        (" district = East : .5", Floor("district", "East", 0.5)),
        ("district=a:b=c:0.25", Floor("district", "a:b=c", 0.25)),
        ("x=y=z:0.5", Floor("x=y", "z", 0.5)),
    ],
)
def test_floors_are_read(text: str, floor: Floor) -> None:
    assert read_floors([text], SCHEMA) == (floor,)
    assert read_floors([str(floor)], SCHEMA) == (floor,)


@pytest.mark.parametrize("text", ["", "East", "district=East", "district:0.2", "0.2", ":", "=:"])
def test_what_is_no_floor_is_refused(text: str) -> None:
    with pytest.raises((SettingError, UnknownName), match="FIELD=CATEGORY:SHARE|There is no field"):
        read_floors([text], SCHEMA)


@pytest.mark.parametrize("share", ["0", "-0.1", "1.01", "20%", "much", "nan", "inf", "", "1e999", "0,2"])
def test_shares_that_are_none_are_refused(share: str) -> None:
    with pytest.raises(SettingError, match="the share of district=East must be a number above 0 and at most 1"):
        read_floors([f"district=East:{share}"], SCHEMA)


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="There is no field called 'distrit'. Did you mean 'district'"):
        read_floors(["distrit=East:0.2"], SCHEMA)
    with pytest.raises(UnknownName, match="no category of 'district' called 'east'. Did you mean 'East'"):
        read_floors(["district=east:0.2"], SCHEMA)


def test_a_group_has_one_floor() -> None:
    with pytest.raises(SettingError, match="Two floors for the same group: district=East:0.2 and district=East:0.3"):
        read_floors(["district=East:0.2", "district=West:0.2", "district=East:0.3"], SCHEMA)


def test_groups_of_people_who_wait() -> None:
    found = task("district=East:0.5", "sex=m:0.3")
    assert found.groups.members.tolist() == [[True, True, False, False, False], [False, True, False, True, False]]
    assert found.groups.shares.tolist() == [0.5, 0.3]
    assert len(set(found.labels.tolist())) == 4
    assert found.labels[2] == found.labels[4]
    assert task().labels.tolist() == [0] * 5
    assert task().notes == ()


def test_a_group_in_which_nobody_waits_is_a_note() -> None:
    found = task("district=a:b=c:0.5")
    assert found.floors == ()
    assert list(map(str, found.notes)) == ["Nobody waiting has district 'a:b=c', so its floor changes nothing."]


def test_floors_that_contradict_each_other_are_refused_before_planning() -> None:
    texts = "district=East:1", "district=West:1"
    with pytest.raises(SettingError, match=r"East:1, district=West:1 contradict.* of 4 coupons.* need 2 \+ 3"):
        task(*texts, "sex=m:0.1", spendable=4)
    assert len(task(*texts, spendable=5).floors) == 2
    assert len(task("district=East:0.8", "district=West:0.6", spendable=2).floors) == 2
    assert len(task(*texts, spendable=5, least=1).floors) == 2
    assert len(task(*texts, spendable=0).floors) == 2


def test_too_many_people_are_refused() -> None:
    many = np.zeros((20_001, 3), dtype=np.int16)
    floors = read_floors(["district=East:0.2"], SCHEMA)
    with pytest.raises(SettingError, match="at most 20,000 people waiting at once; found 20,001"):
        floor_task(floors, SCHEMA, many, spendable=5, most_per_person=3)
