"""Sheets and forecasts by every part of the belief about coupons."""

from dataclasses import replace

import numpy as np
import pytest

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.foundation.randomness import named_luck
from peerfront.models.belief.belief_world import BeliefWorld, draw_of_episode
from peerfront.problem import rollout
from peerfront.study.artifacts import Fit, load_fit
from peerfront.study.orders import task_of
from peerfront.study.planning import plan_coupons
from peerfront.study.stories import SheetFirst, believed, expected_now, planner_for, results_of
from study.small_advice import a_fit, a_frontier, order
from study.small_outlook import ahead

STORIES = ("capacity", "per_coupon")


def two() -> Fit:
    return a_fit(*STORIES)


def test_a_sheet_is_bounded_by_each_story() -> None:
    sheet = plan_coupons(two(), a_frontier(8), order(12))
    assert [each.name for each in sheet.in_rounds] == list(STORIES)
    assert sum(each.weight for each in sheet.in_rounds) == pytest.approx(1.0)
    assert set(sheet.certificates) == set(STORIES)
    own = sum(each.weight * each.expected for each in sheet.in_rounds)
    most = sum(each.weight * sheet.certificates[each.name].high for each in sheet.in_rounds)
    assert sheet.share_of_best == pytest.approx(min(own / most, 1.0))
    assert 0.5 < sheet.share_of_best <= 1.0


def test_one_story_is_not_told_apart() -> None:
    outlook = ahead(a_fit(), a_frontier(8), order(12), studies=40)
    assert len(outlook.parts_of()) == 1
    assert "used on its own" not in str(outlook)


def test_in_the_last_round_the_expected_recruits_are_exact() -> None:
    fit, people = two(), a_frontier(8)
    sheet = plan_coupons(fit, people, order(12, rounds_left=1))
    coupons = sheet.table["coupons"].to_numpy()
    for each in sheet.in_rounds:
        gains = fit.responses[each.name].gains(people.covariates, 3)
        assert each.expected == pytest.approx(gains[np.arange(3) < coupons[:, None]].sum())
        assert each.expected == each.now


def test_results_are_those_of_playing_the_sheet_in_each_world() -> None:
    fit, people = two(), a_frontier(8)
    task, luck = task_of(fit, people, order(12)), named_luck(("played",), 60)
    plan = SheetFirst(fit.planner.plan(task.state).allocation, fit.planner)
    results = results_of(fit, task.state, plan, luck)
    for each in results:
        played = rollout(fit.world(people, each.name), plan, task.rules, luck).discounted_rewards(fit.discount)
        assert each.expected == pytest.approx(played.mean())


@pytest.mark.parametrize("response", [*STORIES, "average"])
def test_a_response_can_be_asked_for(response: str) -> None:
    fit = two()
    sheet = plan_coupons(fit, a_frontier(8), order(12, response=response))
    assert len(sheet.in_rounds) == 2, "results are shown by every story, whatever the plan believes"
    if response in STORIES:
        alone = fit.planner.only(response).plan(task_of(fit, a_frontier(8), order(12)).state)
        assert sheet.spend == alone.spend
        assert 0.98 * alone.value <= sheet.promised <= alone.value + 1e-9, "lots among the tied cost next to nothing"


def test_a_story_that_is_not_left_is_refused_in_words() -> None:
    with pytest.raises(SettingError, match="rules that story out"):
        planner_for(a_fit(), "per_coupon")
    with pytest.raises(UnknownName, match="per_coupon"):
        a_fit().world(a_frontier(), "per_coupon")
    with pytest.raises(UnknownName, match="no response called"):
        order(12, response="magic")


def test_draws_are_spread_evenly_over_the_studies() -> None:
    draw = draw_of_episode(np.arange(1000), 10)
    assert (np.abs(np.bincount(draw) - 100) <= 2).all()
    assert (np.abs(np.bincount(draw[:100]) - 10) <= 2).all(), "the first hundred too"
    assert not draw_of_episode(np.arange(7), 1).any()


def test_studies_are_played_in_the_world_of_their_draw() -> None:
    fit, people = two(), a_frontier(8)
    task, luck = task_of(fit, people, order(12)), named_luck(("mixed",), 40)
    world = fit.world(people)
    assert isinstance(world, BeliefWorld)
    draw, mixed = draw_of_episode(np.arange(40), len(fit.belief)), rollout(world, Constant(2), task.rules, luck)
    for number in np.unique(draw)[:4]:
        alone = rollout(replace(world, belief=fit.belief.part([number])), Constant(2), task.rules, luck)
        assert (mixed.recruits[draw == number] == alone.recruits[draw == number]).all()


def test_an_outlook_tells_stories_apart() -> None:
    outlook = ahead(two(), a_frontier(8), order(12), studies=120)
    assert list(outlook.parts_of()["part"]) == [story.name for story in believed(two())]
    assert "used on its own" in str(outlook)
    assert set(outlook.part_steps["part"]) == set(STORIES)
    ends = outlook.part_steps.groupby("part")["total"].last()
    assert ends[list(outlook.parts_of()["part"])].tolist() == pytest.approx(outlook.parts_of()["recruits"].tolist())


def test_where_more_coupons_motivate_few_people_get_several_instead_of_many_one() -> None:
    """By three parts: each plan does best by its own one in the last round, and only the last gives whole blocks."""
    fit, people = a_fit(*STORIES, "motivate"), a_frontier(8)
    state = task_of(fit, people, order(9, rounds_left=1)).state
    plans = {story.name: fit.planner.only(story.name).plan(state).allocation for story in fit.planner.stories}
    assert set(plans) == {*STORIES, "motivate"}
    for story in fit.planner.stories:  # before lots among people who cannot be told apart
        best = expected_now(story, state, plans[story.name])
        assert all(best >= expected_now(story, state, plan) - 1e-9 for plan in plans.values())
    sheets = {name: plan_coupons(fit, people, order(9, rounds_left=1, response=name)) for name in plans}
    assert sorted(sheets["motivate"].table["coupons"].tolist()) == [0, 0, 0, 0, 0, 3, 3, 3]
    assert sheets["capacity"].table["coupons"].min() == 1


def test_stories_are_saved_and_loaded(tmp_path) -> None:
    two().save(tmp_path / "fit")
    again = load_fit(tmp_path / "fit")
    assert [(story.name, story.weight) for story in again.planner.stories] == [("capacity", 0.5), ("per_coupon", 0.5)]
    first, second = (plan_coupons(fit, a_frontier(8), order(12)) for fit in (two(), again))
    assert first.csv() == second.csv()
    assert first.lines() == second.lines()


@pytest.mark.parametrize("version", [1, 2])
def test_a_model_of_an_earlier_version_is_refused_in_words(version: int, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("peerfront.study.artifacts.FORMAT_VERSION", version)
    a_fit().save(tmp_path / "fit")
    monkeypatch.undo()
    with pytest.raises(DataFileError, match=r"earlier version.*Fit the study again"):
        load_fit(tmp_path / "fit")
