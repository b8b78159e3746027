"""One job at a time: the commands of a step, run one after another as processes of their own.

The pages stay usable while a job runs, and it goes on if the browser is closed. What a command writes appears whole or
not at all, so a job that is stopped, or dies with the server, leaves what was there before.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from peerfront.foundation.shown import visible_message
from peerfront.web.app.commands import Command
from peerfront.web.app.folder import AppFolder

_WIDTH = "4000"  # characters of a line, so that no sentence is broken in two
_PATIENCE = 15.0  # seconds between asking a command to end and ending it
_MOST_SHOWN = 200_000  # characters of output that are kept
_STOPPED_CODES = (130, 143, -15, -2)
_STOPPED = "stopped"
_KILLED = (-9, 137)
_SHARE_TO_JUDGE, _SECONDS_TO_JUDGE = 0.05, 5  # done before the rest of a command's time is estimated


@dataclass(frozen=True)
class Order:
    """What a job is to do."""

    step: str
    commands: tuple[Command, ...] = ()
    """Arguments of `peerfront`, in the order in which they run; the first that fails ends the job."""
    inputs: tuple[str, ...] = ()
    """Files of the study's folder that the step rests on: if one changes, the step is to be done again."""
    ordered: Mapping[str, Any] = field(default_factory=dict)
    """What the sheet is ordered with, where the step rests on it; kept with how the step ended."""
    look: str = ""
    """A module to run then, which looks at the file for the page; it never fails the job."""
    after_look: Callable[[], tuple[Command, ...]] | None = field(default=None, compare=False)
    """Makes the commands that run after it, where they depend on what it found."""


@dataclass
class Job:
    """A job that runs, or has ended."""

    order: Order
    started: float = field(default_factory=time.monotonic)
    command_started: float = field(default_factory=time.monotonic)
    ended: bool = False
    asked_to_stop: bool = False
    progress_file: Path | None = None

    @property
    def seconds(self) -> int:
        return int(time.monotonic() - self.started)

    @property
    def seconds_left(self) -> int | None:
        """About how long the command still takes, at the pace so far; None as long as that is a guess."""
        share, gone = self.progress[0], time.monotonic() - self.command_started
        if share is None or share < _SHARE_TO_JUDGE or gone < _SECONDS_TO_JUDGE:
            return None
        return round(gone * (1.0 - share) / share)

    @property
    def progress(self) -> tuple[float | None, str]:
        """The share that is done, if the command says so, and what is being done."""
        try:
            said = json.loads((self.progress_file or Path()).read_text(encoding="utf-8"))
            return min(max(float(said["share"]), 0.0), 1.0), str(said["what"])
        except (OSError, ValueError, KeyError, TypeError):
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
        """Start a job unless one is running; the same order twice (a double click) is one job.

        Waits so many seconds for its end, so that a short job is done when the page is shown. Returns whether the order
        is being carried out.
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
        """Ask the running command to end, as Ctrl-C does; one that does not is ended."""
        job = self.running
        if job is None:
            return
        job.asked_to_stop = True
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            threading.Thread(target=_end, args=(process,), daemon=True).start()

    def close(self) -> None:
        """Stop what runs, and wait until it has ended."""
        self.stop()
        if self._thread is not None:
            self._thread.join(_PATIENCE + 5)

    def _run(self, job: Job) -> None:
        order = job.order
        try:
            inputs = self._folder.digests(order.inputs)
            with TemporaryDirectory(prefix="peerfront-job-") as own:
                job.progress_file = Path(own) / "progress.json"
                outcome = self._outcome(job, Path(own))
            if outcome["error"] or outcome["stopped"]:  # what was made before stays, and so does how it was made
                before = self._folder.outcome(order.step)
                kept = {name: before[name] for name in ("commands", "printed", "inputs", "ordered") if before.get(name)}
                self._folder.note_outcome(order.step, {**outcome, **kept})
            else:
                self._folder.note_outcome(order.step, {**outcome, "inputs": inputs, "ordered": dict(order.ordered)})
        except Exception as problem:  # a full disk, a folder that was removed: the page must not wait for ever
            self._note_failure(order, problem)
        finally:
            job.ended = True

    def _outcome(self, job: Job, own: Path) -> dict[str, object]:
        """Run the commands, look, and run what follows from that; the first command that fails ends it."""
        done: list[tuple[Command, str]] = []
        fault = self._run_all(job, job.order.commands, own, done)
        if fault is None and job.order.look:
            self._call(job, ["-m", job.order.look], own)
            late = () if job.order.after_look is None else job.order.after_look()
            fault = self._run_all(job, late, own, done)
        stopped = fault is not None and (job.asked_to_stop or fault == _STOPPED)
        return {
            "commands": [list(command) for command, _ in done],
            "printed": [out for _, out in done],
            "error": "" if stopped else fault or "",
            "stopped": stopped,
            "seconds": job.seconds,
            "ended": datetime.now().astimezone().isoformat(timespec="seconds"),
        }

    def _run_all(self, job: Job, commands: Sequence[Command], own: Path, done: list[tuple[Command, str]]) -> str | None:
        """Run commands one after another; what the first that fails said, or None."""
        for command in commands:
            if job.asked_to_stop:
                return _STOPPED
            if job.progress_file is not None:
                job.progress_file.unlink(missing_ok=True)
            code, out, error = self._call(job, ["-m", "peerfront", *command], own)
            done.append((command, out))
            if code:
                return _STOPPED if code in _STOPPED_CODES else _message(error, code)
        return None

    def _call(self, job: Job, arguments: Sequence[str], own: Path) -> tuple[int, str, str]:
        """Run a command in the study's folder; its exit code, output and errors."""
        out, error = own / "out", own / "error"
        job.command_started = time.monotonic()
        with out.open("wb") as to_out, error.open("wb") as to_error:
            process = subprocess.Popen(
                [sys.executable, "-P", *arguments],  # -P: no module of the study's folder replaces one of ours
                cwd=self._folder.path,
                env=_environment(job.progress_file),
                stdin=subprocess.DEVNULL,
                stdout=to_out,
                stderr=to_error,
            )
            self._process = process
            if job.asked_to_stop:
                process.terminate()
            code = process.wait()
        return code, _text(out), _text(error)

    def _note_failure(self, order: Order, problem: Exception) -> None:
        try:
            self._folder.note_outcome(order.step, {"error": f"{type(problem).__name__}: {problem}", "stopped": False})
        except Exception:
            return  # nothing can be written at all; the page says that nothing was made


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()


def _environment(progress: Path | None) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    return {
        **kept,
        "COLUMNS": _WIDTH,
        "PYTHONUTF8": "1",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PEERFRONT_PROGRESS": str(progress or ""),
    }


def _text(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(_MOST_SHOWN).decode("utf-8", "replace")


def _message(error: str, code: int) -> str:
    """What a command said was wrong, in its own words."""
    said = re.search(r"^Error: ", error, re.MULTILINE)  # at the start of a line: values of files may hold it, too
    if said and code == 2 and "Traceback" not in error:
        return error[said.end() :].strip()
    if code in _KILLED:
        return (
            "The computer ended this command, as it does when memory runs out. Close other programs and try again, or "
            "leave out columns that are not needed."
        )
    last = "\n".join(error.strip().splitlines()[-3:])
    return visible_message(f"The command ended unexpectedly (exit code {code}).\n{last}")
