from pathlib import Path

import pytest

from experiments.small import SMALL
from peerfront.experiments.comparison_run import run_comparison


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("comparison") / "alone"
    run_comparison(SMALL, folder)
    return folder
