"""The sheet of a plan on paper: who gets how many, with room for coupon numbers, day and initials; also as a file."""

import pandas as pd
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from openpyxl import Workbook
from openpyxl.styles import Alignment, Border, Font, Side

from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.workbooks import put, set_print, workbook_bytes
from peerfront.web.live.records.models import Plan
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.records import StudyRow
from peerfront.web.live.screens.plan_history import STATUS_WORDS
from peerfront.web.live.screens.plan_lines import ShownLine, shown_lines
from peerfront.web.live.screens.plan_page import lines_in_sight, plan_or_404, summary_of
from peerfront.web.live.screens.visibility import chosen_site, sites_in_sight, study_or_404, time_text

_WIDTHS = (14, 16, 10, 38, 14, 12, 60)
_BOX = Border(*(Side(style="thin"),) * 4)


def plan_sheet(request: HttpRequest, number: int) -> HttpResponse:
    """The sheet to print, or a file (?file=csv, ?file=xlsx); of one site (?site=), or of all sites in sight."""
    study, plan = study_or_404(), plan_or_404(number)
    sites, site = sites_in_sight(request, Action.SEE_PEOPLE), chosen_site(request, Action.SEE_PEOPLE) or ""
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
    made = gettext("Made %(day)s, model %(model)s, seed %(seed)s. %(status)s.") % {
        "day": time_text(study, plan.proposed_at), "model": plan.model, "seed": plan.seed,
        "status": STATUS_WORDS[plan.status],
    }  # fmt: skip
    put(page, 2, 1, made)
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
