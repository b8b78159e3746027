"""Worlds, where referrals happen, and the two models behind them: how many a person brings with k coupons, and whom.

The models are q and G of Section 2. A learned pair makes the planning environment, the true pair the testing
environment; policies never know which one they face. Many episodes are played at once, so the people of all of them
stand in one `Crowd`.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.checked_calls import checked_class
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.own_parts import name_of
from peerfront.foundation.randomness import Keys, Luck, fold
from peerfront.foundation.settings import whole_number
from peerfront.problem.response import ResponseModel
from peerfront.problem.state import MOST_PEOPLE


class OffspringModel(Protocol):
    """The covariates of a recruit, x' ~ G(. | x)."""

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        """One child per parent row, [children, fields]; `luck` is keyed by the child."""
        ...


@dataclass(frozen=True, slots=True)
class Crowd:
    """The frontiers of many episodes, one after another: person i stands on the frontier of `episode[i]`."""

    episode: NDArray[np.int64]  # [people], nondecreasing
    keys: Keys  # [people], the lineage of each
    covariates: Codes  # [people, fields]
    members: NDArray[np.int64] | None = None  # [people], which member of a finite population each one is
    memory: Any = None
    """What the world has to remember between rounds (a network: who has been recruited). Policies never see it."""

    def __len__(self) -> int:
        return len(self.keys)

    def where(self, kept: NDArray[np.bool_]) -> "Crowd":
        """The people who are kept, with the same memory."""
        members = None if self.members is None else self.members[kept]
        return Crowd(self.episode[kept], self.keys[kept], self.covariates[kept], members, self.memory)

    @property
    def luck(self) -> Luck:
        return Luck(self.keys)


@dataclass(frozen=True, slots=True)
class Referrals:
    """What came of a round: how many each person brought, N_i(k_i), and the next frontier."""

    recruits: NDArray[np.int64]  # [people]
    next_crowd: Crowd
    parent: NDArray[np.int64]  # [recruits], who brought each member of the next crowd


class World(Protocol):
    """Where an episode takes place.

    `response` and `offspring` are what a planner who knows this world may use. In a world of independent referrals
    they are also what happens; in a finite network they are an approximation, because there the past matters. Worlds
    are compared by identity, so they can be keys of a cache.

    >>> world = pf.make_world("bridge")
    >>> luck = pf.named_luck(("people",), 3)
    >>> world.population(luck).shape == (3, len(world.schema.fields))
    True
    """

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def response(self) -> ResponseModel: ...
    @property
    def offspring(self) -> OffspringModel: ...

    def population(self, luck: Luck) -> Codes:
        """Covariates of one person drawn like a first recruit for each row of luck, [rows, fields]."""
        ...

    def seeds(self, episodes: Luck, people: int) -> Crowd:
        """The first frontier of each episode. Asking for more people never changes the earlier ones."""
        ...

    def refer(self, crowd: Crowd, coupons: NDArray[np.int64]) -> Referrals:
        """Give person i `coupons[i]` and see who comes."""
        ...


def check_numbers(crowd: Crowd, numbers: NDArray[np.int64]) -> None:
    """Refuse anything but one number of coupons or recruits for each person."""
    if numbers.shape != (len(crowd),) or (numbers < 0).any():
        raise SettingError("crowd.other_numbers", people=len(crowd), shape=str(numbers.shape))


class SeedModel(Protocol):
    """Where first recruits come from: one person for each row of luck."""

    def sample(self, luck: Luck) -> Codes: ...


@checked_class
@dataclass(frozen=True, eq=False)  # compared by identity: arrays have no single truth value
class BranchingWorld:
    """A response model and an offspring model, and independent referrals: the world of the paper, true or learned.

    >>> world = model.fit.world(model.frontier(study.waiting)).inner  # the models of a fit, and its people
    >>> type(world).__name__, world.schema.names[:2]
    ('BranchingWorld', ('gender', 'age_group'))
    """

    name: str
    schema: Schema
    response: ResponseModel
    offspring: OffspringModel
    seed_model: SeedModel

    def population(self, luck: Luck) -> Codes:
        return self.seed_model.sample(luck)

    def seeds(self, episodes: Luck, people: int) -> Crowd:
        people = whole_number("people", people, 0, MOST_PEOPLE)
        episode = np.repeat(np.arange(len(episodes)), people)
        ordinals = np.tile(np.arange(people), len(episodes))
        keys = fold(episodes.keys[episode], ordinals)
        return Crowd(episode, keys, self.population(Luck(keys)))

    def refer(self, crowd: Crowd, coupons: NDArray[np.int64]) -> Referrals:
        check_numbers(crowd, coupons)
        return self.brought(crowd, self.response.sample(crowd.covariates, coupons, crowd.luck))

    def brought(self, crowd: Crowd, recruits: NDArray[np.int64]) -> Referrals:
        """The people that come if person i brings `recruits[i]`."""
        check_numbers(crowd, recruits)
        parent = np.repeat(np.arange(len(crowd)), recruits)
        first_child = np.cumsum(recruits) - recruits
        ordinals = np.arange(len(parent)) - first_child[parent]
        keys = fold(crowd.keys[parent], ordinals)
        recruiters = crowd.covariates[parent]
        # Policies that are played side by side meet the same people, who need be drawn only once. Whoever starts
        # different people with the same luck (common random numbers) gets a recruit for each.
        people, first, who = np.unique(keys, return_index=True, return_inverse=True)
        if len(people) < len(keys) and np.array_equal(recruiters[first][who], recruiters):
            children = self.offspring.sample(recruiters[first], Luck(people))[who]
        else:
            children = self.offspring.sample(recruiters, Luck(keys))
        return Referrals(recruits, Crowd(crowd.episode[parent], keys, children), parent)


@dataclass(frozen=True, eq=False)
class FirstRecruits:
    """First recruits of another world: a study knows them before it plans."""

    world: World

    def sample(self, luck: Luck) -> Codes:
        return self.world.population(luck)


def with_independent_referrals(world: World) -> World:
    """The world itself if referrals are independent there, else its models without its memory.

    A finite network remembers who has been recruited, so an episode cannot start from any state; learning a value from
    simulated returns needs that.
    """
    if isinstance(world, BranchingWorld):
        return world
    return BranchingWorld(name_of(world), world.schema, world.response, world.offspring, FirstRecruits(world))
