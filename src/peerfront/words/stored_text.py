"""Store sentences as data, so that they can be read later in another language."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerfront.foundation.errors import DamagedFile
from peerfront.foundation.messages import Lines, Measured, Message, Remedies, Remedy, Severity, note
from peerfront.words.language import Text, joined

if TYPE_CHECKING:
    from peerfront.study.reasons import Reason

_JOINED = "joined"
_LONGEST_NAME = 200  # characters of a stratum or an answer within a reason


def as_data(value: Any) -> Any:
    """Turn texts, messages, remedies, lists and plain values into what JSON can hold."""
    if isinstance(value, Message):
        return {"code": value.code, "arguments": _each(value.arguments), "severity": value.severity.value}
    if isinstance(value, Remedy):
        return {"setting": value.setting, "value": as_data(value.value)}
    if isinstance(value, Measured):
        return {"number": value.number, "margin": value.margin}
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
    """Restore what `as_data` has converted."""
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
    if "margin" in data:
        return Measured(**data)
    if "setting" in data:
        return Remedy(data["setting"], from_data(data["value"]))
    severity = Severity(data["severity"]) if data["severity"] else None
    if data["sentence"] == _JOINED:
        return joined(_again(data["values"]).values(), data["many"])
    return Text(data["sentence"], _again(data["values"]), data["many"], severity)


def restored(data: Any, path: Path) -> Any:
    """Restore what a file holds, and refuse what could not be shown."""
    try:
        value = from_data(data)
        for each in value if isinstance(value, list) else (value,):
            str(each)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as problem:
        raise DamagedFile(path, note("own_files.no_words", problem=type(problem).__name__)) from None
    return value


def _each(values: Any) -> dict[str, Any]:
    return {name: as_data(value) for name, value in values.items()}


def _again(values: dict[str, Any]) -> dict[str, Any]:
    return {name: from_data(value) for name, value in values.items()}


def reason_as_text(reason: "Reason | str") -> str:
    """A reason as the records of a live study hold it: JSON text of its fields; a typed reason stays as it is."""
    if isinstance(reason, str):
        return reason
    short = replace(
        reason,
        stratum=reason.stratum[:_LONGEST_NAME],
        category=reason.category and reason.category[:_LONGEST_NAME],
        field=reason.field and reason.field[:_LONGEST_NAME],
    )
    return json.dumps(short.as_data(), ensure_ascii=False, separators=(",", ":"))


def reason_from_text(text: str) -> "Reason | str":
    """Restore a reason from `reason_as_text`; return other text as it is, as in records of earlier versions."""
    if not text.startswith("{"):
        return text
    from peerfront.study.reasons import Reason  # only here: it loads the planner

    try:
        return Reason.from_data(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError):
        return text
