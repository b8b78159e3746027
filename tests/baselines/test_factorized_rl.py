"""Factorized RL: it learns, its three decisions are feasible together, and its heads add up."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from baselines.small_learning import RULES, WORLD, brief, capped_states, clearly_better, earned, untrained
from peerfront.baselines.agents import Frontiers, RandomActions
from peerfront.baselines.factorized_rl import FactorizedAgent, FactorizedRLSettings, fit_factorized_rl
from peerfront.baselines.simple_rules import RandomSplit
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Allocation, Frontier, State, check_feasible

DEFAULT = FactorizedRLSettings()
START = fit_factorized_rl(WORLD, RULES, 0.9, replace(DEFAULT, learning=untrained(DEFAULT.learning)))
LUCK = named_luck(("one",), 1)


def test_it_learns() -> None:
    trained = fit_factorized_rl(WORLD, RULES, 0.9, replace(DEFAULT, learning=brief(DEFAULT.learning)))
    reward = earned(trained)
    assert clearly_better(reward, earned(RandomSplit()), by=2.0)
    assert clearly_better(reward, earned(START), by=2.0)
    assert trained.learning_returns[-60:].mean() > trained.learning_returns[:60].mean() + 1
    # It has learned whom to ask: those who bring nobody (C) come last.
    types = WORLD.schema.fields[0].code_of
    people = np.array([[types["C"]], [types["A"]], [types["B"]]], dtype=np.int16)
    _, _, scores = trained.network(Frontiers.of(WORLD.schema, [State(15, Frontier.of(people), rules=RULES)]))
    assert scores.argmin() == 0


def test_the_same_seed_is_the_same_policy() -> None:
    settings = replace(DEFAULT, learning=brief(DEFAULT.learning, episodes=40, warm_up=20))
    first, second = (fit_factorized_rl(WORLD, RULES, 1.0, settings).network.state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


@given(st.lists(capped_states(), min_size=1, max_size=6), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 12))
def test_actions_are_feasible_exploring_or_not(states, share, most_activated) -> None:
    agent = FactorizedAgent(WORLD.schema, RULES, 8, most_activated, 0.5)
    network = agent.network()
    with torch.no_grad():  # values that rise with the budget tempt it to spend what it may not
        network.budget_head[-1].bias.copy_(100 * torch.arange(RULES.budget + 1.0))
    frontiers = Frontiers.of(WORLD.schema, states)
    random_actions = RandomActions(named_luck(("wander",), len(states)), np.full(len(states), share))
    for action, state in zip(agent.act(network, frontiers, random_actions), states, strict=True):
        check_feasible(Allocation(action.coupons), state, "exploring")
        assert (action.coupons > 0).sum() <= action.support <= min(most_activated, len(state.frontier))
        assert np.isclose(action.weights.sum(), 1.0)
        assert (action.weights > 0).sum() == action.support
    for action, state in zip(agent.act(network, frontiers), states, strict=True):
        activated = min(most_activated, len(state.frontier))
        assert action.coupons.sum() == min(state.spendable, activated * state.most_per_person)


@given(st.lists(capped_states(), min_size=1, max_size=5))
def test_a_target_is_the_value_of_what_would_be_done(states) -> None:
    agent, online = START.agent, START.network
    torch.manual_seed(1)
    other = agent.network()
    frontiers = Frontiers.of(WORLD.schema, states)
    with torch.no_grad():
        actions = agent.act(online, frontiers)
        assert torch.allclose(agent.best_values(online, other, frontiers), agent.values(other, frontiers, actions))
        assert torch.allclose(agent.best_values(online, online, frontiers), agent.values(online, frontiers, actions))


@given(capped_states())
def test_the_heads_add_up(state) -> None:
    agent, network = START.agent, START.network
    frontiers = Frontiers.of(WORLD.schema, [state])
    with torch.no_grad():
        action = agent.act(network, frontiers)[0]
        budgets, supports, scores = network(frontiers)
        total = agent.values(network, frontiers, [action]).item()
    by_hand = budgets[0, action.coupons.sum()] + supports[0, action.support - 1] + scores @ torch.tensor(action.weights)
    assert np.isclose(total, by_hand.item(), atol=1e-6)


@given(capped_states(), st.randoms(use_true_random=False))
def test_the_order_of_people_does_not_matter(state, random) -> None:
    order = list(range(len(state.frontier)))
    random.shuffle(order)
    shuffled = replace(state, frontier=Frontier.of(state.frontier.covariates[order]))
    with torch.no_grad():
        network = START.network
        (b, k, scores), (b2, k2, scores2) = (network(Frontiers.of(WORLD.schema, [s])) for s in (state, shuffled))
    assert torch.allclose(b, b2, atol=1e-6)
    assert torch.allclose(k, k2, atol=1e-6)
    assert torch.allclose(scores[order], scores2, atol=1e-6)


def test_the_best_scores_get_the_coupons_in_proportion() -> None:
    agent = FactorizedAgent(WORLD.schema, RULES, 8, 10, 1.0)
    network = agent.network()
    types = WORLD.schema.fields[0].code_of
    people = np.array([[types["C"]], [types["B"]], [types["A"]]], dtype=np.int16)
    with torch.no_grad():
        for weights in network.parameters():
            weights.zero_()
        network.budget_head[-1].bias[9] = 1.0  # nine coupons ...
        network.support_head[-1].bias[1] = 1.0  # ... to two people ...
        # ... with scores of log 2 for A, 0 for B and less for C, carried through one unit of each layer.
        carried, shift = torch.tensor([np.log(2.0), 0.0, -1.0]), 2.0
        network.encoder.person_network[0].weight[0] = carried + shift
        network.encoder.person_network[2].weight[0, 0] = 1.0
        for layer in (0, 2, 4):
            network.score_head[layer].weight[0, 0] = 1.0
        action = agent.act(network, Frontiers.of(WORLD.schema, [State(15, Frontier.of(people), rules=RULES)]))[0]
    assert [types[name] for name in "ABC"] == [0, 1, 2]
    assert action.coupons.tolist() == [0, 3, 6]
    assert action.support == 2
    assert np.allclose(action.weights, [0, 1 / 3, 2 / 3])


def test_settings() -> None:
    paper = FactorizedRLSettings.paper()
    assert paper.most_activated == 10
    assert np.allclose(paper.learning.exploration.shares(500)[[0, -1]], [0.2, 0.05])
    with pytest.raises(SettingError, match="most activated"):
        FactorizedRLSettings(most_activated=0)
    with pytest.raises(SettingError, match="temperature must be a number of at least 1e-06"):
        FactorizedRLSettings(temperature=0.0)
