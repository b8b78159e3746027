"""How a command ends when it is told to end, or when nobody reads on.

SIGTERM and SIGHUP, which schedulers, service managers and closed terminals send, end a command as Ctrl-C does. What it
shows may be cut short (`| head -1`) or not find room (`> file` on a full disk): its work goes on, and no file is lost.
"""

import contextlib
import io
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

_SIGNALS = ("SIGTERM", "SIGHUP")  # SIGHUP is unknown to Windows


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let signals raise KeyboardInterrupt; what exits then does so with the signal's exit code. A second one kills."""
    received: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    former = {}
    for number in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
        with contextlib.suppress(ValueError):  # not in the main thread: signals are somebody else's
            if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP, and so shall we
                former[number] = signal.signal(number, end)
    try:
        yield
    except (SystemExit, KeyboardInterrupt):
        if received:
            sys.exit(128 + received[0])
        raise
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


class Shown:
    """Standard output and errors that outlive their readers: what cannot be written is dropped."""

    def __init__(self) -> None:
        self._former: dict[str, TextIO] = {}
        self._files: dict[str, _Dropping] = {}

    def __enter__(self) -> "Shown":
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is None or stream is not getattr(sys, f"__{name}__") or not isinstance(stream, io.TextIOWrapper):
                continue  # closed, or somebody else's: a notebook's or a test's
            stream.flush()
            self._files[name], self._former[name] = _Dropping(stream.fileno(), "wb", closefd=False), stream
            setattr(sys, name, _like(stream, self._files[name]))
        return self

    def fault(self) -> str:
        """Why something could not be written to standard output; nothing if a reader just went away."""
        if "stdout" not in self._files:
            return ""
        sys.stdout.flush()
        problem = self._files["stdout"].problem
        return str(problem.strerror) if problem is not None else ""

    def __exit__(self, *_: object) -> None:
        for name, stream in self._former.items():
            getattr(sys, name).flush()
            setattr(sys, name, stream)


class _Dropping(io.FileIO):
    """A file that takes everything, whether it can be written or not."""

    problem: OSError | None = None

    def write(self, content: object, /) -> int:
        try:
            return super().write(content)  # type: ignore[arg-type] # bytes, from the buffer above
        except BrokenPipeError:
            pass
        except OSError as problem:
            self.problem = problem
        return memoryview(content).nbytes  # type: ignore[arg-type]


def _like(stream: io.TextIOWrapper, file: _Dropping) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
