"""Rivals are what people would do without a plan, and a gain is the paired difference to them."""

import dataclasses

import numpy as np
import pytest

from peerfront.baselines.simple_rules import WhileTheyLast, threshold_rules
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Rules
from peerfront.study.rivals import (
    Gains,
    Lead,
    Rival,
    Verdict,
    by_rounds,
    gain_over,
    tuned_threshold,
    usual_rivals,
)
from peerfront.words.outlook_words import outlook_lines
from study.small_advice import a_fit, a_frontier, order
from study.small_outlook import advice_by_date, ahead


def given(*pairs: tuple[int, int]) -> object:
    return dataclasses.replace(a_fit(), scores={"coupon_stories": {"given": [list(pair) for pair in pairs]}})


def rivals_of(fit, cap: int | None = 3) -> list[Rival]:
    people = a_frontier()
    rules = Rules(budget=12, people=len(people), rounds=2, max_per_person=cap)
    world = fit.world(people)
    return usual_rivals(fit.given, world.response, rules, by_rounds(world, rules))


@pytest.mark.parametrize(
    ("pairs", "cap", "names", "practice"),
    [
        ([(3, 90)], 3, ["3 each", "2 each", "1 each"], "3 each"),
        ([(3, 90)], 2, ["2 each", "1 each"], "2 each"),  # three were given, two are allowed
        ([(2, 90)], 1, ["1 each"], "1 each"),
        ([(5, 90)], None, ["3 each", "2 each", "1 each", "5 each"], "5 each"),
        ([(1, 30), (3, 60)], 3, ["3 each", "2 each", "1 each", "as so far"], "as so far"),
        ([(2, 30), (3, 60)], 2, ["2 each", "1 each"], "2 each"),
    ],
)
def test_rivals_are_within_the_cap_and_each_is_named_once(pairs, cap, names, practice) -> None:
    rivals = rivals_of(given(*pairs), cap)
    *others, tuned = rivals
    assert [rival.policy.name for rival in others] == names
    assert [rival.policy.name for rival in rivals if rival.is_practice] == [practice]
    assert tuned.described.code == "rivals.likely"


def test_what_the_study_did_is_drawn_from_its_numbers() -> None:
    policy = next(rival.policy for rival in rivals_of(given((1, 30), (3, 60))) if rival.is_practice)
    assert policy.chances == pytest.approx((0.0, 1 / 3, 0.0, 2 / 3))


def test_the_tuned_threshold_is_the_best_of_its_grid() -> None:
    """Against every rule of a small grid, on other luck: none is clearly better."""
    people = a_frontier()
    rules, world = Rules(budget=12, people=len(people), rounds=3, max_per_person=3), a_fit("motivate").world(people)
    play = by_rounds(world, rules)
    tuned = tuned_threshold(world.response, rules, play)
    luck = named_luck(("another luck",), 600)
    best = play([tuned], luck)[0]
    for rule in threshold_rules(world.response, rules.budget, (0.2, 0.4, 0.6), (0.1, 0.4, 1.0)):
        assert Lead.of(play([rule], luck)[0], best).low < 0.3


@pytest.mark.parametrize(
    ("plan", "rival", "verdict"),
    [
        ([12, 13, 12, 13], [10, 10, 10, 11], Verdict.MORE),
        ([12, 8, 12, 8], [10, 10, 10, 9], Verdict.SAME),  # chance explains it
        ([1010] * 4, [1000] * 4, Verdict.SAME),  # 1%
        ([10, 10, 10, 11], [12, 13, 12, 13], Verdict.FEWER),
    ],
)
def test_a_verdict_needs_more_than_chance_and_more_than_two_percent(plan, rival, verdict) -> None:
    part = np.array(["capacity", "capacity", "motivate", "motivate"], dtype=object)
    gain = gain_over(
        Rival("other", WhileTheyLast.each(1)), np.array(plan), np.array(rival), part, ("capacity", "motivate")
    )
    assert gain.verdict is verdict
    assert gain.lead.mean == pytest.approx(np.mean(plan) - np.mean(rival))
    assert gain.by_part["motivate"].mean == pytest.approx(np.mean(plan[2:]) - np.mean(rival[2:]))
    outlook = dataclasses.replace(advice_by_date(studies=2).outlook, gains=Gains((gain,)))
    words = " ".join(map(str, outlook_lines(outlook)))
    assert ("about the same as the plan" in words) == (verdict is Verdict.SAME)


def test_an_interval_of_the_mean_holds_it_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(400):
        rival = rng.poisson(20.0, 60)
        lead = Lead.of(rival + rng.poisson(2.0, 60), rival)
        held += lead.low <= 2.0 <= lead.high
    assert 0.91 <= held / 400 <= 0.98


@pytest.mark.parametrize("by_date", [False, True])
def test_a_forecast_shows_the_best_rival_and_the_studys_own_practice(by_date: bool) -> None:
    by_rounds = ahead(a_fit("capacity", "per_coupon"), a_frontier(), order(), None, studies=60)
    outlook = advice_by_date().outlook if by_date else by_rounds
    gains, rows = outlook.gains, outlook.summary.set_index("policy")
    assert [gain.policy for gain in gains.each] == list(rows.index[1:])
    assert gains.best.recruits == rows["recruits"][1:].max()
    assert gains.practice.policy == "3 each"
    for gain in gains.each:
        assert gain.lead.mean == pytest.approx(rows["recruits"]["plan"] - rows["recruits"][gain.policy])
        parts = gain.by_part
        assert set(parts) == {"capacity", "per_coupon"}
        low, high = sorted(lead.mean for lead in parts.values())
        assert low <= gain.lead.mean <= high
        assert gain.lead.low < gain.lead.mean < gain.lead.high
    assert outlook.by_rounds is not by_date
    shown = str(outlook)
    assert all(str(gain.described) in shown for gain in gains.shown)
