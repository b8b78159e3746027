"""A small study on one of its days, with coupons that are out; and a plain simulation by days, in loops."""

from datetime import date
from functools import cache

import numpy as np

from peerfront.foundation.randomness import Luck, fold, named_generator, named_luck
from peerfront.models.returns.coupons_seen import CouponsSeen, sample_returns
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.study.day_models import DayModels, DrawnModels, place_of
from peerfront.study.day_simulator import GOES_ON, DaySettings
from peerfront.study.slowing import Brakes
from peerfront.study.study_state import Standing
from study.small_advice import a_fit, a_frontier


def some_times(draws: int = 7) -> ReturnTimes:
    """Return times like those that were published, known as well as after a few weeks."""
    rng = named_generator("some times", draws)
    points = np.log([12.0, 1.0]) + rng.standard_normal((draws, 2)) * [0.2, 0.1]
    return ReturnTimes("lognormal", 12.0, 1.0, draws=points)


@cache
def a_standing(waiting: int = 6, holders: int = 12, valid: float = 45.0, seed: int = 1) -> Standing:
    """So many people wait, and so many have had coupons, some of which are open."""
    rng, fit = named_generator("a standing", seed), a_fit()
    codes = (rng.random((holders, len(fit.schema.sizes))) * fit.schema.sizes).astype(np.int16)
    coupons = rng.integers(1, 4, holders)
    ages = rng.integers(0, 60, holders).astype(np.float64)
    returned = np.minimum(rng.integers(0, 3, holders), np.where(ages > 5, coupons, 0))
    holder = np.repeat(np.arange(holders), returned)
    return_ages = np.floor(rng.random(len(holder)) * np.minimum(ages[holder], valid))
    seen = CouponsSeen(coupons, ages, holder, return_ages, np.full(holders, valid))
    return Standing(date(2027, 1, 4), a_frontier(waiting), seen, codes, 40, valid)


def drawn_models(
    studies: int = 30, exact: bool = False, stories: tuple[str, ...] = ("capacity", "per_coupon")
) -> tuple[DrawnModels, Luck]:
    luck = named_luck(("days", studies), studies)
    models = DayModels.of(a_fit(*stories), some_times())
    return DrawnModels.of(models, a_standing().seen, luck, exact=exact), luck


def at_most(interviews_per_week: float | None, studies: int) -> Brakes:
    """Studies with a limit of interviews, and enough people."""
    limit = np.full(studies, np.inf if interviews_per_week is None else interviews_per_week)
    return Brakes(lambda recruited, study: np.ones(len(recruited)), limit)


def plain_study(
    models: DrawnModels,
    standing: Standing,
    policy,
    settings: DaySettings,
    luck: Luck,
    study: int,
    brakes=None,
    seeds=None,
):
    """One study day by day, person by person: interviews by day, arrivals, queue, spent and open by week, its end."""
    key = luck.keys[study : study + 1]
    one = Luck(key)
    places = place_of(1, standing.trees_waiting, len(standing.waiting))
    people = [  # key, covariates, wave
        (int(fold(key, np.array([n]))[0]), standing.waiting.covariates[n], int(places[n]))
        for n in range(len(standing.waiting))
    ]
    now = standing.open
    holders, coming = [], []  # dicts; (day, key, codes, wave, holder)
    for n in range(len(now)):
        own = int(fold(key, np.array([(1 << 32) + n]))[0])
        seen = now.seen
        holders.append(
            {
                "key": own,
                "codes": now.covariates[n],
                "coupons": int(seen.coupons[n]),
                "returned": int(seen.recruits[n]),
                "issued": -seen.ages[n],
                "valid": seen.validity[n],
                "wave": int(place_of(0, now.trees, len(now))[n]),
            }
        )

    def child(holder: int, ordinal: int, day: float) -> None:
        own = fold(np.array([holders[holder]["key"]], np.uint64), np.array([ordinal]))
        codes = models.models.offspring.sample(holders[holder]["codes"][None], Luck(own))[0]
        coming.append((int(day), int(own[0]), codes, holders[holder]["wave"] + 1, holder))

    if len(now):
        chances = models.count_chances(study, place_of(0, now.trees, len(now)), now.covariates, now.seen.coupons)
        keys = Luck(np.array([each["key"] for each in holders], np.uint64))
        drawn = sample_returns(chances, now.seen, models.times[models.time_of[study]], keys)
        for n in range(len(now)):
            for ordinal, day in enumerate(drawn.days[drawn.holder == n].tolist()):
                child(n, (1 << 20) + ordinal, day)
    interviews = [0] * (settings.days + 1)
    remaining, recruited = settings.budget, 0
    arrivals, queues, spents, opens = [], [], [], []
    queue: list = []  # day, key, codes, wave
    begin, stopped = 0, GOES_ON
    known = np.concatenate([standing.waiting.covariates, standing.holders])

    def issue(own: int, codes, wave: int, number: int) -> None:
        luck_ = Luck(np.array([own], np.uint64))
        start = begin + standing.active_after_days
        holders.append(
            {
                "key": own,
                "codes": codes,
                "coupons": int(number),
                "returned": 0,
                "issued": start,
                "valid": standing.valid_days,
                "wave": wave,
            }
        )
        who = np.array([study])
        brought = int(models.recruits(who, np.array([wave]), codes[None], np.array([number]), luck_)[0])
        ages = models.ages(who, luck_, int(number), standing.valid_days)[0]
        for ordinal in range(brought):
            child(len(holders) - 1, ordinal, start + ages[ordinal])

    for week, end in enumerate(settings.ends):
        spent = 0
        for place in range(seeds.number[study] if seeds is not None and week == 1 else 0):
            own = fold(key, np.array([(1 << 56) + place]))
            like = known[int(Luck(own).uniform("whom a new seed is like")[0] * len(known))]
            number = min(seeds.coupons, remaining)
            if number:
                issue(int(own[0]), like, 2, number)
            remaining -= number
            spent += number
        coupons = [0] * len(people)
        if people:
            coupons = policy.one(begin, settings.days - begin, people, remaining, holders, study, one)
            for person, number in zip(people, coupons, strict=True):
                if number:
                    issue(*person, number)
            remaining -= int(sum(coupons))
            spent += int(sum(coupons))
        people = [person for person, number in zip(people, coupons, strict=True) if number == 0]
        came = 0
        limit = float("inf") if brakes is None else brakes.limit[study]
        places = limit if limit == float("inf") else int(end * limit / 7 + 0.5) - int(begin * limit / 7 + 0.5)
        served = 0
        due = sorted((each for each in coming if each[0] <= end), key=lambda each: each[:2])
        for week_counts in (False, True):
            if brakes is not None:
                which = np.array([study])
                left = [
                    float(brakes.share_left(np.array([recruited + week_counts * rank]), which)[0])
                    for rank in range(len(due))
                ]
                luck_of = Luck(np.array([each[1] for each in due], np.uint64)).uniform("not recruited yet")
                due = [each for each, own, share in zip(due, luck_of, left, strict=True) if own < share]
        coming = [each for each in coming if each[0] > end]
        line = [*queue, *(each[:4] for each in due)]
        for *_, holder in due:
            holders[holder]["returned"] += 1
            came += 1
        queue = []
        for day, own, codes, wave in sorted(line, key=lambda each: (each[0], each[1])):
            if served >= places:
                queue.append((day, own, codes, wave))
                continue
            served += 1
            interviews[max(day, begin + 1)] += 1
            people.append((own, codes, wave))
        recruited += came
        arrivals.append(came)
        queues.append(len(queue))
        spents.append(spent)
        opens.append(sum(h["coupons"] - h["returned"] for h in holders if end - h["issued"] < h["valid"]))
        if people or queue or coming or not remaining:  # `coming` holds those who come after the deadline, too
            stopped = GOES_ON
        elif stopped == GOES_ON:
            stopped = end
        begin = end
    return interviews, arrivals, queues, spents, opens, stopped
