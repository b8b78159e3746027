"""Remove what was erased from the files of the database, where it can be read long after it has left the tables.

SQLite overwrites what is deleted (`folder.sqlite`), but its write-ahead log keeps pages as they were, and cells that
were moved leave copies in unused space. So the file is written anew (VACUUM), and the log emptied (checkpoint).

PostgreSQL keeps old versions of rows in the files of tables, and samples of columns in its statistics. So these are
written anew, too (VACUUM FULL). Its log (WAL) is removed up to the last checkpoint if the setting wal_recycle is off;
otherwise, or if the study's user may not do this, or where the log is archived, the user is told that it remains.

None of this is possible while somebody reads what was there before, such as a back-up. So the transaction that erases
something leaves a mark in the study's folder, whose lines are the tables, and the server tries again each minute.
"""

import re
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, OperationalError, ProgrammingError, connection
from django.db.models import Model

from peerfront.foundation.files import write_text
from peerfront.web.live.records.database import short_wait

PATIENCE = 2_000
"""Milliseconds to wait for others who read or write; a page waits for this."""


class Leftovers(Enum):
    """What is left of erased data in the files of the database."""

    NOTHING = auto()
    EVERYTHING = auto()
    """Somebody was reading: it is tried again."""
    LOG = auto()
    """In the write-ahead log of PostgreSQL alone, for whose settings the study's user is not responsible."""


def _mark() -> Path | None:
    folder = settings.LIVE_FOLDER
    return None if folder is None else folder.unwiped


def leave_mark(*tables: type[Model]) -> None:
    """Note that something was erased from tables; call it in the transaction that erases, after the change."""
    if (mark := _mark()) is not None:
        write_text(mark, "".join(f"{name}\n" for name in sorted(_marked(mark) | {each.__name__ for each in tables})))


def _marked(mark: Path) -> set[str]:
    return set(mark.read_text("utf-8").split()) if mark.exists() else set()


def wipe() -> Leftovers:
    """Remove what was erased from the database's files, if there is something; call it outside of transactions."""
    mark = _mark()
    if mark is None or connection.in_atomic_block:
        return Leftovers.NOTHING
    try:
        when, marked = mark.stat().st_mtime_ns, _marked(mark)
    except FileNotFoundError:  # nothing was erased, or somebody else has just wiped it
        return Leftovers.NOTHING
    tables = [model._meta.db_table for model in apps.get_app_config("records").get_models() if model.__name__ in marked]
    with short_wait(PATIENCE), connection.cursor() as cursor:
        found = _wipe_sqlite(cursor) if connection.vendor == "sqlite" else _wipe_postgresql(cursor, tables)
    if found is not Leftovers.EVERYTHING:
        with suppress(FileNotFoundError):
            if mark.stat().st_mtime_ns == when:  # otherwise something was erased meanwhile
                mark.unlink()
    return found


def _wipe_sqlite(cursor: Any) -> Leftovers:
    try:
        if not _log_emptied(cursor):  # before the work
            return Leftovers.EVERYTHING
        cursor.execute("VACUUM")
        return Leftovers.NOTHING if _log_emptied(cursor) else Leftovers.EVERYTHING
    except OperationalError:  # somebody writes
        return Leftovers.EVERYTHING


def _log_emptied(cursor: Any) -> bool:
    is_busy, _, _ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not is_busy


def _wipe_postgresql(cursor: Any, tables: list[str]) -> Leftovers:
    kept: list[int] = []

    def listen(notice: Any) -> None:
        """Read how many old versions had to be kept: the first number of a detail, in whatever language."""
        if number := re.search(r"\d+", notice.message_detail or ""):
            kept.append(int(number.group()))

    connection.connection.add_notice_handler(listen)
    try:
        names = ", ".join(map(connection.ops.quote_name, tables))
        cursor.execute(f"VACUUM (FULL, VERBOSE, ANALYZE) {names}")
        cursor.execute("VACUUM (FULL, VERBOSE) pg_statistic")
    except OperationalError:  # somebody reads or writes
        return Leftovers.EVERYTHING
    finally:
        connection.connection.remove_notice_handler(listen)
    return Leftovers.EVERYTHING if any(kept) else _wipe_log(cursor)


def _wipe_log(cursor: Any) -> Leftovers:
    """Have PostgreSQL remove its log; it keeps files that it recycles, and archives keep what they have."""
    try:
        cursor.execute("SELECT pg_switch_wal()")
        cursor.execute("CHECKPOINT")
        rows = cursor.execute("SELECT current_setting('wal_recycle'), current_setting('archive_mode')").fetchone()
    except (ProgrammingError, DatabaseError):  # the user may not
        return Leftovers.LOG
    return Leftovers.NOTHING if rows == ("off", "off") else Leftovers.LOG
