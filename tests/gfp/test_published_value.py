"""GFP's value as the published table was made: two Laplace networks, new parents, ends of episodes in the pool."""

from dataclasses import replace

import numpy as np
import pytest

from peerfront.baselines.simple_rules import RandomSplit
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration
from peerfront.gfp.states import StateBatch, planning_population
from peerfront.gfp.surrogate import LaplaceSettings, PersonInputs, SurrogateSettings
from peerfront.gfp.training import Embeddings
from peerfront.problem import Rules
from peerfront.simulation.catalog import make_world

WORLD, RULES = make_world("boom_bust"), Rules(budget=10, people=3, rounds=6)
PUBLISHED, PAPER = FittedValueIterationSettings.published(), FittedValueIterationSettings.paper()


def test_where_it_differs_from_the_text() -> None:
    assert PUBLISHED.terminal
    assert PUBLISHED.longest_gradient == 10.0
    assert (PUBLISHED.laplace.refresh_steps, PUBLISHED.laplace.target_share) == (200, 0.5)
    assert PUBLISHED.laplace.new_parents
    same = replace(PUBLISHED, terminal=False, longest_gradient=None, laplace=PAPER.laplace)
    assert same == PAPER
    with pytest.raises(SettingError, match="share"):
        LaplaceSettings(target_share=2.0)


def test_a_small_training_runs_and_is_the_same_again() -> None:
    brief = replace(PUBLISHED, iterations=50, states=40, episodes=12)
    first, second = (
        learn_by_fitted_value_iteration(WORLD, RULES, 0.9, [RandomSplit()], brief).planner for _ in range(2)
    )
    assert np.array_equal(first.story.surrogate.weights, second.story.surrogate.weights)
    people = WORLD.population(named_luck(("people",), 5))
    rows = first.story.laplace.inputs.rows(people)
    assert np.array_equal(first.story.laplace.uncovered(rows), second.story.laplace.uncovered(rows))
    other = learn_by_fitted_value_iteration(WORLD, RULES, 0.9, [RandomSplit()], replace(brief, seed=1)).planner
    assert not np.array_equal(first.story.laplace.uncovered(rows), other.story.laplace.uncovered(rows))


def test_both_networks_are_trained_on_with_new_parents() -> None:
    from peerfront.gfp.training import Surrogate

    inputs = PersonInputs.seeing("covariates", WORLD.schema, WORLD.response)
    pool = StateBatch(np.array([5]), np.array([0, 2]), WORLD.population(named_luck(("pool",), 2)))
    settings = replace(LaplaceSettings.published(), parents=20, children=4, steps=10, refresh_steps=10, recruits=30)
    surrogate = Surrogate(inputs, 10, SurrogateSettings.paper(), 0).freeze()
    networks = Embeddings(WORLD, inputs, pool, surrogate.latent, settings, 0)
    rows = inputs.rows(WORLD.population(named_luck(("people",), 30)))
    first, second = networks.follow(surrogate).uncovered(rows), networks.follow(surrogate).uncovered(rows)
    acting, later = networks.to_act_with(surrogate).uncovered(rows), networks.to_act_with(surrogate).uncovered(rows)
    assert not np.array_equal(first, second)
    assert not np.array_equal(second, acting)
    assert not np.array_equal(acting, later)
    once = Embeddings(WORLD, inputs, pool, surrogate.latent, replace(LaplaceSettings.paper(), parents=20), 0)
    assert np.array_equal(once.follow(surrogate).uncovered(rows), once.to_act_with(surrogate).uncovered(rows))


def test_the_planning_population() -> None:
    people = planning_population(WORLD, 30, 50, seed=0)
    assert people.shape == (80, 1)
    assert np.array_equal(planning_population(WORLD, 30, 0, seed=0), people[:30])
