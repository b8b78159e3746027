"""Sentences as data, so that a result can be stored, and read later by somebody in another language."""

from typing import Any

from peerfront.foundation.messages import Lines, Message, Remedies, Remedy, Severity
from peerfront.words.language import Text, joined

_JOINED = "joined"


def as_data(value: Any) -> Any:
    """Texts, messages, remedies, lists and plain values as what JSON can hold."""
    if isinstance(value, Message):
        return {"code": value.code, "arguments": _each(value.arguments), "severity": value.severity.value}
    if isinstance(value, Remedy):
        return {"setting": value.setting, "value": as_data(value.value)}
    if isinstance(value, Text):
        severity = value.severity.value if value.severity else None
        return {"sentence": value.sentence, "values": _each(value.values), "many": value.many, "severity": severity}
    if isinstance(value, Remedies):
        return {"together": [as_data(each) for each in value]}
    if isinstance(value, Lines):
        return {"lines": [as_data(each) for each in value]}
    if isinstance(value, list | tuple):
        return [as_data(each) for each in value]
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    return value.item() if hasattr(value, "item") else str(value)


def from_data(data: Any) -> Any:
    """What `as_data` made, as it was."""
    if isinstance(data, list):
        return [from_data(each) for each in data]
    if not isinstance(data, dict):
        return data
    if "together" in data:
        return Remedies(from_data(each) for each in data["together"])
    if "lines" in data:
        return Lines(from_data(each) for each in data["lines"])
    if "code" in data:
        return Message(data["code"], _again(data["arguments"]), Severity(data["severity"]))
    if "setting" in data:
        return Remedy(data["setting"], from_data(data["value"]))
    severity = Severity(data["severity"]) if data["severity"] else None
    if data["sentence"] == _JOINED:
        return joined(_again(data["values"]).values(), data["many"])
    return Text(data["sentence"], _again(data["values"]), data["many"], severity)


def _each(values: Any) -> dict[str, Any]:
    return {name: as_data(value) for name, value in values.items()}


def _again(values: dict[str, Any]) -> dict[str, Any]:
    return {name: from_data(value) for name, value in values.items()}
