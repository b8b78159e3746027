"""Back-ups, written and restored: one file with all of a study but its secret keys, for SQLite and PostgreSQL alike.

A back-up is a zip file of plain text: the events, exactly as they were chained by hashes; who may log in (with hashes
of passwords); contact details as they are encrypted; the fitted models. The other tables are not in it: they follow
from the events, and a restore rebuilds them by the rules. This is why a study can move between databases and
computers, why no database tool is needed, and why a restore can be verified. A signed manifest protects everything that
is not in the chain of events (`backup_files`).

Nothing is locked: everything is read as of one moment, so that users and contacts match the events, and answers that
are erased meanwhile are still complete.
"""

import base64
import hashlib
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from django.apps import apps as tables_of_today
from django.apps.registry import Apps
from django.conf import settings
from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from peerfront import __version__
from peerfront.foundation.errors import DataFileError, OutputExists, SettingError
from peerfront.foundation.files import make_folder
from peerfront.foundation.locks import is_leftover, remove_leftovers, temporary_name
from peerfront.web.live.folder import LiveFolder
from peerfront.web.live.operations.backup_files import (
    ABOUT,
    CONTACTS,
    EVENTS,
    FORMAT,
    MANIFEST,
    MODELS,
    SITE,
    STAFF,
    About,
    BackupFile,
    Manifest,
)
from peerfront.web.live.operations.encrypted_files import SUFFIX, EncryptedWriter
from peerfront.web.live.operations.opening import migrate, unapplied_migrations
from peerfront.web.live.operations.registers import registers, state_registers
from peerfront.web.live.operations.signed_heads import keep_head
from peerfront.web.live.operations.staff import accepted, answer_here, ask_here
from peerfront.web.live.operations.verification import compare
from peerfront.web.live.records import models
from peerfront.web.live.records.contacts import readable
from peerfront.web.live.records.database import columns_of, insertion, one_moment
from peerfront.web.live.records.recording import event_row, last_event
from peerfront.web.live.rules.actions import Action, roles_from, roles_text
from peerfront.web.live.rules.chain import FIRST, Link, checked
from peerfront.web.live.rules.deciding import Answer, Refused
from peerfront.web.live.rules.effects import Contradiction, State, rebuild
from peerfront.web.live.rules.requests import NoteAction

_NAME = re.compile(r"backup-\d{8}T\d{6}Z(-\d+)?\.zip(\.enc)?")
_COMPRESSION = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 1}  # higher levels take longer and save little


@dataclass(frozen=True)
class Backup:
    """A back-up in the study's folder."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def created_at(self) -> datetime:
        return datetime.strptime(self.name[7:23], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)

    @property
    def order(self) -> tuple[str, int]:
        """The sort key: time, and within a second the order of creation."""
        number = self.name[23:].removeprefix("-").partition(".")[0]
        return self.name[7:23], int(number or 1)

    @property
    def megabytes(self) -> float:
        return self.path.stat().st_size / 1e6


def new_name(folder: LiveFolder, at: datetime | None = None, *, encrypted: bool = False) -> str:
    """The name of the next back-up, with its time."""
    stem = (at or timezone.now()).astimezone(UTC).strftime("backup-%Y%m%dT%H%M%SZ")
    taken = {each.name.removesuffix(SUFFIX) for each in listed(folder)}
    names = [f"{stem}.zip", *(f"{stem}-{number}.zip" for number in range(2, 100))]
    return next(name for name in names if name not in taken) + (SUFFIX if encrypted else "")


def listed(folder: LiveFolder) -> list[Backup]:
    """The back-ups in the study's folder, the newest first."""
    backups = [Backup(path) for path in folder.backups.glob("backup-*.zip*") if _NAME.fullmatch(path.name)]
    return sorted(backups, key=lambda each: each.order, reverse=True)


def named(folder: LiveFolder, name: str) -> Backup | None:
    """A back-up of the study's folder by its name; other files cannot be reached."""
    return next((each for each in listed(folder) if each.name == name), None)


def check_place(path: Path) -> None:
    """Refuse an existing file, and create the folder of a new one."""
    if path.exists():
        raise OutputExists("live_backup.exists", path=path)
    make_folder(path.parent)


@one_moment()
def write_backup(folder: LiveFolder, path: Path, secret: bytes | None = None, tables: Apps = tables_of_today) -> Path:
    """Write a back-up to a new file, completely or not at all, readable only by its owner; encrypted with a secret.

    `tables` are those of an earlier version before they are migrated.
    """
    check_place(path)
    remove_leftovers(path.parent)  # of killed back-ups
    temporary = path.parent / temporary_name()
    try:
        temporary.touch(mode=0o600)
        with temporary.open("wb") as file:
            target = file if secret is None else EncryptedWriter(file, secret)
            with zipfile.ZipFile(target, "w", **_COMPRESSION) as archive:  # type: ignore[call-overload]
                _write(archive, folder, tables)
            if isinstance(target, EncryptedWriter):
                target.close()
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as problem:
        raise DataFileError("live_backup.cannot_write", path=path, problem=problem.strerror) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    if tables is tables_of_today:  # heads begin once an earlier version's tables are up to date
        keep_head(folder)
    return path


def remove_all_but(folder: LiveFolder, newest: int) -> list[Backup]:
    """Remove all but the newest back-ups of the study's folder; return the removed ones."""
    gone = listed(folder)[newest:]
    for each in gone:
        each.path.unlink()
    return gone


def _write(archive: zipfile.ZipFile, folder: LiveFolder, tables: Apps) -> None:
    digests: dict[str, str] = {}

    def add(name: str, parts: Iterable[bytes]) -> None:
        digest = hashlib.sha256()
        with archive.open(name, "w", force_zip64=True) as file:
            for part in parts:
                file.write(part)
                digest.update(part)
        digests[name] = digest.hexdigest()

    def add_lines(name: str, rows: Iterable[dict[str, Any]]) -> None:
        add(name, (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows))

    staff, contacts = list(_staff(tables)), list(_contacts(tables))
    add_lines(STAFF, staff)
    add_lines(CONTACTS, contacts)
    n_events, head = last_event()
    add_lines(EVENTS, _events(n_events))
    add(SITE, [(folder.path / SITE).read_bytes()])
    for path in sorted(folder.models.rglob("*")):
        with suppress(FileNotFoundError):  # a planning job may remove models that no plan uses
            if path.is_file() and not is_leftover(path.name):
                add(MODELS + path.relative_to(folder.models).as_posix(), [path.read_bytes()])
    about = About(__version__, timezone.now().isoformat(), n_events, head, len(staff), len(contacts))
    add(ABOUT, [(json.dumps({"format": FORMAT, **asdict(about)}, indent=2) + "\n").encode()])
    archive.writestr(MANIFEST, Manifest(digests, n_events, head).text(folder.keys))


def _events(last: int) -> Iterator[dict[str, Any]]:
    stored = models.Event.objects.filter(number__lte=last).order_by("number")
    for number, before, digest, data in stored.values_list("number", "before", "hash", "data").iterator(2_000):
        yield {"number": number, "before": before, "hash": digest, "data": data}


def _staff(tables: Apps) -> Iterator[dict[str, Any]]:
    users: Any = tables.get_model("auth", "User")
    for user in users.objects.select_related("member").order_by("pk"):
        member = getattr(user, "member", None)
        yield {
            "name": user.username,
            "password": user.password,
            "active": user.is_active,
            "last_login": user.last_login.isoformat() if user.last_login else None,
            "role": (getattr(member, "roles", None) or member.role) if member else None,  # one role until 0.3
            "site": member.site_id if member else None,
        }


def _contacts(tables: Apps) -> Iterator[dict[str, Any]]:
    contacts: Any = tables.get_model("records", "Contact")
    for each in contacts.objects.order_by("person_id").iterator(chunk_size=2_000):
        sealed = base64.b64encode(bytes(each.sealed)).decode()
        yield {"person": each.person_id, "sealed": sealed, "written_at": each.written_at.isoformat()}


def back_up(
    folder: LiveFolder, path: Path, note: Callable[[NoteAction], Answer], secret: bytes | None = None
) -> Answer:
    """Write a back-up and read it back, then note its name and the last hash in it; what cannot be noted goes again.

    A back-up that failed is not noted as made.
    """
    check_place(path)
    try:
        answered = note(_note_of(BackupFile(write_backup(folder, path, secret), secret)))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    if isinstance(answered, Refused):
        path.unlink()
    return answered


def _note_of(backup: BackupFile) -> NoteAction:
    details = (("events", str(backup.about.events)), ("head", backup.about.head))
    return NoteAction(Action.BACK_UP, backup.path.name[:100], details)


def back_up_here(folder: LiveFolder, out: Path | None, secret: bytes | None = None) -> Path:
    """Make a back-up from the command line."""
    path = out if out is not None else folder.backups / new_name(folder, encrypted=secret is not None)
    accepted(back_up(folder, path, answer_here, secret))
    return path


def upgrade(folder: LiveFolder) -> Path | None:
    """Bring the tables up to date; before that, back up a study of an earlier version in a form that it can restore."""
    path = None
    if unapplied_migrations() and models.Event._meta.db_table in connection.introspection.table_names():
        path = write_backup(folder, folder.backups / new_name(folder), tables=_tables_as_they_are())
    migrate()
    if path is not None:
        ask_here(_note_of(BackupFile(path)))
    return path


def _tables_as_they_are() -> Apps:
    """The tables as the applied migrations have made them."""
    loader = MigrationExecutor(connection).loader
    applied = [each for each in loader.applied_migrations if each in loader.graph.nodes]
    return cast(Apps, loader.project_state(applied).apps)


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
            restored = _restored(backup, folder)
    except (Contradiction, IntegrityError, DataError) as fault:
        raise DataFileError("live_backup.contradiction", path=backup.path, fault=type(fault).__name__) from None
    keep_head(folder)
    return restored


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
    expected = registers(link.event for link in links)
    if expected.bound is None or expected.other_keys(settings.KEYS):
        state_registers()
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
            models.Member.objects.create(user=user, roles=roles_text(roles_from(row["role"])), site_id=row["site"])
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
        insertion(models.Event, map(event_row, chain)).write()
        for kind, model in models.FOLLOWING.items():
            insertion(model, map(columns_of, cast("Iterable[Any]", state.table(kind).values()))).write()
    return state
