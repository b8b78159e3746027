"""The certificate: above the exact optimum wherever that is known, above every policy, and tight where it can be."""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bounds.bound_cases import NOBODY, TINY, exact_index, first_frontiers, one_state, people
from peerfront.baselines.simple_rules import RandomSplit, Threshold
from peerfront.bounds.certificate import Caps, budget_bounds
from peerfront.bounds.certify import certify, certify_many
from peerfront.bounds.dual import PriceIndexPolicy, smallest_duals
from peerfront.bounds.price_fitting import fit_price_index
from peerfront.bounds.price_index import BoundSettings
from peerfront.bounds.recruit_space import every_row
from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Allocation, Frontier, Rules, State, rollout
from peerfront.simulation.exact import solve
from peerfront.simulation.typed import boom_bust, bridge, typed_world
from support import two_types

# ---- against the exact optimum -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [bridge, boom_bust])
@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_no_optimum_of_a_tiny_world_is_above_and_few_are_far_below(make, discount) -> None:
    world = make()
    optimum = solve(world, Rules(budget=8, people=3), discount)
    index = exact_index(world, discount, TINY)
    ratios = []
    for types in combinations_with_replacement(range(len(world.rates)), 3):
        for budget in (1, 2, 3, 5, 8):
            best = optimum.value(people(*types), budget)
            bound = smallest_duals(index, one_state(budget, people(*types)), 50).bounds[0]
            assert bound >= best - 1e-9
            ratios.append(min(bound, budget) / best)
    assert np.median(ratios) < 1.15


@settings(max_examples=25)
@given(
    st.lists(st.floats(0.0, 5.0), min_size=2, max_size=2),
    st.lists(st.floats(0.05, 0.95), min_size=2, max_size=2),
    st.lists(st.integers(0, 1), min_size=1, max_size=3),
    st.integers(1, 4),
    st.sampled_from([0.5, 0.9, 0.99, 0.998, 1.0]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, 2]),
    st.sampled_from([1, 2, 50]),
)
def test_a_proved_certificate_is_above_the_optimum_of_any_world(
    rates, shares, types, budget, discount, per_person, per_round, rounds
) -> None:
    world = two_types(rates, shares)
    rules = Rules(budget=4, rounds=rounds, max_per_person=per_person, max_per_round=per_round)
    best = solve(world, rules, discount).value(people(*types), budget)
    chosen = BoundSettings(largest_budget=4, max_per_person=per_person, price_step=0.03)
    index = exact_index(world, discount, chosen)
    state = State(budget, Frontier.of(people(*types)), 0, rules)
    models, luck = (index, world.response, world.offspring), named_luck(("any",), 1)
    found = certify(state, *models, luck, samples=0, outcomes=0)
    assert found.proof == "exact"
    assert found.standard_error == 0.0
    assert found.bound >= best - 1e-9
    sampled = certify(state, *models, luck, samples=0, outcomes=100)
    assert sampled.bound >= best - 5 * sampled.standard_error - 0.01
    assert sampled.proof == ("statistical" if sampled.which == "lookahead" else "exact")


def test_certificates_look_ahead_where_the_index_is_an_exact_table() -> None:
    world, codes, rules = bridge(), people(0, 1, 1), Rules(budget=8, people=3, rounds=5)
    best = solve(world, rules, 1.0).value(codes)
    index, luck = exact_index(world, 1.0, TINY), named_luck(("ahead",), 1)
    models = (world.response, world.offspring, luck)
    priced = certify(State(8, Frontier.of(codes), 0, rules), index, *models, outcomes=0)
    found = certify(State(8, Frontier.of(codes), 0, rules), index, *models)
    assert found.which == "lookahead"
    assert best - 4 * found.standard_error < found.bound < best + 0.5 * (priced.bound - best)
    assert "depends on how it went" in found.explanation
    assert found.standard_error > 0.0
    many = certify_many(one_state(8, codes), index, *models, rules=rules, samples=400, outcomes=200)
    assert many.row(0) == found
    sampled = fit_price_index(world.response, world.offspring, NOBODY, world.schema, 1.0, TINY)
    assert certify(State(8, Frontier.of(codes), 0, rules), sampled, *models).which != "lookahead"


def test_in_the_last_round_the_price_bound_is_the_optimum() -> None:
    # Coupons have diminishing returns, so with nothing to come after, pricing them loses nothing.
    world = bridge()
    optimum = solve(world, Rules(budget=8, rounds=1), 0.9)
    index = exact_index(world, 0.9, TINY)
    for types in [(0, 1, 2), (2, 2, 3), (1, 1, 1)]:
        bound = smallest_duals(index, one_state(8, people(*types)), rounds_left=1).bounds[0]
        best = optimum.value(people(*types), 8, rounds_left=1)
        assert best - 1e-9 <= bound <= best + 0.02


def test_fewer_rounds_tighten_and_stay_above() -> None:
    world = bridge()
    optimum = solve(world, Rules(budget=8, rounds=8), 1.0)
    index, state = exact_index(world, 1.0, TINY), one_state(8, people(1, 1, 2))
    bounds = [smallest_duals(index, state, rounds_left=left).bounds[0] for left in (1, 2, 3, 5, 8)]
    assert (np.diff(bounds) > 1e-6).all()
    for left, bound in zip((1, 2, 3, 5, 8), bounds, strict=True):
        assert bound >= optimum.value(people(1, 1, 2), rounds_left=left) - 1e-9
    assert smallest_duals(index, state).bounds[0] >= bounds[-1] - 1e-9


def test_caps_tighten_and_stay_above() -> None:
    world, codes = bridge(), people(0, 1, 2)
    free = smallest_duals(exact_index(world, 0.9, TINY), one_state(8, codes), 50).bounds[0]
    at_the_root = smallest_duals(exact_index(world, 0.9, TINY), one_state(8, codes), 50, 1).bounds[0]
    capped = exact_index(world, 0.9, replace(TINY, max_per_person=1))
    bound = smallest_duals(capped, one_state(8, codes), 50, 1).bounds[0]
    best = solve(world, Rules(budget=8, max_per_person=1), 0.9).value(codes)
    assert best - 1e-9 <= bound < at_the_root - 0.01
    assert at_the_root < free - 0.01


# ---- against policies ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [bridge, boom_bust])
@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_policies_stay_below(make, discount) -> None:
    world = make()
    states, luck = first_frontiers(world, 300)
    certificates = certify_many(states, exact_index(world, discount), world.response, world.offspring, luck)
    # (.5, 8) and (.7, 8) are about the best rules of this kind in these two worlds.
    for policy in (Threshold(world.response, 0.5, 8), Threshold(world.response, 0.7, 8), RandomSplit()):
        excess = rollout(world, policy, Rules(), luck).discounted_rewards(discount) - certificates.bounds
        assert excess.mean() <= 4 * excess.std() / np.sqrt(len(excess)), policy.name


@pytest.mark.parametrize(
    ("make", "discount", "known"),
    [(bridge, 0.9, 60.9), (bridge, 1.0, 88.1), (boom_bust, 0.9, 68.4), (boom_bust, 1.0, 85)],
)
def test_the_known_price_bounds(make, discount, known) -> None:
    world = make()
    states, luck = first_frontiers(world, 1500)
    found = certify_many(states, exact_index(world, discount), world.response, world.offspring, luck, samples=0)
    assert abs(found.bounds.mean() - known) < 4 * found.bounds.std() / np.sqrt(1500) + 0.1
    assert (found.which[found.bounds < 99.9] == "price").all()


def test_the_price_rule_is_feasible_stays_below_its_bound_and_beats_looking_at_survival_alone() -> None:
    world, discount = bridge(), 0.9
    index = exact_index(world, discount, BoundSettings(price_step=0.03))
    states, luck = first_frontiers(world, 200)
    bounds = certify_many(states, index, world.response, world.offspring, luck, samples=0).bounds
    earned = rollout(world, PriceIndexPolicy(index), Rules(), luck).discounted_rewards(discount)
    rival = rollout(world, Threshold(world.response, 0.5, 8), Rules(), luck).discounted_rewards(discount)
    assert earned.mean() > rival.mean()  # the best rule of its kind here
    assert earned.mean() < bounds.mean()
    capped = Rules(budget=30, people=4, max_per_person=2, max_per_round=5)
    for share in (1.0, 0.5):
        played = rollout(world, PriceIndexPolicy(index, share), capped, named_luck(("capped",), 20))
        assert (played.spend[played.frontier > 0] >= 1).all()


def test_the_price_rule_gives_what_is_worth_its_price() -> None:
    world = bridge()
    index = exact_index(world, 0.9)
    # A Hub alone with plenty: everything worth more than the price, and no coupon beyond.
    state = State(100, Frontier.of(people(2, 3)))
    coupons = PriceIndexPolicy(index).allocate(state, named_luck(("x",), 1)).coupons
    price = smallest_duals(index, one_state(100, people(2, 3)), 50).prices
    worth = world.response.gains(people(2, 3), 100) * (1 + index.child_values(people(2, 3), price, 50))
    assert coupons.tolist() == (worth > price).sum(axis=1).tolist()
    assert coupons[0] > coupons[1]
    # Hopeless people still get one coupon: nothing is gained by giving up.
    hopeless = PriceIndexPolicy(index).allocate(State(1, Frontier.of(people(3, 3))), named_luck(("x",), 1))
    assert hopeless.spend == 1
    assert PriceIndexPolicy(index).allocate(State(0, Frontier.of(people(3))), named_luck(("x",), 1)).spend == 0
    assert isinstance(hopeless, Allocation)


# ---- certificates --------------------------------------------------------------------------------------------------


def test_a_certificate_says_which_bound_and_how_sure() -> None:
    world, luck = bridge(), named_luck(("words",), 1)
    index = exact_index(world, 1.0)
    priced = certify(
        State(100, Frontier.of(people(*[0] * 6))), index, world.response, world.offspring, luck, samples=0, outcomes=0
    )
    assert priced.which == "price"
    assert priced.low == priced.high == priced.bound
    assert f"{priced.price:.2f} recruits each" in priced.explanation
    assert "proved" in priced.explanation
    # Few Bridges at gamma = 1: what can be reached depends on their luck alone.
    seen = certify(State(100, Frontier.of(people(1))), index, world.response, world.offspring, luck)
    assert seen.which == "clairvoyant"
    assert seen.proof == "statistical"
    assert seen.low < seen.bound < seen.high
    assert "knowing in advance" in seen.explanation
    sure = typed_world("sure", {"a": 60.0}, {"a": {"a": 1.0}}, {"a": 1.0})
    rich = certify(State(3, Frontier.of(people(0))), exact_index(sure, 1.0), sure.response, sure.offspring, luck)
    assert rich.which == "budget"
    assert rich.bound == 3.0
    assert rich.proof == "exact"


@pytest.mark.parametrize(
    ("state", "bound"),
    [
        (State(10, Frontier.of(NOBODY)), 0.0),
        (State(0, Frontier.of(people(2))), 0.0),
        (State(10, Frontier.of(people(2)), round=50), 0.0),
        (State(9, Frontier.of(people(2, 2)), rules=Rules(max_per_person=1, rounds=3)), 2 + 0.9 * 2 + 0.81 * 2),
        (State(9, Frontier.of(people(2, 2)), rules=Rules(max_per_round=4)), 4 + 0.9 * 4 + 0.81),
    ],
)
def test_what_the_rules_alone_say(state, bound) -> None:
    world = bridge()
    codes = state.frontier.covariates
    found = budget_bounds(one_state(state.remaining_budget, codes), 0.9, state.rounds_left, Caps.of(state.rules))
    assert found[0] == pytest.approx(bound)
    certificate = certify(state, exact_index(world, 0.9), world.response, world.offspring, named_luck(("r",), 1))
    assert certificate.high <= bound + 1e-9


def test_many_certificates_are_those_of_each_state() -> None:
    world = bridge()
    states, luck = first_frontiers(world, 6)
    index = exact_index(world, 1.0)
    many = certify_many(states, index, world.response, world.offspring, luck, samples=40)
    assert len(many) == 6
    for s in range(6):
        state = State(100, Frontier.of(states.take(np.array([s])).covariates))
        alone = certify(state, index, world.response, world.offspring, luck.row(s), samples=40, outcomes=0)
        assert alone == many.row(s)
    assert many.mean.mean == pytest.approx(many.bounds.mean())


def test_impossible_settings_and_states_are_refused() -> None:
    world = bridge()
    for wrong in ({"largest_budget": 0}, {"prices": 1}, {"max_per_person": 0}, {"seed": -1}):
        with pytest.raises(SettingError, match="whole number"):
            BoundSettings(**wrong)
    for wrong in ({"price_step": 0.0}, {"smallest_price": 0.7}):
        with pytest.raises(SettingError, match="above 0 and below 0.5"):
            BoundSettings(**wrong)
    with pytest.raises(SettingError, match="learning rate"):
        BoundSettings(learning_rate=0.0)
    with pytest.raises(SettingError, match="audit_width"):
        BoundSettings(audit_width=9, audit_children=8)
    with pytest.raises(SettingError, match="discount"):
        exact_index(world, 1.2)
    index = exact_index(world, 0.9, replace(TINY, max_per_person=2))
    with pytest.raises(SettingError, match="at most 8; found 9"):
        smallest_duals(index, one_state(9, people(1)), 50, 2)
    with pytest.raises(SettingError, match="at most 2 coupons a person; the rules allow any number"):
        smallest_duals(index, one_state(8, people(1)), 50)
    with pytest.raises(SettingError, match="every category known"):
        index.values(people(-1), np.array([0.5]))
    with pytest.raises(SettingError, match="4 x 4"):
        fit_price_index(world.response, world.offspring, NOBODY, world.schema, 0.9, transition=np.eye(3))
    with pytest.raises(SettingError, match="table_rows = 0"):
        fit_price_index(
            world.response,
            world.offspring,
            NOBODY,
            world.schema,
            0.9,
            BoundSettings(table_rows=0),
            transition=np.eye(4),
        )
    with pytest.raises(SettingError, match="share of price must be a share"):
        PriceIndexPolicy(index, 1.5)
    assert len(every_row(Schema.of_sizes({"a": 3, "b": 2}))) == 6


def test_a_plan_is_told_how_far_it_can_be_from_the_best() -> None:
    world = bridge()
    state = State(8, Frontier.of(people(0, 1, 2)))
    found = certify(state, exact_index(world, 0.9, TINY), world.response, world.offspring, named_luck(("far",), 1))
    assert found.shortfall(found.high) == 0.0
    assert found.shortfall(0.9 * found.high) == pytest.approx(0.1)
    assert found.shortfall(2 * found.high) == 0.0
    assert "within 10.0% of the best possible" in found.verdict(0.9 * found.high)
