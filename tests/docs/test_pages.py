"""What the pages quote exists: files, commands, options, names of the library. What can run, runs."""

import importlib
import os
import re
import subprocess
import sys

import pytest

from pages import PAGES, ROOT, blocks, generated, quoted_commands, script

count_pages = script("docs/count_pages.py")

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@every_page
def test_every_page_begins_with_a_title_and_says_what_it_is_for(page) -> None:
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.strip() and line[:4] != "<img"]
    assert lines[0].startswith("# ")
    assert re.match(r"[A-Z`*\"\[]", lines[1]), "begin with a sentence that says what the page is for"


@every_page
def test_links_lead_to_files_and_headings_that_exist(page) -> None:
    assert [link.fault for link in count_pages.links(page) if link.fault] == []


def test_a_link_that_leads_nowhere_is_found(tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A [b](c.md) `d`, e\n\n[1](#a-b-d-e) [2](#none) [3](none.md) ![4](none.png) [5](https://none)\n")
    assert [link.fault for link in count_pages.links(page)] == [
        "c.md does not exist",
        None,
        "page.md has no heading none",
        "none.md does not exist",
        "none.png does not exist",
        None,
    ]


def test_the_counts_of_words_pictures_and_links_are_those_of_the_pages() -> None:
    (written,) = count_pages.PART.findall(count_pages.PAGE.read_text(encoding="utf-8"))
    rows = {name: int(number.replace(",", "")) for name, number in re.findall(r"\| (\w.*?) \| ([\d,]+) \|", written)}
    assert rows == pytest.approx(count_pages.counts(), rel=0.05, abs=5), "run python docs/count_pages.py --write"


@every_page
def test_quoted_commands_and_their_options_exist(page) -> None:
    commands = {command.name: command for command in generated.commands()}
    for quoted in quoted_commands(page):
        words = re.split(r"[ ,;:]", re.sub(r" --language \w+", "", quoted))
        name = words[1]
        if name.startswith("-") or name == "COMMAND" or quoted.strip() == "peerfront live":
            continue
        if name == "live":
            name = f"live {words[2]}"
            if words[2].startswith("-"):
                continue
        assert name in commands, f"there is no command {name!r}: {quoted}"
        options = {option for one in commands[name].parameters for option in re.split(r", |\s*/\s*", one.shown)}
        unknown = set(re.findall(r"(?<=\s)--[a-z-]+", quoted)) - options - {"--help", "--language"}
        assert not unknown, f"peerfront {name} has no {unknown}: {quoted}"


@every_page
def test_quoted_imports_exist(page) -> None:
    for block in blocks(page, "python"):
        for module, names in re.findall(r"^from (peerfront[\w.]*) import ([\w, ]+)$", block, flags=re.MULTILINE):
            for name in names.split(", "):
                assert hasattr(importlib.import_module(module), name), f"{module} has no {name}"


@every_page
def test_quoted_source_files_exist(page) -> None:
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`(?:python )?((?:\w+/)+\w+\.(?:py|sh))", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        assert (ROOT / name).exists() or (ROOT / "src" / "peerfront" / name).exists(), f"there is no {name}"


@every_page
def test_quoted_make_targets_exist(page) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for target in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        assert target in targets, f"there is no make {target}"


@pytest.mark.parametrize("page", [pytest.param("use-the-library", marks=pytest.mark.slow), "use-in-gymnasium"])
def test_the_blocks_of_the_library_run(page, tmp_path) -> None:
    found = blocks(ROOT / "docs" / "how-to" / f"{page}.md", "python")
    assert found
    for block in found:
        _printed_by(block, tmp_path)


def test_what_one_can_add_works_as_it_is_shown(tmp_path) -> None:
    """The blocks follow each other, as in a script of one's own."""
    script = "\n".join(blocks(ROOT / "CONTRIBUTING.md", "python"))
    assert script.count("\nclass ") == 3
    assert "richest_first" in _printed_by(script, tmp_path)


def _printed_by(script: str, folder) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
