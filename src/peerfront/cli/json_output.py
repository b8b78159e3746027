"""`--json`: the result of a command, or its error, as one JSON document. `docs/reference/json.md` describes it.

Commands return their results: dataclasses, tables, messages, texts, or a mapping of those. Everything that they print
is dropped then.
"""

import io
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from peerfront import __version__
from peerfront.foundation.messages import Message, Readable, Remedy
from peerfront.words.language import Text

if TYPE_CHECKING:
    from peerfront.experiments.results import Results

FORMAT = 1
"""Raised when a key is renamed, removed or gets another meaning; new keys do not raise it."""
_OPTION = "--json"
_OF_LIVE = {"check", "doctor", "drill"}
"""Commands behind `live` that return a result."""


def json_asked_for(arguments: list[str]) -> bool:
    """Take `--json` off the command line, wherever it stands; behind most commands of `live` it is not ours."""
    for place, word in enumerate(arguments):
        if word == "--" or (word == "live" and _OF_LIVE.isdisjoint(arguments[place:])):
            break
        if word == _OPTION:
            del arguments[place]
            return not {"-h", "--help"} & set(arguments)
    return False


@contextmanager
def nothing_printed() -> Iterator[None]:
    """Drop what commands print, and the bar that shows how far they are."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        yield


def result_document(command: str, result: object) -> str:
    """The result of a command."""
    return _text({"peerfront": __version__, "format": FORMAT, "command": command, "result": to_data(result)})


def error_document(
    code: str,
    message: str,
    remedies: tuple[Remedy, ...] = (),
    problems: tuple[object, ...] = (),
    results: "Results | None" = None,
) -> str:
    """An error: its code, its sentence, settings that would mend it, and the problems of a study's file.

    Beside it stand the results of those policies of a comparison that did not fail.
    """
    more = {"problems": to_data(problems)} if problems else {}
    error = {"code": code, "message": message, "remedies": to_data(remedies), **more}
    return _text({"error": error} | ({} if results is None else {"result": to_data(figures_of(results))}))


def figures_of(results: "Results") -> dict[str, object]:
    """The figures of a comparison."""
    return {"means": results.table, "differences": results.differences, "bounds": results.bounds}


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, allow_nan=False, indent=2)  # in ASCII: nothing that was typed acts on a terminal


def to_data(value: Any) -> Any:
    """What JSON can hold: numbers in full, null for what is not known; messages are codes, arguments and text."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Message | Remedy):
        return {**_fields(value), "text": str(value)}
    if isinstance(value, Text | date | PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {str(to_data(name)): to_data(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_data(each) for each in value]
    if isinstance(value, Readable):
        lines = {"lines": to_data(value.lines()), "details": to_data(value.details())}
        return {**(_fields(value) if is_dataclass(value) else {}), **lines}
    if is_dataclass(value):
        own = _fields(value)
        return {**own, "text": str(value)} if type(value).__str__ is not object.__str__ else own
    if hasattr(value, "to_dict"):  # tables
        return to_data(value.to_dict("records"))
    if hasattr(value, "tolist"):  # numbers and arrays of NumPy
        return to_data(value.tolist())
    raise TypeError(f"JSON has no place for {type(value).__name__}")


def _fields(value: Any) -> dict[str, Any]:
    return {each.name: to_data(getattr(value, each.name)) for each in fields(value) if not each.name.startswith("_")}
