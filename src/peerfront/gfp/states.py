"""States and people to learn from: met in simulated episodes, thinned, and with sampled recruits.

A `StateBatch` holds budgets, frontiers and rounds left of many states, one after another. `explored` collects those
that a policy meets, `simulated_returns` says what a policy earns from them, and `sampled_recruits` draws the people
that come after.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.checked_calls import checked_late
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, fold, named_generator, named_luck
from peerfront.problem import (
    Allocation,
    Crowd,
    OffspringModel,
    Policy,
    Round,
    Rules,
    State,
    World,
    ask,
    ask_many,
    rollout,
)

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StateBatch:
    """State s has budget budgets[s] and the people first[s] .. first[s + 1] - 1."""

    budgets: NDArray[np.int64]  # [states]
    first: NDArray[np.int64]  # [states + 1]
    covariates: Codes  # [people, fields]
    rounds_left: NDArray[np.int64] | None = None  # [states], or None where nobody counts them

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

    def take(self, numbers: NDArray[np.int64]) -> "StateBatch":
        """The states of these numbers, in this order."""
        sizes = self.sizes[numbers]
        first = np.concatenate([[0], np.cumsum(sizes)])
        people = np.arange(first[-1]) - np.repeat(first[:-1] - self.first[numbers], sizes)
        rounds_left = None if self.rounds_left is None else self.rounds_left[numbers]
        return StateBatch(self.budgets[numbers], first, self.covariates[people], rounds_left)

    def thinned(self, rng: np.random.Generator) -> "StateBatch":
        """The same states with only a random few of their people.

        A good policy never meets thin frontiers, so it would never learn that they are worth little.
        """
        wanted = np.maximum(1, np.ceil(self.sizes * rng.random(len(self)) ** 2)).astype(np.int64)
        order = np.lexsort((rng.random(len(self.covariates)), self.owner))
        rank = np.arange(len(order)) - np.repeat(self.first[:-1], self.sizes)
        kept = np.sort(order[rank < np.repeat(wanted, self.sizes)])
        first = np.concatenate([[0], np.cumsum(wanted)])
        return StateBatch(self.budgets, first, self.covariates[kept], self.rounds_left)

    def redated(self, rng: np.random.Generator, share: float, rounds: int) -> "StateBatch":
        """The same states, a share of them with other rounds left: any from 1 to `rounds`, evenly.

        A policy meets large budgets early and small ones late; it would never learn what they are worth at other times.
        """
        if self.rounds_left is None:
            raise SettingError("states.rounds_left_missing")
        other = rng.random(len(self)) < share
        drawn = rng.integers(1, rounds, size=len(self), endpoint=True)
        return replace(self, rounds_left=np.where(other, drawn, self.rounds_left))

    @classmethod
    def joined(cls, parts: Sequence["StateBatch"]) -> "StateBatch":
        """All states of all parts, one part after another."""
        sizes = np.concatenate([part.sizes for part in parts])
        rounds_left = [part.rounds_left for part in parts if part.rounds_left is not None]
        if len(rounds_left) not in (0, len(parts)):
            raise SettingError("states.rounds_left_in_some")
        return cls(
            np.concatenate([part.budgets for part in parts]),
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([part.covariates for part in parts]),
            np.concatenate(rounds_left) if rounds_left else None,
        )


def visited(world: World, policy: Policy, rules: Rules, episodes: Luck) -> StateBatch:
    """Every state the policy meets in these episodes."""
    budgets, sizes, rounds_left = ([np.zeros(0, dtype=np.int64)] for _ in range(3))
    covariates = [np.zeros((0, len(world.schema.fields)), dtype=np.int16)]
    remaining = np.full(len(episodes), rules.budget, dtype=np.int64)

    def note(played: Round) -> None:
        living, counts = np.unique(played.crowd.episode, return_counts=True)
        budgets.append(remaining[living])
        sizes.append(counts)
        rounds_left.append(np.full(len(living), rules.rounds - played.number))
        covariates.append(played.crowd.covariates)
        np.subtract.at(remaining, played.crowd.episode, played.coupons)

    rollout(world, policy, rules, episodes, watch=note)
    first = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return StateBatch(np.concatenate(budgets), first, np.concatenate(covariates), np.concatenate(rounds_left))


def planning_population(world: World, first: int, recruits: int, seed: int) -> Codes:
    """First recruits of a (planning) world, and people drawn from its offspring model as recruits of such people."""
    people = world.population(named_luck(("planning population", seed), first))
    if not recruits:
        return people
    luck = named_luck(("planning population", seed, "recruits"), recruits)
    return np.concatenate([people, world.offspring.sample(world.population(luck), luck)])


@dataclass(frozen=True, eq=False)
class ExplorationMixture:
    """Mixture policy for exploration: mostly the main policy, now and then one of some others."""

    main: Policy
    others: Sequence[Policy]
    share: float
    """Share of decisions that one of the others makes."""

    @property
    def name(self) -> str:
        return f"{self.main.name}, exploring"

    @checked_late
    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        chance = np.concatenate([luck.uniforms("wander", 2) for luck in lucks])
        explores = chance[:, 0] < (self.share if self.others else 0.0)
        stays = np.flatnonzero(~explores).tolist()
        main = ask_many(self.main, [states[i] for i in stays], [lucks[i] for i in stays]) if stays else []
        allocations = dict(zip(stays, main, strict=True))
        for i in np.flatnonzero(explores).tolist():
            allocations[i] = ask(self.others[int(chance[i, 1] * len(self.others))], states[i], lucks[i])
        return [allocations[i] for i in range(len(states))]


def explored(
    world: World,
    policy: Policy,
    rules: Rules,
    *,
    episodes: int,
    states: int,
    thinned: float,
    names: tuple[str | int, ...],
    redated: float | None = None,
) -> StateBatch:
    """States the policy meets; of a share of them only a random few people are kept.

    `redated` is the share whose rounds left are drawn anew; with None states do not say how many rounds are left.
    """
    met = visited(world, policy, rules, named_luck(("explore", *names), episodes))
    if not len(met):
        raise SettingError("states.none_met")
    met = drawn_states(met, states, "explored", *names)
    rng = named_generator("thinned", *names)
    order = rng.permutation(len(met))
    few = round(thinned * len(met))
    mixed = StateBatch.joined([met.take(order[few:]), met.take(order[:few]).thinned(rng)])
    if redated is None:
        return replace(mixed, rounds_left=None)
    return mixed.redated(named_generator("redated", *names), redated, rules.rounds)


def drawn_states(states: StateBatch, count: int, *names: str | int) -> StateBatch:
    """At most `count` of the states, drawn without replacement by the generator of these names."""
    if len(states) <= count:
        return states
    return states.take(np.sort(named_generator(*names).choice(len(states), count, replace=False)))


def simulated_returns(
    world: World, policy: Policy, rules: Rules, discount: float, states: StateBatch, each: int, luck: Luck
) -> NDArray[np.float64]:
    """Discounted rewards of the policy from each state, [states, each]. `luck` has one row per state.

    States that do not say how many rounds are left have all of the rules' before them.
    """
    repeated = states.take(np.repeat(np.arange(len(states)), each))
    episodes = luck_of_copies(luck, each)
    owner = repeated.owner
    ordinals = np.arange(len(owner)) - repeated.first[owner]
    start = Crowd(owner, fold(episodes.keys[owner], ordinals), repeated.covariates)
    played = rollout(
        world, policy, rules, episodes, start=start, budgets=repeated.budgets, rounds_left=repeated.rounds_left
    )
    return played.discounted_rewards(discount).reshape(len(states), each)


def luck_of_copies(luck: Luck, each: int) -> Luck:
    """`each` independent lucks for every row, one row's after another."""
    return Luck(np.repeat(luck.keys, each)).members(np.tile(np.arange(each), len(luck)))


def sampled_recruits(offspring: OffspringModel, parents: Codes, each: int, luck: Luck) -> tuple[Codes, Luck]:
    """Sample `each` recruits of every parent, one parent after another, [parents * each, fields]; with their luck."""
    lucks = luck_of_copies(luck, each)
    return offspring.sample(np.repeat(parents, each, axis=0), lucks), lucks
