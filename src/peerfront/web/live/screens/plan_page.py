"""The plan: the newest or an earlier one, with all that a coordinator needs to approve, change or stop it.

A role for one site sees the people of that site; of the others only how many people and coupons there are.
"""

from typing import Any

from django.db.models import Count, QuerySet, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.planning.kept_models import SAME_FOR_ALL, KeptModel, PlanSummary
from peerfront.web.live.records.models import Plan, PlanLine, Site
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.records import PlanStatus, StudyRow
from peerfront.web.live.screens.page_frame import list_page
from peerfront.web.live.screens.plan_curve import read_curve, read_forecast
from peerfront.web.live.screens.plan_differences import Differences, differences
from peerfront.web.live.screens.plan_history import STATUS_TONES, STATUS_WORDS, past_plans
from peerfront.web.live.screens.plan_jobs import shown_job
from peerfront.web.live.screens.plan_lines import shown_lines
from peerfront.web.live.screens.visibility import may, only_site, study_or_404, time_text


def plan(request: HttpRequest) -> HttpResponse:
    """The newest plan; how to make one where there is none."""
    study = study_or_404()
    return _page(request, study, Plan.objects.filter(plan=study.last_plan).first())


def plan_number(request: HttpRequest, number: int) -> HttpResponse:
    """One plan by its number."""
    return _page(request, study_or_404(), plan_or_404(number))


def plan_or_404(number: int) -> Plan:
    plan = Plan.objects.filter(plan=number).first()
    if plan is None:
        raise Http404
    return plan


def lines_in_sight(request: HttpRequest, plan: Plan) -> QuerySet[PlanLine]:
    """The lines of a plan about people whom one may see."""
    lines, only = PlanLine.objects.filter(plan=plan), only_site(request, Action.SEE_PEOPLE)
    return lines if only is None else lines.filter(person__site_id=only)


def summary_of(plan: Plan) -> PlanSummary | None:
    """What was kept with a plan; None for one whose files are not there."""
    return KeptModel(plan.model).plan(plan.seed).summary


def _page(request: HttpRequest, study: StudyRow, plan: Plan | None) -> HttpResponse:
    context: dict[str, Any] = {
        "plan": plan,
        "job": shown_job(jobs.newest()),
        "may_make": may(request, Action.PROPOSE_PLAN, None),
        "past_plans": past_plans(),
        "study_row": study,
        "is_newest": plan is not None and plan.plan == study.last_plan,
    }
    if plan is not None:
        context |= _about(request, study, plan)
    return render(request, "screens/plan.html", context)


def _about(request: HttpRequest, study: StudyRow, plan: Plan) -> dict[str, Any]:
    summary = summary_of(plan)
    total = PlanLine.objects.filter(plan=plan).aggregate(
        people=Count("pk"), coupons=Sum("coupons", default=0), planned=Sum("planned", default=0)
    )
    lines = lines_in_sight(request, plan)
    page = list_page(request, lines.select_related("person").order_by("person_id"))
    kept = KeptModel(plan.model).plan(plan.seed)
    status = PlanStatus(plan.status)
    is_open = status in (PlanStatus.PROPOSED, PlanStatus.APPROVED)
    sites = dict(Site.objects.values_list("site", "name"))
    only = only_site(request, Action.SEE_PEOPLE)
    return {
        "status_words": STATUS_WORDS[plan.status],
        "status_tone": STATUS_TONES[status],
        "proposed": time_text(study, plan.proposed_at),
        "summary": summary,
        "details": () if summary is None else [line for line in summary.details if line not in summary.certificate],
        "is_plain_rule": plan.model == SAME_FOR_ALL,
        "page": page,
        "lines": shown_lines(plan, page.rows, sites, summary),
        "has_strata": lines.exclude(stratum="").exists(),
        "was_approved": plan.round is not None,
        "people": total["people"],
        "coupons": total["coupons"],
        "planned": total["planned"],
        "by_site": [] if only is None else _by_site(plan, sites),
        "left_after": study.kept - total["coupons"],
        "curve": read_curve(kept.curve, total["planned"]),
        "forecast": read_forecast(kept.forecast),
        "differences": _since_before(request, plan),
        "may_change": status is PlanStatus.PROPOSED and may(request, Action.CHANGE_PLAN, None),
        "may_approve": status is PlanStatus.PROPOSED and may(request, Action.APPROVE_PLAN, None),
        "may_stop": is_open and may(request, Action.STOP_PLAN, None),
        "waits": status is PlanStatus.PROPOSED,
        "own_site": None if only is None else sites[only],
    }


def _by_site(plan: Plan, sites: dict[str, str]) -> list[tuple[str, int, int]]:
    """People and coupons of a plan at each site."""
    counted = PlanLine.objects.filter(plan=plan).values_list("person__site_id").order_by("person__site__name")
    return [(sites[site], *numbers) for site, *numbers in counted.annotate(Count("pk"), Sum("coupons"))]


def _since_before(request: HttpRequest, plan: Plan) -> tuple[int, Differences] | None:
    """The number of the plan before, and what differs for the people in sight; None for the first plan."""
    before = Plan.objects.filter(plan__lt=plan.plan).order_by("-plan").first()
    if before is None:
        return None

    def numbers(of_plan: Plan) -> dict[str, int]:
        return dict(lines_in_sight(request, of_plan).values_list("person_id", "coupons"))

    return before.plan, differences(numbers(before), numbers(plan))
