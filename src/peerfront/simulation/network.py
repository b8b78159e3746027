"""Recruitment without replacement over a finite network: everybody can be recruited once.

A person is willing to bring D ~ Poisson people (the paper's softplus oracle over this population), brings as many as
coupons and still-unrecruited acquaintances allow, and picks uniformly among those. In other stories
(`coupon_stories`) somebody who gets a coupon comes with a chance P. People act in a random order each
round, so two friends of the same person do not both recruit them. Luck is keyed by the member, not by the lineage:
here the same human being can be reached by different ways under different policies, and stays the same human being.

What a planner may know is an approximation (`capacity`, `offspring`): willingness and how many acquaintances people
of this kind have, but not who has been recruited already.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.checked_calls import checked_late
from peerfront.foundation.counts import count_from_survival
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Keys, Luck, fold, named_generator
from peerfront.foundation.settings import mean_rate, spread, whole_number
from peerfront.problem import BinomialResponse, Crowd, Policy, Referrals, ResponseModel, Round, Rules, rollout
from peerfront.problem.world import check_numbers
from peerfront.simulation.coupon_stories import PAPER, CouponStory
from peerfront.simulation.icpsr22140 import calibrated
from peerfront.simulation.society import BANDS, NETWORK_SIZE, Society

_NOBODY = -1


@dataclass(frozen=True)
class NetworkCapacity(BinomialResponse):
    """P(C >= l) from covariates alone: willing to bring l people, and knowing at least l, given the network size.

    The chance P that somebody uses a coupon, where it is not 1, is the willingness's. A willingness of another kind
    says how many people somebody turns to, given the number of coupons, and nothing to planners.
    """

    willingness: ResponseModel
    knows_at_least: NDArray[np.float64]  # [bands, largest degree], P(degree >= l | band)

    def survival(self, covariates: Codes, max_coupons: int) -> NDArray[np.float64]:
        table = np.zeros((len(covariates), max_coupons))
        most = min(max_coupons, self.knows_at_least.shape[1])
        willing = self._binomial.survival(covariates, most)
        table[:, :most] = willing * self.knows_at_least[covariates[:, -1], :most]
        return table

    @property
    def _binomial(self) -> BinomialResponse:
        assert isinstance(self.willingness, BinomialResponse), "planners know capacities and chances of use"
        return self.willingness

    def wanted(self, covariates: Codes, coupons: NDArray[np.int64], luck: Luck) -> NDArray[np.int64]:
        """How many people each person turns to with these coupons, [people]."""
        if not isinstance(self.willingness, BinomialResponse):
            return self.willingness.sample(covariates, coupons, luck)
        return np.minimum(coupons, self.willingness.capacities(covariates, luck))

    def capacities(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        return count_from_survival(luck.uniform("capacity"), self.survival(covariates, self.knows_at_least.shape[1]))

    def chances(self, covariates: Codes, degree: int) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        return self._binomial.chances(covariates, degree)

    def drawn_chances(self, covariates: Codes, luck: Luck) -> NDArray[np.float64] | None:
        if not isinstance(self.willingness, BinomialResponse):
            return None
        return self.willingness.drawn_chances(covariates, luck)


@dataclass(frozen=True)
class NetworkOffspring:
    """A recruit is an acquaintance of a member with the recruiter's covariates, or the nearest ones there are."""

    society: Society

    @cached_property
    def _sociable(self) -> NDArray[np.int64]:
        """Members who know somebody: the only ones who can recruit."""
        return np.flatnonzero(self.society.degrees)

    @cached_property
    def _alike(self) -> dict[bytes, NDArray[np.int64]]:
        groups: dict[bytes, list[int]] = {}
        for member in self._sociable:
            groups.setdefault(self.society.covariates[member].tobytes(), []).append(int(member))
        return {key: np.array(members) for key, members in groups.items()}

    def _members_like(self, row: Codes) -> NDArray[np.int64]:
        exact = self._alike.get(row.tobytes())
        if exact is not None:
            return exact
        differences = (self.society.covariates[self._sociable] != row).sum(axis=1)
        nearest: NDArray[np.int64] = self._sociable[differences == differences.min()]
        return nearest

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        if not len(parents):
            return parents
        if not len(self._sociable):
            raise SettingError("network_world.no_ties")
        rows, inverse = np.unique(parents, axis=0, return_inverse=True)
        candidates = [self._members_like(row) for row in rows]
        uniforms = luck.uniforms("offspring", 2)
        children = np.empty(len(parents), dtype=np.int64)
        for child, (which, (u, v)) in enumerate(zip(inverse.reshape(-1), uniforms, strict=True)):
            alike = candidates[which]
            acquaintances = self.society.acquaintances_of(int(alike[int(u * len(alike))]))
            children[child] = acquaintances[int(v * len(acquaintances))]
        return self.society.covariates[children]


@dataclass(frozen=True, slots=True)
class _Memory:
    """Members recruited so far in each episode, and the episodes' keys, from which members' keys are made."""

    recruited: NDArray[np.bool_]  # [episodes, members]
    episode_keys: Keys  # [episodes]


@dataclass(frozen=True, eq=False)  # compared by identity: arrays have no single truth value
class NetworkWorld:
    """Episodes of recruitment over one society."""

    name: str
    society: Society
    response: NetworkCapacity
    offspring: NetworkOffspring

    @property
    def schema(self) -> Schema:
        return self.society.schema

    @checked_late
    def population(self, luck: Luck) -> Codes:
        return self.society.covariates[(luck.uniform("seed") * len(self.society)).astype(np.int64)]

    @checked_late
    def seeds(self, episodes: Luck, people: int) -> Crowd:
        if not 0 <= people <= len(self.society):
            raise SettingError("network_world.too_few_people", wanted=people, people=len(self.society))
        order = np.argsort(episodes.uniforms("seeds", len(self.society)), axis=1)[:, :people]
        recruited = np.zeros((len(episodes), len(self.society)), dtype=bool)
        np.put_along_axis(recruited, order, True, axis=1)
        episode = np.repeat(np.arange(len(episodes)), people)
        return self._crowd(episode, order.reshape(-1), _Memory(recruited, episodes.keys))

    @checked_late
    def refer(self, crowd: Crowd, coupons: NDArray[np.int64]) -> Referrals:
        check_numbers(crowd, coupons)
        if crowd.members is None or not isinstance(crowd.memory, _Memory):
            raise SettingError("crowd.of_another_world")
        memory: _Memory = crowd.memory
        recruited = memory.recruited.copy()
        wanted = self.response.wanted(crowd.covariates, coupons, crowd.luck)
        comes = self._comes(crowd, wanted)
        turn = np.lexsort((crowd.luck.uniform("turn"), crowd.episode))
        acting = turn[wanted[turn] > 0]
        candidates, first = self._preferences(crowd.members[acting], crowd.keys[acting])
        brought: list[list[int]] = [[] for _ in range(len(crowd))]
        for place, person in enumerate(acting.tolist()):
            taken, given = recruited[crowd.episode[person]], 0
            for candidate in candidates[first[place] : first[place + 1]]:
                if given == wanted[person]:
                    break
                if not taken[candidate]:
                    if comes is None or comes[person, given]:
                        taken[candidate] = True
                        brought[person].append(candidate)
                    given += 1
        recruits = np.array([len(members) for members in brought], dtype=np.int64)
        parent = np.repeat(np.arange(len(crowd)), recruits)
        children = np.array([member for members in brought for member in members], dtype=np.int64)
        next_crowd = self._crowd(crowd.episode[parent], children, _Memory(recruited, memory.episode_keys))
        return Referrals(recruits, next_crowd, parent)

    def _comes(self, crowd: Crowd, wanted: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Whether whoever gets a person's first, second, ... coupon comes, [people, coupons]; None where all do."""
        chances = self.response.drawn_chances(crowd.covariates, crowd.luck)
        if chances is None:
            return None
        most = min(int(wanted.max(initial=0)), int(self.society.degrees.max()))
        comes: NDArray[np.bool_] = crowd.luck.uniforms("coupons used", most) < chances[:, None]
        return comes

    def _preferences(self, members: NDArray[np.int64], keys: Keys) -> tuple[list[int], list[int]]:
        """Everybody's acquaintances in the random order in which they would be asked, one after another.

        Those of person i are `candidates[first[i] : first[i + 1]]`.
        """
        degrees = self.society.degrees[members]
        first = np.concatenate([[0], np.cumsum(degrees)])
        owner = np.repeat(np.arange(len(members)), degrees)
        within = np.arange(len(owner)) - first[owner]
        acquaintances = self.society.acquaintances[self.society.first[members][owner] + within]
        order = Luck(fold(keys[owner], acquaintances)).uniform("invitation")
        return acquaintances[np.lexsort((order, owner))].tolist(), first.tolist()

    def _crowd(self, episode: NDArray[np.int64], members: NDArray[np.int64], memory: _Memory) -> Crowd:
        keys = fold(memory.episode_keys[episode], members)
        return Crowd(episode, keys, self.society.covariates[members], members, memory)


def network_world(
    society: Society,
    *,
    draw: int = 0,
    sigma: float = 1.0,
    willingness: float = 2.5,
    story: CouponStory = PAPER,
) -> NetworkWorld:
    """The world of a society: a softplus oracle for willingness (mean `willingness`), drawn by `draw`.

    `story` says what a coupon does.
    """
    draw = whole_number("draw", draw, 0)
    sigma, willingness = spread("sigma", sigma), mean_rate("willingness", willingness)
    schema = society.schema
    weights = named_generator("network", "weights", draw).standard_normal(schema.columns) * sigma
    weights[schema.offsets[-1] :] = 0.0  # willingness is about people, not about how many they know
    return world_of_society(society, story.response_of(calibrated(schema, weights, society.covariates, willingness)))


def world_of_society(society: Society, willing: ResponseModel) -> NetworkWorld:
    """The world of a society in which people are willing to bring others as this response says."""
    largest = max(int(society.degrees.max()), 1)
    at_least = society.degrees[:, None] >= np.arange(1, largest + 1)
    knows = np.tile(at_least.mean(axis=0), (max(len(BANDS), int(society.schema.sizes[-1])), 1))
    if society.schema.names[-1] == NETWORK_SIZE:  # people of a fitted model may be known by other fields alone
        for band in np.unique(society.covariates[:, -1]):
            knows[band] = at_least[society.covariates[:, -1] == band].mean(axis=0)
    return NetworkWorld("network", society, NetworkCapacity(willing, knows), NetworkOffspring(society))


# Who brought whom in whole studies ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReferralSample:
    """Who was sampled, in the order in which they came; one entry per person in every array."""

    members: NDArray[np.int64]  # [people], places in the society
    recruiter: NDArray[np.int64]  # [people], places in this sample; -1 for seeds
    coupons: NDArray[np.int64]  # [people], coupons given out; -1 for people who were never interviewed


def network_studies(
    world: NetworkWorld, policy: Policy, rules: Rules, luck: Luck, people: int | None = None
) -> list[ReferralSample]:
    """Play a study for each row of luck and say who came, in the order in which they came.

    A study ends when its coupons are used up, nobody is left who could refer, or the rounds are over; with `people`,
    only those who came first are kept, as if interviews ended then.
    """
    if people is not None and people < rules.people:
        raise SettingError("network_world.sample_below_seeds", people=people, seeds=rules.people)
    place = np.full((len(luck), len(world.society)), _NOBODY)  # [studies, members], place in the sample
    samples: list[list[list[int]]] = [[[], [], []] for _ in range(len(luck))]  # members, recruiter, coupons

    def join(study: int, member: int, recruiter: int) -> None:
        place[study, member] = len(samples[study][0])
        for column, value in zip(samples[study], (member, recruiter, _NOBODY), strict=True):
            column.append(value)

    def watch(played: Round) -> None:
        crowd, members = played.crowd, played.crowd.members
        next_members = played.referrals.next_crowd.members
        assert members is not None, "people of a network are its members"
        assert next_members is not None, "people of a network are its members"
        studies = crowd.episode.tolist()
        for study, member, coupons in zip(studies, members.tolist(), played.coupons.tolist(), strict=True):
            if place[study, member] == _NOBODY:
                join(study, member, _NOBODY)  # a seed
            samples[study][2][place[study, member]] = coupons
        for parent, member in zip(played.referrals.parent.tolist(), next_members.tolist(), strict=True):
            join(studies[parent], member, int(place[studies[parent], members[parent]]))

    rollout(world, policy, rules, luck, watch=watch)
    return [ReferralSample(*(np.array(column[:people], dtype=np.int64) for column in columns)) for columns in samples]
