from pathlib import Path

import pytest

from experiments.small import SMALL
from peerfront.experiments.compare import compare


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("comparison") / "alone"
    compare(SMALL, folder)
    return folder
