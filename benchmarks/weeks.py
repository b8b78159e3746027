"""Whole studies of 12 weeks on a calendar: does fitting again every week pay?

OMP_NUM_THREADS=1 python benchmarks/weeks.py --out results/weeks.csv --studies 10

A made-up study (the world of `peerfront example`) in which people return as in I-TRIP (median 20 days, quartiles 10 and
40) and coupons are valid for 60 days. A history of about 100 people with 3 coupons each is collected first. Then come
12 weeks with 60 coupons, planned on Mondays: "week" fits again every week from last week's planner, as `peerfront week`
does; "once" keeps the first model; both plan with open coupons counted. "constant": 3 each while they last;
"threshold": a threshold tuned in the first model's world. Where "capacity" is true people have so many to bring, where
"per coupon" is true each coupon is used on its own with the same mean at 3 coupons. Everybody has the same luck in all
four, so differences are paired. What counts: recruits interviewed by the last day. Each study is a row of the CSV file
as soon as it is known, and is not computed again.
"""

import argparse
import copy
import sys
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

import peerfront as pf
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.randomness import named_luck
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.problem import Allocation, BranchingWorld, Frontier, Rules, State
from peerfront.simulation.coupon_stories import CouponStory
from peerfront.simulation.demo_study import demo_world
from peerfront.study.day_policies import coming_of
from peerfront.study.rivals import by_rounds, usual_rivals
from peerfront.study.study_state import generation_days, rounds_until, standing_of, times_of

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from simulation.calendar_study import CalendarStudy

WEEKS, BUDGET, HISTORY, SEEDS, VALID = 12, 60, 100, 30, 60.0
FIRST = date(2026, 1, 5)
TIMES = ReturnTimes("lognormal", 20.0, 1.03)


def world_of(story: str) -> BranchingWorld:
    world = demo_world()
    return replace(world, response=CouponStory(story).response_of(world.response))


def with_history(story: str, number: int, people: int) -> tuple[CalendarStudy, date]:
    """A study of so many people who had 3 coupons each, and the day on which the 12 weeks begin."""
    study, day = CalendarStudy(world_of(story), TIMES, FIRST, SEEDS, f"weeks {story} {number}", VALID), FIRST
    while study.enrolled(day) < people:
        table = study.table(day)
        study.hand_out(day, dict.fromkeys(table.loc[table["coupons_issued"] == "0", "id"], 3))
        day += timedelta(weeks=1)
    return study, day


def read(field: CalendarStudy, day: date) -> pf.Study:
    return pf.read_study(field.table(day), ReadSettings(valid_days=VALID)).as_of(day)


def fitted(study: pf.Study, schema: StudySchema, before: pf.Model | None) -> pf.Model:
    return pf.fit(study, schema, budget=BUDGET, rounds=6, effort=1.0 if before is None else 0.3, start=before)


def planned(model: pf.Model, study: pf.Study, left: int, days: int) -> dict[str, int]:
    """This week's coupons, with open ones counted."""
    times = times_of(model.fit, study)
    standing = standing_of(study, model.schema, times)
    people = standing.waiting
    if not len(people) or not left:
        return {}
    rounds = rounds_until(days, generation_days(times, standing.valid_days), model.fit.rules.rounds)
    planner = model.fit.planner.with_coming(coming_of(model.fit.planner, standing.open, times, days))
    state = State(left, people, rules=Rules(left, len(people), rounds, 3))
    coupons = planner.plan(state, every_spend=False).allocation.coupons
    return dict(zip(people.ids.tolist(), coupons.tolist(), strict=True))


def by_rule(policy: pf.Policy, model: pf.Model, study: pf.Study, left: int, number: int) -> dict[str, int]:
    people: Frontier = model.frontier(study.waiting)
    if not len(people) or not left:
        return {}
    state = State(left, people, rules=Rules(left, len(people), 6, 3))
    given: Allocation = policy.allocate(state, named_luck(("weeks", number), 1))
    return dict(zip(people.ids.tolist(), given.coupons.tolist(), strict=True))


def played(story: str, number: int, people: int) -> dict[str, object]:
    """Recruits of the 12 weeks under each way to hand out coupons."""
    begun, day = with_history(story, number, people)
    study = read(begun, day)
    schema = pf.guess_schema(study).schema
    first = fitted(study, schema, None)
    world = first.fit.world(first.frontier(study.waiting)) if len(study.waiting) else None
    rules = Rules(BUDGET, max(len(study.waiting), 1), 6, 3)
    rivals = [] if world is None else usual_rivals(first.fit.given, world.response, rules, by_rounds(world, rules))
    ways = ("week", "once", "constant", "threshold")
    row: dict[str, object] = {"story": story, "study": number, "people": people, "history": len(study)}
    for way in ways:
        field, model, left = copy.deepcopy(begun), first, BUDGET
        for week in range(WEEKS):
            today = day + timedelta(weeks=week)
            now, days = read(field, today), 7 * (WEEKS - week)
            if way == "week" and week:
                model = fitted(now, schema, model)
            if way in ("week", "once"):
                given = planned(model, now, left, days)
            else:
                policy = rivals[0 if way == "constant" else -1].policy
                given = by_rule(policy, first, now, left, week)
            field.hand_out(today, given)
            left -= sum(given.values())
        end = day + timedelta(weeks=WEEKS)
        row |= {way: field.enrolled(end) - begun.enrolled(day), f"{way}_left": left}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="CSV file of what is known; read first")
    parser.add_argument("--studies", type=int, default=10)
    parser.add_argument("--story", nargs="+", default=["capacity", "per_coupon"])
    parser.add_argument("--people", type=int, default=HISTORY, help="of the history")
    chosen = parser.parse_args()
    known = pd.read_csv(chosen.out).to_dict("records") if chosen.out.exists() else []
    done = {(row["story"], row["study"], row["people"]) for row in known}
    for number in range(chosen.studies):
        for story in chosen.story:
            if (story, number, chosen.people) not in done:
                known.append(played(story, number, chosen.people))
                chosen.out.parent.mkdir(parents=True, exist_ok=True)
                pd.DataFrame(known).to_csv(chosen.out, index=False)
                print(known[-1], flush=True)
    table = pd.DataFrame(known)
    for (story, people), own in table.groupby(["story", "people"]):
        print(f"{story}, history of {people}, {len(own)} studies")
        for way in ("week", "once", "constant", "threshold"):
            gap = own["week"] - own[way]
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            print(f"  {way:10} {own[way].mean():6.1f} recruits; week above it {gap.mean():+.1f} (s.e. {error:.1f})")


if __name__ == "__main__":
    main()
