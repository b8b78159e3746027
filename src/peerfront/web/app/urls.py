"""Every page of the app by its name; here are the running job's progress, files to download, and error pages."""

import mimetypes
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from csp.decorators import csp_replace
from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET, require_POST
from django.views.i18n import set_language

from peerfront.web.app import file_pages, step_pages
from peerfront.web.app.app_server import app_folder, jobs
from peerfront.web.app.study_steps import STEPS
from peerfront.words.commands import REPORT, command_line, commands_of
from peerfront.words.language import language_of_the_user

_DOWNLOADS = re.compile(
    r"sheet\.(csv|xlsx|pdf)|sheet-curve\.csv|waiting\.csv|schema\.toml|report\.html|log\.jsonl"
    r"|files/[A-Za-z0-9_-]+\.mended(-[0-9]+)?\.(changes\.csv|[a-z]+)"
    r"|(checked|forecast|estimates)/[a-z0-9-]+\.(csv|json|png|svg|txt|toml|dot)"
    r"|week-[0-9]+_[0-9_-]+/[a-z]+\.(csv|xlsx|png|txt)"
)
_PICTURES = (".png", ".svg")


@require_GET
def job(request: HttpRequest) -> HttpResponse:
    return render(request, "app/job_part.html", {"job": jobs().running})


@require_POST
def stop(request: HttpRequest) -> HttpResponse:
    running = jobs().running
    step = running.order.step if running is not None else request.POST.get("step", "")
    jobs().stop()
    messages.info(request, _("It is being stopped. What was there before stays as it is."))
    return redirect(step if step in dict(STEPS) else "home")


@require_GET
def as_commands(request: HttpRequest) -> HttpResponse:
    """Show the commands that do in a terminal what the steps did."""
    folder = app_folder()
    outcomes = {step: folder.outcome(step) for step, label in STEPS}
    if outcomes["columns"].get("choices", {}).get("file") != folder.choices.get("file"):
        del outcomes["columns"]  # of an earlier file
    made = [(label, _commands(outcomes[step])) for step, label in STEPS if "work" in outcomes.get(step, {})]
    return render(request, "app/commands.html", {"made": made})


def _commands(outcome: Mapping[str, Any]) -> list[str]:
    language = outcome.get("language", "en")
    other = "" if language == language_of_the_user() else language
    return list(map(command_line, commands_of(outcome["work"], outcome["choices"], other)))


@require_GET
def download(request: HttpRequest, name: str) -> HttpResponseBase:
    """Send a file that the steps made; pictures are shown in the browser, everything else is downloaded."""
    file = _file(name)
    as_picture = file.suffix in _PICTURES
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    response = FileResponse(file.open("rb"), as_attachment=not as_picture, filename=_saved_as(file), content_type=kind)
    response.headers["Cache-Control"] = "private, no-cache"
    return response


@require_GET
@xframe_options_sameorigin
@csp_replace(
    {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "img-src": ["data:"],
        "frame-ancestors": ["'self'"],
        "sandbox": ["allow-popups"],
    }
)
def report_page(request: HttpRequest) -> HttpResponseBase:
    """Show the report in a sandbox: it may load nothing and run nothing."""
    return FileResponse(_file(REPORT).open("rb"), content_type="text/html; charset=utf-8")


def _file(name: str) -> Path:
    folder = app_folder().path
    file = folder / name
    if not _DOWNLOADS.fullmatch(name) or not file.is_file() or not file.resolve().is_relative_to(folder):
        raise Http404
    return file


def _saved_as(file: Path) -> str:
    """The name of a download: it starts with the study's folder, so that sheets of two studies differ."""
    folder = re.sub(r"[^A-Za-z0-9_-]+", "-", app_folder().path.name).strip("-") or "study"
    return f"{folder}-{file.name}"


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    what = _("Perhaps it was not made yet. Go on with the steps.")
    return _failure(request, 404, _("There is no such page"), what)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    what = _("The form was cut short, or is too large. Nothing was done. Go back, load the page again, and send it.")
    return _failure(request, 400, _("This form could not be read"), what)


def failed(request: HttpRequest) -> HttpResponse:
    what = _("The terminal shows what happened. Your files and everything that was made are still in the folder.")
    return _failure(request, 500, _("This page failed"), what)


def _failure(request: HttpRequest, status: int, title: str, what: str) -> HttpResponse:
    return render(request, "app/failure.html", {"title": title, "what": what}, status=status)


urlpatterns = [
    *file_pages.pages,
    *step_pages.pages,
    path("job/", job, name="job"),
    path("job/stop/", stop, name="stop_job"),
    path("commands/", as_commands, name="commands"),
    path("files/<path:name>", download, name="download"),
    path("report/page/", report_page, name="report_page"),
    path("language/", set_language, name="set_language"),
]
handler400 = bad_request
handler404 = not_found
handler500 = failed
