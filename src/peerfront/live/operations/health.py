"""Is a study set up well: what Django says about a server, who can read its secrets, whether its newest events fit."""

import stat
import sys

from peerfront.live.folder import LiveFolder
from peerfront.live.operations.opening import unapplied_migrations
from peerfront.live.operations.running import deployment_checks
from peerfront.live.records import models
from peerfront.live.records.database import DatabaseRecords, link_of
from peerfront.live.rules.chain import FIRST

NEWEST = 1_000
"""Events at the end of the chain that are looked at; `verify` looks at all."""


def findings(folder: LiveFolder) -> list[str]:
    """What should be mended, in words; nothing if all is well."""
    found = deployment_checks() + _readable_by_others(folder)
    if missing := unapplied_migrations():
        return [*found, f"{len(missing)} changes of the tables are missing: start the server with --migrate."]
    if DatabaseRecords().study() is None:
        return [*found, "The study has not begun."]
    return found + newest_events()


def newest_events() -> list[str]:
    """Whether the newest events follow one another; quick, whatever the number of events."""
    stored = list(models.Event.objects.order_by("-number")[:NEWEST])[::-1]
    before = stored[0].before if stored and stored[0].number > 1 else FIRST
    for event in stored:
        link = link_of(event)
        if link.before != before or link.hash != link.content_hash:
            return [f"Event {event.number} does not follow the one before it: run peerfront live verify."]
        before = link.hash
    return []


def _readable_by_others(folder: LiveFolder) -> list[str]:
    if sys.platform == "win32":
        return []  # permissions are lists there, which os.stat does not tell
    path = folder.path / "keys.json"
    others = path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return [f"{path} can be read by others than its owner: chmod 600 {path}."] if others else []
