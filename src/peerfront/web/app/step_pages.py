"""The pages of the steps after the file: fit, sheet, forecast, estimates, report, and a running study's weeks."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from peerfront.web.app.app_folder import STATE
from peerfront.web.app.app_jobs import Order, Pace
from peerfront.web.app.app_server import app_folder, jobs
from peerfront.web.app.people_groups import SheetPeople, sheet_people
from peerfront.web.app.step_forms import (
    EstimatesForm,
    FitForm,
    OrderForm,
    ReportForm,
    UploadForm,
    WeekForm,
    order_facts,
)
from peerfront.web.app.study_steps import (
    STEPS,
    current_order,
    failed_now,
    go_first,
    is_busy,
    is_warning,
    nobody_waits,
    start,
    state_of,
    step_context,
    step_form,
    waiting_file,
    weeks_of,
)
from peerfront.web.pages.shown_estimates import shown_outcomes
from peerfront.words.charts import Html, drawn
from peerfront.words.commands import MODEL, SCHEMA
from peerfront.words.study_charts import outlook_charts, spend_chart

_USUAL_ROUNDS = 5
_OLD_FILE = 60  # days since a file's last date, after which the hand-out is not assumed to be today
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
        return start(request, _fit_order())
    usual = jobs().paces().get("fit", Pace()).for_people(folder.contents["people"])
    return render(request, "app/fit.html", {**step_context(request, "fit", form), "usual_seconds": usual})


@require_http_methods(["GET", "POST"])
def sheet(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    if not state_of(folder, "fit").done:
        return go_first(request, "fit", _("First fit a model: the sheet is planned with it."))
    form = step_form(request, OrderForm, _usual_order(), groups=used_groups())
    if form.is_valid():
        return _plan(request, form.entries)
    context = step_context(request, "sheet", form)
    spend = sum(row["coupons"] for row in context["result"].get("people", ()))
    order = current_order(folder)  # the existing sheet's order; the form may hold a refused one
    return render(
        request,
        "app/sheet.html",
        {
            **context,
            "people": _shown_people(request, context["result"]),
            "spend": spend,
            "day": order.get("date"),
            "least": least_of(order, context["result"].get("outlook")),
            "curve": curve_of(context["result"].get("curve", ()), spend),
            "asked": order.get("spend"),
            "number_is_drawn": bool(order.get("strata") or order.get("randomise")),
            "waiting": waiting_file(),
            "nobody_waits": nobody_waits(),
            "trial": trial(),
        },
    )


def trial() -> dict[str, Any] | None:
    """The last week of the log, if it was planned otherwise than this page's sheet, which then is a trial."""
    folder = app_folder()
    people, weeks = folder.outcome("sheet").get("result", {}).get("people", ()), weeks_of(folder)[0]
    if not people or not weeks:
        return None
    last, order = weeks[-1], current_order(folder)
    given = {str(row["person"]): row["coupons"] for row in people}
    asked = [(each.get("deadline"), each.get("target")) for each in (order, last["order"])]
    return None if (given, order.get("date")) == (last["planned"], last["day"]) and asked[0] == asked[1] else last


def least_of(order: Mapping[str, Any], outlook: Mapping[str, Any] | None) -> dict[str, Any]:
    """Whether everybody gets at least one coupon, and the people to expect with and without that, where it is known."""
    given, choices, own = bool(order.get("min_per_person")), {}, None
    if outlook is not None and not order.get("at_least"):
        choices, own = outlook["choices"], outlook["plan"]["recruits"]
    free, each = choices.get("choices.without_limits"), choices.get("choices.at_least_one")
    return {"given": given, "each": own if given else each, "free": free if given else own}


def _plan(request: HttpRequest, order: dict[str, Any]) -> HttpResponse:
    folder = app_folder()
    if not state_of(folder, "file").done:
        return go_first(request, "file", _("First choose the study's file, and repair what stops it."))
    folder.choose(plan=order)
    return start(request, _plan_order(order))


@require_POST
def change(request: HttpRequest) -> HttpResponse:
    """Plan again with one thing changed: another number of coupons this round or the best, or at least one each."""
    order = current_order(app_folder())  # of the sheet that is shown; the form may hold a refused one
    order = {name: value for name, value in order.items() if name in (*OrderForm.base_fields, "at_least")}
    wanted = request.POST.get("spend", "")
    if "least" in request.POST:
        order["min_per_person"] = int("each" in request.POST)
    elif "best" in request.POST:
        order.pop("spend", None)
    else:
        if not wanted.isdecimal() or len(wanted) > _LONGEST_NUMBER:
            messages.error(request, _("Choose a whole number of coupons."))
            return redirect("sheet")
        order["spend"] = int(wanted)
    return _plan(request, order) if "budget" in order else redirect("sheet")


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


def _usual_order() -> dict[str, Any]:
    choices = app_folder().choices
    fitted = choices.get("fit", {})
    usual = {name: fitted[name] for name in ("budget", "max_per_person", "round_cap") if name in fitted}
    return {"date": _usual_day(), **usual, **choices.get("plan", {})}


def _usual_day() -> str:
    """Today, or the last date of a file that is old."""
    today, last = date.today(), str(app_folder().contents.get("day") or "")
    is_old = last and (today - date.fromisoformat(last)).days > _OLD_FILE
    return last if is_old else today.isoformat()


def _shown_people(request: HttpRequest, result: Mapping[str, Any]) -> SheetPeople | None:
    return sheet_people(result, request.GET.get("who", "").strip(), request.GET.get("page"))


def curve_of(rows: Iterable[Mapping[str, Any]], spend: int) -> dict[str, Any] | None:
    """What every number of coupons this round would bring, as a chart; None if there is nothing to choose."""
    values = dict(sorted((int(row["spend"]), float(row["value"])) for row in rows))
    if len(values) < 2:
        return None
    best = max(values, key=lambda number: values[number])
    return {"low": min(values), "high": max(values), "best": best, "chart": drawn(spend_chart(values, spend))}


# The outlook ----------------------------------------------------------------------------------------------------------


@require_GET
def forecast(request: HttpRequest) -> HttpResponse:
    """Show what to expect of the current sheet; there is nothing to choose here."""
    folder = app_folder()
    if not state_of(folder, "fit").done:
        return go_first(request, "fit", _("First fit a model: the forecast is simulated with it."))
    order = current_order(folder)
    if not order and step_context(request, "sheet")["running"] is False:
        return go_first(request, "sheet", _("First make the sheet: forecast and report look ahead from it."))
    context = step_context(request, "forecast")
    context |= {"outlook": context["result"].get("outlook"), "day": order.get("date"), "order": order_facts(order)}
    context |= {"trial": trial(), "charts": charts_of(context["outlook"], order)}
    return render(request, "app/forecast.html", context)


def charts_of(outlook: Mapping[str, Any] | None, order: Mapping[str, Any]) -> list[Html]:
    """People in all and by week, as an outlook expects them; none without one."""
    if not outlook or "facts" not in outlook:  # an outlook of an earlier version
        return []
    last = date.fromisoformat(order["deadline"]) if order.get("deadline") else None
    return [drawn(each, caption=True) for each in outlook_charts(outlook["facts"], last)]


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
        return start(request, _estimates_order())
    context = step_context(request, "estimates", form)
    context["outcomes"] = shown_outcomes(context["result"].get("outcomes", ()))
    return render(request, "app/estimates.html", context)


@require_http_methods(["GET", "POST"])
def report(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    if not state_of(folder, "fit").done:
        return go_first(request, "fit", _("First fit a model: the report is about it."))
    choices, order = folder.choices, current_order(folder)
    if not order:
        return go_first(request, "sheet", _("First make the sheet: forecast and report look ahead from it."))
    form = step_form(request, ReportForm, choices.get("report", {}), outcomes=folder.contents.get("outcomes", []))
    if form.is_valid():
        folder.choose(report=form.entries)
        return start(request, _report_order(order))
    context = {**step_context(request, "report", form), "order": order_facts(order), "trial": trial()}
    return render(request, "app/report.html", context)


# The order of each step, once more ------------------------------------------------------------------------------------


def _fit_order() -> Order:
    choices = app_folder().choices
    file = str(choices["file"])
    return Order("fit", "fit", {"file": file, **choices.get("fit", {})}, (file, SCHEMA))


def _plan_order(order: Mapping[str, Any]) -> Order:
    folder, waiting = app_folder(), waiting_file()
    file, contents = str(folder.choices["file"]), folder.contents
    of_list = {"waiting": waiting, "already": contents["people"]}
    seen = of_list if waiting else {"as_of": order["date"]} if contents.get("day") else {}
    return Order("sheet", "plan", {"file": file, **seen, **order}, (MODEL, file, waiting))


def _estimates_order() -> Order:
    folder = app_folder()
    file, decisions = str(folder.choices["file"]), "." if folder.has("log.jsonl") else ""
    choices = {"file": file, "decisions": decisions, **folder.choices.get("estimates", {})}
    return Order("estimates", "estimate", choices, (file, SCHEMA))


def _report_order(order: Mapping[str, Any]) -> Order:
    choices = app_folder().choices
    file, waiting = str(choices["file"]), str(order.get("waiting", ""))
    made = {"file": file, "order": dict(order), **choices.get("report", {})}
    return Order("report", "report", made, (MODEL, file, waiting))


def _orders_again(step: str) -> list[Order]:
    """The orders that bring a step up to date: first the steps that it is made with, where these are out of date."""
    folder = app_folder()
    if step == "estimates":
        return [_estimates_order()]
    orders = [_fit_order()] if step == "fit" or state_of(folder, "fit").outdated else []
    if step == "fit":
        return orders
    order, plan = current_order(folder), folder.choices.get("plan", {})
    if orders or step != "report" or state_of(folder, "sheet").outdated:
        day = max(str(plan.get("date", "")), _usual_day())
        orders.append(_plan_order({**plan, "date": day}))
        order = dict(orders[-1].choices)
    return [*orders, _report_order(order)] if step == "report" else orders


@require_POST
def again(request: HttpRequest, step: str) -> HttpResponse:
    """Start again what was stopped, or do again what is out of date."""
    if step not in dict(STEPS):
        raise Http404
    folder = app_folder()
    outcome = folder.outcome(step)
    tried = outcome.get("tried", {})
    if outcome.get("stopped") and failed_now(folder, step, outcome):
        start(request, Order(step, tried["work"], tried["choices"], tuple(tried["inputs"])))
    elif not state_of(folder, "file").done:
        return go_first(request, "file", _("First choose the study's file, and repair what stops it."))
    elif state_of(folder, step).outdated:
        start(request, *_orders_again(step))
    return redirect(step)


# Week by week -------------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def week(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    choices = folder.choices
    weeks, fault = weeks_of(folder)
    last = weeks[-1] if weeks else None
    usual = _usual_week() if last is None else _as_last_week(last)
    form = step_form(request, WeekForm, usual, first=last is None, groups=used_groups())
    if form.is_valid():
        entries = form.entries
        upload = entries.pop("study_file", None)
        file = folder.keep(str(upload.name), upload.read()) if upload is not None else str(choices.get("file", ""))
        if not file:
            messages.error(request, _("Choose this week's file."))
            return redirect("week")
        folder.choose(week={name: value for name, value in entries.items() if name not in _OF_ONE_WEEK})
        fitted = folder.outcome("fit").get("choices", {}).get("file") == file and state_of(folder, "fit")
        model = {"model": MODEL} if last is None and fitted and fitted.done and not fitted.outdated else {}
        return start(request, Order("week", "week", {"file": file, **entries, **model}))
    context = {**step_context(request, "week", form), "weeks": weeks[::-1], "fault": fault, "last": last}
    if last is not None:
        result = folder.read(f"{STATE}/{last['folder']}.json")  # only of a week that was planned in the app
        context |= {**_week_context(last["folder"]), "people": _shown_people(request, result), "news": _news(weeks)}
        context |= {"charts": charts_of(result.get("outlook"), last["order"])}
    return render(request, "app/week.html", context)


def _week_context(name: str) -> dict[str, Any]:
    """What the folder of a week holds: its sections by key, warnings apart, and the files to download."""
    from peerfront.words.week_words import DETAILS, stored_sections  # only here: it takes a while to load

    place = app_folder().path / name
    sections = {each.key: each.lines for each in stored_sections(place)}
    return {
        "plain": {key: [line for line in lines if not is_warning(line)] for key, lines in sections.items()},
        "warnings": [line for key, lines in sections.items() if key != DETAILS for line in lines if is_warning(line)],
        "downloads": [(file, label) for file, label in _FILES if (place / file).exists()],
    }


def _news(weeks: Sequence[Mapping[str, Any]]) -> dict[str, int] | None:
    """What is new since the week before: people, coupons that were handed out, and those left; None in the first."""
    if len(weeks) < 2:
        return None
    (before, then), (people, given) = (
        (week["people"], week["order"]["budget"] - week["coupons_left"]) for week in weeks[-2:]
    )
    return {"people": people - before, "given": given - then, "left": weeks[-1]["coupons_left"]}


@require_POST
def undo(request: HttpRequest) -> HttpResponse:
    """Take back the last week, if it is the one that the page showed; its folder and its lines in the log stay."""
    weeks, _fault = weeks_of(app_folder())
    if not weeks or request.POST.get("week") != str(weeks[-1]["number"]):
        messages.error(request, _("Nothing was done: another week is the last one by now, perhaps by another tab."))
        return redirect("week")
    return start(request, Order("week", "undo_week"))


def _usual_week() -> dict[str, Any]:
    choices = app_folder().choices
    return {**_usual_order(), "valid_days": choices.get("reading", {}).get("valid_days"), **choices.get("week", {})}


def _as_last_week(last: dict[str, Any]) -> dict[str, Any]:
    """The standing order from the log, which applies unless something else is entered."""
    order = {**last["order"], "study": last.get("study"), "spend": None, "rounds_left": None}
    order |= {name: "+".join(order.get(name) or ()) for name in ("strata", "population")}
    day, after = _usual_day(), date.fromisoformat(last["day"]) + timedelta(weeks=1)
    return {
        **{name: value for name, value in order.items() if value},
        "date": day if day > last["day"] else after.isoformat(),
    }


pages = [
    path("again/<step>/", again, name="again"),
    path("fit/", fit, name="fit"),
    path("sheet/", sheet, name="sheet"),
    path("sheet/change/", change, name="change"),
    path("sheet/waiting/", waiting, name="waiting"),
    path("forecast/", forecast, name="forecast"),
    path("estimates/", estimates, name="estimates"),
    path("report/", report, name="report"),
    path("week/", week, name="week"),
    path("week/undo/", undo, name="undo_week"),
]
