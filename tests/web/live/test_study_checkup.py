"""`live doctor` and `live drill`: faults made by hand are found, named, and told with what to do."""

import json
import socket
import ssl
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django_site import STUDY_FOLDER, empty_database, use_database
from live_client import LiveStudy, write_contact
from test_operations_cli import begun, live, study  # noqa: F401  # fixtures

from peerfront.foundation.checkup import Condition
from peerfront.web.live.folder import Keys
from peerfront.web.live.operations import study_checkup
from peerfront.web.live.operations.backups import back_up_here
from peerfront.web.live.operations.drill import hold_drill
from peerfront.web.live.operations.study_checkup import certificate_finding, clock_finding, disk_finding
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def doctor(folder, code: int = 0) -> dict[str, str]:
    """The condition of each finding by its code, as the command tells it."""
    document = json.loads(live("doctor", folder, "--json", code=code))
    assert document["command"] == "live doctor"
    findings = document["result"]["findings"]
    assert all(each["message"]["text"] != each["message"]["code"] for each in findings)
    return {each["message"]["code"]: each["condition"] for each in findings}


def inside() -> dict[str, str]:
    """The condition of each finding that an open database tells, by its code; not of this computer's clock service."""
    found = {each.message.code: each.condition.value for each in study_checkup._inside(STUDY_FOLDER)}
    return {code: condition for code, condition in found.items() if code != "live_doctor.clock_alone"}


def test_a_study_is_bad_until_a_back_up_is_made_and_careless_until_one_is_tried(database) -> None:
    LiveStudy().seed("ana")
    write_contact("ana", {"name": "Ana"})
    found = inside()
    assert (found.pop("live_doctor.no_backup"), found.pop("live_doctor.no_drill")) == ("bad", "care")
    assert set(found.values()) == {"ok"}
    back_up_here(STUDY_FOLDER, None)
    drill = hold_drill(STUDY_FOLDER)
    assert (drill.faults, drill.contacts, drill.newer) == ((), 1, 0)
    assert drill.rows > 3
    assert not [each for each in STUDY_FOLDER.path.iterdir() if "peerfront-" in each.name], "nothing is left of it"
    assert verify().whole
    assert set(inside().values()) == {"ok"}


def test_what_was_spoilt_is_found_all_at_once(database) -> None:
    LiveStudy().seed("ana")
    path = back_up_here(STUDY_FOLDER, None)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    newest = models.Event.objects.order_by("-number")[0]
    newest.at, newest.hash = datetime(2031, 1, 1, tzinfo=UTC), newest.hash[::-1]
    newest.save()
    models.Study.objects.update(last_time=newest.at)
    models.PlanningJob.objects.create(asked_by="ana", asked_at=NOW, state="failed", message="x")
    found = inside()
    damaged = [code for code in found if code.startswith("live_backup.")]
    assert {code: condition for code, condition in found.items() if condition != "ok"} == {
        "live_health.broken_chain": "bad",
        "live_doctor.clock_refused": "bad",
        **dict.fromkeys(damaged, "bad"),
        "live_doctor.no_drill": "care",
        "live_doctor.plan_failed": "care",
    }
    assert len(damaged) == 1


@pytest.mark.usefixtures("one_database")
def test_other_keys_and_old_back_ups_are_found() -> None:
    small = LiveStudy()
    path = back_up_here(STUDY_FOLDER, None)
    path = path.rename(path.with_name("backup-20260101T120000Z.zip"))
    assert inside()["live_doctor.backup"] == "ok", "nothing was recorded since"
    small.seed("ana")
    assert inside()["live_doctor.backup_old"] == "bad"
    own = STUDY_FOLDER.keys
    try:
        STUDY_FOLDER.write_keys(Keys.drawn())
        assert inside()["live_backup.not_signed"] == "bad"
    finally:
        STUDY_FOLDER.write_keys(own)


@pytest.mark.usefixtures("one_database")
def test_a_back_up_of_another_history_fails_the_drill_and_the_doctor_says_so() -> None:
    LiveStudy().seed("ana")
    back_up_here(STUDY_FOLDER, None)
    use_database(empty_database("sqlite"))
    LiveStudy().seed("ben")
    drill = hold_drill(STUDY_FOLDER)
    assert [each.code for each in drill.faults] == ["live_drill.other_history"]
    assert drill.exit_code == 1
    found = inside()
    assert (found["live_doctor.drill_failed"], found["live_drill.other_history"]) == ("bad", "bad")


def test_the_commands_say_what_to_do_and_end_with_1_or_2(study) -> None:  # noqa: F811
    site = json.loads((study / "site.json").read_text())
    (study / "site.json").write_text(json.dumps(site | {"hosts": ["192.168.1.20"]}))
    live("backup", study)
    drill = json.loads(live("drill", study, "--json"))
    assert (drill["command"], drill["result"]["staff"]) == ("live drill", 1)
    study.chmod(0o755)  # `backup` and `drill` would close them
    (study / "keys.json").chmod(0o644)
    found = doctor(study, code=1)
    assert found["live_health.open_to_others"] == "bad"
    assert found["live_doctor.no_tls"] == "care"
    assert found["live_doctor.drill"] == "ok"
    assert "chmod go-rwx" in live("check", study, code=1).replace("\n", " "), "the name of the command until 0.3"


def test_what_cannot_be_opened_is_told_and_the_rest_is_looked_at(study) -> None:  # noqa: F811
    content = (study / "study.sqlite3").read_bytes()
    (study / "study.sqlite3").write_bytes(content[:8192] + bytes(len(content) - 8192))
    assert "bad" in {condition for code, condition in doctor(study, code=1).items() if code.startswith("live_database")}
    (study / "site.json").write_text("{")
    (study / "keys.json").unlink()
    found = doctor(study, code=1)
    assert (found["live_folder.no_study"], found["live_folder.unreadable"]) == ("bad", "bad")
    (study / "site.json").unlink()
    (study / "study.sqlite3").unlink()
    assert "not the folder of a live study" in live("doctor", study, code=2)


@pytest.mark.usefixtures("one_database")
def test_an_import_that_failed_is_no_plan_that_failed() -> None:
    LiveStudy()
    models.PlanningJob.objects.create(kind=models.JobKind.IMPORT, asked_by="boss", asked_at=NOW, state="failed")
    assert inside()["live_doctor.no_plan_yet"] == "ok"


@pytest.mark.parametrize(
    ("now", "last", "synchronised", "condition"),
    [
        (NOW, NOW - timedelta(hours=1), True, Condition.OK),
        (NOW, NOW - timedelta(hours=1), False, Condition.CARE),
        (NOW, NOW - timedelta(days=90), True, Condition.CARE),
        (datetime(1970, 1, 1, tzinfo=UTC), NOW, None, Condition.BAD),
    ],
)
def test_clocks(now, last, synchronised, condition) -> None:
    assert clock_finding(now, last, synchronised=synchronised).condition is condition


@pytest.mark.parametrize(
    ("free", "largest", "condition"),
    [(5_000, 1, "ok"), (5_000, 600, "care"), (900, 1, "care"), (150, 1, "bad"), (5_000, 2_600, "bad")],
)
def test_disks(tmp_path, free, largest, condition) -> None:
    assert disk_finding(tmp_path, free, largest).condition == condition


class _Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # the name is the standard library's
        self.send_response(200 if self.path == "/healthz" and self.server.is_healthy else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def certificate(folder, days: int):
    """A certificate of this computer's name that signs itself, in a file with its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=30))
        .not_valid_after(now + timedelta(days=days, hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / f"{days}.pem"
    path.write_bytes(key.private_bytes(*form) + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.mark.parametrize(
    ("days", "trusted", "healthy", "code"),
    [
        (60, True, True, "live_doctor.certificate"),
        (5, True, True, "live_doctor.certificate_ends"),
        (-1, True, True, "live_doctor.certificate_refused"),
        (60, False, True, "live_doctor.certificate_refused"),
        (60, True, False, "live_doctor.no_server"),
    ],
)
def test_certificates_are_looked_at_as_browsers_do(tmp_path, monkeypatch, days, trusted, healthy, code) -> None:
    path = certificate(tmp_path, days)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    server = HTTPServer(("127.0.0.1", 0), _Healthy)
    server.is_healthy = healthy
    server.handle_error = lambda *_: None  # the browser's refusal of the certificate
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    try:
        assert certificate_finding("localhost", server.server_port).message.code == code
    finally:
        thread.join(30)
        server.server_close()


def test_a_public_address_that_does_not_answer_is_told() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    assert certificate_finding("localhost", port).message.code == "live_doctor.not_reached"


def test_files_of_another_user_are_told(study, monkeypatch) -> None:  # noqa: F811
    import os

    if not hasattr(os, "chown") or os.getuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(study / "site.json", 12345, -1)
    found = [each.message.code for each in study_checkup._permissions(study_checkup.LiveFolder(study))]
    assert found == ["live_doctor.other_owner"]
