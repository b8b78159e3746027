"""Coupons that were all typed into one cell: `0123, 0124, 0125`, cut into a column each.

A cell is cut only where that shows: more of the parts than of the whole cells are codes with which people came.
"""

import re

import numpy as np
import pandas as pd

_CUT = re.compile(r"[\s,;/|+]+")
_FEWEST = 2  # parts with which somebody came


def split_codes(frame: pd.DataFrame, column: str, own: pd.Series) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Cut the cells of a column into columns `name_1`, `name_2`, ...; return their names, () if nothing was cut."""
    cells = [[part for part in _CUT.split(cell) if part] for cell in frame[column]]
    most = max(map(len, cells), default=0)
    came = set(own) - {""}
    parts = {part for cell in cells for part in cell}
    whole = set(frame[column]) - {""}
    if most < 2 or len(parts & came) < _FEWEST or len(parts & came) <= len(whole & came):
        return frame, ()
    names = tuple(f"{column}_{slot + 1}" for slot in range(most))
    if set(names) & set(frame.columns):
        return frame, ()
    place = list(frame.columns).index(column)
    frame = frame.drop(columns=column)
    for slot, name in enumerate(names):
        values = np.array([cell[slot] if slot < len(cell) else "" for cell in cells] + [None], dtype=object)[:-1]
        frame.insert(place + slot, name, values)
    return frame, names
