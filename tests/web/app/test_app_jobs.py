"""Jobs: real commands as processes of their own, one at a time, whose end is kept in the folder."""

import time

import pytest

from peerfront.web.app.folder import AppFolder
from peerfront.web.app.jobs import Job, Jobs, Order, _message

PATIENCE = 300.0
EXAMPLE = ("example", "--out", "files/example", "--people", "60", "--overwrite")


@pytest.fixture
def folder(tmp_path) -> AppFolder:
    return AppFolder(tmp_path / "study")


@pytest.fixture
def jobs(folder):
    jobs = Jobs(folder)
    yield jobs
    jobs.close()
    assert jobs.running is None


def test_commands_run_in_the_folder_and_their_end_is_kept(folder, jobs) -> None:
    assert jobs.start(Order("file", (EXAMPLE,), ("schema.toml",)), wait=PATIENCE)
    outcome = folder.outcome("file")
    assert outcome["error"] == ""
    assert outcome["commands"] == [list(EXAMPLE)]
    assert "Nobody in them exists" in outcome["printed"][0]
    assert folder.has("files/example/study.csv")


def test_what_a_command_refuses_is_kept_in_its_words_and_earlier_results_stay(folder, jobs) -> None:
    assert jobs.start(Order("file", (EXAMPLE,), ("files/example/study.csv",)), wait=PATIENCE)
    before = folder.outcome("file")
    wrong = ("example", "--out", "files/example", "--people", "-5", "--overwrite")
    assert jobs.start(Order("file", (wrong, EXAMPLE), ("schema.toml",)), wait=PATIENCE)
    after = folder.outcome("file")
    assert "people must be" in after["error"]
    assert "-5" in after["error"]
    assert not after["error"].startswith("Error")
    assert {name: after[name] for name in ("commands", "printed", "inputs")} == {
        name: before[name] for name in ("commands", "printed", "inputs")
    }, "what is there was made by the command before"


def test_a_module_in_the_study_s_folder_is_not_run(folder, jobs) -> None:
    (folder.path / "peerfront.py").write_text("raise SystemExit('hostile')")
    (folder.path / "json.py").write_text("raise SystemExit('hostile')")
    assert jobs.start(Order("file", (EXAMPLE,)), wait=PATIENCE)
    assert folder.outcome("file")["error"] == ""


def test_one_job_at_a_time_and_the_same_twice_is_one(folder, jobs) -> None:
    assert jobs.start(Order("file", (EXAMPLE,)), wait=PATIENCE)
    fit = Order("fit", (("fit", "files/example/study.csv", "--out", "model", "--budget", "8", "--rounds", "2"),))
    assert jobs.start(fit)
    assert jobs.running.order == fit
    assert jobs.start(fit), "a double click"
    assert not jobs.start(Order("file", (EXAMPLE,))), "something else has to wait"
    jobs.stop()
    jobs.close()
    outcome = folder.outcome("fit")
    assert outcome["stopped"]
    assert outcome["error"] == ""
    assert not folder.has("model")
    assert jobs.start(Order("file", (EXAMPLE,)), wait=PATIENCE), "and then goes on"


def test_a_folder_that_cannot_be_written_ends_the_job_too(folder, jobs) -> None:
    (folder.path / "app").rename(folder.path / "gone")
    assert jobs.start(Order("file", (EXAMPLE,)), wait=PATIENCE)
    assert jobs.running is None


def test_a_message_is_whole_although_a_value_looks_like_the_start_of_one() -> None:
    said = "reading\nError: study.csv: 'Error: 5' is no number.\nWrite digits.\n"
    assert _message(said, 2) == "study.csv: 'Error: 5' is no number.\nWrite digits."


def test_a_command_that_the_computer_ended_says_why() -> None:
    assert "memory" in _message("", -9)


def test_what_is_left_is_estimated_from_the_pace_so_far(tmp_path) -> None:
    job = Job(Order("fit"), command_started=time.monotonic() - 30, progress_file=tmp_path / "progress.json")
    assert job.seconds_left is None, "nothing is known yet"
    job.progress_file.write_text('{"share": 0.01, "what": "x"}')
    assert job.seconds_left is None, "too early to tell"
    job.progress_file.write_text('{"share": 0.25, "what": "x"}')
    assert job.seconds_left == pytest.approx(90, abs=2)
