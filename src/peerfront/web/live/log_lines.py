"""Lines of the logs of the server and of planning jobs, without personal data.

Errors are logged with their kind and place in the program, without their message, which may quote somebody's entry.
"""

import logging
import time
import traceback
from typing import Any


class WithoutPersonalData(logging.Formatter):
    """Format a log line without the parts of messages and errors that may quote entries."""

    converter = staticmethod(time.gmtime)  # times in UTC

    def format(self, record: logging.LogRecord) -> str:
        line = logging.makeLogRecord(record.__dict__ | {"exc_text": None})
        if not record.name.startswith("peerfront"):
            # Messages of Django and others quote addresses and users, mostly in their arguments.
            line.msg, line.args = (str(record.msg) if record.args else "(message left out)"), ()
        return super().format(line)

    def formatException(self, ei: Any) -> str:  # noqa: N802  # the name is the standard library's
        kind, _, trace = ei
        places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
        return "\n".join([f"{kind.__name__ if kind else 'error'}, at:", *(f"  {place}" for place in places)])
