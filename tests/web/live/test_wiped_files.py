"""What was erased is in no byte of the study's files: folder, tables, write-ahead log, statistics; both databases."""

import json
import os
import shutil
import threading
import uuid
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import connection
from django_site import _TOP, STUDY_FOLDER
from live_client import LiveStudy, write_contact

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.locks import temporary_name
from peerfront.web.live.operations.backups import write_backup
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.planning import kept_models
from peerfront.web.live.planning.kept_models import KeptModel, PlanFolder, PlanSummary
from peerfront.web.live.planning.planning_jobs import tidy_up
from peerfront.web.live.records.leftovers import Leftovers, wipe
from peerfront.web.live.records.models import JobKind, Plan, PlanningJob
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.events import Erasable
from peerfront.web.live.rules.requests import AddSeed, CorrectAnswers, RecordAnswers, WithdrawPerson

PAGES = {**dict.fromkeys(Erasable, "/people/ana/erase/"), "contact": "/people/ana/contact/delete/"}


def _files() -> list[Path]:
    """All files of the study's folder and of the database; with PostgreSQL those of the whole server, logs and all."""
    own = [path for path in STUDY_FOLDER.path.rglob("*") if path.is_file()]
    if connection.vendor == "postgresql":
        return own + [path for path in (_TOP / "postgresql").rglob("*") if path.is_file()]
    file = Path(connection.settings_dict["NAME"])
    return own + sorted(file.parent.glob(f"{file.name}*"))


def _hits(secret: bytes) -> dict[str, int]:
    """How often the bytes stand in each file."""
    found = {}
    for path in _files():
        try:
            number = path.read_bytes().count(secret)
        except FileNotFoundError:  # PostgreSQL removes files while we read
            continue
        if number:
            found[str(path.relative_to(_TOP)).removeprefix("postgresql/")] = number
    return found


def _told(what: str, before: dict[str, int], after: dict[str, int]) -> None:
    """Print a line for docs/results/live.md: pytest -s."""
    size = sum(path.stat().st_size for path in _files())
    hits = [f"{sum(each.values())} in {len(each)} files" for each in (before, after)]
    print(f"\n{connection.vendor}, {what}: {len(_files())} files, {size:,} bytes; hits {hits[0]}, then {hits[1]}")


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
    quoted = json.dumps({"notes": f"ana's town {secret} is unknown, network_size: {number_known}"})
    asked = {"kind": JobKind.IMPORT, "asked_by": "maria", "asked_at": study.now}
    PlanningJob.objects.create(**asked, state="failed", ended_at=study.now, message=quoted)
    study.approve(bea=1, ana=1)
    study.issue("ana")
    study.do(WithdrawPerson("ana", True, words))
    if database == "postgresql":
        _sql("CHECKPOINT", "ANALYZE")
    size = f'"network_size":{number_known}'
    return {"answers": secret.encode(), "network_size": size.encode(), "words": words.encode(), "contact": _sealed()}


FIGURES = PlanSummary(
    day="2026-03-02", refitted=True, waiting=2, budget=9, open_coupons=0, words=(), details=(), about_model=(),
    expected=None, chances={"ana": "97.31% 12.07%", "bea": "41%"},
    brings={"ana": (3.14159, 2.71828), "bea": (1.0, 0.5)}, by_hand={"ana": 1},
)  # fmt: skip
OF_ANA = (b"97.31% 12.07%", b"3.14159", b"2.71828")


def _of_a_killed_run() -> str:
    return temporary_name().replace(f"-{os.getpid()}-", "-99999999-")


@pytest.fixture
def plan(secrets) -> PlanFolder:
    """A plan that says what it expects of ana, beside a half-written summary of it."""
    of_plan = Plan.objects.get()
    kept = KeptModel(of_plan.model).plan(of_plan.seed)
    kept.save(FIGURES, {})
    shutil.copy(kept.folder / "summary.json", kept.folder / _of_a_killed_run())
    return kept


@pytest.mark.parametrize("what", [Erasable.ANSWERS, Erasable.NETWORK_SIZE])
def test_what_plans_expected_of_the_person_goes_with_what_it_follows_from(plan, what, tmp_path) -> None:
    page = LiveStudy.__new__(LiveStudy).client(Role.COORDINATOR)
    assert b"97.31% 12.07%" in page.get("/plan/").content
    before = [_hits(each) for each in OF_ANA]
    assert all(before)
    _erase("words")
    assert all(map(_hits, OF_ANA)), "words are another choice"
    assert b"files of plans still hold" not in _erase(what).content
    after = [_hits(each) for each in OF_ANA]
    for hits in zip(before, after, strict=True):
        _told(f"plan, with {what}", *hits)
    assert after == [{}, {}, {}]
    assert plan.summary == replace(FIGURES, chances={"bea": "41%"}, brings={"bea": (1.0, 0.5)})
    assert b"97.31% 12.07%" not in page.get("/plan/").content
    with zipfile.ZipFile(write_backup(STUDY_FOLDER, tmp_path / "new.zip")) as archive:
        content = b"".join(map(archive.read, archive.namelist()))
    assert b"41%" in content
    assert not any(each in content for each in OF_ANA)


def test_a_plan_that_could_not_be_written_or_was_made_meanwhile_loses_it_later(plan) -> None:
    def full(*_, **__):
        raise DataFileError("outputs.unwritable", path="summary.json", problem="No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_models, "write_text", full)
        assert b"The files of plans still hold" in _erase("answers").content
    assert all(map(_hits, OF_ANA))
    tidy_up()
    assert not any(map(_hits, OF_ANA))
    plan.save(FIGURES, {})  # by a process that read the study before
    tidy_up()
    assert not any(map(_hits, OF_ANA))


def test_what_a_killed_drill_and_a_killed_back_up_left_is_removed(secrets) -> None:
    left = [folder / _of_a_killed_run() for folder in (STUDY_FOLDER.path, STUDY_FOLDER.backups)]
    left[0].mkdir()
    for file in (left[0] / "study.sqlite3", left[1]):
        file.write_bytes(secrets["answers"])
    assert len(_hits(secrets["answers"])) >= 2
    tidy_up()
    assert not any(each.exists() for each in left)


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
    _told(what, before, after)
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
