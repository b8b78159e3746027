"""A played study with a plan that a real worker process made from it, once for all tests; each test gets a copy."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

import pytest
from django.test import override_settings
from django_site import SHARED, use_database
from planning_site import end_workers, finished, log_of, study_folder
from played_study import PLAYED, PlayedStudy

from peerfront.web.live.folder import LiveFolder, sqlite
from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.records.models import PlanningJob
from peerfront.web.live.rules.actions import Role

SETTINGS = replace(PLAYED, budget=260, cap=3, rounds=2, target=180, plan_strata=())


def _shared() -> Path:
    """The folder of the planned study: made by the first process of a run of the tests that needs it."""
    place = SHARED[0] if SHARED else Path(tempfile.mkdtemp(prefix="peerfront-planned-"))
    with (place / "planned.lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        top = place / "planned" if fcntl is not None else place / f"planned-{os.getpid()}"
        if not (top / "ready").exists():
            shutil.rmtree(top, ignore_errors=True)
            top.mkdir()
            _make(top)
            (top / "ready").touch()
    return top


def _make(top: Path) -> None:
    """Play a study, and let a worker make its plan."""
    with study_folder(top) as folder:
        study = PlayedStudy(SETTINGS).play()
        coordinator = study.user(Role.COORDINATOR)
        job = finished(jobs.ask_for_plan(coordinator.username))
        assert job.state == jobs.DONE, f"{job.message}\n{log_of(folder, job)}"


@contextmanager
def planned_copy(path: Path):
    """This process works in a copy of the planned study."""
    shutil.copytree(_shared() / "study", path / "planned")
    folder = LiveFolder(path / "planned")
    use_database(sqlite(folder.path / "study.sqlite3"))
    try:
        with override_settings(LIVE_FOLDER=folder):
            yield folder
    finally:
        end_workers()
        use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})


@pytest.fixture
def planned(tmp_path):
    """The planned study; gives the job that made its plan, which waits for approval."""
    with planned_copy(tmp_path):
        yield PlanningJob.objects.get()
