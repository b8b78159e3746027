"""Budget-DQN: it learns, its budgets are feasible, and coupons go where they are most likely used."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from baselines.small_learning import RULES, WORLD, brief, capped_states, clearly_better, earned, untrained
from peerfront.baselines.agents import Frontiers, RandomActions
from peerfront.baselines.budget_dqn import BudgetDQNSettings, fit_budget_dqn
from peerfront.baselines.q_learning import Exploration, QLearningSettings
from peerfront.baselines.simple_rules import RandomSplit
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Allocation, Frontier, State, check_feasible
from peerfront.simulation.catalog import make_world

DEFAULT = BudgetDQNSettings()
START = fit_budget_dqn(WORLD, RULES, 0.9, BudgetDQNSettings(untrained(DEFAULT.learning)))


@pytest.fixture(scope="module")
def trained():
    return fit_budget_dqn(WORLD, RULES, 0.9, BudgetDQNSettings(brief(DEFAULT.learning)))


def test_it_learns(trained) -> None:
    reward = earned(trained)
    assert clearly_better(reward, earned(RandomSplit()), by=4.0)
    assert clearly_better(reward, earned(START), by=0.5)


def test_returns_grow_while_it_learns(trained) -> None:
    returns = trained.learning_returns
    assert returns.shape == (300,)
    assert returns[-60:].mean() > returns[:60].mean() + 1


def test_the_same_seed_is_the_same_policy_whatever_else_is_random() -> None:
    settings = [BudgetDQNSettings(brief(DEFAULT.learning, episodes=60, warm_up=20, seed=seed)) for seed in (3, 3, 4)]
    fits = []
    for number, chosen in enumerate(settings):
        torch.manual_seed(number)
        before = torch.get_rng_state()
        fits.append(fit_budget_dqn(WORLD, RULES, 0.9, chosen))
        assert torch.equal(before, torch.get_rng_state())  # and nobody else's luck is touched
    weights = [torch.cat([p.flatten() for p in fit.network.parameters()]) for fit in fits]
    assert torch.equal(weights[0], weights[1])
    assert np.array_equal(fits[0].learning_returns, fits[1].learning_returns)
    assert not torch.equal(weights[0], weights[2])


@given(st.lists(capped_states(), min_size=1, max_size=6), st.sampled_from([0.0, 0.5, 1.0]))
def test_actions_are_feasible_exploring_or_not(states, share) -> None:
    frontiers = Frontiers.of(WORLD.schema, states)
    random_actions = RandomActions(named_luck(("wander",), len(states)), np.full(len(states), share))
    agent, network = START.agent, START.network
    # Values that rise with the budget tempt it to spend what it may not.
    with torch.no_grad():
        tempting = network(frontiers)
    for action, state in zip(agent.act(network, frontiers, random_actions), states, strict=True):
        check_feasible(Allocation(action.coupons), state, "exploring")
    for row, state in zip(tempting, states, strict=True):
        assert torch.isfinite(row[: state.spendable + 1]).all()
        assert (row[state.spendable + 1 :] == -torch.inf).all()
    for allocation, state in zip(START.allocate_many(states, []), states, strict=True):
        check_feasible(allocation, state, "greedy")


@given(capped_states())
def test_what_may_not_be_spent_is_worth_nothing_in_a_target(state) -> None:
    policy = START
    frontiers = Frontiers.of(WORLD.schema, [state])
    tempted = policy.agent.network()
    with torch.no_grad():
        for weights in tempted.parameters():
            weights.zero_()
        tempted.budget_head[-1].bias.copy_(torch.arange(RULES.budget + 1.0))  # Q(b) = b
        assert policy.agent.best_values(tempted, tempted, frontiers).item() == state.spendable
        # With two networks one chooses and the other values what was chosen.
        flat = policy.agent.network()
        for weights in flat.parameters():
            weights.zero_()
        flat.budget_head[-1].bias.copy_(-torch.arange(RULES.budget + 1.0))
        assert policy.agent.best_values(tempted, flat, frontiers).item() == -state.spendable
        assert policy.agent.best_values(flat, tempted, frontiers).item() == 0.0


@given(capped_states(), st.randoms(use_true_random=False))
def test_the_order_of_people_does_not_matter(state, random) -> None:
    order = list(range(len(state.frontier)))
    random.shuffle(order)
    shuffled = replace(state, frontier=Frontier.of(state.frontier.covariates[order]))
    with torch.no_grad():
        values = START.network(Frontiers.of(WORLD.schema, [state, shuffled]))
    assert torch.allclose(values[0], values[1], atol=1e-6)


def test_coupons_go_where_they_are_most_likely_used(trained) -> None:
    types = WORLD.schema.fields[0].code_of
    people = np.array([[types["C"]], [types["B"]], [types["A"]]], dtype=np.int16)
    given = trained.allocate(State(15, Frontier.of(people), rules=RULES), named_luck(("one",), 1)).coupons
    assert given[2] > given[1] >= given[0]
    capped = replace(RULES, max_per_person=2)
    with torch.no_grad():
        network = trained.agent.network()
        network.budget_head[-1].bias.copy_(1e3 * torch.arange(RULES.budget + 1.0))  # spends all it may
    spendthrift = replace(trained, network=network)
    assert spendthrift.allocate(
        State(5, Frontier.of(people), rules=capped), named_luck(("one",), 1)
    ).coupons.tolist() == [1, 2, 2]


def test_many_states_are_answered_like_one(trained) -> None:
    people = WORLD.population(named_luck(("people",), 24))
    states = [State(b, Frontier.of(people[b : 2 * b]), rules=RULES) for b in (2, 5, 9, 12)]
    together = trained.allocate_many(states, [])
    for state, allocation in zip(states, together, strict=True):
        assert np.array_equal(trained.allocate(state, named_luck(("one",), 1)).coupons, allocation.coupons)


def test_what_it_was_not_trained_for_is_refused() -> None:
    frontier = Frontier.of(WORLD.population(named_luck(("people",), 2)))
    with pytest.raises(SettingError, match="budgets of at most 15; found 16"):
        START.allocate(State(16, frontier), named_luck(("one",), 1))
    strangers = Frontier.of(make_world("icpsr22140").population(named_luck(("people",), 2)))
    with pytest.raises(SettingError, match="do not fit a schema"):
        START.allocate(State(3, strangers), named_luck(("one",), 1))
    with pytest.raises(SettingError, match="nothing to learn from"):
        fit_budget_dqn(WORLD, replace(RULES, people=0), 0.9)
    with pytest.raises(SettingError, match="discount"):
        fit_budget_dqn(WORLD, RULES, 1.2)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("episodes", 0, "episodes must be a whole number of at least 1; found 0"),
        ("batch", 2.5, "batch"),
        ("warm_up", -1, "warm up"),
        ("learning_rate", 0.0, "learning rate must be a number above 0"),
        ("follow", 2, "follow must be a number above 0"),
    ],
)
def test_impossible_settings_are_refused(setting, value, message) -> None:
    with pytest.raises(SettingError, match=message):
        QLearningSettings(**{setting: value})


def test_exploration() -> None:
    assert np.allclose(Exploration(0.2, 0.05).shares(4), [0.2, 0.15, 0.1, 0.05])
    assert np.allclose(Exploration(1.0, 0.3, decay=0.5).shares(4), [1.0, 0.5, 0.3, 0.3])
    with pytest.raises(SettingError, match="between 0 and 1; found 1.5"):
        Exploration(1.5, 0.0)
    with pytest.raises(SettingError, match="decay"):
        Exploration(1.0, 0.0, decay=1.01)
    paper = BudgetDQNSettings.paper().learning
    assert (paper.episodes, paper.replay, paper.batch, paper.hidden, paper.learning_rate) == (500, 10_000, 32, 64, 1e-3)
    assert np.allclose(paper.exploration.shares(500)[[0, -1]], [0.2, 0.05])
