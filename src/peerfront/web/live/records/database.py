"""The look-ups of the rules (`rules.records.Records`), each one indexed query; and conversion of rows."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, TypeVar, cast

from django.db import connection
from django.db import models as django_models

from peerfront.foundation.errors import DataFileError
from peerfront.web.live.records import models
from peerfront.web.live.rules import records
from peerfront.web.live.rules.chain import Link
from peerfront.web.live.rules.events import DecidedBy, Event, PaymentKind
from peerfront.web.live.rules.stored_events import plain_value, value_from
from peerfront.web.live.rules.study_settings import Settings

R = TypeVar("R", bound=records.Row)


def _answers(data: Any) -> Any:
    return None if data is None else tuple((name, answer) for name, answer in data)


_READ: dict[tuple[type, str], Any] = {
    (records.StudyRow, "settings"): lambda data: value_from(data, Settings),
    (records.PersonRow, "answers"): _answers,
    (records.PlanRow, "status"): records.PlanStatus,
    (records.DecisionRow, "decided_by"): DecidedBy,
    (records.PaymentRow, "kind"): PaymentKind,
}
_WRITTEN = dict.fromkeys(_READ, plain_value)


def _columns(kind: type[records.Row]) -> dict[str, str]:
    stored = cast(Any, models.FOLLOWING[kind]).STORED
    return {each.name: stored.get(each.name, each.name) for each in fields(kind)}


_COLUMNS = {kind: _columns(kind) for kind in models.FOLLOWING}


def row_of(kind: type[R], stored: django_models.Model) -> R:
    """Convert a database line to a row of the rules."""
    return _row(kind, stored, lambda read, value: read(value))


def _row(kind: type[R], stored: django_models.Model, apply: Callable[[Callable[[Any], Any], Any], Any]) -> R:
    values = {name: getattr(stored, column) for name, column in _COLUMNS[kind].items()}
    for name in values:
        if read := _READ.get((kind, name)):
            values[name] = apply(read, values[name])
    return cast(Any, kind)(**values)  # type: ignore[no-any-return]


def _read_if_possible(read: Callable[[Any], Any], value: Any) -> Any:
    try:
        return read(value)
    except (ValueError, TypeError, DataFileError):
        return value


def columns_of(row: records.Row) -> dict[str, Any]:
    """Convert a row of the rules to the columns of its table."""
    kind = type(row)
    values = {}
    for name, column in _COLUMNS[kind].items():
        value = getattr(row, name)
        written = _WRITTEN.get((kind, name))
        values[column] = value if written is None else written(value)
    return values


def key_columns(row: records.Row) -> dict[str, Any]:
    """Return the key columns of a row."""
    names = _COLUMNS[type(row)]
    return {names[name]: plain_value(getattr(row, name)) for name in row.KEY} or {"id": 1}


def table(kind: type[R]) -> Iterator[R]:
    """Read all rows of a class for comparison; unreadable values are returned as stored, and so differ."""
    for stored in models.FOLLOWING[kind]._default_manager.order_by("pk").iterator(chunk_size=2_000):
        yield _row(kind, stored, _read_if_possible)


class DatabaseRecords:
    """The records in the database. Use it inside the transaction of `recording.answer`, or only to read."""

    def _one(self, kind: type[R], /, **key: Any) -> R | None:
        rows = models.FOLLOWING[kind]._default_manager.filter(**key).order_by()[:1]  # unsorted, which is faster
        return next((row_of(kind, stored) for stored in rows), None)

    def study(self) -> records.StudyRow | None:
        return self._one(records.StudyRow, pk=1)

    def site(self, site: str) -> records.SiteRow | None:
        return self._one(records.SiteRow, pk=site)

    def person(self, person: str) -> records.PersonRow | None:
        return self._one(records.PersonRow, pk=person)

    def _some(self, kind: type[R], keys: Collection[str]) -> dict[str, R]:
        """The existing rows of a class with these keys, for classes with a single key field."""
        names = list(keys)
        rows: dict[str, R] = {}
        for start in range(0, len(names), 500):  # SQLite takes some hundred parameters at a time
            part = models.FOLLOWING[kind]._default_manager.filter(pk__in=names[start : start + 500]).order_by()
            rows |= {str(stored.pk): row_of(kind, stored) for stored in part}
        return rows

    def people(self, people: Collection[str]) -> Mapping[str, records.PersonRow]:
        return self._some(records.PersonRow, people)

    def coupon(self, code: str) -> records.CouponRow | None:
        return self._one(records.CouponRow, pk=code)

    def coupons(self, codes: Collection[str]) -> Mapping[str, records.CouponRow]:
        return self._some(records.CouponRow, codes)

    def coupons_of(self, person: str) -> Sequence[records.CouponRow]:
        held = models.Coupon.objects.filter(holder_id=person)
        return sorted((row_of(records.CouponRow, stored) for stored in held), key=lambda row: row.code)

    def redemption(self, code: str) -> records.RedemptionRow | None:
        return self._one(records.RedemptionRow, pk=code)

    def plan(self, plan: int) -> records.PlanRow | None:
        return self._one(records.PlanRow, pk=plan)

    def plan_line(self, plan: int, person: str) -> records.PlanLineRow | None:
        return self._one(records.PlanLineRow, plan_id=plan, person_id=person)

    def plan_lines(self, plan: int) -> Sequence[records.PlanLineRow]:
        lines = models.PlanLine.objects.filter(plan_id=plan)
        return sorted((row_of(records.PlanLineRow, stored) for stored in lines), key=lambda row: row.person)

    def plan_lines_of(self, person: str) -> Sequence[records.PlanLineRow]:
        lines = models.PlanLine.objects.filter(person_id=person).order_by("plan_id")
        return [row_of(records.PlanLineRow, stored) for stored in lines]

    def override(self, round: int, person: str) -> records.OverrideRow | None:
        return self._one(records.OverrideRow, round=round, person_id=person)

    def decision(self, round: int, person: str) -> records.DecisionRow | None:
        return self._one(records.DecisionRow, round=round, person_id=person)

    def decisions_of(self, person: str) -> Sequence[records.DecisionRow]:
        decisions = models.Decision.objects.filter(person_id=person).order_by("round")
        return [row_of(records.DecisionRow, stored) for stored in decisions]

    def payment(self, code: str, kind: PaymentKind) -> records.PaymentRow | None:
        return self._one(records.PaymentRow, coupon_id=code, kind=kind.value)

    def events_of(self, request_key: str) -> Sequence[Event]:
        stored = models.Event.objects.filter(request_key=request_key).order_by("part")
        return tuple(link_of(event).event for event in stored)


def link_of(stored: models.Event) -> Link:
    """Convert a line of the table of events to a link of the chain."""
    return Link(stored.number, stored.before, json.loads(stored.data), stored.hash)


_ROWS = 2_000  # rows read at a time
_MANY = 100  # from this many rows on, COPY is faster
T = TypeVar("T")


@dataclass(frozen=True)
class Insertion:
    """Rows to insert into a table, in the database's own form."""

    table: str
    columns: tuple[str, ...]
    rows: Iterable[list[Any]]

    def write(self) -> None:
        quote = connection.ops.quote_name
        into = f"{quote(self.table)} ({', '.join(map(quote, self.columns))})"
        places = ", ".join(["%s"] * len(self.columns))
        with connection.cursor() as cursor:
            for part in _parts(self.rows):
                if connection.vendor == "postgresql" and len(part) >= _MANY:
                    _copy(cursor, f"COPY {into} FROM STDIN", part)
                else:
                    cursor.executemany(f"INSERT INTO {into} VALUES ({places})", part)


def insertion(model: type[django_models.Model], rows: Iterable[Mapping[str, Any]]) -> Insertion:
    """Prepare rows, given by column name, for insertion; missing columns get their defaults."""
    fields = [each for each in model._meta.concrete_fields if not isinstance(each, django_models.AutoField)]

    def ready(row: Mapping[str, Any]) -> list[Any]:
        return [
            each.get_db_prep_save(row[each.attname] if each.attname in row else each.get_default(), connection)
            for each in fields
        ]

    return Insertion(model._meta.db_table, tuple(str(each.column) for each in fields), map(ready, rows))


def _copy(cursor: Any, statement: str, rows: list[list[Any]]) -> None:
    with connection.wrap_database_errors, cursor.cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _parts(rows: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(rows)
    while part := list(islice(remaining, _ROWS)):
        yield part
