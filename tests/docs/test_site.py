"""The site builds strictly and alone, and documents every command, option and exported name."""

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pages import ROOT, generated


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    for tool in ("mkdocs", "material", "mkdocstrings_handlers.python"):
        if importlib.util.find_spec(tool.split(".")[0]) is None:
            pytest.skip(f"{tool} is not installed; it is one of the development tools")
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out


class _Page(HTMLParser):
    """The text of a page, the ids on it, and what a browser loads for it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.loaded: list[str] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.add(given.get("id", ""))
        if tag in ("script", "img", "iframe", "source") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") != "canonical":
            self.loaded.append(given.get("href", ""))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    for path in pages:
        outside = [address for address in _Page(path).loaded if re.match(r"(https?:)?//", address)]
        assert not outside, f"{path.relative_to(site)} loads {outside}"


def test_every_command_and_option_has_a_help_text() -> None:
    commands = generated.commands()
    assert {"check", "fit", "plan", "compare"} <= {command.name for command in commands}
    for command in commands:
        assert command.help, f"peerfront {command.name} has no help text"
        for parameter in command.parameters:
            assert parameter.help, f"{parameter.shown} of peerfront {command.name} has no help text"


@pytest.mark.slow
def test_every_command_and_option_is_in_the_built_reference(site) -> None:
    page = _Page(site / "reference" / "commands.html")
    text = " ".join(page.text.split())
    for command in generated.commands():
        assert command.name.replace(" ", "-") in page.ids
        assert command.usage in text
        for parameter in command.parameters:
            assert parameter.shown in text, f"{parameter.shown} of peerfront {command.name} is missing"
            words = " ".join(parameter.help.replace("`", "").split())
            assert words in text, f"what {parameter.shown} of peerfront {command.name} does is missing"


def test_the_generated_commands_are_those_of_help() -> None:
    for group in ("", "live"):
        done = subprocess.run(
            [sys.executable, "-c", "from peerfront.cli.main import main; main()", *group.split(), "--help"],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"},
        )
        named = [command.name.rpartition(" ") for command in generated.commands()]
        within = [name for before, _, name in named if before == group]
        assert within
        for name in within:
            assert re.search(rf"\b{name}\b", done.stdout), name


def test_every_exported_name_has_a_docstring() -> None:
    import peerfront

    for name in generated.exported():
        assert (getattr(peerfront, name).__doc__ or "").strip(), f"peerfront.{name} has no docstring"


@pytest.mark.slow
def test_every_exported_name_is_in_the_built_reference(site) -> None:
    import peerfront

    page = _Page(site / "reference" / "library.html")
    text = " ".join(page.text.split())
    for name in generated.exported():
        assert f"peerfront.{name}" in page.ids, f"peerfront.{name} is missing"
        first = getattr(peerfront, name).__doc__.strip().splitlines()[0]
        assert " ".join(re.sub(r"[`*]", "", first).split()) in text, f"the docstring of peerfront.{name} is missing"


@pytest.mark.slow
def test_every_room_has_a_page(site) -> None:
    for room in generated.rooms():
        assert f"peerfront.{room}" in _Page(site / "reference" / "library" / f"{room}.html").text
