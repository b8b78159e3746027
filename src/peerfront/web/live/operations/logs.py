"""The server's log: which kind of page was asked for, the answer's status and how long it took. Nothing personal.

Neither addresses nor queries are written, because codes and pseudonyms stand in them, but the pattern of the address,
such as `people/<person>/`; for errors see `log_lines`.
"""

import logging
import logging.handlers
import time
from collections.abc import Callable
from pathlib import Path

from django.http import HttpRequest, HttpResponse

from peerfront.foundation.files import make_folder
from peerfront.web.live.log_lines import WithoutPersonalData

requests = logging.getLogger("peerfront.web.live.requests")
BYTES_OF_A_FILE, OLD_FILES = 5_000_000, 5


def write_log_to(folder: Path) -> None:
    """Write the log to standard error and to a file in the folder, which is replaced when it is large."""
    make_folder(folder)
    logging.raiseExceptions = False  # on a full disk Python would print the whole message, with all that is left out
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
    logging.getLogger("axes").setLevel(logging.CRITICAL)  # names of users; the status 429 of a login says it
    logging.getLogger("django.request").setLevel(logging.ERROR)  # the lines below tell refused and missing pages
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    requests.setLevel(logging.INFO)
    for handler in (logging.StreamHandler(), file):
        handler.setFormatter(formatter)
        root.addHandler(handler)


class RequestLog:
    """Middleware: one line for each request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        if match is not None or response.status_code >= 400:  # not what styles and pictures ask for
            place = f"/{match.route}" if match is not None else "(no such page)"
            took = (time.perf_counter() - began) * 1000
            requests.info("%s %s %d %.0f ms", _method(request), place, response.status_code, took)
        return response


def _method(request: HttpRequest) -> str:
    method = request.method or ""
    return method if method.isalpha() and len(method) < 10 else "(other)"
