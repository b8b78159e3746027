"""A progress bar with a time estimate, on standard error, for long work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from peerfront.cli.options import INTERRUPTED

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn


@contextmanager
def shown_progress() -> Iterator[Callable[[int, int, str], None]]:
    """A function to be told (done, in all, what was done last)."""
    from rich.progress import MofNCompleteColumn

    with _bar(MofNCompleteColumn()) as bar:
        task = None

        def tell(done: int, total: int, last: str) -> None:
            nonlocal task
            if task is None:  # nothing to show before work begins
                task = bar.add_task("", total=total)
            bar.update(task, completed=done, description=last)

        yield tell


@contextmanager
def shown_share() -> Iterator[Callable[[float, str], None]]:
    """A function to be told (the share that is done, what is being done). Ctrl-C says that nothing was written."""
    from rich.progress import TaskProgressColumn

    try:
        with _bar(TaskProgressColumn()) as bar:
            task = bar.add_task("", total=1.0)
            yield lambda share, what: bar.update(task, completed=share, description=what)
            bar.update(task, completed=1.0, description="done")
    except KeyboardInterrupt:
        typer.echo("\nStopped. Nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _bar(how_much: "ProgressColumn") -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column

    columns = (
        BarColumn(bar_width=16),
        how_much,
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        TextColumn("[dim]{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
    )
    return Progress(*columns, console=Console(stderr=True), expand=True)
