"""Files around the package that no command reads: citation, changelog, hooks, workflow, and the README on an index."""

import importlib.util
import re
import tomllib
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import peerfront

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13")


def read_yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def setup() -> ModuleType:
    spec = importlib.util.spec_from_file_location("peerfront_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Keys of the Citation File Format 1.2.0 that are used here; its schema refuses others.
SOFTWARE_KEYS = {
    *("cff-version", "message", "type", "title", "abstract", "version", "date-released", "license", "authors"),
    *("keywords", "references"),
}
REFERENCE_KEYS = {"type", "title", "authors", "year", "month", "collection-title", "conference"}
CONFERENCE_KEYS = {"name", "city", "country", "date-start", "date-end"}


def test_the_citation_is_a_valid_citation_file() -> None:
    cited = read_yaml("CITATION.cff")
    assert set(cited) == SOFTWARE_KEYS
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] == "software"
    assert cited["authors"] == [{"name": "peerfront contributors"}]
    (paper,) = cited["references"]
    assert set(paper) == REFERENCE_KEYS
    assert paper["type"] == "conference-paper"
    assert set(paper["conference"]) == CONFERENCE_KEYS
    assert re.fullmatch(r"[A-Z]{2}", paper["conference"]["country"])
    assert date.fromisoformat(paper["conference"]["date-start"]) <= date.fromisoformat(paper["conference"]["date-end"])
    assert [author["family-names"] for author in paper["authors"]] == [
        *("Kong", "Jiang", "Ma", "Wang", "Kangaslahti", "Tambe")
    ]
    assert all(set(author) == {"family-names", "given-names"} for author in paper["authors"])


def test_citation_changelog_and_package_name_the_same_version(project: dict[str, Any]) -> None:
    cited = read_yaml("CITATION.cff")
    assert cited["version"] == peerfront.__version__
    assert cited["license"] == project["project"]["license"]
    released = re.findall(r"^## (\d+\.\d+\.\d+) \((.*)\)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert released[0] == (cited["version"], cited["date-released"])
    assert [day for _, day in released] == sorted((date.fromisoformat(day).isoformat() for _, day in released))[::-1]


def test_the_workflow_tests_every_python_that_the_package_names(project: dict[str, Any]) -> None:
    jobs = read_yaml(".github/workflows/test.yml")["jobs"]
    assert {"run": "make audit"} in jobs["audit"]["steps"]
    job = jobs["test"]
    assert tuple(job["strategy"]["matrix"]["python"]) == PYTHONS
    assert {"run": "make test-all"} in job["steps"]
    named = [name.rpartition(" ")[2] for name in project["project"]["classifiers"] if "Python :: 3." in name]
    assert tuple(named) == PYTHONS
    assert project["project"]["requires-python"] == f">={PYTHONS[0]}"


def test_hooks_run_the_tools_of_make_test() -> None:
    (local,) = read_yaml(".pre-commit-config.yaml")["repos"]
    makefile = (ROOT / "Makefile").read_text()
    assert local["repo"] == "local"
    for hook in local["hooks"]:
        tool = re.match(r"\.venv/bin/(\S+)", hook["entry"])
        assert tool is not None
        assert f"$(BIN)/{tool[1]}" in makefile


def test_every_tool_of_development_is_pinned(project: dict[str, Any]) -> None:
    pins = {line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().split()}
    package, groups = project["project"], project["dependency-groups"]
    lists = [package["dependencies"], *package["optional-dependencies"].values(), *groups.values()]
    for requirement in (each for one in lists for each in one if isinstance(each, str)):  # the rest include groups
        name = re.match(r"[\w.-]+", requirement)
        assert name is not None
        assert name[0].lower().replace("_", "-") in pins, f"{requirement} is not in constraints.txt"


def test_links_of_the_readme_lead_somewhere(setup: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    paths = [link["path"] for link in setup.LINK.finditer(readme)]
    assert paths
    for path in paths:
        assert (ROOT / path.partition("#")[0]).exists(), f"README.md links to {path}, which is not there"


def test_an_index_shows_no_link_that_leads_nowhere(setup: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not setup.LINK.search(setup.index_readme(readme, None))
    text = "![A picture](docs/a.png) See [the page](docs/b.md), [`c.md`](c.md) and [abroad](https://example.org)."
    assert setup.index_readme(text, None) == " See the page (`docs/b.md`), `c.md` and [abroad](https://example.org)."
    there = "https://example.org/us"
    assert setup.index_readme(text, f"{there}/") == (
        f"![A picture]({there}/raw/main/docs/a.png) See [the page]({there}/blob/main/docs/b.md), "
        f"[`c.md`]({there}/blob/main/c.md) and [abroad](https://example.org)."
    )
