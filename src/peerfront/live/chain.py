"""The hash chain of events: each link holds the hash of its content and of the link before.

The idea of `foundation.chained_log`, for rows of a database. Whoever changes, removes, adds or swaps an event breaks
the chain. Who rewrites everything after it can forge it, so the last hash is also told elsewhere, such as on paper or
in a back-up. `before` is unique, so two requests that were decided on the same records cannot both be added.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from peerfront.foundation.chained_log import one_spelling
from peerfront.foundation.errors import DataFileError
from peerfront.live.events import Event
from peerfront.live.stored_events import event_data, event_from

FIRST = "0" * 64
"""What stands for the hash before the first event."""


@dataclass(frozen=True)
class Link:
    """An event as it is stored."""

    number: int
    before: str
    data: dict[str, Any]
    hash: str

    @property
    def event(self) -> Event:
        return event_from(self.data)


def linked(number: int, before: str, event: Event) -> Link:
    """Make the link of an event that follows another."""
    data = event_data(event)
    return Link(number, before, data, _hash(number, before, data))


def checked(links: Iterable[Link]) -> list[Event]:
    """The events of a whole chain from its first link; an error says where it is broken."""
    before, events = FIRST, []
    for number, link in enumerate(links, start=1):
        why = ""
        if link.number != number or link.before != before:
            why = f"it does not follow event {number - 1}: an event was removed, added or moved"
        elif link.hash != _hash(number, before, link.data):
            why = "its content does not give its hash"
        if why:
            raise DataFileError(f"Event {number} was changed after it was recorded ({why}). Restore a back-up.")
        events.append(link.event)
        before = link.hash
    return events


def _hash(number: int, before: str, data: dict[str, Any]) -> str:
    return hashlib.sha256(one_spelling({"number": number, "before": before, "event": data})).hexdigest()
