"""For tests in a browser: sizes of screens, what is wrong with a page, and a made-up live study that runs."""

import os
import re
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe

SIZES = {
    "desk": {"width": 1366, "height": 768},
    "tablet": {"width": 820, "height": 1180},
    "phone": {"width": 390, "height": 844},
}
GRAVE = ("serious", "critical")


def barriers_of(page) -> list[str]:
    """Serious and critical findings of axe-core, each with where it is."""
    return [
        f"{page.url}: {each['id']} ({each['impact']}) {node['target']} {node['html'][:200]}"
        for each in Axe().run(page).response["violations"]
        if each["impact"] in GRAVE
        for node in each["nodes"]
    ]


def faults_of(page) -> list[str]:
    """What is in somebody's way on the page: barriers, and what has to be scrolled sideways."""
    too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return [*barriers_of(page), *([f"{page.url} is {too_wide} px too wide"] if too_wide > 0 else [])]


def check_page(page) -> None:
    """Nothing on the page is in anybody's way."""
    found = faults_of(page)
    assert not found, "\n".join(found)


@contextmanager
def running_demo(folder: Path, **environment: str):
    """Run `peerfront live demo` in a process of its own, and end it; gives the address and the users' passwords."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "peerfront", "live", "demo", str(folder), "--no-browser", "--port", port]
    own = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
    own.pop("COVERAGE_PROCESS_CONFIG", None)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=own) as process:
        try:
            said = ""
            while f":{port}" not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            yield f"http://127.0.0.1:{port}", dict(re.findall(r"^  ([a-z-]+) +(\S+)$", said, re.MULTILINE))
        finally:
            process.terminate()
            rest = process.communicate(timeout=60)[0]
    assert "Traceback" not in rest, rest


def log_in(context, address: str, name: str, password: str):
    """A page of somebody who has logged in."""
    page = context.new_page()
    page.goto(f"{address}/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/login/" not in url)
    return page
