import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from peerfront.baselines.simple_rules import (
    AllAtLast,
    Constant,
    Evenly,
    RandomSplit,
    Threshold,
    TuningGrid,
    WhileTheyLast,
    most_likely_used,
    tune_threshold,
)
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Frontier, Rules, State, check_feasible, rollout
from peerfront.simulation.catalog import make_world

LUCK = named_luck(("policies",), 1)


class Table:
    """A capacity model that is a given survival table, one row per person on the frontier."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows

    def gains(self, covariates, max_coupons):
        table = np.zeros((len(covariates), max_coupons))
        width = min(max_coupons, self.rows.shape[1])
        table[:, :width] = self.rows[covariates[:, 0], :width]
        return table


@st.composite
def states(draw: st.DrawFn) -> State:
    people = draw(st.integers(1, 6))
    budget = draw(st.integers(1, 15))
    rules = Rules(
        budget=budget,
        max_per_person=draw(st.none() | st.integers(1, 5)),
        max_per_round=draw(st.none() | st.integers(1, 9)),
    )
    return State(budget, Frontier.of(np.arange(people, dtype=np.int16)[:, None]), 0, rules)


# Few different values, so that ties are common.
tables = st.lists(
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.8, 0.8, 1.0]), min_size=15, max_size=15), min_size=6, max_size=6
).map(lambda rows: -np.sort(-np.array(rows), axis=1))


def plain_greedy(survival: np.ndarray, spend: int) -> list[int]:
    given, order = [0] * len(survival), []
    for _ in range(spend):
        chances = [row[k] if k < len(row) else -1.0 for row, k in zip(survival, given, strict=True)]
        person = int(np.argmax(chances))
        given[person] += 1
        order.append(person)
    return order


@given(tables, st.integers(1, 6), st.integers(1, 15), st.data())
def test_greedy_by_survival_is_the_plain_greedy(table, people, levels, data) -> None:
    survival = table[:people, :levels]
    spend = data.draw(st.integers(0, people * levels))
    assert most_likely_used(survival, spend).tolist() == plain_greedy(survival, spend)


@given(states(), tables, st.sampled_from([0.0, 0.1, 0.45, 0.8, 1.0]), st.integers(0, 12))
def test_threshold_is_its_description(state, table, cutoff, at_least) -> None:
    policy = Threshold(Table(table), cutoff, at_least)
    allocation = policy.allocate(state, LUCK)
    check_feasible(allocation, state, policy.name)
    survival = policy.response.gains(state.frontier.covariates, state.most_per_person)
    given = np.zeros(len(survival), dtype=int)
    for person in plain_greedy(survival, state.spendable):
        if survival[person, given[person]] < cutoff and given.sum() >= at_least:
            break
        given[person] += 1
    assert allocation.coupons.tolist() == given.tolist()


@given(states(), st.integers(0, 6))
def test_constant_is_round_robin(state, coupons) -> None:
    allocation = Constant(coupons).allocate(state, LUCK)
    check_feasible(allocation, state, "constant")
    people = len(state.frontier)
    given, left = [0] * people, state.spendable
    for _ in range(min(coupons, state.most_per_person)):
        for person in range(people):
            if left:
                given[person] += 1
                left -= 1
    assert allocation.coupons.tolist() == given


@given(states(), st.integers(0, 6))
def test_while_they_last_who_comes_late_gets_none(state, coupons) -> None:
    allocation = WhileTheyLast.each(coupons).allocate(state, LUCK)
    check_feasible(allocation, state, "while they last")
    given, left = [], state.spendable_by_round
    for _ in range(len(state.frontier)):
        given.append(min(coupons, state.most_per_person, left))
        left -= given[-1]
    assert allocation.coupons.tolist() == given


def test_numbers_are_drawn_as_often_as_people_had_them() -> None:
    state = State(10**6, Frontier.of(np.zeros((20_000, 1), dtype=np.int16)))
    policy = WhileTheyLast.drawn_from({1: 30, 4: 10})
    numbers, people = np.unique(policy.allocate(state, LUCK).coupons, return_counts=True)
    assert numbers.tolist() == [1, 4]
    assert people[0] / people.sum() == pytest.approx(0.75, abs=0.015)
    assert WhileTheyLast.drawn_from({2: 7}) == WhileTheyLast.each(2)


@given(states(), st.integers(0, 10**6))
def test_random_split_is_always_feasible(state, seed) -> None:
    allocation = RandomSplit().allocate(state, named_luck(("random", seed), 1))
    check_feasible(allocation, state, "random_split")


def test_random_split_is_the_papers() -> None:
    state = State(6, Frontier.of(np.zeros((3, 1), dtype=np.int16)))
    luck = named_luck(("the papers random",), 14_000)
    coupons = np.array([RandomSplit().allocate(state, luck.row(i)).coupons for i in range(14_000)])
    spend = coupons.sum(axis=1)
    assert chisquare(np.bincount(spend, minlength=7)).pvalue > 1e-4  # uniform on 0 .. 6
    four = coupons[spend == 4]
    expected = 4 / 3
    assert np.allclose(four.mean(axis=0), expected, atol=4 * np.sqrt(4 * 2 / 9 / len(four)))
    assert np.isclose(four.var(axis=0).mean(), 4 * 2 / 9, rtol=0.1)  # multinomial, not evenly dealt


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constant(-1),
        lambda: Constant(1.5),
        lambda: Constant(float("inf")),
        lambda: Threshold(Table(np.zeros((1, 1))), 1.1, 0),
        lambda: Threshold(Table(np.zeros((1, 1))), float("nan"), 0),
        lambda: Threshold(Table(np.zeros((1, 1))), 0.5, -1),
    ],
)
def test_impossible_settings(make) -> None:
    with pytest.raises(SettingError):
        make()


def test_tuning_finds_the_best_rule_of_its_grid() -> None:
    world, rules = make_world("bridge"), Rules(budget=30, people=5)
    grid = TuningGrid(cutoffs=(0.3, 0.9), at_least=(0.03, 0.2), screening_episodes=100, finalists=4, final_episodes=300)
    tuned = tune_threshold(world, rules, (0.5, 1.0), seed=3, grid=grid)
    episodes = named_luck(("tune threshold", 3), 300)
    for discount, chosen in tuned.items():
        rewards = {
            (c, m): rollout(world, Threshold(world.response, c, m), rules, episodes).discounted_rewards(discount).mean()
            for c in grid.cutoffs
            for m in (1, 6)  # of 30 coupons
        }
        assert (chosen.cutoff, chosen.at_least) == max(rewards, key=rewards.__getitem__)
    assert tuned[0.5].at_least >= tuned[1.0].at_least  # impatience spends sooner


def test_whole_floats_are_whole_numbers_and_nobody_gets_nothing() -> None:
    state = State(6, Frontier.of(np.zeros((3, 1), dtype=np.int16)))
    check_feasible(Constant(2.0).allocate(state, LUCK), state, "constant")
    check_feasible(Threshold(Table(np.ones((1, 9))), 0.5, 2.0).allocate(state, LUCK), state, "threshold")
    empty = State(6, Frontier.of(np.zeros((0, 1), dtype=np.int16)))
    for policy in (Constant(2), RandomSplit(), Threshold(Table(np.ones((1, 9))), 0.5, 2)):
        assert policy.allocate(empty, LUCK).spend == 0


def test_evenly_spreads_the_budget_over_the_rounds_left() -> None:
    """Everybody brings whatever they are asked for: what is spent is what the rule wants to spend."""
    response, rules = Table(np.ones((6, 40))), Rules(budget=40, rounds=4)

    def spends(policy) -> list[int]:
        left, found = 40, []
        for number in range(4):
            state = State(left, Frontier.of(np.arange(3, dtype=np.int16)[:, None]), number, rules)
            allocation = policy.allocate(state, LUCK)
            check_feasible(allocation, state, policy.name)
            found.append(allocation.spend)
            left -= found[-1]
        return found

    assert spends(Evenly(response)) == [10, 10, 10, 10]
    fast, slow = spends(Evenly(response, 2.0)), spends(Evenly(response, 0.5))
    assert fast == sorted(fast, reverse=True)
    assert slow == sorted(slow)
    assert sum(fast) == sum(slow) == 40
    assert spends(AllAtLast(response, Constant(1))) == [3, 3, 3, 31]
    assert AllAtLast(response, Constant(1)).name == "constant:coupons=1, all at last"
    assert Evenly(response, 0.5).name == "evenly:pace=0.5"
    for pace in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(SettingError, match="pace of evenly must be a number above 0"):
            Evenly(response, pace)


@given(states(), st.floats(0.1, 5.0), st.integers(0, 49))
def test_evenly_is_feasible_and_goes_where_coupons_are_used(state, pace, number) -> None:
    later = State(state.remaining_budget, state.frontier, number, state.rules)
    table = np.array([[0.9, 0.2] * 7, [0.8, 0.7] * 7] * 3)
    response = Table(-np.sort(-table, axis=1))
    allocation = Evenly(response, pace).allocate(later, LUCK)
    check_feasible(allocation, later, "evenly")
    assert allocation.spend >= 1
    if later.rounds_left == 1:
        assert allocation.spend == later.spendable


def test_rules_with_a_deadline_answer_in_bulk_as_one_by_one() -> None:
    world, luck = make_world("bridge"), named_luck(("bulk rules",), 30)
    rules = Rules(budget=30, people=5, rounds=4, max_per_person=3)
    asked = [
        State(int(1 + 29 * u), Frontier.of(world.population(luck.members(np.full(30, i)))[: 1 + i % 5]), i % 4, rules)
        for i, u in enumerate(luck.uniform("budget"))
    ]
    lucks = [luck.row(i) for i in range(30)]
    for policy in (
        Evenly(world.response, 1.5),
        AllAtLast(world.response, RandomSplit()),
        AllAtLast(world.response, Threshold(world.response, 0.6, 4)),
    ):
        together = policy.allocate_many(asked, lucks)
        for state, one, found in zip(asked, lucks, together, strict=True):
            assert np.array_equal(found.coupons, policy.allocate(state, one).coupons)
        assert policy.allocate_many([], []) == []
