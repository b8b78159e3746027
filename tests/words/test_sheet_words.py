"""A coupon sheet in words: reasons of each kind, groups, the table, warnings."""

import json
from typing import Any

import pandas as pd
import pytest

from peerfront.bounds.certificate import Certificate
from peerfront.foundation.messages import warning
from peerfront.study.coupon_sheet import CouponSheet
from peerfront.study.orders import PlanOrder
from peerfront.study.reasons import Draw, Limit, Reason, ReasonCode
from peerfront.words.language import Medium, catalogue, marked, speaking
from peerfront.words.outlook_words import band_text
from peerfront.words.reason_words import reason_text, short_reason, spoken_reason
from peerfront.words.sheet import groups_text, people_table

LIKELY = {"chance": 0.69, "field": "age", "category": "18-24", "limit": Limit.LATER, "next_gain": 0.593}


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (
            Reason(ReasonCode.MORE_LIKELY, 1, **LIKELY, draw=Draw.LOT, tied_with=11, twin_has_more=True),
            "More likely than most here to bring somebody (69% with one coupon), mainly because age is '18-24'. A "
            "second coupon would bring 0.59 recruits in all; kept for a later round it brings more. Tied with 11 "
            "others; drawn by lot.",
        ),
        (
            Reason(ReasonCode.LESS_LIKELY, 0, 0.2, limit=Limit.BUDGET, next_gain=0.2, weakest=0.4),
            "Less likely than most here to bring somebody (20% with one coupon). A first coupon would bring 0.20 "
            "recruits in all; no coupons are left, and those given out bring 0.40 or more each.",
        ),
        (
            Reason(ReasonCode.AS_LIKELY, 3, 0.5, limit=Limit.PERSON, most_shown=2),
            "About as likely as others here to bring somebody (50% with one coupon). Gets all 3 a person may have. "
            "What coupons after the second do is extrapolated: hardly anybody has had more.",
        ),
        (
            Reason(ReasonCode.ALONE, 1, 0.5, limit=Limit.ROUND, next_gain=0.1, is_minimum=True, twin_has_more=True),
            "50% likely to bring somebody with one coupon. Gets the 1 coupon that everybody gets. A second coupon "
            "would bring 0.10 recruits in all; the round's limit is reached. Somebody with the same answers gets more.",
        ),
        (Reason(ReasonCode.STRATUM, 2, stratum="sex=f"), "Everybody in sex=f gets 2 coupons."),
        (
            Reason(ReasonCode.STRATUM_LOT, 2, stratum="sex=f"),
            "Drawn by lot among the people of sex=f, all with the same chance.",
        ),
        (
            Reason(ReasonCode.STRATUM_CHANCES, 1, 0.25, stratum="sex=f", fewer_free=True),
            "Drawn with the chances of everybody in sex=f: 25% for 1 coupon. Fewer coupons are free than the plan "
            "could give.",
        ),
        (Reason(ReasonCode.RANDOM, 2), "Drawn at random, so that estimates from the study stay possible."),
        (
            Reason(ReasonCode.USUAL, 3, draw=Draw.LOT, tied_with=4),
            "3 coupons: everybody gets the usual number while coupons last. Tied with 4 others; drawn by lot.",
        ),
        (
            Reason(ReasonCode.SAME_FOR_ALL, 2),
            "2 coupons, as for everybody: the study is too small to tell people apart.",
        ),
        (
            Reason(ReasonCode.SAME_FOR_ALL_LOT, 1, tied_with=3),
            "1 coupon, drawn by lot with 3 others: the study is too small to tell people apart.",
        ),
        (Reason(ReasonCode.NO_MORE_FREE, 0), "0 coupons: no more are free."),
        (
            Reason(ReasonCode.NOTHING, because="nothing_to_give.no_round_left"),
            "No coupon: no round is left.",
        ),
    ],
)
def test_a_reason_is_read_as_a_sentence_and_kept_as_data(reason: Reason, text: str) -> None:
    assert str(reason_text(reason)) == str(reason) == text
    assert Reason.from_data(json.loads(json.dumps(reason.as_data()))) == reason


@pytest.mark.parametrize(
    ("reason", "short", "spoken"),
    [
        (
            Reason(ReasonCode.MORE_LIKELY, 1, **LIKELY, draw=Draw.LOT, tied_with=11),
            "more likely: age 18-24; by lot", "Drawn by lot.",
        ),
        (
            Reason(ReasonCode.LESS_LIKELY, 0, **LIKELY),
            "less likely: age 18-24", "None this time. Who gets none stays on the list for the next round.",
        ),
        (
            Reason(ReasonCode.LESS_LIKELY, 1, **LIKELY, is_minimum=True),
            "everybody gets as many", "As planned for this round.",
        ),
        (Reason(ReasonCode.AS_LIKELY, 3), "as likely as others", "As planned for this round."),
        (Reason(ReasonCode.STRATUM_LOT, 2, stratum="sex=f"), "sex=f; by lot", "Drawn by lot."),
        (Reason(ReasonCode.RANDOM, 2), "at random", "Drawn by lot."),
        (Reason(ReasonCode.USUAL, 3), "the usual number", "The same number as for everybody."),
        (
            Reason(ReasonCode.NOTHING, because="nothing_to_give.no_round_left"),
            "no round is left", "No coupon: no round is left.",
        ),
    ],
)  # fmt: skip
def test_a_reason_in_few_words_and_as_it_can_be_said_to_the_person(reason: Reason, short: str, spoken: str) -> None:
    assert str(short_reason(reason)) == short
    assert str(spoken_reason(reason)) == spoken


def test_every_kind_of_reason_can_be_said_to_the_person_without_judging_them() -> None:
    for code in ReasonCode:
        for coupons in (0, 2):
            reason = Reason(code, coupons, **LIKELY, stratum="sex=f", because="nothing_to_give.no_round_left")
            assert str(short_reason(reason)) or code is ReasonCode.ALONE
            said = str(spoken_reason(reason))
            assert said
            assert not any(each in said for each in ("likely", "age", "18-24", "sex=f"))


def test_in_the_last_round_nobody_is_told_to_wait_for_another() -> None:
    assert "next round" not in str(spoken_reason(Reason(ReasonCode.LESS_LIKELY, 0), last=True))


def a_sheet(groups: list[tuple[int, Reason]], rounds_left: int = 3, **changed: Any) -> CouponSheet:
    table = pd.DataFrame(
        {
            "person": [f"P{number}" for number in range(len(groups))],
            "coupons": [coupons for coupons, _ in groups],
            "chance_used": "", "expected_now": 0.5, "expected_later": 0.1, "decided_by": "plan", "probability": 1.0,
            "reason": [reason for _, reason in groups],
        }
    )  # fmt: skip
    spend = int(table["coupons"].sum())
    curve, certificate = pd.DataFrame({"spend": [spend], "value": [2.0]}), Certificate(3.0, "budget", None, 0.0, 3.0)
    return CouponSheet(
        table, spend, PlanOrder(10), curve, {"capacity": certificate}, (), 2.0, 1.0, rounds_left, (), **changed
    )


WOMEN = [(2, Reason(ReasonCode.MORE_LIKELY, 2, field="sex", category="f"))] * 3 + [(0, Reason(ReasonCode.LESS_LIKELY))]


def test_groups_come_first_and_on_paper_without_what_they_share() -> None:
    sheet = a_sheet(WOMEN)
    line = str(sheet.lines()[0])
    assert line.startswith("Give out 6 coupons to 3 of 4 people: 3 get 2 (sex f); 1 waits for the next round.")
    assert str(groups_text(sheet, described=False)) == "3 get 2; 1 waits for the next round"
    assert "1 gets 0" in str(a_sheet(WOMEN, rounds_left=1).lines()[0])


def test_the_table_has_who_gets_something_and_with_details_everybody() -> None:
    rows = people_table(a_sheet(WOMEN).table).rows
    assert [row[:2] for row in rows] == [("P0", 2), ("P1", 2), ("P2", 2)]
    assert str(rows[0][2]) == "more likely: sex f"
    everybody = people_table(a_sheet(WOMEN).table, details=True).rows
    assert [row[0] for row in everybody] == ["P0", "P1", "P2", "P3"]
    assert str(everybody[3][-1]).startswith("Less likely than most")
    long = people_table(a_sheet(WOMEN[:1] * 45).table)
    assert len(long.rows) == 40
    assert str(long.caption) == "... and 5 more people, in the sheet's file."


def test_the_gravest_warning_is_said_and_the_others_are_in_the_details() -> None:
    small, unknown = warning("floors.nobody", field="sex", category="x"), warning("evidence.all_used")
    sheet = a_sheet(WOMEN, warnings=(small, unknown))
    with speaking(catalogue("en", Medium.TERMINAL)):
        lines, details = list(map(marked, sheet.lines())), list(map(marked, sheet.details()))
        assert f"Warning: {unknown} (1 more: --details)" in lines
        assert f"Warning: {small}" in details
        one = a_sheet(WOMEN, warnings=(unknown,))
        assert f"Warning: {unknown}" in list(map(marked, one.lines()))
    assert not any(str(unknown) in str(line) for line in one.details())


@pytest.mark.parametrize(("low", "high", "text"), [(0.2, 0.4, "0"), (1.6, 3.2, "2 - 3")])
def test_no_band_is_shown_without_width(low: float, high: float, text: str) -> None:
    assert band_text(low, high) == text
