"""Whole studies on a network whose truth is known, round by round under a policy, kept as referral samples."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck
from peerfront.problem import Policy, Round, Rules, rollout
from peerfront.simulation.network import NetworkWorld
from peerfront.simulation.referral_sample import ReferralSample

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
