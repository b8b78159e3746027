"""The exact optimum: right where it can be counted by hand, and above every policy."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom, binom

from peerfront.baselines.population_dp import fit_population_dp
from peerfront.baselines.simple_rules import Constant, RandomSplit, Threshold
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Crowd, Rules, rollout
from peerfront.simulation.coupon_stories import CouponStory
from peerfront.simulation.typed import TypedCapacity, TypedWorld, boom_bust, bridge, typed_world
from simulation.exact import exact_value, solve
from support import Scripted, two_types, within


def people(*types: int) -> np.ndarray:
    return np.array(types, dtype=np.int16).reshape(-1, 1)


def plain_counts(world: TypedWorld, person_type: int, coupons: int) -> list[float]:
    """P(N(k) = y) for y = 0 .. k: every number of usable coupons, every number of them that are used."""
    response = world.response
    survival = [1.0, *response.survival(people(person_type), coupons)[0], 0.0]
    usable = -np.diff(survival)
    if isinstance(response, TypedCapacity):
        return usable.tolist()
    mean = response.mean_chances(people(person_type))[0]
    size = 1.0 / max(response.spread, 1e-9) - 1.0
    uses = [
        binom(n, mean) if response.spread == 0.0 else betabinom(n, max(mean, 1e-12) * size, (1 - mean) * size)
        for n in range(coupons + 1)
    ]
    return [sum(usable[n] * uses[n].pmf(y) for n in range(y, coupons + 1)) for y in range(coupons + 1)]


def plain_optimum(
    world: TypedWorld, budget: int, types: tuple[int, ...], discount: float, rules: Rules, played: int = 0
) -> float:
    """By definition: every allocation, every outcome of every person, one at a time."""
    if not budget or not types or played == rules.rounds:
        return 0.0
    most = min(budget, rules.max_per_person or budget)
    best = 0.0
    for coupons in product(range(most + 1), repeat=len(types)):
        if not 0 < sum(coupons) <= min(budget, rules.max_per_round or budget):
            continue
        outcomes: list[tuple[float, tuple[int, ...]]] = [(1.0, ())]
        for t, k in zip(types, coupons, strict=True):
            brings = plain_counts(world, t, k)
            grown = []
            for n in range(k + 1):
                for children in product(range(len(world.rates)), repeat=n):
                    chance = brings[n] * np.prod([world.transition[t, c] for c in children])
                    grown += [(p * chance, (*sofar, *children)) for p, sofar in outcomes if p * chance > 0]
            outcomes = grown
        value = sum(
            p * (len(kids) + discount * plain_optimum(world, budget - sum(coupons), kids, discount, rules, played + 1))
            for p, kids in outcomes
        )
        best = max(best, value)
    return best


@settings(max_examples=12)
@given(
    st.lists(st.floats(0.0, 4.0), min_size=2, max_size=2),
    st.lists(st.floats(0.05, 0.95), min_size=2, max_size=2),
    st.lists(st.integers(0, 1), min_size=0, max_size=3),
    st.sampled_from([0.5, 0.9, 1.0]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, 2]),
    st.sampled_from([1, 2, 50]),
)
def test_equals_the_definition(rates, shares, types, discount, per_person, per_round, rounds) -> None:
    world = two_types(rates, shares)
    rules = Rules(budget=3, rounds=rounds, max_per_person=per_person, max_per_round=per_round)
    found = solve(world, rules, discount).value(people(*types))
    assert found == pytest.approx(plain_optimum(world, 3, tuple(sorted(types)), discount, rules), abs=1e-9)


@settings(max_examples=12)
@given(
    st.lists(st.floats(0.05, 3.0), min_size=2, max_size=2),
    st.sampled_from(
        [
            CouponStory("per_coupon"),
            CouponStory("per_coupon", match=1, spread=0.3),
            CouponStory("per_coupon", chance=0.4, spread=0.6),
            CouponStory("both"),
            CouponStory("both", chance=0.3, spread=0.2),
        ]
    ),
    st.lists(st.integers(0, 1), min_size=0, max_size=3),
    st.sampled_from([np.inf, 0.7]),
    st.sampled_from([1, 2, 50]),
)
def test_equals_the_definition_whatever_a_coupon_does(rates, story, types, size, rounds) -> None:
    recruits = {"a": {"a": 0.3, "b": 0.7}, "b": {"a": 0.6, "b": 0.4}}
    world = typed_world("two", {"a": rates[0], "b": rates[1]}, recruits, {"a": 1.0}, story, size)
    rules = Rules(budget=3, rounds=rounds)
    found = solve(world, rules, 0.9).value(people(*types))
    assert found == pytest.approx(plain_optimum(world, 3, tuple(sorted(types)), 0.9, rules), abs=1e-9)


@pytest.mark.parametrize(("discount", "expected"), [(0.9, 5.8925), (1.0, 6.0137)])
def test_the_known_optimum_of_the_tiny_bridge(discount, expected) -> None:
    world = bridge()
    optimum = solve(world, Rules(budget=8, people=3), discount)
    mean = sum(
        float(np.prod(world.start[list(types)])) * optimum.value(people(*types))
        for types in product(range(4), repeat=3)
    )
    assert mean == pytest.approx(expected, abs=5e-5)


def test_more_of_anything_never_hurts() -> None:
    optimum = solve(boom_bust(), Rules(budget=6), 0.9)
    assert (np.diff(optimum.values, axis=0) >= -1e-12).all()  # rounds
    assert (np.diff(optimum.values, axis=1) >= -1e-12).all()  # coupons
    assert all((np.diff(optimum.values, axis=2 + t) >= -1e-12).all() for t in range(3))  # people
    assert optimum.value(people(1, 1), rounds_left=1) < optimum.value(people(1, 1), rounds_left=2)
    assert optimum.value(people(1), remaining_budget=2) < optimum.value(people(1))
    assert optimum.value(people()) == 0.0
    assert optimum.value(people(*[0] * 9)) == optimum.value(people(*[0] * 6))
    with pytest.raises(ValueError, match="at most 8"):
        solve(boom_bust(), Rules(budget=9), 0.9)
    with pytest.raises(ValueError, match="solved for 0 to 6 coupons; asked for 7"):
        optimum.value(people(1), remaining_budget=7)


@pytest.mark.parametrize("make", [boom_bust, bridge])
@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_no_policy_earns_more(make, discount) -> None:
    world, rules = make(), Rules(budget=6, people=3)
    optimum = solve(world, rules, discount)
    rng = np.random.default_rng(0)
    policies = [
        Constant(1),
        Constant(3),
        Threshold(world.response, 0.8, 2),
        Threshold(world.response, 0.99, 1),
        fit_population_dp(world.response, world.population(named_luck(("p",), 200)), rules, discount),
        Scripted(lambda s: [s.remaining_budget, *[0] * (len(s.frontier) - 1)], "all on the first"),
    ]
    for types in [(0, 1, 2), (0, 0, 1), (1, 1, 1), tuple(rng.integers(0, 3, 3))]:
        frontier = people(*sorted(types))
        best = optimum.value(frontier)
        for policy in policies:
            assert exact_value(world, policy, rules, discount, frontier) <= best + 1e-9, policy.name


@pytest.mark.parametrize("policy", [Threshold(bridge().response, 0.5, 2), RandomSplit()], ids=["threshold", "random"])
def test_simulation_agrees_with_the_exact_value_and_stays_below(policy) -> None:
    world, rules, discount = bridge(), Rules(budget=8, people=3), 0.9
    frontier = people(0, 1, 2)
    luck = named_luck(("exact simulation",), 4000)
    start = Crowd(
        np.repeat(np.arange(4000), 3),
        luck.members(np.zeros(4000, dtype=int)).keys.repeat(3) + np.tile(np.arange(3, dtype=np.uint64), 4000),
        np.tile(frontier, (4000, 1)),
    )
    rewards = rollout(world, policy, rules, luck, start=start).discounted_rewards(discount)
    if isinstance(policy, Threshold):  # which treats people of a type alike, whatever their order
        assert within(rewards, exact_value(world, policy, rules, discount, frontier))
    optimum = solve(world, rules, discount).value(frontier)
    assert rewards.mean() <= optimum + 4 * rewards.std() / np.sqrt(4000)


def test_an_empty_frontier_is_worth_nothing() -> None:
    assert exact_value(bridge(), Constant(1), Rules(budget=3), 0.9, people()) == 0.0
