"""The first two steps: the study's file with what is in it and what is wrong, and which column is what."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from peerfront.data.read_settings import ROLES
from peerfront.web.app import commands
from peerfront.web.app.column_choices import ColumnsForm, entries_of, ticks_of
from peerfront.web.app.folder import WAITING
from peerfront.web.app.forms import UploadForm
from peerfront.web.app.jobs import Order
from peerfront.web.app.progress_of_steps import STEPS, state_of
from peerfront.web.app.serving import app_folder, jobs
from peerfront.web.app.starting import is_busy, start, step_context

_REMEDIES = {
    "placeholder": gettext_lazy(
        "Nothing to do if it was meant so: placeholders do not count as coupons. The next page takes codes that mean "
        "“not known” under “More columns, and codes”."
    ),
    "assumed-seed": gettext_lazy(
        "Nothing to do if they are seeds. Otherwise correct the code, or add a column of yes and no that says who is a "
        "seed, and name it on the next page under “More columns, and codes”."
    ),
    "used-after-expiry": gettext_lazy(
        "Nothing to do if it was accepted: it counts as used. Otherwise correct the date, or on the next page for how "
        "many days coupons are valid."
    ),
    "expires-before-issue": gettext_lazy(
        "Correct one of the two dates. Until then these coupons are valid as long as the others."
    ),
}
"""What to do about a kind of fault, where the library's own words name options of commands."""


def home(request: HttpRequest) -> HttpResponse:
    """Go to the first step that is not done yet."""
    done = [name for name, label in STEPS[:4] if state_of(app_folder(), name).made]
    if "sheet" in done:
        return redirect("sheet")
    return redirect(next(name for name, label in STEPS if name not in done))


@require_http_methods(["GET", "POST"])
def file(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    form = UploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        upload = form.cleaned_data["study_file"]
        chosen = folder.keep(str(upload.name), upload.read())
        if _is_being_read(chosen) or is_busy(request):
            return redirect("file")
        folder.choose(file=chosen)
        return start(request, check_order("file"))
    seen, context = folder.seen, step_context("file")
    for each in (*seen.get("problems", ()), *seen.get("problem_kinds", ())):
        each["remedy"] = _REMEDIES.get(each.get("kind"), each["remedy"])
    failed = bool(seen.get("error") or context["outcome"].get("error"))
    context |= {
        "form": form,
        "seen": seen,
        "roles": _roles(seen),
        "chosen": folder.choices.get("file"),
        "half_read": "file" in folder.choices and not context["state"].made and not failed,
    }
    return render(request, "app/file.html", context)


@require_POST
def read_again(request: HttpRequest) -> HttpResponse:
    """Read the chosen file once more, after reading was stopped or died with the computer."""
    if "file" not in app_folder().choices or is_busy(request):
        return redirect("file")
    return start(request, check_order("file"))


@require_POST
def example(request: HttpRequest) -> HttpResponse:
    """Try it with a made-up study."""
    chosen = f"{commands.EXAMPLE}/study.csv"
    if _is_being_read(chosen) or is_busy(request):
        return redirect("file")
    app_folder().choose(file=chosen)
    return start(request, check_order("file", commands.example()))


def _is_being_read(chosen: str) -> bool:
    """Whether this file is being read already: a double click."""
    job = jobs().running
    return job is not None and job.order.step == "file" and app_folder().choices.get("file") == chosen


def check_order(step: str, *first: commands.Command) -> Order:
    """Read the chosen file for the page, and write what `peerfront check` writes."""
    folder = app_folder()
    chosen = str(folder.choices["file"])
    return Order(
        step, first, (chosen,), look="peerfront.web.app.look",
        after_look=lambda: (commands.check(chosen, folder.seen.get("reading", {})),),
    )  # fmt: skip


@require_http_methods(["GET", "POST"])
def columns(request: HttpRequest) -> HttpResponse:
    folder = app_folder()
    seen, choices = folder.seen, folder.choices
    if not seen or "file" not in choices or (seen.get("error") and not (seen.get("columns") or seen.get("problems"))):
        return redirect("file")  # nothing is known of its columns
    if request.method == "POST":
        if request.POST.get("digest") != seen.get("digest"):
            messages.error(
                request,
                _("Another file was chosen meanwhile, perhaps in another tab. These are its columns; choose again."),
            )
            return redirect("columns")
        form = ColumnsForm(request.POST, seen=seen)
        if form.is_valid():
            offered, ticked = request.POST.getlist("offered"), request.POST.getlist("use")
            reading = form.reading(seen.get("recognised", {}))
            names = [each["name"] for each in seen.get("columns", ())]
            if reading["sheet"] != seen.get("reading", {}).get("sheet", ""):
                reading, names = {**reading, "columns": {}}, []  # another sheet has columns of its own
            folder.choose(reading=reading, ticks=ticks_of(offered, ticked, seen.get("ticks", {})), columns=names)
            return start(request, check_order("columns"))
    else:
        form = ColumnsForm(initial=entries_of(seen, seen.get("reading", {})), seen=seen)
    fields = seen.get("fields", [])
    return render(
        request,
        "app/columns.html",
        {
            **step_context("columns"),
            "form": form,
            "seen": seen,
            "fields": [each for each in fields if each["can"]],
            "left_out": [each for each in fields if not each["can"]],
        },
    )


def _roles(seen: dict[str, Any]) -> list[tuple[str, str]]:
    """How the file was read: what a column is, and which."""
    found = seen.get("roles", {})
    return [(str(meaning), ", ".join(found[role])) for role, meaning in ROLES.items() if found.get(role)]


def waiting_file() -> str:
    """The people who wait: a file of their own, or those of the study's file."""
    return str(app_folder().choices.get("waiting") or WAITING)


def nobody_waits() -> bool:
    """Whether the people who wait are those of the study's file, and it has none."""
    return waiting_file() == WAITING and app_folder().seen.get("waiting") == 0


pages = [
    path("", home, name="home"),
    path("file/", file, name="file"),
    path("file/again/", read_again, name="read_again"),
    path("file/example/", example, name="example"),
    path("columns/", columns, name="columns"),
]
