"""Pages for what went wrong, without a word about what was sent: 400, 403, 404, 413, 500, 503.

They read nothing from the database, which may be what went wrong.
"""

import sys

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("400.html", 400)


def not_allowed(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("403.html", 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("404.html", 404)


def server_fault(request: HttpRequest) -> HttpResponse:
    """Tell a database that cannot be written (a full disk, a lost connection) from a fault of the program."""
    if isinstance(sys.exc_info()[1], OperationalError):
        response = _page("503.html", 503)
        response["Retry-After"] = "60"
        return response
    return _page("500.html", 500)


def _page(template: str, status: int) -> HttpResponse:
    return HttpResponse(render_to_string(template), status=status)
