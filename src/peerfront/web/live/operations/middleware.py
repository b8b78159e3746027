"""Middleware of the server: its log, the limits of requests, forms that a script sends, and the duration of logins.

The log holds the kind of page, the answer's status and the time it took, and nothing personal: not the address and the
query, which contain codes and pseudonyms, but the pattern of the address, such as `people/<person>/`; for errors see
`folder.WithoutPersonalData`.
"""

import logging
import logging.handlers
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.contrib.auth import logout
from django.contrib.auth.signals import user_logged_in
from django.core.exceptions import SuspiciousOperation
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.debug import SafeExceptionReporterFilter

from peerfront.foundation.files import make_folder
from peerfront.web.live.folder import WithoutPersonalData

LARGEST_BODY = 2_500_000
LARGEST_STUDY_FILE = 20_000_000
LARGEST_RECEIVED = 60_000_000
"""Bytes that the server takes in at all: a file that is too large gets a page that says so, up to this size."""
LARGEST_OF_PAGES = {"import_study": LARGEST_STUDY_FILE + 100_000}
"""Bytes of what is sent to a page, where it is not `LARGEST_BODY`."""
LONGEST_LOGIN = 12 * 3600
"""Seconds after which everybody logs in again, however busy they were."""
NOTED_EVERY = 60
"""Seconds after which it is written down that somebody is still at work, so that not every page writes."""


class _Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


class BodyLimit(_Middleware):
    """Refuse requests that are too large before they are read."""

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponseBase | None:
        page = request.resolver_match.view_name if request.resolver_match else ""
        limit = LARGEST_OF_PAGES.get(page, LARGEST_BODY)
        try:
            size = int(request.META.get("CONTENT_LENGTH") or 0)
        except ValueError:
            size = 0
        if size <= limit:
            return None
        return render(request, "413.html", {"limit": f"{limit // 1_000_000} MB"}, status=413)


class StorableText(_Middleware):
    """Refuse null characters anywhere in a request; PostgreSQL cannot store them, and nobody types them."""

    def process_view(self, request: HttpRequest, *_: object) -> None:
        entries = [*request.GET.lists(), *request.POST.lists()]
        if "\0" in request.path or any("\0" in str(text) for name, texts in entries for text in (name, *texts)):
            raise SuspiciousOperation("A request holds a null character.")


class LoginEnds(_Middleware):
    """End a login after a long day, or after half an hour without activity, which is noted once a minute."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            now = time.time()
            if now - request.session.get("began", 0) > LONGEST_LOGIN:
                logout(request)
            elif abs(now - request.session.get("seen", 0)) > NOTED_EVERY:
                request.session["seen"] = now
                _save(request)
        return self.get_response(request)


def _save(request: HttpRequest) -> None:
    with suppress(OperationalError):  # a full disk: pages can still be read, and failed writes are reported
        request.session.save()
    request.session.modified = False


def _note_beginning(sender: object, request: HttpRequest, user: object, **_: Any) -> None:
    request.session["began"] = request.session["seen"] = time.time()


user_logged_in.connect(_note_beginning, dispatch_uid="peerfront.login_began")


requests = logging.getLogger("peerfront.web.live.requests")
BYTES_OF_A_FILE, OLD_FILES = 5_000_000, 5


def write_log_to(folder: Path) -> None:
    """Write the log to standard error and to a file in the folder, which is rotated when it is large."""
    make_folder(folder)
    logging.raiseExceptions = False  # on a full disk Python would print the whole message, with personal data
    formatter = WithoutPersonalData("%(asctime)sZ %(levelname)s %(name)s: %(message)s")
    file = logging.handlers.RotatingFileHandler(
        folder / "server.log", maxBytes=BYTES_OF_A_FILE, backupCount=OLD_FILES, encoding="utf-8"
    )
    root = logging.getLogger()
    for name in ("django", "axes", "waitress", "waitress.queue"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.WARNING)
    logging.getLogger("axes").setLevel(logging.CRITICAL)  # would log user names; the status 429 of a login suffices
    logging.getLogger("django.request").setLevel(logging.ERROR)  # `RequestLog` logs refused and missing pages
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    requests.setLevel(logging.INFO)
    for handler in (logging.StreamHandler(), file):
        handler.setFormatter(formatter)
        root.addHandler(handler)


class SentByScript(_Middleware):
    """Answer `sending.js`: it is told where to go instead of being redirected, and by a header that we answered."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.headers.get("X-Sent-By") == "script":
            response["X-Sent-By"] = "script"
            if response.status_code == 302:
                response.status_code, response["X-Location"] = 200, response["Location"]
                del response["Location"]
        return response


class RequestLog(_Middleware):
    """Log one line for each request."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        if match is not None or response.status_code >= 400:  # without styles and pictures
            place = f"/{match.route}" if match is not None else "(no such page)"
            took = (time.perf_counter() - began) * 1000
            requests.info("%s %s %d %.0f ms", _method(request), place, response.status_code, took)
        return response


class NothingTyped(SafeExceptionReporterFilter):
    """Keep everything that was typed, and all values of variables, out of Django's reports of errors."""

    def is_active(self, request: HttpRequest | None) -> bool:
        return True

    def get_post_parameters(self, request: HttpRequest | None) -> dict[str, Any]:
        return {} if request is None else dict.fromkeys(request.POST, self.cleansed_substitute)

    def get_traceback_frame_variables(self, request: HttpRequest, tb_frame: Any) -> Any:
        return dict.fromkeys(tb_frame.f_locals, self.cleansed_substitute).items()


def _method(request: HttpRequest) -> str:
    method = request.method or ""
    return method if method.isalpha() and len(method) < 10 else "(other)"
