"""One way to tell how far long work has come."""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Called with the share that is done, from 0 to 1, and what is being done."""


def silent(share: float, what: str) -> None:
    """Tell nobody."""


def part_of(progress: Progress, start: float, end: float) -> Progress:
    """The progress of a part of the work: its 0 is `start` of the whole, its 1 is `end`."""
    return lambda share, what: progress(start + (end - start) * share, what)
