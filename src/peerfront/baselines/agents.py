"""What the reinforcement-learning baselines have in common: what they see, how they act, how they explore.

A frontier may have any size and has no order, so it is encoded by DeepSets (Zaheer et al. 2017): each person's one-hot
row passes through the same network, and the sum over the frontier, the share of the budget left and the share of the
rounds left describe the state. `Frontiers` holds those of many states, one after another; an `Agent` turns them into
actions and values, and `q_learning` trains its network.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.networks import perceptron
from peerfront.foundation.randomness import Luck
from peerfront.problem import Rules, State

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Weights = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Frontiers:
    """Many states as arrays: what a network sees of them, and which actions are allowed."""

    schema: Schema
    covariates: Codes  # [people, fields]
    sizes: Counts  # [states]
    budgets: Counts  # [states], coupons left
    rounds_left: Counts  # [states]
    spendable: Counts  # [states]
    most_per_person: Counts  # [states]

    @classmethod
    def of(cls, schema: Schema, states: Sequence[State]) -> "Frontiers":
        numbers = [(len(s.frontier), s.remaining_budget, s.rounds_left, s.spendable, s.most_per_person) for s in states]
        sizes, budgets, rounds_left, spendable, most = np.array(numbers, dtype=np.int64).T
        covariates = np.concatenate([state.frontier.covariates for state in states])
        return cls(schema, covariates, sizes, budgets, rounds_left, spendable, most)

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def one_hot(self) -> Tensor:
        """[people, columns]."""
        return torch.from_numpy(self.schema.one_hot(self.covariates))

    @cached_property
    def owner(self) -> Counts:
        """The state of each person, [people]."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def place(self) -> Counts:
        """Everybody's place on their own frontier, from 0, [people]."""
        places: Counts = np.arange(len(self.owner)) - (np.cumsum(self.sizes) - self.sizes)[self.owner]
        return places

    def split(self, values: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """One value per person -> one array per state."""
        return np.split(values, np.cumsum(self.sizes)[:-1])


class FrontierEncoder(nn.Module):
    """Encodes each person, [people, hidden], and each state, [states, width], for the heads of a Q-network."""

    def __init__(self, schema: Schema, rules: Rules, hidden: int) -> None:
        super().__init__()
        self.rules = rules
        self.person_network = perceptron((schema.columns, hidden, hidden), seed=None)
        self.width = hidden + 2

    def forward(self, frontiers: Frontiers) -> tuple[Tensor, Tensor]:
        people = torch.relu(self.person_network(frontiers.one_hot))
        summed = people.new_zeros(len(frontiers), people.shape[1])
        # A first frontier sums to order one whatever its size, so that one learning rate serves all studies.
        summed = summed.index_add(0, torch.from_numpy(frontiers.owner), people) / max(self.rules.people, 1)
        shares = np.stack(
            [frontiers.budgets / max(self.rules.budget, 1), frontiers.rounds_left / self.rules.rounds], axis=1
        )
        return people, torch.cat([summed, torch.from_numpy(shares.astype(np.float32))], dim=1)


class RawFrontierEncoder(nn.Module):
    """Encodes people and states as the programme behind the published table did: the mean of the people's embeddings,
    and the budget left, the frontier's size and the round as plain numbers.
    """

    def __init__(self, schema: Schema, rules: Rules, hidden: int) -> None:
        super().__init__()
        self.rules = rules
        self.person_network = perceptron((schema.columns, hidden, hidden), seed=None)
        self.width = hidden + 3

    def forward(self, frontiers: Frontiers) -> tuple[Tensor, Tensor]:
        people = torch.relu(self.person_network(frontiers.one_hot))
        summed = people.new_zeros(len(frontiers), people.shape[1])
        summed = summed.index_add(0, torch.from_numpy(frontiers.owner), people)
        numbers = [frontiers.budgets, frontiers.sizes, self.rules.rounds - frontiers.rounds_left]
        plain = torch.from_numpy(np.stack(numbers, axis=1).astype(np.float32))
        return people, torch.cat([summed / plain[:, 1:2].clamp(min=1.0), plain], dim=1)


class ThreeHeads(nn.Module):
    """The heads of Factorized RL on an encoding: values of budgets and of support sizes, and scores of people.

    `supports` is the number of support sizes, and `seen_of_person` what the scores see besides the state's encoding.
    """

    def __init__(
        self,
        encoder: FrontierEncoder | RawFrontierEncoder,
        budget: int,
        supports: int,
        seen_of_person: int,
        hidden: int,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        width = encoder.width
        self.budget_head = perceptron((width, hidden, hidden, budget + 1), seed=None)
        self.support_head = perceptron((width, hidden, hidden, supports), seed=None)
        self.score_head = perceptron((width + seen_of_person, hidden, hidden, 1), seed=None)


@dataclass(frozen=True, slots=True, eq=False)
class Action:
    """What was done in one state."""

    coupons: NDArray[np.int64]  # [people]
    support: int = 0
    """People chosen to share the round budget, if that was decided; rounding may leave some with none."""
    weights: Weights | None = None  # [people]
    """The share of the round budget meant for each, if that was decided; they sum to one."""
    round_budget: int | None = None
    """What was meant to be spent, where a split may leave some of it; None: all coupons given."""


@dataclass(frozen=True, eq=False)
class RandomActions:
    """Exploration in some states: whether a decision is random, and which one, by the luck of episode and round."""

    luck: Luck
    shares: Array  # [states], how often a decision is random; 0 for an agent that only draws
    score_noise: Array | None = None  # [states], standard deviation of the noise on scores of people

    def now(self, what: str) -> NDArray[np.bool_]:
        """Where this decision is random, [states]."""
        random: NDArray[np.bool_] = self.luck.uniform(f"wander in {what}") < self.shares
        return random


class Agent(Protocol):
    """What Q-learning needs of a method: its network, its actions, and their values."""

    @property
    def schema(self) -> Schema: ...

    def network(self) -> nn.Module:
        """A new Q-network."""
        ...

    def act(
        self, network: nn.Module, frontiers: Frontiers, random_actions: RandomActions | None = None
    ) -> list[Action]:
        """A feasible action for each state: the best one, except where it explores.

        An agent that draws something when it acts takes it from the luck of `random_actions`.
        """
        ...

    def values(self, network: nn.Module, frontiers: Frontiers, actions: Sequence[Action]) -> Tensor:
        """Q(s, a), [states]."""
        ...

    def best_values(self, chooser: nn.Module, judge: nn.Module, frontiers: Frontiers) -> Tensor:
        """The value `judge` gives to the action that `chooser` would take, [states]."""
        ...
