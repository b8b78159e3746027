"""Studies that are extreme but legal: whatever is said of them, no inf and no nan is printed."""

import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerfront as pf
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.reading import study_from_table
from peerfront.data.study import Study, summarise
from peerfront.foundation.errors import PeerfrontError
from peerfront.study.backtest import BacktestSettings, backtest
from peerfront.words.backtest_words import backtest_tables
from peerfront.words.estimates import estimate_table
from peerfront.words.language import marked
from peerfront.words.study_check import check_sections, heading, short_lines, verdict

NO_NUMBER = re.compile(r"\b(?:nan|inf|infinity)\b", re.IGNORECASE)


def assert_numbers(*said: object) -> None:
    for text in said:
        found = NO_NUMBER.search(str(text))
        assert found is None, str(text)[max(found.start() - 80, 0) : found.end() + 40]


def table_of(recruiters: list[int | None], days: list[str], sizes: list[str], sexes: list[str]) -> pd.DataFrame:
    """A coupon table; somebody's recruiter is one of the people before."""
    given: dict[int, int] = {}
    own = []
    for recruiter in recruiters:
        used = given.get(-1 if recruiter is None else recruiter, 0)
        own.append("" if recruiter is None or used > 2 else f"c{recruiter}-{used}")
        given[-1 if recruiter is None else recruiter] = used + 1
    people = range(len(recruiters))
    return pd.DataFrame(
        {
            "id": [f"P{i}" for i in people],
            "own.coupon": own,
            **{f"coupon.{slot + 1}": [f"c{i}-{slot}" for i in people] for slot in range(3)},
            "date": days, "network_size": sizes, "sex": sexes,
        },
        dtype=object,
    )  # fmt: skip


@st.composite
def tables(draw) -> pd.DataFrame:
    n = draw(st.integers(1, 8))
    recruiters = [draw(st.sampled_from([None, *range(i)])) for i in range(n)]
    days = [draw(st.sampled_from(["2024-01-05", "2024-01-05", "2024-02-05", ""])) for _ in range(n)]
    sizes = [draw(st.sampled_from(["", "0", "1", "100000", "7"])) for _ in range(n)]
    sexes = [draw(st.sampled_from(["f", "m", "m", ""])) for _ in range(n)]
    return table_of(recruiters, days, sizes, sexes)


ALONE = table_of([None], ["2024-01-05"], ["3"], ["f"])
NOBODY_CAME = table_of([None] * 12, ["2024-01-05"] * 12, ["0"] * 12, ["f", "m"] * 6)
ONE_DAY = table_of([None, *[i // 3 for i in range(39)]], ["2024-01-05"] * 40, ["5"] * 40, ["f", "m"] * 20)
ALL_ALIKE = table_of([None, *range(29)], [f"2024-01-{i + 1:02d}" for i in range(30)], ["1"] * 30, ["f"] * 30)


def words_of_the_study(study: Study) -> list[object]:
    summary, guess = summarise(study), guess_schema(study)
    sections = check_sections(study, summary, guess.schema, guess.reasons, guessed=True, block="#")
    said: list[object] = [heading(study), *sections, *short_lines(study, summary, guess.schema), verdict(summary)]
    try:
        estimates = pf.estimate(study, "sex", bootstraps=5)
    except PeerfrontError as error:
        return [*said, error]
    return [*said, estimate_table(estimates), *map(marked, estimates.lines()), *map(marked, estimates.details())]


@given(tables())
@settings(max_examples=40)
def test_small_studies(table) -> None:
    try:
        study = study_from_table(table)
    except PeerfrontError as error:
        assert_numbers(error)
        return
    assert_numbers(*words_of_the_study(study))


@pytest.mark.parametrize("table", [ALONE, NOBODY_CAME, ONE_DAY, ALL_ALIKE], ids=["alone", "nobody", "day", "alike"])
def test_extreme_studies(table) -> None:
    study = study_from_table(table)
    assert_numbers(*words_of_the_study(study))
    try:
        test = backtest(study, guess_schema(study).schema, BacktestSettings(studies=20))
        assert_numbers(*backtest_tables(test), *map(marked, test.lines()))
    except PeerfrontError as error:
        assert_numbers(error)
    try:
        model = pf.fit(study, budget=5, rounds=2, effort=0.05)
    except PeerfrontError as error:
        assert_numbers(error)
        return
    assert_numbers(model.summary, *model.summary.details())
    assert_plans(model, study)


def assert_plans(model: pf.Model, study: Study) -> None:
    for order in (pf.PlanOrder(0), pf.PlanOrder(1), pf.PlanOrder(5, round_cap=0), pf.PlanOrder(5, rounds_left=0)):
        try:
            advice = model.advise(study, order, episodes=4)
        except PeerfrontError as error:
            assert_numbers(error)
            continue
        assert_numbers(*map(marked, [*advice.sheet.lines(), *advice.sheet.details()]), advice.sheet.csv())
        if advice.outlook is not None:
            assert_numbers(*map(marked, [*advice.outlook.lines(), *advice.outlook.details()]))


def test_plans_of_one_person_and_none(tmp_path: Path) -> None:
    study = pf.read_study(pf.demo_study(people=60).study)
    model = pf.fit(study, budget=20, rounds=2, effort=0.05)
    assert_plans(model, study)
    alone = model.plan(study.waiting.head(1), 20)
    assert_numbers(alone, *alone.details(), alone.csv())
    page = model.report(study, study.waiting.head(1), pf.PlanOrder(1), episodes=4, outcome="gender")
    assert_numbers(re.sub(r"<[^>]*>|data:[^\"]*", " ", page))
