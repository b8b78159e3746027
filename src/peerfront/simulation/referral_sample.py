"""Referral samples from a network whose truth is known: who came, who brought them, and with how many coupons.

`network_studies` plays whole studies, round by round under a policy. `referral_sample` follows the field instead:
people are interviewed one after another, in the order in which they came. Everybody gets the coupons that a rule says,
and gives each to an acquaintance who has not taken part, picked at random; somebody who was given a coupon comes with
the same chance whoever gave it. When nobody is left to interview, another seed joins.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import proportion, whole_number
from peerfront.problem import Policy, Round, Rules, rollout
from peerfront.simulation.network import NetworkWorld
from peerfront.simulation.society import Society


@dataclass(frozen=True)
class ReferralSample:
    """Who was sampled, in the order in which they came; one entry per person in every array."""

    members: NDArray[np.int64]  # [people], places in the society
    recruiter: NDArray[np.int64]  # [people], places in this sample; -1 for seeds
    coupons: NDArray[np.int64]  # [people], coupons given out; -1 for people who were never interviewed


def referral_sample(
    society: Society,
    coupons: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    people: int = 400,
    seeds: int = 10,
    chance: float = 0.6,
    seed_weights: NDArray[np.float64] | None = None,
) -> ReferralSample:
    """Draw a sample; member i of the society gets `coupons[i]` coupons, if they are interviewed.

    Seeds are drawn uniformly, or in proportion to `seed_weights`.
    """
    n_members = len(society)
    people, seeds = whole_number("people", people, 1, n_members), whole_number("seeds", seeds, 1, people)
    chance = proportion("chance", chance)
    if len(coupons) != n_members or (np.asarray(coupons) < 0).any():
        raise SettingError("network_world.coupons_for_everybody", people=n_members)
    order = _seed_order(n_members, seed_weights, rng)
    taken = np.zeros(n_members, dtype=bool)
    members: list[int] = []
    recruiter: list[int] = []
    given: list[int] = []
    waiting: deque[int] = deque()

    def join(member: int, by: int) -> None:
        taken[member] = True
        waiting.append(len(members))
        members.append(member)
        recruiter.append(by)
        given.append(-1)

    fresh = iter(order)
    for _ in range(seeds):
        join(next(fresh), -1)
    while len(members) < people:
        if not waiting:
            join(next(member for member in fresh if not taken[member]), -1)
            continue
        person = waiting.popleft()
        number = int(coupons[members[person]])
        given[person] = number
        acquaintances = society.acquaintances_of(members[person])
        free = acquaintances[~taken[acquaintances]]
        if not number or not len(free):
            continue
        asked = rng.permutation(free)[:number] if len(free) > 1 else free
        for member in asked[rng.random(len(asked)) < chance].tolist():
            if len(members) < people:
                join(member, person)
    return ReferralSample(np.array(members), np.array(recruiter), np.array(given))


def _seed_order(n_members: int, weights: NDArray[np.float64] | None, rng: np.random.Generator) -> list[int]:
    """Everybody in the random order in which they would be asked to be a seed; weights of 0 come last."""
    keys = rng.random(n_members)
    if weights is not None:
        keys = np.log(keys) / np.maximum(weights, 1e-12)
        keys = -keys
    return [int(member) for member in np.argsort(keys)]


# Whole studies under a policy ------------------------------------------------------------------------------------


_NOBODY = -1


@dataclass(eq=False)
class _Tree:
    """Who has come so far in one study."""

    place: NDArray[np.int64]  # [members], place in the sample; _NOBODY for those who have not come
    members: list[int]
    recruiter: list[int]
    coupons: list[int]

    def join(self, member: int, recruiter: int) -> None:
        self.place[member] = len(self.members)
        self.members.append(member)
        self.recruiter.append(recruiter)
        self.coupons.append(_NOBODY)

    def sample(self, people: int | None) -> ReferralSample:
        return ReferralSample(
            *(np.array(column[:people], dtype=np.int64) for column in (self.members, self.recruiter, self.coupons))
        )


def network_studies(
    world: NetworkWorld, policy: Policy, rules: Rules, luck: Luck, people: int | None = None
) -> list[ReferralSample]:
    """Play a study for each row of luck and say who came, in the order in which they came.

    A study ends when its coupons are used up, nobody is left who could refer, or the rounds are over; with `people`,
    only those who came first are kept, as if interviews ended then.
    """
    if people is not None and people < rules.people:
        raise SettingError("network_world.sample_below_seeds", people=people, seeds=rules.people)
    n_members = len(world.society)
    trees = [_Tree(np.full(n_members, _NOBODY), [], [], []) for _ in range(len(luck))]

    def watch(played: Round) -> None:
        crowd, members = played.crowd, played.crowd.members
        next_members = played.referrals.next_crowd.members
        assert members is not None, "people of a network are its members"
        assert next_members is not None, "people of a network are its members"
        episodes = crowd.episode.tolist()
        for episode, member, coupons in zip(episodes, members.tolist(), played.coupons.tolist(), strict=True):
            tree = trees[episode]
            if tree.place[member] == _NOBODY:
                tree.join(member, _NOBODY)  # a seed
            tree.coupons[tree.place[member]] = coupons
        for parent, member in zip(played.referrals.parent.tolist(), next_members.tolist(), strict=True):
            tree = trees[episodes[parent]]
            tree.join(member, int(tree.place[members[parent]]))

    rollout(world, policy, rules, luck, watch=watch)
    return [tree.sample(people) for tree in trees]
