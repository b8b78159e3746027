"""Check that the chain of events is intact and signed, and that tables, users and contact details follow from it."""

import hmac
import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, note
from peerfront.web.live.folder import FOLDER, Keys, LiveFolder
from peerfront.web.live.operations.registers import Registers, compare_registers
from peerfront.web.live.operations.signed_heads import SignedHeads, signed_heads
from peerfront.web.live.records import models
from peerfront.web.live.records.database import link_of, one_moment, table
from peerfront.web.live.records.recording import event_columns, signature
from peerfront.web.live.rules.chain import FIRST, Link, checked_events
from peerfront.web.live.rules.effects import Contradiction, State

_MOST_LISTED = 20
_COLUMNS = ("request_key", "part", "kind", "actor", "site", "at")
_READ = ("number", "before", "hash", "data", "signature", *_COLUMNS)


@dataclass(frozen=True)
class Verification:
    """The result: what was compared, and what differs."""

    events: int
    head: str
    """The hash of the last event; if it is also noted elsewhere, nobody can rewrite the past unnoticed."""
    rows: int
    faults: tuple[Message, ...]
    notes: tuple[Message, ...] = ()
    """What was stated once, such as the users at an upgrade, and so is known from that event on only; and back-ups that
    were not compared."""
    bound: bool = False
    """Whether an event says which keys the study has; otherwise users and contact details cannot be compared."""
    users: int = 0
    contacts: int = 0
    heads: int = 0
    """Signed heads in the folder with which the chain was compared."""
    backups: int = 0
    """Back-ups with whose signed heads it was compared."""

    @property
    def whole(self) -> bool:
        return not self.faults


def verify(
    folder: LiveFolder | None = None, elsewhere: Sequence[Path] = (), secret: bytes | None = None
) -> Verification:
    """Compare the database with its events and with all signed heads, as of one moment and without locking.

    The folder is that of the study which is open, unless another is given; `elsewhere` are back-ups outside it, and
    `secret` is what encrypted ones, in the folder and outside it, were encrypted with.
    """
    folder = folder or LiveFolder(Path(os.environ[FOLDER]))
    keys = folder.keys
    with one_moment():
        heads = signed_heads(folder, elsewhere, secret)  # before the first query, which fixes the moment
        chain, state, expected = _StoredChain(keys, heads.numbers), State(keep_events=False), Registers()
        if (broken := _follow(chain, state, expected)) is not None:
            return Verification(chain.last, chain.head, 0, (broken,))
        rows, differences = compare(state)
        faults = chain.faults
        if "secret_key" in (others := expected.other_keys(keys)):
            fault = _other_key(heads, folder, others)
            return Verification(chain.last, chain.head, rows, (fault, *_some(differences + faults)), bound=True)
        if others:
            faults.append(note("live_records.keys_changed", names=others))
        faults += [*chain.unsigned(bound=expected.bound is not None), *heads.faults]
        faults += heads.differences(chain.hashes, chain.last)
        users = contacts = 0
        if expected.bound:
            users, contacts, odd = compare_registers(expected)
            faults += odd if folder.heads.exists() else [*odd, note("live_records.no_heads", file=folder.heads.name)]
    found, notes = tuple(_some(differences + faults)), list(expected.notes)
    bound = expected.bound is not None
    if heads.unopened:
        notes.append(note("live_records.not_opened", number=len(heads.unopened), names=heads.unopened[:10]))
    return Verification(
        chain.last, chain.head, rows, found, tuple(notes), bound, users, contacts, heads.kept, heads.backups
    )


def _follow(chain: "_StoredChain", state: State, expected: Registers) -> Message | None:
    """Rebuild state and registers from the chain, one event at a time; say why, if the events cannot be believed.

    What breaks the chain is said rather than how its events contradict each other, so all of it is read.
    """
    contradiction: Message | None = None
    links = chain.links()
    try:
        for number, event in enumerate(checked_events(links), start=1):
            expected.follow(number, event)
            if expected.bound == number:
                chain.bind()
            if contradiction is None:
                try:
                    state.add(event)
                except Contradiction as broken:
                    contradiction = note("live_records.broken", problem=str(broken))
    except DataFileError as broken:
        for _ in links:
            pass  # to its end, whose number and hash are shown
        return broken.message
    return contradiction


class _StoredChain:
    """The stored events, read one at a time, and what shows on the way: columns that differ, signatures, hashes."""

    def __init__(self, keys: Keys, kept: Collection[int]) -> None:
        self.keys, self.kept = keys, kept
        self.hashes: dict[int, str] = {}
        """The hashes of the `kept` events."""
        self.last, self.head = 0, FIRST
        self.faults: list[Message] = []
        """Events whose columns differ from their content; the columns only help to search."""
        self._signed = self._right = False
        self._unsigned: int | None = None
        self._unsigned_since_bound: int | None = None

    def links(self) -> Iterator[Link]:
        """Read all links in order."""
        stored = models.Event.objects.order_by("number").values_list(*_READ)
        for number, before, digest, text, signed, *columns in stored.iterator(chunk_size=2_000):
            try:
                link = Link(number, before, json.loads(text), digest)
            except (ValueError, RecursionError):  # not JSON: the check of the chain reports it
                link = Link(number, before, {}, digest)
            self.last, self.head = self.last + 1, digest
            if self.last in self.kept:
                self.hashes[self.last] = digest
            self._check_signature(digest, signed)
            with suppress(KeyError, TypeError, ValueError):  # not an event: the check of the chain reports it
                content = event_columns(link)
                if columns != [content[name] for name in _COLUMNS]:
                    self.faults.append(note("live_records.columns_differ", number=number))
            yield link

    def _check_signature(self, digest: str, signed: str) -> None:
        self._signed = self._signed or bool(signed)
        right = signature(self.last, digest, self.keys).encode()
        self._right = hmac.compare_digest(signed.encode(), right)
        if self._right:
            return
        if self._signed and self._unsigned is None:
            self._unsigned = self.last
        if self._unsigned_since_bound is None:
            self._unsigned_since_bound = self.last

    def bind(self) -> None:
        """From the present event on, every one must be signed."""
        self._unsigned_since_bound = None if self._right else self.last

    def unsigned(self, *, bound: bool) -> list[Message]:
        """The first event that has no signature, although it or an earlier one must have it, or has a wrong one."""
        numbers = [self._unsigned, self._unsigned_since_bound if bound else None]
        first = min((each for each in numbers if each is not None), default=None)
        return [] if first is None else [note("live_records.not_signed", number=first)]


def _other_key(heads: SignedHeads, folder: LiveFolder, names: list[str]) -> Message:
    """Say whether the database is of another study, or the keys are: by the heads that these keys have signed."""
    if heads.heads:
        return note("live_records.other_study", file=heads.heads[0][0])
    kept = folder.heads.read_text(errors="replace") if folder.heads.exists() else ""
    hashes = models.Event.objects.values_list("hash", flat=True)
    if any(digest in kept for digest in hashes.iterator(chunk_size=2_000)):
        return note("live_records.keys_changed", names=names)
    return note("live_records.other_study_or_keys", names=names)


def compare(state: State) -> tuple[int, list[Message]]:
    """Count the rows of the tables, and list differences from the state rebuilt from the events."""
    faults: list[Message] = []
    rows = 0
    for kind in models.FOLLOWING:
        expected, name = dict(state.table(kind)), models.FOLLOWING[kind]._meta.verbose_name
        for row in table(kind):
            rows += 1
            follows = expected.pop(row.key, None)
            if follows is None:
                faults.append(note("live_records.no_event", row=f"{name} {_named(row.key)}"))
            elif follows != row:
                where = f"{name} {_named(row.key)}"
                faults.append(note("live_records.row_differs", row=where, columns=_difference(row, follows)))
        faults += [note("live_records.row_missing", row=f"{name} {_named(key)}") for key in expected]
    return rows, faults


def _some(faults: list[Message]) -> Iterator[Message]:
    yield from faults[:_MOST_LISTED]
    if len(faults) > _MOST_LISTED:
        yield note("live_records.more", number=len(faults) - _MOST_LISTED)


def _named(key: tuple[str | int, ...]) -> str:
    return " ".join(str(each) for each in key) or "itself"


def _difference(row: object, follows: object) -> list[str]:
    """Name the differing columns, without their contents, which may be sensitive."""
    return [name for name, value in vars(row).items() if vars(follows).get(name) != value]


NEWEST = 1_000
"""Events at the end of the chain that are looked at; `verify` looks at all."""


def newest_events() -> list[Message]:
    """Check the hashes of the newest events only, which is quick."""
    stored = list(models.Event.objects.order_by("-number")[:NEWEST])[::-1]
    before = stored[0].before if stored and stored[0].number > 1 else FIRST
    for event in stored:
        link = link_of(event)
        if link.before != before or link.hash != link.content_hash:
            return [note("live_health.broken_chain", number=event.number)]
        before = link.hash
    return []
