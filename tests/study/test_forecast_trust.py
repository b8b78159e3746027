"""Verdicts on horizons: each forecast by its own band and factor."""

import dataclasses
import json

import pandas as pd
import pytest

from peerfront.study.advice import advise
from peerfront.study.forecast_trust import HorizonTrust, PastForecasts, ratio_of, trust_at, trust_of
from study.small_advice import a_fit, order
from study.small_outlook import UNTIL
from study.small_standing import a_standing, some_times

Row = tuple[float, float, float, float]  # p10, median, p90, realised
GOOD, HIGH, LOW = (15, 20, 30, 22), (350, 400, 450, 200), (90, 100, 110, 200)


def verdict(
    *rows: Row, days: int = 14, score: float = 0.1, simple: dict[str, float] | None = None, simple_ratio: float = 1.0
) -> HorizonTrust:
    table = pd.DataFrame(rows, columns=["p10", "median", "p90", "realised"]).assign(horizon="h", days=days, score=score)
    table["inside"] = (table["p10"] <= table["realised"]) & (table["realised"] <= table["p90"])
    table["ratio"] = [ratio_of(*each) for each in zip(table["median"], table["realised"], strict=True)]
    scores = simple or {"last weeks": 0.2, "last wave": 0.4}
    rivals = [table.assign(forecast=name, score=each, ratio=simple_ratio) for name, each in scores.items()]
    return trust_of(table, pd.concat(rivals))[0]


def test_errors_of_opposite_sign_do_not_cancel() -> None:
    trust = verdict(HIGH, LOW, HIGH, LOW)
    assert trust.factor == pytest.approx(2.0, rel=0.01)
    assert trust.ratio == pytest.approx(1.0, rel=0.01)
    assert (trust.held, trust.forecasts) == (0, 4)
    assert trust.judged
    assert not trust.relied_on


def test_bands_must_hold_and_the_factor_be_small() -> None:
    assert verdict(GOOD, GOOD, GOOD, (15, 20, 21, 22), (15, 20, 21, 22)).relied_on  # 3 of 5
    assert not verdict(GOOD, GOOD, (15, 20, 21, 22), (15, 20, 21, 22)).relied_on  # 2 of 4
    assert not verdict(*[(1, 80, 900, 200)] * 3).relied_on  # held, and a factor of 2.5
    too_low = verdict(*[LOW] * 3)
    assert 1.0 / too_low.ratio == pytest.approx(too_low.factor)


def test_nothing_is_concluded_from_few() -> None:
    assert not verdict(GOOD, GOOD).judged
    few = verdict(GOOD, GOOD, (0, 1, 3, 2), (0, 1, 3, 2))
    assert not few.judged
    assert not few.relied_on
    assert few.factor < 1.5


def test_the_best_simple_forecast_is_the_rival() -> None:
    trust = verdict(GOOD, GOOD, GOOD, score=0.16)
    assert trust.rival == "last weeks"
    assert trust.gain == pytest.approx(0.2)
    assert trust.rival_relied_on
    assert not verdict(GOOD, GOOD, GOOD, simple_ratio=3.0).rival_relied_on
    assert verdict(GOOD, GOOD, GOOD, simple={"last wave": 0.0}).gain == 0.0


def test_a_forecast_is_judged_by_the_first_horizon_that_reaches_as_far() -> None:
    near, far = verdict(GOOD, GOOD, GOOD, days=14), verdict(HIGH, HIGH, HIGH, days=90)
    unknown = verdict(GOOD, days=42)
    assert [trust_at((near, unknown, far), days) for days in (7, 14, 30, 60, 400)] == [near, near, None, far, far]
    assert trust_at((), 14) is None


def test_bands_are_widened_by_what_past_ones_missed() -> None:
    assert verdict(GOOD, GOOD, GOOD).wider == 1.0
    some, much = verdict(GOOD, HIGH, GOOD).wider, verdict(HIGH, HIGH, LOW, LOW).wider
    assert 1.0 < some < much <= 3.0


def test_what_missed_is_marked_and_kept() -> None:
    missed = PastForecasts(False, (verdict(HIGH, HIGH, LOW, LOW, days=90),))
    assert missed.at(60, by_waves=True) is None
    kept = PastForecasts.restored(json.loads(json.dumps(missed.stored())))
    assert kept.at(60, by_waves=False) is not None
    fit = a_fit("capacity", "per_coupon")
    marked = dataclasses.replace(fit, scores={**fit.scores, "past_forecasts": missed.stored()})
    asked = order(budget=15, rounds_left=None, target=50, deadline=UNTIL)
    plain, wide = (advise(each, a_standing(), asked, some_times(), studies=100).outlook for each in (fit, marked))
    assert plain is not None
    assert wide is not None
    assert wide.of_plan["p10"] <= plain.of_plan["p10"] < plain.of_plan["p90"] < wide.of_plan["p90"]
    assert wide.of_plan["recruits"] == pytest.approx(plain.of_plan["recruits"], abs=0.5)
    assert "Not to be relied on" in str(wide.lines()[0])
    assert "Not to be relied on" not in str(plain.lines()[0])
    assert any("times as wide" in str(line) for line in wide.details())
