"""The pages of a running study's weeks: changes, plan and hand-out, the next sheet, the forecast by date."""

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
from peerfront.web.app.app_folder import STATE
from peerfront.web.app.app_jobs import Order
from peerfront.web.app.app_server import app_folder
from peerfront.web.app.sheet_pages import by_coupons
from peerfront.web.app.step_forms import WeekForm
from peerfront.web.app.study_steps import asked_in_the_address, sheet_order, start, step_context

_FILES = (
    ("sheet.xlsx", gettext_lazy("Excel, to print and fill in")),
    ("sheet.csv", gettext_lazy("Sheet as CSV")),
    ("forecast.csv", gettext_lazy("Forecast as CSV")),
    ("summary.txt", gettext_lazy("Summary as text")),
)
_OF_ONE_WEEK = ("date", "more_coupons")  # not kept from week to week


@require_http_methods(["GET", "POST"])
def week(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    choices = folder.choices
    weeks, fault = _weeks()
    last = weeks[-1] if weeks else None
    if request.method == "POST":
        form = WeekForm(request.POST, request.FILES, first=last is None)
        if form.is_valid():
            entries = form.entries
            upload = entries.pop("study_file", None)
            file = folder.keep(str(upload.name), upload.read()) if upload is not None else str(choices.get("file", ""))
            if not file:
                messages.error(request, _("Choose this week's file."))
                return redirect("week")
            folder.choose(week={name: value for name, value in entries.items() if name not in _OF_ONE_WEEK})
            return start(request, Order("week", "week", {"file": file, **entries}))
    else:
        initial = _usual(choices) if last is None else _as_last_week(last)
        form = WeekForm(initial={**initial, **asked_in_the_address(request, WeekForm)}, first=last is None)
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


def _usual(choices: dict[str, Any]) -> dict[str, Any]:
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


pages = [path("week/", week, name="week"), path("week/undo/", undo, name="undo_week")]
