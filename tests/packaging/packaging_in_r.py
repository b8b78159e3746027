"""Run R beside the program of this environment; skip where R or a package of it is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

R_PACKAGE = Path(__file__).parents[2] / "r"


def run_r(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run R without asking any package registry, with peerfront from this environment."""
    index = folder / "registry" / "src" / "contrib" / "PACKAGES"
    index.parent.mkdir(parents=True, exist_ok=True)
    index.touch()
    profile = folder / "profile.R"
    profile.write_text(f'options(repos = c(CRAN = "file://{folder / "registry"}"))\n')
    program = Path(sys.executable).with_name("peerfront")
    environment = os.environ | {
        "PEERFRONT": str(program), "R_PROFILE_USER": str(profile), "_R_CHECK_FORCE_SUGGESTS_": "false"
    }  # fmt: skip
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def skip_without(*packages: str) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    for name in packages:
        quiet = f"quit(status = !requireNamespace('{name}', quietly = TRUE))"
        if subprocess.run(["Rscript", "-e", quiet], capture_output=True).returncode:
            pytest.skip(f"the R package {name} is not installed")
