"""The pages of the forecast, of estimates for the population, of the report, and of a running study's weeks."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from peerfront.foundation.errors import PeerfrontError
from peerfront.foundation.messages import Message
from peerfront.web.app.app_folder import STATE, AppFolder
from peerfront.web.app.app_jobs import Order
from peerfront.web.app.app_server import app_folder
from peerfront.web.app.sheet_pages import by_coupons
from peerfront.web.app.step_forms import EstimatesForm, ForecastForm, ReportForm, WeekForm
from peerfront.web.app.study_steps import (
    go_first,
    nobody_waits,
    sheet_order,
    start,
    state_of,
    step_context,
    step_form,
    waiting_file,
)
from peerfront.words.commands import BY_DATE, FORECAST, MODEL, SCHEMA

_FILES = (
    ("sheet.xlsx", gettext_lazy("Excel, to print and fill in")),
    ("sheet.csv", gettext_lazy("Sheet as CSV")),
    ("forecast.csv", gettext_lazy("Forecast as CSV")),
    ("summary.txt", gettext_lazy("Summary as text")),
)
_OF_ONE_WEEK = ("date", "more_coupons")  # not kept from week to week


@require_http_methods(["GET", "POST"])
def forecast(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    if not state_of(folder, "fit").done:
        return go_first(request, "fit", _("First fit a model: the forecast is simulated with it."))
    form = step_form(request, ForecastForm, folder.choices.get("forecast", {}))
    if form.is_valid() and nobody_waits() and not form.cleaned_data.get("until"):
        words = _("Nobody waits for coupons. Give a last day: the forecast then counts on the coupons that are open.")
        form.add_error("until", words)
    if form.is_valid():
        folder.choose(forecast=form.entries)
        return start(request, _forecast_order(folder, form.entries))
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
    form = step_form(request, EstimatesForm, folder.choices.get("estimates", {}), **columns)
    if form.is_valid():
        folder.choose(estimates=form.entries)
        file, decisions = str(contents["file"]), "." if folder.has("log.jsonl") else ""
        choices = {"file": file, "decisions": decisions, **form.entries}
        return start(request, Order("estimates", "estimate", choices, (file, SCHEMA)))
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
    choices = folder.choices
    today = {"date": date.today().isoformat(), "target": choices.get("forecast", {}).get("target")}
    usual = {**today, **choices.get("report", {})}
    form = step_form(request, ReportForm, usual, outcomes=folder.contents.get("outcomes", []))
    if form.is_valid():
        folder.choose(report=form.entries)
        file, waiting = str(choices["file"]), "" if nobody_waits() else waiting_file()
        ordered = {"file": file, "waiting": waiting, "order": sheet_order(folder), **form.entries}
        return start(request, Order("report", "report", ordered, (MODEL, file, waiting_file())))
    return render(request, "app/report.html", step_context("report", form))


# Week by week -------------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def week(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    choices = folder.choices
    weeks, fault = _weeks()
    last = weeks[-1] if weeks else None
    usual = _usual_week(choices) if last is None else _as_last_week(last)
    form = step_form(request, WeekForm, usual, first=last is None)
    if form.is_valid():
        entries = form.entries
        upload = entries.pop("study_file", None)
        file = folder.keep(str(upload.name), upload.read()) if upload is not None else str(choices.get("file", ""))
        if not file:
            messages.error(request, _("Choose this week's file."))
            return redirect("week")
        folder.choose(week={name: value for name, value in entries.items() if name not in _OF_ONE_WEEK})
        return start(request, Order("week", "week", {"file": file, **entries}))
    context = {**step_context("week", form), "weeks": weeks[::-1], "fault": fault, "first": last is None, "last": last}
    return render(request, "app/week.html", context if last is None else {**context, **_week_context(last["folder"])})


def _week_context(name: str) -> dict[str, Any]:
    """Values for the page of a week; the coupon list is shown only if the week was planned in the app."""
    from peerfront.words.week_words import stored_sections  # only here: it takes a while to load

    folder = app_folder()
    place, result = folder.path / name, folder.read(f"{STATE}/{name}.json")
    return {
        "sections": stored_sections(place),
        "people": by_coupons(result.get("people", ())),
        "downloads": [(file, label) for file, label in _FILES if (place / file).exists()],
        "picture": (place / "forecast.png").exists(),
    }


@require_POST
def undo(request: HttpRequest) -> HttpResponse:
    """Take back the last week, if it is the one that the page showed; its folder and its lines in the log stay."""
    weeks, _fault = _weeks()
    if not weeks or request.POST.get("week") != str(weeks[-1]["number"]):
        messages.error(request, _("Nothing was done: another week is the last one by now, perhaps by another tab."))
        return redirect("week")
    return start(request, Order("week", "undo_week"))


def _weeks() -> tuple[list[dict[str, Any]], Message | None]:
    """The weeks of the log, the oldest first, and the error of a damaged log, if any."""
    folder = app_folder()
    if not folder.has("log.jsonl"):
        return [], None
    from peerfront.study.study_folder import StudyFolder  # only here: it takes a while to load

    try:
        kept = StudyFolder(folder.path)
    except PeerfrontError as problem:
        return [], problem.message
    weeks = [
        {"number": week.number, "day": week.day, "folder": week.folder, **dict(week.facts), "log_head": kept.log.head}
        for week in kept.weeks
    ]
    return weeks, None


def _usual_week(choices: dict[str, Any]) -> dict[str, Any]:
    order = sheet_order(app_folder())
    usual = {name: order[name] for name in ("budget", "max_per_person", "min_per_person", "study") if order.get(name)}
    forecast = {
        "deadline": choices.get("forecast", {}).get("until"),
        "target": choices.get("forecast", {}).get("target"),
    }
    valid = {"valid_days": choices.get("reading", {}).get("valid_days")}
    return {"date": date.today().isoformat(), **usual, **forecast, **valid, **choices.get("week", {})}


def _as_last_week(last: dict[str, Any]) -> dict[str, Any]:
    """The standing order from the log, which applies unless something else is entered."""
    order = {**last["order"], "week_cap": last["order"].get("round_cap"), "study": last.get("study")}
    return {**{name: value for name, value in order.items() if value}, "date": date.today().isoformat()}


pages = [
    path("forecast/", forecast, name="forecast"),
    path("estimates/", estimates, name="estimates"),
    path("report/", report, name="report"),
    path("week/", week, name="week"),
    path("week/undo/", undo, name="undo_week"),
]
