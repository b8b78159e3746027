"""DeepSets (Zaheer et al. 2017): a network of a frontier that may have any size and has no order.

Each person's one-hot row passes through the same network; the sum over the frontier, and what else is known of the
state, describe it. Frontiers of many states stand one after another, and `owner` says whose everybody is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from peerfront.foundation.covariates import Codes, Schema
from peerfront.problem import Rules, State

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Frontiers:
    """Some states as arrays: what a network sees of them, and what may be done there."""

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


def perceptron(*sizes: int) -> nn.Sequential:
    """Linear layers of these sizes with ReLU between them."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class FrontierEncoder(nn.Module):
    """What the Q-networks know: each person, [people, hidden], and each state, [states, width]."""

    def __init__(self, schema: Schema, rules: Rules, hidden: int) -> None:
        super().__init__()
        self.rules = rules
        self.person_network = perceptron(schema.columns, hidden, hidden)
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
