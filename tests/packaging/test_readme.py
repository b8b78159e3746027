"""The README keeps what it promises: its Python runs, its commands exist, its first lines say how to begin."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import peerfront as pf

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
LESS_EFFORT = """
import peerfront as pf

fit, compare = pf.fit, pf.compare
pf.fit = lambda study, **given: fit(study, **given | {"budget": 20, "rounds": 2, "effort": 0.1})
pf.compare = lambda **given: compare(
    **given | {"policies": ["threshold", "gfp-untrained"], "draws": 1, "discounts": [0.9], "episodes": 10}
)
"""


@pytest.mark.slow
def test_the_python_runs(tmp_path: Path) -> None:
    """It runs as it stands, beside a made-up study.csv, with less effort for what takes minutes."""
    pf.demo_study(people=150).study.to_csv(tmp_path / "study.csv", index=False)
    block, _ = BLOCKS
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", LESS_EFFORT + block],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_policy_of_ones_own_takes_fifteen_lines_and_runs(tmp_path: Path) -> None:
    _, block = BLOCKS
    assert sum(bool(line.strip()) for line in block.splitlines()) <= 15
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", block],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "MostFirst" in done.stdout


def test_every_command_is_named() -> None:
    study = ("example", "check", "fit", "plan", "forecast", "report", "convert")
    research = ("worlds", "policies", "simulate", "compare", "reproduce")
    for command in (f"peerfront {name}" for name in (*study, *research)):
        assert command in README, f"{command} is not in README.md"


def test_it_begins_with_how_to_begin() -> None:
    first = README[: README.index("\n## ")]
    names = (
        "pip install",
        "make demo",
        "make test",
        "docs/images/forecast.png",
        "peerfront app",
        "peerfront live demo",
    )
    for promise in names:
        assert promise in first
