"""Factorized RL (Section 5.2): the allocation as three learned decisions.

A DeepSets encoder of the frontier feeds three heads: values of the round budget b, values of the support size k (how
many people share it), and a score for each person. Acting takes the best feasible b, then the best feasible k, then the
k people with the best scores, and spreads b over them by the softmax of their scores, rounded by largest remainders.

The paper does not say how the scores are learned. Here the three heads add up to the value of the action, as in value
decomposition networks (Sunehag et al. 2018):

    Q(s, a) = Q_budget(s, b) + Q_support(s, k) + sum over i of w_i * score(s, i),

with w_i the share of the budget that person i was meant to get. One temporal-difference error trains all three: a
person's score rises when rounds that lean on such people turn out better than budget and support explain.

`FactorizedRLSettings.published()` is how the method was trained for the published table (`separate_heads`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from peerfront.baselines.agents import (
    Action,
    Array,
    Counts,
    FrontierEncoder,
    Frontiers,
    RandomActions,
    ThreeHeads,
    Weights,
    best_few,
    best_or_random,
    by_state,
    largest_remainders,
    softmax_weights,
)
from peerfront.baselines.q_learning import Exploration, QLearningSettings, TrainedPolicy, train
from peerfront.baselines.separate_heads import SeparateHeadsAgent, separate_losses
from peerfront.foundation.covariates import Schema
from peerfront.foundation.messages import Progress
from peerfront.foundation.settings import between, check_fields, one_or_more, truth
from peerfront.problem import Rules, World


@dataclass(frozen=True)
class FactorizedRLSettings:
    """Factorized RL's learning and its split of the round budget."""

    learning: QLearningSettings = field(default_factory=QLearningSettings)
    most_activated: int = 10
    """People who may share a round budget."""
    temperature: float = 0.3
    """Of the softmax over scores, in the unit of the rewards: the smaller, the more goes to the best."""
    separate_heads: bool = False
    """Train each head with an error of its own (`separate_heads`) instead of their sum."""

    def __post_init__(self) -> None:
        above_0 = between(1e-6, 1e6)
        check_fields(self, most_activated=one_or_more, temperature=above_0, separate_heads=truth)

    @classmethod
    def paper(cls) -> "FactorizedRLSettings":
        """The appendix: recruits as they are, one network that chooses and values, a plain softmax."""
        return cls(QLearningSettings(double=False, share_of_budget=False), temperature=1.0)

    @classmethod
    def published(cls) -> "FactorizedRLSettings":
        """As the published table was made: one episode at a time, three errors, targets copied every 200 steps."""
        learning = QLearningSettings(
            at_once=1,
            warm_up=128,
            double=False,
            share_of_budget=False,
            copy_every=200,
            longest_gradient=10.0,
            exploration=Exploration(0.2, 0.05),
            score_noise=Exploration(0.2, 0.02),
        )
        return cls(learning, temperature=1.0, separate_heads=True)


class FactorizedNetwork(ThreeHeads):
    """Values of budgets and of support sizes from 1, and scores of people by their own encoding."""

    def __init__(self, schema: Schema, rules: Rules, hidden: int, most_activated: int) -> None:
        super().__init__(FrontierEncoder(schema, rules, hidden), rules.budget, most_activated, hidden, hidden)

    def forward(self, frontiers: Frontiers) -> tuple[Tensor, Tensor, Tensor]:
        """Budgets [states, budget + 1], support sizes from 1 [states, most activated], scores [people]."""
        people, states = self.encoder(frontiers)
        seen = torch.cat([people, states[torch.from_numpy(frontiers.owner)]], dim=1)
        return self.budget_head(states), self.support_head(states), self.score_head(seen)[:, 0]


@dataclass(frozen=True, eq=False)
class Decisions:
    """The three decisions in some states."""

    budgets: Counts  # [states]
    support: Counts  # [states]
    weights: Array  # [states, people of the largest frontier]


@dataclass(frozen=True, eq=False)
class FactorizedAgent:
    """Turns the three decisions into an action."""

    schema: Schema
    rules: Rules
    hidden: int
    most_activated: int
    temperature: float

    def network(self) -> nn.Module:
        return FactorizedNetwork(self.schema, self.rules, self.hidden, self.most_activated)

    def act(
        self, network: nn.Module, frontiers: Frontiers, random_actions: RandomActions | None = None
    ) -> list[Action]:
        with torch.no_grad():
            decisions = self._decide(network(frontiers), frontiers, random_actions)
        coupons = largest_remainders(decisions.weights, decisions.budgets, frontiers.most_per_person)
        return [
            Action(given[:size], support, weights[:size].astype(np.float32))
            for given, support, weights, size in zip(
                coupons, decisions.support.tolist(), decisions.weights, frontiers.sizes.tolist(), strict=True
            )
        ]

    def values(self, network: nn.Module, frontiers: Frontiers, actions: Sequence[Action]) -> Tensor:
        budgets = np.array([action.coupons.sum() for action in actions])
        support = np.array([action.support for action in actions])
        weights = np.concatenate([action.weights for action in actions if action.weights is not None])
        return _total(network(frontiers), frontiers, budgets, support, weights)

    def best_values(self, chooser: nn.Module, judge: nn.Module, frontiers: Frontiers) -> Tensor:
        judged = judge(frontiers)
        best = self._decide(judged if chooser is judge else chooser(frontiers), frontiers, None)
        weights = best.weights[frontiers.owner, frontiers.place].astype(np.float32)
        return _total(judged, frontiers, best.budgets, best.support, weights)

    def _decide(
        self, heads: tuple[Tensor, Tensor, Tensor], frontiers: Frontiers, random_actions: RandomActions | None
    ) -> Decisions:
        """Budget, then support, then people; each best, or random where it explores."""
        budget_values, support_values, person_scores = (head.numpy() for head in heads)
        largest_support = np.minimum(frontiers.sizes, self.most_activated)
        largest_budget = np.minimum(frontiers.spendable, largest_support * frontiers.most_per_person)
        nothing = np.zeros_like(largest_budget)
        budgets = best_or_random(budget_values, random_actions, "round budget", nothing, largest_budget)
        # With a cap per person, a large budget needs enough people to take it.
        least_support = np.maximum(-(-budgets // np.maximum(frontiers.most_per_person, 1)), 1)
        support = 1 + best_or_random(support_values, random_actions, "support", least_support - 1, largest_support - 1)
        scores = by_state(frontiers, person_scores)
        ranked = scores
        if random_actions is not None:
            random = random_actions.luck.uniforms("people", scores.shape[1])
            ranked = np.where(random_actions.now("people")[:, None] & np.isfinite(scores), random, scores)
        weights = softmax_weights(scores, best_few(ranked, support), self.temperature)
        return Decisions(budgets, support, weights)


def _total(
    heads: tuple[Tensor, Tensor, Tensor], frontiers: Frontiers, budgets: Counts, support: Counts, weights: Weights
) -> Tensor:
    """The three heads' sum for these decisions, [states]."""
    budget_values, support_values, scores = heads
    states = torch.arange(len(frontiers))
    values = budget_values[states, torch.from_numpy(budgets)] + support_values[states, torch.from_numpy(support) - 1]
    return values.index_add(0, torch.from_numpy(frontiers.owner), scores * torch.from_numpy(weights))


def fit_factorized_rl(
    world: World,
    rules: Rules,
    discount: float,
    settings: FactorizedRLSettings | None = None,
    progress: Progress | None = None,
) -> TrainedPolicy:
    """Train Factorized RL in this (planning) world, at this discount."""
    settings = settings or FactorizedRLSettings()
    if settings.separate_heads:
        heads = SeparateHeadsAgent(
            world.schema, rules, settings.learning.hidden, settings.most_activated, settings.temperature
        )
        loss = separate_losses(heads, world, discount)
        return train(heads, world, rules, discount, settings.learning, "factorized_rl", progress, loss)
    agent = FactorizedAgent(
        world.schema, rules, settings.learning.hidden, settings.most_activated, settings.temperature
    )
    return train(agent, world, rules, discount, settings.learning, "factorized_rl", progress)
