"""A played study with a plan that a real worker process made from it, once for all tests; each test gets a copy."""

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from django.test import override_settings
from django_site import use_database
from planning_site import finished, log_of, study_folder
from played_study import PLAYED, PlayedStudy

from peerfront.web.live.folder import LiveFolder, sqlite
from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.records.models import PlanningJob
from peerfront.web.live.rules.actions import Role

SETTINGS = replace(PLAYED, budget=260, cap=3, rounds=2, target=180, plan_strata=())
_made: list[Path] = []


def _make() -> Path:
    """Play a study, and let a worker make its plan."""
    top = Path(tempfile.mkdtemp(prefix="peerfront-planned-"))
    with study_folder(top) as folder:
        study = PlayedStudy(SETTINGS).play()
        coordinator = study.user(Role.COORDINATOR)
        job = finished(jobs.ask_for_plan(coordinator.username))
        assert job.state == jobs.DONE, f"{job.message}\n{log_of(folder, job)}"
    return top


@contextmanager
def planned_copy(path: Path):
    """This process works in a copy of the planned study."""
    if not _made:
        _made.append(_make())
    shutil.copytree(_made[0] / "study", path / "planned")
    folder = LiveFolder(path / "planned")
    use_database(sqlite(folder.path / "study.sqlite3"))
    try:
        with override_settings(LIVE_FOLDER=folder):
            yield folder
    finally:
        use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})


@pytest.fixture
def planned(tmp_path):
    """The planned study; gives the job that made its plan, which waits for approval."""
    with planned_copy(tmp_path):
        yield PlanningJob.objects.get()


@pytest.fixture(scope="session", autouse=True)
def _removed():
    yield
    for top in _made:
        shutil.rmtree(top, ignore_errors=True)
