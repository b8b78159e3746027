"""Restore a back-up into an empty folder and an empty database, and verify that it is complete."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, transaction

from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.web.live.folder import LiveFolder
from peerfront.web.live.operations.backup_files import CONTACTS, STAFF, BackupFile
from peerfront.web.live.operations.staff import ask_here
from peerfront.web.live.records import models
from peerfront.web.live.records.contacts import readable
from peerfront.web.live.records.database import columns_of, insertion
from peerfront.web.live.records.recording import event_columns
from peerfront.web.live.records.verification import compare
from peerfront.web.live.rules.actions import Action, Role
from peerfront.web.live.rules.chain import FIRST, Link, checked
from peerfront.web.live.rules.effects import Contradiction
from peerfront.web.live.rules.journal import State, rebuild
from peerfront.web.live.rules.requests import NoteAction


@dataclass(frozen=True)
class Restored:
    """The result of a restore."""

    events: int
    head: str
    """The hash of the last event of the back-up."""
    rows: int
    staff: int
    contacts: int
    unreadable: int
    """Number of contacts that were encrypted with other keys than the folder's."""


def restore(backup: BackupFile, folder: LiveFolder) -> Restored:
    """Fill an empty database and the folder, read everything back, and compare; undo everything if anything differs."""
    try:
        with transaction.atomic():
            return _restored(backup, folder)
    except (Contradiction, IntegrityError, DataError) as fault:
        raise DataFileError("live_backup.contradiction", path=backup.path, fault=type(fault).__name__) from None


def _restored(backup: BackupFile, folder: LiveFolder) -> Restored:
    links = list(backup.links())
    head = links[-1].hash if links else FIRST
    if (len(links), head) != (backup.about.events, backup.about.head):
        raise DataFileError("live_backup.events_missing", path=backup.path)
    state = load(links)
    with backup.faults_as_errors():
        staff, contacts = _restore_staff(backup), _restore_contacts(backup)
    if (staff, contacts) != (backup.about.staff, backup.about.contacts):
        raise DataFileError("live_backup.people_missing", path=backup.path)
    stored = models.Event.objects.order_by("number").values_list("number", "before", "hash")
    same = all(
        row == (link.number, link.before, link.hash)
        for row, link in zip(stored.iterator(chunk_size=5_000), links, strict=True)
    )
    rows, faults = compare(state)
    if not same or faults:
        raise DataFileError("live_backup.differs", faults=faults[:5])
    backup.copy_models(folder.models)
    unreadable = sum(not readable(bytes(sealed)) for sealed in models.Contact.objects.values_list("sealed", flat=True))
    details = (("events", str(len(links))), ("head", head), ("made_at", backup.about.made_at))
    ask_here(NoteAction(Action.RESTORE, backup.path.name[:100], details))
    return Restored(len(links), head, rows, staff, contacts, unreadable)


def _restore_staff(backup: BackupFile) -> int:
    number = 0
    for row in backup.rows(STAFF):
        number += 1
        user = User.objects.create(
            username=row["name"],
            password=row["password"],
            is_active=bool(row["active"]),
            last_login=datetime.fromisoformat(row["last_login"]) if row["last_login"] else None,
        )
        if row["role"] is not None:
            models.Member.objects.create(user=user, role=Role(row["role"]).value, site_id=row["site"])
    return number


def _restore_contacts(backup: BackupFile) -> int:
    contacts = [
        models.Contact(
            person_id=row["person"],
            sealed=base64.b64decode(row["sealed"]),
            written_at=datetime.fromisoformat(row["written_at"]),
        )
        for row in backup.rows(CONTACTS)
    ]
    models.Contact.objects.bulk_create(contacts, batch_size=500)
    return len(contacts)


def load(links: Iterable[Link]) -> State:
    """Write a chain and the rows that follow from it into a database without events, in one transaction."""
    chain = list(links)
    state = rebuild(checked(chain))
    with transaction.atomic():
        if models.Event.objects.exists():
            raise SettingError("live_database.not_empty")
        insertion(models.Event, map(event_columns, chain)).write()
        for kind, model in models.FOLLOWING.items():
            insertion(model, map(columns_of, cast("Iterable[Any]", state.table(kind).values()))).write()
    return state
