"""The lookahead bound: above the optimum, below the price bound, in any tiny world."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bounds.bound_cases import TINY, exact_index, one_state, people
from peerfront.bounds import lookahead
from peerfront.bounds.dual import smallest_duals
from peerfront.bounds.lookahead import can_look_ahead, lookahead_bound
from peerfront.bounds.lookahead_sample import ExactMeans, RoundSample
from peerfront.bounds.price_index import BoundSettings
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Frontier, Rules, State
from peerfront.simulation.typed import bridge, typed_world
from simulation.exact import solve
from support import two_types


def state_of(budget: int, codes: np.ndarray, rules: Rules | None = None) -> State:
    return State(budget, Frontier.of(codes), 0, rules or Rules())


@settings(max_examples=20)
@given(
    st.lists(st.floats(0.0, 4.0), min_size=2, max_size=2),
    st.lists(st.floats(0.05, 0.95), min_size=2, max_size=2),
    st.lists(st.integers(0, 1), min_size=1, max_size=3),
    st.integers(1, 5),
    st.sampled_from([0.5, 0.9, 1.0]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, 2]),
    st.sampled_from([2, 3, 50]),
)
def test_it_is_above_the_optimum_of_any_world_and_about_below_the_price_bound(
    rates, shares, types, budget, discount, per_person, per_round, rounds
) -> None:
    world = two_types(rates, shares)
    rules = Rules(budget=5, rounds=rounds, max_per_person=per_person, max_per_round=per_round)
    best = solve(world, rules, discount).value(people(*types), budget)
    chosen = BoundSettings(largest_budget=5, max_per_person=per_person, price_step=0.03)
    index = exact_index(world, discount, chosen)
    luck = named_luck(("any",), 1)
    _, found = lookahead_bound(index, world.offspring, state_of(budget, people(*types), rules), luck, outcomes=400)
    slack = 5 * found.bound.standard_error + 0.01
    assert found.bound.mean >= best - slack
    priced = smallest_duals(index, one_state(budget, people(*types)), rounds, per_person).bounds[0]
    assert found.bound.mean <= 1.02 * priced + slack


def test_it_closes_much_of_the_gap_in_bridge() -> None:
    world, codes = bridge(), people(0, 1, 1)
    best = solve(world, Rules(budget=8, people=3), 1.0).value(codes)
    index = exact_index(world, 1.0, TINY)
    priced = smallest_duals(index, one_state(8, codes), 50).bounds[0]
    _, found = lookahead_bound(index, world.offspring, state_of(8, codes), named_luck(("gap",), 1), outcomes=2000)
    assert best - 4 * found.bound.standard_error < found.bound.mean < best + 0.5 * (priced - best)
    again = lookahead_bound(index, world.offspring, state_of(8, codes), named_luck(("gap",), 1), outcomes=2000)[1]
    assert again == found


def test_the_known_means_are_those_of_sampled_recruits() -> None:
    world, codes = bridge(), people(0, 1, 2, 3)
    index = exact_index(world, 0.9, TINY)
    prices = index.prices[::40]
    known = ExactMeans.of(index, codes, prices, 4)
    survival, luck = index.response.gains(codes, 8), named_luck(("known",), 4)
    sample = RoundSample.drawn(index, world.offspring, codes, np.zeros(4, np.int64), 1, 4000, luck, survival, prices, 3)
    for price in range(known.lowest, len(prices)):
        values = sample.values[sample.kind, price]
        errors = np.sqrt(sample.means(values**2) / sample.samples)
        assert (np.abs(sample.means(values) - known.at(price)[:, None] * survival) <= 4.5 * errors + 0.001).all()


def test_a_second_round_of_luck_takes_more_of_the_slack_and_stays_above(monkeypatch) -> None:
    world = bridge()
    codes = people(0, 1, 1)
    best = solve(world, Rules(budget=8, people=3, rounds=4), 1.0).value(codes)
    index, luck = exact_index(world, 1.0, TINY), named_luck(("second",), 1)
    arguments = (index, world.offspring, state_of(8, codes, Rules(rounds=4)), luck)
    _, two = lookahead_bound(*arguments, outcomes=800)
    monkeypatch.setattr(lookahead, "_CLEAR_GAIN", 1.0)  # no outcome gains so much: all keep their one price
    _, one = lookahead_bound(*arguments, outcomes=800)
    assert best - 4 * two.bound.standard_error < two.bound.mean < one.bound.mean
    monkeypatch.setattr(lookahead, "_MOST_RECRUITS", 0)
    assert lookahead_bound(*arguments, outcomes=800)[1].bound.mean == pytest.approx(one.bound.mean, rel=1e-12)


def test_where_nobody_can_come_later_there_is_nothing_to_look_at() -> None:
    codes = people(0, 1)
    rules = Rules(rounds=3)
    assert not can_look_ahead(state_of(5, codes, Rules(rounds=1)))
    assert not can_look_ahead(state_of(5, codes[:0], rules))
    assert not can_look_ahead(state_of(1 << 20, codes, rules))
    assert can_look_ahead(state_of(5, codes, rules))


def test_people_who_bring_nobody_earn_nothing() -> None:
    world = typed_world("none", {"a": 0.0}, {"a": {"a": 1.0}}, {"a": 1.0})
    index = exact_index(world, 1.0, BoundSettings(largest_budget=5))
    state = state_of(5, people(0, 0), Rules(rounds=3))
    _, found = lookahead_bound(index, world.offspring, state, named_luck(("n",), 1), outcomes=20)
    assert np.isclose(found.bound.mean, 0.0, atol=0.06)
    assert found.bound.standard_error == 0.0
