"""Reasons of a coupon sheet as sentences: one of each kind."""

import json

import pytest

from peerfront.study.reasons import Draw, Limit, Reason, ReasonCode
from peerfront.words.reason_words import reason_text

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
