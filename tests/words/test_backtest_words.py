"""Back-tests in words."""

from dataclasses import replace

import pytest

from peerfront.study.backtest import END, Backtest, BacktestSettings, backtest
from peerfront.study.forecast_trust import HorizonTrust
from peerfront.words.backtest_words import backtest_tables, trust_text
from study.small_advice import a_study

FAR = HorizonTrust(END, 90, 5, 1, 2.04, 1.1, 0.5, "last weeks", 0.4, 1.3, judged=True, relied_on=False)


@pytest.fixture(scope="module")
def test_of_waves() -> Backtest:
    return backtest(*a_study(), BacktestSettings(studies=20, by_waves=True, at=("3",)))


def test_what_fails_is_said_in_one_line() -> None:
    said = "to the end: not to be relied on, factor 2.0 either way; 1 of 5 bands held."
    assert str(trust_text(FAR)) == said
    assert str(trust_text(replace(FAR, ratio=2.04))) == f"{said} All promised too much."
    assert str(trust_text(replace(FAR, ratio=1 / 2.04))) == f"{said} All promised too little."
    good = replace(FAR, horizon="next 2 weeks", held=5, factor=1.2, relied_on=True)
    assert str(trust_text(good)).startswith("next 2 weeks: to be relied on, factor 1.2")
    assert str(trust_text(replace(FAR, judged=False))) == "to the end: too few people or forecasts to judge."


def test_rivals_are_named(test_of_waves: Backtest) -> None:
    def line(trust: HorizonTrust) -> str:
        return str(replace(test_of_waves, trust=(trust,)).lines()[0])

    assert line(FAR).endswith("No better than the mean of the last waves.")
    assert line(replace(FAR, rival_relied_on=True)).endswith("No better than the mean of the last waves: use that.")
    assert line(replace(FAR, score=0.32)).endswith("Better than the mean of the last waves by 20%.")
    assert line(replace(FAR, judged=False)).endswith("to judge.")


def test_few_words_beside_the_tables(test_of_waves: Backtest) -> None:
    judged = tuple(replace(FAR, horizon=each.horizon, ratio=2.04) for each in test_of_waves.trust)
    test = replace(test_of_waves, trust=judged)
    assert len(str(test).split()) <= 150
    forecasts, rivals = backtest_tables(test)
    assert len(forecasts.rows) == len(test.forecasts)
    assert len(rivals.rows) == len(test.forecasts) + len(test.simple)
    assert len(backtest_tables(test_of_waves)) == 1  # nothing judged: no numbers that mean nothing
