"""Tables for spreadsheets, in which nothing that people typed becomes a formula.

A spreadsheet runs a cell that begins with = + - @ as a formula, wherever the text came from. Such texts (and those that
begin with a tab or a line break, which spreadsheets drop) are written with an apostrophe before them, the sign by which
spreadsheets mark text. Every reader of this package takes it away again: `as_typed(neutralised(text)) == text` for all
texts. Plain negative numbers (-5) stay as they are.
"""

import csv
import re
from collections.abc import Iterable
from typing import Literal

import numpy as np
import pandas as pd

_SIGNS = "[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"  # the full-width signs begin formulas in some editions
_FORMULA = re.compile(f"'*{_SIGNS}")
_MARKED = re.compile(f"'+{_SIGNS}")
_NEGATIVE = re.compile(r"-[0-9]+(?:\.[0-9]+)?")


def neutralised(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run, or that `as_typed` would change."""
    return f"'{text}" if _FORMULA.match(text) and not _NEGATIVE.fullmatch(text) else text


def as_typed(text: str) -> str:
    """Take away the apostrophe that marks a cell as text; texts that were never neutralised stay as they are."""
    return text[1:] if text[:1] == "'" and _MARKED.match(text) else text


def quoting_for(texts: Iterable[str]) -> Literal[0, 2]:
    """Return how the csv module must quote: a carriage return ends a row for readers, and is not quoted by itself."""
    return csv.QUOTE_NONNUMERIC if any("\r" in text for text in texts) else csv.QUOTE_MINIMAL


def csv_text(table: pd.DataFrame, float_format: str | None = None) -> str:
    """Write a table as CSV for spreadsheets: texts and the names of columns neutralised, numbers as they are."""
    safe = table.rename(columns=lambda name: neutralised(str(name)))
    texts = [str(name) for name in table.columns]
    for place, (_, values) in enumerate(table.items()):
        if values.dtype == object or isinstance(values.dtype, pd.StringDtype | pd.CategoricalDtype):
            cells = [neutralised(cell) if isinstance(cell, str) else cell for cell in values]
            texts += [cell for cell in cells if isinstance(cell, str)]
            safe.isetitem(place, np.array([*cells, None], dtype=object)[:-1])  # an array of objects, whatever they are
    return safe.to_csv(index=False, lineterminator="\n", float_format=float_format, quoting=quoting_for(texts))
