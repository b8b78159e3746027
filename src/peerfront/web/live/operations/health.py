"""Check the set-up of a study: Django's checks of a server, access to its secrets, its keys, its newest events."""

import stat
import sys
from pathlib import Path
from shlex import quote

from peerfront.foundation.messages import Message, Remedy, note
from peerfront.web.live.folder import LiveFolder
from peerfront.web.live.operations.opening import unapplied_migrations
from peerfront.web.live.operations.serving import deployment_checks
from peerfront.web.live.records import models
from peerfront.web.live.records.contacts import readable
from peerfront.web.live.records.database import DatabaseRecords, link_of
from peerfront.web.live.rules.chain import FIRST

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
    return faults + newest_events() + _unreadable_contacts()


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


def _unreadable_contacts() -> list[Message]:
    newest = models.Contact.objects.order_by("-written_at").values_list("sealed", flat=True)[:NEWEST_CONTACTS]
    if all(readable(bytes(sealed)) for sealed in newest):
        return []
    return [note("live_health.other_keys")]


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
