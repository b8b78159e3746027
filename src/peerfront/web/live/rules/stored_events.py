"""Convert events to plain data (for JSON, a database column, the hash chain) and back, with full checks.

The names of facts (`KINDS`) and of their fields stand in every study's records: never rename one, add new ones.
"""

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast

from peerfront.foundation.errors import DataFileError
from peerfront.web.live.rules.events import Event, Fact, Stamp

KINDS: dict[str, type] = {re.sub("(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in typing.get_args(Fact)}
"""Facts by the names under which they are stored: `CouponScanned` is a coupon_scanned."""
T = TypeVar("T")
_NAMES = {kind: name for name, kind in KINDS.items()}


def kind_of(fact: Fact) -> str:
    """Return the name under which a fact is stored."""
    return _NAMES[type(fact)]


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


def _value(data: Any, kind: Any, place: str) -> object:
    try:
        return _reader(kind)(data)
    except _Unfit as unfit:
        raise DataFileError("live_events.bad_value", place=f"{place}{unfit.place}", data=_cut(unfit.data)) from None


class _Unfit(Exception):
    """Data that do not fit a type, and their position."""

    def __init__(self, data: Any, place: str = "") -> None:
        self.data, self.place = data, place

    def within(self, part: str) -> "_Unfit":
        return _Unfit(self.data, part + self.place)


@cache
def _reader(kind: Any) -> Callable[[Any], object]:
    """Make the function that reads a type from plain data; cached, because a chain has many events."""
    if isinstance(kind, types.UnionType):
        return _optional(typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)
        return _tuple_of(_reader(inner[0])) if inner[-1] is Ellipsis else _tuple(tuple(map(_reader, inner)))
    if dataclasses.is_dataclass(kind):
        return _dataclass(cast(type, kind))
    if issubclass(kind, Enum):
        return _enum(kind)
    if issubclass(kind, date):
        return _date(kind)
    return _number if kind is float else _exactly(kind)


def _optional(members: tuple[Any, ...]) -> Callable[[Any], object]:
    read = _reader(next(each for each in members if each is not types.NoneType))
    may_be_none = types.NoneType in members
    return lambda data: None if data is None and may_be_none else read(data)


def _tuple_of(read: Callable[[Any], object]) -> Callable[[Any], object]:
    def convert(data: Any) -> object:
        if not isinstance(data, list):
            raise _Unfit(data)
        values = []
        for index, each in enumerate(data):
            try:
                values.append(read(each))
            except _Unfit as unfit:
                raise unfit.within(f"[{index}]") from None
        return tuple(values)

    return convert


def _tuple(readers: tuple[Callable[[Any], object], ...]) -> Callable[[Any], object]:
    def convert(data: Any) -> object:
        if not isinstance(data, list) or len(data) != len(readers):
            raise _Unfit(data)
        return tuple(read(each) for read, each in zip(readers, data, strict=True))

    return convert


def _dataclass(kind: type) -> Callable[[Any], object]:
    hints = typing.get_type_hints(kind)
    readers = {each.name: _reader(hints[each.name]) for each in dataclasses.fields(kind)}

    def convert(data: Any) -> object:
        if not isinstance(data, Mapping) or data.keys() != readers.keys():
            raise _Unfit(data)
        values = {}
        for name, given in data.items():
            try:
                values[name] = readers[name](given)
            except _Unfit as unfit:
                raise unfit.within(f".{name}") from None
        return cast(Any, kind)(**values)

    return convert


def _enum(kind: type[Enum]) -> Callable[[Any], object]:
    values = {each.value: each for each in kind}

    def convert(data: Any) -> object:
        if not isinstance(data, str) or data not in values:
            raise _Unfit(data)
        return values[data]

    return convert


def _date(kind: type[date]) -> Callable[[Any], object]:
    def convert(data: Any) -> object:
        try:
            day = kind.fromisoformat(data)
        except (TypeError, ValueError):
            raise _Unfit(data) from None
        if isinstance(day, datetime) and day.tzinfo is None:
            raise _Unfit(data)
        return day

    return convert


def _number(data: Any) -> object:
    if type(data) not in (int, float):
        raise _Unfit(data)
    return float(data)


def _exactly(kind: type) -> Callable[[Any], object]:
    def convert(data: Any) -> object:
        if type(data) is not kind:
            raise _Unfit(data)
        return data

    return convert


def _cut(data: Any) -> str:
    return repr(data)[:100]
