"""The check-up of a study on its server (`peerfront live doctor`): what to look at before something is lost.

It writes nothing but what SQLite itself writes while it reads. What cannot be told on the server is not asked: whether
back-ups are copied elsewhere, and whether keys.json is also kept in a safe place.
"""

import ctypes
import http.client
import os
import platform
import shutil
import ssl
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from shlex import quote
from typing import Any, cast

from peerfront import __version__
from peerfront.foundation.checkup import CheckUp, Finding, bad, care, ok
from peerfront.foundation.errors import DataFileError, PeerfrontError
from peerfront.foundation.messages import Message, Remedy, note
from peerfront.web.live.folder import LiveFolder, Serving

DATABASE, RECORDS, DISK, CLOCK, KEYS, VERSIONS, BACKUPS, DRILL, PLANNING, TLS, PERMISSIONS, SETTINGS = (
    note("doctor_subjects.database"), note("doctor_subjects.records"), note("doctor_subjects.disk"),
    note("doctor_subjects.clock"), note("doctor_subjects.keys"), note("doctor_subjects.versions"),
    note("doctor_subjects.backups"), note("doctor_subjects.drill"), note("doctor_subjects.planning"),
    note("doctor_subjects.tls"), note("doctor_subjects.permissions"), note("doctor_subjects.settings"),
)  # fmt: skip
LEAST_MEGABYTES, ENOUGH_MEGABYTES = 200, 1_000
"""Free space on the disk that is bad, or asks for care, however small the study is."""
EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)
"""A clock that shows an earlier time than this version's is wrong."""
QUIET = timedelta(days=60)
"""A study in which nothing happened for longer is over, or the clock is ahead."""
BACKUP_EVERY, BACKUP_AT_LEAST = timedelta(hours=36), timedelta(days=7)
"""Age of the newest back-up from which care is needed, or which is bad, if something was recorded since."""
DRILL_EVERY = timedelta(days=45)
CERTIFICATE_DAYS = 14
OLDEST_POSTGRESQL = 140_000
NEWEST_CONTACTS = 20
_HERE = ("127.0.0.1", "::1", "localhost")
_UNSYNCHRONISED = 5  # what adjtimex answers while no time service keeps the clock


def study_check_up(path: Path) -> CheckUp:
    """Look at a study's folder, database, back-ups and surroundings; Django must not be set up for another one."""
    folder = LiveFolder(path.resolve())
    if not any((folder.path / name).exists() for name in ("keys.json", "site.json", "study.sqlite3")):
        raise DataFileError("live_folder.no_study", path=folder.path, name="keys.json")
    folder.check_finished()
    return CheckUp(tuple(_findings(folder)))


def _findings(folder: LiveFolder) -> Iterator[Finding]:
    closed = []
    for subject, read in ((KEYS, "keys"), (SETTINGS, "serving"), (DATABASE, "database")):
        try:
            getattr(folder, read)
        except PeerfrontError as problem:
            closed.append(bad(subject, problem.message))
    with suppress(OSError):
        yield from _permissions(folder)
        yield _disk(folder)
    if closed:
        yield from closed
        return
    from peerfront.web.live.operations.opening import open_folder

    try:
        open_folder(folder.path)
    except PeerfrontError as problem:
        yield bad(DATABASE, problem.message)
        return
    from django.db import DatabaseError

    try:
        yield from _inside(folder)
    except DatabaseError as problem:
        first_line = (str(problem).strip().splitlines() or [type(problem).__name__])[0]
        yield bad(DATABASE, note("live_database.failed", problem=first_line))
    yield from _https(folder.serving)


def _inside(folder: LiveFolder) -> Iterator[Finding]:
    """What only an open database tells."""
    from peerfront.web.live.operations.opening import unapplied_migrations

    try:
        missing = unapplied_migrations()
    except PeerfrontError as problem:
        yield bad(DATABASE, problem.message)
        return
    yield from _database()
    if missing:
        yield bad(DATABASE, note("live_health.tables", number=len(missing), remedy=Remedy("migrate", True)))
        return
    from peerfront.web.live.records.database import DatabaseRecords

    if DatabaseRecords().study() is None:
        yield bad(RECORDS, note("live_health.not_begun"))
        return
    yield from _records()
    if folder.unwiped.exists():
        yield care(DATABASE, note("live_health.unwiped"))
    yield _clock()
    yield keys_finding(folder)
    yield from _backups(folder)
    yield _drill(folder)
    yield _planning()


# The computer --------------------------------------------------------------------------------------------------------


def _permissions(folder: LiveFolder) -> Iterator[Finding]:
    closed = True
    for message in _open_to_others(folder):
        closed = False
        yield bad(PERMISSIONS, message)
    owner = folder.path.stat().st_uid
    own = [folder.path / "keys.json", folder.path / "site.json", folder.sqlite_file, folder.backups, folder.logs]
    for path in [each for each in own if each.exists() and each.stat().st_uid != owner]:
        closed = False
        yield bad(PERMISSIONS, note("live_doctor.other_owner", path=path, folder=folder.path))
    if not os.access(folder.path, os.R_OK | os.W_OK | os.X_OK):
        closed = False
        yield bad(PERMISSIONS, note("live_doctor.not_writable", path=folder.path))
    if closed:
        yield ok(PERMISSIONS, note("live_doctor.permissions"))


def _open_to_others(folder: LiveFolder) -> list[Message]:
    """Secret files that others than their owner can read."""
    if sys.platform == "win32":
        return []  # permissions are lists there, which os.stat does not show
    private = [folder.path / "keys.json"]
    if _is_open(folder.path):  # otherwise nobody else can reach the files in it
        private += [folder.sqlite_file, folder.backups, folder.models, folder.logs]
    return [
        note("live_health.open_to_others", path=path, quoted=quote(str(path))) for path in private if _is_open(path)
    ]


def _is_open(path: Path) -> bool:
    return path.exists() and bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def _disk(folder: LiveFolder) -> Finding:
    free = shutil.disk_usage(folder.path).free / 1e6
    sizes = [
        each.stat().st_size / 1e6 for each in (folder.sqlite_file, *folder.backups.glob("*.zip*")) if each.exists()
    ]
    return disk_finding(folder.path, free, max(sizes, default=0.0))


def disk_finding(path: Path, free: float, largest: float) -> Finding:
    """Whether there is room for the largest file to be written twice more, as by a back-up and a restore."""
    message = note("live_doctor.disk", path=path, free=free)
    if free < max(LEAST_MEGABYTES, 2 * largest):
        return bad(DISK, note("live_doctor.disk_full", found=message))
    if free < max(ENOUGH_MEGABYTES, 10 * largest):
        return care(DISK, note("live_doctor.disk_filling", found=message))
    return ok(DISK, message)


def _clock() -> Finding:
    from peerfront.web.live.records.recording import clock_state

    state = clock_state()
    if state.fault is not None:
        found, advice = state.fault.messages
        return bad(CLOCK, note("live_doctor.clock_refused", found=found, advice=advice))
    return clock_finding(state.now, state.last_time, synchronised=_is_synchronised())


def clock_finding(now: datetime, last: datetime, *, synchronised: bool | None) -> Finding:
    """Compare a clock by which things are recorded with the last of them and with this version's own time."""
    if now < EARLIEST:
        return bad(CLOCK, note("live_doctor.clock_wrong", now=_shown(now)))
    if now - last > QUIET:
        return care(CLOCK, note("live_doctor.clock_ahead", now=_shown(now), days=(now - last).days))
    if synchronised is False:
        return care(CLOCK, note("live_doctor.clock_alone", now=_shown(now)))
    return ok(CLOCK, note("live_doctor.clock", now=_shown(now)))


def _is_synchronised() -> bool | None:
    """Whether a time service keeps the clock, as the kernel knows; None if it cannot be asked."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        answer = int(ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512)))  # zeros: ask, and change nothing
    except (OSError, AttributeError):
        return None
    return None if answer < 0 else answer != _UNSYNCHRONISED


def _https(serving: Serving) -> Iterator[Finding]:
    from peerfront.web.live.operations.serving import deployment_checks

    for message in deployment_checks():
        yield bad(TLS, message)
    outside = [each for each in serving.hosts if each not in _HERE]
    if serving.tls and outside:
        yield certificate_finding(outside[0])
    elif outside:
        yield care(TLS, note("live_doctor.no_tls", hosts=outside))
    else:
        yield ok(TLS, note("live_doctor.here_only"))


def certificate_finding(host: str, port: int = 443) -> Finding:
    """Ask the server by its public address, as browsers do: is the certificate trusted, for how long, who answers?"""
    context = ssl.create_default_context()
    asked = http.client.HTTPSConnection(host, port, timeout=5, context=context)
    try:
        asked.connect()
        certificate = cast(dict[str, Any], asked.sock.getpeercert())
        asked.request("GET", "/healthz")
        status = asked.getresponse().status
    except ssl.SSLCertVerificationError as problem:
        return bad(TLS, note("live_doctor.certificate_refused", host=host, problem=problem.verify_message))
    except (OSError, http.client.HTTPException) as problem:
        why = getattr(problem, "strerror", None) or type(problem).__name__
        return care(TLS, note("live_doctor.not_reached", host=host, problem=why))
    finally:
        asked.close()
    last_day = datetime.fromtimestamp(ssl.cert_time_to_seconds(certificate["notAfter"]), UTC)
    days = (last_day - datetime.now(UTC)).days
    if status != http.client.OK:
        return care(TLS, note("live_doctor.no_server", host=host, status=status))
    if days < CERTIFICATE_DAYS:
        return care(TLS, note("live_doctor.certificate_ends", host=host, days=days))
    return ok(TLS, note("live_doctor.certificate", host=host, days=days))


# The database --------------------------------------------------------------------------------------------------------


def _database() -> Iterator[Finding]:
    from django.db import connection

    sqlite = connection.vendor == "sqlite"
    problems: list[Finding] = []
    with connection.cursor() as cursor:

        def ask(query: str) -> str:
            cursor.execute(query)
            return str(cursor.fetchone()[0])

        if sqlite:
            kind = f"SQLite {ask('SELECT sqlite_version()')}"
            if (answer := ask("PRAGMA integrity_check(1)")) != "ok":
                problems.append(bad(DATABASE, note("live_doctor.damaged", problem=answer)))
        else:
            kind = f"PostgreSQL {ask('SHOW server_version')}"
            if int(ask("SHOW server_version_num")) < OLDEST_POSTGRESQL:
                problems.append(care(DATABASE, note("live_doctor.old_postgresql", kind=kind)))
            durable = ("fsync", "full_page_writes", "synchronous_commit")
            if unsafe := [name for name in durable if ask(f"SHOW {name}") == "off"]:
                problems.append(bad(DATABASE, note("live_doctor.not_durable", settings=unsafe)))
            failures = ask("SELECT coalesce(sum(checksum_failures), 0) FROM pg_stat_database")
            if failures != "0":
                problems.append(bad(DATABASE, note("live_doctor.checksums", number=failures)))
    yield from problems or [ok(DATABASE, note("live_doctor.database", kind=kind))]
    versions = {"version": __version__, "python": platform.python_version(), "django": metadata.version("django")}
    yield ok(VERSIONS, note("live_doctor.versions", **versions, database=kind))


def _records() -> Iterator[Finding]:
    from peerfront.web.live.operations.verification import newest_events
    from peerfront.web.live.records.recording import last_event

    if faults := newest_events():
        yield from (bad(RECORDS, each) for each in faults)
    else:
        yield ok(RECORDS, note("live_doctor.records", events=last_event()[0]))


def keys_finding(folder: LiveFolder) -> Finding:
    """Whether the keys of the folder are those of the study in the database."""
    from peerfront.web.live.operations.registers import other_keys_here
    from peerfront.web.live.records.contacts import readable
    from peerfront.web.live.records.models import Contact

    newest = list(Contact.objects.order_by("-written_at").values_list("sealed", flat=True)[:NEWEST_CONTACTS])
    if other_keys_here(folder) or not all(readable(bytes(sealed)) for sealed in newest):
        return bad(KEYS, note("live_health.other_keys"))
    return ok(KEYS, note("live_doctor.keys", number=len(newest)))


def _planning() -> Finding:
    from django.utils import timezone

    from peerfront.web.live.planning.planning_jobs import FAILED, SILENT_FOR, UNDER_WAY, message_of
    from peerfront.web.live.records.models import JobKind, PlanningJob

    job = PlanningJob.objects.filter(kind=JobKind.PLAN).order_by("-pk").first()
    if job is None:
        return ok(PLANNING, note("live_doctor.no_plan_yet"))
    at = _shown(job.asked_at)
    if job.state == FAILED:
        return care(PLANNING, note("live_doctor.plan_failed", at=at, problem=message_of(job)))
    if job.state in UNDER_WAY and timezone.now() - (job.seen_at or job.asked_at) > SILENT_FOR:
        return care(PLANNING, note("live_doctor.plan_silent", at=at))
    return ok(PLANNING, note("live_doctor.plan", at=at))


# Back-ups ------------------------------------------------------------------------------------------------------------


def _backups(folder: LiveFolder) -> Iterator[Finding]:
    from peerfront.web.live.operations.backup_files import BackupFile
    from peerfront.web.live.operations.backups import listed
    from peerfront.web.live.operations.drill import newer_events
    from peerfront.web.live.operations.encrypted_files import is_encrypted
    from peerfront.web.live.records.models import Event

    backups = listed(folder)
    if not backups:
        yield bad(BACKUPS, note("live_doctor.no_backup", folder=_quoted(folder)))
        return
    newest = backups[0]
    age = datetime.now(UTC) - newest.created_at
    hours = int(age.total_seconds() // 3600)
    if is_encrypted(newest.path):
        shown = {"name": newest.name, "hours": hours, "folder": _quoted(folder)}
        yield (ok if age <= BACKUP_EVERY else care)(BACKUPS, note("live_doctor.backup_encrypted", **shown))
        return
    try:
        file = BackupFile(newest.path)  # compares every file in it with the manifest
        file.check_signature(folder.keys)
    except PeerfrontError as problem:
        yield bad(BACKUPS, problem.message)
        return
    if not Event.objects.filter(number=file.about.events, hash=file.about.head).exists():
        yield bad(BACKUPS, note("live_drill.other_history", number=file.about.events))
        return
    since = newer_events(file.about.events)
    values = {"name": newest.name, "hours": hours, "events": since}
    if since and age > BACKUP_AT_LEAST:
        yield bad(BACKUPS, note("live_doctor.backup_old", **values, folder=_quoted(folder)))
    elif since and age > BACKUP_EVERY:
        yield care(BACKUPS, note("live_doctor.backup_old", **values, folder=_quoted(folder)))
    else:
        yield ok(BACKUPS, note("live_doctor.backup", **values))


def _drill(folder: LiveFolder) -> Finding:
    from peerfront.web.live.operations.drill import newest_drill

    place = _quoted(folder)
    drill = newest_drill()
    if drill is None:
        return care(DRILL, note("live_doctor.no_drill", folder=place))
    at, whole = drill
    days = (datetime.now(UTC) - at).days
    if not whole:
        return bad(DRILL, note("live_doctor.drill_failed", days=days, folder=place))
    if days > DRILL_EVERY.days:
        return care(DRILL, note("live_doctor.drill_old", days=days, folder=place))
    return ok(DRILL, note("live_doctor.drill", days=days))


def _quoted(folder: LiveFolder) -> str:
    return quote(str(folder.path))


def _shown(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
