"""One way to report how far long work has come."""

import sys
from collections.abc import Callable

from peerfront.foundation.messages import Message, note

Progress = Callable[[float, Message | str], None]
"""Called with the share that is done, from 0 to 1, and what is being done: a message, or the name of a part."""
DONE = Message("progress.done")


def silent(share: float, what: Message | str) -> None:
    """Report to nobody."""


def printed(share: float, what: Message | str) -> None:
    """Report on standard error, on one line that is written over."""
    sys.stderr.write(f"\r{share:4.0%} {what!s:<70.70}")
    if share >= 1.0:
        sys.stderr.write("\n")
    sys.stderr.flush()


def part_of(progress: Progress, start: float, end: float, purpose: Message | None = None) -> Progress:
    """Report on a part of the work: its 0 is `start` of the whole, its 1 is `end`; `purpose` goes before the rest."""

    def report(share: float, what: Message | str) -> None:
        named = what if purpose is None else note("progress.part", purpose=purpose, what=what)
        progress(start + (end - start) * share, named)

    return report
