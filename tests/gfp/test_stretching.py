"""A value learned for few people and stretched to many: n times as much, and as good as one learned for many."""

import numpy as np
import pytest

from peerfront.baselines.simple_rules import AllAtLast, Evenly, Threshold
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.stored import Stored
from peerfront.gfp.learning import earned, smaller_problem, stretched
from peerfront.gfp.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration
from peerfront.gfp.surrogate import FrozenSurrogate, LaplaceSettings, SurrogateSettings, learned_networks
from peerfront.problem import Frontier, Rules, State
from peerfront.simulation.typed import bridge

WORLD = bridge()
QUICK = PolicyIterationSettings(
    rounds=1,
    episodes=40,
    states=150,
    returns=2,
    steps=200,
    judged_episodes=40,
    laplace=LaplaceSettings(parents=100, children=16, steps=150, refresh_steps=40),
    surrogate=SurrogateSettings(deadline=True),
)


def learned_for(budget: int, people: int):
    rules = Rules(budget=budget, people=people, rounds=4)
    start = [
        AllAtLast(WORLD.response, Threshold(WORLD.response, 0.3, max(1, budget // 10))),
        Evenly(WORLD.response),
    ]
    return learn_by_policy_iteration(WORLD, rules, 0.9, start, QUICK).planner


@pytest.fixture(scope="module")
def small():
    return learned_for(40, 20)


def test_a_value_stretched_n_times_is_n_times_the_value_of_the_same_people_n_times(small) -> None:
    codes = WORLD.seeds(named_luck(("stretched",), 1), 20).covariates
    surrogate, laplace = learned_networks(small.story)
    large, wide = learned_networks(stretched(small, 120).story)
    rows = surrogate.inputs.rows(codes)
    for budget, left in ((40, 4), (25, 2), (0, 3), (40, 0)):
        arguments = (np.array([3 * budget]), np.tile(rows, (3, 1)), np.array([0, 60]), np.array([left]))
        once = surrogate.values(np.array([budget]), rows, np.array([0, 20]), np.array([left]))
        np.testing.assert_allclose(large.values(*arguments), 3 * once, rtol=1e-6)
    np.testing.assert_allclose(wide.uncovered(rows) ** 3, laplace.uncovered(rows), rtol=1e-6)
    assert (large.weights.sum(axis=-1) <= np.arange(121) + 1e-9).all()
    plan = small.plan(State(40, Frontier.of(codes), 0, Rules(budget=40, people=20, rounds=4)))
    many = State(120, Frontier.of(np.tile(codes, (3, 1))), 0, Rules(budget=120, people=60, rounds=4))
    assert 3 * plan.value - 1e-6 <= stretched(small, 120).plan(many).value < 3.1 * plan.value


def test_a_stretched_value_plans_as_well_as_one_learned_for_so_many(small) -> None:
    rules, luck = Rules(budget=160, people=80, rounds=4), named_luck(("compared",), 60)
    by_few, by_many = (earned(WORLD, each, rules, 0.9, luck) for each in (stretched(small, 160), learned_for(160, 80)))
    gained = by_few - by_many
    assert gained.mean() > -0.02 * by_many.mean() - 3 * gained.std() / np.sqrt(60)


def test_only_problems_too_large_to_simulate_are_made_smaller() -> None:
    usual = Rules(budget=10_000, people=10_000)
    assert smaller_problem(usual) is usual
    few = Rules(budget=1_000_000, people=20)  # a twentieth of a person cannot be simulated
    assert smaller_problem(few) is few
    capped = smaller_problem(Rules(budget=40_000, people=20_000, max_per_person=3, max_per_round=8_000))
    assert (capped.budget, capped.people, capped.max_per_person, capped.max_per_round) == (1_000, 500, 3, 200)


def test_a_stretched_value_is_saved_and_others_are_saved_as_before(small) -> None:
    surrogate, _ = learned_networks(small.story)
    assert "stretch" not in surrogate.stored().settings
    large, wide = learned_networks(stretched(small, 100).story)
    again = FrozenSurrogate.restored(large.stored(), WORLD.schema, WORLD.response)
    assert again.stretch == large.stretch == wide.stretch == 2.5
    for wrong in (0.5, float("inf"), float("nan")):
        stored = large.stored()
        bad = Stored({**stored.settings, "stretch": wrong}, stored.arrays)
        with pytest.raises(DataFileError, match="'stretch' is .* expected at least 1"):
            FrozenSurrogate.restored(bad, WORLD.schema, WORLD.response)
    with pytest.raises(SettingError, match="cannot be stretched to 30"):
        stretched(small, 30)
    assert learned_networks(stretched(stretched(small, 80), 160).story)[0].stretch == 4.0
