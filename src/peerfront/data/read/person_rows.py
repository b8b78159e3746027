"""One row per person and one code per cell: events, repeated forms, a row per coupon, several coupons in one cell.

A column in which the rows of a person hold one value keeps it. Coupons that were issued in several rows become columns
of their own (`coupon_code_1`, `coupon_code_2`, ...). Of other columns the first value is kept, and the problem gives
the rows that differ; rows that differ in who recruited the person are an error.
"""

import dataclasses
import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd

from peerfront.data.problems import Problem, at
from peerfront.foundation.messages import note
from peerfront.foundation.text_tables import TextTable

_MOST_LISTED = 5  # rows that a problem lists


@dataclass(frozen=True)
class JoinedRows:
    """A table with one row per person."""

    table: TextTable
    spread: dict[str, tuple[str, ...]]
    """Columns that became several, by their name in the file."""
    problems: tuple[Problem, ...]


def differing(frame: pd.DataFrame, key: str) -> dict[str, pd.DataFrame]:
    """Return the values of each column that differ between rows of one person: person, value and place."""
    people = _people(frame[key])
    differences = {}
    for name in map(str, frame.columns):
        held = pd.DataFrame(
            {"person": people, "value": frame[name].to_numpy(dtype=object), "at": np.arange(len(frame))}
        )
        held = held[held["value"] != ""].drop_duplicates(["person", "value"])
        several = held[held["person"].duplicated(keep=False)]
        if name != key and len(several):
            differences[name] = several
    return differences


def _people(keys: pd.Series) -> np.ndarray:
    """Number people by their keys, in the order of the file; rows without a key are people of their own."""
    filled = keys.where(keys != "", pd.Series([f"\0{n}" for n in range(len(keys))], index=keys.index, dtype=object))
    return pd.factorize(filled)[0]


def join_rows(table: TextTable, key: str, coupons: Collection[str], codes: Collection[str]) -> JoinedRows:
    """Bring the rows together that have the same `key`; `coupons` may be several, `codes` must not differ."""
    frame = table.frame
    people = _people(frame[key])
    first = np.flatnonzero(~pd.Series(people).duplicated().to_numpy())
    several = differing(frame, key)
    problems: list[Problem] = []
    spread: dict[str, tuple[str, ...]] = {}
    columns: dict[str, np.ndarray] = {}
    for name in map(str, frame.columns):
        if name in several and name in coupons:
            apart = _spread(frame, name, people, len(first))
            spread[name] = tuple(apart)
            columns |= apart
            continue
        held = pd.Series(frame[name].to_numpy(dtype=object)).replace("", None).groupby(people).first()
        columns[name] = held.fillna("").to_numpy(dtype=object)
        if name in several:
            problems += _differences(table, key, name, several[name], name in codes)
    joined = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    return JoinedRows(
        dataclasses.replace(table, frame=joined, rows=table.rows[first], lines=table.lines[first]),
        spread,
        tuple(problems),
    )


def _spread(frame: pd.DataFrame, name: str, people: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """Put the different codes of each person side by side."""
    held = pd.DataFrame({"person": people, "value": frame[name].to_numpy(dtype=object)})
    held = held[held["value"] != ""].drop_duplicates()
    turn = held.groupby("person").cumcount().to_numpy()
    others = set(map(str, frame.columns)) - {name}
    apart = {}
    for slot in range(int(turn.max()) + 1):
        values = np.full(count, "", dtype=object)
        here = held[turn == slot]
        values[here["person"].to_numpy()] = here["value"].to_numpy(dtype=object)
        called = f"{name}_{slot + 1}"
        apart[called if called not in others else f"{name}.{slot + 1}"] = values
    return apart


def _differences(table: TextTable, key: str, name: str, several: pd.DataFrame, is_code: bool) -> list[Problem]:
    """Report a column whose values differ: each person if it decides who recruited them, all in one problem if not."""
    rows = table.rows[several["at"].to_numpy()]
    if not is_code:
        later = rows[several["person"].duplicated().to_numpy()]
        listed = [*later[:_MOST_LISTED].tolist(), *(["..."] if len(later) > _MOST_LISTED else [])]
        people = int(several["person"].nunique())
        fault = note("problems.differing_rows", column=name, people=people, rows=listed)
        return [Problem("several-rows", int(later[0]), "", fault, name)]
    problems = []
    for _, mine in several.groupby("person"):
        places = mine["at"].to_numpy()
        person = str(table.frame[key].iloc[places[0]])
        values = [
            note("problems.value_at", value=value, at=at("row", table.rows[place]))
            for value, place in zip(mine["value"], places, strict=True)
        ]
        fault = note("problems.contradictory_rows", person=person, column=name, values=values)
        problems.append(Problem("rows-contradict", int(table.rows[places[0]]), person, fault, name))
    return problems


# Several codes in one cell ----------------------------------------------------------------------------------------


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
