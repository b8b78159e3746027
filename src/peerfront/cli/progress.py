"""A progress bar with a time estimate, on standard error, for long work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shown_progress() -> Iterator[Callable[[int, int, str], None]]:
    """A function to be told (done, in all, what was done last)."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    columns = (
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        TextColumn("[dim]{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
    )
    with Progress(*columns, console=Console(stderr=True), expand=True) as bar:
        task: TaskID | None = None

        def tell(done: int, total: int, last: str) -> None:
            nonlocal task
            if task is None:  # nothing to show before work begins
                task = bar.add_task("", total=total)
            bar.update(task, completed=done, description=last)

        yield tell
