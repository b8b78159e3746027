"""Groups of a sheet: how many people get how many coupons, and what sets them apart."""

import pandas as pd

from peerfront.study.reasons import Reason, ReasonCode
from peerfront.study.sheet_groups import Group, groups_of

MANY, YOUNG = ("knows", "many"), ("age", "18-24")


def people(coupons: int, answers: list[tuple[str, str] | None]) -> pd.DataFrame:
    """People with a number of coupons; an answer makes them more likely than most."""
    reasons = [
        Reason(ReasonCode.MORE_LIKELY, coupons, field=each[0], category=each[1]) if each
        else Reason(ReasonCode.AS_LIKELY, coupons)
        for each in answers
    ]  # fmt: skip
    return pd.DataFrame({"coupons": coupons, "reason": reasons})


def test_groups_are_named_by_what_most_of_them_share_and_people_with_fewer_do_not() -> None:
    table = pd.concat(
        [people(0, [None] * 8 + [MANY]), people(3, [MANY] * 4 + [YOUNG]), people(2, [YOUNG, YOUNG, MANY, MANY, None])]
    )
    assert groups_of(table) == (
        Group(3, 5, (MANY,)),  # four of five, and 3 of the 14 who get fewer
        Group(2, 5, (YOUNG, MANY)),  # neither is enough alone
        Group(0, 9),
    )


def test_what_people_with_fewer_coupons_share_as_well_is_not_named() -> None:
    table = pd.concat([people(1, [MANY] * 4), people(0, [MANY] * 3 + [None])])
    assert groups_of(table)[0].answers == ()


def test_a_minority_does_not_name_its_group() -> None:
    table = pd.concat([people(1, [MANY, None, None]), people(0, [None])])
    assert groups_of(table)[0].answers == ()


def test_people_alike_are_one_group_without_a_name() -> None:
    table = people(1, [MANY, MANY, MANY])
    assert groups_of(table) == (Group(1, 3),)
    assert groups_of(table.iloc[:0]) == ()
