"""The pages of the first two steps: the study's file with its contents and faults, and the roles of its columns."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from peerfront.web.app.app_jobs import Order
from peerfront.web.app.app_server import app_folder, jobs
from peerfront.web.app.column_choices import ColumnsForm, entries_of, remedies_of, ticks_of
from peerfront.web.app.step_forms import UploadForm
from peerfront.web.app.study_steps import STEPS, is_busy, start, state_of, step_context
from peerfront.words.commands import EXAMPLE


def home(request: HttpRequest) -> HttpResponse:
    """Go to the first step that is not done yet."""
    done = [name for name, label in STEPS[:4] if state_of(app_folder(), name).done]
    if "sheet" in done:
        return redirect("sheet")
    return redirect(next(name for name, label in STEPS if name not in done))


@require_http_methods(["GET", "POST"])
def file(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    form = UploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        upload = form.cleaned_data["study_file"]
        name = folder.keep(str(upload.name), upload.read())
        if _is_being_read(name) or is_busy(request):
            return redirect("file")
        folder.choose(file=name)
        return start(request, read_order("file"))
    contents, context = folder.contents, step_context("file", form)
    failed = bool(contents.get("error") or context["outcome"].get("error"))
    context |= {
        "contents": contents,
        "ways_out": _ways_out(contents),
        "chosen": folder.choices.get("file"),
        "half_read": "file" in folder.choices and not context["state"].done and not failed,
    }
    return render(request, "app/file.html", context)


@require_POST
def read_again(request: HttpRequest) -> HttpResponse:
    """Read the uploaded file again, after reading was stopped or the computer crashed."""
    if "file" not in app_folder().choices or is_busy(request):
        return redirect("file")
    return start(request, read_order("file"))


@require_POST
def example(request: HttpRequest) -> HttpResponse:
    """Start with a made-up study."""
    name = f"{EXAMPLE}/study.csv"
    if _is_being_read(name) or is_busy(request):
        return redirect("file")
    app_folder().choose(file=name)
    return start(request, read_order("file", example=True))


def _is_being_read(name: str) -> bool:
    """Whether this file is being read already, as after a double click."""
    job = jobs().running
    return job is not None and job.order.step == "file" and app_folder().choices.get("file") == name


def read_order(step: str, *, example: bool = False) -> Order:
    """The order to read the file for the pages, and to write what `peerfront check` writes."""
    kept = app_folder().choices
    names = ("file", "reading", "ticks", "columns")
    choices: dict[str, Any] = {"example": example, **{name: kept[name] for name in names if name in kept}}
    return Order(step, "read", choices, (str(kept["file"]),))


@require_http_methods(["GET", "POST"])
def columns(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    contents = folder.contents
    if not contents or (contents.get("error") and not (contents.get("columns") or contents.get("problems"))):
        return redirect("file")  # its columns are unknown
    if request.method == "POST":
        if request.POST.get("digest") != contents.get("digest"):
            messages.error(
                request,
                _("Another file was chosen meanwhile, perhaps in another tab. These are its columns; choose again."),
            )
            return redirect("columns")
        form = ColumnsForm(request.POST, contents=contents)
        if form.is_valid():
            offered, ticked = request.POST.getlist("offered"), request.POST.getlist("use")
            reading = form.reading(contents.get("recognised", {}))
            names = [each["name"] for each in contents.get("columns", ())]
            if reading["sheet"] != contents.get("reading", {}).get("sheet", ""):
                reading, names = {**reading, "columns": {}}, []  # another sheet has other columns
            folder.choose(reading=reading, ticks=ticks_of(offered, ticked, contents.get("ticks", {})), columns=names)
            return start(request, read_order("columns"))
    else:
        form = ColumnsForm(initial=entries_of(contents, contents.get("reading", {})), contents=contents)
    fields = contents.get("fields", [])
    return render(
        request,
        "app/columns.html",
        {
            **step_context("columns", form),
            "contents": contents,
            "ways_out": _ways_out(contents),
            "fields": [each for each in fields if each["can"]],
            "left_out": [each for each in fields if not each["can"]],
        },
    )


def _ways_out(contents: Mapping[str, Any]) -> dict[str, Any]:
    """How the form of the columns can help with a refused file: the settings that the error names, or other columns."""
    error, remedies = contents.get("error"), remedies_of(contents)
    settings = {remedy.setting: remedy.value for remedy in remedies if remedy.setting in ("sheet", "coupons_each")}
    unclear = error is not None and error.code == "recognition.unclear"
    return {**settings, "suggested": contents.get("suggested"), "columns": unclear}


pages = [
    path("", home, name="home"),
    path("file/", file, name="file"),
    path("file/again/", read_again, name="read_again"),
    path("file/example/", example, name="example"),
    path("columns/", columns, name="columns"),
]
