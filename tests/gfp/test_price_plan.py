"""Planning by a common price: against its plain reference, exact greedy and brute force; limits, awkward cases."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gfp.instances import Instance, instances, solve
from gfp.plain_price import mixed_value, price_bound
from peerfront.foundation.counts import poisson_survival
from peerfront.foundation.covariates import kinds_of
from peerfront.foundation.errors import SettingError
from peerfront.gfp import price_kernels as kernels
from peerfront.gfp import price_plan
from peerfront.gfp.backup import Tables
from peerfront.gfp.greedy import greedy_at
from peerfront.gfp.paper import surrogate_q
from peerfront.gfp.price_plan import PricePlan, people_of_kinds, plan_by_price, totals_by_price

Array = NDArray[np.float64]


def planned(problem: Instance) -> tuple[PricePlan, NDArray[np.int64]]:
    """The plan by kinds, and the same person by person."""
    tables = problem.tables
    rows = np.concatenate([tables.gains, tables.covers.reshape(problem.people, -1)], axis=1)
    _, first, kind, number = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
    plan = plan_by_price(
        tables.take(first),
        number,
        problem.weights,
        problem.discount,
        spendable=problem.spendable,
        most_per_person=problem.most_per_person,
        least_per_person=problem.least_per_person,
    )
    return plan, people_of_kinds(plan.totals, kind.reshape(-1))


def value_of(problem: Instance, coupons: NDArray[np.int64]) -> float:
    worth = problem.discount * problem.weights[len(problem.weights) - 1 - int(coupons.sum())]
    return surrogate_q(problem.tables.gains, problem.tables.transform(), worth, 1.0, coupons)


def crowd(
    people: int, kinds: int, budget: int, seed: int, most: int = 3, least: int = 0, latent: int = 6, even: float = 1.0
) -> Instance:
    """People of some kinds, some much more frequent than others, whose coverage saturates within the budget."""
    rng = np.random.default_rng(seed)
    survival = poisson_survival(rng.gamma(0.7, 1.2, kinds), 16)
    covers = rng.gamma(0.5, 2.0, (kinds, latent)) * 8.0 / budget
    kind = rng.choice(kinds, people, p=rng.dirichlet(np.full(kinds, even)))
    left = np.linspace(0.0, 1.0, budget + 1)[:, None]
    shares = rng.dirichlet(np.ones(latent)) * np.maximum(1.0 + left * rng.normal(0.0, 0.3, latent), 0.1)
    weights = budget * left * (1.0 - 0.3 * left) * shares / shares.sum(axis=1, keepdims=True)
    tables = Tables.of_capacity(survival, np.exp(-covers)).take(kind)
    return Instance(tables, weights, 0.95, min(budget, most * people), most, least)


@pytest.fixture(params=[0, 10**9], ids=["by price", "one by one"])
def given_one_by_one(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Small spends are given out greedily from the first coupon; 0 uses the mixture even there."""
    monkeypatch.setattr(price_plan, "_GIVEN_ONE_BY_ONE", request.param)
    return int(request.param)


@given(instances())
@settings(max_examples=300, deadline=None)
def test_small_plans_are_feasible_bounded_and_as_good_as_greedy(problem: Instance) -> None:
    plan, coupons = planned(problem)
    best = solve(problem).value
    assert coupons.sum() == plan.spend == plan.totals.sum() <= problem.spendable
    assert problem.least_per_person <= coupons.min()
    assert coupons.max() <= problem.most_per_person
    assert plan.value == pytest.approx(value_of(problem, coupons), rel=1e-9, abs=1e-9)
    assert plan.value >= 0.995 * best - 1e-9
    assert plan.bound >= best - 1e-9
    assert plan.value == pytest.approx((1.0 - plan.gap) * plan.bound, abs=1e-9)


@given(instances(max_people=3, max_budget=4))
@settings(max_examples=100, deadline=None)
def test_the_bound_is_above_every_allocation(problem: Instance) -> None:
    plan, _ = planned(problem)
    everything = product(range(problem.least_per_person, problem.most_per_person + 1), repeat=problem.people)
    values = [value_of(problem, np.array(k)) for k in everything if sum(k) <= problem.spendable]
    assert plan.bound >= max(values) - 1e-9
    assert plan.gap >= (max(values) - plan.value) / max(max(values), 1e-6) - 1e-9


@pytest.mark.parametrize(
    "problem",
    [
        crowd(300, 40, 300, 0),
        crowd(300, 300, 400, 1, most=400),
        crowd(500, 20, 700, 2, least=1),
        crowd(800, 12, 500, 3, even=0.2),
        crowd(400, 3, 600, 4, most=2),
    ],
    ids=["kinds", "no cap", "floor", "a kind of most people", "three kinds"],
)
def test_crowds_lose_little(problem: Instance, given_one_by_one: int) -> None:
    plan, coupons = planned(problem)
    best = solve(problem).value
    assert coupons.min() >= problem.least_per_person
    assert coupons.max() <= problem.most_per_person
    assert plan.value == pytest.approx(value_of(problem, coupons), rel=1e-9)
    assert plan.value >= 0.998 * best
    assert best <= plan.bound <= 1.004 * best


@given(instances(extremes=False), st.floats(0.0, 2.0), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_bounds_are_those_of_the_plain_text(problem: Instance, price: float, seed: int) -> None:
    """With embeddings near 0 the kernels cut logarithms off, so those are left to the bound above."""
    most, least, spend = problem.most_per_person, problem.least_per_person, problem.spendable
    left = np.random.default_rng(seed).uniform(0.0, 1.0, problem.tables.latent)
    worth = problem.discount * problem.weights[len(problem.weights) - 1 - spend]
    chance, number = problem.tables.gains[:, :most].copy(), np.ones(problem.people, dtype=np.int64)
    logs, gains = kernels.coverage_logs(problem.tables.covers[:, :most].copy()), np.empty_like(chance)
    kernels.gains_at(chance, logs, worth, left, gains)
    found = kernels.priced_bound(gains, number, worth, left, price, spend, least)
    plain = price_bound(problem.tables, worth, left, price, spend, most, least)
    assert found == pytest.approx(plain, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("spend", [0, 40, 150, 299])
def test_mixtures_are_those_of_the_plain_text(spend: int) -> None:
    problem = crowd(100, 10, 300, 5)
    worth = problem.discount * problem.weights[300 - spend]
    plain = mixed_value(problem.tables, worth, spend, 3, 0, steps=400)
    number = np.ones(100, dtype=np.int64)
    search = price_plan._Search(problem.tables, number, problem.weights, problem.discount, None, 3, 0)
    levels, bound, *_ = search._mixture(spend, worth, None)
    assert levels.sum() == pytest.approx(spend)
    assert plain <= bound <= plain * 1.0005 + 1e-6


@given(st.integers(1, 8), st.integers(0, 40), st.integers(0, 2), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_a_price_gives_out_the_largest_gains(kinds: int, count: int, least: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gains = np.sort(np.round(rng.random((kinds, 4)), 1), axis=1)[:, ::-1].copy()  # ties
    number = rng.integers(1, 5, kinds)
    levels = np.empty(kinds)
    price = kernels.levels_at_price(gains, number, least, count, levels)
    assert (number * (levels - least)).sum() == pytest.approx(min(count, number.sum() * (4 - least)))
    one_by_one = np.sort(np.repeat(gains[:, least:], number, axis=0).reshape(-1))[::-1]
    whole, part = np.divmod(levels, 1.0)
    total = sum(
        number[i] * (gains[i, least : int(whole[i])].sum() + (part[i] * gains[i, int(whole[i])] if part[i] else 0.0))
        for i in range(kinds)
    )
    assert total == pytest.approx(one_by_one[:count].sum(), abs=1e-9)
    if 0 < count <= len(one_by_one):
        assert price <= one_by_one[count - 1] + 1e-12


def test_worthless_weights_and_recruits_who_cover_nothing() -> None:
    """In the last round only chances of use count; with embeddings of 1 the same."""
    problem = crowd(200, 15, 150, 6)
    chances = np.sort(problem.tables.gains[:, :3].reshape(-1))[::-1]
    covers_nothing = Tables(problem.tables.gains, np.zeros_like(problem.tables.covers))
    for tables, weights in ((problem.tables, np.zeros_like(problem.weights)), (covers_nothing, problem.weights)):
        plan = plan_by_price(tables, np.ones(200, dtype=np.int64), weights, 1.0, most_per_person=3)
        assert plan.spend == 150
        assert plan.value == pytest.approx(chances[:150].sum())
        assert plan.gap < 1e-6


def test_coupons_that_nobody_can_use_are_given_out_too() -> None:
    """If only the last coupon spent were worth something: every cap holds, whatever the gains."""
    tables = Tables.of_capacity(np.array([[0.5, 0.0], [0.25, 0.0]]), np.full((2, 1), 0.5))
    weights = np.zeros((41, 1))
    weights[0] = 1.0
    plan = plan_by_price(tables, np.array([3, 2]), weights, 1.0, most_per_person=8)
    assert plan.spend == plan.totals.sum() == 40
    assert plan.totals.tolist() == [24, 16]


def test_values_of_given_spends_are_close_to_those_of_greedy() -> None:
    problem = crowd(400, 30, 400, 7)
    spends = [0, 50, 200, 400]
    _, best = greedy_at(problem.tables, problem.weights, 0.95, spends, 3)
    totals = totals_by_price(problem.tables, np.ones(400, dtype=np.int64), problem.weights, 0.95, spends, 3)
    assert [each.sum() for each in totals] == spends
    values = [value_of(replace(problem, discount=0.95), each) for each in totals]
    np.testing.assert_allclose(values, best, rtol=1e-3)


def test_people_of_a_kind_share_evenly_and_the_first_come_first() -> None:
    kind = np.array([1, 0, 1, 1, 0])
    assert people_of_kinds(np.array([3, 4]), kind).tolist() == [2, 2, 1, 1, 1]


def test_an_impossible_least_is_refused() -> None:
    tables = Tables.of_capacity(np.full((1, 3), 0.5), np.full((1, 1), 0.5))
    with pytest.raises(SettingError, match="not possible with 3"):
        plan_by_price(tables, np.array([2]), np.zeros((4, 1)), 1.0, least_per_person=2)


@given(st.integers(0, 30), st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from([3, 30_000]))
@settings(max_examples=60, deadline=None)
def test_kinds_are_the_distinct_rows(people: int, fields: int, seed: int, largest: int) -> None:
    codes = np.random.default_rng(seed).integers(-1, largest, (people, fields)).astype(np.int16)
    kinds = kinds_of(codes)
    np.testing.assert_array_equal(kinds.rows[kinds.kind], codes)
    np.testing.assert_array_equal(kinds.rows, np.unique(codes, axis=0))
    assert kinds.number.sum() == people


def test_where_nothing_can_be_gained_there_is_no_gap() -> None:
    uncovered, number, weights = np.full((2, 3), 0.5), np.array([4, 1]), np.ones((6, 3))
    halves = Tables.of_capacity(np.full((2, 4), 0.5), uncovered)
    nobody_comes = plan_by_price(Tables.of_capacity(np.zeros((2, 4)), uncovered), number, weights, 0.9)
    no_coupons = plan_by_price(halves, number, weights[:1], 0.9)
    nobody_waits = plan_by_price(halves.take(slice(0)), number[:0], weights, 0.9)
    for plan in (nobody_comes, no_coupons, nobody_waits):
        assert (plan.value, plan.gap) == (0.0, 0.0)
