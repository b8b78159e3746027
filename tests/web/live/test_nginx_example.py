"""The proxy of the how-to of a site server: nginx takes the example, and in front of a study it does what it should."""

import datetime
import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "live-server.md"
HOST = "study.example.org"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
AROUND = """{user}daemon off; pid {top}/nginx.pid; worker_processes 1; error_log {top}/start.log;
events {{}}
http {{
    client_body_temp_path {top}/body; proxy_temp_path {top}/proxy; fastcgi_temp_path {top}/fastcgi;
    uwsgi_temp_path {top}/uwsgi; scgi_temp_path {top}/scgi;
    access_log {top}/access.log;
{example}}}
"""


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        return int(listening.getsockname()[1])


def own_certificate(path: Path, key: Path) -> None:
    """A certificate for the example's host, signed by itself."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(private.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    path.write_bytes(made.sign(private, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key.write_bytes(private.private_bytes(pem, pkcs8, serialization.NoEncryption()))


def example(top: Path, **ports: int) -> Path:
    """The page's example as a whole configuration: only ports and places are those of the test."""
    (text,) = re.findall(r"```nginx\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert f"server_name {HOST};" in text
    changes = {
        f"/etc/letsencrypt/live/{HOST}/fullchain.pem": f"{top}/cert.pem",
        f"/etc/letsencrypt/live/{HOST}/privkey.pem": f"{top}/key.pem",
        "/var/log/nginx/": f"{top}/",
        "listen 443 ssl;": f"listen 127.0.0.1:{ports['https']} ssl;",
        "listen 80;": f"listen 127.0.0.1:{ports['http']};",
        "127.0.0.1:8000;": f"127.0.0.1:{ports['study']};",
    }
    for before, after in changes.items():
        assert before in text, before
        text = text.replace(before, after)
    own_certificate(top / "cert.pem", top / "key.pem")
    user = "user root; " if os.geteuid() == 0 else ""  # whose workers write into the folder of the test
    path = top / "nginx.conf"
    path.write_text(AROUND.format(user=user, top=top, example=text))
    return path


def test_nginx_takes_the_example(tmp_path) -> None:
    configuration = example(tmp_path, https=free_port(), http=free_port(), study=free_port())
    words = [NGINX, "-t", "-q", "-p", str(tmp_path), "-c", str(configuration)]
    tested = subprocess.run(words, capture_output=True, text=True)
    complaints = [line for line in tested.stderr.splitlines() if "could not open error log file" not in line]
    assert (tested.returncode, complaints) == (0, [])


@contextmanager
def runs(*words: str):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def ask(port: int, path: str, *, method: str = "GET", body: bytes = b"", tls: bool = True):
    """The answer of the proxy, to a browser that names the example's host: status, headers, text."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    kind = http.client.HTTPSConnection if tls else http.client.HTTPConnection
    with closing(kind("127.0.0.1", port, timeout=60, **({"context": context} if tls else {}))) as browser:
        browser.request(method, path, body, headers={"Host": HOST, "X-Forwarded-For": "203.0.113.77"})
        answer = browser.getresponse()
        return answer.status, answer.headers, answer.read().decode("utf-8", "replace")


@pytest.mark.slow
def test_the_example_serves_a_study_and_limits_logins(tmp_path) -> None:
    ports = {"https": free_port(), "http": free_port(), "study": free_port()}
    peerfront = (sys.executable, "-m", "peerfront", "live")
    folder = str(tmp_path / "study")
    words = ("init", folder, "--name", "x", "--budget", "9", "--cap", "3", "--host", HOST, "--tls")
    subprocess.run([*peerfront, *words], check=True, capture_output=True, timeout=300)
    configuration = example(tmp_path, **ports)
    with (
        runs(*peerfront, "serve", folder, "--port", str(ports["study"])) as server,
        runs(NGINX, "-p", str(tmp_path), "-c", str(configuration)) as nginx,
    ):
        for _ in range(1_200):
            assert server.poll() is None
            assert nginx.poll() is None
            with suppress(OSError):
                if ask(ports["https"], "/healthz")[0] == 200:
                    break
            time.sleep(0.1)
        status, headers, _ = ask(ports["http"], "/people/?page=2", tls=False)
        assert (status, headers["Location"]) == (301, f"https://{HOST}/people/?page=2")
        status, headers, page = ask(ports["https"], "/login/")
        assert status == 200
        assert 'type="password"' in page
        assert headers["Strict-Transport-Security"].startswith("max-age=31536000")
        assert headers["X-Frame-Options"] == "DENY"
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert all("Secure" in cookie for cookie in headers.get_all("Set-Cookie"))
        status, headers, _ = ask(ports["https"], "/people/")
        assert (status, headers["Location"]) == (302, "/login/?next=%2Fpeople%2F"), "on this site, whatever the port"
        assert ask(ports["https"], "/import/", method="POST", body=b"x" * 3_000_000)[0] in (302, 403, 413)
        statuses = [ask(ports["https"], "/login/")[0] for _ in range(60)]
        assert set(statuses) == {200, 429}
        assert statuses[:30] == [200] * 30, "the tablets of a clinic"
        assert ask(ports["https"], "/healthz")[0] == 200, "other pages are not limited"
    log = (tmp_path / "study" / "logs" / "server.log").read_text("utf-8")
    assert "GET /login/ 200" in log
    for name in ("access.log", "error.log"):
        assert "/people" not in (tmp_path / name).read_text("utf-8")
