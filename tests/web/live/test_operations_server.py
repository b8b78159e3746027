"""The server: it finishes what it has begun, logs nothing personal, refuses what is too large, survives full disks."""

import http.client
import json
import logging
import re
import socket
import threading
import time
from contextlib import closing, contextmanager
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.db import OperationalError, connection, connections
from django.db.utils import ConnectionHandler
from django.test import Client
from django.utils import timezone
from live_client import PASSWORD, LiveStudy, served
from small_live import SETTINGS

from peerfront.foundation.errors import SettingError
from peerfront.web.live.operations import middleware, staff
from peerfront.web.live.operations.middleware import LARGEST_BODY
from peerfront.web.live.operations.serving import Server, listen, stopped_by_signals
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models, recording
from peerfront.web.live.records.database import link_of
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.screens import home

SECRET = "K7M4RT9XC0"


@contextmanager
def _running(application, **how):
    server = Server(application, listen("127.0.0.1", 0), **how)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server, thread
    finally:
        server.stop()
        thread.join(30)
        assert not thread.is_alive()


def test_a_server_that_is_stopped_answers_what_has_begun() -> None:
    began, may_end = threading.Event(), threading.Event()

    def slow(environ, start_response):
        began.set()
        assert may_end.wait(30)
        start_response("200 OK", [("Content-Length", "4")])
        return [b"done"]

    with _running(slow) as (server, thread):
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as asked:
            asked.request("GET", "/")
            assert began.wait(30)
            server.stop()
            may_end.set()
            assert asked.getresponse().read() == b"done"
        thread.join(30)
        with pytest.raises(OSError):  # noqa: PT011  # refused, in the words of the operating system
            socket.create_connection(("127.0.0.1", server.port), timeout=5)


def test_ctrl_c_stops_and_a_second_one_ends(monkeypatch) -> None:
    import signal

    stops = []
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
    try:
        with stopped_by_signals(lambda: stops.append("stop")):
            signal.raise_signal(signal.SIGINT)
            assert stops == ["stop"]
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, former)


def test_a_port_that_is_taken_is_told() -> None:
    taken = listen("127.0.0.1", 0)
    with pytest.raises(SettingError, match="another port"):
        listen("127.0.0.1", taken.getsockname()[1])
    taken.close()
    with pytest.raises(SettingError, match="no port"):
        listen("127.0.0.1", 99_999)


def test_only_the_proxy_is_believed_about_https() -> None:
    def scheme(environ, start_response):
        start_response("200 OK", [])
        return [
            f"{environ['wsgi.url_scheme']} {environ.get('HTTP_X_FORWARDED_PROTO')} {environ['REMOTE_ADDR']}".encode()
        ]

    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}
    for proxy, said in (("127.0.0.1", b"https https 203.0.113.9"), ("10.0.0.1", b"http None 127.0.0.1")):
        with (
            _running(scheme, proxy=proxy) as (server, _),
            closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as asked,
        ):
            asked.request("GET", "/", headers=headers)
            assert asked.getresponse().read() == said


@pytest.mark.usefixtures("one_database")
def test_the_log_has_neither_codes_nor_names(caplog) -> None:
    study = LiveStudy()
    study.seed("ana")
    client = study.client(Role.INTERVIEWER, "north")
    with caplog.at_level(logging.INFO, "peerfront.web.live.requests"):
        client.get(f"/people/{SECRET}/", {"search": SECRET})
        client.get(f"/no-such-page/{SECRET}")
        Client().post("/login/", {"username": SECRET, "password": SECRET})
    lines = [record.getMessage() for record in caplog.records if record.name == "peerfront.web.live.requests"]
    assert len(lines) == 3
    assert lines[0].startswith("GET /people/<str:person>/ 404 ")
    assert lines[1].startswith("GET (no such page) 404 ")
    assert lines[2].startswith("POST /login/ 200 ")
    assert SECRET not in " ".join(lines)


def test_errors_are_logged_without_their_messages() -> None:
    formatter = middleware.WithoutPersonalData("%(name)s %(message)s")
    try:
        raise ValueError(SECRET)
    except ValueError:
        import sys

        raised = sys.exc_info()
    record = logging.LogRecord("django.request", 40, "", 1, "Internal Server Error: %s", (f"/x/{SECRET}",), raised)
    text = formatter.format(record)
    assert SECRET not in text
    assert "ValueError, at:" in text
    assert "test_operations_server.py" in text
    plain = logging.LogRecord("django.security", 40, "", 1, f"Invalid host {SECRET}", None, None)
    assert SECRET not in formatter.format(plain)
    own = logging.LogRecord("peerfront.web.live.requests", 20, "", 1, "%s %d", ("GET", 200), None)
    assert formatter.format(own) == "peerfront.web.live.requests GET 200"


@pytest.mark.usefixtures("one_database")
def test_the_log_is_written_into_the_folder(tmp_path, monkeypatch) -> None:
    root = logging.getLogger()
    before, level = list(root.handlers), middleware.requests.level
    names = ("django", "axes", "waitress", "waitress.queue")
    kept = {name: (list(logging.getLogger(name).handlers), logging.getLogger(name).level) for name in names}
    try:
        middleware.write_log_to(tmp_path / "logs")
        Client().get("/healthz")
        assert " GET /healthz 200 " in (tmp_path / "logs" / "server.log").read_text("utf-8")
    finally:
        for handler in [each for each in root.handlers if each not in before]:
            root.removeHandler(handler)
            handler.close()
        middleware.requests.setLevel(level)
        for name, (handlers, former) in kept.items():
            logging.getLogger(name).handlers[:] = handlers
            logging.getLogger(name).setLevel(former)


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize(("size", "status"), [(LARGEST_BODY - 10_000, 200), (LARGEST_BODY + 1, 413)])
def test_what_is_too_large_is_refused_before_it_is_read(size, status) -> None:
    LiveStudy()
    response = Client().post("/login/", {"username": "a", "password": "b", "file": _file("x" * size)})
    assert response.status_code == status
    if status == 413:
        assert "too large" in response.content.decode()


def _file(text: str):
    from django.core.files.uploadedfile import SimpleUploadedFile

    return SimpleUploadedFile("x.csv", text.encode())


@pytest.mark.usefixtures("one_database")
def test_a_file_of_50_megabytes_gets_a_page_that_says_so() -> None:
    study = LiveStudy()
    with served() as address:
        port = int(address.rpartition(":")[2])
        cookie = study.client(Role.MANAGER).cookies["peerfront_session"].value
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as asked:
            body = b"x" * 50_000_000
            asked.request("POST", "/import/", body=body, headers={"Cookie": f"peerfront_session={cookie}"})
            response = asked.getresponse()
            assert response.status == 413
            assert "This is too large" in response.read().decode()


# A disk that is full, a clock that jumps -----------------------------------------------------------------------------


def test_a_full_disk_records_nothing_is_told_and_later_works_again(database, monkeypatch) -> None:
    monkeypatch.setattr(recording.time, "sleep", lambda seconds: None)  # between tries, which cannot help here
    study = LiveStudy()
    client = study.client(Role.MANAGER)
    client.raise_request_exception = False
    with _full_disk(database):
        added = [_add_site(client, f"first-{number}") for number in range(60)]  # some find room in pages that are there
        worked, response = [each.status_code for each in added].count(302), added[-1]
        assert worked < 60
        assert {each.status_code for each in added} <= {302, 503}
        words = response.content.decode()
        assert "It is not certain that what you just did was recorded." in words
        assert "Traceback" not in words
        assert client.get("/sites/").status_code == 200, "pages can still be read"
    assert models.Site.objects.filter(site__startswith="first").count() == worked
    assert verify().whole
    assert _add_site(client).status_code == 302
    assert models.Site.objects.filter(site="east").exists()


def _add_site(client, site: str = "east"):
    key = re.search(r'name="key" value="(\w+)"', client.get("/sites/").content.decode())[1]
    return client.post("/sites/", {"key": key, "name": site, "short": site})


@contextmanager
def _full_disk(kind: str):
    """Let SQLite have no more pages, as on a full disk; PostgreSQL says the same when its disk is full."""
    if kind == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE filler (text)")
            cursor.execute("PRAGMA page_count")
            (pages,) = cursor.fetchone()
            cursor.execute(f"PRAGMA max_page_count = {pages + 1}")
            try:
                while True:
                    cursor.execute("INSERT INTO filler VALUES (zeroblob(1000))")
            except OperationalError:
                pass
            yield
            cursor.execute("PRAGMA max_page_count = 1000000")
            cursor.execute("DROP TABLE filler")
        return

    def full(*_):
        with connection.cursor() as cursor:
            cursor.execute("DO $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$")

    former, recording._add = recording._add, full
    try:
        yield
    finally:
        recording._add = former


@pytest.mark.usefixtures("one_database")
def test_a_server_whose_clock_was_set_back_refuses(monkeypatch) -> None:
    study = LiveStudy()
    client = study.client(Role.MANAGER)
    before = models.Site.objects.count()
    real = timezone.now
    monkeypatch.setattr(recording.timezone, "now", lambda: real() - timedelta(hours=2))
    response = _add_site(client)
    assert response.status_code == 200
    words = response.content.decode()
    assert "server&#x27;s clock says" in words or "server's clock says" in words
    assert models.Site.objects.count() == before
    monkeypatch.undo()
    assert _add_site(client).status_code == 302


def test_a_monitor_is_told_that_nothing_can_be_recorded(database, monkeypatch) -> None:
    LiveStudy()
    monkeypatch.setattr(home, "_LOOKED_FOR", 0.0)
    assert _health() == 200
    with connection.cursor() as cursor:
        read_only, again = {
            "sqlite": ("PRAGMA query_only = ON", "PRAGMA query_only = OFF"),
            "postgresql": ("SET default_transaction_read_only = on", "SET default_transaction_read_only = off"),
        }[database]
        cursor.execute(read_only)
        assert _health() == 503
        cursor.execute(again)
    assert _health() == 200
    if database == "sqlite":
        with _full_disk(database):
            assert _health() == 503
    monkeypatch.setattr(home, "LEAST_FREE", 10**18)
    assert _health() == 503, "the disk of the folder is nearly full"


def test_the_monitor_is_told_busy_from_broken(database, monkeypatch) -> None:
    """While somebody else writes for long, as a large import does, nothing is wrong; unless it never ends."""
    LiveStudy()
    monkeypatch.setattr(home, "_LOOKED_FOR", 0.0)
    monkeypatch.setattr(home, "_PATIENCE", 50)
    assert _health() == 200
    with _somebody_writes(database):
        answer = Client().get("/healthz")
        assert (answer.status_code, answer.json()) == (200, {"status": "busy"})
        with monkeypatch.context() as patch:
            patch.setattr(home, "LEAST_FREE", 10**18)
            assert _health() == 503, "a full disk is no matter of waiting"
        assert _health() == 200
        with monkeypatch.context() as patch:
            patch.setattr(home, "LONGEST_BUSY", 0)
            assert _health() == 503, "it should have ended by now"
    answer = Client().get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout" if database == "sqlite" else "SHOW lock_timeout")
        assert str(cursor.fetchone()[0]) == {"sqlite": "20000", "postgresql": "0"}[database], "others wait as before"


@contextmanager
def _somebody_writes(database):
    """Hold the lock of whoever writes, in another connection."""
    other = ConnectionHandler(dict(connections.settings))["default"]
    other.inc_thread_sharing()
    with other.cursor() as cursor:
        cursor.execute("BEGIN IMMEDIATE" if database == "sqlite" else "BEGIN")
        if database == "postgresql":
            cursor.execute("LOCK TABLE django_session IN ACCESS EXCLUSIVE MODE")
        yield
        cursor.execute("ROLLBACK")
    other.close()


def _health() -> int:
    return Client().get("/healthz").status_code


class _Computer:
    """A computer whose clock somebody sets, and which is switched off, sleeps and is started again."""

    def __init__(self, monkeypatch) -> None:
        self.real, self.set_by, self.off, self.boot = timezone.now, timedelta(), timedelta(), "first"
        monkeypatch.setattr(recording.timezone, "now", lambda: self.real() + self.off + self.set_by)
        monkeypatch.setattr(
            recording, "this_boot", lambda: (self.boot, self.off + timedelta(hours=1, seconds=time.monotonic()))
        )

    def days_pass(self, days: float, boot: str = "first") -> None:
        self.off, self.boot = self.off + timedelta(days=days), boot

    def clock_is_set(self, hours: float) -> None:
        self.set_by = timedelta(hours=hours)


@pytest.mark.parametrize("hours", [12, -12, 0.25, -0.25, 24 * 400])
def test_a_clock_that_jumps_records_nothing_until_it_is_put_right(database, monkeypatch, hours) -> None:
    study, computer = LiveStudy(), _Computer(monkeypatch)
    client = study.client(Role.MANAGER)
    assert _add_site(client, "first").status_code == 302
    before = models.Study.objects.get().last_time
    computer.days_pass(3)
    computer.clock_is_set(hours)
    refused = _add_site(study.client(Role.MANAGER), "second")
    assert "by the time that has passed it should say" in refused.content.decode()
    assert "Clock of the server" in refused.content.decode()
    assert _back_up(study) == 302, "what is only noted is noted"
    computer.clock_is_set(0)
    assert models.Study.objects.get().last_time == before
    assert _add_site(study.client(Role.MANAGER), "second").status_code == 302
    computer.clock_is_set(0.05)  # three minutes, as a time server corrects them
    assert _add_site(study.client(Role.MANAGER), "third").status_code == 302
    assert verify().whole


def _back_up(study) -> int:
    return study.client(Role.MANAGER).post("/back-ups/", {"key": f"backup-{models.Event.objects.count()}"}).status_code


@pytest.mark.usefixtures("one_database")
def test_a_back_up_by_a_clock_that_is_ahead_stops_nobody(monkeypatch) -> None:
    study, real = LiveStudy(), timezone.now
    monkeypatch.setattr(recording.timezone, "now", lambda: real() + timedelta(hours=12))
    assert _back_up(study) == 302
    monkeypatch.undo()
    assert _add_site(study.client(Role.MANAGER)).status_code == 302


def test_a_quiet_time_is_believed_while_the_computer_counts_and_for_two_weeks_after_a_restart(
    database, monkeypatch
) -> None:
    study, computer = LiveStudy(), _Computer(monkeypatch)
    assert _add_site(study.client(Role.MANAGER), "first").status_code == 302
    computer.days_pass(60)
    assert _add_site(study.client(Role.MANAGER), "second").status_code == 302, "it went on counting"
    computer.days_pass(4, "second")
    assert _add_site(study.client(Role.MANAGER), "third").status_code == 302, "a long weekend, switched off"
    computer.days_pass(15, "third")
    client = study.client(Role.MANAGER)
    assert "before the computer was started" in _add_site(client, "fourth").content.decode()
    page = client.get("/settings/clock/").content.decode()
    assert "before the computer was started" in page
    form = {"key": "accept", "why": "as the radio says"}
    assert client.post("/settings/clock/", form).status_code == 302
    assert _add_site(client, "fourth").status_code == 302
    assert "Nothing speaks against it." in client.get("/settings/clock/").content.decode()
    assert "as the radio says" in client.get("/audit/").content.decode()
    assert verify().whole


def test_a_clock_that_was_ahead_from_the_start_is_put_right_and_accepted(database, monkeypatch) -> None:
    study, computer = LiveStudy(), _Computer(monkeypatch)
    computer.clock_is_set(12)
    assert _add_site(study.client(Role.MANAGER), "first").status_code == 302, "nothing to compare it with"
    computer.clock_is_set(0)
    client = study.client(Role.MANAGER)
    assert "was recorded at" in _add_site(client, "second").content.decode()
    device = (timezone.now() + timedelta(hours=12)).isoformat()
    form = {"key": "one", "why": "compared", "device_time": device}
    assert "The clock of this device says" in client.post("/settings/clock/", form).content.decode()
    form = {"key": "two", "why": "compared", "device_time": timezone.now().isoformat()}
    assert client.post("/settings/clock/", form).status_code == 302
    assert _add_site(client, "second").status_code == 302
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_a_fault_of_the_program_tells_nothing(monkeypatch) -> None:
    study = LiveStudy(SETTINGS)
    client = study.client(Role.MANAGER)
    client.raise_request_exception = False

    def broken(*_, **__):
        raise RuntimeError(SECRET)

    monkeypatch.setattr("peerfront.web.live.screens.settings_page.render", broken)
    response = client.get("/sites/")
    assert response.status_code == 500
    words = response.content.decode()
    assert "Something went wrong in the program" in words
    assert SECRET not in words


@pytest.mark.usefixtures("one_database")
def test_an_unknown_host_gets_a_plain_400() -> None:
    LiveStudy()
    response = Client().get("/login/", headers={"host": "evil.example"})
    assert response.status_code == 400
    assert "evil" not in response.content.decode()


# Logins --------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("one_database")
def test_five_wrong_passwords_lock_out_whether_or_not_the_user_exists() -> None:
    study = LiveStudy()
    name = study.user(Role.INTERVIEWER, "north").username
    pages = {}
    for who in (name, "nobody"):
        client = Client()
        said = [client.post("/login/", {"username": who, "password": "wrong"}) for _ in range(6)]
        assert [each.status_code for each in said] == [200] * 4 + [429] * 2
        pages[who] = [_without_tokens(each.content.decode(), who) for each in said]
        right = client.post("/login/", {"username": who, "password": PASSWORD})
        assert right.status_code == 429, "also the right password is refused for a while"
    assert pages[name] == pages["nobody"], "nobody can find out who has a login"


@pytest.mark.usefixtures("one_database")
def test_logins_failures_and_changes_of_passwords_are_noted_without_passwords(monkeypatch) -> None:
    study, seconds = LiveStudy(), [0.0]
    monkeypatch.setattr(staff.time, "monotonic", lambda: seconds[0])
    name = study.user(Role.INTERVIEWER, "north").username
    monkeypatch.setattr(django_settings, "AXES_ENABLED", False)
    for who in (name, name, "hunter2 typed as a name", "somebody", name):
        Client().post("/login/", {"username": who, "password": "guess of a password"})
    seconds[0] += staff.NOTED_AGAIN_AFTER
    client = Client()
    assert client.post("/login/", {"username": name, "password": PASSWORD}).status_code == 302
    other = "another horse battery staple"
    form = {"old_password": PASSWORD, "new_password1": other, "new_password2": other}
    assert client.post("/password/", form).status_code == 302
    assert client.get("/", follow=True).status_code == 200, "still logged in"
    stored = [link_of(each) for each in models.Event.objects.filter(kind="action_noted").order_by("number")]
    noted = [(link.event.fact.subject, dict(link.event.fact.details)) for link in stored]
    assert [(who, each["done"], each.get("times")) for who, each in noted] == [
        (name, "failed", None), ("", "failed", None), (name, "failed", "2"), ("", "failed", "1"),
        (name, "logged in", None), (name, "changed the password", None),
    ]  # fmt: skip
    everything = json.dumps([link.data for link in stored])
    assert not any(secret in everything for secret in ("guess", "hunter2", "horse", "127.0.0.1"))
    page = study.client(Role.MANAGER).get("/audit/").content.decode()
    assert "a name that nobody has" in page
    assert "failed" in page


@pytest.mark.usefixtures("one_database")
def test_a_flood_of_failed_logins_does_not_flood_the_audit(monkeypatch) -> None:
    study, seconds = LiveStudy(), [0.0]
    monkeypatch.setattr(staff.time, "monotonic", lambda: seconds[0])
    names = [study.user(Role.INTERVIEWER, "north", f"user-{number}").username for number in range(5)]
    before = models.Event.objects.count()
    for number in range(2_000):
        staff.FAILED_LOGINS.add([*names, f"made-up-{number}"][number % 6], f"10.0.{number % 11}.{number % 7}")
    assert models.Event.objects.count() - before <= staff.MOST_AT_ONCE + 1
    seconds[0] += staff.NOTED_AGAIN_AFTER
    staff.FAILED_LOGINS.note_ended()
    facts = [link_of(each).event.fact for each in models.Event.objects.filter(number__gt=before)]
    assert sum(int(dict(each.details).get("times", "1")) for each in facts) == 2_000, "none is left out"
    assert len(facts) <= 2 * (staff.MOST_AT_ONCE + 1)


def _without_tokens(page: str, name: str) -> str:
    return re.sub(r'value="[^"]*"', "", page).replace(name, "")


@pytest.mark.usefixtures("one_database")
def test_a_login_ends_after_half_an_hour_without_work_and_after_a_long_day(monkeypatch) -> None:
    study = LiveStudy()
    client = study.client(Role.MANAGER)
    assert client.get("/users/").status_code == 200
    session = client.session
    assert timedelta(minutes=29) < session.get_expiry_date() - timezone.now() <= timedelta(minutes=30)
    session["began"] -= middleware.LONGEST_LOGIN + 1
    session.save()
    response = client.get("/users/")
    assert (response.status_code, response["Location"].split("?")[0]) == (302, "/login/")


@pytest.mark.usefixtures("one_database")
def test_work_is_noted_once_a_minute() -> None:
    study = LiveStudy()
    client = study.client(Role.MANAGER)
    session = client.session
    session["seen"] -= middleware.NOTED_EVERY + 1
    session.save()
    seen = session["seen"]
    client.get("/users/")
    later = client.session["seen"]
    assert later > seen
    client.get("/users/")
    assert client.session["seen"] == later


@pytest.mark.usefixtures("one_database")
def test_every_page_has_the_headers_that_protect_it() -> None:
    study = LiveStudy()
    client = study.client(Role.MANAGER)
    for address in ("/", "/login/", "/users/", "/settings/", "/audit/", "/no-such-page", "/healthz", "/export/"):
        response = client.get(address)
        policy = response["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert response["X-Frame-Options"] == "DENY"
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["Referrer-Policy"] == "same-origin"
    client.post("/login/", {"username": study.user(Role.MANAGER).username, "password": PASSWORD})
    cookie = client.cookies["peerfront_session"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
