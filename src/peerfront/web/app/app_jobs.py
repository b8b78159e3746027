"""Run one job at a time: the work of one step, or of several one after another, each in a process (`step_work`).

The pages stay usable while a job runs, and it goes on if the browser is closed. A job's files appear complete or not at
all, so a job that is stopped, or dies with the server, leaves earlier results intact.
"""

import os
import subprocess
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from peerfront.foundation.messages import Message, Severity
from peerfront.foundation.shown import visible_message
from peerfront.web.app.app_folder import STATE, AppFolder, read_data, write_data

ORDER_FILE, RESULT_FILE, PROGRESS_FILE = "order.json", "result.json", "progress.json"
_PATIENCE = 15.0  # seconds between asking a job to end and killing it
_MOST_KEPT = 20_000  # last characters of a crashed job's output that are read
_STOPPED_CODES = (130, 143, -15, -2)
_KILLED = (-9, 137)
_SHARE_TO_JUDGE, _SECONDS_TO_JUDGE = 0.05, 5  # progress needed before the pace so far is believed
_KEPT = ("work", "choices", "language", "inputs", "result", "made")
_PACES = f"{STATE}/paces.json"


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


@dataclass(frozen=True)
class Pace:
    """How long the last work of a kind took here."""

    seconds: float = 0.0
    """0 if there was none."""
    people: int = 0
    marks: tuple[tuple[float, float], ...] = ()
    """The share that the work reported, and the seconds until then."""

    def share_of_time(self, share: float) -> float:
        """The share of the time that a reported share stands for; the same where nothing is known."""
        if not self.marks:
            return share
        marks = [(0.0, 0.0), *self.marks, (1.0, self.seconds)]
        after = min(bisect_right(marks, (share, float("inf"))), len(marks) - 1)
        (low, begun), (high, ended) = marks[after - 1], marks[after]
        part = (share - low) / (high - low) if high > low else 0.0
        return (begun + part * (ended - begun)) / self.seconds

    def for_people(self, people: int) -> float:
        """The seconds to expect for a study of this size: longer for a larger one, no shorter for a smaller one."""
        return self.seconds * max(people / max(self.people, 1), 1.0)


def seconds_left(share: float | None, gone: float, pace: Pace, people: int) -> float | None:
    """The time left, at first as the last work of this kind took, then by the pace so far; None if it were a guess."""
    done = pace.share_of_time(share or 0.0)
    if pace.seconds:
        return (1 - done) * (gone + (1 - done) * pace.for_people(people))
    return gone * (1 - done) / done if done >= _SHARE_TO_JUDGE and gone >= _SECONDS_TO_JUDGE else None


@dataclass
class Job:
    """Work that runs, or has ended."""

    orders: tuple[Order, ...]
    """Carried out one after another, as long as each succeeds."""
    paces: Mapping[str, Pace] = field(default_factory=dict)
    """How long each kind of work took before."""
    people: int = 0
    """People in the study."""
    at: int = 0
    """Which order is being carried out."""
    started: float = field(default_factory=time.monotonic)
    """When this order was begun."""
    ended: bool = False
    asked_to_stop: bool = False
    folder: Path | None = None
    """Where the process finds its order and leaves its progress and its result."""

    @property
    def order(self) -> Order:
        return self.orders[self.at]

    @property
    def seconds(self) -> int:
        return int(time.monotonic() - self.started)

    @property
    def seconds_left(self) -> int | None:
        """The estimated time left of all orders; None as long as it would be a guess."""
        later = [self.paces.get(order.work, Pace()) for order in self.orders[self.at + 1 :]]
        gone, share = time.monotonic() - self.started, self._report[0]
        left = seconds_left(share, gone, self.paces.get(self.order.work, Pace()), self.people)
        if left is None or not all(pace.seconds for pace in later):
            return None
        return round(left + sum(pace.for_people(self.people) for pace in later))

    @property
    def progress(self) -> tuple[float | None, Any]:
        """The share of the time that has passed, if it is known, and what is being done."""
        share, what = self._report
        pace = self.paces.get(self.order.work, Pace())
        return None if share is None else pace.share_of_time(share), what

    @property
    def _report(self) -> tuple[float | None, Any]:
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

    def start(self, *orders: Order, wait: float = 0.0) -> bool:
        """Start a job unless another one runs; the same orders twice (a double click) are one job.

        Wait up to `wait` seconds for its end, so that a short job is done when the page is shown. Return whether the
        orders were accepted.
        """
        with self._lock:
            busy = self.running
            if busy is not None:
                return busy.orders == orders
            self._job = job = Job(orders, self.paces(), self._people())
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

    def paces(self) -> dict[str, Pace]:
        """How long each kind of work took last."""
        kept = self._folder.read(_PACES)
        return {
            work: Pace(each["seconds"], each["people"], tuple(map(tuple, each["marks"]))) for work, each in kept.items()
        }

    def _people(self) -> int:
        return int(self._folder.contents.get("people") or 0)

    def _run(self, job: Job) -> None:
        try:
            for number in range(len(job.orders)):
                job.at, job.started, job.folder = number, time.monotonic(), None
                if not self._carried_out(job):
                    break
        except Exception as problem:  # such as a full disk or a removed folder: the page must not wait for ever
            self._note_failure(job.order, problem)
        finally:
            job.ended = True

    def _carried_out(self, job: Job) -> bool:
        """Carry out the order; write how it ended, and return whether it succeeded."""
        order, inputs = job.order, self._folder.digests(job.order.inputs)
        before = self._folder.outcome(order.step)
        kept = {name: before[name] for name in _KEPT if name in before}  # earlier results stay, with their order
        choices = {"work": order.work, "choices": dict(order.choices), "inputs": inputs}
        tried = {**choices, "file": self._folder.choices.get("file")}
        # If the computer is switched off meanwhile, this says that the work was stopped.
        self._folder.write_outcome(order.step, {**kept, "error": None, "stopped": True, "tried": tried})
        with TemporaryDirectory(prefix="peerfront-job-") as own:
            job.folder = Path(own)
            ending = self._ending(job, job.folder)
        ending |= {"seconds": job.seconds, "ended": datetime.now().astimezone().isoformat(timespec="seconds")}
        if ending["error"] or ending["stopped"]:
            self._folder.write_outcome(order.step, {**ending, **kept, "tried": tried})
            return False
        used = {**order.choices, **ending["result"].pop("choices", {})}
        self._keep_pace(job, ending.pop("marks"))
        ending |= {**choices, "choices": used, "language": order.language, "made": ending["ended"]}
        self._folder.write_outcome(order.step, ending)
        return True

    def _keep_pace(self, job: Job, marks: Sequence[Sequence[float]]) -> None:
        pace = {"seconds": time.monotonic() - job.started, "people": self._people(), "marks": marks}
        self._folder.write(_PACES, {**self._folder.read(_PACES), job.order.work: pace})

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
            return {"error": None, "stopped": False, "result": {}, "marks": [], **written}
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
