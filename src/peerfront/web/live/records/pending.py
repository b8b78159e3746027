"""Rows that the events of one request make and change, until they are written: each table at once, not row by row.

An import makes some 30,000 rows. Written one event at a time they would keep everybody else waiting for a minute.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from django.db import connection

from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords, columns_of, key_of
from peerfront.web.live.records.inserting import Insertion, insertion
from peerfront.web.live.rules import records
from peerfront.web.live.rules.effects import Contradiction, Effects

R = TypeVar("R", bound=records.Row)


@dataclass(frozen=True)
class Writes:
    """Rows to change and to insert, in the transaction in which their events are added."""

    changed: tuple[records.Row, ...]
    made: tuple[Insertion, ...]

    def write(self) -> None:
        assert connection.in_atomic_block, "rows are written with their events or not at all"
        for row in self.changed:
            if models.FOLLOWING[type(row)]._default_manager.filter(**key_of(row)).update(**columns_of(row)) != 1:
                raise Contradiction(f"There is no {type(row).__name__} {row.key} to change.")
        for each in self.made:
            each.write()


class PendingRecords(DatabaseRecords):
    """The records as they are after some events whose rows are not written yet."""

    def __init__(self) -> None:
        self._made: dict[type, dict[records.Key, records.Row]] = {}
        self._changed: dict[type, dict[records.Key, records.Row]] = {}

    def add(self, change: Effects) -> None:
        """Take in what an event does; raise `Contradiction` where it makes a row that an event before it made."""
        for row in change.made:
            rows = self._made.setdefault(type(row), {})
            if row.key in rows:
                raise Contradiction(f"There is {type(row).__name__} {row.key} already.")
            rows[row.key] = row
        for row in change.changed:
            is_new = row.key in self._made.get(type(row), {})
            (self._made if is_new else self._changed).setdefault(type(row), {})[row.key] = row

    def writes(self) -> "Writes":
        """Everything that is to be written, made ready; nothing is pending any more."""
        made, changed = self._made, self._changed
        self._made, self._changed = {}, {}
        insertions = []
        for kind, model in models.FOLLOWING.items():
            if rows := made.get(kind):
                ready = insertion(model, map(columns_of, rows.values()))
                insertions.append(replace(ready, rows=list(ready.rows)))
        return Writes(tuple(row for rows in changed.values() for row in rows.values()), tuple(insertions))

    def _one(self, kind: type[R], /, **key: Any) -> R | None:
        known = () if kind is records.StudyRow else tuple(key.values())
        for rows in (self._made, self._changed):
            if (row := rows.get(kind, {}).get(known)) is not None:
                return cast(R, row)
        return super()._one(kind, **key)

    # Look-ups of several rows ask the database, so what is pending is written before.

    def people(self, people: Collection[str]) -> Mapping[str, records.PersonRow]:
        self.writes().write()
        return super().people(people)

    def coupons(self, codes: Collection[str]) -> Mapping[str, records.CouponRow]:
        self.writes().write()
        return super().coupons(codes)

    def coupons_of(self, person: str) -> Sequence[records.CouponRow]:
        self.writes().write()
        return super().coupons_of(person)

    def plan_lines(self, plan: int) -> Sequence[records.PlanLineRow]:
        self.writes().write()
        return super().plan_lines(plan)

    def plan_lines_of(self, person: str) -> Sequence[records.PlanLineRow]:
        self.writes().write()
        return super().plan_lines_of(person)

    def decisions_of(self, person: str) -> Sequence[records.DecisionRow]:
        self.writes().write()
        return super().decisions_of(person)
