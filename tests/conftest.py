"""Shared by all tests: where the real data lies, and how thorough hypothesis is."""

import os

# Small networks on small machines: a second thread costs more than it brings. Set before anything imports torch.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "peerfront", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("peerfront")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets beside the project; tests that read it are skipped without it."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real data sets (../shared/data) are not here")
    return folder
