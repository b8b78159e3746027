"""A finite population: who is in it, what they are like, and who knows whom; built in, or from two CSV files."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Field, Schema, categories_in
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.settings import whole_number
from peerfront.foundation.text_tables import TextTable, read_table_file

NETWORK_SIZE = "network_size"
BANDS = (0, 1, 2, 3, 5, 8, 13)
"""Lower ends of the bands of acquaintances, as field questionnaires ask."""
BLANK = "(blank)"  # the category of people whose attribute is not given
_MOST_CATEGORIES = 100  # a column with more different values is an identifier or a measurement, not a category
_LARGEST_POPULATION = 10_000  # every pair is considered once: 50 million pairs


@dataclass(frozen=True)
class Society:
    """A finite population: who is in it, what they are like, and who knows whom."""

    schema: Schema
    covariates: Codes  # [members, fields]
    ids: tuple[str, ...]
    first: NDArray[np.int64]  # [members + 1], where each member's acquaintances start in `acquaintances`
    acquaintances: NDArray[np.int64]  # [ties * 2]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        return np.diff(self.first)

    def acquaintances_of(self, member: int) -> NDArray[np.int64]:
        return self.acquaintances[self.first[member] : self.first[member + 1]]

    @classmethod
    def of(
        cls,
        ids: Sequence[str],
        attributes: Mapping[str, Sequence[str]],
        ties: NDArray[np.int64],
    ) -> "Society":
        """From named attribute columns and ties (pairs of positions; direction and repetition do not matter)."""
        if NETWORK_SIZE in attributes:
            raise SettingError("network_world.taken_name", name=NETWORK_SIZE)
        if not len(ids):
            raise SettingError("network_world.nobody")
        first, acquaintances = neighbours(ties, len(ids))
        fields = [Field(name, categories_in(column)) for name, column in attributes.items()]
        fields.append(Field(NETWORK_SIZE, _band_names()))
        columns = [
            [field.code_of[value] for value in column]
            for field, column in zip(fields, attributes.values(), strict=False)
        ]
        columns.append((np.searchsorted(BANDS, np.diff(first), side="right") - 1).tolist())
        covariates = np.array(columns, dtype=np.int16).T.copy()
        return cls(Schema(tuple(fields)), covariates, tuple(ids), first, acquaintances)


def neighbours(ties: NDArray[np.int64], people: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`Society.first` and `Society.acquaintances` of ties, [ties, 2]; direction and repetition do not matter."""
    both = np.concatenate([ties, ties[:, ::-1]]) if len(ties) else np.zeros((0, 2), dtype=np.int64)
    both = np.unique(both[both[:, 0] != both[:, 1]], axis=0)
    degrees = np.bincount(both[:, 0], minlength=people)
    return np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64), both[:, 1].copy()


def _band_names() -> tuple[str, ...]:
    ends = [*(low - 1 for low in BANDS[1:]), None]
    return tuple(f"{a}+" if b is None else str(a) if a == b else f"{a}-{b}" for a, b in zip(BANDS, ends, strict=True))


def synthetic_society(people: int = 1000, mean_degree: float = 8.0, draw: int = 0) -> Society:
    """A built-in population in which similar people know each other more often (homophily in every attribute)."""
    people = whole_number("people", people, 2)
    if people > _LARGEST_POPULATION:
        raise SettingError("network_world.too_many_people", most=_LARGEST_POPULATION, people=people)
    rng = named_generator("synthetic society", draw)
    shares = {
        "district": {"north": 0.3, "east": 0.25, "south": 0.25, "west": 0.2},
        "age": {"18-24": 0.25, "25-34": 0.35, "35-49": 0.25, "50+": 0.15},
        "gender": {"woman": 0.5, "man": 0.47, "other": 0.03},
        "housing": {"stable": 0.6, "unstable": 0.3, "none": 0.1},
    }
    pull = {"district": 2.0, "age": 1.0, "gender": 0.6, "housing": 1.2}  # log odds of a tie between people alike
    columns = {name: rng.choice(list(table), size=people, p=list(table.values())) for name, table in shares.items()}
    first, second = np.triu_indices(people, k=1)
    log_weight = sum(pull[name] * (column[first] == column[second]) for name, column in columns.items())
    weight = np.exp(log_weight)
    chance = np.minimum(weight * (mean_degree * people / 2 / weight.sum()), 1.0)
    tied = rng.random(len(chance)) < chance
    ties = np.column_stack([first[tied], second[tied]])
    attributes = {name: [str(value) for value in column] for name, column in columns.items()}
    return Society.of([str(number + 1) for number in range(people)], attributes, ties)


# From two files: nodes (an id and categorical columns) and edges (source, target) --------------------------------


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
    for remark in table.notes:
        raise DataFileError(codes[remark.kind], path=path, what=remark.message)
    return table
