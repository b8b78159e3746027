"""Print tables and sentences in which nothing that people typed becomes markup or acts on the terminal."""

from itertools import zip_longest
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

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

    from peerfront.foundation.shown import LONGEST_LINE, visible

    return Text(visible(str(text), LONGEST_LINE), style=style)


def show(text: object, *, err: bool = False) -> None:
    """Print a sentence of `words`, or lines that may hold names of files, columns and people."""
    from peerfront.foundation.shown import visible_message
    from peerfront.words.language import marked

    typer.echo(visible_message(marked(text)), err=err)


def show_result(tables: "Iterable[ResultTable]", lines: "Iterable[object]") -> None:
    """Print tables, and the sentences below them."""
    from peerfront.words.language import marked

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
        shown.add_column(str(heading), justify="left" if number < table.n_names else "right")
    for row, emphasis in zip_longest(table.rows, table.emphasis, fillvalue=Emphasis.NONE):
        shown.add_row(*(cell(each, styles[emphasis]) for each in row))
    if table.caption:
        shown.caption, shown.caption_justify = str(table.caption), "left"
    return shown
