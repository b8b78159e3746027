"""Tables whose columns are separated by blanks, or stand in fixed places, as statistics programs print and write them.

Where every line has as many words as the header, words are cells (one more is a row name, as R writes it). Otherwise,
or where lines are aligned to as many columns, these are found by their places: between them every line is blank.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_LONGEST_LINE = 20_000  # characters of a line with fixed places


@dataclass(frozen=True)
class BlankTable:
    """Cells of a table without separators; line numbers count from 1."""

    header: list[str]
    records: list[tuple[int, list[str]]]  # line, cells
    fixed: bool
    """Whether the columns were found by their places."""


def read_blank_table(text: str) -> BlankTable | None:
    """Read a table separated by blanks or with columns in fixed places; None if it is neither."""
    lines = [(number, line.expandtabs()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if len(lines) < 2 or len(_words(lines[0][1])) < 2:
        return None
    if np.median([len(line.split()) for _, line in lines[1:]]) < 2:
        return None  # one column, whose name has blanks in it
    words, places = _by_words(lines), _by_places(lines)
    if words is None or places is None:
        return words or places
    same = len(places.header) == len(words.header) and places.records != words.records
    return places if same else words


def _words(line: str) -> list[str]:
    """Cut a line at blanks that do not stand in quotation marks."""
    try:
        return next(csv.reader([line.strip()], delimiter=" ", skipinitialspace=True, strict=True))
    except csv.Error:
        return []


def _by_words(lines: Sequence[tuple[int, str]]) -> BlankTable | None:
    header = _words(lines[0][1])
    records = [(number, _words(line)) for number, line in lines[1:]]
    widths = {len(cells) for _, cells in records}
    if widths == {len(header) + 1}:
        header = ["", *header]
    elif widths != {len(header)}:
        return None
    return BlankTable(header, records, fixed=False)


def _by_places(lines: Sequence[tuple[int, str]]) -> BlankTable | None:
    width = max(len(line) for _, line in lines)
    if width > _LONGEST_LINE:
        return None
    filled = np.zeros(width, dtype=bool)
    for _, line in lines:
        filled[: len(line)] |= np.array([not letter.isspace() for letter in line], dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], filled, [False])).astype(np.int8)))
    spans: list[tuple[int, int]] = []
    head = lines[0][1]
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if spans and not head[start:end].strip():  # blanks inside a text that happen to stand below each other
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    if len(spans) < 2:
        return None
    cells = [(number, [line[start:end].strip().strip('"') for start, end in spans]) for number, line in lines]
    if any("  " in name for name in cells[0][1]):
        return None  # names of two columns, whose values overlap
    return BlankTable(cells[0][1], cells[1:], fixed=True)
