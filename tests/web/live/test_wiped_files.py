"""What was erased is in no byte of the database's files: tables, write-ahead log, statistics; on both databases."""

import threading
import uuid
from pathlib import Path

import pytest
from django.db import connection
from django_site import _TOP, STUDY_FOLDER
from live_client import LiveStudy, write_contact

from peerfront.web.live.operations.verification import verify
from peerfront.web.live.planning.planning_jobs import tidy_up
from peerfront.web.live.records.leftovers import Leftovers, wipe
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.events import Erasable
from peerfront.web.live.rules.requests import AddSeed, CorrectAnswers, RecordAnswers, WithdrawPerson

PAGES = {**dict.fromkeys(Erasable, "/people/ana/erase/"), "contact": "/people/ana/contact/delete/"}


def _files() -> list[Path]:
    """All files of the database that the test uses: with PostgreSQL those of the whole server, logs and all."""
    if connection.vendor == "postgresql":
        return [path for path in (_TOP / "postgresql").rglob("*") if path.is_file()]
    return sorted(Path(connection.settings_dict["NAME"]).parent.glob(f"{Path(connection.settings_dict['NAME']).name}*"))


def _hits(secret: bytes) -> dict[str, int]:
    """How often the bytes stand in each file."""
    found = {}
    for path in _files():
        try:
            number = path.read_bytes().count(secret)
        except FileNotFoundError:  # PostgreSQL removes files while we read
            continue
        if number:
            found[path.name if connection.vendor == "sqlite" else str(path.relative_to(_TOP / "postgresql"))] = number
    return found


def _sql(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture
def log_is_removed(database):
    """A server of PostgreSQL that removes its log instead of using its files again, as the page on data says."""
    if database == "postgresql":
        _sql("ALTER SYSTEM SET wal_recycle = off", "SELECT pg_reload_conf()", "SELECT pg_switch_wal()", "CHECKPOINT")
        yield
        _sql("ALTER SYSTEM RESET wal_recycle", "SELECT pg_reload_conf()")
    else:
        yield


@pytest.fixture
def secrets(database) -> dict[str, bytes]:
    """What ana said and what was written about her, corrected many times; and how to reach her, encrypted."""
    study = LiveStudy()
    secret, words = uuid.uuid4().hex, uuid.uuid4().hex
    number_known = 100_000 + uuid.uuid4().int % 900_000  # other databases of the server have others
    study.seed("bea")
    for number in range(40):
        study.seed(f"p{number}")
    study.do(AddSeed("ana"))
    study.do(RecordAnswers("ana", number_known, (("town", secret),)))
    for number in range(30):
        study.do(CorrectAnswers("ana", number_known, (("age", str(number)), ("town", secret * 8)), words))
        study.seed(f"q{number}")
    write_contact("ana", {"name": "Ana"})
    study.approve(bea=1, ana=1)
    study.issue("ana")
    study.do(WithdrawPerson("ana", True, words))
    if database == "postgresql":
        _sql("CHECKPOINT", "ANALYZE")
    size = f'"network_size":{number_known}'
    return {"answers": secret.encode(), "network_size": size.encode(), "words": words.encode(), "contact": _sealed()}


def _sealed() -> bytes:
    from peerfront.web.live.records.models import Contact

    return bytes(Contact.objects.get().sealed)


def _erase(what: str):
    client = LiveStudy.__new__(LiveStudy).client(Role.COORDINATOR)  # the study is there already
    return client.post(PAGES[what], {"key": uuid.uuid4().hex, "why": "asked to", "what": what}, follow=True)


@pytest.mark.parametrize("what", list(PAGES))
def test_no_byte_is_left_after_erasing_while_the_server_runs(log_is_removed, secrets, what) -> None:
    before = _hits(secrets[what])
    assert before
    page = _erase(what)
    after = _hits(secrets[what])
    size = sum(path.stat().st_size for path in _files())
    print(f"{connection.vendor}, {what}: {len(_files())} files, {size:,} bytes; hits before {before}, after {after}")
    assert after == {}
    assert not STUDY_FOLDER.unwiped.exists()
    assert b"still hold what was erased" not in page.content
    assert verify().whole


def test_while_somebody_reads_it_is_said_and_done_later(log_is_removed, secrets) -> None:
    reading, ends = threading.Event(), threading.Event()

    def read() -> None:
        from peerfront.web.live.records.database import one_moment
        from peerfront.web.live.records.models import Event

        with one_moment():
            Event.objects.count()
            reading.set()
            ends.wait(60)
        connection.close()

    thread = threading.Thread(target=read)
    thread.start()
    assert reading.wait(60)
    try:
        assert b"still hold what was erased" in _erase("answers").content
        assert _hits(secrets["answers"])
        assert STUDY_FOLDER.unwiped.exists(), "`live doctor` says so"
        assert wipe() is Leftovers.EVERYTHING
    finally:
        ends.set()
        thread.join()
    tidy_up()  # as the server does each minute
    assert _hits(secrets["answers"]) == {}
    assert wipe() is Leftovers.NOTHING, "nothing to do"


def test_without_the_rights_the_log_of_postgresql_stays_and_this_is_said(log_is_removed, secrets) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has no users")
    name = connection.settings_dict["NAME"]
    role = f"site_{name[-12:]}"
    tables = "SELECT format('ALTER TABLE %I OWNER TO ' || %s, tablename) FROM pg_tables WHERE schemaname = 'public'"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {role}")
        cursor.execute(f"ALTER DATABASE {name} OWNER TO {role}")
        for (statement,) in cursor.execute(tables.replace("%I", "%%I"), [role]).fetchall():
            cursor.execute(statement)
        cursor.execute(f"SET ROLE {role}")
    assert b"log of changes (WAL) may still hold" in _erase("answers").content
    assert not STUDY_FOLDER.unwiped.exists(), "the rest is done, and nobody tries again in vain"
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        assert {path.split("/")[0] for path in _hits(secrets["answers"])} == {"pg_wal"}
        cursor.execute(f"GRANT pg_checkpoint TO {role}")  # as the page on protecting data says
        cursor.execute(f"GRANT EXECUTE ON FUNCTION pg_switch_wal() TO {role}")
        cursor.execute(f"SET ROLE {role}")
    assert b"log of changes (WAL) may still hold" not in _erase("contact").content
    assert _hits(secrets["answers"]) == _hits(secrets["contact"]) == {}
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
