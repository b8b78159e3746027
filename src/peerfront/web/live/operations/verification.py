"""Check that the chain of events is intact, and that every row of the tables follows from it."""

import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, Remedy, note
from peerfront.web.live.folder import LiveFolder
from peerfront.web.live.operations.opening import unapplied_migrations
from peerfront.web.live.operations.serving import deployment_checks
from peerfront.web.live.records import models
from peerfront.web.live.records.contacts import readable
from peerfront.web.live.records.database import DatabaseRecords, link_of, one_moment, table
from peerfront.web.live.records.recording import event_columns
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

    @property
    def whole(self) -> bool:
        return not self.faults


def verify() -> Verification:
    """Read all events, rebuild all tables in memory, and compare, as of one moment and without locking."""
    with one_moment():
        links, faults = _links()
        head = links[-1].hash if links else FIRST
        try:
            state = rebuild(checked(links))
        except (DataFileError, Contradiction) as broken:
            message = (
                broken.message
                if isinstance(broken, DataFileError)
                else note("live_records.broken", problem=str(broken))
            )
            return Verification(len(links), head, 0, (message,))
        rows, differences = compare(state)
    return Verification(len(links), head, rows, tuple(_some(differences + faults)))


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
NEWEST_CONTACTS = 20


def findings(folder: LiveFolder) -> list[Message]:
    """The problems to repair; empty if all is well."""
    faults = deployment_checks() + _readable_by_others(folder)
    if missing := unapplied_migrations():
        return [*faults, note("live_health.tables", number=len(missing), remedy=Remedy("migrate", True))]
    if DatabaseRecords().study() is None:
        return [*faults, note("live_health.not_begun")]
    contacts = models.Contact.objects.order_by("-written_at").values_list("sealed", flat=True)[:NEWEST_CONTACTS]
    if not all(readable(bytes(sealed)) for sealed in contacts):
        return [*faults, *newest_events(), note("live_health.other_keys")]
    return faults + newest_events()


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


def _readable_by_others(folder: LiveFolder) -> list[Message]:
    if sys.platform == "win32":
        return []  # permissions are lists there, which os.stat does not show
    private = [folder.path / "keys.json"]
    if _open_to_others(folder.path):  # otherwise nobody else can reach the files in it
        private += [folder.sqlite_file, folder.backups, folder.models, folder.logs]
    return [
        note("live_health.open_to_others", path=path, quoted=quote(str(path)))
        for path in private
        if _open_to_others(path)
    ]


def _open_to_others(path: Path) -> bool:
    return path.exists() and bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
