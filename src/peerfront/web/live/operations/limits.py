"""Middleware that limits what comes in and how long a login lasts."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.contrib.auth import logout
from django.contrib.auth.signals import user_logged_in
from django.core.exceptions import SuspiciousOperation
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

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


class BodyLimit:
    """Refuse what is too large before it is read."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

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


class StorableText:
    """Refuse null characters, which PostgreSQL cannot store and nobody types, wherever they stand in a request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: object) -> None:
        entries = [*request.GET.lists(), *request.POST.lists()]
        if "\0" in request.path or any("\0" in str(text) for name, texts in entries for text in (name, *texts)):
            raise SuspiciousOperation("A request holds a null character.")


class LoginEnds:
    """End a login after a long day; note once a minute that somebody is still at work (they have half an hour)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

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
    with suppress(OperationalError):  # a full disk: pages can still be read, and what cannot be written will say so
        request.session.save()
    request.session.modified = False


def _note_beginning(sender: object, request: HttpRequest, user: object, **_: Any) -> None:
    request.session["began"] = request.session["seen"] = time.time()


user_logged_in.connect(_note_beginning, dispatch_uid="peerfront.login_began")
