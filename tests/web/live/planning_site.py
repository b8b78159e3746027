"""A study in a folder of its own, whose database a worker process finds as the server does."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

from django.test import override_settings
from django_site import STUDY_FOLDER, empty_database, new_postgresql, use_database

from peerfront.web.live.folder import LiveFolder, Serving, postgresql, sqlite
from peerfront.web.live.planning import planning_jobs as jobs

SMALL_EFFORT = "0.05"


@contextmanager
def study_folder(path: Path, kind: str = "sqlite"):
    """An empty study; this process works in its database, and workers that it starts do, too."""
    folder = LiveFolder(path / "study")
    folder.create(Serving(hosts=("127.0.0.1", "localhost", "testserver")))
    folder.write_keys(STUDY_FOLDER.keys)
    before = {name: os.environ.get(name) for name in ("DATABASE_URL", jobs.EFFORT)}
    os.environ[jobs.EFFORT] = SMALL_EFFORT
    if kind == "postgresql":
        url = new_postgresql()
        os.environ["DATABASE_URL"] = url
        use_database(postgresql(url))
    else:
        os.environ.pop("DATABASE_URL", None)
        shutil.copyfile(empty_database("sqlite")["NAME"], folder.path / "study.sqlite3")
        use_database(sqlite(folder.path / "study.sqlite3"))
    try:
        with override_settings(LIVE_FOLDER=folder):
            yield folder
    finally:
        end_workers()
        use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


def end_workers() -> None:
    """End the processes that this one started."""
    for process in jobs._processes.values():
        process.kill()
        process.wait()
    jobs._processes.clear()


def finished(job):
    """The job after its process ended."""
    process = jobs._processes[job.pk]
    process.wait(timeout=800)
    jobs.settle()
    job.refresh_from_db()
    return job


def log_of(folder: LiveFolder, job) -> str:
    return (folder.logs / f"planning-{job.pk}.log").read_text()
