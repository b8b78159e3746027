"""The price bound by samples: never below the exact one beyond chance, and not far above it."""

import numpy as np
import pytest

from bounds.bound_cases import exact_index, people
from peerfront.bounds import dual
from peerfront.bounds.certificate import certify
from peerfront.bounds.dual import sampled_dual, smallest_dual
from peerfront.bounds.price_index import BoundSettings
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Frontier, Rules, State
from peerfront.simulation.catalog import make_world
from peerfront.simulation.typed import boom_bust, bridge

SEEDS = 16


@pytest.mark.parametrize(("world", "types"), [(bridge(), (1, 1, 2)), (boom_bust(), (0, 1, 1))])
@pytest.mark.parametrize(("discount", "rounds"), [(0.9, 4), (1.0, 4), (0.8, 50)])
def test_it_is_not_below_the_exact_price_bound_beyond_chance(world, types, discount, rounds) -> None:
    """The price is chosen by some samples and judged by others, so no seed is systematically too low."""
    state = State(6, Frontier.of(people(*types)), 0, Rules(budget=6, people=3, rounds=rounds))
    index = exact_index(world, discount, BoundSettings(largest_budget=6), rounds)
    exact = smallest_dual(index, state).bound
    found = [
        sampled_dual(state, world.response, world.offspring, discount, named_luck(("s", seed), 1), 10)
        for seed in range(SEEDS)
    ]
    means, errors = (np.array([getattr(each.bound, name) for each in found]) for name in ("mean", "standard_error"))
    z = (means - 0.999 * exact) / np.maximum(errors, 1e-9)
    assert (z > -4.0).all()
    assert z.mean() > -3.0 / np.sqrt(SEEDS)
    assert means.mean() < 1.12 * exact


def test_many_people_are_judged_by_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    world, codes = bridge(), people(*np.random.default_rng(0).integers(0, 4, 1000))
    state = State(1500, Frontier.of(codes), 0, Rules(budget=1500, rounds=3))
    models = world.response, world.offspring, 0.9, named_luck(("many",), 1)
    some = sampled_dual(state, *models, 20).bound
    monkeypatch.setattr(dual, "_PEOPLE", 10_000)
    everybody = sampled_dual(state, *models, 4).bound
    assert abs(some.mean - everybody.mean) < 4 * np.hypot(some.standard_error, everybody.standard_error)
    assert some.standard_error < 0.02 * some.mean


def test_without_an_end_there_is_no_such_bound() -> None:
    world, state = bridge(), State(9, Frontier.of(people(0, 1)))
    assert sampled_dual(state, world.response, world.offspring, 1.0, named_luck(("n",), 1), 4) is None


def test_in_the_papers_world_it_is_the_tightest() -> None:
    world = make_world("icpsr22140")
    codes = world.population(named_luck(("paper",), 10))
    found = certify(State(100, Frontier.of(codes)), world.response, world.offspring, world.schema, 0.9)
    assert (found.which, found.proof) == ("price", "statistical")
    assert found.high < 93.0
    assert found.standard_error < 0.5
