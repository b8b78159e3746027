"""Open the folder of a study: Django with its settings, and a database whose tables are up to date."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.files import write_text
from peerfront.foundation.messages import Remedy, note
from peerfront.web.live.folder import FOLDER, UNFINISHED, Keys, LiveFolder, Serving

_RECORDS = "records"  # the Django app of our tables


def open_folder(path: Path) -> LiveFolder:
    """Set up Django for the study in a folder; once in a process."""
    folder = LiveFolder(path.resolve())
    folder.keys, folder.serving  # noqa: B018  # read now, so that errors come before anything begins
    folder.check_finished()
    folder.check_database()
    _set_up_django(folder)
    return folder


@contextmanager
def new_folder(folder: LiveFolder, serving: Serving, keys: Keys | None = None) -> Iterator[None]:
    """Create the folder and the tables of a new study and open it; if that fails, nothing is left.

    A killed process leaves a folder that is marked `UNFINISHED`, which every command refuses.
    """
    os.umask(0o077)
    folder.check_new()
    try:
        folder.create(serving, keys)
        write_text(folder.path / UNFINISHED, str(note("live_folder.did_not_begin")) + "\n")
        _set_up_django(folder)
        unapplied_migrations()  # raises a clear error if the database cannot be reached
        migrate()
        yield
        _keep_head(folder)
        (folder.path / UNFINISHED).unlink()
    except BaseException:
        if settings.configured:
            connection.close()
        shutil.rmtree(folder.path, ignore_errors=True)  # the folder was new or empty
        raise


def _set_up_django(folder: LiveFolder) -> None:
    os.umask(0o077)  # files written from now on, such as database and log, are readable only by their owner
    os.environ[FOLDER] = str(folder.path)
    os.environ.setdefault("SQLITE_TMPDIR", str(folder.path))  # where VACUUM writes pages that do not fit into memory
    os.environ["DJANGO_SETTINGS_MODULE"] = "peerfront.web.live.django_settings"
    django.setup()


def unapplied_migrations() -> list[str]:
    """Migrations that this version of peerfront needs and the database lacks."""
    try:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as problem:
        raise _unreachable(problem) from None
    applied = {name for app, name in executor.loader.applied_migrations if app == _RECORDS}
    supported = {name for app, name in executor.loader.graph.nodes if app == _RECORDS}
    if newer := sorted(applied - supported):
        raise SettingError("live_database.newer", changes=newer[:3])
    return [f"{migration.app_label} {migration.name}" for migration, _ in plan]


def migrate() -> None:
    """Bring the tables up to date."""
    call_command("migrate", verbosity=0, interactive=False)
    _finish_upgrade()


def _finish_upgrade() -> None:
    """A study of 0.3 states once who its users are, and which keys it has; if the upgrade was killed, the next time."""
    from peerfront.web.live.operations.registers import state_if_upgraded  # needs Django to be set up

    folder = LiveFolder(Path(os.environ[FOLDER]))
    if state_if_upgraded(folder):
        _keep_head(folder)


def _keep_head(folder: LiveFolder) -> None:
    from peerfront.web.live.operations.signed_heads import keep_head  # needs Django to be set up

    keep_head(folder)


def check_migrated() -> None:
    """Refuse a database of another version of peerfront, and finish an upgrade that was killed."""
    if missing := unapplied_migrations():
        first = [*missing[:3], *(["..."] if len(missing) > 3 else [])]
        raise SettingError("live_database.older", number=len(missing), changes=first, remedy=Remedy("migrate", True))
    _finish_upgrade()


def _unreachable(problem: DatabaseError) -> DataFileError:
    if connection.vendor == "sqlite":
        path = connection.settings_dict["NAME"]
        return DataFileError("live_database.unreadable", path=path, problem=_first_line(problem))
    return DataFileError("live_database.unreachable", problem=_first_line(problem))


def _first_line(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
