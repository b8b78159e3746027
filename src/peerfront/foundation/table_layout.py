"""Where the tables of a text or of a sheet stand: titles above, one header row or several, tables below and beside.

Nothing is decided by words. A title fills fewer cells than what is below it. A header row, and a table of its own,
hold cells unlike those of the columns they stand in. Blank rows and empty columns alone separate nothing: people leave
them inside a table, too.
"""

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

Record = tuple[int, int, list[str]]
"""Row in a spreadsheet, line in a text editor, and cells."""
Span = tuple[int, int, int, int]
"""Merged cells: first column, first row, last column, last row, counted from 1."""
_TITLES = 10  # rows looked at below a title
_SAMPLE = 200  # rows that show what a column holds
_FEW = 3  # rows that show nothing
_RARE = 50  # one value in 50 may be a total or a note
_SAME_ROWS = 0.9  # share of its neighbour's rows that a part of a table fills


@dataclass(frozen=True)
class Area:
    """One table: the names of its columns, and the records below them."""

    header: list[str]
    records: list[Record]
    left: int
    """Columns before it."""
    last_header: int
    """The row in which its header ends."""
    end: float = math.inf
    """The row in which the next table begins below it."""
    whole: "Area | None" = None
    """All columns as one table, where only unlike rows show that another one stands beside it."""


def areas(rows: Sequence[Record], merged: Sequence[Span] = ()) -> list[Area]:
    """Find the tables among the rows that are not blank, in their order; at least one."""
    found = []
    width = max(_end(cells) for _, _, cells in rows)
    starts = _starts(rows, merged, width)
    for (_, start), (end, _) in zip(starts, [*starts[1:], (len(rows), 0)], strict=True):
        until = rows[end][0] if end < len(rows) else math.inf
        found += [dataclasses.replace(area, end=until) for area in _side_by_side(rows[start:end], merged)]
    return found


def kind_of(text: str) -> str:
    """Reduce a text to its kind: P017 and AB3 are a9, and 12.5 is 9.9."""
    return re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "a", text))


def signs_of(text: str) -> str:
    """Reduce a text to the signs between its words: 8f3a-77 is a-a."""
    return re.sub(r"\w+", "a", text)


class Column:
    """What a column holds, to tell what could be a cell of it."""

    def __init__(self, cells: Iterable[str]) -> None:
        filled = [cell.strip() for cell in cells if cell.strip()]
        self.values = frozenset(filled)
        self.kind, self.kinds = self._kinds()
        self.repeats = len(filled) > _FEW and 2 * len(self.values) <= len(filled)
        lengths = frozenset(map(len, self.values))
        self.lengths = lengths if len(filled) > _FEW and len(lengths) == 1 and not self.repeats else frozenset()

    def _kinds(self) -> tuple[Callable[[str], str] | None, frozenset[str]]:
        """How values are alike: by letters and digits, or by signs; None if most kinds of values occur only once."""
        for kind in (kind_of, signs_of):
            counts = Counter(map(kind, self.values))
            if len(self.values) <= _FEW or 4 * sum(count == 1 for count in counts.values()) <= len(self.values):
                return kind, frozenset(each for each, count in counts.items() if count * _RARE > len(self.values))
        return None, frozenset()

    def may_hold(self, cell: str) -> bool:
        """Tell whether a cell is like those of the column: one of its answers, or a number or code as the others."""
        if cell in self.values or self.kind is None:
            return True
        kind = self.kind(cell)
        answers = self.repeats and "a" in kind
        return kind in self.kinds and not answers and (not self.lengths or len(cell) in self.lengths)


def columns_of(rows: Sequence[list[str]]) -> list[Column]:
    """What each column of these rows holds."""
    width = max(map(len, rows), default=0)
    sample = rows[:: max(1, len(rows) // _SAMPLE)]
    return [Column(row[n] for row in sample if n < len(row)) for n in range(width)]


def share_alike(cells: Sequence[str], columns: Sequence[Column]) -> float:
    """The share of the filled cells of a row that are like their columns."""
    filled = [(n, cell.strip()) for n, cell in enumerate(cells) if cell.strip()]
    alike = sum(n < len(columns) and columns[n].may_hold(cell) for n, cell in filled)
    return alike / len(filled) if filled else 1.0


def _end(cells: list[str]) -> int:
    return max((n + 1 for n, cell in enumerate(cells) if cell.strip()), default=0)


def _filled(cells: list[str]) -> int:
    return sum(bool(cell.strip()) for cell in cells)


# Tables below each other ------------------------------------------------------------------------------------------


def _starts(rows: Sequence[Record], merged: Sequence[Span], width: int) -> list[tuple[int, int]]:
    """Where tables begin, and their headers below the titles: also after blank rows, if there is another header."""
    merged = [span for span in merged if span[2] > span[0]]
    starts = [(0, _below_titles(rows, 0, merged, width))]
    above: list[Column] = []
    looked_at = 0  # rows of the table that show what its columns hold
    for n in range(starts[0][1] + 2, len(rows) - 1):
        if rows[n][0] > rows[n - 1][0] + 1:
            begin = starts[-1][1]
            if n - begin > 2 * looked_at:  # there may be a blank row after each person
                above, looked_at = columns_of([cells for _, _, cells in rows[begin + 1 : n]]), n - begin
            start = _below_titles(rows, n, merged, width)
            if _is_new_table(rows, begin, start, above):
                starts.append((n, start))
                looked_at = 0
    return starts


def _below_titles(rows: Sequence[Record], n: int, merged: Sequence[Span], width: int) -> int:
    """The first row from `n` on that is no title: a text alone, one over the whole table, or a few before many."""
    last = min(n + 2 * _TITLES, len(rows) - 1)
    while n < last:
        row, _, cells = rows[n]
        below = [_filled(other) for _, _, other in rows[n + 1 : n + 1 + _TITLES]]
        across = [span for span in merged if span[1] == row and span[2] > span[0]]
        filled, usual = _filled(cells), median(below)
        if max(below) < 2:
            return n
        if filled == 1:
            if any(span[0] > 1 or span[2] < width - 1 for span in across):
                return n  # a group of columns
        else:
            covered = filled + sum(min(span[2], width) - span[0] for span in across)
            apart = rows[n + 1][0] > row + 1 and max(below) > covered
            follows = [cell.strip() for cell in rows[n + 1][2]]
            gaps = any(cell.strip() and (k >= len(follows) or not follows[k]) for k, cell in enumerate(cells))
            if (covered >= usual / 2 or (gaps and not apart and len(follows) > _end(cells))) and not (
                apart and covered < usual
            ):
                return n
        n += 1
    return n


def _is_new_table(rows: Sequence[Record], begin: int, start: int, above: Sequence[Column]) -> bool:
    """Tell whether the rows from `start` on have their own header, and hold something else than the columns above."""
    names = [cell.strip() for cell in rows[start][2] if cell.strip()]
    if len(names) < 2 or len(set(names)) < len(names) or any(kind_of(name) == "9" for name in names):
        return False
    if names == [cell.strip() for cell in rows[begin][2] if cell.strip()]:
        return False  # the same table again, on the next page
    end = next((k for k in range(start + 1, len(rows)) if rows[k][0] > rows[k - 1][0] + 1), len(rows))
    below = [cells for _, _, cells in rows[start + 1 : end]]
    if not below or share_alike(rows[start][2], above) > 1 / 2:
        return False
    if len(below) >= _FEW and share_alike(rows[start][2], columns_of(below)) == 1:
        return False
    return median(share_alike(cells, above) for cells in below[:_SAMPLE]) <= 1 / 2


# Tables side by side ----------------------------------------------------------------------------------------------


def _side_by_side(rows: Sequence[Record], merged: Sequence[Span]) -> list[Area]:
    """Cut a table at empty columns, where the parts name the same columns or do not fill the same rows."""
    width = max(_end(cells) for _, _, cells in rows)
    last = _last_header(rows, merged, width)
    header = _names(rows[: last + 1], merged, width)
    whole = Area(header, list(rows[last + 1 :]), 0, rows[last][0])
    named = [n for n, name in enumerate(header) if name]
    gaps = [n for n in range(named[0], named[-1]) if not header[n]] if named else []
    empty = [n for n in gaps if not any(len(cells) > n and cells[n].strip() for _, _, cells in whole.records)]
    if not empty:
        return [whole]
    parts = []
    for left, right in zip([-1, *empty], [*empty, width], strict=True):
        if right > left + 1:
            records = [(row, line, cells[left + 1 : right]) for row, line, cells in whole.records]
            records = [record for record in records if any(map(str.strip, record[2]))]
            parts.append(Area(header[left + 1 : right], records, left + 1, whole.last_header))
    named_twice = len({name for name in header if name}) < len(named)
    if named_twice or any(_fills_other_rows(parts[0], part) for part in parts[1:]):
        return [dataclasses.replace(part, whole=None if named_twice else whole) for part in parts]
    return [whole]


def _fills_other_rows(one: Area, other: Area) -> bool:
    """Tell whether a part that begins in the first row, and has no holes in its first column, ends elsewhere."""
    mine, theirs = ([row for row, _, _ in area.records] for area in (one, other))
    shared = len(set(mine) & set(theirs))
    if not mine or not theirs or shared > _SAME_ROWS * max(len(mine), len(theirs)):
        return False
    both = sorted({*mine, *theirs})
    return both[: len(theirs)] == theirs and all(cells[0].strip() for _, _, cells in other.records)


# Header rows ------------------------------------------------------------------------------------------------------


def _last_header(rows: Sequence[Record], merged: Sequence[Span], width: int) -> int:
    """The last row of the header: names stand below cells merged side by side, beside those merged down, or in gaps."""
    first, number = rows[0][0], {row: n for n, (row, _, _) in enumerate(rows[: 2 * _TITLES])}
    last = first
    while True:
        spans = [span for span in merged if first <= span[1] <= last]
        below = max((bottom + (right > left) for left, _, right, bottom in spans), default=last)
        below = min(below, first + _TITLES)
        if below <= last:
            break
        last = below
    n = max(place for row, place in number.items() if row <= last)
    return n + 1 if n == 0 and _fills_gaps(rows, width) else n


def _fills_gaps(rows: Sequence[Record], width: int) -> bool:
    """Tell whether the second row names the columns that the first leaves without a name, and holds no data."""
    if len(rows) < 2 + _FEW or rows[1][0] > rows[0][0] + 1:
        return False
    first, second = ([cell.strip() for cell in cells] + [""] * (width - len(cells)) for _, _, cells in rows[:2])
    body = [cells for _, _, cells in rows[2:]]
    columns = columns_of(body)
    gaps = [n for n in range(min(width, len(columns))) if not first[n] and columns[n].values]
    if not gaps or not all(second[n] for n in gaps):
        return False
    counted = {n for n in gaps if second[n].isdigit() and second[n - 1] == str(int(second[n]) - 1)}
    counted |= {n - 1 for n in counted if second[n - 1] == "1"}
    held = [n for n, cell in enumerate(second) if cell and n not in counted and columns[n].may_hold(cell)]
    return not held


def _names(rows: Sequence[Record], merged: Sequence[Span], width: int) -> list[str]:
    """Name each column by its lowest header cell, with the group above it where that alone says too little."""
    parts: list[list[str]] = [[] for _ in range(width)]
    by_row = {row: cells for row, _, cells in rows}
    for n, (row, _, cells) in enumerate(rows):
        texts = {column: cell.strip() for column, cell in enumerate(cells, start=1) if cell.strip()}
        for left, top, right, bottom in merged:
            if top in by_row and top <= row <= bottom:
                text = by_row[top][left - 1].strip() if left <= len(by_row[top]) else ""
                texts.update(dict.fromkeys(range(left, min(right, width) + 1), text))
        if n == 0 and len(rows) == 2 and not merged:
            texts = _carried(texts, rows[1][2])
        for column, text in texts.items():
            if text and text not in parts[column - 1][-1:]:
                parts[column - 1].append(text)
    counts = Counter(names[-1] for names in parts if names)

    def says_little(name: str) -> bool:
        return counts[name] > 1 or name.isdigit() or len(name) == 1

    return [" ".join(names if says_little(names[-1]) else names[-1:]) if names else "" for names in parts]


def _carried(texts: dict[int, str], below: list[str]) -> dict[int, str]:
    """Give the columns right of a group its name, where cells were not merged."""
    carried, group = dict(texts), ""
    for column, cell in enumerate(below, start=1):
        group = (texts.get(column) or group) if cell.strip() else ""
        if group:
            carried[column] = group
    return carried
