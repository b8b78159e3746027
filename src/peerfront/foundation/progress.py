"""One way to report how far long work has come."""

import sys
from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Called with the share that is done, from 0 to 1, and what is being done."""


def silent(share: float, what: str) -> None:
    """Report to nobody."""


def printed(share: float, what: str) -> None:
    """Report on standard error, on one line that is written over."""
    sys.stderr.write(f"\r{share:4.0%} {what:<70.70}")
    if share >= 1.0:
        sys.stderr.write("\n")
    sys.stderr.flush()


def part_of(progress: Progress, start: float, end: float, purpose: str = "") -> Progress:
    """Report on a part of the work: its 0 is `start` of the whole, its 1 is `end`; `purpose` goes before the rest."""
    before = f"{purpose}: " if purpose else ""
    return lambda share, what: progress(start + (end - start) * share, before + what)
