"""Change a number of a plan with a reason, approve the plan, stop it; and its sheet, on paper or as a file."""

import pandas as pd
from django import forms
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from openpyxl import Workbook
from openpyxl.styles import Alignment, Border, Font, Side

from peerfront.foundation.spreadsheets import csv_text, put, set_print, workbook_bytes
from peerfront.web.live.planning.arrival_plans import warm_up_in_background
from peerfront.web.live.records.models import Plan, PlanLine
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.records import PlanStatus, StudyRow
from peerfront.web.live.rules.requests import ApprovePlan, ChangePlan, StopPlan
from peerfront.web.live.rules.study_settings import LARGEST_CAP
from peerfront.web.live.screens.coupon_page import why_field
from peerfront.web.live.screens.form_pages import FormPage, answer_form
from peerfront.web.live.screens.plan_history import STATUS_WORDS
from peerfront.web.live.screens.plan_page import ShownLine, lines_in_sight, plan_or_404, shown_lines, summary_of
from peerfront.web.live.screens.staff_requests import RequestForm
from peerfront.web.live.screens.visibility import site_filter, sites_in_sight, study_or_404, time_text


class ChangeForm(RequestForm):
    person = forms.CharField(label=_("Person"), max_length=40, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    coupons = forms.IntegerField(
        label=_("Coupons"),
        min_value=0,
        max_value=LARGEST_CAP,
        widget=forms.NumberInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    why = why_field()


class StopForm(RequestForm):
    why = why_field()


def change_plan(request: HttpRequest, number: int) -> HttpResponse:
    """Give a person of a proposed plan another number."""
    plan, study = plan_or_404(number), study_or_404()
    person = request.GET.get("person", "")[:40]
    line = PlanLine.objects.filter(plan=plan, person_id=person).first()
    initial = {} if line is None else {"person": person, "coupons": line.coupons}
    form = ChangeForm(request.POST or None, initial=initial)
    facts = [(gettext("Most for one person"), str(study.settings.cap)), (gettext("Coupons left"), str(study.kept))]
    if line is not None:
        facts.insert(0, (gettext("Planned for %(person)s") % {"person": person}, str(line.planned)))
    page = FormPage(
        title=gettext("Change a number of plan %(plan)s") % {"plan": plan.plan},
        lead=gettext("What was planned stays recorded beside your number, with your reason."),
        button=gettext("Change the number"),
        done=gettext("The number is changed."),
        facts=tuple(facts),
        back=reverse("plan_number", args=[plan.plan]),
        back_label=gettext("Plan %(plan)s") % {"plan": plan.plan},
    )

    def wish() -> ChangePlan:
        entries = form.cleaned_data
        return ChangePlan(plan.plan, ((entries["person"].strip(), entries["coupons"]),), entries["why"])

    return answer_form(request, form, page, wish, site="")


def approve_plan(request: HttpRequest, number: int) -> HttpResponse:
    """Let a plan be the one by which coupons are handed out."""
    plan, study = plan_or_404(number), study_or_404()
    lines = PlanLine.objects.filter(plan=plan)
    coupons = lines.aggregate(coupons=Sum("coupons", default=0))["coupons"]
    people = lines.count()
    lead = gettext("From now on coupons are handed out by this plan, and a new round begins.")
    if study.approved_plan is not None:
        ends = gettext("Plan %(plan)s ends: who has not got coupons yet gets them by this plan.")
        lead = f"{lead} {ends % {'plan': study.approved_plan}}"
    page = FormPage(
        title=gettext("Approve plan %(plan)s") % {"plan": plan.plan},
        lead=lead,
        button=gettext("Approve the plan"),
        done=gettext("Plan %(plan)s is approved. Coupons are handed out by it from now on.") % {"plan": plan.plan},
        facts=(
            (gettext("Coupons in the plan"), _coupons(coupons)),
            (gettext("For"), ngettext("%(people)d person", "%(people)d people", people) % {"people": people}),
            (gettext("Left afterwards"), _coupons(study.kept - coupons)),
            (gettext("Model"), plan.model),
        ),
        back=reverse("plan_number", args=[plan.plan]),
        back_label=gettext("Plan %(plan)s") % {"plan": plan.plan},
    )
    form = RequestForm(request.POST or None)
    response = answer_form(request, form, page, lambda: ApprovePlan(plan.plan), site="")
    if Plan.objects.filter(plan=number, status=PlanStatus.APPROVED.value).exists() and request.method == "POST":
        warm_up_in_background()
    return response


def stop_plan(request: HttpRequest, number: int) -> HttpResponse:
    """Hand out nothing more by a plan."""
    plan = plan_or_404(number)
    is_used = plan.status == PlanStatus.APPROVED.value
    lead = gettext("This plan can then not be approved any more. The approved plan, if there is one, stays in use.")
    if is_used:
        lead = gettext(
            "No more coupons are handed out until another plan is approved. Coupons in people's hands stay valid."
        )
    page = FormPage(
        title=gettext("Stop plan %(plan)s") % {"plan": plan.plan},
        lead=lead,
        button=gettext("Stop the plan"),
        done=gettext("Plan %(plan)s is stopped.") % {"plan": plan.plan},
        danger=True,
        back=reverse("plan_number", args=[plan.plan]),
        back_label=gettext("Plan %(plan)s") % {"plan": plan.plan},
    )
    form = StopForm(request.POST or None)
    return answer_form(request, form, page, lambda: StopPlan(plan.plan, form.cleaned_data["why"]), site="")


def _coupons(number: int) -> str:
    return ngettext("%(coupons)d coupon", "%(coupons)d coupons", number) % {"coupons": number}


_WIDTHS = (14, 16, 10, 38, 14, 12, 60)
_BOX = Border(*(Side(style="thin"),) * 4)


def plan_sheet(request: HttpRequest, number: int) -> HttpResponse:
    """The sheet to print, or a file (?file=csv, ?file=xlsx); of one site (?site=), or of all sites in sight."""
    study, plan = study_or_404(), plan_or_404(number)
    sites, site = sites_in_sight(request, Action.SEE_PEOPLE), site_filter(request, Action.SEE_PEOPLE) or ""
    rows = lines_in_sight(request, plan).select_related("person").order_by("person__site_id", "person_id")
    rows = rows.filter(person__site_id=site) if site else rows
    lines = shown_lines(plan, rows, sites, summary_of(plan))
    wanted = request.GET.get("file", "")
    name = f"plan-{plan.plan}" + (f"-{site}" if site else "")
    if wanted == "csv":
        return _file(csv_text(_table(lines)).encode("utf-8-sig"), "text/csv; charset=utf-8", f"{name}.csv")
    if wanted == "xlsx":
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        return _file(_workbook(study, plan, lines), kind, f"{name}.xlsx")
    context = {
        "plan": plan,
        "proposed": time_text(study, plan.proposed_at),
        "status_words": STATUS_WORDS[plan.status],
        "lines": lines,
        "coupons": sum(line.coupons for line in lines),
        "site": sites.get(site, ""),
        "site_key": site,
        "site_choices": sites,
        "may_filter": len(sites) > 1,
    }
    return render(request, "screens/plan_sheet.html", context)


def _table(lines: list[ShownLine]) -> pd.DataFrame:
    """Names of columns are the same in every language: the file is read by programs, too."""
    return pd.DataFrame(
        [
            {
                "person": line.person,
                "site": line.site,
                "coupons": line.coupons,
                "planned": line.planned,
                "why_changed": line.why_changed,
                "chance_used": line.chances,
                "expected_now": "" if line.now is None else f"{line.now:.3f}",
                "expected_later": "" if line.later is None else f"{line.later:.3f}",
                "stratum": line.stratum,
                "probability": f"{line.probability:.6g}",
                "reason": line.reason,
            }
            for line in lines
        ],
        columns=["person", "site", "coupons", "planned", "why_changed", "chance_used", "expected_now",
                 "expected_later", "stratum", "probability", "reason"],
    )  # fmt: skip


def _workbook(study: StudyRow, plan: Plan, lines: list[ShownLine]) -> bytes:
    """A workbook to print and fill in."""
    book = Workbook()
    page = book.active
    assert page is not None
    page.title = gettext("Plan %(plan)s") % {"plan": plan.plan}
    put(page, 1, 1, f"{study.settings.name}: {page.title}").font = Font(bold=True, size=14)
    origin = gettext("Made %(day)s, model %(model)s, seed %(seed)s. %(status)s.") % {
        "day": time_text(study, plan.proposed_at), "model": plan.model, "seed": plan.seed,
        "status": STATUS_WORDS[plan.status],
    }  # fmt: skip
    put(page, 2, 1, origin)
    heads = (gettext("Person"), gettext("Site"), gettext("Coupons"), gettext("Numbers of the coupons"),
             gettext("Day"), gettext("Initials"), gettext("Why"))  # fmt: skip
    for column, (head, width) in enumerate(zip(heads, _WIDTHS, strict=True), start=1):
        cell = put(page, 4, column, head)
        cell.font, cell.border = Font(bold=True), _BOX
        page.column_dimensions[cell.column_letter].width = width
    for row, line in enumerate(lines, start=5):
        why = line.why_changed or line.reason
        values: tuple[str | int, ...] = (line.person, line.site_name, line.coupons, "", "", "", why)
        for column, value in enumerate(values, start=1):
            cell = put(page, row, column, value)
            cell.border, cell.alignment = _BOX, Alignment(vertical="top", wrap_text=True)
    page.freeze_panes = "A5"
    set_print(page, repeated="1:4", landscape=True, header=study.settings.name)
    return workbook_bytes(book)


def _file(content: bytes, kind: str, name: str) -> HttpResponse:
    response = HttpResponse(content, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "no-store"
    return response
