"""Events as they are stored: as plain data, in a hash chain, from which answers can be erased without breaking it.

The names of facts (`KINDS`) and of their fields stand in every study's records: never rename one, add new ones; mark a
new field of a known class as `later`.

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

import dataclasses
import hashlib
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast

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
    Stamp,
)

KINDS: dict[str, type] = {re.sub("(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in typing.get_args(Fact)}
"""Facts by the names under which they are stored: `CouponScanned` is a coupon_scanned."""
T = TypeVar("T")
_NAMES = {kind: name for name, kind in KINDS.items()}


def kind_of(fact: Fact) -> str:
    """Return the name under which a fact is stored."""
    return kind_name(type(fact))


def kind_name(kind: type[Fact]) -> str:
    """Return the name under which facts of a class are stored."""
    return _NAMES[kind]


def event_data(event: Event) -> dict[str, Any]:
    """Write an event as plain data: its stamp, its part, the kind of its fact and the fact."""
    return {
        "stamp": plain_value(event.stamp),
        "part": event.part,
        "kind": kind_of(event.fact),
        "fact": plain_value(event.fact),
    }


def event_from(data: Mapping[str, Any]) -> Event:
    """Read an event from plain data; refuse data that no event gives."""
    if not isinstance(data, Mapping) or data.keys() != {"stamp", "part", "kind", "fact"}:
        raise DataFileError("live_events.no_event", data=_cut(data))
    kind = KINDS.get(data["kind"]) if isinstance(data["kind"], str) else None
    if kind is None:
        raise DataFileError("live_events.no_such_kind", kind=_cut(data["kind"]))
    return Event(
        cast(Stamp, _value(data["stamp"], Stamp, "stamp")),
        cast(int, _value(data["part"], int, "part")),
        cast(Fact, _value(data["fact"], kind, "fact")),
    )


def plain_value(value: Any) -> Any:
    """Write a value of our dataclasses as plain data; times are in UTC, so that each has one spelling."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain_value(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [plain_value(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        try:
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        except OverflowError:  # a time that UTC cannot express is refused later, but its request still needs a digest
            return value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    assert value is None or isinstance(value, str | int | float), f"{value!r} cannot be stored"
    return value


def digest_data(value: Any) -> Any:
    """Write a request as plain data, without the server's own parts and without texts that can be erased."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        included = (each for each in dataclasses.fields(value) if not each.metadata.get("not_in_digest"))
        return {each.name: digest_data(getattr(value, each.name)) for each in included}
    return [digest_data(each) for each in value] if isinstance(value, tuple) else plain_value(value)


def value_from(data: Any, kind: type[T]) -> T:
    """Read a value of one of our dataclasses from plain data; refuse data that none gives."""
    return cast(T, _value(data, kind, kind.__name__))


@dataclass(frozen=True)
class _Form:
    """How a type is read from plain data."""

    kind: Any
    optional: bool = False
    items: "tuple[_Form, ...]" = ()
    """Of a tuple: the form of each item, or of all."""
    any_length: bool = False
    fields: "Mapping[str, _Form] | None" = None
    """Of a dataclass."""
    later: frozenset[str] = frozenset()
    """Fields that records of earlier versions do not have (`later` in their metadata): they get their defaults."""


@cache
def _form(kind: Any) -> _Form:
    """The form of a type; cached, because a chain has many events."""
    parts = typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        return replace(_form(next(each for each in parts if each is not types.NoneType)), optional=True)
    if typing.get_origin(kind) is tuple:
        items = tuple(_form(each) for each in parts if each is not Ellipsis)
        return _Form(tuple, items=items, any_length=parts[-1] is Ellipsis)
    if dataclasses.is_dataclass(kind):
        hints, own = typing.get_type_hints(kind), dataclasses.fields(kind)
        later = frozenset(each.name for each in own if each.metadata.get("later"))
        return _Form(kind, fields={each.name: _form(hints[each.name]) for each in own}, later=later)
    return _Form(kind)


class _Misfit(Exception):
    """Data do not fit their form."""


def _value(data: Any, kind: Any, place: str) -> Any:
    """Read a value from plain data by the quick reader; by `_read`, which says what is wrong, if they do not fit."""
    try:
        return _quick_reader(kind)(data)
    except (_Misfit, ValueError):
        return _read(data, _form(kind), place)


@cache
def _quick_reader(kind: Any) -> Callable[[Any], Any]:
    """The reader of a type: what `_read` does, put together once, because a chain has many events."""
    return _quick(_form(kind))


def _quick(form: _Form) -> Callable[[Any], Any]:
    read = _quick_required(form)
    return (lambda data: None if data is None else read(data)) if form.optional else read


def _quick_required(form: _Form) -> Callable[[Any], Any]:
    kind = form.kind
    if form.fields is not None:
        names, later = form.fields.keys(), form.later
        readers = {name: _quick(each) for name, each in form.fields.items()}

        def read_fields(data: Any) -> Any:
            if type(data) is not dict or (data.keys() != names and data.keys() | later != names):
                raise _Misfit
            return kind(**{name: readers[name](value) for name, value in data.items()})

        return read_fields
    if kind is tuple:
        items = [_quick(each) for each in form.items]

        def read_items(data: Any) -> Any:
            if type(data) is not list or not (form.any_length or len(data) == len(items)):
                raise _Misfit
            return tuple([(items[0] if form.any_length else items[n])(each) for n, each in enumerate(data)])

        return read_items
    members = {each.value: each for each in kind} if issubclass(kind, Enum) else {}

    def read_plain(data: Any) -> Any:
        if type(data) is kind:
            return data
        if kind is float and type(data) is int:
            return float(data)
        if type(data) is str:
            if data in members:
                return members[data]
            if issubclass(kind, date):
                value = kind.fromisoformat(data)
                if kind is not datetime or value.tzinfo is not None:
                    return value
        raise _Misfit

    return read_plain


def _read(data: Any, form: _Form, place: str) -> Any:
    """Read a value from plain data; refuse data that do not fit its form, and say where they are."""
    kind = form.kind
    if data is None and form.optional:
        return None
    if form.fields is not None:
        if isinstance(data, Mapping) and data.keys() | form.later == form.fields.keys():
            return kind(**{name: _read(data[name], form.fields[name], f"{place}.{name}") for name in data})
    elif kind is tuple:
        if isinstance(data, list) and (form.any_length or len(data) == len(form.items)):
            items = form.items * len(data) if form.any_length else form.items
            return tuple(_read(each, items[index], f"{place}[{index}]") for index, each in enumerate(data))
    elif type(data) is kind or (kind is float and type(data) is int):
        return kind(data)
    elif isinstance(data, str) and issubclass(kind, Enum | date):
        with suppress(ValueError):
            value = kind(data) if issubclass(kind, Enum) else kind.fromisoformat(data)
            if kind is not datetime or value.tzinfo is not None:
                return value
    raise DataFileError("live_events.bad_value", place=place, data=_cut(data))


def _cut(data: Any) -> str:
    return repr(data)[:100]


E = TypeVar("E", AnswersRecorded, AnswersCorrected, PersonImported, CouponsIssued, PlannedCoupons)
Erasable = AnswersRecorded | AnswersCorrected | PersonImported | CouponsIssued | PlannedCoupons
"""What holds texts of one person that can be erased: a fact, or a line of a plan."""
_ANSWERS: dict[str, Any] = {"answers": None}
_DECISION: dict[str, Any] = {"stratum": "", "reason": ""}
_ERASED: dict[type, dict[str, Any]] = {
    AnswersRecorded: _ANSWERS,
    AnswersCorrected: _ANSWERS,
    PersonImported: _ANSWERS,
    CouponsIssued: _DECISION,
    PlannedCoupons: _DECISION,
}
"""The texts that can be erased, and what stands there afterwards."""
KINDS_WITH_ANSWERS = frozenset(name for name, kind in KINDS.items() if kind in _ERASED or kind is PlanProposed)
"""Stored kinds of events that hold answers, or texts that reveal them; those of a plan are in its lines."""


def committed(part: E, salt: str) -> E:
    """Add a salt, and the commitment to the texts that can be erased."""
    return replace(part, salt=salt, commitment=commitment(salt, **texts(part)))


def commitment(salt: str, **texts: Any) -> str:
    """Hash a salt and texts; the hash stands for the texts in the chain."""
    return hashlib.sha256(one_spelling({"salt": salt, **texts})).hexdigest()


def texts(part: Erasable) -> dict[str, Any]:
    """Return the texts that can be erased, by name."""
    return {name: getattr(part, name) for name in _ERASED[type(part)]}


def erasable_parts(fact: Fact) -> tuple[Erasable, ...]:
    """List the parts of a fact that have a commitment and texts that can be erased."""
    parts = fact.lines if isinstance(fact, PlanProposed) else (fact,)
    return tuple(part for part in parts if isinstance(part, Erasable) and part.commitment)


def _fault_of_texts(fact: Fact) -> Message | None:
    """Say what is wrong if texts of a fact were changed; None if they are as recorded, or erased."""
    for part in erasable_parts(fact):
        stored = texts(part)
        names = list(stored)
        if not part.salt and stored != _ERASED[type(part)]:
            return note("live_events.no_salt", names=names)
        if part.salt and part.commitment != commitment(part.salt, **stored):
            return note("live_events.wrong_commitment", names=names)
    return None


def erased_data(data: dict[str, Any], person: str) -> dict[str, Any]:
    """Erase the texts that reveal a person's answers from an event as plain data; everything hashed stays."""

    def change(part: dict[str, Any], erased: dict[str, Any]) -> dict[str, Any]:
        return {**part, **erased, "salt": ""} if part["person"] == person else part

    return cast(dict[str, Any], _with_parts(data, change))


def _hashed_data(data: Any) -> Any:
    """Leave the texts behind commitments out of an event as plain data."""
    return _with_parts(
        data, lambda part, erased: {name: value for name, value in part.items() if name not in {*erased, "salt"}}
    )


def _with_parts(data: Any, change: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]) -> Any:
    """Change the parts of an event as plain data that have a commitment; return data that are no event unchanged."""
    if not isinstance(data, dict) or not isinstance(fact := data.get("fact"), dict):
        return data

    def changed(part: Any, kind: type) -> Any:
        return change(part, _ERASED[kind]) if isinstance(part, dict) and part.get("commitment") else part

    kind = KINDS.get(data["kind"], object) if isinstance(data.get("kind"), str) else object
    if kind is PlanProposed and isinstance(fact.get("lines"), list):
        return {**data, "fact": {**fact, "lines": [changed(line, PlannedCoupons) for line in fact["lines"]]}}
    return {**data, "fact": changed(fact, kind)} if kind in _ERASED else data


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
            why = _fault_of_texts(events[-1].fact)
        if why is not None:
            raise DataFileError("live_events.changed", number=number, why=why)
        before = link.hash
    _check_erased(events)
    return events


def erased(link: Link, person: str) -> Link:
    """Erase the texts of a link that reveal a person's answers; its hash stays, and other links are returned unchanged.

    Whoever records `AnswersErased` replaces all links of `KINDS_WITH_ANSWERS` by this, in the same transaction.
    """
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
    event = _hashed_data(data)
    return hashlib.sha256(one_spelling({"number": number, "before": before, "event": event})).hexdigest()
