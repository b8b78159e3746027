"""What to expect, what the sample says about the population, and the report about everything."""

from datetime import date
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from peerfront.app import commands
from peerfront.app.file_pages import waiting_file
from peerfront.app.folder import BY_DATE, ESTIMATES, FORECAST, MODEL, SCHEMA, AppFolder
from peerfront.app.forms import EstimatesForm, ForecastForm, ReportForm
from peerfront.app.jobs import Order
from peerfront.app.printed_words import below_the_forecast, below_the_weeks, warnings_in, without_warnings
from peerfront.app.progress_of_steps import state_of
from peerfront.app.serving import app_folder
from peerfront.app.starting import printed, start, step_context
from peerfront.app.tables import rows_of


@require_http_methods(["GET", "POST"])
def forecast(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    choices, seen = folder.choices, folder.seen
    if not state_of(folder, "fit").made:
        messages.info(request, _("First fit a model: the forecast is simulated with it."))
        return redirect("fit")
    if request.method == "POST":
        form = ForecastForm(request.POST)
        if form.is_valid():
            chosen = form.chosen
            folder.choose(forecast=chosen)
            return start(request, _forecast_order(choices, chosen, int(seen.get("people", 0))))
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
            "has_target": "target" in choices.get("forecast", {}),
        },
    )


def _newest(folder: AppFolder) -> str:
    """The kind of forecast that was made last."""
    made = {kind: folder.path / kind / "summary.csv" for kind in (FORECAST, BY_DATE)}
    return max(made, key=lambda kind: made[kind].stat().st_mtime_ns if made[kind].exists() else 0)


def _forecast_order(choices: dict[str, Any], chosen: dict[str, Any], people: int) -> Order:
    order, file, waiting = planned_order(choices), str(choices["file"]), waiting_file()
    if chosen.get("until"):
        return Order("forecast", (commands.forecast_by_date(file, order, chosen),), (MODEL, file))
    counted = {"already": people, **chosen} if chosen.get("target") else chosen
    return Order("forecast", (commands.forecast(waiting, order, counted),), (MODEL, waiting))


def planned_order(choices: dict[str, Any]) -> dict[str, Any]:
    """The order of the sheet, or the coupons that the model was fitted for."""
    return dict(choices.get("plan") or {"budget": choices.get("fit", {}).get("budget")})


@require_http_methods(["GET", "POST"])
def estimates(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    choices, seen = folder.choices, folder.seen
    if not state_of(folder, "columns").made:
        messages.info(request, _("First choose the study's file, and repair what stops it."))
        return redirect("file")
    columns = seen.get("answers", [])
    if request.method == "POST":
        form = EstimatesForm(request.POST, columns=columns)
        if form.is_valid():
            folder.choose(estimates=form.chosen)
            file, decisions = str(choices["file"]), "." if folder.has("log.jsonl") else ""
            order = Order("estimates", (commands.estimate(file, form.chosen, decisions),), (file, SCHEMA))
            return start(request, order)
    else:
        form = EstimatesForm(initial=choices.get("estimates", {}), columns=columns)
    place = folder.path / ESTIMATES
    words = place / "estimates.txt"
    outcomes = len(choices.get("estimates", {}).get("outcome", ()))
    return render(
        request,
        "app/estimates.html",
        {
            **step_context("estimates"),
            "form": form,
            "rows": rows_of(place / "estimates.csv"),
            "diagnostics": rows_of(place / "diagnostics.csv"),
            "lines": words.read_text(encoding="utf-8").splitlines() if words.exists() else [],
            "pictures": [f"estimates{'' if n == 0 else f'-{n + 1}'}.svg" for n in range(outcomes)],
        },
    )


@require_http_methods(["GET", "POST"])
def report(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    choices, seen = folder.choices, folder.seen
    if not state_of(folder, "fit").made:
        messages.info(request, _("First fit a model: the report is about it."))
        return redirect("fit")
    columns = seen.get("answers", [])
    if request.method == "POST":
        form = ReportForm(request.POST, columns=columns)
        if form.is_valid():
            folder.choose(report=form.chosen)
            file, waiting = str(choices["file"]), waiting_file()
            command = commands.report(file, waiting, planned_order(choices), form.chosen)
            return start(request, Order("report", (command,), (MODEL, file, waiting)))
    else:
        today = {"date": date.today().isoformat(), "target": choices.get("forecast", {}).get("target")}
        form = ReportForm(initial={**today, **choices.get("report", {})}, columns=columns)
    return render(request, "app/report.html", {**step_context("report"), "form": form})


pages = [
    path("forecast/", forecast, name="forecast"),
    path("estimates/", estimates, name="estimates"),
    path("report/", report, name="report"),
]
