"""Jobs: work in processes of their own, one at a time, whose end is kept in the folder as data."""

import time

import pytest
from app_client import STUDY

from peerfront.foundation.messages import Message
from peerfront.web.app.app_folder import AppFolder, write_data
from peerfront.web.app.app_jobs import Job, Jobs, Order, why_it_ended

PATIENCE = 300.0
READ = Order("file", "read", {"file": "files/study.csv"}, ("files/study.csv",))
FIT = Order("fit", "fit", {"file": "files/study.csv", "budget": 8, "rounds": 2})


@pytest.fixture
def folder(tmp_path) -> AppFolder:
    folder = AppFolder(tmp_path / "study")
    folder.choose(file=folder.keep("study.csv", STUDY.encode()))
    return folder


@pytest.fixture
def jobs(folder):
    jobs = Jobs(folder)
    yield jobs
    jobs.close()
    assert jobs.running is None


def test_work_runs_in_the_folder_and_its_end_is_kept(folder, jobs) -> None:
    """A module in the study's folder is not run instead of ours; what is refused leaves the results before."""
    (folder.path / "peerfront.py").write_text("raise SystemExit('hostile')")
    (folder.path / "json.py").write_text("raise SystemExit('hostile')")
    assert jobs.start(READ, wait=PATIENCE)
    before = folder.outcome("file")
    assert (before["error"], before["stopped"], before["work"]) == (None, False, "read")
    assert before["choices"] == {"file": "files/study.csv", "reading": {}}
    assert folder.has("checked/problems.csv")
    assert folder.contents["people"] == 4
    folder.choose(file=folder.keep("wrong.csv", b"%PDF-1.7"))
    assert jobs.start(Order("file", "read", {"file": "files/wrong.csv"}), wait=PATIENCE)
    after = folder.outcome("file")
    assert isinstance(after["error"], Message)
    assert "is a PDF" in str(after["error"])
    assert {name: after[name] for name in ("work", "choices", "inputs")} == {
        name: before[name] for name in ("work", "choices", "inputs")
    }, "what is there was made by the work before"


def test_one_job_at_a_time_and_the_same_twice_is_one(folder, jobs) -> None:
    assert jobs.start(READ, wait=PATIENCE)
    assert jobs.start(FIT)
    assert jobs.running.order == FIT
    assert jobs.start(FIT), "a double click"
    assert not jobs.start(READ), "something else has to wait"
    jobs.stop()
    jobs.close()
    outcome = folder.outcome("fit")
    assert outcome["stopped"]
    assert outcome["error"] is None
    assert not folder.has("model")


def test_a_folder_that_cannot_be_written_ends_the_job_too(folder, jobs) -> None:
    (folder.path / "app").rename(folder.path / "gone")
    (folder.path / "app").write_text("a file")
    assert jobs.start(READ, wait=PATIENCE)
    assert jobs.running is None


def test_why_a_process_left_no_result(tmp_path) -> None:
    errors = tmp_path / "errors"
    errors.write_text("one\ntwo\nthree\nZeroDivisionError: \x1bfour\n")
    assert "memory" in str(why_it_ended(-9, errors))
    assert str(why_it_ended(1, errors)).endswith("(exit code 1).\ntwo\nthree\nZeroDivisionError: \\x1bfour")


def test_what_is_left_is_estimated_from_the_pace_so_far(tmp_path) -> None:
    job = Job(FIT, started=time.monotonic() - 30, folder=tmp_path)
    assert job.seconds_left is None, "nothing is known yet"
    write_data(tmp_path / "progress.json", {"share": 0.01, "what": "x"})
    assert job.seconds_left is None, "too early to tell"
    write_data(tmp_path / "progress.json", {"share": 0.25, "what": "x"})
    assert job.seconds_left == pytest.approx(90, abs=2)
