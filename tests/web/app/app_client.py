"""An app that runs for a test, and somebody who uses it: by plain requests, as without JavaScript, or in a browser."""

import html
import http.client
import json
import os
import re
import secrets
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

CHROMIUM_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SMALL = {"budget": "8", "rounds": "2", "people": "6", "max_per_person": "2"}
"""What the small study is fitted for: the real thing, in seconds."""
STUDY = "id,own.coupon,coupon.1,coupon.2,sex\n1,,A1,A2,f\n2,A1,B1,B2,m\n3,A2,C1,C2,f\n4,B1,D1,D2,m\n"
_PEERFRONT = """
import os
os.environ.pop("COVERAGE_PROCESS_CONFIG", None)  # of this process, not of the commands that it runs: they take long
from peerfront.cli.main import main
main()
"""


@dataclass
class RunningApp:
    """A server process, its folder and its link."""

    folder: Path
    link: str
    process: subprocess.Popen

    @property
    def port(self) -> int:
        return urlsplit(self.link).port

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> "PlainClient":
        client = PlainClient(self.port)
        assert client.get(urlsplit(self.link).path).status == 302
        return client


@contextmanager
def running_app(folder: Path, *options: str, browser: str = ""):
    """Run `peerfront app` in a process of its own, and end it; it opens a `browser` if one is named."""
    opens = () if browser else ("--no-browser",)
    command = [sys.executable, "-c", _PEERFRONT, "app", str(folder), *opens, *options]
    environment = {**os.environ, "BROWSER": browser}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        try:
            said = []
            for line in process.stdout:
                said.append(line)
                if "Nothing leaves" in line:
                    break
            found = re.search(r"http://\S+/open/\S+", "".join(said))
            assert found, "".join(said)
            yield RunningApp(folder, found[0], process)
        finally:
            process.terminate()  # not SIGINT, which a process that was started in the background ignores
            rest = process.communicate(timeout=60)[0]
            assert "Traceback" not in rest, rest
    assert process.returncode in (0, 143), process.returncode


@dataclass
class Page:
    status: int
    text: str
    headers: dict
    body: bytes

    @property
    def words(self) -> str:
        """The text of the page, without markup."""
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", self.text)).split())


class PlainClient:
    """A browser without JavaScript: cookies, forms and files."""

    def __init__(self, port: int, host: str | None = None) -> None:
        self.port, self.host, self.cookies = port, host or f"127.0.0.1:{port}", {}

    def get(self, path: str, **headers: str) -> Page:
        return self._ask("GET", path, None, headers)

    def follow(self, path: str) -> Page:
        """Open a page and go where it leads."""
        page = self.get(path)
        return self.follow(page.headers["location"]) if page.status in (301, 302) else page

    def post(self, path: str, entries: dict | list, files: dict | None = None, token: bool = True) -> Page:
        """Send a form as the page would, with its token; lists and repeated names are sent repeatedly."""
        pairs = list(entries.items()) if isinstance(entries, dict) else list(entries)
        if token:
            pairs.append(("csrfmiddlewaretoken", self.token(path)))
        if files is None:
            body, kind = urlencode(pairs).encode(), "application/x-www-form-urlencoded"
        else:
            body, kind = _multipart(pairs, files)
        return self._ask("POST", path, body, {"Content-Type": kind})

    def token(self, path: str) -> str:
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.follow("/file/").text)
        assert found, f"there is no form for {path}"
        return found[1]

    def upload(self, name: str, content: bytes) -> Page:
        """Give a file on the first page, and wait until it is read."""
        self.post("/file/", {}, {"study_file": (name, content)})
        return self.done("/file/")

    def done(self, path: str) -> Page:
        """The page when its job has ended; the server's own part of the page says when."""
        while "data-done" not in self.get("/job/").text:
            time.sleep(0.1)  # as the page asks again, too
        return self.follow(path)

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict) -> Page:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        connection.request(method, path, body, {"Host": self.host, **(cookies if self.cookies else {}), **headers})
        answer = connection.getresponse()
        content = answer.read()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        found = {name.lower(): value for name, value in answer.getheaders()}
        connection.close()
        return Page(answer.status, content.decode("utf-8", "replace"), found, content)


def _multipart(pairs: list, files: dict) -> tuple[bytes, str]:
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in pairs
    ]
    for name, (filename, content) in files.items():
        quoted = filename.replace("\\", "\\\\").replace('"', '\\"')
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{quoted}"\r\n'
        parts.append(head.encode() + b"Content-Type: application/octet-stream\r\n\r\n" + content + b"\r\n")
    return b"".join(parts) + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


_EACH_LINE = """
import shlex, sys, typer
from peerfront.cli.main import app
from peerfront.words.language import Medium, catalogue, speaking
command = typer.main.get_command(app)
with speaking(catalogue("en", Medium.TERMINAL)):
    for line in sys.stdin:
        command(shlex.split(line)[1:], standalone_mode=False)
"""


def run_commands(lines: list[str], folder: Path) -> None:
    """Run commands that pages show, one after another, in a folder."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "COLUMNS": "80"}
    environment.pop("COVERAGE_PROCESS_CONFIG", None)
    done = subprocess.run(
        [sys.executable, "-c", _EACH_LINE],
        input="\n".join(lines),
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr


def contents(folder: Path, *names: str) -> dict[str, bytes]:
    """The files of these names in a folder, and those of its folders of these names."""
    paths = [path for name in names for path in ((folder / name), *sorted((folder / name).rglob("*")))]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if path.is_file()}


def choices(app: RunningApp) -> dict:
    return json.loads((app.folder / "app" / "choices.json").read_text())


SIZES = {"desktop": {"width": 1280, "height": 800}, "tablet": {"width": 820, "height": 1180}}


def check_accessible(page) -> None:
    """Look at the page in every size: axe-core finds nothing serious, and nothing is wider than the screen."""
    from axe_playwright_python.sync_playwright import Axe

    for name, size in SIZES.items():
        page.set_viewport_size(size)
        found = Axe().run(page).response["violations"]
        serious = [
            (each["id"], [node["html"][:120] for node in each["nodes"]])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
        assert not serious, f"{name}: {serious}"
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], f"{page.url} on a {name}"
    page.set_viewport_size(SIZES["desktop"])


def left_in_english(client: PlainClient, path: str) -> set[str]:
    """Texts of two words or more that a page says alike in English and in Spanish; not what people typed or type."""
    said = []
    for language in ("en", "es"):
        page = client.get(path, **{"Accept-Language": language}).text
        page = re.sub(r"(?s)<(script|pre|code|bdi|option|textarea)\b.*?</\1>", " ", page)
        texts = [html.unescape(text).strip() for text in re.split(r"<[^>]*>", page)]
        said.append({text for text in texts if re.search("[a-z]{3,} [a-z]{2,}", text)})
        assert said[-1], path
    return set.intersection(*said)
