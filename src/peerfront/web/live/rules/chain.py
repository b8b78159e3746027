"""The hash chain of events, and how answers are erased from it without breaking it.

Each link holds the hash of its content and of the link before (the idea of `foundation.chained_log`, for rows of a
database). Changing, removing, adding or swapping an event breaks the chain. Somebody who also rewrites everything after
it can forge the chain, so the last hash is also kept elsewhere, such as on paper or in a back-up. `before` is unique,
so two requests that were decided on the same records cannot both be added.

Events stay for ever, but a person may ask that their answers be erased, and with them the texts that reveal answers:
the strata and the reasons of plans and decisions. So the chain does not hash these texts but a commitment to them: the
hash of the texts and of a salt that nobody can guess. As long as the texts are there, the commitment shows that nobody
changed them. When they are erased, the salt is erased too, and the commitment reveals nothing: without the salt not
even a guess can be checked. For the same reason digests of requests leave these texts out (`events.ERASABLE`).
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from peerfront.foundation.chained_log import one_spelling
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, note
from peerfront.web.live.rules.events import (
    AnswersCorrected,
    AnswersErased,
    AnswersRecorded,
    CouponsIssued,
    Event,
    Fact,
    PersonImported,
    PlannedCoupons,
    PlanProposed,
)
from peerfront.web.live.rules.stored_events import KINDS, event_data, event_from

Erasable = AnswersRecorded | AnswersCorrected | PersonImported | CouponsIssued | PlannedCoupons
"""What holds texts of one person that can be erased: a fact, or a line of a plan."""
T = TypeVar("T", AnswersRecorded, AnswersCorrected, PersonImported, CouponsIssued, PlannedCoupons)

_ANSWERS: dict[str, Any] = {"answers": None}
_DECISION: dict[str, Any] = {"stratum": "", "reason": ""}
ERASED: dict[type, dict[str, Any]] = {
    AnswersRecorded: _ANSWERS,
    AnswersCorrected: _ANSWERS,
    PersonImported: _ANSWERS,
    CouponsIssued: _DECISION,
    PlanProposed: _DECISION,
}
"""By kind of fact: the texts that can be erased, and what stands there afterwards; those of a plan are in its lines."""


def committed(part: T, salt: str) -> T:
    """Add a salt, and the commitment to the texts that can be erased."""
    return replace(part, salt=salt, commitment=commitment(salt, **texts(part)))


def commitment(salt: str, **texts: Any) -> str:
    """Hash a salt and texts; the hash stands for the texts in the chain."""
    return hashlib.sha256(one_spelling({"salt": salt, **texts})).hexdigest()


def texts(part: Erasable) -> dict[str, Any]:
    """Return the texts that can be erased, by name."""
    return {name: getattr(part, name) for name in _once_erased(part)}


def erasable_parts(fact: Fact) -> tuple[Erasable, ...]:
    """List the parts of a fact that have a commitment and texts that can be erased."""
    if isinstance(fact, PlanProposed):
        return tuple(line for line in fact.lines if line.commitment)
    if isinstance(fact, Erasable) and fact.commitment:
        return (fact,)
    return ()


def fault_of_texts(fact: Fact) -> Message | None:
    """Say what is wrong if texts of a fact were changed; None if they are as recorded, or erased."""
    for part in erasable_parts(fact):
        stored = texts(part)
        names = list(stored)
        if not part.salt and stored != _once_erased(part):
            return note("live_events.no_salt", names=names)
        if part.salt and part.commitment != commitment(part.salt, **stored):
            return note("live_events.wrong_commitment", names=names)
    return None


def erased_data(data: Mapping[str, Any], person: str) -> dict[str, Any]:
    """Erase the texts that reveal a person's answers from an event as plain data; everything hashed stays."""
    fact = data["fact"]
    kind = KINDS[data["kind"]]
    if kind is PlanProposed:
        fact = {**fact, "lines": [_erased(line, _DECISION, person) for line in fact["lines"]]}
    elif kind in ERASED:
        fact = _erased(fact, ERASED[kind], person)
    return {**data, "fact": fact}


def hashed_data(data: Any) -> Any:
    """Leave the texts behind commitments out of an event as plain data; return data that are no event unchanged."""
    if not isinstance(data, dict) or not isinstance(fact := data.get("fact"), dict):
        return data
    kind = KINDS.get(data["kind"], object) if isinstance(data.get("kind"), str) else object
    if kind is PlanProposed and isinstance(fact.get("lines"), list):
        return {**data, "fact": {**fact, "lines": [_hashed(line, _DECISION) for line in fact["lines"]]}}
    return {**data, "fact": _hashed(fact, ERASED[kind])} if kind in ERASED else data


def _once_erased(part: Erasable) -> dict[str, Any]:
    return _DECISION if isinstance(part, PlannedCoupons) else ERASED[type(part)]


def _erased(part: Mapping[str, Any], erased: Mapping[str, Any], person: str) -> Mapping[str, Any]:
    return {**part, **erased, "salt": ""} if part["person"] == person and part.get("commitment") else part


def _hashed(part: Any, erased: Mapping[str, Any]) -> Any:
    if not isinstance(part, dict) or not part.get("commitment"):
        return part
    return {name: value for name, value in part.items() if name not in erased and name != "salt"}


FIRST = "0" * 64
"""What stands for the hash before the first event."""
KINDS_WITH_ANSWERS = frozenset(name for name, kind in KINDS.items() if kind in ERASED)
"""Stored kinds of events that hold answers, or texts that reveal them."""


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
        """The hash computed from the content: equal to the link's, unless the content was changed."""
        return _hash(self.number, self.before, self.data)


def linked(number: int, before: str, event: Event) -> Link:
    """Make the link of an event that follows another."""
    data = event_data(event)
    return Link(number, before, data, _hash(number, before, data))


def checked(links: Iterable[Link]) -> list[Event]:
    """Check a whole chain and return its events; an error says where it is broken."""
    before = FIRST
    events: list[Event] = []
    for number, link in enumerate(links, start=1):
        why: Message | None = None
        if link.number != number or link.before != before:
            why = note("live_events.does_not_follow", number=number - 1)
        elif link.hash != link.content_hash:
            why = note("live_events.wrong_hash")
        else:
            events.append(link.event)
            why = fault_of_texts(events[-1].fact)
        if why is not None:
            raise DataFileError("live_events.changed", number=number, why=why)
        before = link.hash
    _check_erased(events)
    return events


def erased(link: Link, person: str) -> Link:
    """Erase the texts of a link that reveal a person's answers; its hash stays, and other links are returned unchanged.

    Whoever records `AnswersErased` replaces all links of `KINDS_WITH_ANSWERS` by this, in the same transaction.
    """
    if link.data["kind"] not in KINDS_WITH_ANSWERS:
        return link
    return replace(link, data=erased_data(link.data, person))


def _check_erased(events: list[Event]) -> None:
    """Refuse texts that were erased without an event about it, or that are still there despite one."""
    people = {event.fact.person for event in events if isinstance(event.fact, AnswersErased)}
    for number, event in enumerate(events, start=1):
        for part in erasable_parts(event.fact):
            names = list(texts(part))
            is_erased = part.person in people
            if is_erased and part.salt:
                raise DataFileError("live_events.not_erased", number=number, names=names, person=part.person)
            if not is_erased and not part.salt:
                raise DataFileError("live_events.lost", number=number, names=names, person=part.person)


def _hash(number: int, before: str, data: dict[str, Any]) -> str:
    event = hashed_data(data)
    return hashlib.sha256(one_spelling({"number": number, "before": before, "event": event})).hexdigest()
