"""The pages that fit a model and make this round's sheet: who gets how many coupons, why, and the alternatives."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from peerfront.web.app.app_jobs import Order
from peerfront.web.app.app_server import app_folder
from peerfront.web.app.step_forms import FitForm, OrderForm, UploadForm
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
from peerfront.words.commands import MODEL, SCHEMA, WAITING

_WIDTH, _HEIGHT, _EDGE = 640, 150, 8  # of the picture of the curve
_USUAL_ROUNDS = 5
_LONGEST_NUMBER = 9  # digits of a number of coupons


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


pages = [
    path("fit/", fit, name="fit"),
    path("sheet/", sheet, name="sheet"),
    path("sheet/spend/", spend, name="spend"),
    path("sheet/waiting/", waiting, name="waiting"),
]
