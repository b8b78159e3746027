"""Print tables and sentences in which nothing that people typed becomes markup or acts on the terminal."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


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
