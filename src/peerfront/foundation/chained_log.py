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

from peerfront.foundation.errors import DamagedFile, DataFileError
from peerfront.foundation.messages import Message, note
from peerfront.foundation.own_files import json_of, own_bytes

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
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)  # for its owner alone if it is new
            with os.fdopen(descriptor, "r+b", buffering=0) as file:
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
            raise DataFileError("log.unwritable", path=self.path, problem=str(problem)) from None
        self._whole += len(content)
        for entry, own in added:
            self.entries.append(entry)
            self.hashes.append(own)

    def _read(self) -> None:
        try:
            content = own_bytes(self.path, _LARGEST)
        except DamagedFile as problem:
            if problem.fault.code != "own_files.missing" and (
                problem.fault.code != "own_files.empty" or self.path.stat().st_size
            ):
                raise
            content = b""
        lines = content.split(b"\n")
        self._whole = len(content) - len(lines[-1])
        for number, line in enumerate(lines[:-1], start=1):
            try:
                entry = json_of(line, {}, self.path)
            except DamagedFile:
                raise self._edited(number, note("log.no_line")) from None
            own = entry.pop(_HASH, None)
            if entry.get(_BEFORE) != self.head or entry.get(_NUMBER) != number:
                raise self._edited(number, note("log.no_successor", line=number - 1))
            if own != _digest(entry):
                raise self._edited(number, note("log.other_hash", hash=str(own), digest=_digest(entry)))
            del entry[_BEFORE], entry[_NUMBER]
            self.entries.append(entry)
            self.hashes.append(str(own))

    def _edited(self, number: int, why: Message) -> DataFileError:
        return DataFileError("log.changed", path=self.path, line=number, why=why)


def _digest(entry: Mapping[str, Any]) -> str:
    """16 hexadecimal digits of the SHA-256 of an entry in one spelling: short enough to be compared by eye."""
    spelled = json.dumps(entry, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(spelled.encode()).hexdigest()[:16]
