"""What the reinforcement-learning baselines have in common: what they see, how they act, how they explore.

A frontier may have any size and has no order, so it is encoded by DeepSets (Zaheer et al. 2017): each person's one-hot
row passes through the same network, and the sum over the frontier, the share of the budget left and the share of the
rounds left describe the state. `Frontiers` holds those of many states, one after another; an `Agent` turns them into
actions and values, and `q_learning` trains its network.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import Luck
from peerfront.foundation.torch_networks import perceptron
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
    """Encodes each person, [people, hidden], and each state, [states, width], for the heads of a Q-network.

    With `raw` as the programme behind the published table did: the mean of the people's embeddings in place of their
    sum, and the budget left, the frontier's size and the round as plain numbers in place of shares.
    """

    def __init__(self, schema: Schema, rules: Rules, hidden: int, raw: bool = False) -> None:
        super().__init__()
        self.rules, self.raw = rules, raw
        self.person_network = perceptron((schema.columns, hidden, hidden), seed=None)
        self.width = hidden + (3 if raw else 2)

    def forward(self, frontiers: Frontiers) -> tuple[Tensor, Tensor]:
        people = torch.relu(self.person_network(frontiers.one_hot))
        summed = people.new_zeros(len(frontiers), people.shape[1])
        summed = summed.index_add(0, torch.from_numpy(frontiers.owner), people)
        if self.raw:
            columns: list[NDArray[Any]] = [
                frontiers.budgets,
                frontiers.sizes,
                self.rules.rounds - frontiers.rounds_left,
            ]
            scale: Tensor | int = torch.from_numpy(frontiers.sizes.astype(np.float32))[:, None].clamp(min=1.0)
        else:
            columns = [frontiers.budgets / max(self.rules.budget, 1), frontiers.rounds_left / self.rules.rounds]
            # A first frontier sums to order one whatever its size, so that one learning rate serves all studies.
            scale = max(self.rules.people, 1)
        numbers = torch.from_numpy(np.stack(columns, axis=1).astype(np.float32))
        return people, torch.cat([summed / scale, numbers], dim=1)


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


# Decisions in many states at once, and the split of a round budget -----------------------------------------------


def best_few(scores: Array, support: Counts) -> NDArray[np.bool_]:
    """The `support` [states] people with the largest scores [states, people]; ties to the first."""
    order = np.argsort(-scores, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(scores.shape[1])[None, :], axis=1)
    among_best: NDArray[np.bool_] = rank < support[:, None]
    return among_best


def softmax_weights(scores: Array, sharing: NDArray[np.bool_], temperature: float) -> Array:
    """Shares of those who are `sharing`, proportional to exp(score / temperature), and zero for the others.

    All arrays are [states, people].
    """
    tempered = np.where(sharing, scores, -np.inf) / temperature
    weights = np.exp(tempered - tempered.max(axis=1, keepdims=True))
    shares: Array = weights / weights.sum(axis=1, keepdims=True)
    return shares


def largest_remainders(weights: Array, totals: Counts, most: Counts) -> Counts:
    """Whole numbers [states, people] that sum to `totals` [states], as near to the weights as whole numbers can be.

    Nobody gets more than `most` [states]; what a cap keeps from somebody goes to the others, in proportion to their
    weights. Everybody gets the whole part of their quota, and the largest remainders get one more; ties to the first.
    `totals` must not exceed `most` times the number of positive weights.
    """
    quotas = _capped_quotas(weights, totals, most)
    # A quota of 3 that came out as 2.9999999 is 3.
    whole = np.floor(quotas + 1e-9).astype(np.int64)
    left = totals - whole.sum(axis=1)
    open_to_more = (weights > 0) & (whole < most[:, None])
    more = best_few(np.where(open_to_more, quotas - whole, -np.inf), left)
    return whole + more


def _capped_quotas(weights: Array, totals: Counts, most: Counts) -> Array:
    """Proportional quotas, with those above the cap held there and the rest shared again until nobody is above it."""
    held = np.zeros(weights.shape, dtype=bool)
    while True:
        free = np.where(held, 0.0, weights)
        rest = totals - held.sum(axis=1) * most
        sums = free.sum(axis=1)
        quotas = np.where(held, most[:, None], free * (rest / np.where(sums > 0, sums, 1.0))[:, None])
        above = ~held & (quotas > most[:, None])
        if not above.any():
            return quotas
        held |= above


def best_or_random(
    values: Array, random_actions: RandomActions | None, what: str, least: Counts, most: Counts
) -> Counts:
    """The choice of largest value [states, choices] from `least` to `most` [states]; any where this one explores."""
    choices = np.arange(values.shape[1])
    allowed = (choices >= least[:, None]) & (choices <= most[:, None])
    best: Counts = np.where(allowed, values, -np.inf).argmax(axis=1)
    if random_actions is None:
        return best
    drawn = least + (random_actions.luck.uniform(what) * (most - least + 1)).astype(np.int64)
    return np.where(random_actions.now(what), drawn, best)


def by_state(frontiers: Frontiers, scores: Weights) -> Array:
    """One score per person -> [states, people of the largest frontier], minus infinity where nobody is."""
    table = np.full((len(frontiers), int(frontiers.sizes.max())), -np.inf)
    table[frontiers.owner, frontiers.place] = scores
    return table
