"""The pages of the forecast, of estimates for the population, and of the report."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from peerfront.web.app.app_folder import AppFolder
from peerfront.web.app.app_jobs import Order
from peerfront.web.app.app_server import app_folder
from peerfront.web.app.step_forms import EstimatesForm, ForecastForm, ReportForm
from peerfront.web.app.study_steps import (
    asked_in_the_address,
    go_first,
    nobody_waits,
    sheet_order,
    start,
    state_of,
    step_context,
    waiting_file,
)
from peerfront.words.commands import BY_DATE, FORECAST, MODEL, SCHEMA


@require_http_methods(["GET", "POST"])
def forecast(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    if not state_of(folder, "fit").done:
        return go_first(request, "fit", _("First fit a model: the forecast is simulated with it."))
    if request.method == "POST":
        form = ForecastForm(request.POST)
        if form.is_valid() and nobody_waits() and not form.cleaned_data.get("until"):
            words = _(
                "Nobody waits for coupons. Give a last day: the forecast then counts on the coupons that are open."
            )
            form.add_error("until", words)
        if form.is_valid():
            folder.choose(forecast=form.entries)
            return start(request, _forecast_order(folder, form.entries))
    else:
        asked = asked_in_the_address(request, ForecastForm)
        form = ForecastForm(initial={**folder.choices.get("forecast", {}), **asked})
    context = step_context("forecast", form)
    context |= {
        "place": BY_DATE if context["result"].get("by_date") else FORECAST,
        "has_target": "target" in context["outcome"].get("choices", {}),
        "without_floors": bool(sheet_order(folder).get("at_least")),
    }
    return render(request, "app/forecast.html", context)


def _forecast_order(folder: AppFolder, entries: dict[str, Any]) -> Order:
    order, file, waiting = sheet_order(folder), str(folder.choices["file"]), waiting_file()
    if entries.get("until"):
        return Order("forecast", "forecast_by_date", {"file": file, "order": order, **entries}, (MODEL, file))
    already = {"already": int(folder.contents.get("people", 0))} if entries.get("target") else {}
    return Order("forecast", "forecast", {"waiting": waiting, "order": order, **already, **entries}, (MODEL, waiting))


@require_http_methods(["GET", "POST"])
def estimates(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    if not state_of(folder, "columns").done:
        return go_first(request, "file", _("First choose the study's file, and repair what stops it."))
    contents = folder.contents
    columns = {"outcomes": contents.get("outcomes", []), "subgroups": contents.get("subgroups", [])}
    if request.method == "POST":
        form = EstimatesForm(request.POST, **columns)
        if form.is_valid():
            folder.choose(estimates=form.entries)
            file, decisions = str(contents["file"]), "." if folder.has("log.jsonl") else ""
            choices = {"file": file, "decisions": decisions, **form.entries}
            return start(request, Order("estimates", "estimate", choices, (file, SCHEMA)))
    else:
        asked = asked_in_the_address(request, EstimatesForm)
        form = EstimatesForm(initial={**folder.choices.get("estimates", {}), **asked}, **columns)
    context = step_context("estimates", form)
    return render(request, "app/estimates.html", {**context, "rows": _valid_first(context["result"].get("rows", []))})


def _valid_first(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort the estimates of each quantity so that valid ones come first."""
    places: dict[tuple[Any, ...], int] = {}
    ranked = []
    for row in rows:
        quantity = tuple(row[name] for name in ("outcome", "group", "category"))
        ranked.append((places.setdefault(quantity, len(places)), not row["valid"], row))
    return [row for _place, _invalid, row in sorted(ranked, key=lambda each: each[:2])]


@require_http_methods(["GET", "POST"])
def report(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    if not state_of(folder, "fit").done:
        return go_first(request, "fit", _("First fit a model: the report is about it."))
    choices, outcomes = folder.choices, folder.contents.get("outcomes", [])
    if request.method == "POST":
        form = ReportForm(request.POST, outcomes=outcomes)
        if form.is_valid():
            folder.choose(report=form.entries)
            file, waiting = str(choices["file"]), "" if nobody_waits() else waiting_file()
            ordered = {"file": file, "waiting": waiting, "order": sheet_order(folder), **form.entries}
            return start(request, Order("report", "report", ordered, (MODEL, file, waiting_file())))
    else:
        today = {"date": date.today().isoformat(), "target": choices.get("forecast", {}).get("target")}
        asked = asked_in_the_address(request, ReportForm)
        form = ReportForm(initial={**today, **choices.get("report", {}), **asked}, outcomes=outcomes)
    return render(request, "app/report.html", step_context("report", form))


pages = [
    path("forecast/", forecast, name="forecast"),
    path("estimates/", estimates, name="estimates"),
    path("report/", report, name="report"),
]
