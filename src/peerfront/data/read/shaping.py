"""Bring a table into the shape of a study: one row per person, plain names, checkboxes as fields.

Exports of REDCap, Kobo, ODK Central and SurveyCTO are recognised (`presets`) and shaped; other tables stay as they are,
but for those with a row per coupon. What was done is noted in `steps`, what could not be done is a problem with its
rows.

Of several rows of a person (events, repeated forms, a row per coupon) a column keeps the one value they hold. Coupons
that were issued in several rows become columns of their own (`coupon_code_1`, `coupon_code_2`, ...). Of other columns
the first value is kept, and the problem gives the rows that differ; rows that differ in who recruited the person are an
error.
"""

import dataclasses
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from peerfront.data.problems import Problem, at
from peerfront.data.read.code_cells import coupons_apart, first_and_last
from peerfront.data.read.listing import VOCABULARY, guess_columns, looks_like_issued, named_like, without_missing
from peerfront.data.read.other_rows import only_people
from peerfront.data.read.program_exports import Preset, find_boxes, merge_boxes, own_columns, preset_of, without_groups
from peerfront.data.read.read_settings import PLAIN, PRESETS, REDCAP, Columns, ReadSettings
from peerfront.foundation.messages import Message, first_of, note
from peerfront.foundation.text_tables import TextTable

_NUMBERED = re.compile(r"(.+)[_.](\d+)")
_MOST_LISTED = 6  # columns that a sentence names
_MOST_ROWS = 5  # rows that a problem lists


@dataclass(frozen=True)
class Shaped:
    """A table with one row per person, and what is known about its columns."""

    table: TextTable
    named: Columns
    """Columns named by the user, as they are called now."""
    own: frozenset[str]
    """Columns of the program that exported it, which are used only where they are named."""
    instead: Mapping[str, str]
    """Columns of the program by role, for studies that have none of their own."""
    preset: str
    checkboxes: tuple[str, ...] | None
    steps: tuple[Message, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class JoinedRows:
    """A table with one row per person."""

    table: TextTable
    spread: dict[str, tuple[str, ...]]
    """Columns that became several, by their name in the file."""
    problems: tuple[Problem, ...]


def shape(table: TextTable, settings: ReadSettings, source: str) -> Shaped:
    """Shape the table of a study or of people waiting; messages call it `source`."""
    table, other_rows = only_people(table, settings.columns, source)
    shaped = _with_codes_apart(_shaped(table, settings, source), source)
    return dataclasses.replace(shaped, problems=(*other_rows, *shaped.problems))


def _shaped(table: TextTable, settings: ReadSettings, source: str) -> Shaped:
    preset = preset_of(settings.preset, table.frame, source)
    declared = {role: (name,) for role, name in table.declared.items()}
    settings = dataclasses.replace(settings, columns={**declared, **settings.columns})
    table = dataclasses.replace(table, frame=without_missing(table.frame, settings.missing))
    if preset is None:
        return _plain(table, settings, source)
    own = own_columns(preset, table.frame)
    kept = {name for names in settings.columns.values() for name in names}
    if own - kept == set(map(str, table.frame.columns)):
        return _plain(table, settings, source)  # nothing of the study is in it
    groups: dict[str, str] = {}
    steps: list[Message] = []
    if preset.name == REDCAP:
        answers = table.frame.drop(columns=[name for name in own if name not in kept])
        joined = _joined(dataclasses.replace(table, frame=answers), str(answers.columns[0]), settings.columns, source)
        boxes = find_boxes(joined.table.frame, named=True)
        frame, checkboxes, done = merge_boxes(joined.table.frame, boxes, settings.checkboxes)
    else:
        boxes = find_boxes(table.frame, named=False)
        frame, checkboxes, done = merge_boxes(table.frame, boxes, settings.checkboxes)
        groups = without_groups(preset, list(map(str, frame.columns)), boxes)
        frame = frame.rename(columns=groups)
        named = _translated(settings.columns, frame, groups, {})
        visible = [name for name in frame.columns if name not in own]
        key = (named.get("id") or guess_columns(visible, {}, source).get("id") or ("",))[0]
        joined = _joined(dataclasses.replace(table, frame=frame), key, named, source)
        frame = joined.table.frame
    instead = _instead(preset, frame)
    left_out = own - kept - set(instead.values())
    program = PRESETS[preset.name]
    if left_out:
        columns = first_of(sorted(left_out), _MOST_LISTED)
        steps.append(note("steps.read_as_without", preset=program, columns=columns))
    else:
        steps.append(note("steps.read_as", preset=program))
    steps += _of_rows(joined, len(table.rows), len(frame)) + done
    if groups:
        name, short = next(iter(groups.items()))
        steps.append(note("steps.groups_left_out", n=len(groups), name=name, short=short))
    return Shaped(
        dataclasses.replace(joined.table, frame=frame),
        _translated(settings.columns, frame, groups, joined.spread),
        frozenset(own),
        instead,
        preset.name,
        tuple(checkboxes) if boxes else settings.checkboxes,
        tuple(steps),
        joined.problems,
    )


def _with_codes_apart(shaped: Shaped, source: str) -> Shaped:
    """Put coupons apart that were typed into one cell, or as the first and the last of a row."""
    frame = shaped.table.frame
    header = [name for name in map(str, frame.columns) if name not in shaped.own]
    columns = dict(guess_columns(header, _present(shaped.named, header), source))
    taken = {name for role, names in columns.items() if role != "own_coupon" for name in names}
    candidates = [name for name in named_like("own_coupon", header) if name not in taken]
    came = frame[list(columns.get("own_coupon", ()) if "own_coupon" in shaped.named else candidates)]
    own = {str(code) for code in came.to_numpy().ravel()}
    steps: list[Message] = []
    if "coupons" not in shaped.named:
        ends = first_and_last(frame[header], own, VOCABULARY["coupons"])
        if ends is not None:
            start, end, pairs = ends
            frame, columns["coupons"] = frame.assign(**{start: pairs}).drop(columns=end), (start,)
            steps.append(note("steps.first_and_last", first=start, last=end))
    issued = columns.get("coupons") or (columns.get("coupons_issued", ()) if own else ())
    if not issued:
        return shaped
    ids = frame[columns["id"][0]].tolist() if "id" in columns else [""] * len(frame)
    apart = coupons_apart(dataclasses.replace(shaped.table, frame=frame), issued, own, ids)
    if apart is None:
        return shaped
    kept = {key: names for key, names in shaped.named.items() if not set(issued) & set(names)}
    return dataclasses.replace(
        shaped,
        table=apart.table,
        named={**kept, "coupons": apart.columns},
        steps=(*shaped.steps, *steps, *apart.steps),
        problems=(*shaped.problems, *apart.problems),
    )


def _plain(table: TextTable, settings: ReadSettings, source: str) -> Shaped:
    """Leave a table as it is, but bring together a person's rows if there is one for each coupon."""
    frame = table.frame
    header = list(map(str, frame.columns))
    shaped = Shaped(table, settings.columns, frozenset(), {}, PLAIN, settings.checkboxes, (), ())
    if _present(settings.columns, header) != settings.columns:
        named = _translated(settings.columns, frame, {}, {})
        if _present(named, header) != named:
            return shaped  # whoever recognises the columns says which one is missing
        shaped = dataclasses.replace(shaped, named=named)
    columns = guess_columns(header, shaped.named, source)
    coupons = columns.get("coupons", ())
    if "id" not in columns or "own_coupon" not in columns or len(coupons) != 1 or coupons[0][-1].isdigit():
        return shaped
    keys, own = frame[columns["id"][0]], frame[columns["own_coupon"][0]]
    together = int((keys != keys.shift()).sum()) == keys.nunique() < len(keys)
    if not together or own.groupby(keys).nunique().max() > 1 or set(differing(frame, columns["id"][0])) - set(coupons):
        return shaped  # an id that is used twice is an error, which says so
    joined = join_rows(table, columns["id"][0], coupons, ())
    return dataclasses.replace(
        shaped,
        table=joined.table,
        named=_translated(columns, joined.table.frame, {}, joined.spread),
        steps=tuple(_of_rows(joined, len(table.rows), len(joined.table.rows))),
    )


def _joined(table: TextTable, key: str, named: Columns, source: str) -> JoinedRows:
    """Bring the rows of a person together, if there are several."""
    if key not in table.frame.columns or table.frame[key].replace("", None).dropna().is_unique:
        return JoinedRows(table, {}, ())
    header = list(map(str, table.frame.columns))
    columns = guess_columns(header, _present(named, header), source)
    codes = {name for role in ("own_coupon", "recruiter") for name in columns.get(role, ())}
    coupons = {name for name in header if looks_like_issued(name) and name not in codes}
    return join_rows(table, key, coupons | set(columns.get("coupons", ())), codes)


def _present(named: Columns, header: Collection[str]) -> Columns:
    """The roles all of whose columns are there."""
    return {role: names for role, names in named.items() if all(name in header for name in names)}


def _translated(
    columns: Columns, frame: pd.DataFrame, groups: Mapping[str, str], spread: Mapping[str, tuple[str, ...]]
) -> Columns:
    """Return columns as they are called now: without groups, and all of those that one column became.

    A schema lists the columns that there were; a later export may have more of them, or fewer.
    """
    header = set(map(str, frame.columns))
    translated = {}
    for role, names in columns.items():
        now: list[str] = []
        for name in names:
            match = _NUMBERED.fullmatch(name)
            if name in header and not (match and match[1] in spread):
                now.append(name)
            elif name in spread or groups.get(name) in spread:
                now += spread.get(name) or spread[groups[name]]
            elif name in groups:
                now.append(groups[name])
            elif match and match[1] in spread:
                now += spread[match[1]]
            elif match and match[1] in header and role == "coupons":
                now.append(match[1])  # nobody has several any more
            elif not (match and role == "coupons" and f"{match[1]}_1" in header):
                now.append(name)
        translated[role] = tuple(dict.fromkeys(now))
    return translated


def _instead(preset: Preset, frame: pd.DataFrame) -> dict[str, str]:
    """Return the program's own columns that serve as id and date."""
    lower = {str(name).lower(): str(name) for name in reversed(frame.columns)}
    roles = {"id": preset.ids, "date": preset.dates}
    columns = {
        role: next((lower[name] for name in names if name in lower and (frame[lower[name]] != "").any()), "")
        for role, names in roles.items()
    }
    if preset.name == REDCAP:
        columns["id"] = str(frame.columns[0])
    return {role: name for role, name in columns.items() if name}


def _of_rows(joined: JoinedRows, rows: int, people: int) -> list[Message]:
    """What was done to the rows of people who have several."""
    if rows == people:
        return []
    spread = [
        note("steps.column_became", column=name, columns=first_of(columns, _MOST_LISTED))
        for name, columns in joined.spread.items()
    ]
    return [note("steps.rows_joined", rows=rows, people=people), *spread]


# One row per person --------------------------------------------------------------------------------------------------


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
        listed = [*later[:_MOST_ROWS].tolist(), *(["..."] if len(later) > _MOST_ROWS else [])]
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
