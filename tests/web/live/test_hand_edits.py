"""Edits of the database by hand, as `benchmarks/live_hand_edits.py` makes them: `verify` finds each, and says which."""

import gzip
import re
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.test import Client
from django_site import STUDY_FOLDER, empty_database, empty_study_folder, use_database
from live_client import LiveStudy

from peerfront.foundation.errors import SettingError
from peerfront.web.live.folder import LiveFolder, Serving, sqlite
from peerfront.web.live.operations import serving
from peerfront.web.live.operations.backup_files import BackupFile
from peerfront.web.live.operations.backups import restore, write_backup
from peerfront.web.live.operations.opening import migrate
from peerfront.web.live.operations.registers import state_registers
from peerfront.web.live.operations.signed_heads import heads_kept, keep_head
from peerfront.web.live.operations.staff import new_link
from peerfront.web.live.operations.study_checkup import keys_finding
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models
from peerfront.web.live.rules.actions import Role

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
import live_hand_edits as edits

NEW = "four plain words here"
NAMED = {
    "user: role raised": "user_differs",
    "user: for all sites": "user_differs",
    "user: let in again": "user_differs",
    "user: manager added": "user_added",
    "user: deleted": "user_missing",
    "user: password hash and seal of another user": "password_set",
    "contact: two swapped": "contact_differs",
    "contact: deleted": "contact_missing",
    "contact: added": "contact_added",
    "chain: hashed again from a payment on": "not_signed",
    "chain: hashed again, signed by a stranger": "not_signed",
    "chain: hashed again as if of 0.3": "head_differs",
    "chain: an older copy of the database": "head_missing",
    "event: manager added, with an event well hashed": "not_signed",
    "database: of another study": "other_study",
    "keys.json: another secret key": "keys_changed",
    "keys.json: another contact key": "keys_changed",
    "back-up: of another study among them": "live_backup.not_signed",
    "back-up: a role in it": "live_backup.changed_file",
    "heads.jsonl: a line changed": "head_not_signed",
    "heads.jsonl: removed": "no_heads",
}
"""Edits that nothing found before 0.4, and the code of what finds them."""


@pytest.fixture
def played(database) -> str:
    edits.play(STUDY_FOLDER)
    return database


def test_edits_of_the_database_are_found_and_named(played) -> None:
    assert edits.found_by_verify(STUDY_FOLDER, lambda _: None) == []
    for name, code in NAMED.items():
        found = [each.code for each in edits.found_by_verify(STUDY_FOLDER, edits.EDITS[name])]
        assert code in {each.removeprefix("live_records.") for each in found}, (name, found)
    for name, change in edits.ONLY_PAPER.items():
        assert edits.found_by_verify(STUDY_FOLDER, change) == [], f"{name}: say so no longer"
    verified = verify()
    assert (verified.whole, verified.bound, verified.users, verified.contacts) == (True, True, 3, 2)
    assert (verified.heads, verified.backups) == (2, 1)


def test_a_password_written_by_hand_is_not_made_good_by_logging_in_with_it(played) -> None:
    boss = User.objects.get(username="boss")
    User.objects.filter(username="boss").update(password=make_password(NEW))
    for change in (NEW, NEW * 2):  # a hash that Django makes anew at a login, and another password chosen by them
        boss = User.objects.get(username="boss")
        boss.set_password(change)
        boss.save()
        assert [each.code for each in verify().faults] == ["live_records.password_set"]
    new_link(boss, "")
    assert verify().whole, "what the message says to do"


@pytest.mark.usefixtures("database")
def test_what_the_pages_do_with_users_and_contacts_is_no_fault() -> None:
    study = LiveStudy()
    study.seed("ana")
    manager, interviewer = study.client(Role.MANAGER), study.client(Role.INTERVIEWER)
    state_registers()
    keep_head(STUDY_FOLDER)
    keys = iter(range(100))

    def send(client: Client, page: str, **entries: object) -> str:
        answered = client.post(page, entries | {"key": f"key-{next(keys)}"}, follow=True)
        assert answered.redirect_chain, answered.content.decode()
        return answered.content.decode()

    def first_login(page: str, **entries: object) -> Client:
        (link,) = re.findall(r"http://testserver(/first-login/\S+?/)(?=[\s<\"])", page)
        client = Client()
        assert client.post(link, {"new_password1": NEW, "new_password2": NEW} | entries).status_code == 302
        return client

    first_login(send(manager, "/users/add/", name="maria", roles="manager"), user_name="mary")
    ines = first_login(send(manager, "/users/add/", name="ines", roles="interviewer", site="north"))
    page = f"/users/{User.objects.get(username='ines').pk}/"
    send(ines, "/password/", old_password=NEW, new_password1=NEW * 2, new_password2=NEW * 2)
    send(manager, page, do="role", roles="analyst", site="")
    send(manager, page, do="stop")
    send(manager, page, do="let in")
    send(manager, page, do="link")
    send(manager, f"/users/{User.objects.get(username='mary').pk}/", do="stop")
    for phone in ("1", "2"):
        send(interviewer, "/people/ana/contact/write/", name="Ana", phone=phone, note="")
    verified = verify()
    assert verified.whole, verified.faults
    assert (verified.users, verified.contacts) == (4, 1)
    send(study.client(Role.COORDINATOR), "/people/ana/contact/delete/")
    (fault,) = verify().faults
    assert fault.code == "live_records.user_added", "the coordinator of this test was made without a note"


def test_a_study_of_0_3_states_its_users_once_at_the_upgrade(tmp_path) -> None:
    path, (stored,) = tmp_path / "study.sqlite3", (Path(__file__).parent / "released").glob("0.3.0.sqlite3.gz")
    path.write_bytes(gzip.decompress(stored.read_bytes()))
    empty_study_folder()
    try:
        use_database(sqlite(path))
        migrate()
        verified = verify()
        assert verified.whole, verified.faults
        codes = ["live_records.stated", "live_records.stated_users", "live_records.stated_contacts"]
        assert [each.code for each in verified.notes] == codes, "no event of this study said that it has users"
        migrate()
        assert verify() == verified, "once"
        models.Member.objects.filter(roles="interviewer").update(roles="manager")
        assert [each.code for each in verify().faults] == ["live_records.user_differs"]
        models.Event.objects.update(signature="")
        migrate()
        assert {each.code for each in verify().faults} == {"live_records.user_differs", "live_records.not_signed"}
    finally:
        use_database({"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"})


@pytest.mark.usefixtures("database")
def test_a_restore_with_other_keys_binds_the_study_to_these(tmp_path, monkeypatch) -> None:
    edits.play(STUDY_FOLDER)
    backup = write_backup(STUDY_FOLDER, tmp_path / "b.zip")
    folder = LiveFolder(tmp_path / "restored")
    folder.create(Serving())
    monkeypatch.setattr(settings, "KEYS", folder.keys)
    use_database(empty_database("sqlite"))
    assert restore(BackupFile(backup), folder).unreadable == 0, "the process still has the contact key of the study"
    verified = verify(folder)
    assert verified.whole, verified.faults
    assert [each.code for each in verified.notes] == ["live_records.stated"], "what was stated followed from the events"
    assert [each.code for each in verify(STUDY_FOLDER).faults] == ["live_records.other_study"]


@pytest.mark.usefixtures("one_database")
def test_the_server_does_not_start_with_other_keys_and_keeps_heads(tmp_path) -> None:
    edits.play(STUDY_FOLDER)
    before = len(STUDY_FOLDER.heads.read_text().splitlines())
    with heads_kept(STUDY_FOLDER):
        assert len(STUDY_FOLDER.heads.read_text().splitlines()) == before + 1
        edits.write_contact("ben", "3")
    lines = STUDY_FOLDER.heads.read_text().splitlines()
    assert len(lines) == before + 2
    assert f'"number": {models.Event.objects.count()},' in lines[-1]
    assert verify().whole
    other = LiveFolder(tmp_path / "other")
    other.create(Serving())
    assert keys_finding(other).message.code == "live_health.other_keys"
    with pytest.raises(SettingError, match="not of the same study"):
        serving.serve(other, "127.0.0.1", 0, tell=print)
