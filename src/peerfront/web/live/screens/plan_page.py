"""The plan, line by line, with all that a coordinator needs to approve, change or stop it; and earlier plans.

A role for one site sees the people of that site; of the others only how many people and coupons there are.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce, NullIf
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from peerfront.foundation.errors import DamagedFile
from peerfront.foundation.own_files import own_bytes
from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.planning.kept_models import SAME_FOR_ALL, KeptModel, PlanSummary
from peerfront.web.live.planning.planning_inputs import numbers_of
from peerfront.web.live.records.models import Decision, Override, Plan, PlanLine, PlanningJob
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.events import DecidedBy
from peerfront.web.live.rules.records import PlanStatus, StudyRow
from peerfront.web.live.screens.page_frame import list_page, may, only_site, study_or_404
from peerfront.web.live.screens.page_words import reason_sentences, spoken_words
from peerfront.web.live.screens.progress_page import read_forecast
from peerfront.web.live.screens.staff_requests import site_name
from peerfront.words.charts import drawn
from peerfront.words.study_charts import people_chart

STATUSES: dict[str, tuple[Promise | str, str]] = {
    PlanStatus.PROPOSED: (_("Waits for approval"), "care"),
    PlanStatus.APPROVED: (_("Approved, in use"), "good"),
    PlanStatus.CLOSED: (_("Replaced by a later plan"), "plain"),
    PlanStatus.STOPPED: (_("Stopped"), "bad"),
}
"""Words and colour of each state."""


def past_plans(most: int = 30) -> list[tuple[Plan, Promise | str, str]]:
    """The newest plans with what came of them, and the words and colour of their states."""
    by_arrival = Decision.objects.filter(decided_by=DecidedBy.ARRIVAL.value)
    plans = Plan.objects.annotate(
        people=Count("lines"),
        coupons=Sum("lines__coupons", default=0),
        handed_out=_in_round(Decision.objects.all(), Sum("coupons")),
        to_arrivals=_in_round(by_arrival, Sum("coupons")),
        # People for whom somebody decided on another number, before or after approval.
        otherwise=Count("lines", filter=~Q(lines__coupons=F("lines__planned")))
        + _in_round(Override.objects.all(), Count("pk")),
    )
    return [(plan, *STATUSES[plan.status]) for plan in plans.order_by("-plan")[:most]]


def _in_round(rows: QuerySet[Any], number: Sum | Count) -> Coalesce:
    """A number of the rows of a plan's round; 0 before it has one."""
    own = rows.filter(round=OuterRef("round")).order_by().values("round").annotate(number=number).values("number")
    return Coalesce(Subquery(own), 0)


WIDTH, HEIGHT, MARGIN = 640, 220, 12
"""Of the picture, in its own units."""
MOST_ROWS = 13
"""Rows of the short table."""


@dataclass(frozen=True)
class Spend:
    """One number of coupons for the whole round."""

    coupons: int
    fewer: float
    """Recruits fewer in all than with the planned number, by the plan's own value."""
    is_plan: bool
    in_short: bool


@dataclass(frozen=True)
class Curve:
    """All numbers that were looked at, from the fewest coupons on."""

    spends: tuple[Spend, ...]
    planned: Spend
    points: str
    """Of the picture's line."""
    plan_x: float
    plan_y: float


def curve_of(rows: list[tuple[int, float]], planned: int) -> Curve | None:
    """The curve around a plan that spends this number; None if it has one point or the plan's is not among them."""
    rows = sorted(rows)
    by_spend = dict(rows)
    if len(rows) < 2 or planned not in by_spend:
        return None
    some = min(MOST_ROWS, len(rows))  # evenly from the first to the last
    kept = {rows[round(place * (len(rows) - 1) / (some - 1))][0] for place in range(some)} | {planned}
    best = by_spend[planned]
    spends = tuple(Spend(spend, max(best - value, 0.0), spend == planned, spend in kept) for spend, value in rows)
    low, high = min(by_spend.values()), max(by_spend.values())
    first, last = rows[0][0], rows[-1][0]

    def place(spend: int, value: float) -> tuple[float, float]:
        x = MARGIN + (WIDTH - 2 * MARGIN) * (spend - first) / (last - first)
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * ((value - low) / (high - low) if high > low else 0.5)
        return round(x, 1), round(y, 1)

    points = " ".join(f"{x},{y}" for x, y in (place(*row) for row in rows))
    own = next(each for each in spends if each.is_plan)
    return Curve(spends, own, points, *place(planned, best))


def read_curve(path: Path, planned: int) -> Curve | None:
    """The curve that was kept with a plan; None where there is none, or it is damaged."""
    try:
        rows = csv.DictReader(own_bytes(path).decode("utf-8-sig").splitlines())
        return curve_of([(int(row["spend"]), float(row["value"])) for row in rows], planned)
    except (DamagedFile, ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True)
class Differences:
    """People of a plan who are new, gone, or get another number than in the plan before."""

    new: tuple[str, ...]
    gone: tuple[str, ...]
    other: tuple[tuple[str, int, int], ...]
    """Person, number before, number now."""
    same: int


def differences(before: Mapping[str, int], now: Mapping[str, int]) -> Differences:
    """Compare two plans, each of people with their numbers of coupons."""
    both = sorted(before.keys() & now.keys())
    other = tuple((person, before[person], now[person]) for person in both if before[person] != now[person])
    new, gone = tuple(sorted(now.keys() - before.keys())), tuple(sorted(before.keys() - now.keys()))
    return Differences(new, gone, other, len(both) - len(other))


@dataclass(frozen=True)
class ShownLine:
    """One person of a plan, with what the model said about them."""

    line: PlanLine
    coupons: int
    """The planned number, or the one that somebody chose instead."""
    why: str
    """Why they chose it."""
    reasons: list[str]
    """Sentences of the reason; all but the first are shown on request."""
    chances: str
    """The chance that each coupon is used; empty where no model said, as for a number chosen a moment ago."""
    now: float | None
    """Recruits expected from these coupons."""
    later: float | None

    @property
    def spoken(self) -> str:
        """A sentence for the printed sheet, which people may see."""
        return spoken_words(self.line.reason, DecidedBy.OVERRIDE if self.why else DecidedBy.PLAN)


def shown_lines(lines: Iterable[Any], summary: PlanSummary | None) -> list[ShownLine]:
    """The lines of `lines_in_sight` with what the model said about each number."""
    shown = []
    for line in lines:
        coupons = line.coupons if line.overridden is None else line.overridden
        known = summary is not None and coupons == summary.by_hand.get(line.person_id, line.planned)
        chances, brings = (summary.chances, summary.brings) if summary is not None and known else ({}, {})
        own = chances.get(line.person_id, ""), *brings.get(line.person_id, (None, None))
        shown.append(
            ShownLine(line, coupons, line.why_overridden or line.why_changed, reason_sentences(line.reason), *own)
        )
    return shown


def job_context(job: PlanningJob | None) -> dict[str, Any]:
    """A job, for the template of a page."""
    return {"job": job, "under_way": job is not None and job.state in jobs.UNDER_WAY}


def plan(request: HttpRequest) -> HttpResponse:
    """The newest plan; how to make one where there is none."""
    study = study_or_404()
    return _page(request, study, Plan.objects.filter(plan=study.last_plan).first())


def plan_number(request: HttpRequest, number: int) -> HttpResponse:
    """One plan by its number."""
    return _page(request, study_or_404(), get_object_or_404(Plan, plan=number))


def lines_in_sight(request: HttpRequest, plan: Plan) -> QuerySet[PlanLine]:
    """The lines of a plan about people whom one may see, with what they got in its round, or in any if not in that."""
    only = only_site(request, Action.SEE_PEOPLE)
    lines = PlanLine.objects.filter(plan=plan, **({} if only is None else {"person__site_id": only}))
    decided = Decision.objects.filter(round=OuterRef("plan__round"), person=OuterRef("person"))
    overridden = Override.objects.filter(round=OuterRef("plan__round"), person=OuterRef("person"))
    return lines.select_related("person__site").annotate(
        handed_out=Coalesce(Subquery(decided.values("coupons")), NullIf(F("person__coupons"), Value(0))),
        overridden=Subquery(overridden.values("coupons")),
        why_overridden=Subquery(overridden.values("why")),
    )


def summary_of(plan: Plan) -> PlanSummary | None:
    """What was kept with a plan; None for one whose files are not there."""
    return KeptModel(plan.model).plan(plan.seed).summary


def _page(request: HttpRequest, study: StudyRow, plan: Plan | None) -> HttpResponse:
    job = jobs.newest()
    context = job_context(job) | {
        "plan": plan,
        "failed": jobs.message_of(job) if job is not None and job.state == jobs.FAILED else "",
        "may_make": may(request, Action.PROPOSE_PLAN, None),
        "past_plans": past_plans(),
        "is_newest": plan is not None and plan.plan == study.last_plan,
    }
    if plan is not None:
        context |= _about(request, study, plan)
    return render(request, "screens/plan.html", context)


def _about(request: HttpRequest, study: StudyRow, plan: Plan) -> dict[str, Any]:
    summary = summary_of(plan)
    total = PlanLine.objects.filter(plan=plan).aggregate(people=Count("pk"), planned=Sum("planned", default=0))
    numbers, by_hand = numbers_of(plan)
    lines = lines_in_sight(request, plan)
    page = list_page(request, lines.order_by("person_id"))
    kept = KeptModel(plan.model).plan(plan.seed)
    waits = plan.status == PlanStatus.PROPOSED
    only = only_site(request, Action.SEE_PEOPLE)
    return {
        "status": STATUSES[plan.status],
        "summary": summary,
        "asks_one_each": _asks_one_each(study, summary),
        "details": [] if summary is None else _details(summary),
        "is_plain_rule": plan.model == SAME_FOR_ALL,
        "page": page,
        "lines": shown_lines(page.object_list, summary),
        "has_strata": lines.exclude(stratum="").exists(),
        **total,
        "coupons": sum(numbers.values()),
        "by_hand": len(by_hand),
        "before_change": summary is not None and summary.by_hand != by_hand,
        "by_site": [] if only is None else _by_site(plan),
        "curve": None if by_hand else read_curve(kept.curve, total["planned"]),
        "forecast": _expected_people(study, kept.forecast),
        "differences": _since_before(request, plan),
        "may_change": waits and may(request, Action.CHANGE_PLAN, None),
        "may_approve": waits and may(request, Action.APPROVE_PLAN, None),
        "may_stop": (waits or plan.status == PlanStatus.APPROVED) and may(request, Action.STOP_PLAN, None),
        "waits": waits,
        "own_site": None if only is None else site_name(only),
    }


def _expected_people(study: StudyRow, path: Path) -> str:
    forecast, settings = read_forecast(path), study.settings
    return drawn(people_chart(forecast, target=settings.target, deadline=settings.deadline)) if forecast else ""


def _details(summary: PlanSummary) -> list[Any]:
    """What the fold says: further warnings, the model, and the rest about the plan; nothing that stands above it."""
    lines = (*summary.about_model, *summary.details)
    return [*summary.warnings[1:], *(line for line in lines if line not in summary.words)]


def _asks_one_each(study: StudyRow, summary: PlanSummary | None) -> bool:
    """Whether the plan has a price of one coupon for everybody, and nobody has decided about that yet."""
    priced = summary is not None and summary.expected is not None and summary.expected.one_each is not None
    return priced and study.settings.at_least_one is None


def _by_site(plan: Plan) -> Iterable[tuple[str, int, int]]:
    """People and coupons of a plan at each site."""
    counted = PlanLine.objects.filter(plan=plan).values_list("person__site__name").order_by("person__site__name")
    return counted.annotate(Count("pk"), Sum("coupons"))


def _since_before(request: HttpRequest, plan: Plan) -> tuple[int, Differences] | None:
    """The number of the plan before, and what differs for the people in sight; None for the first plan."""
    before = Plan.objects.filter(plan__lt=plan.plan).order_by("-plan").first()
    if before is None:
        return None

    def numbers(of_plan: Plan) -> dict[str, int]:
        return dict(lines_in_sight(request, of_plan).values_list("person_id", "coupons"))

    return before.plan, differences(numbers(before), numbers(plan))
