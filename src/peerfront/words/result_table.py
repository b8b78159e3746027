"""A result's table for people: a title, headings, and cells as texts."""

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
    """Cells: texts, and numbers formatted as texts."""
    n_names: int = 1
    """How many of the first columns hold names, aligned left; numbers are aligned right."""
    caption: Text | None = None
    emphasis: tuple[Emphasis, ...] = ()
    """The emphasis of each row; empty if all rows are alike."""
