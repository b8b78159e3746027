"""Events as plain data (for JSON, a database column, the hash chain) and back, checked in every respect.

The names in `KINDS` and of the fields stand in every study's records: never rename one, add new ones.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping
from datetime import UTC, date, datetime
from enum import Enum
from functools import cache
from typing import Any, cast

from peerfront.foundation.errors import DataFileError
from peerfront.live import events
from peerfront.live.events import Event, Fact, Stamp

KINDS: dict[str, type] = {
    "study_begun": events.StudyBegun,
    "settings_changed": events.SettingsChanged,
    "site_added": events.SiteAdded,
    "seed_added": events.SeedAdded,
    "coupon_scanned": events.CouponScanned,
    "person_enrolled": events.PersonEnrolled,
    "answers_recorded": events.AnswersRecorded,
    "answers_corrected": events.AnswersCorrected,
    "person_withdrawn": events.PersonWithdrawn,
    "plan_proposed": events.PlanProposed,
    "plan_changed": events.PlanChanged,
    "plan_approved": events.PlanApproved,
    "plan_stopped": events.PlanStopped,
    "coupons_overridden": events.CouponsOverridden,
    "coupons_issued": events.CouponsIssued,
    "coupon_voided": events.CouponVoided,
    "coupon_extended": events.CouponExtended,
    "payment_made": events.PaymentMade,
    "request_refused": events.RequestRefused,
}
_NAMES = {kind: name for name, kind in KINDS.items()}


def event_data(event: Event) -> dict[str, Any]:
    """An event as plain data: its stamp, its part, the kind of its fact and the fact."""
    return {
        "stamp": plain_value(event.stamp),
        "part": event.part,
        "kind": _NAMES[type(event.fact)],
        "fact": plain_value(event.fact),
    }


def event_from(data: Mapping[str, Any]) -> Event:
    """Make the event again; refuse data that no event gives."""
    if not isinstance(data, Mapping) or data.keys() != {"stamp", "part", "kind", "fact"}:
        raise DataFileError(f"This is no event: {_cut(data)}. It needs stamp, part, kind and fact. Restore a back-up.")
    kind = KINDS.get(data["kind"]) if isinstance(data["kind"], str) else None
    if kind is None:
        raise DataFileError(
            f"There is no event of kind {_cut(data['kind'])}. Use the version of peerfront that wrote it, or a newer."
        )
    return Event(
        cast(Stamp, _value(data["stamp"], Stamp, "stamp")),
        cast(int, _value(data["part"], int, "part")),
        cast(Fact, _value(data["fact"], kind, "fact")),
    )


def plain_value(value: Any) -> Any:
    """A value of our dataclasses as JSON knows it; times are written in UTC, so that each has one spelling."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain_value(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [plain_value(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, date):
        return value.isoformat()
    assert value is None or isinstance(value, str | int | float), f"{value!r} cannot be stored"
    return value


@cache
def _types(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _value(data: Any, kind: Any, place: str) -> object:
    if isinstance(kind, types.UnionType):
        members = typing.get_args(kind)
        if data is None and types.NoneType in members:
            return None
        return _value(data, next(each for each in members if each is not types.NoneType), place)
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)
        if isinstance(data, list):
            if inner[-1] is Ellipsis:
                return tuple(_value(each, inner[0], f"{place}[{index}]") for index, each in enumerate(data))
            if len(inner) == len(data):
                return tuple(_value(each, one, place) for each, one in zip(data, inner, strict=True))
    elif dataclasses.is_dataclass(kind):
        hints = _types(cast(type, kind))
        names = {each.name for each in dataclasses.fields(kind)}
        if isinstance(data, Mapping) and data.keys() == names:
            made = {name: _value(data[name], hints[name], f"{place}.{name}") for name in names}
            return cast(Any, kind)(**made)
    elif issubclass(kind, Enum):
        if data in [each.value for each in kind]:  # a list: what is read may have no hash
            return kind(data)
    elif issubclass(kind, date):
        try:
            made_date = kind.fromisoformat(data)
        except (TypeError, ValueError):
            made_date = None
        if made_date is not None and (not isinstance(made_date, datetime) or made_date.tzinfo is not None):
            return made_date
    elif kind is float and type(data) in (int, float):
        return float(data)
    elif type(data) is kind:
        return cast(object, data)
    raise DataFileError(f"This is no event: {place} is {_cut(data)}. Restore a back-up.")


def _cut(data: Any) -> str:
    return repr(data)[:100]
