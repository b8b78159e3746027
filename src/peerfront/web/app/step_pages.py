"""The pages of the steps after the file: fit, sheet, forecast, estimates, report, and a running study's weeks."""

from collections.abc import Iterable, Mapping
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
from peerfront.web.app.step_forms import (
    EstimatesForm,
    FitForm,
    ForecastForm,
    OrderForm,
    ReportForm,
    UploadForm,
    WeekForm,
)
from peerfront.web.app.study_steps import (
    go_first,
    is_busy,
    nobody_waits,
    sheet_order,
    start,
    state_of,
    step_context,
    step_form,
    waiting_file,
)
from peerfront.words.commands import BY_DATE, FORECAST, MODEL, SCHEMA, WAITING

_WIDTH, _HEIGHT, _EDGE = 640, 150, 8  # of the picture of the curve
_USUAL_ROUNDS = 5
_LONGEST_NUMBER = 9  # digits of a number of coupons
_FILES = (
    ("sheet.xlsx", gettext_lazy("Excel, to print and fill in")),
    ("sheet.csv", gettext_lazy("Sheet as CSV")),
    ("forecast.csv", gettext_lazy("Forecast as CSV")),
    ("summary.txt", gettext_lazy("Summary as text")),
)
_OF_ONE_WEEK = ("date", "more_coupons")  # not kept from week to week


@require_http_methods(["GET", "POST"])
def fit(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    if not state_of(folder, "columns").done:
        return go_first(request, "file", _("First choose the study's file, and repair what stops it."))
    form = step_form(request, FitForm, {"rounds": _USUAL_ROUNDS, **folder.choices.get("fit", {})})
    if form.is_valid():
        folder.choose(fit=form.entries)
        file = str(folder.choices["file"])
        return start(request, Order("fit", "fit", {"file": file, **form.entries}, (file, SCHEMA)))
    return render(request, "app/fit.html", step_context("fit", form))


@require_http_methods(["GET", "POST"])
def sheet(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    if not state_of(folder, "fit").done:
        return go_first(request, "fit", _("First fit a model: the sheet is planned with it."))
    form = step_form(request, OrderForm, _usual_order(folder.choices), groups=used_groups())
    if form.is_bound and nobody_waits():
        form.add_error(None, _("Nobody waits for coupons, so no sheet can be made yet."))
    if form.is_valid():
        return _plan(request, form.entries)
    context = step_context("sheet", form)
    by = "person" if request.GET.get("by") == "person" else "coupons"
    people = by_coupons(context["result"].get("people", ()))
    if by == "person":
        people = sorted(people, key=lambda row: str(row["person"]))
    spend = sum(row["coupons"] for row in people)
    order = sheet_order(folder)  # the existing sheet's order; the form may hold a refused one
    return render(
        request,
        "app/sheet.html",
        {
            **context,
            "people": people,
            "by": by,
            "spend": spend,
            "getting": sum(row["coupons"] > 0 for row in people),
            "expected": sum(row["expected_now"] for row in people),
            "left": max(int(order.get("budget") or 0) - spend, 0),
            "curve": curve_of(context["result"].get("curve", ()), spend),
            "asked": order.get("spend"),
            "number_is_drawn": bool(order.get("strata") or order.get("randomise")),
            "waiting": waiting_file(),
            "nobody_waits": nobody_waits(),
            "own_waiting": waiting_file() != WAITING,
        },
    )


def _plan(request: HttpRequest, order: dict[str, Any]) -> HttpResponse:
    waiting = waiting_file()
    if waiting == WAITING and not state_of(app_folder(), "file").done:  # the people who wait come from another file
        return go_first(request, "file", _("First choose the study's file, and repair what stops it."))
    app_folder().choose(plan=order)
    return start(request, Order("sheet", "plan", {"waiting": waiting, **order}, (MODEL, waiting)))


@require_POST
def spend(request: HttpRequest) -> HttpResponse:
    """Make the sheet for another number of coupons this round, or again for the best one."""
    order = sheet_order(app_folder())
    order.pop("spend", None)
    wanted = request.POST.get("spend", "")
    if "best" not in request.POST:
        if not wanted.isdecimal() or len(wanted) > _LONGEST_NUMBER:
            messages.error(request, _("Choose a whole number of coupons."))
            return redirect("sheet")
        order["spend"] = int(wanted)
    if not app_folder().outcome("sheet").get("choices"):
        return redirect("sheet")
    return _plan(request, order)


@require_POST
def waiting(request: HttpRequest) -> HttpResponse:
    """Take the people who wait from a separate file, or again from the study's file."""
    folder = app_folder()
    if is_busy(request):
        return redirect("sheet")
    if "of_the_study" in request.POST:
        folder.choose(waiting="")
    else:
        form = UploadForm(request.POST, request.FILES)
        if form.is_valid():
            upload = form.cleaned_data["study_file"]
            folder.choose(waiting=folder.keep(str(upload.name), upload.read()))
            messages.success(request, _("These people are taken from now on. Make the sheet again."))
        else:
            messages.error(request, _("Choose a file with the people who wait."))
    return redirect("sheet")


def used_groups() -> dict[str, list[str]]:
    """Columns that plans use, with their categories."""
    fields = app_folder().contents.get("fields", [])
    return {each["name"]: each["categories"] for each in fields if each["used"]}


def _usual_order(choices: dict[str, Any]) -> dict[str, Any]:
    fitted = choices.get("fit", {})
    usual = {name: fitted[name] for name in ("budget", "max_per_person", "round_cap") if name in fitted}
    return {"date": date.today().isoformat(), **usual, **choices.get("plan", {})}


def by_coupons(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The people of a sheet, those with the most coupons first."""
    return sorted(rows, key=lambda row: -int(row["coupons"]))


def curve_of(rows: Iterable[Mapping[str, Any]], spend: int) -> dict[str, Any] | None:
    """What every number of coupons this round would bring, and a picture of it; None if there is nothing to choose."""
    values = dict(sorted((int(row["spend"]), float(row["value"])) for row in rows))
    if len(values) < 2:
        return None
    low, high, best = min(values), max(values), max(values, key=lambda number: values[number])
    least, most = min(values.values()), values[best]

    def place(number: int) -> tuple[float, float]:
        x = _EDGE + (_WIDTH - 2 * _EDGE) * (number - low) / max(high - low, 1)
        y = _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * (values[number] - least) / max(most - least, 1e-9)
        return x, y

    return {
        "low": low,
        "high": high,
        "best": best,
        "points": " ".join("{:.1f},{:.1f}".format(*place(number)) for number in values),
        "marks": [(*place(best), "best"), (*place(spend if spend in values else best), "chosen")],
        "alternatives": [{"spend": number, "value": value, "lost": most - value} for number, value in values.items()],
        "losses": {str(number): round(most - value, 2) for number, value in values.items()},  # for the slider
    }


# The outlook ----------------------------------------------------------------------------------------------------------


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


def _valid_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort the estimates of each quantity so that valid ones come first."""
    quantities = [tuple(row[name] for name in ("outcome", "group", "category")) for row in rows]
    order = sorted(range(len(rows)), key=lambda n: (quantities.index(quantities[n]), not rows[n]["valid"]))
    return [rows[n] for n in order]


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
    path("fit/", fit, name="fit"),
    path("sheet/", sheet, name="sheet"),
    path("sheet/spend/", spend, name="spend"),
    path("sheet/waiting/", waiting, name="waiting"),
    path("forecast/", forecast, name="forecast"),
    path("estimates/", estimates, name="estimates"),
    path("report/", report, name="report"),
    path("week/", week, name="week"),
    path("week/undo/", undo, name="undo_week"),
]
