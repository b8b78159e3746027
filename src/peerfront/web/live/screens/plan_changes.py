"""Make a plan, change a number of it with a reason, approve it, stop it; and its sheet, on paper or as a file."""

from typing import cast

import pandas as pd
from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST
from openpyxl import Workbook
from openpyxl.styles import Alignment, Border, Font, Side

from peerfront.foundation.spreadsheets import csv_text, put, set_print, workbook_bytes
from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.planning.arrival_plans import warm_up_in_background
from peerfront.web.live.records.models import JobKind, Plan, PlanLine, PlanningJob
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.records import PlanStatus, StudyRow
from peerfront.web.live.rules.requests import ApprovePlan, ChangePlan, StopPlan
from peerfront.web.live.rules.study_settings import LARGEST_CAP
from peerfront.web.live.screens.form_pages import PageForm, why_field
from peerfront.web.live.screens.page_frame import may, site_filter, sites_in_sight, study_or_404, time_text
from peerfront.web.live.screens.page_words import refusal_words
from peerfront.web.live.screens.plan_page import (
    STATUSES,
    ShownLine,
    job_context,
    lines_in_sight,
    plan_in_view,
    shown_lines,
    summary_of,
)
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm


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
    context = job_context(get_object_or_404(PlanningJob, pk=number, kind=JobKind.PLAN))
    context["may_make"] = may(request, Action.PROPOSE_PLAN, None)
    return render(request, "screens/plan_job_part.html", context)


@require_POST
def stop_job(request: HttpRequest, number: int) -> HttpResponse:
    """Stop making a plan; nothing of it is kept."""
    if not may(request, Action.PROPOSE_PLAN, None):
        messages.error(request, gettext("A plan is for all sites; your role is for one. Ask somebody for all sites."))
    elif jobs.stop(get_object_or_404(PlanningJob, pk=number, kind=JobKind.PLAN)):
        messages.success(request, gettext("The plan is not made."))
    return redirect("plan")


class PlanForm(PageForm):
    """A form for one plan, which leads back to its page."""

    back_label = _("Plan %(plan)s")

    def __init__(self, request: HttpRequest, number: int) -> None:
        super().__init__(request)
        self.plan, self.study, self.names = get_object_or_404(Plan, plan=number), study_or_404(), {"plan": number}
        self.back = reverse("plan_number", args=[number])


class ChangeForm(PlanForm):
    """Give a person of a proposed plan another number."""

    title = _("Change a number of plan %(plan)s")
    lead = _("What was planned stays recorded beside your number, with your reason.")
    button = _("Change the number")
    done = _("The number is changed.")

    person = forms.CharField(label=_("Person"), max_length=40)
    coupons = forms.IntegerField(label=_("Coupons"), min_value=0, max_value=LARGEST_CAP)
    why = why_field()

    def __init__(self, request: HttpRequest, number: int) -> None:
        super().__init__(request, number)
        person = request.GET.get("person", "")[:40]
        self.asked_by = cast(AtWork, request).member.name
        self.line = PlanLine.objects.filter(plan=self.plan, person_id=person).first()
        if self.line is not None:
            self.initial = {"person": person, "coupons": self.line.coupons}

    def facts(self) -> list[tuple[str, object]]:
        facts: list[tuple[str, object]] = []
        if self.line is not None:
            facts.append((gettext("Planned for %(person)s") % {"person": self.line.person_id}, self.line.planned))
        facts.append((gettext("Most for one person"), self.study.settings.cap))
        return [*facts, (gettext("Coupons left"), self.study.kept)]

    def wish(self) -> ChangePlan:
        entries = self.cleaned_data
        return ChangePlan(self.plan.plan, ((entries["person"].strip(), entries["coupons"]),), entries["why"])

    def alongside(self, accepted: Accepted) -> None:
        transaction.on_commit(lambda: jobs.look_again_if_changed(self.plan.plan, self.asked_by))


def approve_plan(request: HttpRequest, number: int) -> HttpResponse:
    """Let a plan be the one by which coupons are handed out; its model is loaded for whoever comes next."""
    plan, form = get_object_or_404(Plan, plan=number), RequestForm(request.POST)
    if request.method == "POST" and form.is_valid():
        answered = form.ask(request, ApprovePlan(number))
        if isinstance(answered, Refused):
            return plan_in_view(request, plan, **refusal_words(answered.refusal))
        if not answered.repeated:
            done = gettext("Plan %(plan)s is approved. Coupons are handed out by it from now on.")
            messages.success(request, done % {"plan": number})
        warm_up_in_background()
    return redirect("plan_number", number)


class StopForm(PlanForm):
    """Hand out nothing more by a plan."""

    title = _("Stop plan %(plan)s")
    lead = _("This plan can then not be approved any more. The approved plan, if there is one, stays in use.")
    button = _("Stop the plan")
    done = _("Plan %(plan)s is stopped.")
    danger = True

    why = why_field()

    def __init__(self, request: HttpRequest, number: int) -> None:
        super().__init__(request, number)
        if self.plan.status == PlanStatus.APPROVED.value:
            self.lead = _(
                "No more coupons are handed out until another plan is approved. Coupons in people's hands stay valid."
            )

    def wish(self) -> StopPlan:
        return StopPlan(self.plan.plan, self.cleaned_data["why"])


_FILES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_WIDTHS = (14, 16, 10, 38, 14, 12, 34)
_BOX = Border(*(Side(style="thin"),) * 4)


def plan_sheet(request: HttpRequest, number: int) -> HttpResponse:
    """The sheet to print, or a file (?file=csv, ?file=xlsx); of one site (?site=), or of all sites in sight."""
    study, plan = study_or_404(), get_object_or_404(Plan, plan=number)
    sites, site = sites_in_sight(request, Action.SEE_PEOPLE), site_filter(request, Action.SEE_PEOPLE) or ""
    rows = lines_in_sight(request, plan).order_by("person__site_id", "person_id")
    lines = shown_lines(rows.filter(person__site_id=site) if site else rows, summary_of(plan))
    wanted = request.GET.get("file", "")
    name = f"plan-{plan.plan}" + (f"-{site}" if site else "")
    if wanted in _FILES:
        content = csv_text(_table(lines)).encode("utf-8-sig") if wanted == "csv" else _workbook(study, plan, lines)
        headers = {"Content-Disposition": f'attachment; filename="{name}.{wanted}"'}
        return HttpResponse(content, content_type=_FILES[wanted], headers=headers)
    context = {
        "plan": plan,
        "status_words": STATUSES[plan.status][0],
        "lines": lines,
        "coupons": sum(each.coupons for each in lines),
        "site": site,
        "site_choices": sites,
    }
    return render(request, "screens/plan_sheet.html", context)


def _table(lines: list[ShownLine]) -> pd.DataFrame:
    """Names of columns are the same in every language: the file is read by programs, too."""
    columns = ("person", "site", "coupons", "planned", "why_changed", "chance_used", "expected_now", "expected_later",
               "stratum", "probability", "reason")  # fmt: skip
    rows = [
        (
            each.line.person_id, each.line.person.site_id, each.coupons, each.line.planned, each.why,
            each.chances, _decimals(each.now), _decimals(each.later), each.line.stratum,
            f"{each.line.probability:.6g}", " ".join(each.reasons),
        )
        for each in lines
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _decimals(number: float | None) -> str:
    return "" if number is None else f"{number:.3f}"


def _workbook(study: StudyRow, plan: Plan, lines: list[ShownLine]) -> bytes:
    """A workbook to print and fill in."""
    book = Workbook()
    page = book.active
    assert page is not None
    page.title = gettext("Plan %(plan)s") % {"plan": plan.plan}
    put(page, 1, 1, f"{study.settings.name}: {page.title}").font = Font(bold=True, size=14)
    origin = gettext("Made %(day)s, model %(model)s, seed %(seed)s. %(status)s.") % {
        "day": time_text(study, plan.proposed_at), "model": plan.model, "seed": plan.seed,
        "status": STATUSES[plan.status][0],
    }  # fmt: skip
    put(page, 2, 1, origin)
    heads = (gettext("Person"), gettext("Site"), gettext("Coupons"), gettext("Numbers of the coupons"),
             gettext("Day"), gettext("Initials"), gettext("Why"))  # fmt: skip
    for column, (head, width) in enumerate(zip(heads, _WIDTHS, strict=True), start=1):
        cell = put(page, 4, column, head)
        cell.font, cell.border = Font(bold=True), _BOX
        page.column_dimensions[cell.column_letter].width = width
    for row, each in enumerate(lines, start=5):
        site = each.line.person.site.name
        values: tuple[str | int, ...] = (each.line.person_id, site, each.coupons, "", "", "", each.spoken)
        for column, value in enumerate(values, start=1):
            cell = put(page, row, column, value)
            cell.border, cell.alignment = _BOX, Alignment(vertical="top", wrap_text=True)
    page.freeze_panes = "A5"
    set_print(page, repeated="1:4", landscape=True, header=study.settings.name)
    return workbook_bytes(book)
