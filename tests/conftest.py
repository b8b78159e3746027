"""Shared by all tests: where the real data lies, and how thorough hypothesis is."""

import os
import shutil
import sys

# Small networks on small machines: a second thread costs more than it brings. Set before anything imports torch.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "peerfront", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("peerfront")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Run property tests without coverage: tracing doubles their time, and other tests run the same lines.

    pytest-cov's marker `no_cover` does not help where tests run side by side: each process has a second coverage there.
    """
    tracer = sys.gettrace()
    if tracer is None or not getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        return (yield)
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets beside the project; tests that read it are skipped without it."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real data sets (../shared/data) are not here")
    return folder


@pytest.fixture(scope="module", autouse=True)
def _coverage_of_processes(request):
    """Measure coverage in processes that tests start only where nothing else runs their code: it slows them down."""
    measured = os.environ.get("COVERAGE_PROCESS_CONFIG")
    if measured is None or {"app", "live"} & set(request.path.parts):
        yield
        return
    del os.environ["COVERAGE_PROCESS_CONFIG"]
    yield
    os.environ["COVERAGE_PROCESS_CONFIG"] = measured


@pytest.fixture(scope="session")
def chromium():
    """A real browser, one for all tests of a process; tests that need it are skipped where there is none."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=options)
        yield running
        running.close()
