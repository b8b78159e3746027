"""Floors by group inside greedy: met, never far from the best that meets them, and nothing changes without them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gfp.random_tables import Problem, problems
from peerfront.foundation.errors import SettingError
from peerfront.gfp.backup import Tables
from peerfront.gfp.floored_greedy import GroupFloors, _spend, _twins, greedy_with_floors


@pytest.fixture(autouse=True, scope="module")
def _twins_in_small_problems_too():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("peerfront.gfp.greedy._MAX_PEOPLE_WITHOUT_TWINS", 1)
        yield


def solve(problem: Problem, floors: GroupFloors, **more):
    return greedy_with_floors(
        problem.tables,
        problem.weights,
        problem.discount,
        floors,
        spendable=problem.spendable,
        most_per_person=problem.most,
        least_per_person=problem.least,
        **more,
    )


def by_brute_force(problem: Problem, floors: GroupFloors) -> float:
    """The best value of all allocations that keep the limits and the floors."""
    numbers = range(problem.least, problem.most + 1)
    allocations = (np.array(each) for each in product(numbers, repeat=problem.tables.people))
    return max(problem.value(k) for k in allocations if k.sum() <= problem.spendable and floors.met(k))


@st.composite
def groups(draw: st.DrawFn, people: int, overlapping: bool) -> GroupFloors:
    """One field's categories, or those of two fields."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    members = np.concatenate(
        [np.eye(3, dtype=bool)[rng.integers(0, 3, people)].T for _ in range(2 if overlapping else 1)]
    )
    chosen = rng.random(len(members)) < 0.6
    return GroupFloors(members[chosen], np.round(rng.uniform(0.1, 1.0, int(chosen.sum())), 1))


@given(problems(), st.data())
@settings(max_examples=60, deadline=None)
def test_floors_and_limits_are_kept(problem: Problem, data: st.DataObject) -> None:
    floors = data.draw(groups(len(problem.kind), overlapping=data.draw(st.booleans())))
    found = solve(problem, floors)
    coupons = found.plan.coupons
    assert floors.met(coupons)
    assert coupons.sum() == found.plan.spend <= problem.spendable
    assert problem.least <= coupons.min() <= coupons.max() <= problem.most
    assert found.plan.value == pytest.approx(problem.value(coupons), abs=1e-9)
    assert found.free.value == problem.plan().value
    assert found.cost >= 0.0
    assert np.nanmax(found.plan.values) == found.plan.value


@given(problems(max_people=5, max_budget=8, max_most=2), st.data())
@settings(max_examples=150, deadline=None)
def test_close_to_the_best_that_keeps_the_floors(problem: Problem, data: st.DataObject) -> None:
    """`benchmarks/floors.py` finds .91 in the worst of 1,011 such problems in which floors bind."""
    floors = data.draw(groups(len(problem.kind), overlapping=False))
    best = by_brute_force(problem, floors)
    assert solve(problem, floors).plan.value >= 0.8 * best - 1e-9


@given(problems())
@settings(max_examples=100, deadline=None)
def test_without_floors_it_is_greedy(problem: Problem) -> None:
    plan = problem.plan()
    none = GroupFloors(np.zeros((0, len(problem.kind)), bool), np.zeros(0))
    found = solve(problem, none)
    np.testing.assert_array_equal(found.plan.coupons, plan.coupons)
    assert found.plan.value == plan.value
    assert found.cost == 0.0
    everybody = GroupFloors(np.ones((1, len(problem.kind)), bool), np.ones(1))  # met by every plan
    nobody = np.full((2, len(problem.kind)), -1)
    for floors, lines in ((none, nobody), (everybody, nobody), (everybody, _twins(problem.tables, everybody))):
        value, coupons = _spend(
            problem.tables, problem.worth(plan.spend), floors, tuple(lines), plan.spend, problem.most, problem.least
        )
        np.testing.assert_array_equal(coupons, plan.coupons)
        assert value == plan.value


def two_districts(people: int = 40, budget: int = 20) -> tuple[Problem, GroupFloors]:
    """East brings less than West; a floor of .5 for East."""
    east = np.arange(people) < people // 2
    gains = np.where(east, 0.3, 0.6)[:, None] * np.array([1.0, 0.6])
    tables = Tables(gains, np.where(east, 0.05, 0.1)[:, None, None] * np.ones((1, 2, 3)))
    weights = 0.2 * np.arange(budget + 1)[:, None] * np.ones((1, 3))
    problem = Problem(tables, weights, 0.95, budget, 2, 0, east.astype(np.int64))
    return problem, GroupFloors(east[None, :], np.array([0.5]))


def test_a_group_gets_its_share_and_the_cost_is_told() -> None:
    problem, floors = two_districts()
    found = solve(problem, floors)
    free, coupons = found.free.coupons, found.plan.coupons
    assert free[:20].sum() == 0
    assert coupons[:20].mean() >= 0.5 * coupons.mean() > 0.0
    assert found.cost == pytest.approx(found.free.value - found.plan.value)
    assert found.cost > 0.0


def test_a_large_round_tries_some_spends() -> None:
    problem, floors = two_districts(people=1000, budget=700)
    found = solve(problem, floors)
    assert floors.met(found.plan.coupons)
    assert 20 < np.isfinite(found.plan.values).sum() < 120
    one = solve(problem, floors, spends=[found.plan.spend])
    np.testing.assert_array_equal(one.plan.coupons, found.plan.coupons)


@given(problems(max_people=5, max_budget=8, max_most=2), st.data())
@settings(max_examples=60, deadline=None)
def test_groups_that_overlap_are_met_whenever_they_can_be(problem: Problem, data: st.DataObject) -> None:
    floors = data.draw(groups(len(problem.kind), overlapping=True))
    numbers = range(problem.least, problem.most + 1)
    allocations = (np.array(each) for each in product(numbers, repeat=problem.tables.people))
    possible = {int(k.sum()) for k in allocations if k.sum() <= problem.spendable and floors.met(k)}
    found = solve(problem, floors)
    if found.plan is not found.free:
        assert set(np.flatnonzero(np.isfinite(found.plan.values)).tolist()) == possible


def test_where_groups_overlap_people_of_both_come_first_if_coupons_are_short() -> None:
    """One coupon, two groups that need one each, and a person who is in both but brings little."""
    members = np.array([[True, True, False, False], [False, True, True, False]])
    tables = Tables(np.array([[0.9], [0.1], [0.9], [0.8]]), np.zeros((4, 1, 1)))
    problem = Problem(tables, np.zeros((2, 1)), 1.0, 1, 1, 0, np.arange(4))
    found = solve(problem, GroupFloors(members, np.array([1.0, 1.0])))
    assert found.plan.coupons.tolist() == [0, 1, 0, 0]


def test_what_cannot_be_done_is_refused() -> None:
    problem, floors = two_districts()
    with pytest.raises(SettingError, match="above 0 and is at most 1; found"):
        GroupFloors(floors.members, np.array([1.5]))
    with pytest.raises(SettingError, match="2 floors need as many groups"):
        GroupFloors(floors.members, np.array([0.5, 0.5]))
    with pytest.raises(SettingError, match="30 cannot be tried; allowed are 0 to 20"):
        solve(problem, floors, spends=[30])
    with pytest.raises(SettingError, match="No number of coupons from 1 to 1 meets all floors"):
        solve(problem, GroupFloors(np.stack([floors.members[0], ~floors.members[0]]), np.ones(2)), spends=[1])
    many = Tables(np.zeros((20_001, 1)), np.zeros((20_001, 1, 1)))
    with pytest.raises(SettingError, match="at most 20,000 people waiting at once; found 20,001"):
        greedy_with_floors(many, np.zeros((2, 1)), 1.0, GroupFloors(np.ones((1, 20_001), bool), np.ones(1)))
