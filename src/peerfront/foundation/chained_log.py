"""A log that is only ever added to: one JSON object a line, each with the hash of its content and of the line before.

Somebody who changes, removes, inserts or swaps a line breaks the chain, and reading says where. Whoever rewrites
everything after a line can forge it, so the last hash is also told elsewhere (`head`): on paper, or in another folder.
JSON lines, not a database: they can be read with any editor, in R and in Excel, and compared line by line.

A line without its end is what a killed write left: nobody was told of it, it is not read, and the next write drops it.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from peerfront.foundation.errors import DataFileError

FIRST = "0" * 16
"""What stands for the hash of the line before the first."""
_HASH, _BEFORE, _NUMBER = "hash", "before", "line"
_LARGEST = 256 * 1024 * 1024  # bytes; a study of 100,000 decisions has 40 million


class ChainedLog:
    """The entries of a log file, checked; a file that does not exist is an empty log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[dict[str, Any]] = []
        self.hashes: list[str] = []
        self._whole = 0  # bytes of whole lines
        self._read()

    @property
    def head(self) -> str:
        """The hash of the last entry, which stands for everything before it."""
        return self.hashes[-1] if self.hashes else FIRST

    def append(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Add entries at the end, all of them in one write that is on disk when this returns."""
        lines: list[str] = []
        added: list[tuple[dict[str, Any], str]] = []
        head = self.head
        for entry in entries:
            reserved = {_HASH, _BEFORE, _NUMBER} & entry.keys()
            assert not reserved, f"{reserved} are the log's own"
            whole = {_NUMBER: len(self.entries) + len(added) + 1, **entry, _BEFORE: head}
            head = _digest(whole)
            lines.append(json.dumps({**whole, _HASH: head}, ensure_ascii=True, allow_nan=False))
            added.append((json.loads(json.dumps(dict(entry))), head))
        content = "".join(f"{line}\n" for line in lines).encode()
        try:
            with _opened(self.path) as file:
                file.truncate(self._whole)
                file.seek(self._whole)
                try:
                    rest = memoryview(content)
                    while rest:
                        rest = rest[file.write(rest) :]
                    os.fsync(file.fileno())
                except OSError:  # a full disk takes some of the lines: none of them may stay
                    file.truncate(self._whole)
                    raise
        except OSError as problem:
            raise DataFileError(
                f"Cannot write {self.path} ({problem}). Free some space, or allow writing to it; nothing was logged."
            ) from None
        self._whole += len(content)
        for entry, own in added:
            self.entries.append(entry)
            self.hashes.append(own)

    def _read(self) -> None:
        try:
            if self.path.exists() and self.path.stat().st_size > _LARGEST:
                raise DataFileError(f"{self.path} is larger than {_LARGEST >> 20} MB: this is no log of a study.")
            content = self.path.read_bytes() if self.path.exists() else b""
        except OSError as problem:
            raise DataFileError(f"Cannot read {self.path} ({problem}).") from None
        lines = content.split(b"\n")
        self._whole = len(content) - len(lines[-1])
        for number, line in enumerate(lines[:-1], start=1):
            entry = _parsed(line)
            if entry is None:
                raise self._edited(number, "it is not a line of this log")
            own = entry.pop(_HASH, None)
            if entry.get(_BEFORE) != self.head or entry.get(_NUMBER) != number:
                raise self._edited(number, f"it does not follow line {number - 1}: a line was removed, added or moved")
            if own != _digest(entry):
                raise self._edited(number, f"its hash is {own}, its content gives {_digest(entry)}")
            del entry[_BEFORE], entry[_NUMBER]
            self.entries.append(entry)
            self.hashes.append(str(own))

    def _edited(self, number: int, why: str) -> DataFileError:
        return DataFileError(
            f"{self.path}, line {number}: the log was changed after it was written ({why}). Decisions and estimates "
            "rest on it, so nothing is done. Restore the file from a copy; to correct a mistake, undo the week instead."
        )


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def one_spelling(entry: Mapping[str, Any]) -> bytes:
    """Write plain data as JSON in one spelling, so that equal entries have equal hashes."""
    return json.dumps(entry, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()


def _digest(entry: Mapping[str, Any]) -> str:
    """16 hexadecimal digits of the SHA-256 of an entry in one spelling: short enough to be compared by eye."""
    return hashlib.sha256(one_spelling(entry)).hexdigest()[:16]


def _opened(path: Path) -> Any:
    """The file to be added to, made for its owner alone if there is none."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
