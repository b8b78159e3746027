"""Read files that the program wrote itself: manifests, logs, settings, summaries, the people of a week.

Whoever can open a study's folder can change them, and a disk or a synchronised folder can spoil them. So they are read
in one way: an ordinary file that is not absurdly large, unchanged if a digest of it was kept, whose values are of the
kinds they were written in. Everything else is a `DamagedFile`, whose fault says what was found.

A shape describes a value: a `Kind`; `[shape]`, a list of such values; `(shape, shape)`, a list of exactly these;
`{"name": shape}`, a table with these entries, of which those whose name ends with ? may be missing; `{str: shape}`, a
table with any names. Entries that a shape does not name are not looked at.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from peerfront.foundation.errors import DamagedFile, DataFileError
from peerfront.foundation.files import file_bytes
from peerfront.foundation.messages import Message, note

MOST_BYTES = 64 * 2**20
"""Bytes of the largest file of our own, unless its reader says otherwise."""
_MOST = 10**12  # numbers of any kind stay far below
_MISSING = object()
_FAULTS = {
    "files.missing": "own_files.missing",
    "files.empty": "own_files.empty",
    "files.too_large": "own_files.too_large",
    "files.is_other": "own_files.is_other",
    "files.unreadable": "own_files.unreadable",
    "files.bad_name": "own_files.bad_name",
}
"""Faults of any file, said of our own: users do not export those."""
_LONGEST = 60  # characters of a value in a message


@dataclass(frozen=True)
class Kind:
    """A kind of values, and what messages call it."""

    fits: Callable[[Any], bool]
    name: Message | str


Shape = Any


def whole(least: int = 0, most: int = _MOST) -> Kind:
    """Whole numbers within these limits."""
    limits = (
        note("settings.whole_between", low=least, high=most) if most < _MOST else note("settings.at_least", low=least)
    )
    return Kind(lambda value: type(value) is int and least <= value <= most, limits)


def number(least: float = -_MOST, most: float = _MOST) -> Kind:
    """Numbers within these limits."""

    def fits(value: Any) -> bool:
        return type(value) in (int, float) and least <= value <= most

    limited = least > -_MOST or most < _MOST
    return Kind(fits, note("settings.between", low=least, high=most) if limited else note("stored_fit.number"))


def exactly(*values: Any) -> Kind:
    """One of these values."""
    names = [_short(each) for each in values]
    return Kind(
        lambda value: any(type(value) is type(each) and value == each for each in values),
        names[0] if len(names) == 1 else note("own_files.one_of", values=names),
    )


def maybe(kind: Kind) -> Kind:
    """Nothing, or a value of this kind."""
    return Kind(lambda value: value is None or kind.fits(value), kind.name)


def either(*shapes: Shape) -> Kind:
    """A value of one of these shapes."""
    return Kind(lambda value: any(_fault(value, shape, "") is None for shape in shapes), note("own_files.belongs"))


def day(after: str = "") -> Kind:
    """Days as year-month-day, later than another one."""

    def fits(value: Any) -> bool:
        try:
            return type(value) is str and date.fromisoformat(value).isoformat() == value > after
        except ValueError:
            return False

    return Kind(fits, note("own_files.day_after", day=after) if after else note("own_files.day"))


def _is_text(value: Any) -> bool:
    """Whether this is text that can be written, without halves of characters."""
    return type(value) is str and (value.isascii() or value == value.encode("utf-8", "replace").decode())


TEXT = Kind(_is_text, note("stored_fit.text"))
TRUTH = Kind(lambda value: type(value) is bool, note("stored_fit.truth"))
ANYTHING = Kind(lambda value: True, "")
COUNT = whole()
NUMBER = number()
CHANCE = number(0, 1)


def own_bytes(path: Path, most: int = MOST_BYTES, sha256: str = "") -> bytes:
    """Read a file of our own; with `sha256`, it must be the file of this digest."""
    try:
        content = file_bytes(path, most)
    except DataFileError as problem:
        raise DamagedFile(path, note(_FAULTS[problem.code], **problem.message.arguments)) from None
    if sha256 and sha256_of(content) != sha256:
        raise DamagedFile(path, note("own_files.other_digest", found=sha256_of(content)[:16], written=sha256[:16]))
    return content


def own_json(path: Path, shape: Shape, most: int = MOST_BYTES) -> Any:
    """Read a JSON file of our own, whose values are of this shape."""
    return json_of(own_bytes(path, most), shape, path)


def json_of(content: bytes | str, shape: Shape, path: Path) -> Any:
    """Read JSON, whose values are of this shape."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as problem:  # ValueError: no JSON, no UTF-8, or numbers of thousands of digits
        raise DamagedFile(path, note("own_files.no_json", problem=str(problem)[:_LONGEST])) from None
    check_shape(value, shape, path)
    return value


def check_shape(value: Any, shape: Shape, path: Path | str) -> None:
    """Refuse a value of another shape."""
    fault = _fault(value, shape, "")
    if fault is not None:
        raise DamagedFile(path, fault)


def sha256_of(content: bytes) -> str:
    """The digest of a file's content."""
    return hashlib.sha256(content).hexdigest()


def _fault(value: Any, shape: Shape, name: str) -> Message | None:
    """The first entry that has another shape."""
    if value is _MISSING:
        return note("own_files.no_entry", name=name)
    if isinstance(shape, Kind):
        return None if shape.fits(value) else _other(name, value, shape.name)
    if isinstance(shape, Mapping):
        if type(value) is not dict:
            return _other(name, value, note("stored_fit.table"))
        parts = [(f"{name}.{key}".lstrip("."), value.get(key, _MISSING), own) for key, own in _entries(value, shape)]
    else:
        if type(value) is not list or (isinstance(shape, tuple) and len(value) != len(shape)):
            return _other(name, value, note("stored_fit.list"))
        shapes = shape if isinstance(shape, tuple) else shape * len(value)
        parts = [(f"{name}[{n}]", each, own) for n, (each, own) in enumerate(zip(value, shapes, strict=True))]
    return next((fault for key, each, own in parts if (fault := _fault(each, own, key)) is not None), None)


def _entries(value: Mapping[str, Any], shape: Mapping[Any, Shape]) -> list[tuple[str, Shape]]:
    """Names of the entries that are looked at, and their shapes."""
    if str in shape:
        return [(key, shape[str]) for key in value]
    return [(key.rstrip("?"), own) for key, own in shape.items() if not key.endswith("?") or key[:-1] in value]


def _other(name: str, value: Any, kind: Message | str) -> Message:
    if not name:
        return note("own_files.no_such", value=_short(value), kind=kind)
    return note("own_files.other_kind", name=name, value=_short(value), kind=kind)


def _short(value: Any) -> str:
    if type(value) is int and abs(value) >= _MOST:
        return f"{value:.3e}" if abs(value) < 10**300 else "..."
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
