"""Lines of the logs of the server and of planning jobs, without personal data.

Errors are told by their kind and where in the program they happened, without their message, which may quote somebody's
entry.
"""

import logging
import time
import traceback
from typing import Any


class WithoutPersonalData(logging.Formatter):
    """Write a line without what a message of Django or an error might quote."""

    converter = staticmethod(time.gmtime)  # times in UTC

    def format(self, record: logging.LogRecord) -> str:
        line = logging.makeLogRecord(record.__dict__ | {"exc_text": None})
        if not record.name.startswith("peerfront"):
            # Messages of Django and others quote addresses and users, most of them in their arguments.
            line.msg, line.args = (str(record.msg) if record.args else "(message left out)"), ()
        return super().format(line)

    def formatException(self, ei: Any) -> str:  # noqa: N802  # the name is the standard library's
        kind, _, trace = ei
        places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
        return "\n".join([f"{kind.__name__ if kind else 'error'}, at:", *(f"  {place}" for place in places)])
