"""What can happen to a file of the program's own: every entry changed, and files that are no files."""

import contextlib
import copy
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OTHERS = (None, "text", -1, math.nan, math.inf, 10**400, 1e300, True, [], ["x"], {}, {"x": None})


def with_others(value: Any, others: tuple[Any, ...] = OTHERS) -> Iterator[tuple[str, Any]]:
    """Copies of a value, each with one entry replaced or taken out; with what was done."""
    for path in _paths(value):
        for other in others:
            changed = copy.deepcopy(value)
            place = _at(changed, path[:-1])
            place[path[-1]] = other
            yield f"{path} = {str(other)[:12]}", changed
        changed = copy.deepcopy(value)
        del _at(changed, path[:-1])[path[-1]]
        yield f"{path} left out", changed


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in parts:
        yield (key,)
        yield from ((key, *rest) for rest in _paths(each))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def spoil(file: Path, how: str) -> None:
    """Put something else in the place of a file."""
    content = file.read_bytes()
    file.unlink()
    if how == "pipe":
        os.mkfifo(file)
    elif how == "folder":
        file.mkdir()
    elif how == "zeros":  # without taking room on the disk
        with file.open("wb") as stream:
            stream.truncate(100 * 2**20)
    elif how == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        file.touch()
    else:
        assert how == "gone"


SPOILS = ("pipe", "folder", "zeros", "cut", "empty", "gone")


def mend(file: Path, content: bytes) -> None:
    """Take away what `spoil` put there."""
    with contextlib.suppress(FileNotFoundError):
        file.rmdir() if file.is_dir() else file.unlink()
    file.write_bytes(content)
