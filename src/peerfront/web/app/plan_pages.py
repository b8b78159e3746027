"""Fit a model with progress, and make this round's sheet: who gets how many coupons, why, what else could be done."""

from datetime import date
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from peerfront.web.app import commands
from peerfront.web.app.file_pages import nobody_waits, waiting_file
from peerfront.web.app.folder import CURVE, MODEL, SCHEMA, SHEET, WAITING
from peerfront.web.app.forms import FitForm, OrderForm, UploadForm
from peerfront.web.app.jobs import Order
from peerfront.web.app.printed_words import below_the_sheet, of_the_fit, warnings_in, without_warnings
from peerfront.web.app.progress_of_steps import state_of
from peerfront.web.app.serving import app_folder
from peerfront.web.app.starting import is_busy, printed, start, step_context
from peerfront.web.app.tables import curve_of, people_on, rows_of

_USUAL_ROUNDS = 5
_LONGEST_NUMBER = 9  # digits of a number of coupons


@require_http_methods(["GET", "POST"])
def fit(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    if not state_of(folder, "columns").made:
        return _first(request, "file", _("First choose the study's file, and repair what stops it."))
    choices = folder.choices
    if request.method == "POST":
        form = FitForm(request.POST)
        if form.is_valid():
            folder.choose(fit=form.chosen)
            file = str(choices["file"])
            return start(request, Order("fit", (commands.fit(file, form.chosen),), (file, SCHEMA)))
    else:
        form = FitForm(initial={"rounds": _USUAL_ROUNDS, **choices.get("fit", {})})
    lines = of_the_fit(printed("fit"))
    return render(
        request, "app/fit.html",
        {**step_context("fit"), "form": form, "warnings": warnings_in(lines), "lines": without_warnings(lines)},
    )  # fmt: skip


@require_http_methods(["GET", "POST"])
def sheet(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    if not state_of(folder, "fit").made:
        return _first(request, "fit", _("First fit a model: the sheet is planned with it."))
    choices = folder.choices
    if request.method == "POST":
        form = OrderForm(request.POST, groups=used_groups())
        if nobody_waits():
            form.add_error(None, _("Nobody waits for coupons, so no sheet can be made yet."))
        if form.is_valid():
            return _plan(request, form.chosen)
    else:
        form = OrderForm(initial=_usual_order(choices), groups=used_groups())
    rows = rows_of(folder.path / SHEET)
    by = "person" if request.GET.get("by") == "person" else "coupons"
    people = people_on(rows, by)
    spend = sum(each.coupons for each in people)
    lines = below_the_sheet(printed("sheet"))
    made_with = folder.outcome("sheet").get("ordered", {})  # what is in the form may have been refused since
    return render(
        request,
        "app/sheet.html",
        {
            **step_context("sheet"),
            "form": form,
            "people": people,
            "spoiled": bool(rows) and not people,
            "by": by,
            "spend": spend,
            "getting": sum(each.coupons > 0 for each in people),
            "expected": sum(each.expected_now for each in people),
            "left": max(int(made_with.get("budget", 0)) - spend, 0),
            "curve": curve_of(rows_of(folder.path / CURVE), spend) if people else None,
            "asked": made_with.get("spend"),
            "number_is_drawn": bool(made_with.get("strata") or made_with.get("randomise")),
            "warnings": warnings_in(lines),
            "lines": without_warnings(lines),
            "waiting": waiting_file(),
            "nobody_waits": nobody_waits(),
            "own_waiting": waiting_file() != WAITING,
            "upload": UploadForm(),
        },
    )


def _plan(request: HttpRequest, chosen: dict[str, Any]) -> HttpResponse:
    waiting = waiting_file()
    if waiting == WAITING and not state_of(app_folder(), "file").made:  # who waits is of another file
        return _first(request, "file", _("First choose the study's file, and repair what stops it."))
    app_folder().choose(plan=chosen)
    return start(request, Order("sheet", (commands.plan(waiting, chosen),), (MODEL, waiting), chosen))


@require_POST
def spend(request: HttpRequest) -> HttpResponse:
    """Make the sheet for another number of coupons this round, or for the best one again."""
    order = dict(app_folder().outcome("sheet").get("ordered", {}))
    order.pop("spend", None)
    wanted = request.POST.get("spend", "")
    if "best" not in request.POST:
        if not wanted.isdecimal() or len(wanted) > _LONGEST_NUMBER:
            messages.error(request, _("Choose a whole number of coupons."))
            return redirect("sheet")
        order["spend"] = int(wanted)
    if not order:
        return redirect("sheet")
    return _plan(request, order)


@require_POST
def waiting(request: HttpRequest) -> HttpResponse:
    """Take the people who wait from a file of their own, or from the study's file again."""
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
    """Columns that are used to plan, with their categories."""
    fields = app_folder().seen.get("fields", [])
    return {each["name"]: each["categories"] for each in fields if each["used"]}


def _usual_order(choices: dict[str, Any]) -> dict[str, Any]:
    fitted = choices.get("fit", {})
    usual = {name: fitted[name] for name in ("budget", "max_per_person", "round_cap") if name in fitted}
    return {"date": date.today().isoformat(), **usual, **choices.get("plan", {})}


def _first(request: HttpRequest, step: str, why: str) -> HttpResponse:
    messages.info(request, why)
    return redirect(step)


pages = [
    path("fit/", fit, name="fit"),
    path("sheet/", sheet, name="sheet"),
    path("sheet/spend/", spend, name="spend"),
    path("sheet/waiting/", waiting, name="waiting"),
]
