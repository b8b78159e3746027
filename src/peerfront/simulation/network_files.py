"""A society from two CSV files: nodes (an id and categorical columns) and edges (source, target)."""

import csv
from collections.abc import Collection
from pathlib import Path

import numpy as np

from peerfront.foundation.errors import DataFileError
from peerfront.simulation.network import BLANK, Society

_MOST_CATEGORIES = 100  # a column with more different values is an identifier or a measurement, not a category


def read_society(nodes: Path, edges: Path, exclude: Collection[str] = ()) -> Society:
    """Read, check and index both files; the first fault stops with file, line and remedy."""
    ids, attributes = _read_nodes(nodes, exclude)
    position = {person: index for index, person in enumerate(ids)}
    ties = []
    for line, row in _rows(edges, needed=("source", "target")):
        ends = []
        for column in ("source", "target"):
            if row[column] not in position:
                raise DataFileError(
                    f"{edges}, line {line}: {column} {row[column]!r} is not an id of {nodes.name}. "
                    "Add this person there, or remove the edge."
                )
            ends.append(position[row[column]])
        if ends[0] == ends[1]:
            raise DataFileError(f"{edges}, line {line}: {row['source']!r} is tied to itself. Remove the edge.")
        ties.append(ends)
    return Society.of(ids, attributes, np.array(ties, dtype=np.int64).reshape(-1, 2))


def _read_nodes(path: Path, exclude: Collection[str]) -> tuple[list[str], dict[str, list[str]]]:
    lines: dict[str, int] = {}
    attributes: dict[str, list[str]] = {}
    for line, row in _rows(path, needed=("id",)):
        person = row.pop("id")
        if not person:
            raise DataFileError(f"{path}, line {line}: the id is empty. Give everybody an id.")
        if person in lines:
            raise DataFileError(
                f"{path}, line {line}: id {person!r} stands already in line {lines[person]}. Give everybody one row."
            )
        lines[person] = line
        for name, value in row.items():
            attributes.setdefault(name, []).append(value or BLANK)
    if not lines:
        raise DataFileError(f"{path}: there is a header and nobody below it. Add one row per person.")
    for name in exclude:
        if name not in attributes:
            known = ", ".join(attributes) or "none"
            raise DataFileError(f"{path}: there is no column {name!r} to exclude. Columns besides id: {known}.")
    kept = {name: column for name, column in attributes.items() if name not in exclude}
    for name, column in kept.items():
        different = len(set(column))
        if different > _MOST_CATEGORIES:
            raise DataFileError(
                f"{path}: column {name!r} has {different} different values; a category may have {_MOST_CATEGORIES}. "
                f"Exclude it (exclude={name}) or put its values into bands first."
            )
    return list(lines), kept


def _rows(path: Path, needed: tuple[str, ...]) -> list[tuple[int, dict[str, str]]]:
    """(line number, record) of each row, blanks around values removed."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            while header and not header[-1]:
                header.pop()  # spreadsheets like to leave empty columns at the end
            missing = [name for name in needed if name not in header]
            if missing:
                found = ", ".join(header) if any(header) else "nothing"
                raise DataFileError(
                    f"{path}: the first line must name the column {missing[0]!r}; found {found}. "
                    "Separate columns with commas."
                )
            if "" in header:
                raise DataFileError(f"{path}: column {header.index('') + 1} has no name. Name it, or remove it.")
            repeated = [name for name in header if header.count(name) > 1]
            if repeated:
                raise DataFileError(f"{path}: the column {repeated[0]!r} stands twice. Rename one of them.")
            records = []
            for row in reader:
                if not any(value.strip() for value in row):
                    continue
                while len(row) > len(header) and not row[-1].strip():
                    row.pop()
                if len(row) != len(header):
                    raise DataFileError(
                        f"{path}, line {reader.line_num}: {len(row)} values for {len(header)} columns. "
                        "Quote values that contain commas, and leave unknown ones empty."
                    )
                records.append((reader.line_num, {k: v.strip() for k, v in zip(header, row, strict=True)}))
            return records
    except FileNotFoundError:
        raise DataFileError(f"{path}: there is no such file. Check the path.") from None
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise DataFileError(f"{path}: cannot be read as a CSV file in UTF-8 ({problem}). Export it again.") from None
