"""A society from two CSV files: nodes (an id and categorical columns) and edges (source, target)."""

from collections.abc import Collection
from pathlib import Path

import numpy as np

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.text_tables import TextTable, read_table_file
from peerfront.simulation.society import BLANK, Society

_MOST_CATEGORIES = 100  # a column with more different values is an identifier or a measurement, not a category


def read_society(nodes: Path, edges: Path, exclude: Collection[str] = ()) -> Society:
    """Read, check and index both files; the first fault stops with file, line and remedy."""
    ids, attributes = _read_nodes(nodes, exclude)
    position = {person: index for index, person in enumerate(ids)}
    table = _read_table(edges, needed=("source", "target"), may_be_empty=True)
    ties = []
    for line, *ends in zip(table.lines, table.frame["source"], table.frame["target"], strict=True):
        for column, person in zip(("source", "target"), ends, strict=True):
            if person not in position:
                raise DataFileError(
                    "network_files.not_an_id", path=edges, line=line, column=column, person=person, nodes=nodes.name
                )
        if ends[0] == ends[1]:
            raise DataFileError("network_files.tied_to_itself", path=edges, line=line, person=ends[0])
        ties.append([position[person] for person in ends])
    return Society.of(ids, attributes, np.array(ties, dtype=np.int64).reshape(-1, 2))


def _read_nodes(path: Path, exclude: Collection[str]) -> tuple[list[str], dict[str, list[str]]]:
    table = _read_table(path, needed=("id",))
    lines: dict[str, int] = {}
    for line, person in zip(table.lines, table.frame["id"], strict=True):
        if not person:
            raise DataFileError("network_files.no_id", path=path, line=line)
        if person in lines:
            raise DataFileError("network_files.id_twice", path=path, line=line, person=person, first=lines[person])
        lines[person] = line
    names = [name for name in table.frame.columns if name != "id"]
    for name in exclude:
        if name not in names:
            raise DataFileError("network_files.no_such_column", path=path, name=name, names=names or ["-"])
    attributes = {name: [value or BLANK for value in table.frame[name]] for name in names if name not in exclude}
    for name, column in attributes.items():
        different = len(set(column))
        if different > _MOST_CATEGORIES:
            raise DataFileError(
                "network_files.too_many_categories", path=path, name=name, different=different, most=_MOST_CATEGORIES
            )
    return list(lines), attributes


def _read_table(path: Path, needed: tuple[str, ...], *, may_be_empty: bool = False) -> TextTable:
    """Read a file that must name the needed columns; whatever a study's reader would only remark on is refused."""
    table = read_table_file(path, may_be_empty=may_be_empty, whole_rows=True)
    for name in needed:
        if name not in table.frame.columns:
            raise DataFileError(
                "network_files.no_column", path=path, name=name, names=list(table.frame.columns) or ["-"]
            )
    codes = {"encoding": "network_files.not_utf_8", "unnamed-column": "network_files.unnamed_column"}
    for note in table.notes:
        raise DataFileError(codes[note.kind], path=path, what=note.message)
    return table
