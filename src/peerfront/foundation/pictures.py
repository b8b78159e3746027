"""What all pictures share: colours, line styles, and files that are the same for the same results."""

import io
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

# Okabe and Ito's palette, told apart by colour-blind readers; line styles tell them apart in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
STYLES = ("-", "--", "-.", ":")
NARROW = 4.3
"""Inches of a figure for a telephone: letters stay large enough to be read."""
LABEL = 46
"""Characters that fit in a line of such a figure."""


class NotebookFigure(Figure):
    """A figure that every notebook shows, whether or not pyplot was set up there. No text in it becomes a formula."""

    def draw(self, renderer: RendererBase) -> None:
        """Draw every text as it was typed: a column called `$x$` is no mathematics, whatever Matplotlib thinks."""
        with _as_typed():
            for text in self.findobj(Text):
                text.set_parse_math(False)
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        return rendered(self, "png")


@contextmanager
def _as_typed() -> Iterator[None]:
    """Draw texts without looking for formulas in them, and letters that the font lacks as boxes, without a warning."""
    with rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure of this size in inches, which belongs to no window."""
    figure = NotebookFigure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def rendered(figure: Figure, kind: str) -> bytes:
    """Render a figure as `png` or `svg`, without dates and random names: the same results give the same file."""
    buffer = io.BytesIO()
    with _as_typed(), rc_context({"svg.hashsalt": "peerfront"}):
        figure.savefig(buffer, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return buffer.getvalue()


def label_of(text: object, narrow: bool) -> str:
    """A label of a legend, in lines that fit."""
    return "\n".join(textwrap.wrap(str(text), LABEL if narrow else 90))


def two_panels(narrow: bool) -> tuple[Figure, tuple[Axes, Axes]]:
    """Side by side for a page, one below the other for a telephone."""
    figure = new_figure(NARROW, 7.6) if narrow else new_figure(10.5, 4.8)
    one, two = figure.subplots(2, 1) if narrow else figure.subplots(1, 2)
    return figure, (one, two)
