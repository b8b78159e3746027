"""The server's log: which kind of page was asked for, the answer's status and how long it took. Nothing personal.

Neither addresses nor queries are written, because codes and pseudonyms stand in them, but the pattern of the address,
such as `people/<person>/`. Errors are told by their kind and where in the program they happened, without their message,
which may quote somebody's entry.
"""

import logging
import logging.handlers
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from django.http import HttpRequest, HttpResponse

from peerfront.foundation.files import make_folder

requests = logging.getLogger("peerfront.live.requests")
BYTES_OF_A_FILE, OLD_FILES = 5_000_000, 5
_Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class WithoutPersonalData(logging.Formatter):
    """Write a line without what a message of Django or an error might quote."""

    converter = staticmethod(time.gmtime)  # times in UTC

    def format(self, record: logging.LogRecord) -> str:
        told = logging.makeLogRecord(record.__dict__ | {"exc_text": None})
        if not record.name.startswith("peerfront"):
            # Messages of Django and others quote addresses and users, most of them in their arguments.
            told.msg, told.args = (str(record.msg) if record.args else "(message left out)"), ()
        return super().format(told)

    def formatException(self, ei: Any) -> str:  # noqa: N802  # the name is the standard library's
        kind, _, trace = ei
        places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
        return "\n".join([f"{kind.__name__ if kind else 'error'}, at:", *(f"  {place}" for place in places)])


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
