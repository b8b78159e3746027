"""A forecast is what its world does: exact where nothing is left to chance, paired, and honest about its bands."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from peerfront.study.forecast import PLAN, forecast
from scipy.stats import binom

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.errors import SettingError
from peerfront.foundation.pictures import rendered
from peerfront.foundation.randomness import named_luck
from peerfront.problem import rollout
from peerfront.study.artifacts import Fit, planned_stories
from peerfront.study.orders import task_of
from peerfront.study.rivals import Rival
from study.small_advice import a_fit, a_frontier, order

THREE = (Rival("three each", Constant(3)),)


@pytest.fixture(scope="module")
def found():
    return forecast(a_fit(), a_frontier(), order(), target=8, episodes=300)


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


def test_bands_are_ordered_and_totals_add_up(found) -> None:
    for prefix in ("", "total_"):
        bands = found.rounds[[f"{prefix}{name}" for name in ("p10", "p25", "median", "p75", "p90")]].to_numpy()
        assert (np.diff(bands, axis=1) >= 0).all()
    for policy, own in found.rounds.groupby("policy"):
        np.testing.assert_allclose(own["recruits"].cumsum(), own["total"])
        summary = found.summary.set_index("policy").loc[policy]
        assert own["total"].iloc[-1] == pytest.approx(summary["recruits"])
        assert own["issued"].sum() == pytest.approx(summary["recruits"] + summary["unused"])
        assert own["issued"].sum() + summary["never_issued"] == pytest.approx(12)


def test_where_everything_is_certain_the_forecast_is_exact() -> None:
    """Everybody brings as many as they have coupons: 6 people with 3 each and 15 coupons bring 15."""
    found = forecast(believing([0, 0, 0, 1]), a_frontier(), order(15), target=15, episodes=20, rivals=THREE)
    three = found.summary.iloc[1]
    assert [three[name] for name in ("recruits", "p10", "p90")] == [15.0] * 3
    assert (three["reaches_target"], three["dies_out"], three["unused"], three["never_issued"]) == (1.0, 0.0, 0.0, 0.0)
    rounds = found.rounds[found.rounds["policy"] == Constant(3).name]
    assert rounds["recruits"].tolist() == [15.0, 0.0, 0.0, 0.0]
    nobody = believing([1, 0, 0, 0])
    found = forecast(nobody, a_frontier(), order(15), target=1, episodes=20, rivals=(Rival("one each", Constant(1)),))
    one = found.summary.iloc[1]
    assert (one["recruits"], one["reaches_target"], one["dies_out"]) == (0.0, 0.0, 1.0)
    assert (one["unused"], one["never_issued"], one["rounds"]) == (6.0, 9.0, 1.0)
    assert "0% of the simulated studies" in str(found)


@pytest.mark.parametrize(("limited", "spur", "used"), [(1.0, 0.0, 0.7), (0.0, 0.0, 0.5), (1.0, 1.0, 0.7 / 3)])
def test_one_round_is_a_binomial(limited: float, spur: float, used: float) -> None:
    """One coupon each, one round: the chance of the target is known in closed form.

    Limited people use the first coupon if they bring anybody, others any 0, 1, 2 or 3 of their three; and if all three
    are needed to motivate, one coupon does so for a third.
    """
    fit = believing([0.3, 0.2, 0.2, 0.3], limited=limited, spur=spur)
    found = forecast(
        fit, a_frontier(), order(rounds_left=1), target=4, episodes=4000, rivals=(Rival("one", Constant(1)),)
    )
    chance = binom.sf(3, 6, used)
    assert found.summary["reaches_target"].iloc[1] == pytest.approx(
        chance, abs=4 * np.sqrt(chance * (1 - chance) / 4000)
    )


def test_a_larger_target_is_never_more_likely() -> None:
    chances = [
        forecast(a_fit(), a_frontier(), order(), target=target, episodes=100, rivals=()).of_plan["reaches_target"]
        for target in (1, 4, 8, 12, 13)
    ]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.9
    assert chances[-1] == 0.0  # 12 coupons


def test_nothing_depends_on_the_rivals_and_everything_is_repeatable(found) -> None:
    alone = forecast(a_fit(), a_frontier(), order(), target=8, episodes=300, rivals=())
    pd.testing.assert_frame_equal(alone.rounds, found.rounds[found.rounds["policy"] == PLAN])
    again = forecast(a_fit(), a_frontier(), order(), target=8, episodes=300)
    assert again.rounds.to_csv() == found.rounds.to_csv()
    assert again.summary.to_csv() == found.summary.to_csv()
    assert rendered(again.plot(), "svg") == rendered(found.plot(), "svg")
    other = forecast(a_fit(), a_frontier(), order(), episodes=300, seed=1, rivals=())
    assert other.rounds.to_csv() != alone.rounds.to_csv()
    copy = forecast(a_fit(), a_frontier(), order(), episodes=60, rivals=(Rival("itself", a_fit().planner),))
    assert (copy.summary[["plan_lead", "plan_lead_low", "plan_lead_high"]].iloc[1] == 0.0).all()  # the same luck


def test_words_say_what_matters(found) -> None:
    text = str(found)
    for part in (
        "From 6 people with 12 coupons and 4 rounds to go",
        "target (8 recruits)",
        "3 coupons each",
        "wrong in kind",
    ):
        assert part in text
    assert "The bands include luck and what the data leave open about coupons." in text
    far = forecast(a_fit(), a_frontier(), order(), target=200, already=90, episodes=20, rivals=())
    assert "target (200 people in all, 110 to come) is out of reach: 12 coupons" in str(far)
    done = forecast(a_fit(), a_frontier(), order(), target=50, already=90, episodes=20, rivals=())
    assert "is reached already" in str(done)
    assert done.of_plan["reaches_target"] == 1.0
    for narrow in (False, True):
        assert rendered(far.plot(narrow=narrow), "png").startswith(b"\x89PNG")


def test_limits_are_kept_and_the_reserve_is_out_of_reach() -> None:
    fit, people = a_fit(), a_frontier()
    rules = task_of(fit, people, order(14, max_per_person=2, round_cap=5, rounds_left=3, reserve=4)).rules
    assert (rules.budget, rules.people, rules.rounds, rules.max_per_person, rules.max_per_round) == (10, 6, 3, 2, 5)
    assert task_of(fit, people, order(rounds_left=None)).rules.rounds == fit.rules.rounds
    found = forecast(fit, people, order(14, round_cap=5, reserve=4), episodes=30, rivals=THREE)
    assert (found.rounds["issued"] <= 5).all()
    assert (found.rounds.groupby("policy")["issued"].sum() <= 10).all()
    each = forecast(fit, people, order(15, min_per_person=1, rounds_left=1), episodes=5, rivals=())
    assert each.rounds["issued"].iloc[0] >= 6


@pytest.mark.parametrize(
    ("changes", "frontier", "more", "message"),
    [
        ({"budget": 0}, 6, {}, "budget must be a whole number of at least 1; found 0"),
        ({"budget": 21}, 6, {}, "at most 20 coupons; found 21"),
        ({"reserve": 12}, 6, {}, "leaves nothing"),
        ({"rounds_left": 0}, 6, {}, "rounds left must be"),
        ({"min_per_person": 4}, 6, {}, "contradict each other"),
        ({}, 0, {}, "Nobody is on the frontier"),
        ({}, 6, {"target": -5}, "target must be a whole number of at least 1; found -5"),
        ({}, 6, {"episodes": 1}, "episodes must be"),
        ({}, 6, {"already": -1}, "taken part already must be"),
    ],
)
def test_impossible_orders_are_refused(changes: dict, frontier: int, more: dict, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        forecast(a_fit(), a_frontier(frontier), order(**changes), **more)


# How sure the model is -----------------------------------------------------------------------------------------------


FEW, MANY = [0.6, 0.3, 0.1, 0.0], [0.1, 0.1, 0.3, 0.5]


def test_bands_include_what_is_not_known() -> None:
    """Of a belief in few and in many recruits the band holds both, and every study belongs to one of them."""
    plays = {"episodes": 400, "rivals": (Rival("two each", Constant(2)),)}
    few, many, both = (
        forecast(believing(*draws), a_frontier(), order(), **plays).summary.iloc[1]
        for draws in ([FEW], [MANY], [FEW, MANY])
    )
    assert both["p10"] <= few["p25"] < many["p75"] <= both["p90"]
    assert both["recruits"] == pytest.approx((few["recruits"] + many["recruits"]) / 2, rel=0.05)


def test_draws_that_agree_add_no_uncertainty() -> None:
    once, often = (
        forecast(believing(*[MANY] * draws), a_frontier(), order(), episodes=50, rivals=()) for draws in (1, 3)
    )
    pd.testing.assert_frame_equal(once.rounds, often.rounds)


def test_a_study_goes_on_with_the_draw_it_began_with() -> None:
    """Nobody comes, or everybody does, in all rounds of a study: the draw is no luck of a round."""
    fit = believing([1, 0, 0, 0], [0, 0, 0, 1])
    rules = task_of(fit, a_frontier(), order()).rules
    played = rollout(fit.world(a_frontier()), Constant(1), rules, named_luck(("draws",), 100))
    assert set(played.total_recruits.tolist()) == {0, 12}
    assert 45 <= (played.total_recruits == 12).sum() <= 55


def test_a_story_with_a_single_study_does_not_make_the_headline_a_range(found) -> None:
    stories = pd.concat([found.stories_of(PLAN)] * 2, ignore_index=True)
    stories.loc[1, ["recruits", "error", "episodes"]] = [1.0, np.nan, 1]
    assert not dataclasses.replace(found, stories=stories).stories_differ
    stories.loc[1, "error"] = 0.1
    assert dataclasses.replace(found, stories=stories).stories_differ
