"""The plan, line by line, with all that a coordinator needs to approve, change or stop it; and earlier plans.

A role for one site sees the people of that site; of the others only how many people and coupons there are.
"""

import csv
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce, NullIf
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from peerfront.foundation.errors import DamagedFile
from peerfront.foundation.own_files import own_bytes
from peerfront.study.reasons import Reason
from peerfront.study.sheet_groups import groups_of
from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.planning.kept_models import SAME_FOR_ALL, KeptModel, PlanSummary
from peerfront.web.live.planning.planning_inputs import numbers_of
from peerfront.web.live.records.models import Decision, Override, Plan, PlanLine, PlanningJob
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.events import DecidedBy
from peerfront.web.live.rules.records import PlanStatus, StudyRow
from peerfront.web.live.screens.page_frame import list_page, may, only_site, study_or_404
from peerfront.web.live.screens.page_words import reason_sentences, short_words, spoken_words
from peerfront.web.live.screens.plan_news import (
    Changes,
    Line,
    asked_for_plans,
    changes_between,
    news_between,
    plan_before,
)
from peerfront.web.live.screens.progress_page import read_forecast
from peerfront.web.live.screens.settings_page import SettingsForm
from peerfront.web.live.screens.staff_requests import RequestForm, new_key, site_name
from peerfront.words.charts import drawn
from peerfront.words.stored_text import reason_from_text
from peerfront.words.study_charts import people_chart, spend_chart

STATUSES: dict[str, tuple[Promise | str, str]] = {
    PlanStatus.PROPOSED: (_("Waits for approval"), "care"),
    PlanStatus.APPROVED: (_("Approved, in use"), "good"),
    PlanStatus.CLOSED: (_("Replaced by a later plan"), "plain"),
    PlanStatus.STOPPED: (_("Stopped"), "bad"),
}
"""Words and colour of each state."""


def past_plans(most: int = 30) -> list[tuple[Plan, Promise | str, str]]:
    """The newest plans with what came of them, and the words and colour of their states."""
    plans = list(Plan.objects.order_by("-plan")[:most])
    by_arrival = Q(decided_by=DecidedBy.ARRIVAL.value)
    # Each table is counted by itself: joined, the decisions of a round would be added up again for each line of a plan.
    lines = _counted(
        PlanLine.objects.filter(plan__in=plans), "plan",
        people=Count("pk"), coupons=Sum("coupons"), otherwise=Count("pk", filter=~Q(coupons=F("planned"))),
    )  # fmt: skip
    rounds = [each.round for each in plans if each.round is not None]
    decisions = _counted(
        Decision.objects.filter(round__in=rounds), "round",
        handed_out=Sum("coupons"), to_arrivals=Sum("coupons", filter=by_arrival, default=0),
    )  # fmt: skip
    overrides = _counted(Override.objects.filter(round__in=rounds), "round", number=Count("pk"))
    for plan in plans:
        own = lines.get(plan.plan, {"people": 0, "coupons": 0, "otherwise": 0})
        own |= decisions.get(plan.round, {"handed_out": 0, "to_arrivals": 0})
        # People for whom somebody decided on another number, before or after approval.
        own["otherwise"] += overrides.get(plan.round, {"number": 0})["number"]
        vars(plan).update(own)
    return [(plan, *STATUSES[plan.status]) for plan in plans]


def _counted(rows: QuerySet[Any], by: str, **numbers: Sum | Count) -> dict[int | None, dict[str, int]]:
    """Numbers of rows with each value of a field."""
    counted = rows.order_by().values(by).annotate(**{f"n_{name}": number for name, number in numbers.items()})
    return {row[by]: {name: row[f"n_{name}"] for name in numbers} for row in counted}


MOST_FLIPS = 4
"""People named whose number changes much."""


def spends_chart(path: Path, planned: int) -> str:
    """What other numbers of coupons would bring, as kept with a plan; empty where nothing is, or it is damaged."""
    try:
        rows = csv.DictReader(own_bytes(path).decode("utf-8-sig").splitlines())
        values = {int(row["spend"]): float(row["value"]) for row in rows}
    except (DamagedFile, ValueError, KeyError, TypeError):
        return ""
    return drawn(spend_chart(values, planned)) if len(values) > 1 and planned in values else ""


@dataclass(frozen=True)
class ShownLine:
    """One person of a plan, with what the model said about them."""

    line: PlanLine
    coupons: int
    """The planned number, or the one that somebody chose instead."""
    why: str
    """Why they chose it."""
    short: str
    """The reason in a few words."""
    reasons: list[str]
    """Its sentences, shown on request."""
    chances: str
    """The chance that each coupon is used; empty where no model said, as for a number chosen a moment ago."""
    now: float | None
    """Recruits expected from these coupons."""
    later: float | None
    key: str = field(default_factory=new_key)
    """Of the request that changes the number."""

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
        why, reason = line.why_overridden or line.why_changed, line.reason
        shown.append(ShownLine(line, coupons, why, short_words(reason), reason_sentences(reason), *own))
    return shown


def job_context(job: PlanningJob | None) -> dict[str, Any]:
    """A job, for the template of a page."""
    return {"job": job, "under_way": job is not None and job.state in jobs.UNDER_WAY}


def plan(request: HttpRequest) -> HttpResponse:
    """The newest plan; how to make one where there is none."""
    return plan_in_view(request, Plan.objects.filter(plan=study_or_404().last_plan).first())


def plan_number(request: HttpRequest, number: int) -> HttpResponse:
    """One plan by its number."""
    return plan_in_view(request, get_object_or_404(Plan, plan=number))


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


def plan_in_view(request: HttpRequest, plan: Plan | None, **more: Any) -> HttpResponse:
    """The page of a plan; `more` is what its template gets besides, such as why it was not approved."""
    study, job = study_or_404(), jobs.newest()
    context = job_context(job) | {
        "plan": plan,
        "failed": jobs.message_of(job) if job is not None and job.state == jobs.FAILED else "",
        "may_make": may(request, Action.PROPOSE_PLAN, None),
        "past_plans": past_plans(),
        "is_newest": plan is not None and plan.plan == study.last_plan,
    }
    if plan is not None:
        context |= _about(request, study, plan)
    return render(request, "screens/plan.html", context | more)


def _about(request: HttpRequest, study: StudyRow, plan: Plan) -> dict[str, Any]:
    summary = summary_of(plan)
    total = PlanLine.objects.filter(plan=plan).aggregate(people=Count("pk"), planned=Sum("planned", default=0))
    numbers, by_hand = numbers_of(plan)
    lines = lines_in_sight(request, plan)
    group = request.GET.get("coupons", "")
    listed = lines.filter(coupons=int(group)) if group.isascii() and group.isdigit() and len(group) < 4 else lines
    page = list_page(request, listed.order_by("person_id"))
    kept = KeptModel(plan.model).plan(plan.seed)
    waits = plan.status == PlanStatus.PROPOSED
    only = only_site(request, Action.SEE_PEOPLE)
    coupons, before_change = sum(numbers.values()), summary is not None and summary.by_hand != by_hand
    return {
        "status": STATUSES[plan.status],
        "summary": summary,
        "until": None if summary is None or summary.expected is None else _day(summary.expected.until),
        "asks_one_each": _asks_one_each(study, summary),
        "details": [] if summary is None else _details(summary),
        "is_plain_rule": plan.model == SAME_FOR_ALL,
        "form": RequestForm(),
        "groups": _groups(lines),
        "group": group,
        "is_listed": bool(group or request.GET.get("page")),
        "page": page,
        "lines": shown_lines(page.object_list, summary),
        "has_strata": lines.exclude(stratum="").exists(),
        **total,
        "getting": sum(number > 0 for number in numbers.values()),
        "coupons": coupons,
        "left": study.kept - coupons,
        "rewards": _rewards(study, coupons, None if before_change else summary),
        "by_hand": len(by_hand),
        "before_change": before_change,
        "by_site": [] if only is None else _by_site(plan),
        "curve": "" if by_hand else spends_chart(kept.curve, total["planned"]),
        "forecast": _expected_people(study, kept.forecast),
        "may_change": waits and may(request, Action.CHANGE_PLAN, None),
        "may_approve": waits and may(request, Action.APPROVE_PLAN, None),
        "may_stop": (waits or plan.status == PlanStatus.APPROVED) and may(request, Action.STOP_PLAN, None),
        "waits": waits,
        "own_site": None if only is None else site_name(only),
        **_against_before(request, study, plan),
    }


def _expected_people(study: StudyRow, path: Path) -> str:
    forecast, settings = read_forecast(path), study.settings
    return drawn(people_chart(forecast, target=settings.target, deadline=settings.deadline)) if forecast else ""


def _day(text: str) -> date | None:
    return date.fromisoformat(text) if text else None


def _groups(lines: QuerySet[PlanLine]) -> list[tuple[int, int, str]]:
    """How many people get each number of coupons, the most first, and the answers that tell most of them apart."""
    rows = list(lines.order_by().values_list("coupons", "reason"))
    known = {text: reason_from_text(text) for text in {text for _, text in rows}}
    table = pd.DataFrame(
        [(coupons, known[text]) for coupons, text in rows if isinstance(known[text], Reason)],
        columns=["coupons", "reason"],
    )
    answers = {group.coupons: ", ".join(map(": ".join, group.answers)) for group in groups_of(table)}
    people = Counter(coupons for coupons, _ in rows)
    return [(coupons, people[coupons], answers.get(coupons, "")) for coupons in sorted(people, reverse=True)]


def _rewards(study: StudyRow, coupons: int, summary: PlanSummary | None) -> tuple[int, int | None] | None:
    """What is paid if all coupons of a plan are used, and as expected; None where nothing is paid."""
    each = study.settings.interview_payment + study.settings.recruiting_payment
    if not each:
        return None
    used = None if summary is None or not summary.brings else sum(now for now, _ in summary.brings.values())
    return each * coupons, None if used is None else round(each * used)


def _against_before(request: HttpRequest, study: StudyRow, plan: Plan) -> dict[str, Any]:
    """What changes against the plan that was approved before, for the people in sight; nothing for the first plan."""
    before = plan_before(plan)
    if before is None:
        return {}

    def lines(of_plan: Plan) -> list[Line]:
        annotated: QuerySet[Any] = lines_in_sight(request, of_plan)
        rows = annotated.values_list("person_id", "coupons", "overridden", "person__answers")
        return [
            Line(person, coupons if overridden is None else overridden, dict(answers or ()))
            for person, coupons, overridden, answers in rows
        ]

    changes = changes_between(lines(before), lines(plan), asked_for_plans(study.settings))
    flipped = changes.people[:MOST_FLIPS]
    reasons = dict(plan.lines.filter(person__in=[flip.person for flip in flipped]).values_list("person_id", "reason"))
    news = news_between(before, plan) if changes.people or changes.groups else None
    return {
        "before": before.plan,
        "changes": changes,
        "since": _since(changes),
        "flips": [(flip, short_words(reasons[flip.person])) for flip in flipped],
        "more_flips": len(changes.people) - len(flipped),
        "news": news,
        "new_settings": [] if news is None else [SettingsForm.base_fields[name].label for name in news.settings],
    }


def _since(changes: Changes) -> list[str]:
    """How many people are new, get more, fewer or the same, without those that are none."""
    counts = {
        ngettext("%(n)d new", "%(n)d new", changes.new): changes.new,
        ngettext("%(n)d gets more", "%(n)d get more", changes.more): changes.more,
        ngettext("%(n)d gets fewer", "%(n)d get fewer", changes.fewer): changes.fewer,
        ngettext("%(n)d the same", "%(n)d the same", changes.same): changes.same,
    }
    return [words % {"n": number} for words, number in counts.items() if number] or [gettext("nobody")]


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
