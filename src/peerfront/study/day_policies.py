"""Policies of a simulation by days, and what they see on a planning day.

The plan counts open coupons and the days left; any policy by rounds can be used on planning days, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Keys, Luck
from peerfront.gfp.backup import left_by_frontier, left_uncovered
from peerfront.gfp.planner import Planner
from peerfront.gfp.story import Story
from peerfront.models.returns.coupons_seen import CouponsSeen, count_chances, expected_returns, still_to_come
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.problem import Crowd, Frontier, Policy, Rules, State
from peerfront.problem.episode import ask_many
from peerfront.study.study_state import OpenHolders, part_of, rounds_until

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Rows = TypeVar("Rows", bound="DataclassInstance")
_POLICY = 1 << 40  # a policy draws from a stream that belongs to no person
_HARDLY = 1e-3


def taken(people: Rows, rows: Whole | NDArray[np.bool_]) -> Rows:
    """Some of these people; `people` are a dataclass of arrays with a row each."""
    return type(people)(*(getattr(people, each.name)[rows] for each in fields(people)))


def joined(people: Rows, more: Rows) -> Rows:
    """These people, and then others."""
    return type(people)(
        *(np.concatenate([getattr(people, each.name), getattr(more, each.name)]) for each in fields(people))
    )


@dataclass(frozen=True, eq=False)
class Holders:
    """People with coupons in all simulated studies."""

    episode: Whole  # [holders]
    keys: Keys
    covariates: Codes  # [holders, fields]
    coupons: Whole
    returned: Whole
    """Coupons used so far."""
    issued: Array
    """Day of issue, from which ages count; negative before today."""
    valid: Array
    place: Whole
    """In the waves and trees (`day_models.place_of`)."""

    def open(self, day: int) -> Whole:
        """Coupons that may still be used at the end of a day, [holders]."""
        return np.where(day - self.issued < self.valid, self.coupons - self.returned, 0)


@dataclass(frozen=True, eq=False)
class PlanningDay:
    """What a policy sees of all simulated studies on a planning day."""

    day: int
    days_left: int
    crowd: Crowd
    """People who wait for coupons."""
    remaining: Whole  # [studies], coupons left to give out
    recruited: Whole  # [studies], people who have come since today
    holders: Holders
    """Holders of open coupons."""
    luck: Luck  # [studies]


class DayPolicy(Protocol):
    """A rule that decides who gets how many coupons on a planning day."""

    @property
    def name(self) -> str: ...

    def hand_out(self, moment: PlanningDay) -> Whole:
        """Coupons of each person of the crowd, [people]; no study gives out more than it has left."""
        ...


def left_by_holders(story: Story, holders: OpenHolders, times: ReturnTimes, days_left: float = np.inf) -> Array:
    """The part that each holder's recruits still to come leave uncovered, by one story, [holders, latent].

    Recruits who come after `days_left` days do not count.
    """
    seen = holders.seen
    more = still_to_come(count_chances(story.response, holders.covariates, seen.coupons), seen, times)
    in_time: Array | float = 1.0
    if np.isfinite(days_left):
        in_time = times.chance_by(seen.ages + days_left, seen.ages, 1.0, seen.validity, seen.site_codes)
    return left_uncovered(more, story.uncovered(holders.covariates), in_time)


def may_still_come(seen: CouponsSeen, times: ReturnTimes) -> NDArray[np.bool_]:
    """Mark holders with at least 0.1% of their recruits still to come, [holders]; the others count as finished."""
    return times.survival(seen.ages, seen.validity, seen.site_codes) > _HARDLY


def coming_of(
    planner: Planner, holders: OpenHolders, times: ReturnTimes, days_left: float = np.inf
) -> dict[str, Array] | None:
    """The part that recruits still to come leave uncovered, by story, for `Planner.with_coming`; None without any."""
    rows = np.flatnonzero(may_still_come(holders.seen, times))
    if not len(rows):
        return None
    holders = OpenHolders(part_of(holders.seen, rows), holders.covariates[rows])
    return {story.name: left_by_holders(story, holders, times, days_left).prod(axis=0) for story in planner.stories}


def expected_to_come(planner: Planner, holders: OpenHolders, times: ReturnTimes, days_left: float = np.inf) -> Array:
    """Recruits still to come from each holder's open coupons, averaged over the stories, [holders]."""
    seen, total = holders.seen, np.zeros(len(holders))
    for story in planner.stories:
        chances = count_chances(story.response, holders.covariates, seen.coupons)
        total += story.weight * expected_returns(chances, seen, times, days_left)[:, 0]
    return total


@dataclass(frozen=True, eq=False)
class PlanByDate:
    """The plan of each planning day, with open coupons counted and the rounds that fit until the deadline."""

    planner: Planner
    times: ReturnTimes
    rules: Rules
    """The order's caps, and the most rounds that the value distinguishes."""
    generation: float
    """Days from the coupons of one generation to those of the next."""
    name: str = "plan"

    def hand_out(self, moment: PlanningDay) -> Whole:
        most = self.rules.rounds if self.planner.rounds is None else min(self.rules.rounds, self.planner.rounds)
        rules = replace(self.rules, rounds=rounds_until(moment.days_left, self.generation, most))
        states, living = _states(moment, rules)
        if not states:
            return np.zeros(len(moment.crowd), np.int64)
        coming = self._coming(moment, living)
        parts = self.planner.allocate_many(states, _lucks(moment, living), coming)
        return _spread(moment, living, [part.coupons for part in parts])

    def _coming(self, moment: PlanningDay, living: Whole) -> Array | None:
        """The part that recruits still to come leave uncovered in each `living` study, stories side by side."""
        place = np.full(len(moment.remaining), -1)
        place[living] = np.arange(len(living))
        kept = place[moment.holders.episode] >= 0
        if not kept.any():
            return None
        kept[kept] = may_still_come(_as_seen(taken(moment.holders, kept), moment.day), self.times)
        if not kept.any():
            return None
        holders = taken(moment.holders, kept)
        seen = OpenHolders(_as_seen(holders, moment.day), holders.covariates)
        frontier = place[holders.episode]
        return np.concatenate(
            [
                left_by_frontier(left_by_holders(story, seen, self.times, moment.days_left), frontier, len(living))
                for story in self.planner.stories
            ],
            axis=1,
        )


@dataclass(frozen=True, eq=False)
class ByRule:
    """Any policy by rounds, applied on every planning day to the people who wait then."""

    policy: Policy
    rules: Rules

    @property
    def name(self) -> str:
        return self.policy.name

    def hand_out(self, moment: PlanningDay) -> Whole:
        states, living = _states(moment, self.rules)
        if not states:
            return np.zeros(len(moment.crowd), np.int64)
        parts = ask_many(self.policy, states, _lucks(moment, living))
        return _spread(moment, living, [part.coupons for part in parts])


@dataclass(frozen=True, eq=False)
class SheetToday:
    """Today's coupons as on a sheet, [people who wait today]; later days by another policy."""

    sheet: Whole
    later: DayPolicy
    name: str = "plan"

    def hand_out(self, moment: PlanningDay) -> Whole:
        return self.later.hand_out(moment) if moment.day else np.tile(self.sheet, len(moment.luck))


def _states(moment: PlanningDay, rules: Rules) -> tuple[list[State], Whole]:
    """The states of studies in which somebody waits and coupons are left, and the indices of these studies."""
    there = np.unique(moment.crowd.episode)
    living = there[moment.remaining[there] > 0]
    ends = np.searchsorted(moment.crowd.episode, living, side="right").tolist()
    starts = np.searchsorted(moment.crowd.episode, living, side="left").tolist()
    keys, covariates = moment.crowd.keys, moment.crowd.covariates
    states = [
        State(budget, Frontier(keys[a:b], covariates[a:b]), 0, rules)
        for a, b, budget in zip(starts, ends, moment.remaining[living].tolist(), strict=True)
    ]
    return states, living


def _lucks(moment: PlanningDay, living: Whole) -> list[Luck]:
    lucks = Luck(moment.luck.keys[living]).members(np.full(len(living), _POLICY + moment.day))
    return [lucks.row(number) for number in range(len(lucks))]


def _spread(moment: PlanningDay, living: Whole, parts: Sequence[Whole]) -> Whole:
    """Put the coupons of some studies back into the order of the whole crowd; 0 in the others."""
    coupons = np.zeros(len(moment.crowd), np.int64)
    coupons[np.isin(moment.crowd.episode, living)] = np.concatenate(parts)
    return coupons


def _as_seen(holders: Holders, day: int) -> CouponsSeen:
    """Simulated holders as observed coupons, without the dates of their returns."""
    holder = np.repeat(np.arange(len(holders.keys)), holders.returned)
    ages = np.maximum(day - holders.issued, 0.0)  # coupons that cannot be used yet have age 0
    return CouponsSeen(
        holders.coupons,
        ages,
        holder,
        np.full(len(holder), np.nan),
        holders.valid,
        np.full(len(ages), -1),
    )
