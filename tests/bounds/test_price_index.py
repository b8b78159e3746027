"""The price index: the surplus, the table, its duals and the policy that follows their price."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bounds.bound_cases import every_row, exact_index, people
from peerfront.bounds.dual import PriceIndexPolicy, smallest_duals
from peerfront.bounds.price_index import Chances, PriceIndex, chances_that_matter, interpolated
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.states import StateBatch
from peerfront.problem import BulkPolicy, Frontier, Rules, State, check_feasible
from peerfront.simulation.catalog import make_world
from peerfront.simulation.typed import boom_bust, bridge, typed_world

WORLD = bridge()
LUCK = named_luck(("bound properties",), 200)
STATES = StateBatch(np.full(200, 100), 10 * np.arange(201), WORLD.seeds(LUCK, 10).covariates)


@pytest.fixture(scope="module")
def table() -> PriceIndex:
    return exact_index(WORLD, 0.9)


# ---- the parts -----------------------------------------------------------------------------------------------------


@given(st.integers(1, 4), st.integers(1, 12), st.integers(1, 5), st.booleans(), st.integers(0, 2**32 - 1))
def test_the_surplus_kernel_is_the_sum_it_stands_for(count, levels, columns, shared, seed) -> None:
    rng = np.random.default_rng(seed)
    survival = np.round(np.sort(rng.random((count, levels)), axis=1)[:, ::-1], 1)  # rounded, so that there are ties
    worth = np.round(rng.uniform(-0.5, 5.0, (count, columns)), 1)
    prices = np.round(rng.uniform(0.0, 1.2, columns if shared else (count, columns)), 1)
    plain = np.maximum(survival[:, :, None] * worth[:, None, :] - np.atleast_2d(prices)[:, None, :], 0.0).sum(axis=1)
    np.testing.assert_allclose(Chances.of(survival).surplus(worth, prices), plain, atol=1e-12)


@given(st.floats(0.0, 60.0), st.sampled_from([0.0, 1e-9, 0.01, 0.3, 0.9]), st.floats(1.0, 101.0), st.integers(1, 150))
def test_nothing_is_lost_where_chances_are_cut(rate, price, worth, most) -> None:
    one = typed_world("one", {"a": rate}, {"a": {"a": 1.0}}, {"a": 1.0})
    cut = chances_that_matter(one.response, people(0), most, price, worth)
    whole = Chances.of(one.response.gains(people(0), most))
    asked = (np.array([[worth]]), np.array([price]))
    np.testing.assert_allclose(cut.surplus(*asked), whole.surplus(*asked), rtol=1e-12, atol=1e-12)


def test_cutting_gains_loses_nothing() -> None:
    world = make_world("icpsr22140")
    codes = world.population(named_luck(("cut",), 40))
    cut = chances_that_matter(world.response, codes, 1000, 0.05, 4.0)
    whole = Chances.of(world.response.gains(codes, 1000))
    worth, prices = np.full((40, 2), 4.0), np.array([0.05, 0.6])
    assert cut.gains.shape[1] < 1000
    np.testing.assert_allclose(cut.surplus(worth, prices), whole.surplus(worth, prices), rtol=1e-12)


@pytest.mark.parametrize("discount", [0.8, 0.95, 0.999, 1.0])
def test_values_fall_with_the_price_are_convex_and_end_at_one(discount) -> None:
    world = bridge()
    index = exact_index(world, discount)
    prices = np.linspace(0.02, 1.3, 200)
    values = index.values(every_row(world.schema), prices)
    assert (np.diff(values, axis=1) <= 1e-9).all()
    assert (values[:, prices >= 1.0] == 0.0).all()
    assert (values[:3, prices < 0.9] > 0.0).any()
    grid = index.prices
    slopes = np.diff(index.values(every_row(world.schema), grid), axis=1) / np.diff(grid)
    inner = grid[1:-1] > 0.9  # above every price at which the crude bound cuts in
    assert (np.diff(slopes, axis=1)[:, inner] >= -1e-6 * np.abs(slopes[:, 1:][:, inner]) - 1e-6).all()
    assert (index.values(people(0, 1), np.array([0.0, 0.001])) <= 100.0).all()  # below the grid: the crude bound


def test_the_table_solves_its_equation() -> None:
    world, discount = boom_bust(), 0.9
    index = exact_index(world, discount)
    prices = np.array([0.3, 0.5, 0.8])
    everyone = every_row(world.schema)
    later = index.values(everyone, prices / discount)
    np.testing.assert_allclose(
        index.child_values(everyone, prices), discount * world.transition @ later, rtol=2e-3, atol=1e-6
    )
    one_by_one = index.values(everyone, np.tile(prices, (len(everyone), 1)))
    np.testing.assert_allclose(one_by_one, index.values(everyone, prices))


def test_interpolation_lies_above_a_convex_function() -> None:
    grid = np.array([0.1, 0.3, 0.7, 1.0])
    asked = np.linspace(0.1, 1.0, 30)
    assert (interpolated(((1 - grid) ** 3)[None], grid, asked)[0] >= (1 - asked) ** 3 - 1e-15).all()


def test_nothing_is_lost_at_price_zero() -> None:
    """In the last round a person is worth their mean capacity, to the last coupon."""
    many = typed_world("many", {"a": 11.0}, {"a": {"a": 1.0}}, {"a": 1.0})
    index = exact_index(many, 0.9)
    found = index.values(people(0), np.array([0.0]), rounds_left=1)[0, 0]
    assert found == pytest.approx(many.response.gains(people(0), 100).sum(), abs=1e-10)


def test_sums_of_many_states_are_those_of_each(table) -> None:
    sizes = np.arange(200) % 5  # some of them empty, the first and the last with them
    first = np.concatenate([[0], np.cumsum(sizes)])
    states = StateBatch(1 + np.arange(200) % 100, first, STATES.covariates[: first[-1]])
    many = smallest_duals(table, states)
    for s in (0, 1, 4, 5, 99, 198, 199):
        alone = smallest_duals(table, states.take(np.array([s])))
        np.testing.assert_allclose(alone.bounds[0], many.bounds[s], rtol=1e-13)


# ---- the price rule ------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=6),
    st.integers(1, 60),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([None, 1, 7]),
    st.integers(0, 49),
)
def test_the_price_rule_is_feasible_and_the_same_in_bulk(table, types, budget, per_person, per_round, played) -> None:
    rules = Rules(max_per_person=per_person, max_per_round=per_round)
    state = State(budget, Frontier.of(people(*types)), played, rules)
    policy = PriceIndexPolicy(table)
    assert isinstance(policy, BulkPolicy)
    alone = policy.allocate(state, LUCK.row(0))
    check_feasible(alone, state, policy.name)
    assert alone.spend >= 1
    others = [State(5, Frontier.of(people(2, 3))), State(7, Frontier.of(people())), State(0, Frontier.of(people(1)))]
    together = policy.allocate_many([*others, state], [LUCK.row(i) for i in range(4)])
    assert together[3].coupons.tolist() == alone.coupons.tolist()
    assert [given_out.spend > 0 for given_out in together[:3]] == [True, False, False]
