"""A made-up study that runs on a calendar: people get coupons on some day, and their recruits come days later.

Unlike a world, it has no rounds: `table` is the study's file as it is on a day, `hand_out` gives coupons to people who
have taken part, and time passes between the two. Interviews are held on weekdays. The same person brings the same
people at the same times whatever others get, so that ways to hand out coupons can be compared in pairs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Keys, Luck, fold, named_luck
from peerfront.problem import BranchingWorld, Crowd

NOBODY = -1


class ReturnDays(Protocol):
    """When recruits come: `models.returns.return_times.ReturnTimes` is one."""

    def sample(self, luck: Luck, returns: int, valid_days: float) -> NDArray[np.float64]:
        """Days from issue to the interview of each person's recruits, [people, returns]."""
        ...


@dataclass(eq=False)
class CalendarStudy:
    """People who took part, and those who will; days count from the first."""

    world: BranchingWorld
    times: ReturnDays
    first: date
    """The day on which the seeds take part."""
    seeds: int
    name: str = "field study"
    """Names its luck."""
    valid_days: float = np.inf
    ids: list[str] = field(default_factory=list, init=False)
    _recruiter: list[int] = field(default_factory=list, init=False)
    _day: list[int] = field(default_factory=list, init=False)  # of the interview
    _issued: dict[int, tuple[int, int]] = field(default_factory=dict, init=False)  # person: coupons, day
    _keys: Keys = field(init=False)
    _codes: Codes = field(init=False)

    def __post_init__(self) -> None:
        self._keys = fold(named_luck((self.name,), 1).keys, np.arange(self.seeds))
        self._codes = self.world.population(Luck(self._keys))
        self._join([NOBODY] * self.seeds, [0] * self.seeds)

    def table(self, day: date) -> pd.DataFrame:
        """The study's file on a day: id, recruiter, coupons_issued, issued_date, date, and the fields."""
        now = (day - self.first).days
        here = [person for person, own in enumerate(self._day) if own <= now]
        issued = [self._issued.get(person, (0, 0)) for person in here]
        tree = pd.DataFrame(
            {
                "id": [self.ids[person] for person in here],
                "recruiter": [self._named(self._recruiter[person]) for person in here],
                "coupons_issued": [str(number if when <= now else 0) for number, when in issued],
                "issued_date": [self._text(when) if number and when <= now else "" for number, when in issued],
                "date": [self._text(self._day[person]) for person in here],
            },
            dtype=object,
        )
        answers = pd.DataFrame(self.world.schema.decode(self._codes[here]), dtype=object)
        return pd.concat([tree, answers], axis=1).sort_values("date", kind="stable", ignore_index=True)

    def enrolled(self, day: date) -> int:
        """People who have taken part by a day."""
        return sum(own <= (day - self.first).days for own in self._day)

    def hand_out(self, day: date, coupons: Mapping[str, int]) -> None:
        """Give coupons to people on a day; their recruits come from the next one on."""
        now, place = (day - self.first).days, {person: number for number, person in enumerate(self.ids)}
        people = [place[person] for person, number in coupons.items() if number > 0]
        early = [self.ids[person] for person in people if self._day[person] > now or person in self._issued]
        if early:
            raise ValueError(f"{early[0]} has not taken part by {day}, or has coupons already")
        if not people:
            return
        given = np.array([coupons[self.ids[person]] for person in people])
        self._issued |= {person: (int(number), now) for person, number in zip(people, given, strict=True)}
        crowd = Crowd(np.zeros(len(people), np.int64), self._keys[people], self._codes[people])
        referrals = self.world.refer(crowd, given)
        ages = self.times.sample(crowd.luck, int(given.max()), self.valid_days)
        place_of = np.arange(len(referrals.parent)) - np.searchsorted(referrals.parent, referrals.parent)
        later = now + np.maximum(ages[referrals.parent, place_of], 1.0).astype(np.int64)
        self._keys = np.concatenate([self._keys, referrals.next_crowd.keys])
        self._codes = np.concatenate([self._codes, referrals.next_crowd.covariates])
        self._join([people[parent] for parent in referrals.parent], [self._on_weekday(day) for day in later.tolist()])

    def _join(self, recruiters: list[int], days: list[int]) -> None:
        self.ids += [f"P{len(self.ids) + number + 1:04d}" for number in range(len(days))]
        self._recruiter += recruiters
        self._day += days

    def _on_weekday(self, day: int) -> int:
        weekday = (self.first + timedelta(days=day)).weekday()
        return day + max(7 - weekday, 0) if weekday > 4 else day

    def _named(self, person: int) -> str:
        return "" if person == NOBODY else self.ids[person]

    def _text(self, day: int) -> str:
        return (self.first + timedelta(days=day)).isoformat()
