"""States to learn values from: budgets and frontiers of many states, one after another."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.covariates import Codes
from peerfront.problem import Crowd, Policy, Round, Rules, World, rollout
from peerfront.randomness import Luck, fold, named_generator


@dataclass(frozen=True, eq=False)
class Situations:
    """State s has budget budgets[s] and the people first[s] .. first[s + 1] - 1."""

    budgets: NDArray[np.int64]  # [states]
    first: NDArray[np.int64]  # [states + 1]
    covariates: Codes  # [people, fields]

    def __len__(self) -> int:
        return len(self.budgets)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """People on each frontier, [states]."""
        return np.diff(self.first)

    @property
    def owner(self) -> NDArray[np.int64]:
        """The state each person belongs to, [people]."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def take(self, chosen: NDArray[np.int64]) -> "Situations":
        """The chosen states, in this order."""
        sizes = self.sizes[chosen]
        first = np.concatenate([[0], np.cumsum(sizes)])
        people = np.arange(first[-1]) - np.repeat(first[:-1] - self.first[chosen], sizes)
        return Situations(self.budgets[chosen], first, self.covariates[people])

    def thinned(self, rng: np.random.Generator) -> "Situations":
        """The same states with only a random few of their people.

        A good policy never meets thin frontiers, so it would never learn that they are worth little.
        """
        wanted = np.maximum(1, np.ceil(self.sizes * rng.random(len(self)) ** 2)).astype(np.int64)
        order = np.lexsort((rng.random(len(self.covariates)), self.owner))
        rank = np.arange(len(order)) - np.repeat(self.first[:-1], self.sizes)
        kept = np.sort(order[rank < np.repeat(wanted, self.sizes)])
        return Situations(self.budgets, np.concatenate([[0], np.cumsum(wanted)]), self.covariates[kept])

    @classmethod
    def joined(cls, parts: Sequence["Situations"]) -> "Situations":
        """All states of all parts, one part after another."""
        sizes = np.concatenate([part.sizes for part in parts])
        return cls(
            np.concatenate([part.budgets for part in parts]),
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([part.covariates for part in parts]),
        )


def visited(world: World, policy: Policy, rules: Rules, episodes: Luck) -> Situations:
    """Every state the policy meets in these episodes."""
    budgets, sizes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    covariates = [np.zeros((0, len(world.schema.fields)), dtype=np.int16)]
    remaining = np.full(len(episodes), rules.budget, dtype=np.int64)

    def note(played: Round) -> None:
        living, counts = np.unique(played.crowd.episode, return_counts=True)
        budgets.append(remaining[living])
        sizes.append(counts)
        covariates.append(played.crowd.covariates)
        np.subtract.at(remaining, played.crowd.episode, played.vouchers)

    rollout(world, policy, rules, episodes, watch=note)
    return Situations(
        np.concatenate(budgets), np.concatenate([[0], np.cumsum(np.concatenate(sizes))]), np.concatenate(covariates)
    )


def simulated_returns(
    world: World, policy: Policy, rules: Rules, discount: float, states: Situations, each: int, luck: Luck
) -> NDArray[np.float64]:
    """Discounted rewards of the policy from each state, [states, each]. `luck` has one row per state."""
    repeated = states.take(np.repeat(np.arange(len(states)), each))
    episodes = luck_of_copies(luck, each)
    owner = repeated.owner
    ordinals = np.arange(len(owner)) - repeated.first[owner]
    start = Crowd(owner, fold(episodes.keys[owner], ordinals), repeated.covariates)
    played = rollout(world, policy, rules, episodes, start=start, budgets=repeated.budgets)
    return played.discounted_rewards(discount).reshape(len(states), each)


def luck_of_copies(luck: Luck, each: int) -> Luck:
    """`each` independent lucks for every row, one row's after another."""
    return Luck(np.repeat(luck.keys, each)).members(np.tile(np.arange(each), len(luck)))


def chosen_states(states: Situations, count: int, *names: str | int) -> Situations:
    """At most `count` of the states, drawn without replacement by the generator of these names."""
    if len(states) <= count:
        return states
    return states.take(np.sort(named_generator(*names).choice(len(states), count, replace=False)))
