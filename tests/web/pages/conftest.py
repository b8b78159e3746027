"""Pages in other languages: a made-up study with everything in it, and a real browser."""

import sys
from pathlib import Path

import pytest
from django.utils import translation

sys.path.insert(0, str(Path(__file__).parents[3] / "docs"))
sys.path.insert(0, str(Path(__file__).parents[1] / "live"))
sys.path.insert(0, str(Path(__file__).parent))
from django_site import STUDY_FOLDER, empty_database, empty_study_folder, set_up_django, stop_servers, use_database

set_up_django()


@pytest.fixture(autouse=True)
def _english():
    """Begin each test in English: a page that an earlier one opened in this thread leaves its language behind."""
    with translation.override("en"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _servers():
    yield
    stop_servers()


@pytest.fixture(scope="module")
def demo():
    """The made-up study of `peerfront live demo`, in a database of its own, with a back-up to list."""
    from peerfront.web.live.operations.backups import back_up_here
    from peerfront.web.live.operations.demo import make_demo

    empty_study_folder()
    use_database(empty_database("sqlite"))
    make_demo()
    back_up_here(STUDY_FOLDER, None)
    yield
    use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})
