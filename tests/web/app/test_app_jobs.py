"""Jobs: work in processes of their own, one at a time, whose end is kept in the folder as data."""

import time

import pytest
from app_client import STUDY

from peerfront.foundation.messages import Message
from peerfront.web.app.app_folder import AppFolder, write_data
from peerfront.web.app.app_jobs import Job, Jobs, Order, Pace, seconds_left, why_it_ended
from peerfront.web.app.study_steps import failed_now

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
    job = Job((FIT,), started=time.monotonic() - 30, folder=tmp_path)
    assert job.seconds_left is None, "nothing is known yet"
    write_data(tmp_path / "progress.json", {"share": 0.01, "what": "x"})
    assert job.seconds_left is None, "too early to tell"
    write_data(tmp_path / "progress.json", {"share": 0.25, "what": "x"})
    assert job.seconds_left == pytest.approx(90, abs=2)


LAST = Pace(seconds=100, people=50, marks=((0.2, 10), (0.8, 20)))
"""Work that spends most of its time after it has reported 80%."""


def test_the_first_estimate_is_what_the_last_work_took_and_never_less_for_a_larger_study() -> None:
    assert seconds_left(None, 0, LAST, people=50) == 100
    assert seconds_left(None, 0, LAST, people=150) == 300
    assert seconds_left(None, 0, LAST, people=10) == 100


@pytest.mark.parametrize(
    ("share", "gone", "left"), [(0.2, 10, 90), (0.5, 15, 85), (0.8, 20, 80), (0.9, 60, 40), (1, 100, 0)]
)
def test_the_estimate_follows_the_last_work_and_not_the_shares_it_reports(share, gone, left) -> None:
    assert seconds_left(share, gone, LAST, people=50) == pytest.approx(left)


def test_a_slower_machine_is_noticed_while_it_works() -> None:
    assert seconds_left(0.9, 180, LAST, people=50) == pytest.approx(0.4 * (180 + 40)), "really 120"


def test_work_that_ended_is_the_pace_of_the_next(folder, jobs) -> None:
    assert jobs.paces() == {}
    assert jobs.start(READ, wait=PATIENCE)
    pace = jobs.paces()["read"]
    assert pace.seconds > 0
    assert pace.people == 4
    assert [share for share, _ in pace.marks] == [0.8]


def test_work_goes_on_with_the_next_as_long_as_it_succeeds(folder, jobs) -> None:
    second = Order("columns", "read", {"file": "files/study.csv"}, ("files/study.csv",))
    assert jobs.start(READ, second, wait=PATIENCE)
    assert folder.outcome("columns")["work"] == "read"
    missing = Order("file", "read", {"file": "files/none.csv"})
    (folder.path / "app" / "columns.json").unlink()
    assert jobs.start(missing, second, wait=PATIENCE)
    assert folder.outcome("file")["error"]
    assert folder.outcome("columns") == {}


def test_work_of_a_computer_that_was_switched_off_is_stopped_work(folder, jobs) -> None:
    assert jobs.start(FIT)
    while jobs.running.folder is None:
        time.sleep(0.01)
    outcome = folder.outcome("fit")  # as it would be found after a power cut
    assert outcome["stopped"]
    assert failed_now(folder, "fit", outcome)
