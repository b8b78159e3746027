"""Events as they are stored: as plain data, in a hash chain, from which answers can be erased without breaking it.

The names of facts (`KINDS`) and of their fields stand in every study's records: never rename one, add new ones; mark a
new field of a known class as `later`.

Each link holds the hash of its content and of the link before (the idea of `foundation.chained_log`, for rows of a
database). Changing, removing, adding or swapping an event breaks the chain. Somebody who also rewrites everything after
it can forge the chain, so the last hash is also kept elsewhere, such as on paper or in a back-up. `before` is unique,
so two requests that were decided on the same records cannot both be added.

Events stay for ever, but a person may ask that their answers be erased, or how many people they know, and with either
the texts that reveal it: the strata and the reasons of plans and decisions; or what staff wrote about them. So the
chain does not hash these texts but a commitment to each group of them (`_ERASED`): the hash of the texts and of a salt
that nobody can guess. As long as the texts are there, the commitment shows that nobody changed them. When they are
erased, the salt is erased too, and the commitment reveals nothing: without the salt not even a guess can be checked.
For the same reason digests of requests leave these texts out (`events.ERASABLE`). Events of earlier versions have no
commitment to some of their texts, which are hashed in clear and stay.
"""

import dataclasses
import hashlib
import json
import re
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import Enum
from functools import cache
from itertools import repeat
from typing import Any, TypeVar, cast

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, note
from peerfront.web.live.rules.events import (
    AnswersCorrected,
    AnswersErased,
    AnswersRecorded,
    CouponExtended,
    CouponsIssued,
    CouponsOverridden,
    CouponVoided,
    DecidedBy,
    Erasable,
    Event,
    Fact,
    PersonImported,
    PersonWithdrawn,
    PlanChanged,
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


def one_spelling(entry: Mapping[str, Any]) -> bytes:
    """Write plain data as JSON in one spelling, so that equal entries have equal hashes: those in records, for ever."""
    return json.dumps(entry, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()


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


def digest_data(value: Any, *, first: bool = False) -> Any:
    """Write a request as plain data, without the server's own parts and without texts that can be erased.

    The first digests, until 0.3, had some of these texts and lacked some fields.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        included = [each.name for each in dataclasses.fields(value) if _in_digest(each.metadata, first=first)]
        return {name: digest_data(getattr(value, name), first=first) for name in included}
    return [digest_data(each, first=first) for each in value] if isinstance(value, tuple) else plain_value(value)


def _in_digest(metadata: Mapping[str, Any], *, first: bool) -> bool:
    if first and "later" in metadata:
        return False
    return not metadata.get("not_in_digest") or (first and "in_first_digest" in metadata)


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
    """Data do not fit their form, at a place within what is read."""

    def __init__(self, data: Any) -> None:
        self.data, self.place = data, ""


def _value(data: Any, kind: Any, place: str) -> Any:
    """Read a value from plain data; refuse data that do not fit its form, and say where they are."""
    try:
        return _reader_of(kind)(data)
    except _Misfit as misfit:
        raise DataFileError("live_events.bad_value", place=place + misfit.place, data=_cut(misfit.data)) from None


@cache
def _reader_of(kind: Any) -> Callable[[Any], Any]:
    """The reader of a type, put together once, because a chain has many events."""
    return _reader(_form(kind))


def _reader(form: _Form) -> Callable[[Any], Any]:
    read = _required_reader(form)
    return (lambda data: None if data is None else read(data)) if form.optional else read


def _required_reader(form: _Form) -> Callable[[Any], Any]:
    kind = form.kind
    if form.fields is not None:
        names, later = form.fields.keys(), form.later
        readers = {name: _reader(each) for name, each in form.fields.items()}

        def read_fields(data: Any) -> Any:
            if type(data) is not dict or (data.keys() != names and data.keys() | later != names):
                raise _Misfit(data)
            values = {}
            try:
                for name, value in data.items():
                    values[name] = readers[name](value)
            except _Misfit as misfit:
                misfit.place = f".{name}{misfit.place}"
                raise
            return kind(**values)

        return read_fields
    if kind is tuple:
        items = [_reader(each) for each in form.items]
        readers_in_order: Iterable[Callable[[Any], Any]] = repeat(items[0]) if form.any_length else items

        def read_items(data: Any) -> Any:
            if type(data) is not list or not (form.any_length or len(data) == len(items)):
                raise _Misfit(data)
            values: list[Any] = []
            try:
                for read, each in zip(readers_in_order, data, strict=False):
                    values.append(read(each))
            except _Misfit as misfit:
                misfit.place = f"[{len(values)}]{misfit.place}"
                raise
            return tuple(values)

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
                with suppress(ValueError):
                    value = kind.fromisoformat(data)
                    if kind is not datetime or value.tzinfo is not None:
                        return value
        raise _Misfit(data)

    return read_plain


def _cut(data: Any) -> str:
    return repr(data)[:100]


Part = Fact | PlannedCoupons
"""What may hold texts of one person that can be erased: a fact, or a line of a plan."""
E = TypeVar("E", bound=Part)


@dataclass(frozen=True)
class _Texts:
    """Texts behind one commitment, what stands there after erasure, and the names of its salt and commitment."""

    erased: dict[str, Any]
    erased_with: frozenset[Erasable]
    """Any of these erases them."""
    salt: str = "salt"
    commitment: str = "commitment"

    def is_erased_with(self, part: Mapping[str, Any]) -> frozenset[Erasable]:
        """Any of these erases the texts; the reason of a number that somebody chose is in their words."""
        is_typed = "reason" in self.erased and part.get("decided_by") == DecidedBy.OVERRIDE
        return self.erased_with | {Erasable.WORDS} if is_typed else self.erased_with


_ANSWERS = _Texts({"answers": None}, frozenset({Erasable.ANSWERS}))
_DECISION = _Texts({"stratum": "", "reason": ""}, frozenset({Erasable.ANSWERS, Erasable.NETWORK_SIZE}))
_SIZE = _Texts({"network_size": None}, frozenset({Erasable.NETWORK_SIZE}), "size_salt", "size_commitment")
_WHY, _WHY_FEWER = (
    _Texts({name: ""}, frozenset({Erasable.WORDS}), "words_salt", "words_commitment") for name in ("why", "why_fewer")
)
_ERASED: dict[type, tuple[_Texts, ...]] = {
    AnswersRecorded: (_ANSWERS, _SIZE),
    AnswersCorrected: (_ANSWERS, _SIZE, _WHY),
    PersonImported: (_ANSWERS, _SIZE),
    CouponsIssued: (_DECISION, _WHY_FEWER),
    PlannedCoupons: (_DECISION,),
    **dict.fromkeys(
        (AnswersErased, PersonWithdrawn, PlanChanged, CouponsOverridden, CouponVoided, CouponExtended), (_WHY,)
    ),
}
"""The texts that can be erased; the class of a fact says which commitments it has, and an earlier version had fewer."""
ERASABLE_KINDS = frozenset(name for name, kind in KINDS.items() if kind in _ERASED or kind is PlanProposed)
"""Stored kinds of events that hold texts that can be erased; those of a plan are in its lines."""


def committed(part: E, draw_salt: Callable[[], str]) -> E:
    """Add a salt and a commitment for each group of texts that can be erased; reasons that nobody gave need none."""
    sealed: dict[str, str] = {}
    for group in _ERASED[type(part)]:
        own = _texts(part, group)
        if group not in (_WHY, _WHY_FEWER) or own != group.erased:
            salt = draw_salt()
            sealed |= {group.salt: salt, group.commitment: commitment(salt, **own)}
    return cast(E, replace(cast(Any, part), **sealed))


def commitment(salt: str, **texts: Any) -> str:
    """Hash a salt and texts; the hash stands for the texts in the chain."""
    return hashlib.sha256(one_spelling({"salt": salt, **texts})).hexdigest()


def _texts(part: Part, group: _Texts) -> dict[str, Any]:
    return {name: getattr(part, name) for name in group.erased}


def _groups(part: Part) -> Iterator[tuple[_Texts, dict[str, Any], str, str]]:
    """Each group of texts that has a commitment: with the texts, the salt, and the commitment."""
    for group in _ERASED.get(type(part), ()):
        if commitment := getattr(part, group.commitment):
            yield group, _texts(part, group), getattr(part, group.salt), commitment


def parts_of(fact: Fact) -> tuple[Part, ...]:
    """The parts of a fact that may have texts of one person: the lines of a plan, or the fact itself."""
    return fact.lines if isinstance(fact, PlanProposed) else (fact,)


def texts(part: Part) -> dict[str, Any]:
    """Return the texts that can be erased and are not, by name."""
    return {name: text for _, own, salt, _ in _groups(part) if salt for name, text in own.items()}


def is_in_clear(fact: Fact, person: str, codes: Collection[str]) -> bool:
    """Whether texts about a person or their coupons have no commitment, because an earlier version recorded them."""
    if isinstance(fact, CouponVoided | CouponExtended):
        is_about = fact.code in codes
    else:
        is_about = person in (dict(fact.lines) if isinstance(fact, PlanChanged) else [getattr(fact, "person", "")])
    groups = (group for group in _ERASED.get(type(fact), ()) if not getattr(fact, group.commitment))
    return is_about and any(_texts(fact, group) != group.erased for group in groups)


def _fault_of_texts(fact: Fact) -> Message | None:
    """Say what is wrong if texts of a fact were changed; None if they are as recorded, or erased."""
    for part in parts_of(fact):
        for group, stored, salt, stands_for_them in _groups(part):
            names = list(stored)
            if not salt and stored != group.erased:
                return note("live_events.no_salt", names=names)
            if salt and stands_for_them != commitment(salt, **stored):
                return note("live_events.wrong_commitment", names=names)
    return None


def _person(part: Mapping[str, Any]) -> Any:
    """Whom a part of an event as plain data is about."""
    lines = part.get("lines")
    return lines[0][0] if lines else part.get("person")


def erased_data(data: dict[str, Any], person: str, what: Collection[Erasable]) -> dict[str, Any]:
    """Erase texts about a person from an event as plain data; everything hashed stays."""

    def change(part: dict[str, Any], groups: list[_Texts]) -> dict[str, Any]:
        for group in groups if _person(part) == person else ():
            if not group.is_erased_with(part).isdisjoint(what):
                part = {**part, **group.erased, group.salt: ""}
        return part

    return cast(dict[str, Any], _with_parts(data, change))


def erased_texts(kind: type[Part], part: Mapping[str, Any], what: Collection[Erasable]) -> dict[str, Any]:
    """What stands after erasure in place of texts of a part, and of the row that follows from it."""
    groups = (group for group in _ERASED[kind] if not group.is_erased_with(part).isdisjoint(what))
    return {name: gone for group in groups for name, gone in group.erased.items()}


def _hashed_data(data: Any) -> Any:
    """Leave the texts behind commitments out of an event as plain data."""

    def change(part: dict[str, Any], groups: list[_Texts]) -> dict[str, Any]:
        left_out = {name for group in groups for name in (*group.erased, group.salt)}
        return {name: value for name, value in part.items() if name not in left_out}

    return _with_parts(data, change)


def _with_parts(data: Any, change: Callable[[dict[str, Any], list[_Texts]], dict[str, Any]]) -> Any:
    """Change the parts of an event as plain data, given the groups of their texts that have a commitment.

    Data that are no event are returned unchanged.
    """
    if not isinstance(data, dict) or not isinstance(fact := data.get("fact"), dict):
        return data

    def changed(part: Any, kind: type) -> Any:
        groups = [each for each in _ERASED[kind] if isinstance(part, dict) and part.get(each.commitment)]
        return change(part, groups) if groups else part

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
    return list(checked_events(links))


def checked_events(links: Iterable[Link]) -> Iterator[Event]:
    """Check a chain link by link and keep none of them; what is wrong with erased texts shows after its last event."""
    before, texts_so_far = FIRST, _ErasedTexts()
    for number, link in enumerate(links, start=1):
        if link.number != number or link.before != before:
            raise _changed(number, note("live_events.does_not_follow", number=number - 1))
        if link.hash != link.content_hash:
            raise _changed(number, note("live_events.wrong_hash"))
        event = link.event
        if (why := _fault_of_texts(event.fact)) is not None:
            raise _changed(number, why)
        texts_so_far.follow(number, event)
        before = link.hash
        yield event
    texts_so_far.check()


def _changed(number: int, why: Message) -> DataFileError:
    return DataFileError("live_events.changed", number=number, why=why)


def erased(link: Link, erasure: AnswersErased) -> Link:
    """Erase texts of a link; its hash stays, and links without such texts are returned unchanged.

    Whoever records `AnswersErased` replaces all earlier links of `ERASABLE_KINDS` by this, in the same transaction.
    """
    return replace(link, data=erased_data(link.data, erasure.person, erasure.what))


class _ErasedTexts:
    """Texts that were erased without a later event about it, or that are still there despite one.

    Nobody knows before the end of a chain what later events erase. So of each person the first text that an erasure
    would erase is kept, and all texts that are gone: that is enough to find the first fault.
    """

    def __init__(self) -> None:
        self._asked: dict[Erasable, dict[str, int]] = {each: {} for each in Erasable}
        """The number of the last event that asks for it, of each person."""
        self._there: dict[Erasable, dict[str, tuple[int, int, _Texts]]] = {each: {} for each in Erasable}
        self._gone: list[tuple[int, int, _Texts, str, frozenset[Erasable]]] = []

    def follow(self, number: int, event: Event) -> None:
        """Look at the next event."""
        if isinstance(event.fact, AnswersErased):
            for what in event.fact.what:
                self._asked[what][event.fact.person] = number
        place = 0
        for part in parts_of(event.fact):
            for group, _, salt, _ in _groups(part):
                person, erased_with = _person(vars(part)), group.is_erased_with(vars(part))
                place += 1
                if not salt:
                    self._gone.append((number, place, group, person, erased_with))
                    continue
                for what in erased_with:
                    self._there[what].setdefault(person, (number, place, group))

    def check(self) -> None:
        """Refuse the first fault of the chain, if there is one."""
        faults = [
            (number, place, "live_events.not_erased", group, person)
            for what, people in self._asked.items()
            for person, asked in people.items()
            for number, place, group in [self._there[what].get(person, (asked, 0, _ANSWERS))]
            if asked > number
        ] + [
            (number, place, "live_events.lost", group, person)
            for number, place, group, person, erased_with in self._gone
            if all(self._asked[what].get(person, 0) <= number for what in erased_with)
        ]
        if faults:
            number, _, code, group, person = min(faults, key=lambda fault: fault[:2])
            raise DataFileError(code, number=number, names=list(group.erased), person=person)


def _hash(number: int, before: str, data: dict[str, Any]) -> str:
    event = _hashed_data(data)
    return hashlib.sha256(one_spelling({"number": number, "before": before, "event": event})).hexdigest()
