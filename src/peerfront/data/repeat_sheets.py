"""Repeat groups of Kobo and ODK, which stand in a sheet of their own: their rows belong to a row of the main sheet.

Kobo numbers the rows of the main sheet (`_index`) and writes that number beside each repeat (`_parent_index`); ODK uses
`KEY` and `PARENT_KEY`. The repeats of a person become columns of the main sheet: `coupon_code_1`, `coupon_code_2`, ...
"""

import dataclasses

import pandas as pd

from peerfront.foundation.messages import Message, note
from peerfront.foundation.text_tables import TextTable

_KEYS = (("_index", "_parent_index"), ("KEY", "PARENT_KEY"))
_MOST_REPEATS = 50  # columns that one question of a repeat group may become


def with_repeats(tables: list[TextTable]) -> tuple[TextTable, tuple[Message, ...]] | None:
    """Return the main sheet with the repeats beside their rows, and what was done; None if there are none."""
    for key, parent in _KEYS:
        mains = [table for table in tables if key in table.frame.columns and parent not in table.frame.columns]
        repeats = [table for table in tables if parent in table.frame.columns]
        if len(mains) == 1 and repeats:
            table, steps = mains[0], []
            for repeat in repeats:
                frame = _beside(table.frame, key, repeat.frame, parent)
                table = dataclasses.replace(table, frame=frame, notes=(*table.notes, *repeat.notes))
                steps.append(note("steps.repeats", sheet=repeat.sheet))
            return table, tuple(steps)
    return None


def _beside(main: pd.DataFrame, key: str, repeat: pd.DataFrame, parent: str) -> pd.DataFrame:
    turn = repeat.groupby(parent).cumcount() + 1
    if not len(turn) or turn.max() > _MOST_REPEATS:
        return main
    columns = {}
    for name in map(str, repeat.columns):
        if name == parent or name.startswith("_") or name in ("KEY", "SET-OF"):
            continue
        leaf = name.rsplit("/", 1)[-1]
        for number in range(1, int(turn.max()) + 1):
            here = turn == number
            values = pd.Series(repeat[name][here].to_numpy(dtype=object), index=repeat[parent][here])
            columns[f"{leaf}_{number}"] = main[key].map(values).fillna("").to_numpy(dtype=object)
    added = {name: values for name, values in columns.items() if name not in main.columns}
    return pd.concat([main, pd.DataFrame(added, index=main.index, dtype=object)], axis=1)
