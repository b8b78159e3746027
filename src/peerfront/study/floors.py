"""Floors by group as people write them (`district=East:0.2`), checked before any planning.

A floor says: the mean number of coupons per person of a group is at least this share of the mean over all people
waiting. `gfp.floored_greedy` plans with them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, n_coupons, note
from peerfront.foundation.settings import one_of, up_to
from peerfront.foundation.typed_values import typed_number
from peerfront.gfp.floored_greedy import MOST_PEOPLE, GroupFloors

_SHARE = up_to(1.0)


@dataclass(frozen=True)
class Floor:
    """A floor: people of one category get on average at least this share of everybody's mean coupons."""

    field: str
    category: str
    share: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", _SHARE(f"the share of {self.field}={self.category}", self.share))

    def __str__(self) -> str:
        return f"{self.field}={self.category}:{self.share:g}"


def read_floors(texts: Iterable[str], schema: Schema) -> tuple[Floor, ...]:
    """Read floors such as `district=East:0.2`; refuse what the schema does not know, and a group named twice.

    The share begins after the last colon.
    """
    floors: list[Floor] = []
    for text in texts:
        floor = _read(text, schema)
        for earlier in floors:
            if (earlier.field, earlier.category) == (floor.field, floor.category):
                raise SettingError("floors.twice", first=str(earlier), second=str(floor))
        floors.append(floor)
    return tuple(floors)


def _read(text: str, schema: Schema) -> Floor:
    group, colon, share = text.rpartition(":")
    if not colon or "=" not in group:
        raise SettingError("floors.written", text=text)
    name, category = split_group(group, schema)
    number = typed_number(share)
    return Floor(name, category, share.strip() if number is None else number)  # type: ignore[arg-type] # checked there


def split_group(text: str, schema: Schema) -> tuple[str, str]:
    """Split FIELD=CATEGORY; if names contain an =, take the split that the schema has."""
    for field in schema.fields:
        if text.startswith(f"{field.name}=") and text[len(field.name) + 1 :] in field.code_of:
            return field.name, text[len(field.name) + 1 :]
    name, _, category = text.partition("=")
    name = one_of("field", name.strip(), schema.names)
    kind = note("floors.category_of", field=name)
    return name, one_of(kind, category.strip(), schema.fields[schema.names.index(name)].categories)


@dataclass(frozen=True, eq=False)
class FloorTask:
    """Floors for the people who wait, without those of groups in which nobody waits."""

    floors: tuple[Floor, ...]
    groups: GroupFloors
    notes: tuple[Message, ...]

    @property
    def labels(self) -> NDArray[np.int64]:
        """Label people by their groups, [people]: a lottery among people with the same label keeps every floor."""
        if not self.floors:
            return np.zeros(self.groups.members.shape[1], np.int64)
        _, labels = np.unique(self.groups.members.T, axis=0, return_inverse=True)
        return labels.reshape(-1).astype(np.int64)


def floor_task(
    floors: Sequence[Floor],
    schema: Schema,
    covariates: Codes,
    *,
    spendable: int,
    most_per_person: int,
    least_per_person: int = 0,
) -> FloorTask:
    """The groups of floors among the people who wait; refuse floors that cannot be kept, before any planning."""
    people = len(covariates)
    if floors and people > MOST_PEOPLE:
        raise SettingError("floors.too_many_people", most=MOST_PEOPLE, found=people)
    members = np.zeros((len(floors), people), dtype=bool)
    for number, floor in enumerate(floors):
        place = schema.names.index(floor.field)
        members[number] = covariates[:, place] == schema.fields[place].code_of[floor.category]
    there = [number for number in range(len(floors)) if members[number].any()]
    notes = tuple(
        note("floors.nobody", field=floor.field, category=floor.category)
        for number, floor in enumerate(floors)
        if number not in there
    )
    kept = tuple(floors[number] for number in there)
    task = FloorTask(kept, GroupFloors(members[there], np.array([floor.share for floor in kept])), notes)
    _check_possible(task, min(spendable, most_per_person * people), least_per_person)
    return task


def _check_possible(task: FloorTask, spendable: int, least: int) -> None:
    """Refuse floors that no number of coupons can keep, except giving out none."""
    if not task.floors or not spendable or least:  # the same number for everybody keeps every floor
        return
    fields = np.array([floor.field for floor in task.floors])
    for spend in range(spendable, 0, -1):
        if max(int(task.groups.needed(spend)[fields == field].sum()) for field in fields) <= spend:
            return
    needed = task.groups.needed(spendable)
    hardest = max(set(fields.tolist()), key=lambda field: int(needed[fields == field].sum()))
    floors = [str(floor) for floor in task.floors if floor.field == hardest]
    numbers = needed[fields == hardest].tolist()
    raise SettingError(
        "floors.contradict", floors=floors, coupons=n_coupons(spendable), needed=" + ".join(map(str, numbers))
    )
