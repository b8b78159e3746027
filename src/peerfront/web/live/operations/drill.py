"""The restore drill: the newest back-up is restored beside the study, verified there, and removed again.

Django knows one database in a process, so the restore runs in a process of its own, into SQLite whatever the study
itself uses. The folder lies in the study's folder and not among the temporary files of the computer: it holds
everybody's answers, and should be as well protected as the study. A drill is noted in the audit, with its result.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from peerfront.foundation.errors import DataFileError, PeerfrontError
from peerfront.foundation.locks import temporary_folder
from peerfront.foundation.messages import Message, note
from peerfront.web.live.folder import FOLDER, LiveFolder
from peerfront.words.stored_text import as_data, from_data


@dataclass(frozen=True)
class Drill:
    """The result of a restore drill."""

    backup: str
    events: int = 0
    head: str = ""
    """The hash of the last event in the back-up."""
    rows: int = 0
    """Rows that were compared with the events."""
    staff: int = 0
    contacts: int = 0
    newer: int = 0
    """Events that the study has recorded since."""
    seconds: float = 0.0
    faults: tuple[Message, ...] = ()

    @property
    def exit_code(self) -> int:
        return 1 if self.faults else 0


def hold_drill(folder: LiveFolder, secret: Callable[[], bytes] | None = None) -> Drill:
    """Restore the newest back-up of an open study, verify it, remove it, and note the result in the audit.

    `secret` is asked for what an encrypted back-up was encrypted with.
    """
    from peerfront.web.live.operations.backup_files import BackupFile
    from peerfront.web.live.operations.backups import listed
    from peerfront.web.live.operations.encrypted_files import is_encrypted
    from peerfront.web.live.operations.staff import ask_here
    from peerfront.web.live.rules.actions import Action
    from peerfront.web.live.rules.requests import NoteAction

    backups = listed(folder)
    if not backups:
        raise DataFileError("live_drill.no_backup", path=folder.backups)
    newest, given = backups[0].path, b""
    if secret is not None and is_encrypted(newest):
        given = secret()
        BackupFile(newest, given)  # with another secret nothing is tried, and nothing noted
    drill = _compared_with_study(_restored_apart(newest, folder, given))
    whole = "no" if drill.faults else "yes"
    details = (("events", str(drill.events)), ("head", drill.head), ("whole", whole))
    ask_here(NoteAction(Action.TRY_RESTORE, drill.backup[:100], details))
    return drill


def _restored_apart(backup: Path, folder: LiveFolder, secret: bytes) -> Drill:
    """Restore and verify a back-up in a process of its own."""
    began = time.monotonic()
    place = temporary_folder(folder.path)
    own = (FOLDER, "DATABASE_URL", "DJANGO_SETTINGS_MODULE")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    code = f"import sys; from {__name__} import restore_alone; restore_alone(*sys.argv[1:])"
    words = (str(backup), str(place / "study"), str(folder.path / "keys.json"))
    try:
        process = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, input=secret, env=environment
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)
    seconds = time.monotonic() - began
    try:
        result = json.loads(process.stdout)
    except ValueError:  # it was killed, as for want of memory
        fault = note("live_drill.process_ended", code=process.returncode)
        return Drill(backup.name, seconds=seconds, faults=(fault,))
    return Drill(backup.name, **result | {"faults": tuple(from_data(result["faults"]))}, seconds=seconds)


def restore_alone(backup: str, folder: str, keys: str) -> None:
    """Restore a back-up into a new folder, verify it, and print the counts as JSON; for a process of its own.

    What it was encrypted with comes by standard input.
    """
    from django.db import DatabaseError

    from peerfront.web.live.operations.backup_files import BackupFile, keys_from
    from peerfront.web.live.operations.opening import new_folder

    result: dict[str, object] = {}
    faults: list[Message] = []
    try:
        secret = sys.stdin.buffer.read() or None
        file, given, study = BackupFile(Path(backup), secret), keys_from(Path(keys)), LiveFolder(Path(folder))
        assert given is not None
        file.check_signature(given)
        with new_folder(study, file.serving, given):
            from peerfront.web.live.operations.backups import restore
            from peerfront.web.live.operations.verification import verify

            restored, verified = restore(file, study), verify()
        result = {name: getattr(restored, name) for name in ("events", "head", "rows", "staff", "contacts")}
        faults += verified.faults
        if restored.unreadable:
            faults.append(note("live_drill.unreadable", number=restored.unreadable))
    except PeerfrontError as problem:
        faults.append(problem.message)
    except (OSError, DatabaseError) as problem:  # such as a full disk
        why = (str(problem).strip().splitlines() or [type(problem).__name__])[0]
        faults.append(note("live_drill.not_restored", problem=why))
    sys.stdout.write(json.dumps({**result, "faults": [as_data(each) for each in faults]}))


def _compared_with_study(drill: Drill) -> Drill:
    """Compare the back-up's last event with that of the study, so that it is no back-up of something else."""
    from peerfront.web.live.records.models import Event

    if drill.faults:
        return drill
    newer = newer_events(drill.events)
    if Event.objects.filter(number=drill.events, hash=drill.head).exists():
        return replace(drill, newer=newer)
    return replace(drill, newer=newer, faults=(note("live_drill.other_history", number=drill.events),))


def newer_events(number: int) -> int:
    """How many events came after this one, without notes of back-ups and of drills."""
    from django.db.models import Q

    from peerfront.web.live.records.models import Event

    about_backups = Q(kind="action_noted") & (Q(data__contains='"back_up"') | Q(data__contains='"try_restore"'))
    return Event.objects.filter(number__gt=number).exclude(about_backups).count()


def newest_drill() -> tuple[datetime, bool] | None:
    """When the last drill was held, and whether all was well; None if there was none."""
    from peerfront.web.live.records.database import link_of
    from peerfront.web.live.records.models import Event
    from peerfront.web.live.rules.actions import Action
    from peerfront.web.live.rules.events import ActionNoted

    noted = Event.objects.filter(kind="action_noted", data__contains=f'"{Action.TRY_RESTORE.value}"')
    for stored in noted.order_by("-number"):
        fact = link_of(stored).event.fact
        if isinstance(fact, ActionNoted) and fact.action is Action.TRY_RESTORE:
            return stored.at, dict(fact.details).get("whole") == "yes"
    return None
