"""Figures of the results have their commands."""

import re
from pathlib import Path

import pytest

from pages import ROOT

RESULTS = sorted((ROOT / "docs" / "results").glob("*.md"))
_COMMAND = re.compile(
    r"`(OMP_NUM_THREADS=1 |PYTHONPATH=\S+ |time )?(python|peerfront|make|pytest) [^`]+`"  # a whole command
    r"|`(tests|docs|benchmarks)/[\w/.]+`"  # what makes or holds a figure
    r"|^(```|    )(sh|console)?\n?(.*\n)*?.*(python|peerfront|make|pytest) "  # a block of commands
    r"|[Tt]he same command|`--[a-z]",  # the page's command, perhaps with other options
    re.MULTILINE,
)
_FEW_DIGITS = 24  # a sentence with a year or two is no measurement


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.name)
def test_every_section_with_figures_names_the_command_that_makes_them(page: Path) -> None:
    introduction, *sections = re.split(r"(?m)^(?=##+ )", page.read_text(encoding="utf-8"))
    if _COMMAND.search(introduction):
        return  # the command of the whole page
    without = [
        section.splitlines()[0]
        for section in (introduction, *sections)
        if len(re.findall(r"\d", section)) > _FEW_DIGITS and not _COMMAND.search(section)
    ]
    assert not without, f"say in {page.name} by which command these were measured, or leave them out: {without}"


def test_nothing_is_told_of_trials_that_nobody_can_repeat() -> None:
    for page in RESULTS:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"scripts? (was|were|is) not kept|no\s+script|single trial", text), page.name


def test_the_site_and_the_pages_have_one_logo() -> None:
    logo = ROOT / "docs" / "images" / "logo.svg"
    assert logo.read_bytes() == (ROOT / "src/peerfront/web/pages/static/pages/icon.svg").read_bytes()
