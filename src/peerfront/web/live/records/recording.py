"""Answer a request and record its events, in one transaction in which nobody else writes.

These are the four steps of `rules.deciding`, on SQLite and PostgreSQL. Events are on disk before the answer is given.
Each row is read once. The rows of a request are written table by table, not one by one: an import writes some 30,000,
and would otherwise keep everybody else waiting for a minute.
"""

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from django.conf import settings
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Exists, Q, Subquery
from django.utils import timezone

from peerfront.web.live.folder import Keys
from peerfront.web.live.records import models
from peerfront.web.live.records.database import (
    DatabaseRecords,
    Insertion,
    columns_of,
    insertion,
    key_columns,
    link_of,
    one_at_a_time,
    readable_facts,
    row_of,
)
from peerfront.web.live.records.leftovers import leave_mark
from peerfront.web.live.rules import records
from peerfront.web.live.rules.chain import ERASABLE_KINDS, FIRST, Link, erased, is_in_clear, kind_name, linked
from peerfront.web.live.rules.codes import new_code
from peerfront.web.live.rules.deciding import (
    Accepted,
    Answer,
    Refused,
    clock_behind,
    clock_doubt,
    decide,
    is_request_key,
)
from peerfront.web.live.rules.effects import Contradiction, Effects, effects
from peerfront.web.live.rules.events import AnswersErased, Event, PlanProposed
from peerfront.web.live.rules.records import R
from peerfront.web.live.rules.refusals import Refusal
from peerfront.web.live.rules.requests import TIMELESS, ImportPeople, Request
from peerfront.web.live.rules.situation import is_identifier

TRIES = 5
TRIES_BEFORE = 3
"""How often a large request is decided while others write, before they have to wait for it."""
WRITERS = 0x70656572  # number of the PostgreSQL lock of writers
Rows = dict[type, dict[records.Key, Any]]


def answer(
    request: Request,
    now: datetime | None = None,
    *,
    alongside: Callable[[Accepted], None] | None = None,
    draw_code: Callable[[str], str] = new_code,
) -> Answer:
    """Decide on a request and record its events; the same request key gives the same answer and no second effect.

    `alongside` writes what belongs to an accepted request but is not an event, such as contact details, in the same
    transaction; it is not called again for a repeated request.
    """
    ready = _decided_before(request, now, draw_code) if isinstance(request.wish, ImportPeople) else None
    for attempt in range(1, TRIES + 1):
        try:
            with transaction.atomic():
                one_at_a_time(WRITERS)
                if ready is None or ready.after != last_event():
                    ready = _decided(request, now, draw_code)
                if not ready.answer.repeated:
                    _add(ready)
                    if alongside is not None and isinstance(ready.answer, Accepted):
                        alongside(ready.answer)
            return ready.answer
        except (IntegrityError, OperationalError):
            # Another request was faster, or the database is busy: decide again by the present records.
            if attempt == TRIES or connection.in_atomic_block:
                raise
            ready = None
            time.sleep(0.05 * attempt)
    raise AssertionError("not reached")


_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_THIS_PROCESS = uuid4().hex
_COUNTED = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
"""The seconds since the computer was started, which nobody can set; they go on while it sleeps."""
CORRECTION = timedelta(minutes=1)
"""Corrections of the clock by less, as a time server makes them, need not be written down."""


def this_boot() -> tuple[str, timedelta]:
    """Which start of the computer this is, and how long ago it was; elsewhere than on Linux, each process counts."""
    try:
        boot = _BOOT_ID.read_text().strip()
    except OSError:
        boot = _THIS_PROCESS
    return boot, timedelta(seconds=time.monotonic() if _COUNTED is None else time.clock_gettime(_COUNTED))


class ServerClock:
    """The server's clock at a moment, and what it should say; a time that is given (tests, imports) is believed."""

    def __init__(self, given: datetime | None = None) -> None:
        self.boot, since = ("", timedelta()) if given is not None else this_boot()
        self.now = given or timezone.now()
        self.booted_at = self.now - since

    def expected(self, stored: models.Study) -> datetime | None:
        """What the clock should say, if this start of the computer saw a record before."""
        if stored.boot != self.boot or stored.booted_at is None:
            return None
        return self.now + (stored.booted_at - self.booted_at)

    def doubt(self, stored: models.Study | None) -> Refusal | None:
        """Why the clock may be wrong."""
        if not self.boot or stored is None:
            return None
        return clock_doubt(self.now, stored.last_time, self.expected(stored))

    def to_keep(self, stored: models.Study | None) -> dict[str, Any]:
        """When the computer was started by this clock, by which something is recorded; empty if that is written."""
        expected = None if stored is None else self.expected(stored)
        same = not self.boot or (expected is not None and abs(self.now - expected) < CORRECTION)
        return {} if same else {"boot": self.boot, "booted_at": self.booted_at}


@dataclass(frozen=True)
class ClockState:
    """What the server's clock says, what it should say, and why it is not believed, if it is not."""

    now: datetime
    last_time: datetime
    expected: datetime | None
    fault: Refusal | None


def clock_state() -> ClockState:
    """The state of the server's clock in a study that has begun."""
    stored, clock = models.Study.objects.get(), ServerClock()
    fault = clock_behind(clock.now, stored.last_time) or clock.doubt(stored)
    return ClockState(clock.now, stored.last_time, clock.expected(stored), fault)


@dataclass(frozen=True)
class Writes:
    """Rows to change and to insert, in the transaction in which their events are added."""

    changed: tuple[tuple[records.Row, dict[str, Any]], ...]
    """Rows with their new values in some columns."""
    new: tuple[Insertion, ...]

    def write(self) -> None:
        assert connection.in_atomic_block, "rows are written with their events or not at all"
        for row, columns in self.changed:
            stored = models.FOLLOWING[type(row)]._default_manager.filter(**key_columns(type(row), row.key))
            if stored.update(**columns) != 1:
                raise Contradiction(f"There is no {type(row).__name__} {row.key} to change.")
        for insert in self.new:
            insert.write()


class RequestRecords(DatabaseRecords):
    """The records of one request: each row is read once, changes are written at the end."""

    def __init__(self, request: Request) -> None:
        self._read: Rows = {}
        self._new: Rows = {}
        self._changed: Rows = {}
        self._events: dict[str, Sequence[Event]] = {}
        self.last_event = self._read_study(request)

    def _read_study(self, request: Request) -> tuple[int, str]:
        """Read in one statement what every request needs: the study, the site, the last event, and earlier answers."""
        newest = models.Event.objects.order_by("-number")
        site = request.site if is_identifier(request.site or "") else None  # invalid names are not looked up
        key = request.key if is_request_key(request.key) else ""
        stored = (
            models.Study.objects.filter(pk=1)
            .annotate(
                number=Subquery(newest.values("number")[:1]),
                hash=Subquery(newest.values("hash")[:1]),
                repeated=Exists(models.Event.objects.filter(request_key=key)),
                site_name=Subquery(models.Site.objects.filter(pk=site or "").order_by().values("name")[:1]),
            )
            .first()
        )
        self.study_stored = stored
        if stored is None:
            return last_event()  # before the study begins
        self._read[records.StudyRow] = {(): row_of(records.StudyRow, stored)}
        if site is not None:
            row = None if stored.site_name is None else records.SiteRow(site, stored.site_name)
            self._read[records.SiteRow] = {(site,): row}
        if not stored.repeated:
            self._events[request.key] = ()
        return (stored.number, stored.hash) if stored.number is not None else (0, FIRST)

    def add(self, change: Effects) -> None:
        """Apply an event; raise `Contradiction` if it creates a row that an earlier event has created."""
        for row in change.new:
            key, rows = row.key, self._new.setdefault(type(row), {})
            if key in rows:
                raise Contradiction(f"There is {type(row).__name__} {key} already.")
            rows[key] = row
        for row in change.changed:
            key = row.key
            is_new = key in self._new.get(type(row), {})
            (self._new if is_new else self._changed).setdefault(type(row), {})[key] = row

    def writes(self) -> Writes:
        """Return all pending writes, and clear them."""
        new, changed = self._new, self._changed
        self._new, self._changed = {}, {}
        insertions = []
        for kind, model in models.FOLLOWING.items():
            if rows := new.get(kind):
                self._read.pop(kind, None)  # forget earlier look-ups that found nothing
                insertions.append(insertion(model, map(columns_of, rows.values())))
        changes = []
        for kind, rows in changed.items():
            before = self._read.pop(kind, {})
            for key, row in rows.items():
                columns = columns_of(row)
                if (earlier := before.get(key)) is not None:
                    same = columns_of(earlier)
                    columns = {name: value for name, value in columns.items() if value != same[name]}
                if columns:
                    changes.append((row, columns))
        return Writes(tuple(changes), tuple(insertions))

    def _write_pending(self) -> None:
        """Write pending rows before look-ups of several rows, which query the database."""
        if self._new or self._changed:
            self.writes().write()

    def one(self, kind: type[R], *key: str | int) -> R | None:
        if kind is records.CouponRow:
            self._read_coupon(str(key[0]))
        for rows in (self._new, self._changed):
            if (row := rows.get(kind, {}).get(key)) is not None:
                return cast(R, row)
        read = self._read.setdefault(kind, {})
        if key not in read:
            read[key] = super().one(kind, *key)
        return cast(R | None, read[key])

    def _read_coupon(self, code: str) -> None:
        """Read a coupon together with its redemption, which is always needed next."""
        if any((code,) in rows.get(records.CouponRow, {}) for rows in (self._new, self._changed, self._read)):
            return
        stored = models.Coupon.objects.filter(pk=code).select_related("redemption").order_by().first()
        used = None if stored is None else getattr(stored, "redemption", None)
        coupon = None if stored is None else row_of(records.CouponRow, stored)
        self._read.setdefault(records.CouponRow, {})[code,] = coupon
        redemption = None if used is None else row_of(records.RedemptionRow, used)
        self._read.setdefault(records.RedemptionRow, {}).setdefault((code,), redemption)

    def some(self, kind: type[R], keys: Collection[str]) -> Mapping[str, R]:
        self._write_pending()
        return super().some(kind, keys)

    def group(self, kind: type[R], field: str, value: str | int) -> Sequence[R]:
        self._write_pending()
        return super().group(kind, field, value)

    def events_of(self, request_key: str) -> Sequence[Event]:
        return self._events[request_key] if request_key in self._events else super().events_of(request_key)


@dataclass(frozen=True)
class _Decision:
    """An answer with its writes, valid if nothing was recorded since."""

    after: tuple[int, str]
    """Number and hash of the last event at the time of the decision."""
    answer: Answer
    events: Insertion
    rows: Writes
    kept: dict[str, Any]
    """Columns of the study about the clock, if they change."""


def _decided(request: Request, now: datetime | None, draw_code: Callable[[str], str]) -> _Decision:
    pending, clock = RequestRecords(request), ServerClock(now)
    after, stored = pending.last_event, pending.study_stored
    number, before = after
    answered = decide(pending, request, clock.now, draw_code, clock.doubt(stored))
    links = []
    for event in () if answered.repeated else answered.events:
        links.append(linked(number + 1, before, event))
        number, before = links[-1].number, links[-1].hash
        pending.add(effects(pending, event))
    notes = isinstance(answered, Refused) or isinstance(request.wish, TIMELESS)
    kept = {} if notes else clock.to_keep(stored)
    return _Decision(after, answered, insertion(models.Event, map(event_row, links)), pending.writes(), kept)


def _decided_before(request: Request, now: datetime | None, draw_code: Callable[[str], str]) -> _Decision | None:
    """Decide on a large request without the lock, so that others wait only while it is written.

    The decision is valid if the chain still ends with the same event under the lock, because the tables follow from the
    chain. None if others recorded something each time; the request is then decided under the lock.
    """
    if connection.in_atomic_block:
        return None  # nobody else can write in the meantime
    for _ in range(TRIES_BEFORE):
        try:
            decided = _decided(request, now, draw_code)
        except Contradiction:  # some rows were read before others wrote, some after
            continue
        if decided.after == last_event():
            return decided
    return None


def last_event() -> tuple[int, str]:
    """Number and hash of the last event."""
    return models.Event.objects.order_by("-number").values_list("number", "hash").first() or (0, FIRST)


def event_row(link: Link) -> dict[str, Any]:
    """Return a link of the chain as a row of the table of events."""
    return event_columns(link) | {"data": _text(link), "signature": signature(link.number, link.hash, settings.KEYS)}


def event_columns(link: Link) -> dict[str, Any]:
    """Return the columns that serve searches in the table of events: all but the event itself."""
    data, stamp = link.data, link.data["stamp"]
    return {
        "number": link.number,
        "before": link.before,
        "hash": link.hash,
        "request_key": stamp["request_key"],
        "part": data["part"],
        "kind": data["kind"],
        "actor": stamp["actor"],
        "site": stamp["site"],
        "at": datetime.fromisoformat(stamp["server_time"]),
    }


def signature(number: int, digest: str, keys: Keys) -> str:
    """What shows that peerfront added an event: who can only write to the database cannot hash the chain again."""
    return keys.signature("event", f"{number} {digest}")


def _add(decided: _Decision) -> None:
    """Add events to the chain, and write the rows that follow from them."""
    decided.events.write()
    decided.rows.write()
    if decided.kept:
        models.Study.objects.filter(pk=1).update(**decided.kept)
    for event in decided.answer.events:
        if isinstance(event.fact, AnswersErased):
            _erase(event.fact, before=decided.after[0] + 1)


def _erase(erasure: AnswersErased, before: int) -> None:
    """Erase what was asked for from all events before a number; their hashes stay."""
    stored_events = models.Event.objects.filter(
        kind__in=ERASABLE_KINDS, number__lt=before, data__contains=f'"{erasure.person}"'
    )
    for stored in list(stored_events):  # read before they are written
        stored.data = _text(erased(link_of(stored), erasure))
        stored.save(update_fields=["data"])
    imports = models.PlanningJob.objects.filter(kind=models.JobKind.IMPORT, ended_at__isnull=False)
    imports.update(message="")  # which may quote what the file says about the person
    leave_mark(
        models.Event, models.Person, models.PlanLine, models.Decision, models.Override, models.Coupon,
        models.PlanningJob,
    )  # fmt: skip


def recorded_in_clear(person: str) -> int:
    """Count events about a person whose hashes cover network size or words of staff, as those until 0.3 do."""
    codes = list(models.Coupon.objects.filter(holder=person).values_list("code", flat=True))
    about = reduce(or_, (Q(data__contains=f'"{name}"') for name in (person, *codes)))
    kinds = ERASABLE_KINDS - {kind_name(PlanProposed)}  # which always had a commitment in each line
    found = models.Event.objects.filter(about, kind__in=kinds)
    return sum(is_in_clear(fact, person, codes) for fact in readable_facts(found.iterator()))


def _text(link: Link) -> str:
    return json.dumps(link.data, ensure_ascii=False, separators=(",", ":"))
