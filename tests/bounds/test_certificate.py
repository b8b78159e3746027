"""The certificate: above the exact optimum wherever that is known, above every policy, and tight where it can be."""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bounds.bound_cases import NOBODY, TINY, certified, exact_index, first_frontiers, one_state, people
from peerfront.baselines.simple_rules import RandomSplit, Threshold
from peerfront.bounds import dual
from peerfront.bounds.certificate import SHARED, Certificate, Concave, certify, certify_by_story, mean_bound
from peerfront.bounds.clairvoyant import budget_bound
from peerfront.bounds.dual import PriceIndexPolicy, smallest_dual, smallest_duals
from peerfront.bounds.price_index import BoundSettings
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.problem import Allocation, Frontier, OffspringModel, Rules, State, rollout
from peerfront.simulation.typed import TypedWorld, boom_bust, bridge, typed_world
from problem.given_responses import GivenResponse
from simulation.exact import solve
from support import two_types


class Sampled:
    """Whom people bring, by samples alone: nothing says that fields are inherited one by one."""

    def __init__(self, offspring: OffspringModel) -> None:
        self.sample = offspring.sample


def models(world: TypedWorld, exact: bool = True) -> tuple:
    """With `exact` the certificate has a table of prices, otherwise it has not."""
    return world.response, world.offspring if exact else Sampled(world.offspring), world.schema


def certificates(world, discount: float, count: int, **effort: int) -> tuple[list[Certificate], Luck]:
    """Certificates of the first frontiers of some episodes."""
    states, luck = first_frontiers(world, count)
    index = exact_index(world, discount)
    frontiers = [Frontier.of(states.covariates[states.first[s] : states.first[s + 1]]) for s in range(count)]
    return [
        certified(State(100, frontier), world, discount, luck.row(s), index=index, **effort)
        for s, frontier in enumerate(frontiers)
    ], luck


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


@settings(max_examples=25, deadline=None)
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
    index = exact_index(world, discount, chosen, rounds)
    state, luck = State(budget, Frontier.of(people(*types)), 0, rules), named_luck(("any",), 1)
    found = certified(state, world, discount, luck, index=index, trees=0)
    assert found.proof == "exact"
    assert found.standard_error == 0.0
    assert found.bound >= best - 1e-9
    sampled = certified(state, world, discount, luck, index=index, trees=0, outcomes=100)
    assert sampled.bound >= best - 5 * sampled.standard_error - 0.01
    assert sampled.proof == ("statistical" if sampled.which == "lookahead" else "exact")


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("discount", [0.9, 1.0])
@pytest.mark.parametrize(("rounds", "cap"), [(1, None), (2, None), (4, None), (3, 3)])
def test_no_certificate_is_below_the_optimum_beyond_chance(discount, rounds, cap, exact) -> None:
    world, codes = bridge(), people(0, 1, 2)
    rules = Rules(budget=6, people=3, rounds=rounds, max_per_round=cap)
    best = solve(world, rules, discount).value(codes)
    state = State(6, Frontier.of(codes), 0, rules)
    found = [certify(state, *models(world, exact), discount, seed) for seed in range(6)]
    errors = np.array([(each.bound - best) / max(each.standard_error, 1e-9) for each in found])
    assert (errors > -4.0).all()
    assert errors.mean() > -1.3
    assert all(each.high <= each.budget_bound for each in found)
    if rounds == 1:
        assert {each.proof for each in found} == {"exact"}
    elif not exact:
        assert "lookahead" not in {each.which for each in found}


@pytest.mark.parametrize("outcomes", [0, 600])
def test_looking_ahead_halves_the_slack_of_a_state_that_depends_on_one_person(outcomes) -> None:
    world, codes, rules = bridge(), people(0, 1, 1), Rules(budget=6, people=3, rounds=5)
    best = solve(world, rules, 1.0).value(codes)
    state, luck = State(6, Frontier.of(codes), 0, rules), named_luck(("ahead",), 1)
    index = exact_index(world, 1.0, BoundSettings(largest_budget=6), 5)
    price = smallest_dual(index, state).bound
    found = certified(state, world, 1.0, luck, index=index, outcomes=outcomes)
    assert found == certified(state, world, 1.0, luck, index=index, outcomes=outcomes)
    if outcomes:
        assert found.which == "lookahead"
        assert found.standard_error > 0.0
        assert best - 4 * found.standard_error < found.bound < best + 0.5 * (price - best)
    else:
        assert found.which != "lookahead"


@pytest.mark.parametrize(("world", "types"), [(bridge(), (1, 1, 2)), (boom_bust(), (0, 1, 1))])
@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_the_dual_of_one_state_is_that_of_many_at_the_prices_of_the_grid(world, types, discount) -> None:
    codes, rules = people(*types), Rules(budget=6, people=3, rounds=4)
    index = exact_index(world, discount, BoundSettings(largest_budget=6), 4)
    finest = smallest_duals(index, one_state(6, codes), 4).bounds[0]
    found = smallest_dual(index, State(6, Frontier.of(codes), 0, rules))
    assert finest - 1e-9 <= found.bound < 1.001 * finest


@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_a_limit_of_this_round_is_priced_as_if_every_pair_of_prices_were_tried(monkeypatch, discount) -> None:
    codes, rules = people(0, 0, 1, 1, 2), Rules(budget=9, people=5, rounds=4, max_per_round=3)
    state = State(9, Frontier.of(codes), 0, rules)
    index = exact_index(bridge(), discount, BoundSettings(largest_budget=9), 4)
    some, free = smallest_dual(index, state), smallest_dual(index, replace(state, rules=Rules(rounds=4)))
    monkeypatch.setattr(dual, "_CAPPED_PRICES", 10_000)
    every = smallest_dual(index, state)
    assert every.bound <= some.bound < 1.0001 * every.bound
    assert some.bound < 0.99 * free.bound


@pytest.mark.parametrize("limit", [None, 1500])
def test_people_counted_by_kind_have_the_bound_they_have_one_by_one(monkeypatch, limit) -> None:
    codes = people(*np.random.default_rng(1).integers(0, 4, 1200))
    state = State(2000, Frontier.of(codes), 0, Rules(budget=2000, rounds=3, max_per_round=limit))
    index = exact_index(bridge(), 0.9, BoundSettings(largest_budget=2000), 3)
    counted = smallest_dual(index, state)
    monkeypatch.setattr(dual, "_COUNTED_BY_KIND", 10_000)
    listed = smallest_dual(index, state)
    assert counted.bound == pytest.approx(listed.bound, rel=1e-12)
    assert counted.price == listed.price


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
    found, luck = certificates(world, discount, 200, trees=10)
    bounds = np.array([each.bound for each in found])
    # (.5, 8) and (.7, 8) are about the best rules of this kind in these two worlds.
    for policy in (Threshold(world.response, 0.5, 8), Threshold(world.response, 0.7, 8), RandomSplit()):
        excess = rollout(world, policy, Rules(), luck).discounted_rewards(discount) - bounds
        assert excess.mean() <= 4 * excess.std() / np.sqrt(len(excess)), policy.name


@pytest.mark.parametrize(
    ("make", "discount", "published"),
    [(bridge, 0.9, 60.9), (bridge, 1.0, 88.1), (boom_bust, 0.9, 68.4), (boom_bust, 1.0, 84.9)],
)
def test_the_published_price_bounds(make, discount, published) -> None:
    found, _ = certificates(make(), discount, 600, trees=0)
    bounds = np.array([each.bound for each in found])
    assert abs(bounds.mean() - published) < 4 * bounds.std() / np.sqrt(600) + 0.1
    assert {each.which for each in found if each.bound < 99.9} == {"price"}


@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_trees_that_look_better_by_chance_do_not_loosen_the_bound(discount) -> None:
    """Few trees are noise; where the price bound is exact, growing some must not make the report worse."""
    alone, _ = certificates(bridge(), discount, 150, trees=0)
    both, _ = certificates(bridge(), discount, 150, trees=10)
    found = mean_bound(both)
    assert found.mean <= mean_bound(alone).mean + 2 * found.standard_error


def test_the_price_rule_is_feasible_stays_below_its_bound_and_beats_looking_at_survival_alone() -> None:
    world, discount = bridge(), 0.9
    index = exact_index(world, discount, BoundSettings(price_step=0.03))
    states, luck = first_frontiers(world, 200)
    bounds = smallest_duals(index, states).bounds
    earned = rollout(world, PriceIndexPolicy(index), Rules(), luck).discounted_rewards(discount)
    rival = rollout(world, Threshold(world.response, 0.5, 8), Rules(), luck).discounted_rewards(discount)
    assert earned.mean() > rival.mean()  # the best rule of its kind here
    assert earned.mean() < bounds.mean()
    capped = Rules(budget=30, people=4, max_per_person=2, max_per_round=5)
    played = rollout(world, PriceIndexPolicy(index), capped, named_luck(("capped",), 20))
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
    priced = certified(State(100, Frontier.of(people(*[0] * 6))), world, 1.0, luck, index=index, trees=0)
    assert priced.which == "price"
    assert priced.low == priced.high == priced.bound
    assert 0.0 < priced.price < 1.0
    # Few Bridges at gamma = 1: what can be reached depends on their luck alone.
    seen = certified(State(100, Frontier.of(people(1))), world, 1.0, luck, index=index)
    assert seen.which == "clairvoyant"
    assert seen.proof == "statistical"
    assert seen.low < seen.bound < seen.high
    sure = typed_world("sure", {"a": 60.0}, {"a": {"a": 1.0}}, {"a": 1.0})
    rich = certify(State(3, Frontier.of(people(0))), sure.response, sure.offspring, sure.schema, 1.0)
    assert (rich.which, rich.bound, rich.proof) == ("budget", 3.0, "exact")


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
    assert budget_bound(state, 0.9) == pytest.approx(bound)
    certificate = certify(state, *models(world), 0.9)
    assert certificate.high <= bound + 1e-9


def test_each_story_has_its_certificate_and_an_ended_study_none() -> None:
    world, rules = bridge(), Rules(budget=6, people=3, rounds=3)
    fewer = replace(world.response, type_rates=0.5 * world.response.type_rates)
    responses = {"capacity": [world.response], "other": [fewer], "unsure": [world.response, fewer]}
    state = State(6, Frontier.of(people(0, 1, 2)), 0, rules)
    found = certify_by_story(responses, world.offspring, world.schema, 0.9, state)
    assert list(found) == ["capacity", "other", "unsure"]
    assert found["capacity"] == certify(state, *models(world), 0.9, effort=SHARED)
    assert found["unsure"].bound == pytest.approx((found["capacity"].bound + found["other"].bound) / 2)
    assert found["other"].bound < found["unsure"].bound < found["capacity"].bound
    assert certify_by_story(responses, world.offspring, world.schema, 0.9, replace(state, round=3)) == {}


def test_a_mean_is_as_sure_as_the_least_sure_of_its_draws() -> None:
    """With a coupon that is surely used the budget is the bound; for everybody else chance is left in it."""
    sure = typed_world("sure", {"a": 60.0}, {"a": {"a": 1.0}}, {"a": 1.0})
    unsure = replace(sure.response, type_rates=0.02 * sure.response.type_rates)
    state = State(3, Frontier.of(people(0)))
    by_order = [
        certify_by_story({"x": draws}, sure.offspring, sure.schema, 1.0, state)["x"]
        for draws in ([sure.response, unsure], [unsure, sure.response])
    ]
    alone = certify_by_story({"x": [sure.response]}, sure.offspring, sure.schema, 1.0, state)["x"]
    assert alone.proof == "exact"
    assert by_order[0] == by_order[1]
    assert (by_order[0].proof == "exact") == (by_order[0].standard_error == 0.0)


def test_the_bound_of_rising_gains_is_that_of_their_majorant() -> None:
    """Three coupons bring somebody for sure, fewer nobody: a coupon alone counts as a third of it."""
    rising = GivenResponse(np.array([[0.0, 0.0, 1.0]]))
    concave = Concave(rising)
    assert concave.rises(rising.everybody, 3)
    assert not Concave(GivenResponse(np.array([[0.5, 0.4, 0.1]]))).rises(rising.everybody, 3)
    assert concave.gains(rising.everybody, 3) == pytest.approx(np.full((1, 3), 1 / 3))


def test_impossible_settings_and_states_are_refused() -> None:
    world = bridge()
    for wrong in ({"largest_budget": 0}, {"max_per_person": 0}):
        with pytest.raises(SettingError, match="whole number"):
            BoundSettings(**wrong)
    for wrong in ({"price_step": 0.0}, {"smallest_price": 0.7}):
        with pytest.raises(SettingError, match="above 0 and below 0.5"):
            BoundSettings(**wrong)
    with pytest.raises(SettingError, match="discount"):
        exact_index(world, 1.2)
    index = exact_index(world, 0.9, replace(TINY, max_per_person=2))
    with pytest.raises(SettingError, match="at most 8; found 9"):
        smallest_duals(index, one_state(9, people(1)), 50, 2)
    with pytest.raises(SettingError, match="at most 2 coupons a person; the rules allow any number"):
        smallest_duals(index, one_state(8, people(1)), 50)
