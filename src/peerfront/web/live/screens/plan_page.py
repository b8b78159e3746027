"""The plan: make one, look at it line by line, with all that a coordinator needs to approve, change or stop it.

A role for one site sees the people of that site; of the others only how many people and coupons there are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.contrib import messages
from django.db.models import Count, QuerySet, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.planning.kept_models import SAME_FOR_ALL, KeptModel, PlanSummary
from peerfront.web.live.records.models import Decision, Override, Plan, PlanLine, PlanningJob, PlanningStep, Site
from peerfront.web.live.records.models import Plan as StoredPlan
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.records import PlanStatus, StudyRow
from peerfront.web.live.screens.page_frame import list_page, may, only_site, study_or_404, time_text
from peerfront.web.live.screens.page_words import reason_sentences
from peerfront.web.live.screens.plan_history import (
    STATUS_TONES,
    STATUS_WORDS,
    Differences,
    differences,
    past_plans,
    read_curve,
    read_forecast,
)
from peerfront.web.live.screens.staff_requests import AtWork


@dataclass(frozen=True)
class ShownLine:
    """One person of a plan."""

    person: str
    site: str
    site_name: str
    coupons: int
    planned: int
    why_changed: str
    stratum: str
    probability: float
    reasons: list[str]
    """Sentences of the reason."""
    chances: str
    """The chance that each coupon is used; empty where no model said."""
    now: float | None
    """Recruits expected from these coupons; for the planned number."""
    later: float | None
    handed_out: int | None
    """Coupons that the person got in the round of the plan; None if nothing was recorded."""
    overridden: int | None
    why_overridden: str

    @property
    def reason(self) -> str:
        return " ".join(self.reasons)

    @property
    def first_reason(self) -> str:
        """The first sentence of the reason; the others are shown on request."""
        return self.reasons[0]

    @property
    def more_reason(self) -> str:
        return " ".join(self.reasons[1:])

    @property
    def is_changed(self) -> bool:
        return self.coupons != self.planned


def shown_lines(
    plan: StoredPlan, lines: Iterable[PlanLine], sites: Mapping[str, str], summary: PlanSummary | None
) -> list[ShownLine]:
    """Lines of a plan, with what came of them in its round; `lines` bring their people along."""
    some = list(lines)
    names = [line.person_id for line in some]
    decisions: dict[str, int] = {}
    overrides: dict[str, tuple[int, str]] = {}
    if plan.round is not None:
        for start in range(0, len(names), 500):  # SQLite takes some hundred parameters at a time
            here = {"round": plan.round, "person__in": names[start : start + 500]}
            decisions |= dict(Decision.objects.filter(**here).values_list("person_id", "coupons"))
            rows = Override.objects.filter(**here).values_list("person_id", "coupons", "why")
            overrides |= {person: (coupons, why) for person, coupons, why in rows}
    return [_shown(line, sites, summary, decisions, overrides) for line in some]


def _shown(
    line: PlanLine,
    sites: Mapping[str, str],
    summary: PlanSummary | None,
    decisions: Mapping[str, int],
    overrides: Mapping[str, tuple[int, str]],
) -> ShownLine:
    person, site = line.person_id, line.person.site_id
    now, later = (None, None) if summary is None else summary.brings.get(person, (None, None))
    overridden, why = overrides.get(person, (None, ""))
    return ShownLine(
        person=person,
        site=site,
        site_name=sites.get(site, site),
        coupons=line.coupons,
        planned=line.planned,
        why_changed=line.why_changed,
        stratum=line.stratum,
        probability=line.probability,
        reasons=reason_sentences(line.reason),
        chances="" if summary is None else summary.chances.get(person, ""),
        now=now,
        later=later,
        handed_out=decisions.get(person),
        overridden=overridden,
        why_overridden=why,
    )


STEPS: dict[str, Promise | str] = {
    "": _("The process starts."),
    PlanningStep.READING: _("Reading the study."),
    PlanningStep.FITTING: _("Learning from the study how people recruit. This takes some minutes."),
    PlanningStep.PLANNING: _("Planning for the people who wait, and looking ahead."),
    PlanningStep.SAVING: _("Keeping the plan."),
}


@dataclass(frozen=True)
class ShownJob:
    """A job as a page shows it."""

    job: PlanningJob
    asked: str

    @property
    def is_under_way(self) -> bool:
        return self.job.state in jobs.UNDER_WAY

    @property
    def has_failed(self) -> bool:
        return self.job.state == jobs.FAILED

    @property
    def step(self) -> Promise | str:
        return STEPS.get(self.job.step, STEPS[""])

    @property
    def percent(self) -> int:
        return round(100 * self.job.share)

    @property
    def message(self) -> str:
        return str(jobs.message_of(self.job))


def shown_job(job: PlanningJob | None) -> ShownJob | None:
    return None if job is None else ShownJob(job, time_text(study_or_404(), job.asked_at))


@require_POST
def make_plan(request: HttpRequest) -> HttpResponse:
    """Start to make a plan; the page of the plan shows how far it is."""
    try:
        jobs.ask_for_plan(cast(AtWork, request).member.name)
    except jobs.PlanningBusy:
        messages.warning(request, gettext("A plan is being made already. Wait until it is done, or stop it."))
    except jobs.NotAllowed:
        messages.error(request, gettext("A plan is for all sites; your role is for one. Ask somebody for all sites."))
    return redirect("plan")


def plan_job(request: HttpRequest, number: int) -> HttpResponse:
    """How far a job is, as a part of the page of the plan; as a page of its own it leads there."""
    if request.headers.get("X-Part") is None:
        return redirect("plan")
    jobs.settle()
    job = _job_or_404(number)
    context = {"job": shown_job(job), "may_make": may(request, Action.PROPOSE_PLAN, None)}
    return render(request, "screens/plan_job_part.html", context)


@require_POST
def stop_job(request: HttpRequest, number: int) -> HttpResponse:
    """Stop making a plan; nothing of it is kept."""
    if not may(request, Action.PROPOSE_PLAN, None):
        messages.error(request, gettext("A plan is for all sites; your role is for one. Ask somebody for all sites."))
    elif jobs.stop(_job_or_404(number)):
        messages.success(request, gettext("The plan is not made."))
    return redirect("plan")


def _job_or_404(number: int) -> PlanningJob:
    job = PlanningJob.objects.filter(pk=number).first()
    if job is None:
        raise Http404
    return job


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
