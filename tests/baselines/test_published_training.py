"""The baselines as the published table was made: the random split, three errors, and settings unlike the text's."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from baselines.small_learning import RULES, WORLD, capped_states, earned
from peerfront.baselines.agents import Action, FrontierEncoder, Frontiers, RandomActions
from peerfront.baselines.budget_dqn import BudgetAgent, BudgetDQNSettings, fit_budget_dqn, split_by_predictions
from peerfront.baselines.factorized_rl import (
    FactorizedRLSettings,
    SeparateHeadsAgent,
    fit_factorized_rl,
    one_coupon_futures,
    separate_losses,
)
from peerfront.baselines.q_learning import Transition
from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.problem import Allocation, Frontier, State, check_feasible
from peerfront.simulation.catalog import make_world


def _split_in_words(predicted: list[int], budget: int, most: int) -> list[int]:
    """The rule, one coupon at a time."""
    given = [0] * len(predicted)
    order = sorted(range(len(predicted)), key=lambda i: -predicted[i])
    for i in order:
        while budget and given[i] < min(predicted[i], most):
            given[i] += 1
            budget -= 1
    for i in order:
        if budget and given[i] < most:
            given[i] += 1
            budget -= 1
    return given


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(0, 100), st.integers(1, 100))
def test_the_split_by_predictions(predicted, budget, most) -> None:
    given = split_by_predictions(np.array(predicted), budget, most)
    assert given.tolist() == _split_in_words(predicted, budget, most)
    # Without a cap: all predictions and one each, and whatever is left of the budget is not spent.
    without_cap = split_by_predictions(np.array(predicted), budget, 100)
    assert without_cap.sum() == min(budget, sum(predicted) + len(predicted))


def test_a_budget_of_100_spends_about_25_and_10() -> None:
    world = make_world("published")
    agent = BudgetAgent(world.schema, world.response, replace(RULES, budget=100), 8, "drawn", True)
    network = agent.network()
    with torch.no_grad():
        network.budget_head[-1].bias.copy_(1e4 * torch.arange(101.0))  # wants to spend everything
    people = world.population(named_luck(("people",), 2000)).reshape(200, 10, -1)
    rules = replace(RULES, budget=100)
    states = [State(100, Frontier.of(ten), rules=rules) for ten in people]
    acting = RandomActions(named_luck(("acting",), 200), np.zeros(200))
    actions = agent.act(network, Frontiers.of(world.schema, states), acting)
    assert {action.round_budget for action in actions} == {100}
    spent = np.array([action.coupons.sum() for action in actions])
    assert 30 < spent.mean() < 40
    assert spent.max() < 100


def test_the_replay_remembers_the_chosen_number() -> None:
    agent = BudgetAgent(WORLD.schema, WORLD.response, RULES, 8, "drawn", True)
    network = agent.network()
    with torch.no_grad():
        for weights in network.parameters():
            weights.zero_()
        network.budget_head[-1].bias.copy_(torch.arange(RULES.budget + 1.0))  # Q(b) = b
    frontiers = Frontiers.of(WORLD.schema, [State(15, Frontier.of(np.zeros((2, 1), np.int16)), rules=RULES)])
    assert agent.values(network, frontiers, [Action(np.array([2, 1]), round_budget=15)]).item() == 15
    assert agent.values(network, frontiers, [Action(np.array([2, 1]))]).item() == 3


def test_a_drawn_split_needs_luck() -> None:
    agent = BudgetAgent(WORLD.schema, WORLD.response, RULES, 8, "drawn", True)
    state = State(15, Frontier.of(np.zeros((2, 1), np.int16)), rules=RULES)
    with pytest.raises(SettingError, match="give it the luck"):
        agent.act(agent.network(), Frontiers.of(WORLD.schema, [state]))


@given(st.lists(capped_states(), min_size=1, max_size=6), st.sampled_from([0.0, 0.5, 1.0]))
def test_actions_are_feasible_exploring_or_not(states, share) -> None:
    frontiers = Frontiers.of(WORLD.schema, states)
    noise = np.full(len(states), 0.2)
    random_actions = RandomActions(named_luck(("wander",), len(states)), np.full(len(states), share), noise)
    for agent in (
        BudgetAgent(WORLD.schema, WORLD.response, RULES, 8, "drawn", True),
        SeparateHeadsAgent(WORLD.schema, RULES, 8, 3, 1.0),
    ):
        network = agent.network()
        with torch.no_grad():  # values that rise with the budget tempt it to spend what it may not
            network.budget_head[-1].bias.copy_(100 * torch.arange(RULES.budget + 1.0))
        for action, state in zip(agent.act(network, frontiers, random_actions), states, strict=True):
            check_feasible(Allocation(action.coupons), state, "exploring")
            assert 0 <= action.round_budget <= state.spendable
            assert action.coupons.sum() <= action.round_budget
            if isinstance(agent, SeparateHeadsAgent):
                assert action.support <= min(3, len(state.frontier), action.round_budget)
                assert (action.coupons > 0).sum() <= action.support


def test_a_support_of_0_gives_nothing() -> None:
    agent = SeparateHeadsAgent(WORLD.schema, RULES, 8, 10, 1.0)
    network = agent.network()
    with torch.no_grad():
        network.budget_head[-1].bias.copy_(1e3 * torch.arange(RULES.budget + 1.0))
        network.support_head[-1].bias.copy_(-1e3 * torch.arange(11.0))
    frontiers = Frontiers.of(WORLD.schema, [State(15, Frontier.of(np.zeros((4, 1), np.int16)), rules=RULES)])
    (action,) = agent.act(network, frontiers)
    assert (action.round_budget, action.support, action.coupons.tolist()) == (15, 0, [0, 0, 0, 0])


def test_what_the_network_sees() -> None:
    encoder = FrontierEncoder(WORLD.schema, RULES, 8, raw=True)
    person = np.zeros((1, 1), np.int16)
    states = [
        State(7, Frontier.of(person), 2, RULES),
        State(7, Frontier.of(np.repeat(person, 3, axis=0)), 2, RULES),
    ]
    people, seen = encoder(Frontiers.of(WORLD.schema, states))
    assert people.shape == (4, 8)
    assert seen[:, -3:].tolist() == [[7, 1, 2], [7, 3, 2]]  # budget, size and round as they are
    assert torch.allclose(seen[0, :-3], seen[1, :-3])  # a mean, whatever the number of people


def test_one_coupon_futures() -> None:
    people = WORLD.population(named_luck(("people",), 60))
    states = [State(9, Frontier.of(people[:40]), 1, RULES), State(1, Frontier.of(people[40:]), 5, RULES)]
    frontiers = Frontiers.of(WORLD.schema, states)
    came, futures = one_coupon_futures(WORLD, frontiers, named_generator("futures"))
    assert set(came.tolist()) <= {0, 1}
    assert came.mean() == pytest.approx(WORLD.response.gains(people, 1)[:, 0].mean(), abs=0.2)
    assert np.array_equal(futures.sizes, came)
    assert len(futures.covariates) == came.sum()
    assert futures.budgets.tolist() == futures.spendable.tolist() == [8] * 40 + [0] * 20
    assert futures.rounds_left.tolist() == [RULES.rounds - 2] * 40 + [0] * 20


def test_the_three_errors_add_up() -> None:
    agent = SeparateHeadsAgent(WORLD.schema, RULES, 8, 10, 1.0)
    online, target = agent.network(), agent.network()
    with torch.no_grad():
        for weights in (*online.parameters(), *target.parameters()):
            weights.zero_()
        online.budget_head[-1].bias.fill_(1.0)
        online.support_head[-1].bias.fill_(2.0)
        online.score_head[-1].bias.fill_(3.0)
        target.budget_head[-1].bias.copy_(torch.arange(RULES.budget + 1.0))  # Q'(b) = b
        target.support_head[-1].bias.copy_(10.0 * torch.arange(11.0))  # Q'(k) = 10 k
    dead_end = np.full((2, 1), WORLD.schema.fields[0].code_of["C"], np.int16)  # brings nobody, almost surely
    state, following = State(6, Frontier.of(dead_end), 0, RULES), State(4, Frontier.of(dead_end), 1, RULES)
    action = Action(np.array([1, 1]), 2, round_budget=2)
    loss = separate_losses(agent, WORLD, 0.5)
    over = loss(online, target, [Transition(state, action, 5.0, None)], named_generator("loss", 1))
    # A recruit or none, one coupon less is worth Q'(5) = 5: (3 - .5 * 5)^2; the rest is the reward alone.
    assert over.item() == pytest.approx((1 - 5) ** 2 + (2 - 5) ** 2 + (3 - 2.5) ** 2)
    goes_on = loss(online, target, [Transition(state, action, 5.0, following)], named_generator("loss", 1))
    # The next state has 4 coupons for 2 people: budgets up to 4, support up to 2.
    assert goes_on.item() == pytest.approx((1 - 5 - 2) ** 2 + (2 - 5 - 10) ** 2 + (3 - 2.5) ** 2)


@pytest.mark.parametrize(
    ("fit", "settings"),
    [(fit_budget_dqn, BudgetDQNSettings.published()), (fit_factorized_rl, FactorizedRLSettings.published())],
)
def test_a_small_training_runs_and_is_the_same_again(fit, settings) -> None:
    learning = replace(settings.learning, episodes=40, warm_up=20, seed=3)
    settings = replace(settings, learning=learning)
    first, second = (fit(WORLD, RULES, 0.9, settings) for _ in range(2))
    for one, other in zip(first.network.parameters(), second.network.parameters(), strict=True):
        assert torch.equal(one, other)
    assert earned(first).mean() > 0
    another = fit(WORLD, RULES, 0.9, replace(settings, learning=replace(learning, seed=4)))
    assert not np.array_equal(first.learning_returns, another.learning_returns)


def test_targets_move_once_an_episode_or_are_copied() -> None:
    """With one episode of learning a target that follows per episode has moved by .01, a copied one not at all."""
    published, paper = BudgetDQNSettings.published().learning, BudgetDQNSettings.paper().learning
    assert (published.follow, published.follow_each, published.at_once) == (0.01, "episode", 1)
    assert (paper.follow_each, paper.at_once) == ("step", 20)
    assert (published.longest_gradient, published.double, published.share_of_budget) == (10.0, False, False)
    assert np.allclose(published.exploration.shares(500)[[0, 1, 499]], [1.0, 0.995, 0.995**499])
    factorized = FactorizedRLSettings.published()
    learning = factorized.learning
    assert (learning.copy_every, learning.warm_up, learning.longest_gradient) == (200, 128, 10.0)
    assert np.allclose(learning.score_noise.shares(500)[[0, 499]], [0.2, 0.02])
    assert np.allclose(learning.exploration.shares(500)[[0, 499]], [0.2, 0.05])
    assert (factorized.temperature, factorized.separate_heads) == (1.0, True)
    assert not FactorizedRLSettings.paper().separate_heads


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: BudgetDQNSettings(split="fair"),
        lambda: replace(BudgetDQNSettings().learning, follow_each="year"),
        lambda: replace(BudgetDQNSettings().learning, copy_every=0),
        lambda: replace(BudgetDQNSettings().learning, longest_gradient=-1.0),
    ],
)
def test_impossible_settings_are_refused(wrong) -> None:
    with pytest.raises((SettingError, UnknownName)):
        wrong()
