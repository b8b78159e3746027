"""Budget-DQN (Section 5.2): Q-learning of the round budget alone.

A DeepSets encoder of the frontier feeds a Q-network with one value for each round budget 0 .. B; budgets that may not
be spent (what is left, caps) are never taken and never enter a target. The round budget is split by a fixed rule that
"prioritizes individuals with higher predicted recruitment counts": coupon by coupon to the person who is most likely
to use one more, the largest P(C >= k + 1), which brings the most recruits this round.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from peerfront.baselines.agents import Action, FrontierEncoder, Frontiers, RandomActions
from peerfront.baselines.q_learning import Exploration, QLearningSettings, TrainedPolicy, train
from peerfront.baselines.simple_rules import most_likely_used
from peerfront.foundation.covariates import Schema
from peerfront.foundation.networks import perceptron
from peerfront.foundation.progress import Progress
from peerfront.problem import CapacityModel, Rules, World


@dataclass(frozen=True)
class BudgetDQNSettings:
    """Budget-DQN's learning."""

    learning: QLearningSettings = field(
        default_factory=lambda: QLearningSettings(exploration=Exploration(1.0, 0.05, decay=0.995))
    )

    @classmethod
    def paper(cls) -> "BudgetDQNSettings":
        """The hyperparameter table: exploration from .20 to .05; one network chooses and values the next action."""
        return cls(QLearningSettings(double=False, share_of_budget=False, exploration=Exploration(0.2, 0.05)))


class BudgetNetwork(nn.Module):
    """Q(s, b) for every round budget b."""

    def __init__(self, schema: Schema, rules: Rules, hidden: int) -> None:
        super().__init__()
        self.encoder = FrontierEncoder(schema, rules, hidden)
        self.budget_head = perceptron((self.encoder.width, hidden, hidden, rules.budget + 1), seed=None)

    def forward(self, frontiers: Frontiers) -> Tensor:
        """[states, budget + 1]; minus infinity where a budget may not be spent."""
        _, states = self.encoder(frontiers)
        return allowed_up_to(self.budget_head(states), frontiers.spendable)


def allowed_up_to(values: Tensor, most: NDArray[np.int64]) -> Tensor:
    """The values [states, choices] with minus infinity for choices above `most` [states]."""
    beyond = torch.arange(values.shape[1]) > torch.from_numpy(most)[:, None]
    return values.masked_fill(beyond, -torch.inf)


@dataclass(frozen=True, eq=False)
class BudgetAgent:
    """Turns round budgets into actions."""

    schema: Schema
    capacity: CapacityModel
    rules: Rules
    hidden: int

    def network(self) -> nn.Module:
        return BudgetNetwork(self.schema, self.rules, self.hidden)

    def act(
        self, network: nn.Module, frontiers: Frontiers, random_actions: RandomActions | None = None
    ) -> list[Action]:
        with torch.no_grad():
            budgets = network(frontiers).argmax(dim=1).numpy()
        if random_actions is not None:
            drawn = (random_actions.luck.uniform("round budget") * (frontiers.spendable + 1)).astype(np.int64)
            budgets = np.where(random_actions.now("round budget"), drawn, budgets)
        levels = np.minimum(budgets, frontiers.most_per_person)
        survival = self.capacity.survival(frontiers.covariates, int(levels.max()))
        actions = []
        first = 0
        for size, budget, level in zip(frontiers.sizes.tolist(), budgets.tolist(), levels.tolist(), strict=True):
            persons = most_likely_used(survival[first : first + size, :level], budget)
            actions.append(Action(np.bincount(persons, minlength=size)))
            first += size
        return actions

    def values(self, network: nn.Module, frontiers: Frontiers, actions: Sequence[Action]) -> Tensor:
        budgets = torch.tensor([int(action.coupons.sum()) for action in actions])
        return network(frontiers).gather(1, budgets[:, None])[:, 0]

    def best_values(self, chooser: nn.Module, judge: nn.Module, frontiers: Frontiers) -> Tensor:
        judged = judge(frontiers)
        choosing = judged if chooser is judge else chooser(frontiers)
        return judged.gather(1, choosing.argmax(dim=1, keepdim=True))[:, 0]


def fit_budget_dqn(
    world: World,
    rules: Rules,
    discount: float,
    settings: BudgetDQNSettings | None = None,
    progress: Progress | None = None,
) -> TrainedPolicy:
    """Train Budget-DQN in this (planning) world, at this discount."""
    learning = (settings or BudgetDQNSettings()).learning
    agent = BudgetAgent(world.schema, world.capacity, rules, learning.hidden)
    return train(agent, world, rules, discount, learning, "budget_dqn", progress)
