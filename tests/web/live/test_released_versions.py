"""Studies of earlier versions: their databases are migrated, their back-ups restored, and both verify."""

import gzip
import json
import os
import signal
import subprocess
import sys
import tarfile
import zipfile
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.test import override_settings
from django_site import FOLDER, STUDY_FOLDER, empty_database, empty_study_folder, use_database

from peerfront.web.live.folder import LiveFolder, Serving, sqlite
from peerfront.web.live.operations import backups
from peerfront.web.live.operations.backup_files import BackupFile
from peerfront.web.live.operations.backups import restore, upgrade
from peerfront.web.live.operations.opening import check_migrated, migrate, unapplied_migrations
from peerfront.web.live.operations.signed_heads import keep_head
from peerfront.web.live.operations.study_files import export_zip
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models
from peerfront.web.live.records.contacts import read_contact
from peerfront.web.live.records.database import member_from
from peerfront.web.live.records.recording import answer, recorded_in_clear
from peerfront.web.live.rules.actions import Member, Role, roles_text
from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.rules.events import Erasable
from peerfront.web.live.rules.requests import AddSeed, EraseAnswers, Request, ScanCoupon

RELEASED = Path(__file__).parent / "released"
DATABASES = sorted(RELEASED.glob("*.sqlite3.gz"))
BACKUPS = sorted(RELEASED.glob("*.backup.zip"))
FOLDERS = sorted(RELEASED.glob("*.folder.tar.xz"))
COMMAND = """
import sys
sys.path.insert(0, f"{sys.argv[1]}/src")  # before this version, however it is installed
import peerfront
from peerfront.cli.main import main
assert peerfront.__file__.startswith(sys.argv[1]), "another version runs"
sys.argv = ["peerfront", "live", *sys.argv[2:]]
main()
"""


def test_there_is_something_of_each_release() -> None:
    assert DATABASES
    assert [each.name.split(".sqlite3")[0] for each in DATABASES] == [each.name.split(".backup")[0] for each in BACKUPS]


@pytest.mark.parametrize("stored", DATABASES, ids=lambda path: path.name)
def test_a_database_of_an_earlier_version_is_migrated_with_its_data(stored, tmp_path) -> None:
    path = tmp_path / "study.sqlite3"
    path.write_bytes(gzip.decompress(stored.read_bytes()))
    empty_study_folder()
    try:
        use_database(sqlite(path))
        migrate()
        assert unapplied_migrations() == []
        found = verify()
        assert found.whole, found.faults
        assert models.Person.objects.count() == 2
        assert models.Contact.objects.count() == 1
        assert {each.roles for each in models.Member.objects.all()} == {"manager", "interviewer"}
    finally:
        use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})


def test_roles_of_the_first_tables_are_kept(database) -> None:
    use_database(empty_database(database))
    call_command("migrate", "records", "0001", verbosity=0)
    user = User.objects.create(username="ana")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO records_member (user_id, role) VALUES (%s, 'analyst')", [user.pk])
    migrate()
    assert member_from(models.Member.objects.get()) == Member("ana", (Role.ANALYST,), None)
    models.Member.objects.update(roles=roles_text(list(Role)))
    assert member_from(models.Member.objects.get()).roles == tuple(Role)


@pytest.mark.parametrize("stored", BACKUPS, ids=lambda path: path.name)
def test_a_back_up_of_an_earlier_version_is_restored(database, stored, tmp_path) -> None:
    use_database(empty_database(database))
    folder = LiveFolder(tmp_path / "restored")
    folder.create(Serving(), STUDY_FOLDER.keys)
    restored = restore(BackupFile(stored), folder)
    assert (restored.staff, restored.contacts, restored.unreadable) == (2, 1, 1)
    assert verify(folder).whole


@pytest.fixture(params=FOLDERS, ids=lambda path: path.name)
def earlier(request, database, tmp_path, monkeypatch) -> LiveFolder:
    """The folder of a study of an earlier version, open, with its data as they were in a database of either kind."""
    folder = LiveFolder(tmp_path / "study")
    with tarfile.open(request.param) as archive:
        archive.extractall(folder.path, filter="data")
    folder.models.mkdir()
    folder.backups.mkdir()
    wanted = empty_database(database)
    use_database(sqlite(folder.sqlite_file))
    if database == "postgresql":
        _move_to(wanted)
    monkeypatch.setenv(FOLDER, str(folder.path))
    keys = folder.keys
    with override_settings(LIVE_FOLDER=folder, KEYS=keys, CONTACT_KEY=keys.contact_key, SECRET_KEY=keys.secret_key):
        yield folder


def _move_to(empty: dict) -> None:
    """Copy the open database, as it is, into an empty one: its tables are made by the migrations it has had."""
    executor = MigrationExecutor(connection)
    applied = [each for each in executor.loader.applied_migrations if each in executor.loader.graph.nodes]
    tables = backups._tables_as_they_are()
    every = {model: list(model.objects.all()) for model in tables.get_models(include_auto_created=True)}
    use_database(empty)
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    MigrationExecutor(connection).migrate(applied)
    with transaction.atomic():  # references are looked at in the end
        for model, rows in every.items():
            model.objects.bulk_create(rows)
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), list(every)):
            cursor.execute(statement)


def test_the_study_of_an_earlier_version_goes_on_after_an_upgrade(earlier) -> None:
    assert unapplied_migrations()
    backup = upgrade(earlier)
    assert unapplied_migrations() == []
    assert backup is not None
    BackupFile(backup).check_signature(earlier.keys)
    assert models.Event.objects.filter(kind="action_noted", data__contains=backup.name).exists(), "it is in the audit"
    found = verify(earlier)
    assert found.whole, found.faults
    assert found.bound, "users, contact details and keys are stated by an event"
    person = models.Contact.objects.values_list("person", flat=True)[0]
    assert read_contact(person)["name"]
    coordinator = Member("ana", (Role.COORDINATOR,), None)
    now = models.Event.objects.order_by("-number")[0].at + timedelta(hours=1)
    answers = [
        answer(Request(f"scan-{number}", coordinator, site, None, ScanCoupon(code)), now)
        for number, (code, site) in enumerate(models.Coupon.objects.values_list("code", "site_id"))
    ]
    assert any(isinstance(each, Accepted) for each in answers)
    refused = {each.refusal.reason.value for each in answers if not isinstance(each, Accepted)}
    assert refused <= {"used", "expired", "voided", "not_yet_active"}
    seed = answer(Request("seed", coordinator, "north", None, AddSeed("new-seed")), now)
    assert isinstance(seed, Accepted)
    gone = models.Person.objects.exclude(withdrawn_at=None).exclude(network_size=None)[0]
    assert recorded_in_clear(gone.person)
    what = EraseAnswers(gone.person, "asked to", tuple(Erasable))
    assert isinstance(answer(Request("erase", coordinator, None, None, what), now), Accepted)
    gone.refresh_from_db()
    assert gone.network_size is None
    with zipfile.ZipFile(BytesIO(export_zip())) as exported:
        people = exported.read("study.csv").decode().splitlines()
    assert len(people) == models.Person.objects.count() + 1
    assert verify().whole
    assert upgrade(earlier) is None, "nothing is left to do, so no back-up is made"


KILLED = """
import os, signal, sys
from peerfront.web.live.operations import opening
whole = opening.call_command
def half(*arguments, **named):
    whole(*arguments, **named)
    os.kill(os.getpid(), signal.SIGKILL)
opening.call_command = half
from peerfront.cli.main import main
sys.argv = ["peerfront", "live", "serve", sys.argv[1], "--migrate", "--port", "0"]
main()
"""


def test_an_upgrade_that_was_killed_before_it_stated_the_users_is_finished_at_the_next_start(earlier) -> None:
    """The process is killed once the tables are changed; the next start is one without --migrate."""
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    if connection.vendor == "postgresql":
        described = connection.settings_dict
        where = f"host={described['HOST'] or described['OPTIONS'].get('host', '')}&port={described['PORT']}"
        name = f"{described['USER']}:{described['PASSWORD']}@/{described['NAME']}"
        environment["DATABASE_URL"] = f"postgresql://{name}?{where}".replace("&port=None", "").removesuffix("&port=")
        earlier.sqlite_file.unlink()
    connection.close()
    done = subprocess.run([sys.executable, "-c", KILLED, earlier.path], env=environment, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert unapplied_migrations() == []
    assert not models.Event.objects.filter(kind="registers_stated").exists()
    check_migrated()
    keep_head(earlier)  # as a server does when it begins
    found = verify(earlier)
    assert (found.whole, found.bound, models.Event.objects.filter(kind="registers_stated").count()) == (True, True, 1)
    check_migrated()
    assert models.Event.objects.filter(kind="registers_stated").count() == 1


def test_the_back_up_before_an_upgrade_is_one_of_the_earlier_version(earlier, tmp_path) -> None:
    """The way back: the earlier version restores it (tried with that version's own program in the next test)."""
    backup = upgrade(earlier)
    (released,) = [path for path in BACKUPS if path.name.startswith("0.3.0")]
    with zipfile.ZipFile(backup) as made, zipfile.ZipFile(released) as own:
        assert set(made.namelist()) == set(own.namelist())
        for name in ("staff.jsonl", "contacts.jsonl", "events.jsonl", "about.json", "manifest.json"):
            first = [file.read(name).partition(b"\n" if name.endswith("l") else b"\0")[0] for file in (made, own)]
            assert json.loads(first[0]).keys() == json.loads(first[1]).keys(), name
        roles = {json.loads(line)["role"] for line in made.read("staff.jsonl").splitlines()}
    assert roles == {"manager", "coordinator", "interviewer", "cashier", "analyst"}


@pytest.mark.slow
@pytest.mark.parametrize("commit", ["2c51518"])
def test_the_earlier_version_restores_the_back_up_before_an_upgrade(earlier, tmp_path, commit) -> None:
    top = Path(__file__).parents[3]
    program = subprocess.run(["git", "-C", top, "archive", commit, "src"], capture_output=True, check=False)
    if program.returncode != 0:
        pytest.skip("the history of the repository is not here")
    backup = upgrade(earlier)
    with tarfile.open(fileobj=BytesIO(program.stdout)) as archive:
        archive.extractall(tmp_path / "program", filter="data")
    ours = (FOLDER, "DJANGO_SETTINGS_MODULE", "DJANGO_ALLOW_ASYNC_UNSAFE", "DATABASE_URL")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    for words in (
        ["restore", backup, tmp_path / "back", "--keys", earlier.path / "keys.json"],
        ["verify", tmp_path / "back"],
    ):
        command = [sys.executable, "-c", COMMAND, str(tmp_path / "program"), *map(str, words)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
