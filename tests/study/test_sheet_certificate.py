"""The sheet's certificate against exact duals and optima of tiny typed worlds, over many seeds."""

import numpy as np
import pytest

from bounds.bound_cases import exact_index, one_state, people
from peerfront.bounds.dual import smallest_duals
from peerfront.bounds.price_index import BoundSettings
from peerfront.gfp.surrogate import PersonInputs
from peerfront.problem import Frontier, OffspringModel, Rules, State
from peerfront.simulation.exact import solve
from peerfront.simulation.typed import TypedWorld, boom_bust, bridge
from peerfront.study import certificate
from peerfront.study.certificate import PricedState, certify_state

SEEDS = 16


class Sampled:
    """Whom people bring, by samples alone: nothing says that fields are inherited one by one."""

    def __init__(self, offspring: OffspringModel) -> None:
        self.sample = offspring.sample


def models(world: TypedWorld, exact: bool = True) -> tuple:
    """With `exact` the certificate finds a table of prices, otherwise it has to fit regressions."""
    offspring = world.offspring if exact else Sampled(world.offspring)
    return world.response, offspring, PersonInputs(world.schema, world.response)


def exact_dual(world: TypedWorld, codes: np.ndarray, discount: float, rules: Rules) -> float:
    """The smallest price bound, by the world's own chances."""
    index = exact_index(world, discount, BoundSettings(largest_budget=rules.budget))
    return float(smallest_duals(index, one_state(rules.budget, codes), rules.rounds).bounds[0])


@pytest.mark.parametrize(("world", "types"), [(bridge(), (1, 1, 2)), (boom_bust(), (0, 1, 1))])
@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_the_price_bound_is_not_below_the_exact_dual_beyond_chance(world, types, discount) -> None:
    """The price is chosen by the regressions and judged by fresh samples, so no seed is systematically too low."""
    codes, rules = people(*types), Rules(budget=6, people=3, rounds=4)
    dual = exact_dual(world, codes, discount, rules)
    found = [
        PricedState(State(6, Frontier.of(codes), 0, rules), *models(world, exact=False), discount, seed).audited()
        for seed in range(SEEDS)
    ]
    z = np.array([(each.mean - dual) / each.standard_error for each in found])
    assert (z > -4.0).all()
    assert z.mean() > -3.0 / np.sqrt(SEEDS)
    assert np.mean([each.mean for each in found]) < 1.03 * dual
    spread = np.std([each.mean for each in found], ddof=1)
    assert spread < 2.0 * np.mean([each.standard_error for each in found])  # the error that is said is the one there is


@pytest.mark.parametrize(("world", "types"), [(bridge(), (1, 1, 2)), (boom_bust(), (0, 1, 1))])
@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_where_fields_are_inherited_one_by_one_the_price_bound_is_the_exact_dual(world, types, discount) -> None:
    codes, rules = people(*types), Rules(budget=6, people=3, rounds=4)
    dual = exact_dual(world, codes, discount, rules)
    priced = PricedState(State(6, Frontier.of(codes), 0, rules), *models(world), discount)
    found = priced.audited()
    assert (found.standard_error, priced.proof) == (0.0, "exact")
    assert dual - 1e-9 <= found.mean < 1.001 * dual  # it looks at the prices of a grid


@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_a_limit_of_this_round_is_priced_as_if_every_pair_of_prices_were_tried(monkeypatch, discount) -> None:
    codes, rules = people(0, 0, 1, 1, 2), Rules(budget=9, people=5, rounds=4, max_per_round=3)
    state = State(9, Frontier.of(codes), 0, rules)
    some = PricedState(state, *models(bridge()), discount)
    monkeypatch.setattr(certificate, "_CAPPED_PRICES", 10_000)
    every = PricedState(state, *models(bridge()), discount)
    assert every.fitted <= some.fitted < 1.0001 * every.fitted
    assert some.price_now > some.price


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("discount", [0.9, 1.0])
@pytest.mark.parametrize(("rounds", "cap"), [(1, None), (2, None), (4, None), (3, 3)])
def test_no_certificate_is_below_the_optimum_beyond_chance(discount, rounds, cap, exact) -> None:
    world, codes = bridge(), people(0, 1, 2)
    rules = Rules(budget=6, people=3, rounds=rounds, max_per_round=cap)
    best = solve(world, rules, discount).value(codes)
    state = State(6, Frontier.of(codes), 0, rules)
    found = [certify_state(state, *models(world, exact), discount, seed) for seed in range(6)]
    errors = np.array([(each.bound - best) / max(each.standard_error, 1e-9) for each in found])
    assert (errors > -4.0).all()
    assert errors.mean() > -1.3
    assert all(each.high <= each.budget_bound for each in found)
    if rounds == 1:
        assert {each.proof for each in found} == {"exact"}


@pytest.mark.parametrize("exact", [True, False])
def test_looking_ahead_halves_the_slack_of_a_state_that_depends_on_one_person(exact) -> None:
    world, codes, rules = bridge(), people(0, 1, 1), Rules(budget=6, people=3, rounds=5)
    best = solve(world, rules, 1.0).value(codes)
    dual = exact_dual(world, codes, 1.0, rules)
    found = certify_state(State(6, Frontier.of(codes), 0, rules), *models(world, exact), 1.0)
    assert found.which == "lookahead"
    assert best - 4 * found.standard_error < found.bound < best + 0.5 * (dual - best)


def test_many_people_are_judged_by_some_of_them() -> None:
    world = bridge()
    codes = people(*np.random.default_rng(0).integers(0, 4, 3000))
    rules = Rules(budget=4000, rounds=3)
    found = PricedState(State(4000, Frontier.of(codes), 0, rules), *models(world, exact=False), 0.9).audited()
    assert abs(found.mean - exact_dual(world, codes, 0.9, rules)) < 4 * found.standard_error + 0.01 * found.mean
    assert found.standard_error < 0.02 * found.mean


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("limit", [None, 1500])
def test_people_counted_by_kind_have_the_bound_they_have_one_by_one(monkeypatch, limit, exact) -> None:
    world = bridge()
    codes = people(*np.random.default_rng(1).integers(0, 4, 1200))
    state = State(2000, Frontier.of(codes), 0, Rules(budget=2000, rounds=3, max_per_round=limit))
    counted = PricedState(state, *models(world, exact), 0.9)
    monkeypatch.setattr(certificate, "_COUNTED_BY_KIND", 10_000)
    listed = PricedState(state, *models(world, exact), 0.9)
    assert counted.fitted == pytest.approx(listed.fitted, rel=1e-12)
    assert (counted.price, counted.price_now) == (listed.price, listed.price_now)
    one, other = counted.audited(), listed.audited()
    assert (one.mean, one.standard_error) == pytest.approx((other.mean, other.standard_error), rel=1e-9)
