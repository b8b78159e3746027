"""An outlook is what its models do: exact where nothing is left to chance, paired, and honest about its bands."""

import dataclasses
from datetime import date

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from peerfront.baselines.simple_rules import Constant, WhileTheyLast
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Remedy
from peerfront.foundation.pictures import rendered
from peerfront.foundation.randomness import named_luck
from peerfront.problem import rollout
from peerfront.study.advice import advise
from peerfront.study.artifacts import Fit, planned_stories
from peerfront.study.coupon_calendar import coupons_seen
from peerfront.study.day_simulator import GOES_ON, DayPaths
from peerfront.study.model import Model
from peerfront.study.orders import task_of
from peerfront.study.outlook import PLAN, Outlook
from peerfront.study.outlook_tables import NOT_REACHED, dates_reached, summary_row
from peerfront.study.rivals import Rival
from peerfront.study.study_state import Standing, share_left_of, standing_of
from peerfront.words.charts import drawn
from peerfront.words.study_charts import outlook_charts, outlook_facts
from study.small_advice import a_fit, a_frontier, a_study, order, study_csv
from study.small_outlook import UNTIL, advice_by_date, ahead
from study.small_standing import a_standing, some_times

THREE = (Rival("three each", Constant(3)),)


@pytest.fixture(scope="module")
def by_rounds() -> Outlook:
    return advise(a_fit(), Standing.by_rounds(a_frontier()), order(target=8), studies=200).outlook


@pytest.fixture(scope="module")
def by_date() -> Outlook:
    return advice_by_date(studies=120).outlook


def believing(*chances: list[float], limited: float = 1.0, spur: float = 0.0) -> Fit:
    """A fit that believes in these chances of 0 .. 3 recruits with three coupons, evenly, whoever people are."""
    fit, f = a_fit(), np.maximum(np.array(chances), 1e-300)
    draws, story = len(f), fit.planner.story
    belief = dataclasses.replace(
        fit.belief, most=3, limited=np.full(draws, limited), spur=np.full(draws, spur),
        levels=np.log(f[:, 1:] / f[:, :1]), effects=np.zeros((draws, fit.schema.columns)), drift=np.zeros(draws),
        spread=np.zeros(draws), fields=(),
    )  # fmt: skip
    stories = planned_stories(belief, story.surrogate, story.laplace)
    return dataclasses.replace(fit, belief=belief, planner=dataclasses.replace(fit.planner, stories=stories))


# Tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["by_rounds", "by_date"])
def test_bands_are_ordered_and_everything_adds_up(name: str, request) -> None:
    outlook: Outlook = request.getfixturevalue(name)
    for prefix in ("", "total_"):
        bands = outlook.steps[[f"{prefix}{name}" for name in ("p10", "p25", "median", "p75", "p90")]].to_numpy()
        assert (np.diff(bands, axis=1) >= 0).all()
    for policy, own in outlook.steps.groupby("policy", sort=False):
        np.testing.assert_allclose(own["recruits"].cumsum(), own["total"])
        np.testing.assert_allclose(own["spent"].cumsum(), own["spent_so_far"])
        row = outlook.summary.set_index("policy").loc[policy]
        assert own["total"].iloc[-1] == pytest.approx(row["recruits"])
        assert row["spent"] + row["never_issued"] == pytest.approx(outlook.budget)
        assert row["spent"] + outlook.in_hand == pytest.approx(own["arrivals"].sum() + row["unused"])
        parts = outlook.parts_of(str(policy))
        assert parts["studies"].sum() == outlook.studies
        assert (parts["studies"] * parts["recruits"]).sum() / outlook.studies == pytest.approx(row["recruits"])
        assert row["p10"] <= parts["p10"].max()
        assert row["p90"] >= parts["p90"].min()


def test_weeks_end_with_the_last_day_and_rounds_have_no_days(by_rounds: Outlook, by_date: Outlook) -> None:
    until = by_date.steps_of()["until"].tolist()
    assert (until[0], until[-1]) == ("2027-01-11", UNTIL)
    assert set(by_rounds.steps["until"]) == {""}
    assert by_rounds.steps_of()["step"].tolist() == [1, 2, 3, 4]
    assert by_rounds.target_dates.empty
    assert by_date.target_dates["reached"].between(0.0, 1.0).all()
    last = by_date.target_dates.groupby("policy")["reached"].last()
    assert last[PLAN] == by_date.of_plan["reaches_target"]


def test_the_date_of_a_target_is_the_day_on_which_half_of_the_studies_have_it() -> None:
    interviews = np.zeros((4, 11), np.int64)
    interviews[0, 3], interviews[1, 5], interviews[2, [2, 9]], interviews[3, 4] = 2, 2, 1, 1
    nothing = np.zeros((4, 1), np.int64)
    paths = DayPaths(interviews, nothing, nothing, nothing, nothing, np.full(4, GOES_ON), (10,))
    assert dates_reached(paths, 2).tolist() == [3, 5, 9, NOT_REACHED]
    row = summary_row(paths, paths, 5, 0, 2, date(2027, 1, 1))
    assert row["reaches_target"] == 0.75
    assert (row["target_p25"], row["target_date"], row["target_p75"]) == ("2027-01-04", "2027-01-06", "2027-01-10")
    assert summary_row(paths, paths, 5, 0, 2, None)["target_date"] == "", "rounds have no dates"


def test_where_everything_is_certain_the_outlook_is_exact() -> None:
    """Everybody brings as many as they have coupons: 6 people with 3 each and 15 coupons bring 15."""
    outlook = ahead(believing([0, 0, 0, 1]), a_frontier(), order(15, target=15), THREE, studies=20)
    three = outlook.summary.iloc[1]
    assert [three[name] for name in ("recruits", "p10", "p90")] == [15.0] * 3
    assert (three["reaches_target"], three["dies_out"], three["unused"], three["never_issued"]) == (1.0, 0.0, 0.0, 0.0)
    assert outlook.steps_of(Constant(3).name)["recruits"].tolist() == [15.0, 0.0, 0.0, 0.0]
    one_each = (Rival("one each", Constant(1)),)
    outlook = ahead(believing([1, 0, 0, 0]), a_frontier(), order(15, target=1), one_each, studies=20)
    one = outlook.summary.iloc[1]
    assert (one["recruits"], one["reaches_target"], one["dies_out"]) == (0.0, 0.0, 1.0)
    assert (one["unused"], one["never_issued"]) == (6.0, 9.0)
    assert "0% of the simulated studies" in str(outlook)


@pytest.mark.parametrize(("limited", "spur", "used"), [(1.0, 0.0, 0.7), (0.0, 0.0, 0.5), (1.0, 1.0, 0.7 / 3)])
def test_one_round_is_a_binomial(limited: float, spur: float, used: float) -> None:
    """One coupon each, one round: the chance of the target is known in closed form.

    Limited people use the first coupon if they bring anybody, others any 0, 1, 2 or 3 of their three; and if all three
    are needed to motivate, one coupon does so for a third.
    """
    fit = believing([0.3, 0.2, 0.2, 0.3], limited=limited, spur=spur)
    asked = order(rounds_left=1, target=4)
    outlook = ahead(fit, a_frontier(), asked, (Rival("one", Constant(1)),), studies=4000)
    chance = binom.sf(3, 6, used)
    assert outlook.summary["reaches_target"].iloc[1] == pytest.approx(
        chance, abs=4 * np.sqrt(chance * (1 - chance) / 4000)
    )


def test_a_larger_target_is_never_more_likely() -> None:
    chances = [
        ahead(a_fit(), a_frontier(), order(target=target), studies=100).of_plan["reaches_target"]
        for target in (1, 4, 8, 12, 13)
    ]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.9
    assert chances[-1] == 0.0  # 12 coupons


def test_nothing_depends_on_the_rivals_and_the_same_luck_is_the_same_study() -> None:
    alone, beside = (ahead(a_fit(), a_frontier(), order(), rivals, studies=60) for rivals in ((), THREE))
    pd.testing.assert_frame_equal(alone.steps, beside.steps_of())
    other = ahead(a_fit(), a_frontier(), order(seed=1), studies=60)
    assert other.steps.to_csv() != alone.steps.to_csv()
    itself = (Rival("itself", WhileTheyLast.each(2)), Rival("again", WhileTheyLast.each(2)))
    rows = ahead(a_fit(), a_frontier(), order(), itself, studies=60).summary
    assert rows.iloc[1, 2:].equals(rows.iloc[2, 2:])


def test_people_who_get_none_today_may_get_some_later() -> None:
    """One coupon a round for six people who all use it: by round four four people have come, whoever they are."""
    outlook = ahead(believing([0, 0, 0, 1]), a_frontier(), order(12, round_cap=1), THREE, studies=10)
    assert outlook.steps_of()["spent"].tolist() == [1.0] * 4
    nobody_comes = ahead(believing([1, 0, 0, 0]), a_frontier(), order(12, round_cap=1), THREE, studies=10)
    assert nobody_comes.steps_of(Constant(3).name)["spent"].tolist() == [1.0] * 4, "five wait after the first round"
    assert nobody_comes.of_plan["dies_out"] == 0.0


# Bands -----------------------------------------------------------------------------------------------------------


FEW, MANY = [0.6, 0.3, 0.1, 0.0], [0.1, 0.1, 0.3, 0.5]


def test_bands_include_what_is_not_known() -> None:
    """Of a belief in few and in many recruits the band holds both, and every study belongs to one of them."""
    two_each = (Rival("two each", Constant(2)),)
    few, many, both = (
        ahead(believing(*draws), a_frontier(), order(), two_each, studies=400).summary.iloc[1]
        for draws in ([FEW], [MANY], [FEW, MANY])
    )
    assert both["p10"] <= few["p25"] < many["p75"] <= both["p90"]
    assert both["recruits"] == pytest.approx((few["recruits"] + many["recruits"]) / 2, rel=0.05)


def test_draws_that_agree_add_no_uncertainty() -> None:
    once, often = (ahead(believing(*[MANY] * draws), a_frontier(), order(), studies=50) for draws in (1, 3))
    pd.testing.assert_frame_equal(once.steps, often.steps)


def test_a_study_goes_on_with_the_draw_it_began_with() -> None:
    """Nobody comes, or everybody does, in all rounds of a study: the draw is no luck of a round."""
    fit = believing([1, 0, 0, 0], [0, 0, 0, 1])
    rules = task_of(fit, a_frontier(), order()).rules
    played = rollout(fit.world(a_frontier()), Constant(1), rules, named_luck(("draws",), 100))
    assert set(played.total_recruits.tolist()) == {0, 12}
    assert 45 <= (played.total_recruits == 12).sum() <= 55


# Orders ----------------------------------------------------------------------------------------------------------


def test_limits_are_kept_and_the_reserve_is_out_of_reach() -> None:
    fit, people = a_fit(), a_frontier()
    rules = task_of(fit, people, order(14, max_per_person=2, round_cap=5, rounds_left=3, reserve=4)).rules
    assert (rules.budget, rules.people, rules.rounds, rules.max_per_person, rules.max_per_round) == (10, 6, 3, 2, 5)
    assert task_of(fit, people, order(rounds_left=None)).rules.rounds == fit.rules.rounds
    outlook = ahead(fit, people, order(14, round_cap=5, reserve=4), THREE, studies=30)
    assert (outlook.steps["spent"] <= 5).all()
    assert (outlook.steps.groupby("policy")["spent"].sum() <= 10).all()
    each = ahead(fit, people, order(15, min_per_person=1, rounds_left=1), studies=5)
    assert each.steps["spent"].iloc[0] >= 6


@pytest.mark.parametrize(
    ("changes", "frontier", "more", "message"),
    [
        ({"budget": 0}, 6, {}, "budget must be a whole number of at least 1; found 0"),
        ({"budget": 21}, 6, {}, "at most 20 coupons; found 21"),
        ({"reserve": 12}, 6, {}, "leaves nothing"),
        ({"rounds_left": 0}, 6, {}, "rounds left must be"),
        ({"round_cap": 0}, 6, {}, "Nothing to give out: the round's limit is 0"),
        ({"min_per_person": 4}, 6, {}, "contradict each other"),
        ({}, 0, {}, "Nobody is on the frontier"),
        ({"target": -5}, 6, {}, "target must be a whole number of at least 1; found -5"),
        ({}, 6, {"episodes": 1}, "simulated studies must be"),
        ({}, 6, {"already": -1}, "taken part already must be"),
        ({"deadline": UNTIL}, 6, {}, "needs a study whose file has dates"),
    ],
)
def test_impossible_orders_are_refused(changes: dict, frontier: int, more: dict, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Model(a_fit()).forecast(a_frontier(frontier), **{"budget": 12, "rounds_left": 4, **changes}, **more)


def test_deadlines_that_cannot_be_are_refused() -> None:
    passed, far = "is not after 2027-01-04, the day of this plan", "2035-01-01 is later"
    for until, message in (("2027-01-04", passed), ("2026-01-01", passed), ("2035-01-01", far)):
        with pytest.raises(SettingError, match=message):
            advice_by_date(deadline=until)
    with pytest.raises(SettingError, match="year-month-day"):
        order(15, deadline="soon")


def test_nothing_to_give_out_leaves_what_is_open() -> None:
    for changed in ({"round_cap": 0}, {"budget": 0}):
        closed = advice_by_date(**changed).outlook
        assert closed.of_plan["spent"] == 0.0
        assert 0.0 < closed.of_plan["recruits"] == pytest.approx(closed.from_open, abs=1.5)
    advice = advice_by_date(round_cap=0)
    assert len(advice.outlook.summary) == 1
    told = [str(line) for line in advice.sheet.lines()]
    assert told[0] == "Nothing to give out: the round's limit is 0."
    assert told[-1].startswith("Expect ")


def test_a_population_that_runs_out() -> None:
    fit, standing = a_fit("capacity", "per_coupon"), a_standing()
    asked = dataclasses.replace(order(15), population=("44",), already=40)
    left = share_left_of(fit, standing, asked)
    assert left is not None
    assert left(np.array([0, 2, 4, 50])).tolist() == sorted(left(np.array([0, 2, 4, 50])).tolist(), reverse=True)
    assert left(np.array([50]))[0] == 0.0
    few = advice_by_date(population=("44",), target=None).outlook
    assert few.steps["total_p90"].max() <= 4.0 < advice_by_date().outlook.of_plan["p90"]
    assert few.population == 44
    assert share_left_of(fit, standing, order(15)) is None
    with pytest.raises(SettingError, match="The target is 45 people, and the population has 44"):
        advice_by_date(population=("44",), target=45)


# A study's file, words and pictures ---------------------------------------------------------------------------


def test_a_study_stands_where_its_file_says(tmp_path) -> None:
    path = tmp_path / "study.csv"
    path.write_text(study_csv())
    study = read_study(path, ReadSettings(valid_days=30))
    schema = a_study()[1]
    standing = standing_of(study, schema, some_times())
    seen, rows = coupons_seen(study)
    assert standing.coupons_open == study.open["open"].sum() == seen.open.sum()
    assert standing.valid_days == 30.0
    assert len(standing.holders) == len(rows)
    assert standing.enrolled == len(study)
    assert [str(each) for each in standing.waiting.ids] == list(study.waiting["id"])
    model = Model(a_fit("capacity", "per_coupon"))
    last = str(np.datetime64(standing.today) + 30)
    outlook = model.forecast(study, 10, deadline=last, episodes=20)
    assert (outlook.in_hand, outlook.already) == (standing.coupons_open, len(study))
    undated = tmp_path / "undated.csv"
    undated.write_text("\n".join(line.rpartition(",")[0] for line in study_csv().splitlines()) + "\n")
    with pytest.raises(SettingError, match="was read as dates"):
        standing_of(read_study(undated), schema, some_times())
    undated.write_text(study_csv().replace("date", "llegada", 1))
    with pytest.raises(SettingError, match="llegada") as error:
        model.forecast(read_study(undated), 10, deadline=last, episodes=20)
    assert Remedy("map", ("date", "llegada")) in error.value.remedies
    with pytest.raises(SettingError, match="still_open"):
        standing_of(read_study(path, ReadSettings(still_open="40")), schema, some_times())


def test_words_begin_with_the_band_and_the_target(by_rounds: Outlook, by_date: Outlook) -> None:
    lines = [str(line) for line in by_date.lines()]
    plan = by_date.of_plan
    assert lines[0].startswith(f"Expect {plan['p10']:.0f} to {plan['p90']:.0f} more people by 20 March 2027")
    assert any("Target 50 (10 to come)" in line for line in lines)
    assert str(by_rounds.lines()[0]).startswith("Expect ")
    assert "in 4 rounds" in str(by_rounds.lines()[0])
    details = "\n".join(map(str, by_date.details()))
    assert "On 4 January 2027: 6 people waiting for coupons, 15 coupons left to give out, 10" in details
    assert "people or staff who change" in details
    far = ahead(a_fit(), a_frontier(), order(target=200), already=90, studies=20)
    assert "The target of 200 (110 to come) is out of reach: 12 coupons" in str(far)
    done = ahead(a_fit(), a_frontier(), order(target=50), already=90, studies=20)
    assert "The target of 50 is reached already." in str(done)
    assert done.of_plan["reaches_target"] == 1.0


def test_few_interviews_queue_and_are_told() -> None:
    tight, free = advice_by_date(interviews_per_week=1).outlook, advice_by_date().outlook
    assert any("With 1 interviews a week people queue" in str(line) for line in tight.details())
    assert tight.of_plan["recruits"] < free.of_plan["recruits"]


def test_pictures_are_drawn_in_both_widths(by_rounds: Outlook, by_date: Outlook) -> None:
    for outlook in (by_rounds, by_date):
        assert rendered(outlook.plot(), "png").startswith(b"\x89PNG")
        assert rendered(outlook.plot(narrow=True), "svg").startswith(b"<?xml")


def test_an_outlook_is_drawn_from_plain_values() -> None:
    outlook = advice_by_date(studies=20).outlook
    facts = outlook_facts(outlook)
    people, steps = outlook_charts(facts, outlook.horizon.until)
    own = outlook.steps_of()
    assert [point.y for point in people.series[0].points[1:]] == list(outlook.already + own["total"])
    assert people.series[0].points[0].x == outlook.today
    assert [point.y for point in steps.series[0].points] == list(own["recruits"])
    assert people.upright is not None
    assert all("<table>" in drawn(each) for each in (people, steps))
