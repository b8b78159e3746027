"""Results as a notebook shows them."""

from collections.abc import Iterable
from html import escape

import pandas as pd

from peerfront.foundation.messages import Readable
from peerfront.foundation.shown import visible, visible_message
from peerfront.words.language import marked

_MOST_ROWS = 60
_STYLE = "margin: .2em 0; white-space: pre-wrap"


def as_html(result: Readable) -> str:
    """A result's table, if it has one, and its sentences below."""
    return html_of(result.lines(), getattr(result, "table", None))


def html_of(lines: Iterable[object], table: pd.DataFrame | None = None) -> str:
    """A table and sentences below it."""
    rows = "" if table is None else visible(table.to_html(index=False, border=0, max_rows=_MOST_ROWS), 10**8)
    return rows + "".join(f"<p style='{_STYLE}'>{escape(visible_message(marked(line)))}</p>" for line in lines)
