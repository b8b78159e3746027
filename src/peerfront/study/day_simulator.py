"""Simulate many studies day by day: coupons on planning days, returns after their own times, interviews from a queue.

Day 0 is today. On planning days (today, and every `planning_days` days after) a policy gives coupons to people who were
interviewed and have none; who gets none waits on. Their recruits come days later, within the coupons' validity; they
are interviewed on the day they come, or in the first week with a free place (first come, first served), and wait for
the next planning day. A coupon presented in time counts even if the interview is later. The last day is the study's
deadline: nobody is interviewed after it.

Everybody has their own luck (`foundation.randomness`): the same person brings the same people at the same times under
every policy, as far as the coupons reach. The tests hold a plain version for one study, written with loops.
"""

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import InfeasibleAllocation
from peerfront.foundation.messages import note
from peerfront.foundation.randomness import Keys, Luck, fold
from peerfront.foundation.settings import at_least, check_fields
from peerfront.models.returns.coupons_seen import sample_returns
from peerfront.problem import Crowd, Frontier
from peerfront.problem.response import UNLIMITED
from peerfront.problem.state import MOST_COUPONS
from peerfront.study.day_models import DrawnModels, place_of
from peerfront.study.day_policies import DayPolicy, Holders, PlanningDay, joined, taken
from peerfront.study.slowing import Brakes
from peerfront.study.study_state import SharesLeft, Standing

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
MOST_DAYS = 3 * 366
"""The longest time that is looked ahead."""
GOES_ON = -1
"""In place of the day on which a study stops."""
_HOLDER = 1 << 32  # member numbers of today's holders start here, far above those of people waiting
_JOINER = 1 << 48  # and those of people who join later, by day
_SEED = 1 << 56  # and those of new seeds
_COMING = 1 << 20  # a holder's recruits still to come, numbered apart from those who came
_WAVE_OF_SEEDS = 2  # as people who are recruited by those who wait today


@dataclass(frozen=True)
class DaySettings:
    """How many days are simulated, and how the study works."""

    days: int
    """Days until the deadline."""
    budget: int
    """Coupons that are left to give out."""
    planning_days: int = 7
    """Days between two planning days."""
    none_wait: bool = True
    """Whether people who get no coupons wait on until the next planning day."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            days=at_least(1, MOST_DAYS),
            budget=at_least(0, MOST_COUPONS),
            planning_days=at_least(1, MOST_DAYS),
        )

    @property
    def ends(self) -> list[int]:
        """The last day of each week (time between two planning days), the deadline included."""
        ends = list(range(self.planning_days, self.days, self.planning_days))
        return [*ends, self.days]


@dataclass(frozen=True, eq=False)
class Joiners:
    """People who get coupons without being recruited in the simulation, such as seeds that are added later.

    Their coupons are given, and do not count against the budget.
    """

    day: Whole  # [people]; coupons come on the next planning day
    covariates: Codes  # [people, fields]
    coupons: Whole  # [people]

    def on(self, first: int, last: int) -> "Joiners":
        own = (self.day >= first) & (self.day <= last) & (self.coupons > 0)
        return Joiners(self.day[own], self.covariates[own], self.coupons[own])


@dataclass(frozen=True, eq=False)
class NewSeeds:
    """Seeds who join on the first planning day after today.

    They are like people who took part so far, drawn by lot in each study, and their coupons come from the budget.
    """

    number: Whole  # [studies]
    coupons: int
    """Of each seed, while they last."""


@dataclass(frozen=True, eq=False)
class DayPaths:
    """The course of each simulated study; a week is the time between two planning days."""

    interviews: Whole  # [studies, days + 1], by day, from today (day 0) on
    arrivals: Whole  # [studies, weeks]
    queue: Whole  # [studies, weeks], waiting for an interview at the end of the week
    spent: Whole  # [studies, weeks], coupons given out at the week's beginning
    open: Whole  # [studies, weeks], coupons open at the week's end
    stopped: Whole  # [studies], the last day of the week in which it stopped by itself, or `GOES_ON`
    """It stops if coupons are left, but nobody waits for any and nobody is still to come, even after the deadline."""
    ends: tuple[int, ...]
    """The last day of each week."""

    @property
    def died(self) -> NDArray[np.bool_]:
        """Whether each study stopped by itself, [studies]."""
        died: NDArray[np.bool_] = self.stopped != GOES_ON
        return died

    @property
    def by_week(self) -> Whole:
        """Interviews of each week, [studies, weeks]."""
        total = np.cumsum(self.interviews, axis=1)[:, list(self.ends)]
        weeks: Whole = np.diff(total, axis=1, prepend=0)
        return weeks

    @property
    def total(self) -> Whole:
        """Interviews in all, [studies]."""
        total: Whole = self.interviews.sum(axis=1)
        return total


@dataclass(frozen=True, eq=False)
class _Coming:
    """People who are still to come, or wait for their interview, of all studies."""

    episode: Whole
    day: Whole
    keys: Keys
    covariates: Codes
    place: Whole
    holder: Whole  # row among the holders


def simulate_days(
    models: DrawnModels,
    standing: Standing,
    policy: DayPolicy,
    settings: DaySettings,
    luck: Luck,
    brakes: Brakes | None = None,
    joiners: Joiners | None = None,
    seeds: NewSeeds | None = None,
) -> DayPaths:
    """Simulate one study for each row of luck, from today to the deadline."""
    return next(simulate_policies(models, standing, [policy], settings, luck, brakes, joiners, seeds))


def simulate_policies(
    models: DrawnModels,
    standing: Standing,
    policies: Iterable[DayPolicy],
    settings: DaySettings,
    luck: Luck,
    brakes: Brakes | None = None,
    joiners: Joiners | None = None,
    seeds: NewSeeds | None = None,
) -> Iterator[DayPaths]:
    """The same for several policies; who comes with coupons that are open today is drawn once for all of them."""
    today = _Simulation(models, standing, settings, luck, brakes, joiners, seeds)
    for policy in policies:
        yield copy(today).run(policy)


class _Simulation:
    """The studies as they are today; `run` plays them on a copy."""

    def __init__(
        self,
        models: DrawnModels,
        standing: Standing,
        settings: DaySettings,
        luck: Luck,
        brakes: Brakes | None,
        joiners: Joiners | None,
        seeds: NewSeeds | None,
    ) -> None:
        self.models, self.standing, self.settings = models, standing, settings
        self.luck, self.joiners, self.seeds, studies = luck, joiners, seeds, len(luck)
        self.too_late = np.zeros(studies, bool)  # whether somebody comes after the deadline
        self.share_left = None if brakes is None else brakes.share_left
        self.limit = np.full(studies, np.inf) if brakes is None else brakes.limit
        number = len(standing.waiting)
        episode = np.repeat(np.arange(studies), number)
        members = np.tile(np.arange(number), studies)
        keys = fold(luck.keys[episode], members)
        self.waiting = Crowd(episode, keys, np.tile(standing.waiting.covariates, (studies, 1)), members)
        self.left = np.append(_acquaintances_left(standing.waiting), UNLIMITED)  # of members; the last: of all others
        self.place = np.tile(place_of(1, standing.trees_waiting, number), studies)  # of those who wait
        self.holders = self._open_holders()
        self.coming = self._still_to_come()
        self.queue = taken(self.coming, np.zeros(0, np.int64))

    def run(self, policy: DayPolicy) -> DayPaths:
        ends, studies = self.settings.ends, len(self.luck)
        self.policy = policy
        self.remaining = np.full(studies, self.settings.budget, dtype=np.int64)
        self.recruited = np.zeros(studies, np.int64)
        self.interviews = np.zeros((studies, self.settings.days + 1), np.int64)
        self.holders = taken(self.holders, np.arange(len(self.holders.keys)))  # a copy: returns are counted in it
        self.too_late = self.too_late.copy()
        arrivals, queue, spent, open_ = (np.zeros((studies, len(ends)), np.int64) for _ in range(4))
        stopped = np.full(studies, GOES_ON)
        begin, before = 0, -1
        for week, end in enumerate(ends):
            if self.seeds is not None and week == 1:
                spent[:, week] = self._let_seeds_join(self.seeds, begin)
            spent[:, week] += self._plan(begin)
            self._let_join(before + 1, begin)
            before = begin
            arrivals[:, week] = self._week(begin + 1, end)
            queue[:, week] = np.bincount(self.queue.episode, minlength=studies)
            now_open = self.holders.open(end)
            open_[:, week] = np.bincount(self.holders.episode, weights=now_open, minlength=studies)
            goes_on = self.too_late | (self.remaining == 0)
            goes_on[np.concatenate([self.waiting.episode, self.queue.episode, self.coming.episode])] = True
            stopped = np.where(goes_on, GOES_ON, np.where(stopped == GOES_ON, end, stopped))
            begin = end
        return DayPaths(self.interviews, arrivals, queue, spent, open_, stopped, tuple(ends))

    # Today ---------------------------------------------------------------------------------------------------------

    def _open_holders(self) -> Holders:
        """The holders of open coupons, in every study."""
        now, studies = self.standing.open, len(self.luck)
        episode = np.repeat(np.arange(studies), len(now))
        keys = fold(self.luck.keys[episode], np.tile(_HOLDER + np.arange(len(now)), studies))
        seen = now.seen
        coupons, returned = np.tile(seen.coupons, studies), np.tile(seen.recruits, studies)
        issued, valid = np.tile(-seen.ages, studies), np.tile(seen.validity, studies)
        people, place = np.tile(now.covariates, (studies, 1)), np.tile(place_of(0, now.trees, len(now)), studies)
        return Holders(episode, keys, people, coupons, returned, issued, valid, place)

    def _still_to_come(self) -> _Coming:
        """Draw who returns with a coupon that is open today, and when."""
        seen, covariates, models = self.standing.open.seen, self.standing.open.covariates, self.models
        parts, place = [], place_of(0, self.standing.open.trees, len(seen))
        for study in range(len(self.luck) if len(seen) else 0):
            own = Luck(self.holders.keys[study * len(seen) : (study + 1) * len(seen)])
            chances = models.count_chances(study, place, covariates, seen.coupons)
            drawn = sample_returns(chances, seen, models.times[models.time_of[study]], own)
            parts.append((study, drawn.holder, drawn.days))
        holder = np.concatenate([study * len(seen) + rows for study, rows, _ in parts]) if parts else np.zeros(0, int)
        days = np.concatenate([each for _, _, each in parts]) if parts else np.zeros(0)
        return self._children(holder.astype(np.int64), days, _COMING)

    def _children(self, holder: Whole, day: Array, first: int) -> _Coming:
        """Recruits of these holders (rows that stand together for one person) who come on these days."""
        starts = np.flatnonzero(np.diff(holder, prepend=-1))
        ordinal = np.arange(len(holder)) - np.repeat(starts, np.diff(starts, append=len(holder)))
        keys = fold(self.holders.keys[holder], first + ordinal)
        kept = day <= self.settings.days  # nobody is interviewed after the deadline
        self.too_late[self.holders.episode[holder[~kept]]] = True
        holder, keys = holder[kept], keys[kept]
        covariates = self.models.models.offspring.sample(self.holders.covariates[holder], Luck(keys))
        episode, place = self.holders.episode[holder], self.holders.place[holder] + 1
        return _Coming(episode, day[kept].astype(np.int64), keys, covariates, place, holder)

    # A planning day, and the days until the next -------------------------------------------------------------------

    def _plan(self, day: int) -> Whole:
        """Give coupons to the people waiting, and draw their recruits; return the coupons given out, [studies]."""
        crowd, studies = self.waiting, len(self.luck)
        if not len(crowd):
            return np.zeros(studies, np.int64)
        is_open = self.holders.open(day) > 0
        moment = PlanningDay(
            day,
            self.settings.days - day,
            crowd,
            self.remaining.copy(),
            self.recruited.copy(),
            taken(self.holders, is_open),
            self.luck,
        )
        coupons = np.asarray(self.policy.hand_out(moment), dtype=np.int64)
        spent = np.bincount(crowd.episode, weights=coupons, minlength=studies).astype(np.int64)
        if coupons.shape != (len(crowd),) or (coupons < 0).any() or (spent > self.remaining).any():
            raise InfeasibleAllocation(self.policy.name, note("outlook.more_than_left"))
        self.remaining -= spent
        given = coupons > 0
        self._issue(crowd.where(given), self.place[given], coupons[given], day)
        on = ~given & self.settings.none_wait
        self.waiting, self.place = crowd.where(on), self.place[on]
        return spent

    def _let_join(self, first: int, day: int) -> None:
        """Give their coupons to people who join from day `first` to this planning day, in every study."""
        if self.joiners is None:
            return
        new, studies = self.joiners.on(first, day), len(self.luck)
        number = len(new.coupons)
        episode = np.repeat(np.arange(studies), number)
        keys = fold(self.luck.keys[episode], np.tile(_JOINER + (day << 16) + np.arange(number), studies))
        crowd = Crowd(episode, keys, np.tile(new.covariates, (studies, 1)))
        self._issue(crowd, np.ones(len(crowd), np.int64), np.tile(new.coupons, studies), day)

    def _let_seeds_join(self, seeds: NewSeeds, day: int) -> Whole:
        """Give their coupons to new seeds; return the coupons given out, [studies]."""
        studies = len(self.luck)
        episode = np.repeat(np.arange(studies), seeds.number)
        place = np.arange(len(episode)) - np.searchsorted(episode, episode)
        keys = fold(self.luck.keys[episode], _SEED + place)
        known = np.concatenate([self.standing.waiting.covariates, self.standing.holders])
        like = (Luck(keys).uniform("whom a new seed is like") * len(known)).astype(np.int64)
        coupons = np.clip(self.remaining[episode] - place * seeds.coupons, 0, seeds.coupons)
        given = coupons > 0
        place = np.full(int(given.sum()), _WAVE_OF_SEEDS)
        self._issue(Crowd(episode, keys, known[like]).where(given), place, coupons[given], day)
        spent = np.bincount(episode, weights=coupons, minlength=studies).astype(np.int64)
        self.remaining -= spent
        return spent

    def _issue(self, given: Crowd, place: Whole, coupons: Whole, day: int) -> None:
        """Hand out coupons, and draw who will come with them and when."""
        first, number = len(self.holders.keys), len(given)
        begins = day + self.standing.active_after_days
        new = Holders(
            given.episode,
            given.keys,
            given.covariates,
            coupons,
            np.zeros(number, np.int64),
            np.full(number, float(begins)),
            np.full(number, self.standing.valid_days),
            place,
        )
        self.holders = joined(self.holders, new)
        if number:
            able = coupons if given.members is None else np.minimum(coupons, self.left[given.members])
            brought = self.models.recruits(given.episode, place, given.covariates, able, given.luck)
            ages = self.models.ages(given.episode, given.luck, int(coupons.max()), self.standing.valid_days)
            person, which = np.nonzero(np.arange(ages.shape[1]) < brought[:, None])
            self.coming = joined(self.coming, self._children(first + person, begins + ages[person, which], 0))

    def _week(self, first: int, last: int) -> Whole:
        """Let people come and be interviewed from day `first` to day `last`; return the arrivals, [studies]."""
        studies = len(self.luck)
        due = self.coming.day <= last
        come, self.coming = taken(self.coming, due), taken(self.coming, ~due)
        if self.share_left is not None:
            come = self._not_recruited_yet(come, self.share_left)
        np.add.at(self.holders.returned, come.holder, 1)
        came = np.bincount(come.episode, minlength=studies)
        self.recruited += came
        line = _first_come(joined(self.queue, come))
        served = _before(line) < _places(self.limit, first, last)[line.episode]
        now, self.queue = taken(line, served), taken(line, ~served)
        # People who waited are interviewed when the week begins, and so are those who come on its planning day.
        np.add.at(self.interviews, (now.episode, np.maximum(now.day, first)), 1)
        self._let_wait(Crowd(now.episode, now.keys, now.covariates), now.place)
        return came

    def _let_wait(self, new: Crowd, place: Whole) -> None:
        """Add people who were interviewed to those who wait for coupons, behind the others of their study."""
        old = self.waiting
        line = np.argsort(np.append(old.episode, new.episode), kind="stable")
        episode, keys = (np.append(getattr(old, name), getattr(new, name))[line] for name in ("episode", "keys"))
        assert old.members is not None, "people who wait have numbers"
        members = np.append(old.members, np.full(len(new), -1))[line]
        self.waiting = Crowd(episode, keys, np.concatenate([old.covariates, new.covariates])[line], members)
        self.place = np.append(self.place, place)[line]

    def _not_recruited_yet(self, come: _Coming, share_left: SharesLeft) -> _Coming:
        """Leave out people who have been recruited before, in the order in which they come."""
        come = _first_come(come)
        for week_counts in (False, True):  # recruits of the same week count once it is known about how many there are
            left = share_left(self.recruited[come.episode] + week_counts * _before(come), come.episode)
            come = taken(come, Luck(come.keys).uniform("not recruited yet") < left)
        return come


def _first_come(people: _Coming) -> _Coming:
    """These people study by study, first come first."""
    return taken(people, np.lexsort((people.keys, people.day, people.episode)))


def _before(people: _Coming) -> Whole:
    """How many of each person's study stand before them, [people]."""
    return np.arange(len(people.keys)) - np.searchsorted(people.episode, people.episode)


def _places(limit: Array, first: int, last: int) -> Array:
    """Interviews that can be held from day `first` to day `last`, by the limit of a week."""
    each = np.minimum(limit, MOST_COUPONS) / 7  # more never come
    places: Array = np.floor(last * each + 0.5) - np.floor((first - 1) * each + 0.5)
    return places


def _acquaintances_left(people: Frontier) -> Whole:
    """How many people each one can bring at most, [people]: what staff asked, where they did."""
    if people.left is None:
        return np.full(len(people), UNLIMITED)
    return np.where(people.left < 0, UNLIMITED, people.left)
