"""Next week the same folder goes on, as `peerfront week` does: what changed, plan against done, sheet, forecast."""

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
from peerfront.web.app import commands
from peerfront.web.app.forms import WeekForm
from peerfront.web.app.jobs import Order
from peerfront.web.app.printed_words import sections_of
from peerfront.web.app.serving import app_folder
from peerfront.web.app.starting import start, step_context
from peerfront.web.app.tables import people_on, rows_of

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
    known, fault = _weeks()
    first = not known
    if request.method == "POST":
        form = WeekForm(request.POST, request.FILES, first=first)
        if form.is_valid():
            chosen = form.chosen
            upload = chosen.pop("study_file", None)
            file = folder.keep(str(upload.name), upload.read()) if upload is not None else str(choices.get("file", ""))
            if not file:
                messages.error(request, _("Choose this week's file."))
                return redirect("week")
            folder.choose(week={name: value for name, value in chosen.items() if name not in _OF_ONE_WEEK})
            return start(request, Order("week", (commands.week(file, chosen),)))
    else:
        form = WeekForm(initial=_usual(choices) if first else _as_last_week(known[-1]), first=first)
    last = known[-1] if known else None
    context: dict[str, Any] = {"form": form, "weeks": known[::-1], "fault": fault, "first": first, "last": last}
    if last is not None:
        place = folder.path / last["folder"]
        summary = place / "summary.txt"
        text = summary.read_text(encoding="utf-8") if summary.exists() else ""
        context |= {
            "sections": sections_of(text),
            "people": people_on(rows_of(place / "sheet.csv")),
            "downloads": [(name, label) for name, label in _FILES if (place / name).exists()],
            "picture": (place / "forecast.png").exists(),
        }
    return render(request, "app/week.html", {**step_context("week"), **context})


@require_POST
def undo(request: HttpRequest) -> HttpResponse:
    """Take back the week that the page showed as the last; its folder and its lines in the log stay."""
    known, _fault = _weeks()
    if not known or request.POST.get("week") != str(known[-1]["number"]):
        messages.error(request, _("Nothing was done: another week is the last one by now, perhaps by another tab."))
        return redirect("week")
    return start(request, Order("week", (commands.undo_week(),)))


def _weeks() -> tuple[list[dict[str, Any]], str]:
    """The weeks of the log, the first one first, and what is wrong with the log, if anything."""
    folder = app_folder()
    if not folder.has("log.jsonl"):
        return [], ""
    from peerfront.study.study_folder import StudyFolder  # only here: it takes a while to load

    try:
        kept = StudyFolder(folder.path)
    except PeerfrontError as problem:
        return [], str(problem)
    weeks = [
        {"number": week.number, "day": week.day, "folder": week.folder, **dict(week.facts), "log_head": kept.log.head}
        for week in kept.weeks
    ]
    return weeks, ""


def _usual(choices: dict[str, Any]) -> dict[str, Any]:
    planned = choices.get("plan") or choices.get("fit", {})
    usual = {
        name: planned[name] for name in ("budget", "max_per_person", "min_per_person", "study") if planned.get(name)
    }
    forecast = {
        "deadline": choices.get("forecast", {}).get("until"),
        "target": choices.get("forecast", {}).get("target"),
    }
    valid = {"valid_days": choices.get("reading", {}).get("valid_days")}
    return {"date": date.today().isoformat(), **usual, **forecast, **valid, **choices.get("week", {})}


def _as_last_week(last: dict[str, Any]) -> dict[str, Any]:
    """The standing order, as the log has it: what applies if nothing else is entered."""
    order = {**last["order"], "week_cap": last["order"].get("round_cap"), "study": last.get("study")}
    return {**{name: value for name, value in order.items() if value}, "date": date.today().isoformat()}


pages = [path("week/", week, name="week"), path("week/undo/", undo, name="undo_week")]
