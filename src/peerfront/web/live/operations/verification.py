"""Check that the chain of events is intact and signed, and that tables, users and contact details follow from it."""

import hmac
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, note
from peerfront.web.live.folder import FOLDER, Keys, LiveFolder
from peerfront.web.live.operations.registers import compare_registers, registers
from peerfront.web.live.operations.signed_heads import SignedHeads, signed_heads
from peerfront.web.live.records import models
from peerfront.web.live.records.database import link_of, one_moment, table
from peerfront.web.live.records.recording import event_columns, signature
from peerfront.web.live.rules.chain import FIRST, Link, checked
from peerfront.web.live.rules.effects import Contradiction, State, rebuild

_MOST_LISTED = 20
_COLUMNS = ("request_key", "part", "kind", "actor", "site", "at")


@dataclass(frozen=True)
class Verification:
    """The result: what was compared, and what differs."""

    events: int
    head: str
    """The hash of the last event; if it is also noted elsewhere, nobody can rewrite the past unnoticed."""
    rows: int
    faults: tuple[Message, ...]
    notes: tuple[Message, ...] = ()
    """What was stated once, such as the users at an upgrade, and so is known from that event on only."""
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
    `secret` is what encrypted ones of these were encrypted with.
    """
    folder = folder or LiveFolder(Path(os.environ[FOLDER]))
    keys = folder.keys
    with one_moment():
        heads = signed_heads(folder, elsewhere, secret)  # before the first query, which fixes the moment
        links, faults = _links()
        head = links[-1].hash if links else FIRST
        try:
            events = checked(links)
            state = rebuild(events)
        except (DataFileError, Contradiction) as broken:
            message = (
                broken.message
                if isinstance(broken, DataFileError)
                else note("live_records.broken", problem=str(broken))
            )
            return Verification(len(links), head, 0, (message,))
        expected = registers(events)
        rows, differences = compare(state)
        hashes = [link.hash for link in links]
        if "secret_key" in (others := expected.other_keys(keys)):
            fault = _other_key(heads, hashes, folder, others)
            return Verification(len(links), head, rows, (fault, *_some(differences + faults)), bound=True)
        if others:
            faults.append(note("live_records.keys_changed", names=others))
        faults += [*_unsigned(hashes, keys, expected.bound), *heads.faults, *heads.differences(hashes)]
        users = contacts = 0
        if expected.bound:
            users, contacts, odd = compare_registers(expected)
            faults += odd if folder.heads.exists() else [*odd, note("live_records.no_heads", file=folder.heads.name)]
    found = tuple(_some(differences + faults))
    bound = expected.bound is not None
    return Verification(
        len(links), head, rows, found, tuple(expected.notes), bound, users, contacts, heads.kept, heads.backups
    )


def _unsigned(hashes: Sequence[str], keys: Keys, bound: int | None) -> Iterator[Message]:
    """Find the first event that has no signature, although it or an earlier one must have it, or has a wrong one."""
    stored, signed = dict(models.Event.objects.values_list("number", "signature").iterator(5_000)), False
    for number, digest in enumerate(hashes, start=1):
        present = stored.get(number, "")
        signed = signed or bool(present) or number == bound
        if signed and not hmac.compare_digest(present.encode(), signature(number, digest, keys).encode()):
            yield note("live_records.not_signed", number=number)
            return


def _other_key(heads: SignedHeads, hashes: Sequence[str], folder: LiveFolder, names: list[str]) -> Message:
    """Say whether the database is of another study, or the keys are: by the heads that these keys have signed."""
    if heads.heads:
        return note("live_records.other_study", file=heads.heads[0][0])
    kept = folder.heads.read_text(errors="replace") if folder.heads.exists() else ""
    if any(digest in kept for digest in hashes):
        return note("live_records.keys_changed", names=names)
    return note("live_records.other_study_or_keys", names=names)


def _links() -> tuple[list[Link], list[Message]]:
    """Read the chain, and list events whose columns differ from their content; the columns only help to search."""
    links, faults = [], []
    for stored in models.Event.objects.order_by("number").iterator(chunk_size=2_000):
        try:
            link = link_of(stored)
        except (ValueError, RecursionError):  # not JSON: the check of the chain reports it
            link = Link(stored.number, stored.before, {}, stored.hash)
        links.append(link)
        try:
            columns = event_columns(link)
        except (KeyError, TypeError, ValueError):
            continue  # not an event: the check of the chain reports it
        if any(columns[name] != getattr(stored, name) for name in _COLUMNS):
            faults.append(note("live_records.columns_differ", number=stored.number))
    return links, faults


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
