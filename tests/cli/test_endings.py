"""Processes end when they are told to, with their workers, and output that nobody reads is no error."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import peerfront
from cli.test_forecast_report import FRONTIER
from study.small_advice import a_fit, study_csv

SOURCE = Path(peerfront.__file__).parents[1]
HERE = {**os.environ, "PYTHONPATH": str(SOURCE)}
MAIN = (sys.executable, "-c", "from peerfront.cli.main import main; main()")
LONG = (
    *MAIN, "compare", "--workers", "2", "--world", "icpsr22140", "--policy", "random_split", "--policy", "constant",
    "--draws", "400", "--episodes", "200", "--discount", "0.9",
)  # fmt: skip

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and process numbers of POSIX")


def _workers(parent: int) -> list[int]:
    """The processes that this one started."""
    shown = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=False)
    return [int(number) for number in shown.stdout.split()]


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def _heed_hangups() -> None:
    """Undo what `nohup` does to the whole run of the tests: commands started under it rightly ignore hang-ups."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_workers_end_with_the_command(number, tmp_path) -> None:
    parts = tmp_path / "out" / "parts"
    with subprocess.Popen(
        [*LONG, "--out", str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        text=True,
        env=HERE,
        preexec_fn=_heed_hangups,
    ) as process:
        while not list(parts.glob("*.npz")):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        workers = _workers(process.pid)
        assert len(workers) >= 2
        process.send_signal(number)
        _, messages = process.communicate(timeout=120)
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    assert "Traceback" not in messages
    for _ in range(1200):
        if not any(map(_alive, workers)):
            break
        time.sleep(0.05)
    assert not [worker for worker in workers if _alive(worker)]
    left = [file.name for file in (tmp_path / "out").rglob(".*")]
    if number != signal.SIGKILL:
        assert "What is done is kept" in messages
        assert not left


@pytest.fixture
def place(tmp_path) -> Path:
    a_fit().save(tmp_path / "model")
    (tmp_path / "frontier.csv").write_text(FRONTIER)
    (tmp_path / "study.csv").write_text(study_csv())
    return tmp_path


PLAN = (*MAIN, "plan", "model", "frontier.csv", "--budget", "9", "--out", "sheet.csv")


def test_a_closed_pipe_is_quiet_and_loses_no_file(place) -> None:
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(PLAN, cwd=place, stdout=write, stderr=subprocess.PIPE, text=True, env=HERE)
    os.close(write)
    assert ended.returncode == 0
    assert "rror" not in ended.stderr  # nor a traceback; only how far it is
    assert (place / "sheet.csv").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_finds_no_room_is_said_and_loses_no_file(place) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(PLAN, cwd=place, stdout=full, stderr=subprocess.PIPE, text=True, env=HERE)
    assert ended.returncode == 2
    assert "could not be written (No space left on device)" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert (place / "sheet.csv").exists()


IGNORED = """
import signal
from peerfront.cli.main import ended_by_signals
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
with ended_by_signals():
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    assert callable(signal.getsignal(signal.SIGTERM))
    try:
        signal.raise_signal(signal.SIGTERM)
    except KeyboardInterrupt:
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, "a second one kills"
    else:
        raise AssertionError("a signal must interrupt")
"""


def test_signals_that_are_ignored_stay_ignored() -> None:
    """In a process of its own: a signal that goes astray would end the whole run of the tests."""
    ended = subprocess.run([sys.executable, "-c", IGNORED], env=HERE, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


# Compiled code where nothing can be written --------------------------------------------------------------------------


KERNEL = """
import peerfront.gfp.price_kernels, peerfront.baselines.population_dp, peerfront.models.offspring.category_networks
from peerfront.gfp.greedy_kernels import _above
assert _above(1.0, 0, 0.5, 1)
"""


def test_a_read_only_installation_without_a_home_compiles(tmp_path) -> None:
    """Where a file stands in the place of each folder for compiled code, not even root can write there."""
    copy = tmp_path / "site" / "peerfront"
    shutil.copytree(Path(peerfront.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {source.parent for source in copy.rglob("*.py")}:
        (folder / "__pycache__").write_text("")
    (tmp_path / "temporary").mkdir()
    variables = {
        **{name: value for name, value in os.environ.items() if name not in ("HOME", "NUMBA_CACHE_DIR")},
        "PYTHONPATH": str(copy.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(copy / "__init__.py"),
        "TMPDIR": str(tmp_path / "temporary"),
    }
    command = [sys.executable, "-c", KERNEL]
    ended = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    (folder,) = (tmp_path / "temporary").glob("peerfront-compiled-*")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.rglob("*.nbi")), "compiled code is kept for the next run"


def test_where_compiled_code_is_placed(tmp_path, monkeypatch) -> None:
    import tempfile

    from peerfront.foundation.machine import place_compiled_code

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "numba", None)
    (tmp_path / "file").write_text("")
    place_compiled_code(tmp_path / "package")  # beside the source
    place_compiled_code(tmp_path / "file")  # in the user's cache
    assert "NUMBA_CACHE_DIR" not in os.environ
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    place_compiled_code(tmp_path / "file")
    own = Path(os.environ["NUMBA_CACHE_DIR"])
    assert own.parent == tmp_path
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    own.chmod(0o777)  # anybody may have put something in
    place_compiled_code(tmp_path / "file")
    other = Path(os.environ["NUMBA_CACHE_DIR"])
    assert other != own
    assert other.stat().st_mode & 0o777 == 0o700
