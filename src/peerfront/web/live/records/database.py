"""The look-ups of the rules (`rules.records.Records`), each one indexed query; and conversion of rows."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import date, datetime, time
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.db import connection, transaction
from django.db import models as django_models
from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from peerfront.foundation.errors import DataFileError
from peerfront.web.live.records import models
from peerfront.web.live.rules import records
from peerfront.web.live.rules.actions import Member, roles_from
from peerfront.web.live.rules.chain import Link, plain_value, value_from
from peerfront.web.live.rules.events import DecidedBy, Event, Fact, PaymentKind
from peerfront.web.live.rules.records import R
from peerfront.web.live.rules.study_settings import Settings


def _answers(data: Any) -> Any:
    return None if data is None else tuple((name, answer) for name, answer in data)


_READ: dict[tuple[type, str], Any] = {
    (records.StudyRow, "settings"): lambda data: value_from(data, Settings),
    (records.PersonRow, "answers"): _answers,
    (records.PlanRow, "status"): records.PlanStatus,
    (records.DecisionRow, "decided_by"): DecidedBy,
    (records.PaymentRow, "kind"): PaymentKind,
}


def _columns(kind: type[records.Row]) -> dict[str, str]:
    """The column of each field of a row; a code is in the column of the coupon, if there is none for codes."""
    columns = {each.name: each.attname for each in models.FOLLOWING[kind]._meta.concrete_fields}
    return {each.name: columns.get(each.name) or columns["coupon"] for each in fields(cast(Any, kind))}


_COLUMNS = {kind: _columns(kind) for kind in models.FOLLOWING}
_READERS = {kind: [(name, read) for (own, name), read in _READ.items() if own is kind] for kind in models.FOLLOWING}


def row_of(kind: type[R], stored: django_models.Model) -> R:
    """Convert a database line to a row of the rules."""
    values = {name: getattr(stored, column) for name, column in _COLUMNS[kind].items()}
    for name, read in _READERS[kind]:
        values[name] = read(values[name])
    return cast(R, cast(Any, kind)(**values))


def columns_of(row: records.Row) -> dict[str, Any]:
    """Convert a row of the rules to the columns of its table."""
    values = {column: getattr(row, name) for name, column in _COLUMNS[type(row)].items()}
    for kind, name in _READ:
        if kind is type(row):
            values[name] = plain_value(values[name])
    return values


def key_columns(kind: type[records.Row], key: records.Key) -> dict[str, Any]:
    """Return the columns of a key; the study, which has none, is in row 1."""
    return {_COLUMNS[kind][name]: value for name, value in zip(kind.KEY, key, strict=True)} or {"id": 1}


def table(kind: type[R]) -> Iterator[R]:
    """Read all rows of a class for comparison; unreadable values are returned as stored, and so differ."""
    columns = list(_COLUMNS[kind])
    readers = [(columns.index(name), read) for name, read in _READERS[kind]]
    stored = models.FOLLOWING[kind]._default_manager.order_by("pk").values_list(*_COLUMNS[kind].values())
    for line in stored.iterator(chunk_size=2_000):
        values = list(line)
        for place, read in readers:
            with suppress(ValueError, TypeError, DataFileError):
                values[place] = read(values[place])
        yield cast(R, cast(Any, kind)(*values))


class DatabaseRecords(records.Records):
    """The records in the database. Use it inside the transaction of `recording.answer`, or only to read."""

    def one(self, kind: type[R], *key: str | int) -> R | None:
        columns = key_columns(kind, key)
        rows = models.FOLLOWING[kind]._default_manager.filter(**columns).order_by()[:1]  # unsorted, which is faster
        return next((row_of(kind, stored) for stored in rows), None)

    def some(self, kind: type[R], keys: Collection[str]) -> Mapping[str, R]:
        names = list(keys)
        rows: dict[str, R] = {}
        for start in range(0, len(names), 500):  # SQLite takes some hundred parameters at a time
            part = models.FOLLOWING[kind]._default_manager.filter(pk__in=names[start : start + 500]).order_by()
            rows |= {str(stored.pk): row_of(kind, stored) for stored in part}
        return rows

    def group(self, kind: type[R], field: str, value: str | int) -> Sequence[R]:
        group = models.FOLLOWING[kind]._default_manager.filter(**{_COLUMNS[kind][field]: value}).order_by()
        return sorted((row_of(kind, stored) for stored in group), key=lambda row: row.key)

    def events_of(self, request_key: str) -> Sequence[Event]:
        stored = models.Event.objects.filter(request_key=request_key).order_by("part")
        return tuple(link_of(event).event for event in stored)


def waiting(settings: Settings) -> QuerySet[models.Person]:
    """Select people who answered, did not withdraw, have no coupons, and did not decline any.

    People for whom a plan had none stay on the list for the next one; whom the coordinator gave none do not. Of
    imported people, select only those who came on or after the last day on which coupons were handed out before the
    import: the others were passed over then, or wanted none.
    """
    of_plans = Q(decided=0, decided_by__in=(DecidedBy.PLAN.value, DecidedBy.ARRIVAL.value))
    final = models.Decision.objects.filter(~of_plans, person=OuterRef("pk"))
    people = models.Person.objects.filter(~Exists(final), withdrawn_at=None, answers__isnull=False, coupons=0)
    if not models.Event.objects.filter(kind="person_imported").exists():
        return people
    last = models.Coupon.objects.filter(imported=True, holder__isnull=False).aggregate(last=Max("issued_at"))["last"]
    if last is None:
        return people
    zone = ZoneInfo(settings.timezone)
    begin = datetime.combine(last.astimezone(zone).date(), time.min, zone)
    return people.filter(Q(imported="") | Q(enrolled_at__gte=begin))


def without_coupons(study: records.StudyRow) -> QuerySet[models.Person]:
    """Select people who wait and have not been told in this round that they get none; never one who has coupons."""
    told = models.Decision.objects.filter(person=OuterRef("pk"), round=study.rounds)
    return waiting(study.settings).exclude(Exists(told))


def open_after(day: date) -> Q:
    """Select coupons that can be used after a day, if they are not used yet: those that plans call open on that day.

    As in `data.study_calendar.open_coupons`: a plan counts what comes of them, and today is seen in its evening.
    """
    return Q(holder__isnull=False, voided_at=None, last_day__gt=day)


def member_from(stored: models.Member) -> Member:
    """Convert a user's line in the table of members to a member of the rules."""
    return Member(stored.user.get_username(), roles_from(stored.roles), stored.site_id)


def one_at_a_time(lock: int) -> None:
    """Wait for other transactions with this lock on PostgreSQL; those of SQLite begin with a lock (mode IMMEDIATE)."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock])


@contextmanager
def one_moment() -> Iterator[None]:
    """Read a snapshot of one moment while others write."""
    if connection.in_atomic_block:
        yield
        return
    # Our SQLite transactions begin with the writers' lock, which a reader does not need.
    mode = getattr(connection, "transaction_mode", None)
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        cast(Any, connection).transaction_mode = None
    try:
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    finally:
        if connection.vendor == "sqlite":
            cast(Any, connection).transaction_mode = mode


@contextmanager
def short_wait(milliseconds: int) -> Iterator[None]:
    """Wait no longer for others who read or write; then there is an error for which `is_busy` holds."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            ask, change = "SHOW lock_timeout", "SET lock_timeout = '{}'"
        else:
            ask, change = "PRAGMA busy_timeout", "PRAGMA busy_timeout = {}"
        cursor.execute(ask)
        (usual,) = cursor.fetchone()
        cursor.execute(change.format(milliseconds))
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(change.format(usual))


_LOCKED = ("55P03", sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_busy(problem: Exception) -> bool:
    """Whether an error of the database says that others are reading or writing, and not that something is wrong."""
    cause = problem.__cause__
    code = getattr(cause, "sqlstate", None) or getattr(cause, "sqlite_errorcode", 0) & 0xFF
    return code in _LOCKED


def link_of(stored: models.Event) -> Link:
    """Convert a line of the table of events to a link of the chain."""
    return Link(stored.number, stored.before, json.loads(stored.data), stored.hash)


def readable_facts(stored: Iterable[models.Event]) -> Iterator[Fact]:
    """What events say; without those that were tampered with so that nobody can read them, as `verify` reports."""
    for each in stored:
        with suppress(DataFileError, ValueError, RecursionError):
            yield link_of(each).event.fact


_MANY = 100  # from this many rows on, COPY is faster


@dataclass(frozen=True)
class Insertion:
    """Rows to insert into a table, in the database's own form."""

    table: str
    columns: tuple[str, ...]
    rows: Sequence[list[Any]]

    def write(self) -> None:
        quote = connection.ops.quote_name
        into = f"{quote(self.table)} ({', '.join(map(quote, self.columns))})"
        places = ", ".join(["%s"] * len(self.columns))
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql" and len(self.rows) >= _MANY:
                with connection.wrap_database_errors, cursor.cursor.copy(f"COPY {into} FROM STDIN") as copy:
                    for row in self.rows:
                        copy.write_row(row)
            else:
                cursor.executemany(f"INSERT INTO {into} VALUES ({places})", self.rows)


def insertion(model: type[django_models.Model], rows: Iterable[Mapping[str, Any]]) -> Insertion:
    """Prepare rows, given by column name, for insertion; missing columns get their defaults."""
    fields = [each for each in model._meta.concrete_fields if not isinstance(each, django_models.AutoField)]

    def ready(row: Mapping[str, Any]) -> list[Any]:
        return [
            each.get_db_prep_save(row[each.attname] if each.attname in row else each.get_default(), connection)
            for each in fields
        ]

    return Insertion(model._meta.db_table, tuple(str(each.column) for each in fields), list(map(ready, rows)))
