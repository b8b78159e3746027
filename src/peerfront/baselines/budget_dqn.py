"""Budget-DQN (Section 5.2): Q-learning of the round budget alone.

A DeepSets encoder of the frontier feeds a Q-network with one value for each round budget 0 .. B; budgets that may not
be spent (what is left, caps) are never taken and never enter a target. The round budget is split by a fixed rule that
"prioritizes individuals with higher predicted recruitment counts": coupon by coupon to the person who is most likely
to use one more, the largest P(C >= k + 1), which brings the most recruits this round.

`BudgetDQNSettings.published()` is how the method was trained for the published table, which the text does not say: the
"predicted count" of a person is one random draw of the count model, and what the predictions leave of the round budget
is not spent, except one coupon each (`split_by_predictions`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from peerfront.baselines.agents import (
    Action,
    Counts,
    FrontierEncoder,
    Frontiers,
    RandomActions,
)
from peerfront.baselines.q_learning import Exploration, QLearningSettings, QPolicy, train
from peerfront.baselines.simple_rules import most_likely_used
from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import note
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import among, check_fields, truth
from peerfront.foundation.torch_networks import perceptron
from peerfront.problem import ResponseModel, Rules, World

SPLITS = ("likeliest", "drawn")
_PLENTY = 1_000  # coupons that are more than anybody can use


@dataclass(frozen=True)
class BudgetDQNSettings:
    """Budget-DQN's learning."""

    learning: QLearningSettings = field(
        default_factory=lambda: QLearningSettings(exploration=Exploration(1.0, 0.05, decay=0.995))
    )
    split: str = SPLITS[0]
    """likeliest: coupon by coupon where one is most likely used; drawn: by one random draw of everybody's capacity."""
    raw_state: bool = False
    """Give the network plain numbers and the mean of the people's embeddings, instead of shares and their sum."""

    def __post_init__(self) -> None:
        check_fields(self, split=among(note("kinds.split"), SPLITS), raw_state=truth)

    @classmethod
    def paper(cls) -> "BudgetDQNSettings":
        """The hyperparameter table: exploration from .20 to .05; one network chooses and values the next action."""
        return cls(QLearningSettings(double=False, share_of_budget=False, exploration=Exploration(0.2, 0.05)))

    @classmethod
    def published(cls) -> "BudgetDQNSettings":
        """As the published table was made: one episode at a time, targets that move once an episode, a random split."""
        learning = QLearningSettings(
            at_once=1,
            double=False,
            share_of_budget=False,
            follow_each="episode",
            longest_gradient=10.0,
            exploration=Exploration(1.0, 0.05, decay=0.995),
        )
        return cls(learning, split="drawn", raw_state=True)


class BudgetNetwork(nn.Module):
    """Q(s, b) for every round budget b."""

    def __init__(self, schema: Schema, rules: Rules, hidden: int, raw_state: bool = False) -> None:
        super().__init__()
        self.encoder = FrontierEncoder(schema, rules, hidden, raw_state)
        self.budget_head = perceptron((self.encoder.width, hidden, hidden, rules.budget + 1), seed=None)

    def forward(self, frontiers: Frontiers) -> Tensor:
        """[states, budget + 1]; minus infinity where a budget may not be spent."""
        _, states = self.encoder(frontiers)
        return allowed_up_to(self.budget_head(states), frontiers.spendable)


def allowed_up_to(values: Tensor, most: NDArray[np.int64]) -> Tensor:
    """The values [states, choices] with minus infinity for choices above `most` [states]."""
    beyond = torch.arange(values.shape[1]) > torch.from_numpy(most)[:, None]
    return values.masked_fill(beyond, -torch.inf)


def split_by_predictions(predicted: Counts, budget: int, most: int) -> Counts:
    """Coupons by predicted counts [people]: the largest first, up to its number; then one more each in the same order.

    What is left after that is not given to anybody. Nobody gets more than `most`; ties to the first.
    """
    order = np.argsort(-predicted, kind="stable")
    wanted = np.minimum(predicted[order], most)
    given = np.clip(budget - (np.cumsum(wanted) - wanted), 0, wanted)
    below_cap = given < most
    given = given + (below_cap & (np.cumsum(below_cap) <= budget - given.sum()))
    coupons = np.empty_like(given)
    coupons[order] = given
    return coupons


@dataclass(frozen=True, eq=False)
class BudgetAgent:
    """Turns round budgets into actions."""

    schema: Schema
    response: ResponseModel
    rules: Rules
    hidden: int
    split: str = SPLITS[0]
    raw_state: bool = False

    def network(self) -> nn.Module:
        return BudgetNetwork(self.schema, self.rules, self.hidden, self.raw_state)

    def act(
        self, network: nn.Module, frontiers: Frontiers, random_actions: RandomActions | None = None
    ) -> list[Action]:
        with torch.no_grad():
            budgets = network(frontiers).argmax(dim=1).numpy()
        if random_actions is not None:
            drawn = (random_actions.luck.uniform("round budget") * (frontiers.spendable + 1)).astype(np.int64)
            budgets = np.where(random_actions.now("round budget"), drawn, budgets)
        if self.split == "drawn":
            if random_actions is None:
                raise SettingError("budget_dqn.no_luck")
            return self._split_by_draws(frontiers, budgets, random_actions.luck)
        return self._split_by_chances(frontiers, budgets)

    def _split_by_draws(self, frontiers: Frontiers, budgets: Counts, luck: Luck) -> list[Action]:
        """One draw of what everybody would bring with plenty of coupons is their predicted count."""
        own_luck = Luck(luck.keys[frontiers.owner]).members(frontiers.place)
        predicted = frontiers.split(self.response.sample(frontiers.covariates, _PLENTY, own_luck))
        most = frontiers.most_per_person.tolist()
        return [
            Action(split_by_predictions(counts, budget, cap), round_budget=budget)
            for counts, budget, cap in zip(predicted, budgets.tolist(), most, strict=True)
        ]

    def _split_by_chances(self, frontiers: Frontiers, budgets: Counts) -> list[Action]:
        levels = np.minimum(budgets, frontiers.most_per_person)
        survival = self.response.gains(frontiers.covariates, int(levels.max()))
        actions = []
        first = 0
        for size, budget, level in zip(frontiers.sizes.tolist(), budgets.tolist(), levels.tolist(), strict=True):
            persons = most_likely_used(survival[first : first + size, :level], budget)
            actions.append(Action(np.bincount(persons, minlength=size)))
            first += size
        return actions

    def values(self, network: nn.Module, frontiers: Frontiers, actions: Sequence[Action]) -> Tensor:
        # What was chosen, which is not always what was spent.
        budgets = torch.tensor([int(a.coupons.sum()) if a.round_budget is None else a.round_budget for a in actions])
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
) -> QPolicy:
    """Train Budget-DQN in this (planning) world, at this discount."""
    settings = settings or BudgetDQNSettings()
    learning = settings.learning
    agent = BudgetAgent(world.schema, world.response, rules, learning.hidden, settings.split, settings.raw_state)
    return train(agent, world, rules, discount, learning, "budget_dqn")
