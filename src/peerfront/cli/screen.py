"""Print tables and sentences in which nothing that people typed becomes markup or acts on the terminal.

What is shown may be cut short (`| head -1`) or not find room (`> file` on a full disk): the work goes on.
"""

import io
import sys
from itertools import zip_longest
from typing import TYPE_CHECKING, TextIO

import typer

from peerfront.foundation.shown import LONGEST_LINE, visible, visible_message
from peerfront.words.language import marked, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from peerfront.words.result_table import ResultTable


def new_screen() -> "Console":
    """Return a console that takes no text for markup, emoji or a number to colour."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)


def cell(text: object, style: str = "") -> "Text":
    """Return text for a table or a line as it was typed, with whatever would not be seen spelled out."""
    from rich.text import Text

    return Text(visible(str(text), LONGEST_LINE), style=style)


def show(text: object, *, err: bool = False) -> None:
    """Print a sentence of `words`, or lines that may hold names of files, columns and people."""
    typer.echo(visible_message(marked(text)), err=err)


def tell(sentence: str, **values: object) -> None:
    """Print a sentence in the language in use."""
    show(say(sentence, **values))


def show_written(folder: "Path", names: "Sequence[str]") -> None:
    """Say which files of a result are where."""
    show("")
    tell("Written to {folder}: {files}.", folder=folder, files=names)


def show_result(tables: "Iterable[ResultTable]", lines: "Iterable[object]") -> None:
    """Print tables, and the sentences below them."""
    screen = new_screen()
    for number, table in enumerate(tables):
        if number:
            screen.print()
        screen.print(_as_rich(table))
    for line in lines:
        screen.print(cell(marked(line)))


def _as_rich(table: "ResultTable") -> "Table":
    from rich.table import Table

    from peerfront.words.result_table import Emphasis

    styles = {Emphasis.NONE: "", Emphasis.STRONG: "bold", Emphasis.WEAK: "bright_black"}
    shown = Table(title=str(table.title) or None, title_justify="left", box=None, pad_edge=False)
    for number, heading in enumerate(table.headings):
        shown.add_column(str(heading), justify="left" if number < table.n_names else "right", overflow="fold")
    for row, emphasis in zip_longest(table.rows, table.emphasis, fillvalue=Emphasis.NONE):
        shown.add_row(*(cell(each, styles[emphasis]) for each in row))
    if table.caption:
        shown.caption, shown.caption_justify = str(table.caption), "left"
    return shown


class Shown:
    """Standard output and errors that outlive their readers: what cannot be written is dropped."""

    def __init__(self) -> None:
        self._former: dict[str, TextIO] = {}
        self._files: dict[str, _Dropping] = {}

    def __enter__(self) -> "Shown":
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is None or stream is not getattr(sys, f"__{name}__") or not isinstance(stream, io.TextIOWrapper):
                continue  # closed, or somebody else's: a notebook's or a test's
            stream.flush()
            self._files[name], self._former[name] = _Dropping(stream.fileno(), "wb", closefd=False), stream
            setattr(sys, name, _like(stream, self._files[name]))
        return self

    def fault(self) -> str:
        """Why something could not be written to standard output; nothing if a reader just went away."""
        if "stdout" not in self._files:
            return ""
        sys.stdout.flush()
        problem = self._files["stdout"].problem
        return str(problem.strerror) if problem is not None else ""

    def __exit__(self, *_: object) -> None:
        for name, stream in self._former.items():
            getattr(sys, name).flush()
            setattr(sys, name, stream)


class _Dropping(io.FileIO):
    """A file that takes everything, whether it can be written or not."""

    problem: OSError | None = None

    def write(self, content: object, /) -> int:
        try:
            return super().write(content)  # type: ignore[arg-type] # bytes, from the buffer above
        except BrokenPipeError:
            pass
        except OSError as problem:
            self.problem = problem
        return memoryview(content).nbytes  # type: ignore[arg-type]


def _like(stream: io.TextIOWrapper, file: _Dropping) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
