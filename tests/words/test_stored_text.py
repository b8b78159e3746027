"""A sentence that was stored reads as it did."""

import json
from dataclasses import replace

import numpy as np

from peerfront.foundation.messages import Measured, Message, Remedy, Severity
from peerfront.study.reasons import Reason, ReasonCode
from peerfront.words.language import joined, percent, say, say_n, warn
from peerfront.words.stored_text import as_data, from_data, reason_as_text, reason_from_text


def test_sentences_survive_json() -> None:
    message = Message("names.unknown", {"kind": "world", "name": "x", "names": ["a"]}, Severity.WARNING)
    coupons = say_n("{n:,} coupon", "{n:,} coupons", 3)
    for text in (
        warn("Give {coupons} to {share}.", coupons=coupons, share=percent(0.3)),
        joined([say("One."), message], "; "),
        say("Set {remedy} ({number:.1f}).", remedy=Remedy("valid_days", 60), number=np.float64(2.5)),
        say("{gain:+.1f} recruits", gain=Measured(2.0, 0.3)),
        message,
    ):
        again = from_data(json.loads(json.dumps(as_data(text))))
        assert str(again) == str(text)
        assert again.severity == text.severity
    assert from_data(as_data(message)) == message


def test_reasons_are_stored_as_data_and_older_ones_stay_text() -> None:
    reason = Reason(ReasonCode.STRATUM_CHANCES, 2, 0.25, stratum="sex=f", fewer_free=True)
    text = reason_as_text(reason)
    assert reason_from_text(text) == reason
    assert len(reason_as_text(replace(reason, stratum="x" * 5_000))) < 1_000
    for older in ("More likely than most here.", "{not data", '{"code":"no such code"}', "[]", ""):
        assert reason_from_text(reason_as_text(older)) == older
