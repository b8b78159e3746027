"""The inputs of a plan: the order that follows from the settings, the relevant days, and the open coupons.

Recruits who will come with open coupons, or with those promised by the approved plan, join the next round, so plans for
one person allow for them, as plans for everybody do. Ages count from the first valid day of a coupon, validity to its
last.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from django.db.models import Count

from peerfront.data.read.fixed_layouts import NETWORK_SIZE
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.covariates import UNKNOWN, Codes
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.study.study_state import OpenHolders
from peerfront.study.week_plan import WeekOrder
from peerfront.web.live.exporting import answer_columns
from peerfront.web.live.records import models
from peerfront.web.live.records.database import open_after
from peerfront.web.live.rules.records import PlanRow
from peerfront.web.live.rules.study_settings import Settings


def order_of(settings: Settings, budget: int, seed: int, strata: tuple[str, ...] = (), *, people: int) -> WeekOrder:
    """The standing order of a plan for a number of people with the coupons that are left; `strata` are columns.

    With fewer coupons than people nobody is sure of one, whatever the settings say.
    `Settings.plan_randomise` is the share of people who get a random number; the planner needs the chance of each of
    the cap + 1 numbers from 0 to the cap.
    """
    return WeekOrder(
        budget=budget,
        deadline="" if settings.deadline is None else settings.deadline.isoformat(),
        target=settings.target,
        max_per_person=settings.cap,
        min_per_person=1 if settings.at_least_one and people <= budget else 0,
        strata=strata,
        randomise=settings.plan_randomise / (settings.cap + 1),
        seed=seed,
    )


def today_of(settings: Settings, now: datetime) -> date:
    """Today in the study's time zone."""
    return now.astimezone(ZoneInfo(settings.timezone)).date()


def is_over(settings: Settings, today: date) -> bool:
    """Whether recruitment ends today or has ended, so that no coupon handed out now could be used."""
    return settings.deadline is not None and settings.deadline <= today


def usable_days(settings: Settings) -> float:
    """Days from the first day of a coupon to its last."""
    return float(max(settings.valid_days - 1, 0))


Answered = tuple[tuple[tuple[str, str], ...], int | None]
"""Answers and network size."""


@dataclass(frozen=True)
class _Issue:
    """Coupons of one person with the same first and last valid day."""

    answered: Answered
    site: str
    coupons: int
    used: int
    age: float
    validity: float


def open_holders(
    settings: Settings, schema: StudySchema, sites: tuple[str, ...], today: date, plan: PlanRow
) -> OpenHolders:
    """Everybody whose coupons can be used after today, encoded by a model's schema."""
    issues = [*_handed_out(today), *_promised(settings, plan)]
    place = {name: number for number, name in enumerate(sites)}
    holder = np.repeat(np.arange(len(issues)), [issue.used for issue in issues])
    seen = CouponsSeen(
        np.array([issue.coupons for issue in issues], dtype=np.int64),
        np.array([issue.age for issue in issues], dtype=np.float64),
        holder,
        np.full(len(holder), np.nan),  # the dates of past returns do not matter here
        np.array([issue.validity for issue in issues], dtype=np.float64),
        np.array([place.get(issue.site, -1) for issue in issues], dtype=np.int64),
        sites,
    )
    return OpenHolders(seen, codes_of(settings, schema, [issue.answered for issue in issues]))


def codes_of(settings: Settings, schema: StudySchema, people: Iterable[Answered]) -> Codes:
    """Encode people's answers, [people, fields]; answers that the model does not know become unknown."""
    answered = list(people)
    codes = np.full((len(answered), len(schema.schema.fields)), UNKNOWN, dtype=np.int16)
    if not schema.used:
        return np.zeros_like(codes)  # everybody is alike
    questions = {column: name for name, column in answer_columns(settings, ()).items()}
    answers = [dict(own) for own, _ in answered]
    for number, rule in enumerate(schema.used):
        if rule.name == NETWORK_SIZE:
            values = ["" if size is None else str(size) for _, size in answered]
        else:
            name = questions.get(rule.name, rule.name)
            values = [own.get(name, "").strip() for own in answers]
        column, wrong = rule.encode(pd.Series(values, dtype=object))
        codes[:, number] = np.where(wrong, UNKNOWN, column)
    return codes


def _handed_out(today: date) -> list[_Issue]:
    """Handed-out coupons that can be used after today, counted by the database."""
    counted = (
        models.Coupon.objects.filter(open_after(today))
        .values_list("holder_id", "first_day", "last_day")
        .annotate(coupons=Count("pk"), used=Count("redemption"))
        .order_by("holder_id", "first_day", "last_day")
    )
    rows = [row for row in counted if row[4] < row[3]]
    answered = _answered({str(row[0]) for row in rows})
    return [
        _Issue(*answered[str(holder)], coupons, used, float(max((today - first).days, 0)), float((last - first).days))
        for holder, first, last, coupons, used in rows
    ]


def numbers_of(plan: models.Plan) -> tuple[dict[str, int], dict[str, int]]:
    """Everybody's coupons in a plan, and of these the numbers that somebody chose by hand, before or after approval."""
    planned, numbers = (dict(plan.lines.values_list("person_id", name)) for name in ("planned", "coupons"))
    if plan.round is not None:
        later = models.Override.objects.filter(round=plan.round, person__plan_lines__plan=plan)
        numbers |= dict(later.values_list("person_id", "coupons"))
    return numbers, {person: coupons for person, coupons in numbers.items() if coupons != planned[person]}


def _promised(settings: Settings, plan: PlanRow) -> list[_Issue]:
    """Coupons that the approved plan promises and people have not had yet, as if handed out today."""
    current = plan.round or 0
    decided = models.Decision.objects.filter(round=current).values("person")
    lines = models.PlanLine.objects.filter(plan_id=plan.plan, person__withdrawn_at=None).exclude(person__in=decided)
    promised = dict(lines.values_list("person_id", "coupons"))
    overrides = models.Override.objects.filter(round=current, person__withdrawn_at=None)
    promised |= dict(overrides.exclude(person__in=decided).values_list("person_id", "coupons"))
    answered = _answered(set(promised))
    return [
        _Issue(*answered[person], coupons, 0, 0.0, usable_days(settings))
        for person, coupons in sorted(promised.items())
        if coupons > 0
    ]


def _answered(people: set[str]) -> Mapping[str, tuple[Answered, str]]:
    """Answers, network size and site of some people; no answers of people who withdrew."""
    names, by_person = sorted(people), {}
    for start in range(0, len(names), 500):  # SQLite takes some hundred parameters at a time
        rows = models.Person.objects.filter(pk__in=names[start : start + 500]).values_list(
            "person", "answers", "network_size", "site_id", "withdrawn_at"
        )
        for person, answers, size, site, withdrawn_at in rows:
            gone = withdrawn_at is not None
            own = () if gone else tuple((name, answer) for name, answer in answers or ())
            by_person[person] = ((own, None if gone else size), site)
    return by_person
