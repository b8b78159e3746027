"""What to expect, what the sample says about the population, and the report about everything."""

from datetime import date
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from peerfront.web.app import commands
from peerfront.web.app.file_pages import nobody_waits, waiting_file
from peerfront.web.app.folder import BY_DATE, ESTIMATES, FORECAST, MODEL, SCHEMA, AppFolder
from peerfront.web.app.forms import EstimatesForm, ForecastForm, ReportForm
from peerfront.web.app.jobs import Order
from peerfront.web.app.printed_words import below_the_forecast, below_the_weeks, warnings_in, without_warnings
from peerfront.web.app.progress_of_steps import sheet_order, state_of
from peerfront.web.app.serving import app_folder
from peerfront.web.app.starting import printed, start, step_context
from peerfront.web.app.tables import estimates_of, rows_of


@require_http_methods(["GET", "POST"])
def forecast(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    choices, seen = folder.choices, folder.seen
    if not state_of(folder, "fit").made:
        messages.info(request, _("First fit a model: the forecast is simulated with it."))
        return redirect("fit")
    if request.method == "POST":
        form = ForecastForm(request.POST)
        if form.is_valid() and nobody_waits() and not form.cleaned_data.get("until"):
            words = _(
                "Nobody waits for coupons. Give a last day: the forecast then counts on the coupons that are open."
            )
            form.add_error("until", words)
        if form.is_valid():
            chosen = form.chosen
            folder.choose(forecast=chosen)
            return start(request, _forecast_order(folder, chosen, int(seen.get("people", 0))))
    else:
        form = ForecastForm(initial=choices.get("forecast", {}))
    by_date = _newest(folder) == BY_DATE
    place = folder.path / (BY_DATE if by_date else FORECAST)
    summary = rows_of(place / "summary.csv")
    own = summary[0]["policy"] if summary else ""
    name = "weeks.csv" if by_date else "rounds.csv"
    words = printed("forecast")
    lines = below_the_weeks(words) if by_date else below_the_forecast(words, len(summary))
    return render(
        request,
        "app/forecast.html",
        {
            **step_context("forecast"),
            "form": form,
            "by_date": by_date,
            "place": BY_DATE if by_date else FORECAST,
            "summary": summary,
            "plan": summary[0] if summary else None,
            "periods": [row for row in rows_of(place / name) if row.get("policy") == own],
            "warnings": warnings_in(lines),
            "lines": without_warnings(lines),
            "has_target": any(row.get("reaches_target") for row in summary),
            "without_floors": bool(sheet_order(folder).get("at_least")),
        },
    )


def _newest(folder: AppFolder) -> str:
    """The kind of forecast that was made last."""
    made = {kind: folder.path / kind / "summary.csv" for kind in (FORECAST, BY_DATE)}
    return max(made, key=lambda kind: made[kind].stat().st_mtime_ns if made[kind].exists() else 0)


def _forecast_order(folder: AppFolder, chosen: dict[str, Any], people: int) -> Order:
    ordered, file, waiting = sheet_order(folder), str(folder.choices["file"]), waiting_file()
    if chosen.get("until"):
        return Order("forecast", (commands.forecast_by_date(file, ordered, chosen),), (MODEL, file), ordered)
    counted = {"already": people, **chosen} if chosen.get("target") else chosen
    return Order("forecast", (commands.forecast(waiting, ordered, counted),), (MODEL, waiting), ordered)


@require_http_methods(["GET", "POST"])
def estimates(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    choices, seen = folder.choices, folder.seen
    if not state_of(folder, "columns").made:
        messages.info(request, _("First choose the study's file, and repair what stops it."))
        return redirect("file")
    columns = {"outcomes": seen.get("outcomes", []), "subgroups": seen.get("subgroups", [])}
    if request.method == "POST":
        form = EstimatesForm(request.POST, **columns)
        if form.is_valid():
            folder.choose(estimates=form.chosen)
            file, decisions = str(choices["file"]), "." if folder.has("log.jsonl") else ""
            order = Order("estimates", (commands.estimate(file, form.chosen, decisions),), (file, SCHEMA))
            return start(request, order)
    else:
        form = EstimatesForm(initial=choices.get("estimates", {}), **columns)
    place = folder.path / ESTIMATES
    words = place / "estimates.txt"
    return render(
        request,
        "app/estimates.html",
        {
            **step_context("estimates"),
            "form": form,
            "rows": estimates_of(rows_of(place / "estimates.csv")),
            "lines": words.read_text(encoding="utf-8").splitlines() if words.exists() else [],
            "pictures": sorted(
                (file.name for file in place.glob("estimates*.svg")), key=lambda name: (len(name), name)
            ),
        },
    )


@require_http_methods(["GET", "POST"])
def report(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    choices, seen = folder.choices, folder.seen
    if not state_of(folder, "fit").made:
        messages.info(request, _("First fit a model: the report is about it."))
        return redirect("fit")
    outcomes = seen.get("outcomes", [])
    if request.method == "POST":
        form = ReportForm(request.POST, outcomes=outcomes)
        if form.is_valid():
            folder.choose(report=form.chosen)
            file, waiting = str(choices["file"]), "" if nobody_waits() else waiting_file()
            ordered = sheet_order(folder)
            command = commands.report(file, waiting, ordered, form.chosen)
            return start(request, Order("report", (command,), (MODEL, file, waiting_file()), ordered))
    else:
        today = {"date": date.today().isoformat(), "target": choices.get("forecast", {}).get("target")}
        form = ReportForm(initial={**today, **choices.get("report", {})}, outcomes=outcomes)
    return render(request, "app/report.html", {**step_context("report"), "form": form})


pages = [
    path("forecast/", forecast, name="forecast"),
    path("estimates/", estimates, name="estimates"),
    path("report/", report, name="report"),
]
