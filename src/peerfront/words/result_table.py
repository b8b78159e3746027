"""A result's table as people read it: a title, headings, and cells in words."""

from dataclasses import dataclass
from enum import StrEnum

from peerfront.words.language import Text


class Emphasis(StrEnum):
    """How a row stands out."""

    NONE = ""
    STRONG = "strong"
    WEAK = "weak"


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
    emphasis: tuple[Emphasis, ...] = ()
    """Of each row; empty if all rows are alike."""
