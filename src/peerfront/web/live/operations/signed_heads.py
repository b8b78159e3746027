"""Heads of the chain, signed with the study's secret key: kept in its folder, and in the manifest of each back-up.

Whoever can write to the database can bring back an older copy of it, or put in that of another study. Each head says
which event had which hash at a time, and `verify` compares the chain with all of them. Who has the folder as well has
the key, and can make heads: then only a hash that was written down elsewhere shows it.
"""

import hmac
import json
import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.db import DatabaseError, connections

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, note
from peerfront.web.live.folder import Keys, LiveFolder
from peerfront.web.live.operations.backup_files import BackupFile
from peerfront.web.live.operations.encrypted_files import SUFFIX, is_encrypted
from peerfront.web.live.records.recording import last_event

EVERY = 600
"""Seconds between two signed heads of the chain, with which `verify` compares it."""
_log = logging.getLogger("peerfront.web.live.server")


@dataclass(frozen=True)
class Head:
    """The last event at a time."""

    number: int
    hash: str
    at: str

    def line(self, keys: Keys) -> str:
        return json.dumps({**asdict(self), "signature": self.signature(keys)}) + "\n"

    def signature(self, keys: Keys) -> str:
        return keys.signature("head", json.dumps(asdict(self), sort_keys=True))


@dataclass(frozen=True)
class SignedHeads:
    """The heads that were found."""

    heads: tuple[tuple[str, Head], ...]
    """Each with the name of its file."""
    kept: int
    """How many of them are in heads.jsonl."""
    backups: int
    faults: tuple[Message, ...]
    """Files that were changed, or are not signed with these keys."""
    unopened: tuple[str, ...] = ()
    """Encrypted back-ups of the folder that the secret does not open."""

    @property
    def numbers(self) -> frozenset[int]:
        """The events with whose hashes the chain is compared."""
        return frozenset(head.number for _, head in self.heads)

    def differences(self, hashes: Mapping[int, str], last: int) -> list[Message]:
        """Say, once for each file, which signed event a chain of this length with these hashes does not have."""
        faults: dict[str, Message] = {}
        for file, head in sorted(self.heads, key=lambda each: each[1].number):
            values = {"number": head.number, "at": head.at, "file": file}
            if head.number > last:
                faults.setdefault(file, note("live_records.head_missing", **values, last=last))
            elif head.number and hashes[head.number] != head.hash:
                faults.setdefault(file, note("live_records.head_differs", **values))
        return list(faults.values())


def keep_head(folder: LiveFolder) -> None:
    """Add the present head to the folder, if it is not the last one there; a full disk stops nobody's work."""
    number, digest = last_event()
    if not number:
        return
    with suppress(OSError):
        before = folder.heads.read_bytes().splitlines()[-1:] if folder.heads.exists() else []
        if any(digest.encode() in line for line in before):
            return
        line = Head(number, digest, datetime.now(UTC).isoformat(timespec="seconds")).line(folder.keys)
        file = os.open(folder.heads, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # At once, so that lines of two processes do not mix; and on a full disk no part of a line.
            if (written := os.write(file, line.encode())) < len(line.encode()):
                end = os.lseek(file, 0, os.SEEK_CUR)
                if os.fstat(file).st_size == end:
                    os.ftruncate(file, end - written)
            os.fsync(file)
        finally:
            os.close(file)


@contextmanager
def heads_kept(folder: LiveFolder) -> Iterator[None]:
    """Keep a signed head of the chain now, every ten minutes, and at the end."""
    end = threading.Event()

    def watch() -> None:
        while not end.is_set():
            end.wait(EVERY)
            keep()

    def keep() -> None:
        try:
            keep_head(folder)
        except DatabaseError:  # it may be unreachable for a while
            _log.exception("A signed head could not be kept.")
        finally:
            connections.close_all()

    keep()
    thread = threading.Thread(target=watch, name="signed heads", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def signed_heads(folder: LiveFolder, elsewhere: Iterable[Path] = (), secret: bytes | None = None) -> SignedHeads:
    """Read the heads of the folder and of its back-ups, and of back-ups elsewhere; `secret` opens encrypted ones.

    Whether one that it does not open has another secret or a changed header, nobody can tell.
    """
    keys, heads, faults = folder.keys, [], []
    lines = folder.heads.read_bytes().splitlines() if folder.heads.exists() else []
    for number, line in enumerate(lines, start=1):
        with suppress(ValueError, TypeError, AttributeError):
            data = json.loads(line)
            signature = str(data.pop("signature", ""))
            head = Head(**data)
            if hmac.compare_digest(head.signature(keys).encode(), signature.encode()):
                heads.append((folder.heads.name, head))
                continue
        faults.append(note("live_records.head_not_signed", line=number, file=folder.heads.name))
    kept = len(heads)
    given = [BackupFile(path, secret) for path in elsewhere]  # a wrong file is an error, and no sign of a change
    patterns = ["backup-*.zip", *([f"backup-*.zip{SUFFIX}"] if secret is not None else [])]
    own = {path.resolve() for pattern in patterns for path in folder.backups.glob(pattern)}
    every: list[Path | BackupFile] = [*sorted(own - {each.path.resolve() for each in given}), *given]
    unopened, opens_some = [], False
    for each in every:
        try:
            backup = each if isinstance(each, BackupFile) else BackupFile(each, secret)
            opens_some = opens_some or is_encrypted(backup.path)
            backup.check_signature(keys)
            heads.append((backup.path.name, Head(backup.about.events, backup.about.head, backup.about.made_at)))
        except DataFileError as problem:
            if isinstance(each, Path) and problem.code == "live_backup.wrong_secret":
                unopened.append(each.name)
            else:
                faults.append(problem.message)
    if unopened and not opens_some:
        raise DataFileError("live_backup.opens_none", folder=folder.backups, number=len(unopened))
    return SignedHeads(tuple(heads), kept, len(heads) - kept, tuple(faults), tuple(unopened))
