"""The hash chain of events: each link holds the hash of its content and of the link before.

Answers, and texts that tell them, can be erased (`erasing`): the hash of an event covers a commitment to them in their
place.

The idea of `foundation.chained_log`, for rows of a database. Whoever changes, removes, adds or swaps an event breaks
the chain. Who rewrites everything after it can forge it, so the last hash is also told elsewhere, such as on paper or
in a back-up. `before` is unique, so two requests that were decided on the same records cannot both be added.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from peerfront.foundation.chained_log import one_spelling
from peerfront.foundation.errors import DataFileError
from peerfront.web.live.rules.erasing import ERASED, erased_data, fault_of_texts, hashed_data, texts, told_by
from peerfront.web.live.rules.events import AnswersErased, Event
from peerfront.web.live.rules.stored_events import KINDS, event_data, event_from

FIRST = "0" * 64
"""What stands for the hash before the first event."""
KINDS_WITH_ANSWERS = frozenset(name for name, kind in KINDS.items() if kind in ERASED)
"""Kinds of events that hold answers, or texts that tell them, as they are stored."""


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

    @property
    def content_hash(self) -> str:
        """The hash that the content gives: that of the link, unless it was changed."""
        return _hash(self.number, self.before, self.data)


def linked(number: int, before: str, event: Event) -> Link:
    """Make the link of an event that follows another."""
    data = event_data(event)
    return Link(number, before, data, _hash(number, before, data))


def checked(links: Iterable[Link]) -> list[Event]:
    """Return the events of a whole chain from its first link; an error says where it is broken."""
    before = FIRST
    events: list[Event] = []
    for number, link in enumerate(links, start=1):
        why = ""
        if link.number != number or link.before != before:
            why = f"it does not follow event {number - 1}: an event was removed, added or moved"
        elif link.hash != link.content_hash:
            why = "its content does not give its hash"
        else:
            events.append(link.event)
            why = fault_of_texts(events[-1].fact) or ""
        if why:
            raise DataFileError(f"Event {number} was changed after it was recorded ({why}). Restore a back-up.")
        before = link.hash
    _check_erased(events)
    return events


def erased(link: Link, person: str) -> Link:
    """Erase what a link tells of a person's answers; its hash stays, and other links stay as they are.

    Whoever records `AnswersErased` replaces all links of `KINDS_WITH_ANSWERS` by this, in the same transaction.
    """
    if link.data["kind"] not in KINDS_WITH_ANSWERS:
        return link
    return replace(link, data=erased_data(link.data, person))


def _check_erased(events: list[Event]) -> None:
    """Refuse texts that are erased without an event that says so, or still there in spite of it."""
    people = {event.fact.person for event in events if isinstance(event.fact, AnswersErased)}
    for number, event in enumerate(events, start=1):
        for told in told_by(event.fact):
            names = " and ".join(texts(told))
            said = told.person in people
            if said and told.salt:
                raise DataFileError(
                    f"Event {number} still has {names} of {told.person}, which were to be erased. Erase them."
                )
            if not said and not told.salt:
                raise DataFileError(
                    f"Event {number} has lost the {names} of {told.person}, and no event says why. Restore a back-up."
                )


def _hash(number: int, before: str, data: dict[str, Any]) -> str:
    event = hashed_data(data)
    return hashlib.sha256(one_spelling({"number": number, "before": before, "event": event})).hexdigest()
