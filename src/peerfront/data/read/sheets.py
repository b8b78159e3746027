"""The table of a file that holds several: which sheet of a workbook, or data frame of an R file, is meant.

A sheet that is named is read. Otherwise it is the only visible sheet with anything in it, or the only one that fits
what is wanted; where several would do, or none, the error names them.

Repeat groups of Kobo and ODK stand in a sheet of their own, whose rows belong to a row of the main sheet. Kobo numbers
the rows of the main sheet (`_index`) and writes that number beside each repeat (`_parent_index`); ODK uses `KEY` and
`PARENT_KEY`. The repeats of a person become columns of the main sheet: `coupon_code_1`, `coupon_code_2`, ...
"""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import is_workbook
from peerfront.foundation.messages import Lines, Message, Remedies, Remedy, note
from peerfront.foundation.r_tables import is_r_data, open_r_file
from peerfront.foundation.text_tables import Book, TextTable

_MOST_LISTED = 20  # sheets that an error lists


def holds_sheets(content: bytes) -> bool:
    """Tell whether a file can hold several tables: a workbook, or a file of R."""
    return is_workbook(content) or is_r_data(content)


def open_book(path: Path, content: bytes) -> Book:
    """Open a file that holds several tables."""
    if not is_workbook(content):
        return open_r_file(path, content)
    from peerfront.foundation.excel_tables import open_workbook  # only here: openpyxl takes a while to load

    return open_workbook(path, content)


def sheet_of(
    path: Path,
    content: bytes,
    wanted: str,
    misfit: Callable[[TextTable], Message | None],
    *,
    may_be_empty: bool = False,
) -> tuple[TextTable, tuple[Message, ...]]:
    """Return the table of the sheet that is wanted or that fits, and what was assumed.

    `misfit` says why a table cannot be the one; None if it can.
    """
    workbook = open_book(path, content)
    if wanted:
        table = workbook.read(wanted, may_be_empty=may_be_empty)
        if not misfit(table):
            return table, ()
        others = [other for other in _readable(workbook, may_be_empty)[0] if other.sheet != wanted]
        joined = with_repeats([table, *others])
        return joined if joined is not None and joined[0].sheet == wanted else (table, ())
    tables, faults = _readable(workbook, may_be_empty)
    if len(workbook.names) == 1 and faults:
        raise faults[0]
    if len(tables) == 1:
        return tables[0], _assumed(workbook, tables[0].sheet)
    reasons = {table.sheet: misfit(table) for table in tables}
    fitting = [table for table in tables if not reasons[table.sheet]]
    if len(fitting) == 1:
        return fitting[0], _assumed(workbook, fitting[0].sheet)
    joined = None if fitting else with_repeats(tables)
    if joined is not None:
        return joined[0], joined[1]
    raise _undecided(workbook, tables, fitting, reasons)


def _readable(workbook: Book, may_be_empty: bool) -> tuple[list[TextTable], list[DataFileError]]:
    """Read the visible sheets; those that are no tables (empty, or notes) cannot be meant."""
    tables, faults = [], []
    for name in workbook.names:
        try:
            tables.append(workbook.read(name, may_be_empty=may_be_empty))
        except DataFileError as fault:
            faults.append(fault)
    return tables, faults


def _assumed(workbook: Book, name: str) -> tuple[Message, ...]:
    """Which sheet was read, if there are several."""
    others = [note("sheets.name", sheet=other) for other in workbook.names if other != name]
    others += [note("sheets.hidden", sheet=other) for other in workbook.hidden]
    code = "steps.sheet" if workbook.word == "sheet" else "steps.table"
    return (note(code, sheet=name, others=others),) if others else ()


def _undecided(
    workbook: Book, tables: list[TextTable], fitting: list[TextTable], faults: Mapping[str, Message | None]
) -> DataFileError:
    """The error that asks which sheet is meant."""
    path = workbook.path
    names = [table.sheet for table in fitting or tables][:_MOST_LISTED]
    if not names:
        if workbook.hidden:
            return DataFileError("sheets.no_table_seen", path=path, hidden=list(workbook.hidden))
        return DataFileError("sheets.no_table", path=path)
    likely = max(fitting or tables, key=lambda table: table.frame.size).sheet
    first = Remedies((Remedy("sheet", likely),))
    if fitting:
        return DataFileError("sheets.several_fit", path=path, sheets=names, sheet=first)
    listed = Lines(note("sheets.fault", sheet=name, fault=faults[name]) for name in names)
    return DataFileError("sheets.none_fits", path=path, sheets=names, sheet=first, faults=listed)


# Repeat groups ----------------------------------------------------------------------------------------------------


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
