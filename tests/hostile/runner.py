"""Run one command on hostile input in this process, and say what came of it."""

import contextlib
import io
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from peerfront.cli.main import main
from peerfront.foundation.errors import PeerfrontError

ACCEPTED, REFUSED = "accepted", "refused"
EITHER = "accepted or refused"
"""What is expected of generated cases: either is right, if it is said clearly and the output makes sense."""
MOST_OUTPUT = 100_000
"""Characters beyond which output is no message but a flood."""
# What must never reach a screen: control characters but the newline, marks of direction, line separators.
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
# What no result holds: numbers that are none, and fewer than no people.
_NONSENSE = re.compile(
    r"(?<![\w'])[-+]?(?:nan|NaN|inf|Infinity)(?![\w'=])|(?<![\w.)\]-])-[1-9]\d* (?:coupons|people|recruits|rounds)"
)
Content = bytes | str | Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """A command line with its files, and what must come of it."""

    kind: str
    name: str
    arguments: tuple[str, ...]
    outcome: str
    """accepted (exit code 0), refused (exit code 2 and a message), or either."""
    says: str = ""
    """Words that the output holds."""
    files: Mapping[str, Content] = field(default_factory=dict)

    def __str__(self) -> str:
        return ascii(f"{self.kind}: {self.name}")[1:-1][:80]


@dataclass(frozen=True)
class Outcome:
    """What came of a case; `fault` is empty if it is what was expected."""

    what: str
    """accepted, refused, traceback or hang."""
    fault: str
    output: str
    seconds: float


class Hang(BaseException):
    """Raised by the alarm when a command takes too long."""


def run_case(case: Case, folder: Path, model: Path, limit: int = 240) -> Outcome:
    """Run a case with the (empty) folder as the current one; `{model}` in its arguments is a saved model."""
    for name, content in case.files.items():
        if callable(content):
            content(folder / name)
        else:
            (folder / name).write_bytes(
                content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
            )
    arguments = [str(model) if argument == "{model}" else argument for argument in case.arguments]
    if arguments[0] == "check" and len(arguments) > 1:  # everything that a file makes it say
        arguments.append("--details")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    before = _contents(folder, case.files)
    started = time.monotonic()
    what, fault = REFUSED, ""
    with _in_folder(folder), alarm(limit), _command_line(arguments):
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                main()
            what = ACCEPTED
        except SystemExit as ended:
            what = ACCEPTED if not ended.code else REFUSED
            fault = "" if ended.code in (None, 0, 2) else f"exit code {ended.code}"
        except Hang:
            what, fault = "hang", f"more than {limit} seconds"
        except BaseException as problem:
            last = traceback.extract_tb(problem.__traceback__)[-1]
            what, fault = "traceback", f"{type(problem).__name__}: {problem} ({last.filename}:{last.lineno})"
    seconds = time.monotonic() - started
    shown = [stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)]
    output = "".join(shown)
    fault = fault or _fault(case, what, shown)
    if not fault and before != {
        name: content for name, content in _contents(folder, case.files).items() if name in before
    }:
        fault = "changed a file that it was given"
    return Outcome(what, fault, output, seconds)


def _contents(folder: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The ordinary files that a case is given; folders may be written to."""
    paths = [folder / name for name in names if "\0" not in name]
    return {path.name: path.read_bytes() for path in paths if path.is_file() and path.stat().st_size < 2**26}


@dataclass(frozen=True)
class Call:
    """A call of the library with hostile arguments: it answers, or raises a `PeerfrontError`."""

    kind: str
    name: str
    call: Callable[[Path], object]

    def __str__(self) -> str:
        return ascii(f"{self.kind}: {self.name}")[1:-1][:80]


def run_call(call: Call, folder: Path, limit: int = 240) -> Outcome:
    """Make a call; what it answers is printed, too."""
    started = time.monotonic()
    what, fault, output = ACCEPTED, "", ""
    with _in_folder(folder), alarm(limit):
        try:
            output = str(call.call(folder))
        except PeerfrontError as error:
            what, output = REFUSED, str(error)
            fault = "" if output.strip() else "refused without a word"
        except Hang:
            what, fault = "hang", f"more than {limit} seconds"
        except BaseException as problem:
            last = traceback.extract_tb(problem.__traceback__)[-1]
            what, fault = "traceback", f"{type(problem).__name__}: {problem} ({last.filename}:{last.lineno})"
    return Outcome(what, fault, output, time.monotonic() - started)


def _fault(case: Case, what: str, shown: list[str]) -> str:
    output = "".join(shown)
    if case.outcome not in (what, EITHER):
        return f"{what}, and should be {case.outcome}: {_plain(output)[-300:]!r}"
    if what == REFUSED and not shown[1].strip():
        return "refused without a word"
    if "Traceback" in output or re.search(r"\wWarning: ", output):
        return f"speaks of itself: {_plain(output)[-300:]!r}"
    if _plain(case.says) not in _plain(output):
        return f"does not say {case.says!r}: {_plain(output)[-600:]!r}"
    nonsense = _NONSENSE.search(output) if what == ACCEPTED and case.outcome == EITHER else None
    if nonsense:
        return f"says {output[max(0, nonsense.start() - 60) : nonsense.end() + 40]!r}"
    unseen = _UNSEEN.search(output)
    if unseen:
        return f"prints {unseen[0]!r}"
    return f"prints {len(output):,} characters" if len(output) > MOST_OUTPUT else ""


def _plain(text: str) -> str:
    """Drop blanks and line breaks, which depend on the width of the window."""
    return re.sub(r"\s+", "", text)


@contextlib.contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    before, width = Path.cwd(), os.environ.get("COLUMNS")
    os.chdir(folder)
    os.environ["COLUMNS"] = "200"
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.pop("COLUMNS") if width is None else os.environ.update(COLUMNS=width)


@contextlib.contextmanager
def _command_line(arguments: list[str]) -> Iterator[None]:
    before, sys.argv = sys.argv, ["peerfront", *arguments]
    try:
        yield
    finally:
        sys.argv = before


@contextlib.contextmanager
def alarm(seconds: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
