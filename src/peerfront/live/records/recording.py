"""Answer a request and record what follows, in one transaction in which nobody else writes.

The four steps of `rules.deciding`, on SQLite and PostgreSQL. What is answered is on disk before the answer is given.
"""

import json
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction
from django.utils import timezone

from peerfront.live.records import models
from peerfront.live.records.database import DatabaseRecords, columns_of, key_of, link_of
from peerfront.live.rules.chain import FIRST, KINDS_WITH_ANSWERS, Link, erased, linked
from peerfront.live.rules.codes import new_code
from peerfront.live.rules.deciding import Accepted, Answer, decide
from peerfront.live.rules.effects import Contradiction, effects
from peerfront.live.rules.events import AnswersErased, Event
from peerfront.live.rules.requests import Request

TRIES = 5
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
    for attempt in range(1, TRIES + 1):
        try:
            with transaction.atomic():
                _one_writer_at_a_time()
                answered = decide(DatabaseRecords(), request, now or timezone.now(), draw_code)
                if not answered.repeated:
                    _add(answered.events)
                    if alongside is not None and isinstance(answered, Accepted):
                        alongside(answered)
            return answered
        except (IntegrityError, OperationalError):
            # Somebody was faster, or the database is busy: what is true now decides.
            if attempt == TRIES or connection.in_atomic_block:
                raise
            time.sleep(0.05 * attempt)
    raise AssertionError("not reached")


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


def _add(events: tuple[Event, ...]) -> None:
    """Add events to the chain, and write the rows that follow from each."""
    last = models.Event.objects.order_by("-number").values_list("number", "hash").first()
    number, before = last or (0, FIRST)
    records = DatabaseRecords()
    for event in events:
        link = linked(number + 1, before, event)
        models.Event(**event_columns(link)).save(force_insert=True)
        number, before = link.number, link.hash
        change = effects(records, event)
        for row in change.changed:
            if models.FOLLOWING[type(row)]._default_manager.filter(**key_of(row)).update(**columns_of(row)) != 1:
                raise Contradiction(f"There is no {type(row).__name__} {row.key} to change.")
        for kind in dict.fromkeys(type(row) for row in change.made):
            model = models.FOLLOWING[kind]
            rows = [model(**columns_of(row)) for row in change.made if type(row) is kind]
            model._default_manager.bulk_create(rows, batch_size=500)
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
