"""Answer a request and record what follows, in one transaction in which nobody else writes.

The four steps of `rules.deciding`, on SQLite and PostgreSQL. What is answered is on disk before the answer is given.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction
from django.utils import timezone

from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords, link_of
from peerfront.web.live.records.inserting import Insertion, insertion
from peerfront.web.live.records.pending import PendingRecords, Writes
from peerfront.web.live.rules.chain import FIRST, KINDS_WITH_ANSWERS, Link, erased, linked
from peerfront.web.live.rules.codes import new_code
from peerfront.web.live.rules.deciding import Accepted, Answer, decide
from peerfront.web.live.rules.effects import Contradiction, effects
from peerfront.web.live.rules.events import AnswersErased
from peerfront.web.live.rules.requests import ImportPeople, Request

TRIES = 5
TRIES_BEFORE = 3
"""How often a large request is decided while others write, before they have to wait for it."""
_WRITERS = 0x70656572  # the lock that writers take on PostgreSQL, one after the other


def answer(
    request: Request,
    now: datetime | None = None,
    *,
    alongside: Callable[[Accepted], None] | None = None,
    draw_code: Callable[[str], str] = new_code,
) -> Answer:
    """Decide on a request and record what follows; the same request key gives the same answer and no second effect.

    `alongside` writes what belongs to an accepted request but is not an event, such as contact details, in the same
    transaction; it is not called again for a repeated request.
    """
    ready = _decided_before(request, now, draw_code) if isinstance(request.wish, ImportPeople) else None
    for attempt in range(1, TRIES + 1):
        try:
            with transaction.atomic():
                _one_writer_at_a_time()
                if ready is None or ready.after != _last_event():
                    ready = _decided(request, now, draw_code)
                if not ready.answer.repeated:
                    _add(ready)
                    if alongside is not None and isinstance(ready.answer, Accepted):
                        alongside(ready.answer)
            return ready.answer
        except (IntegrityError, OperationalError):
            # Somebody was faster, or the database is busy: what is true now decides.
            if attempt == TRIES or connection.in_atomic_block:
                raise
            ready = None
            time.sleep(0.05 * attempt)
    raise AssertionError("not reached")


@dataclass(frozen=True)
class _Decision:
    """An answer with everything that is to be written for it, if nothing was recorded since."""

    after: tuple[int, str]
    """The number and hash of the last event when it was decided."""
    answer: Answer
    events: Insertion
    rows: Writes


def _decided(request: Request, now: datetime | None, draw_code: Callable[[str], str]) -> _Decision:
    after = number, before = _last_event()
    answered = decide(DatabaseRecords(), request, now or timezone.now(), draw_code)
    pending = PendingRecords()
    links = []
    for event in () if answered.repeated else answered.events:
        links.append(linked(number + 1, before, event))
        number, before = links[-1].number, links[-1].hash
        pending.add(effects(pending, event))
    added = insertion(models.Event, map(event_columns, links))
    return _Decision(after, answered, replace(added, rows=list(added.rows)), pending.writes())


def _decided_before(request: Request, now: datetime | None, draw_code: Callable[[str], str]) -> _Decision | None:
    """Decide on a large request while others write, so that they wait only until it is written.

    It holds if the chain still ends with the same event when its turn comes, because the tables follow from the chain.
    None where others recorded something each time; it is then decided when it has its turn.
    """
    if connection.in_atomic_block:
        return None  # nobody else can write anyway
    for _ in range(TRIES_BEFORE):
        try:
            decided = _decided(request, now, draw_code)
        except Contradiction:  # some rows were read before others wrote, some after
            continue
        if decided.after == _last_event():
            return decided
    return None


def _last_event() -> tuple[int, str]:
    return models.Event.objects.order_by("-number").values_list("number", "hash").first() or (0, FIRST)


def _one_writer_at_a_time() -> None:
    """Wait for other writers on PostgreSQL; SQLite's transactions begin with the lock (transaction_mode IMMEDIATE)."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_WRITERS])


def event_columns(link: Link) -> dict[str, Any]:
    """Return the columns of a link of the chain in the table of events."""
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
        "data": _text(link),
    }


def _add(decided: _Decision) -> None:
    """Add events to the chain, and write the rows that follow from them."""
    decided.events.write()
    decided.rows.write()
    for event in decided.answer.events:
        if isinstance(event.fact, AnswersErased):
            _erase_answers(event.fact.person)


def _erase_answers(person: str) -> None:
    """Erase the answers of a person, and what tells them, from all events; their hashes stay."""
    stored_events = models.Event.objects.filter(kind__in=KINDS_WITH_ANSWERS, data__contains=f'"{person}"')
    for stored in list(stored_events):  # read before they are written
        stored.data = _text(erased(link_of(stored), person))
        stored.save(update_fields=["data"])


def _text(link: Link) -> str:
    return json.dumps(link.data, ensure_ascii=False, separators=(",", ":"))
