"""Make a plan, watch how far it is, and stop making it."""

from dataclasses import dataclass
from typing import cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.records.models import PlanningJob, PlanningStep
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.screens.staff_requests import AtWork
from peerfront.web.live.screens.visibility import may, study_or_404, time_text

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
