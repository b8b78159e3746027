"""The app as its user has it: a server process of its own, and a real browser."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from app_client import running_app


@pytest.fixture(scope="session")
def app(tmp_path_factory):
    """An app that runs for all tests that do not need a folder of their own."""
    with running_app(tmp_path_factory.mktemp("app") / "my study's folder") as running:
        yield running
