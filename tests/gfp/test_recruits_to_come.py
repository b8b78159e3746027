"""Recruits still to come: plans with them against brute force, and against open holders who are people of the table."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gfp.instances import Instance, instances, solve
from gfp.test_planner import a_planner, a_state
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.backup import Array, Tables, left_by_frontier, left_uncovered, split_weights
from peerfront.gfp.floored_greedy import GroupFloors, greedy_with_floors
from peerfront.gfp.greedy import greedy_at
from peerfront.gfp.paper import algorithm_1, expected_future_value, expected_recruits, surrogate_q
from peerfront.gfp.price_plan import plan_by_price
from peerfront.problem import Rules

LUCK = named_luck(("coming",), 3)


def shares(problem: Instance, seed: int) -> Array:
    """What recruits still to come leave uncovered: some coordinates wholly, some not at all."""
    rng = np.random.default_rng(seed)
    return rng.choice([0.0, 1.0, 0.3, 0.7, rng.random()], problem.tables.latent)


def with_coming(problem: Instance, coming: Array) -> tuple[Instance, Array]:
    weights, base = split_weights(problem.weights, coming)
    return replace(problem, weights=weights), base


def plain_value(problem: Instance, coming: Array, coupons: Array) -> float:
    """Q with U inside the product, as `coming.py` writes it first."""
    tables, spend = problem.tables, int(coupons.sum())
    levels = np.minimum(coupons, tables.coupons)
    left = coming * tables.transform()[np.arange(tables.people), levels].prod(axis=0)
    worth = problem.discount * problem.weights[len(problem.weights) - 1 - spend]
    return expected_recruits(tables.gains, coupons) + float(worth @ (1.0 - left))


@given(instances(), st.integers(0, 10**6))
@settings(max_examples=120, deadline=None)
def test_the_plan_is_the_reference_and_its_value_the_plain_one(problem: Instance, seed: int) -> None:
    coming = shares(problem, seed)
    scaled, base = with_coming(problem, coming)
    limits = {
        "spendable": problem.spendable,
        "most_per_person": problem.most_per_person,
        "least_per_person": problem.least_per_person,
    }
    plain = algorithm_1(scaled.tables.gains, scaled.tables.covers, scaled.weights, scaled.discount, **limits)
    values = plain.values + scaled.discount * base[::-1][: len(plain.values)]  # with s spent, r - s are left
    coupons = plain.allocations[np.nanargmax(values)]
    whole, pruned = solve(scaled, every_spend=True, base=base), solve(scaled, base=base)
    np.testing.assert_array_equal(whole.coupons, coupons)
    np.testing.assert_array_equal(whole.values, values)
    np.testing.assert_array_equal(pruned.coupons, coupons)
    assert pruned.value == whole.value == pytest.approx(plain_value(problem, coming, coupons), abs=1e-9)
    _, same = greedy_at(
        scaled.tables,
        scaled.weights,
        scaled.discount,
        [whole.spend],
        problem.most_per_person,
        problem.least_per_person,
        base,
    )
    assert same[0] == pytest.approx(whole.value)
    assert plan_by_price(
        scaled.tables, np.ones(problem.people, np.int64), scaled.weights, scaled.discount, base=base, **limits
    ).bound >= whole.value - 1e-9 * (1.0 + abs(whole.value))


@given(instances(max_people=3, max_budget=5), st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_no_allocation_is_far_better(problem: Instance, seed: int) -> None:
    """Greedy earns at least half of the best of every spend (a matroid of caps); `base` is part of both sides."""
    coming = shares(problem, seed)
    scaled, base = with_coming(problem, coming)
    plan = solve(scaled, every_spend=True, base=base)
    levels = range(problem.least_per_person, problem.most_per_person + 1)
    best: dict[int, float] = {}
    for each in product(levels, repeat=problem.people):
        coupons = np.array(each)
        if (spend := int(coupons.sum())) <= problem.spendable:
            best[spend] = max(best.get(spend, -np.inf), plain_value(problem, coming, coupons))
    for spend, value in best.items():
        anyway = problem.discount * base[len(base) - 1 - spend]
        assert plan.values[spend] <= value + 1e-9
        assert plan.values[spend] - anyway >= 0.5 * (value - anyway) - 1e-9
        assert plan.value >= plan.values[spend]


@given(instances(max_people=5, extremes=False), st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_open_holders_are_people_whose_numbers_are_fixed(problem: Instance, seed: int) -> None:
    """Holders of the same table, whose recruits are still to come: one more factor, and their recruits are extra."""
    rng = np.random.default_rng(seed)
    holders, held = rng.random(problem.people) < 0.5, rng.integers(0, 4, problem.people)
    if holders.all():
        holders[0] = False
    waiting = problem.tables.take(np.flatnonzero(~holders))
    least = 0
    spendable = min(problem.spendable, problem.most_per_person * waiting.people)
    open_tables = problem.tables.take(np.flatnonzero(holders))
    levels = np.minimum(held[holders], open_tables.coupons)
    coming = open_tables.transform()[np.arange(len(levels)), levels].prod(axis=0)
    scaled, base = split_weights(problem.weights, coming)
    plan = solve(
        Instance(waiting, scaled, problem.discount, spendable, problem.most_per_person, least),
        every_spend=True,
        base=base,
    )
    together = held.copy()
    together[~holders] = plan.coupons
    worth = problem.discount * problem.weights[len(problem.weights) - 1 - plan.spend]
    whole = surrogate_q(problem.tables.gains, problem.tables.transform(), worth, 1.0, together)
    assert plan.value + expected_recruits(open_tables.gains, held[holders]) == pytest.approx(whole, abs=1e-9)


def test_floors_count_who_is_to_come_in_every_spend() -> None:
    rng = np.random.default_rng(3)
    survival = np.sort(rng.random((6, 3)), axis=1)[:, ::-1].copy()
    tables = Tables.of_capacity(survival, rng.uniform(0.3, 0.9, (6, 2)))
    weights = np.arange(13)[:, None] * np.array([[0.6, 0.4]])
    scaled, base = split_weights(weights, np.array([0.1, 0.2]))
    floors = GroupFloors(np.array([[True, True, False, False, False, False]]), np.array([1.0]))
    plan = greedy_with_floors(tables, scaled, 1.0, floors, spendable=12, most_per_person=3, base=base)
    assert floors.met(plan.plan.coupons)
    now = expected_recruits(tables.gains, plan.plan.coupons)
    later = expected_future_value(tables.transform(), scaled[12 - plan.plan.spend], plan.plan.coupons)
    assert plan.plan.value == pytest.approx(now + later + base[12 - plan.plan.spend])


def test_recruits_to_come_are_counted_by_their_chances() -> None:
    more, alpha = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]]), np.array([[0.4, 1.0], [0.0, 0.3]])
    np.testing.assert_allclose(
        left_uncovered(more, alpha), [[0.2 + 0.5 * 0.4 + 0.3 * 0.16, 1.0], [1.0, 1.0]], rtol=1e-12
    )
    in_time = np.array([0.25, 1.0])
    thinned = 0.2 + 0.5 * 0.85 + 0.3 * 0.85**2  # 0.75 + 0.25 * 0.4
    np.testing.assert_allclose(left_uncovered(more, alpha, in_time)[0], [thinned, 1.0], rtol=1e-12)
    together = left_by_frontier(np.array([[0.5], [0.4], [0.9]]), np.array([0, 0, 2]), 3)
    np.testing.assert_allclose(together[:, 0], [0.2, 1.0, 0.9])


@pytest.mark.parametrize("rules", [Rules(), Rules(max_per_person=3), Rules(max_per_round=9)])
def test_a_planner_knows_who_is_to_come(rules: Rules) -> None:
    planner, state = a_planner(), a_state(25, rules=rules)
    nobody = planner.with_coming({"capacity": np.ones(4)})
    np.testing.assert_array_equal(nobody.plan(state).allocation.coupons, planner.plan(state).allocation.coupons)
    assert nobody.plan(state).value == planner.plan(state).value
    coming = {"capacity": np.array([0.2, 0.9, 0.05, 0.6])}
    plan, plain = planner.with_coming(coming).plan(state), planner.plan(state)
    many = planner.allocate_many([state] * 3, [LUCK] * 3, np.stack([np.ones(4), coming["capacity"], np.zeros(4)]))
    np.testing.assert_array_equal(many[0].coupons, plain.allocation.coupons)
    np.testing.assert_array_equal(many[1].coupons, plan.allocation.coupons)
    np.testing.assert_array_equal(planner.with_coming(coming).allocate(state, LUCK).coupons, plan.allocation.coupons)
    assert plan.value > plain.value  # more people are worth more
    assert plan.later.sum() < plain.later.sum()  # and a recruit adds less to a crowd
    assert planner.with_coming(coming).with_coming(None).plan(state).value == plain.value


def test_coming_is_refused_unless_it_is_one_share_for_each_coordinate() -> None:
    for wrong in (np.ones(3), np.full(4, 1.2), np.full(4, np.nan)):
        with pytest.raises(SettingError, match="one share from 0 to 1 for each of 4 coordinates"):
            a_planner().with_coming({"capacity": wrong})
