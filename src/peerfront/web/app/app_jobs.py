"""Run one job at a time: the work of a step in a process of its own (`step_work`).

The pages stay usable while a job runs, and it goes on if the browser is closed. A job's files appear complete or not at
all, so a job that is stopped, or dies with the server, leaves earlier results intact.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from peerfront.foundation.messages import Message, Severity
from peerfront.foundation.shown import visible_message
from peerfront.web.app.app_folder import AppFolder, read_data, write_data

ORDER_FILE, RESULT_FILE, PROGRESS_FILE = "order.json", "result.json", "progress.json"
_PATIENCE = 15.0  # seconds between asking a job to end and killing it
_MOST_KEPT = 20_000  # last characters of a crashed job's output that are read
_STOPPED_CODES = (130, 143, -15, -2)
_KILLED = (-9, 137)
_SHARE_TO_JUDGE, _SECONDS_TO_JUDGE = 0.05, 5  # progress needed before the remaining time is estimated
_KEPT = ("work", "choices", "language", "inputs", "result")


@dataclass(frozen=True)
class Order:
    """The order of a job."""

    step: str
    """The page it belongs to."""
    work: str
    """Name of a function of `step_work`."""
    choices: Mapping[str, Any] = field(default_factory=dict)
    """The choices made in forms; `words.commands` makes the equivalent command from them."""
    inputs: tuple[str, ...] = ()
    """Input files in the study's folder: if one changes, the step is out of date."""
    language: str = "en"
    """The language of the files that are written; pages show results in their own."""


@dataclass
class Job:
    """A job that runs, or has ended."""

    order: Order
    started: float = field(default_factory=time.monotonic)
    ended: bool = False
    asked_to_stop: bool = False
    folder: Path | None = None
    """Where the process finds its order and leaves its progress and its result."""

    @property
    def seconds(self) -> int:
        return int(time.monotonic() - self.started)

    @property
    def seconds_left(self) -> int | None:
        """The estimated time left at the pace so far; None as long as it would be a guess."""
        share, gone = self.progress[0], time.monotonic() - self.started
        if share is None or share < _SHARE_TO_JUDGE or gone < _SECONDS_TO_JUDGE:
            return None
        return round(gone * (1.0 - share) / share)

    @property
    def progress(self) -> tuple[float | None, Any]:
        """The share that is done, if the work reports it, and what is being done."""
        report = read_data(self.folder / PROGRESS_FILE) if self.folder is not None else {}
        try:
            return min(max(float(report["share"]), 0.0), 1.0), report["what"]
        except (ValueError, KeyError, TypeError):
            return None, ""


class Jobs:
    """Runs the jobs of one folder."""

    def __init__(self, folder: AppFolder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._job: Job | None = None

    @property
    def running(self) -> Job | None:
        job = self._job
        return job if job is not None and not job.ended else None

    def start(self, order: Order, *, wait: float = 0.0) -> bool:
        """Start a job unless another one runs; the same order twice (a double click) is one job.

        Wait up to `wait` seconds for its end, so that a short job is done when the page is shown. Return whether the
        order was accepted.
        """
        with self._lock:
            busy = self.running
            if busy is not None:
                return busy.order == order
            self._job = job = Job(order)
            self._thread = threading.Thread(target=self._run, args=(job,), daemon=True)
            self._thread.start()
        self._thread.join(wait)
        return True

    def stop(self) -> None:
        """Ask the running job to end, as Ctrl-C does; kill one that does not."""
        job = self.running
        if job is None:
            return
        job.asked_to_stop = True
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            threading.Thread(target=_end, args=(process,), daemon=True).start()

    def close(self) -> None:
        """Stop the running job, and wait until it has ended."""
        self.stop()
        if self._thread is not None:
            self._thread.join(_PATIENCE + 5)

    def _run(self, job: Job) -> None:
        order = job.order
        try:
            inputs = self._folder.digests(order.inputs)
            with TemporaryDirectory(prefix="peerfront-job-") as own:
                job.folder = Path(own)
                ending = self._ending(job, job.folder)
            ending |= {"seconds": job.seconds, "ended": datetime.now().astimezone().isoformat(timespec="seconds")}
            if ending["error"] or ending["stopped"]:  # earlier results stay, with their order
                before = self._folder.outcome(order.step)
                ending |= {name: before[name] for name in _KEPT if name in before}
            else:
                used = {**order.choices, **ending["result"].pop("choices", {})}
                ending |= {"work": order.work, "choices": used, "language": order.language, "inputs": inputs}
            self._folder.write_outcome(order.step, ending)
        except Exception as problem:  # such as a full disk or a removed folder: the page must not wait for ever
            self._note_failure(order, problem)
        finally:
            job.ended = True

    def _ending(self, job: Job, own: Path) -> dict[str, Any]:
        """Run the process; return its result, or why there is none."""
        order = job.order
        write_data(own / ORDER_FILE, {"work": order.work, "choices": order.choices, "language": order.language})
        with (own / "errors").open("wb") as errors:
            process = subprocess.Popen(
                # -P: no module of the study's folder replaces one of ours
                [sys.executable, "-P", "-m", "peerfront.web.app.step_work", str(own)],
                cwd=self._folder.path,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
            self._process = process
            if job.asked_to_stop:
                process.terminate()
            code = process.wait()
        written = read_data(own / RESULT_FILE) if code == 0 else {}
        if written:
            return {"error": written.get("error"), "stopped": False, "result": written.get("result", {})}
        stopped = job.asked_to_stop or code in _STOPPED_CODES
        return {"error": None if stopped else why_it_ended(code, own / "errors"), "stopped": stopped}

    def _note_failure(self, order: Order, problem: Exception) -> None:
        error = Message("work.failed", {"problem": f"{type(problem).__name__}: {problem}"}, Severity.ERROR)
        try:
            self._folder.write_outcome(order.step, {"error": error, "stopped": False})
        except Exception:
            return  # nothing can be written at all; the page says that there is no result


def why_it_ended(code: int, errors: Path) -> Message:
    """Why a process left no result: the computer ended it, or it has a fault."""
    if code in _KILLED:
        return Message("work.ended_by_the_computer", severity=Severity.ERROR)
    written = errors.read_bytes()[-_MOST_KEPT:].decode("utf-8", "replace")
    last_lines = visible_message("\n".join(written.strip().splitlines()[-3:]))
    return Message("work.crashed", {"exit_code": code, "last_lines": last_lines}, Severity.ERROR)


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()


def _environment() -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    # One thread for each network: results are the same on every machine, as those of the commands are.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**kept, **threads, "PYTHONUTF8": "1"}
