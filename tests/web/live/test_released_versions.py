"""Studies of earlier versions: their databases are migrated, their back-ups restored, and both verify."""

import gzip
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django_site import STUDY_FOLDER, empty_database, empty_study_folder, use_database

from peerfront.web.live.folder import LiveFolder, Serving, sqlite
from peerfront.web.live.operations.backup_files import BackupFile
from peerfront.web.live.operations.backups import restore
from peerfront.web.live.operations.opening import migrate, unapplied_migrations
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models
from peerfront.web.live.records.database import member_from
from peerfront.web.live.rules.actions import Member, Role, roles_text

RELEASED = Path(__file__).parent / "released"
DATABASES = sorted(RELEASED.glob("*.sqlite3.gz"))
BACKUPS = sorted(RELEASED.glob("*.backup.zip"))


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
