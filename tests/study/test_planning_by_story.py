"""Sheets and forecasts by every story of what a coupon does."""

from dataclasses import replace

import numpy as np
import pytest

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.foundation.randomness import named_luck
from peerfront.problem import rollout
from peerfront.study.artifacts import Fit, load_fit
from peerfront.study.forecast import PLAN, forecast
from peerfront.study.orders import task_of
from peerfront.study.planning import plan_coupons
from peerfront.study.stories import (
    SheetFirst,
    believed,
    most_cautious,
    planner_for,
    results_of,
    rollout_stories,
    story_of_episode,
)
from study.small_advice import a_fit, a_frontier, order

STORIES = ("capacity", "per_coupon")


def two() -> Fit:
    return a_fit(*STORIES)


def test_a_sheet_says_what_comes_by_each_story_and_what_knowing_it_would_add() -> None:
    sheet = plan_coupons(two(), a_frontier(8), order(12))
    assert list(sheet.stories["name"]) == list(STORIES)
    assert sheet.stories["weight"].sum() == pytest.approx(1.0)
    assert sheet.expected == pytest.approx((sheet.stories["weight"] * sheet.stories["expected"]).sum())
    text = str(sheet)
    assert "if each coupon is used on its own (weight 50%" in text
    assert "If one coupon works almost as well as three" in text, "a bound for each story"
    assert set(sheet.certificates) == set(STORIES)
    for each in sheet.by_story:
        assert each.expected <= sheet.certificates[each.name].high + 3 * each.error


def test_one_story_reads_as_before() -> None:
    sheet = plan_coupons(a_fit(), a_frontier(8), order(12))
    assert len(sheet.by_story) == 1
    assert "used on its own" not in str(sheet)


def test_in_the_last_round_the_expected_recruits_are_exact() -> None:
    fit, people = two(), a_frontier(8)
    sheet = plan_coupons(fit, people, order(12, rounds_left=1))
    coupons = sheet.table["coupons"].to_numpy()
    for each in sheet.by_story:
        gains = fit.responses[each.name].gains(people.covariates, 3)
        assert each.expected == pytest.approx(gains[np.arange(3) < coupons[:, None]].sum())
        assert each.error == 0.0
        assert each.regret >= -1e-9, "whoever knows the story cannot do worse"


def test_results_are_those_of_playing_the_sheet_in_each_world() -> None:
    fit, people = two(), a_frontier(8)
    task, luck = task_of(fit, people, order(12)), named_luck(("played",), 60)
    plan = SheetFirst(fit.planner.plan(task.state).allocation, fit.planner)
    results = results_of(fit, task.state, plan, plan, dict.fromkeys(STORIES, plan), luck)
    for each in results:
        played = rollout(fit.world(people, each.name), plan, task.rules, luck).discounted_rewards(fit.discount)
        assert each.expected == pytest.approx(played.mean())
        assert each.regret == 0.0


@pytest.mark.parametrize("response", [*STORIES, "average", "cautious"])
def test_a_response_can_be_asked_for(response: str) -> None:
    fit = two()
    sheet = plan_coupons(fit, a_frontier(8), order(12, response=response))
    assert len(sheet.by_story) == 2, "results are shown by every story, whatever the plan believes"
    if response in STORIES:
        alone = replace(fit, planner=fit.planner.only(response))
        assert (
            sheet.table["coupons"].tolist() == plan_coupons(alone, a_frontier(8), order(12)).table["coupons"].tolist()
        )


def test_a_story_that_is_not_left_is_refused_in_words() -> None:
    with pytest.raises(SettingError, match="rules that story out"):
        planner_for(a_fit(), "per_coupon")
    with pytest.raises(UnknownName, match="per_coupon"):
        a_fit().world(a_frontier(), "per_coupon")
    with pytest.raises(UnknownName, match="no response called"):
        order(12, response="magic")


def test_a_cautious_plan_has_the_smallest_worst_regret() -> None:
    fit, people = two(), a_frontier(8)
    task, luck = task_of(fit, people, order(12)), named_luck(("cautious",), 60)

    def earned(planner) -> list[float]:
        policy = SheetFirst(planner.plan(task.state, every_spend=False).allocation, planner)
        return [
            rollout(fit.world(people, name), policy, task.rules, luck).discounted_rewards(fit.discount).mean()
            for name in STORIES
        ]

    chosen = earned(most_cautious(fit, task.state, 0, luck))
    others = [earned(fit.planner.weighted([1.0 - share, share])) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    best = np.max([chosen, *others], axis=0)
    assert max(best - chosen) <= min(max(best - other) for other in others) + 1e-9


def test_every_episode_belongs_to_one_story_in_the_shares_of_the_weights() -> None:
    story = story_of_episode([0.3, 0.7], 1000)
    assert np.bincount(story).tolist() == [300, 700]
    assert abs(np.bincount(story[:100])[0] - 30) <= 2, "the first hundred too"
    assert not story_of_episode([1.0], 7).any()


def test_episodes_are_played_in_the_world_of_their_story() -> None:
    fit, people = two(), a_frontier(8)
    task, luck = task_of(fit, people, order(12)), named_luck(("mixed",), 40)
    worlds, story = [fit.world(people, name) for name in STORIES], story_of_episode([0.5, 0.5], 40)
    mixed = rollout_stories(worlds, story, Constant(2), task.rules, luck)
    alone = [rollout(world, Constant(2), task.rules, luck) for world in worlds]
    for number, played in enumerate(alone):
        assert (mixed.recruits[story == number] == played.recruits[story == number]).all()


def test_a_forecast_tells_stories_apart_and_its_wider_band_is_never_narrower() -> None:
    outlook = forecast(two(), a_frontier(8), order(12), episodes=120, rivals=())
    own = outlook.stories[outlook.stories["policy"] == PLAN]
    assert list(own["story"]) == [story.name for story in believed(two())]
    assert own["episodes"].sum() == 120
    mean = (own["episodes"] * own["recruits"]).sum() / 120
    assert outlook.of_plan["recruits"] == pytest.approx(mean)
    assert "used on its own" in str(outlook)
    rounds = outlook.rounds
    assert (rounds["total_with_model_p10"] <= rounds["total_p10"]).all()
    assert (rounds["total_with_model_p90"] >= rounds["total_p90"]).all()


def test_stories_are_saved_and_loaded(tmp_path) -> None:
    two().save(tmp_path / "fit")
    again = load_fit(tmp_path / "fit")
    assert [(story.name, story.weight) for story in again.planner.stories] == [("capacity", 0.5), ("per_coupon", 0.5)]
    first, second = (plan_coupons(fit, a_frontier(8), order(12)) for fit in (two(), again))
    assert first.csv() == second.csv()
    assert first.lines() == second.lines()


def test_a_model_of_an_earlier_version_is_refused_in_words(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("peerfront.study.artifacts.FORMAT_VERSION", 1)
    a_fit().save(tmp_path / "fit")
    monkeypatch.undo()
    with pytest.raises(DataFileError, match=r"earlier version.*Fit the study again"):
        load_fit(tmp_path / "fit")
