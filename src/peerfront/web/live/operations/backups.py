"""Back-ups: one file with everything of a study but its secret keys, for SQLite and PostgreSQL alike.

A back-up is a zip file of plain text: the events, exactly as they were chained by hashes; who may log in (with hashes
of passwords); contact details as they are encrypted; the fitted models. The other tables are not in it: they follow
from the events, and a restore rebuilds them by the rules. This is why a study can move between databases and
computers, why no database tool is needed, and why a restore can be verified. A signed manifest protects everything that
is not in the chain of events (`backup_files`).

Nothing is locked: everything is read as of one moment, so that users and contacts match the events, and answers that
are erased meanwhile are still complete.
"""

import base64
import json
import os
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from django.contrib.auth.models import User
from django.utils import timezone

from peerfront import __version__
from peerfront.foundation.errors import DataFileError, OutputExists
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
    Manifest,
    digest_of,
)
from peerfront.web.live.operations.staff import ask_here
from peerfront.web.live.records import models
from peerfront.web.live.records.verification import one_moment
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.requests import NoteAction

_NAME = re.compile(r"backup-\d{8}T\d{6}Z(-\d+)?\.zip")
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
        number = self.name[23:].removeprefix("-").removesuffix(".zip")
        return self.name[7:23], int(number or 1)

    @property
    def megabytes(self) -> float:
        return self.path.stat().st_size / 1e6


def new_name(folder: LiveFolder, at: datetime | None = None) -> str:
    """The name of the next back-up, with its time."""
    stem = (at or timezone.now()).astimezone(UTC).strftime("backup-%Y%m%dT%H%M%SZ")
    names = [f"{stem}.zip", *(f"{stem}-{number}.zip" for number in range(2, 100))]
    return next(name for name in names if not (folder.backups / name).exists())


def listed(folder: LiveFolder) -> list[Backup]:
    """The back-ups in the study's folder, the newest first."""
    backups = [Backup(path) for path in folder.backups.glob("backup-*.zip") if _NAME.fullmatch(path.name)]
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
def write_backup(folder: LiveFolder, path: Path) -> Path:
    """Write a back-up to a new file, completely or not at all, readable only by its owner."""
    check_place(path)
    remove_leftovers(path.parent)  # of killed back-ups
    temporary = path.parent / temporary_name()
    try:
        temporary.touch(mode=0o600)
        with temporary.open("wb") as file:
            with zipfile.ZipFile(file, "w", **_COMPRESSION) as archive:  # type: ignore[call-overload]
                _write(archive, folder)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as problem:
        raise DataFileError("live_backup.cannot_write", path=path, problem=problem.strerror) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return path


def remove_all_but(folder: LiveFolder, newest: int) -> list[Backup]:
    """Remove all but the newest back-ups of the study's folder; return the removed ones."""
    gone = listed(folder)[newest:]
    for each in gone:
        each.path.unlink()
    return gone


class _Contents:
    """The files written into an archive, with the digest of each."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.digests: dict[str, str] = {}

    def add(self, name: str, parts: Iterable[bytes]) -> None:
        with self._archive.open(name, "w", force_zip64=True) as file:
            self.digests[name] = digest_of(_written(parts, file))

    def add_lines(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        self.add(name, (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows))


def _written(parts: Iterable[bytes], file: IO[bytes]) -> Iterator[bytes]:
    for part in parts:
        file.write(part)
        yield part


def _write(archive: zipfile.ZipFile, folder: LiveFolder) -> None:
    contents = _Contents(archive)
    staff, contacts = list(_staff()), list(_contacts())
    contents.add_lines(STAFF, staff)
    contents.add_lines(CONTACTS, contacts)
    last = models.Event.objects.order_by("-number").values_list("number", "hash").first()
    n_events, head = last or (0, "")
    contents.add_lines(EVENTS, _events(n_events))
    contents.add(SITE, [(folder.path / SITE).read_bytes()])
    for path in sorted(folder.models.rglob("*")):
        with suppress(FileNotFoundError):  # a planning job may remove models that no plan uses
            if path.is_file() and not is_leftover(path.name):
                contents.add(MODELS + path.relative_to(folder.models).as_posix(), [path.read_bytes()])
    about = {
        "format": FORMAT,
        "peerfront": __version__,
        "made_at": timezone.now().isoformat(),
        "events": n_events,
        "head": head,
        "staff": len(staff),
        "contacts": len(contacts),
    }
    contents.add(ABOUT, [(json.dumps(about, indent=2) + "\n").encode()])
    archive.writestr(MANIFEST, Manifest(contents.digests, n_events, head).text(folder.keys))


def _events(last: int) -> Iterator[dict[str, Any]]:
    stored = models.Event.objects.filter(number__lte=last).order_by("number")
    for number, before, digest, data in stored.values_list("number", "before", "hash", "data").iterator(2_000):
        yield {"number": number, "before": before, "hash": digest, "data": data}


def _staff() -> Iterator[dict[str, Any]]:
    for user in User.objects.select_related("member").order_by("pk"):
        member = getattr(user, "member", None)
        yield {
            "name": user.username,
            "password": user.password,
            "active": user.is_active,
            "last_login": user.last_login.isoformat() if user.last_login else None,
            "role": member.role if member else None,
            "site": member.site_id if member else None,
        }


def _contacts() -> Iterator[dict[str, Any]]:
    for each in models.Contact.objects.order_by("person_id").iterator(chunk_size=2_000):
        sealed = base64.b64encode(bytes(each.sealed)).decode()
        yield {"person": each.person_id, "sealed": sealed, "written_at": each.written_at.isoformat()}


def backup_note(name: str) -> NoteAction:
    """The note of a back-up: its name, and the last hash, with which events can be compared later."""
    last = models.Event.objects.order_by("-number").values_list("number", "hash").first()
    details = () if last is None else (("events", str(last[0])), ("head", last[1]))
    return NoteAction(Action.BACK_UP, name[:100], details)


def back_up_here(folder: LiveFolder, out: Path | None) -> Path:
    """Make a back-up from the command line."""
    path = out if out is not None else folder.backups / new_name(folder)
    check_place(path)  # before the note
    ask_here(backup_note(path.name))
    return write_backup(folder, path)
