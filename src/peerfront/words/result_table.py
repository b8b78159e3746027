"""A result's table as people read it: a title, headings, and cells in words."""

from dataclasses import dataclass

from peerfront.words.language import Text


@dataclass(frozen=True)
class ResultTable:
    """A table for a terminal or a page. The first columns hold names, the others numbers."""

    title: Text
    headings: tuple[Text, ...]
    rows: tuple[tuple[object, ...], ...]
    """Cells: texts, or numbers as they are to be shown."""
    n_names: int = 1
    """How many columns hold names; they stand at the left, numbers at the right."""
    caption: Text | None = None
