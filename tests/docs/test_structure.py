"""What the documents say about the code is what a command counts in it."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from pages import ROOT, script

structure = script("benchmarks/structure.py")
draw_house = script("docs/draw_house.py")
NAMES = 16  # of quantities in files, of methods in tables, and a warning of joblib: they look like sentences
ABOUT = 0.03  # a table is made anew when it is further off


@pytest.fixture(scope="module")
def tree():
    return structure.shape(ROOT / "src", walks=False)


def test_the_table_of_sizes_is_that_of_the_tree(tree) -> None:
    rows = re.findall(r"^\| (.+?) \|.* ([\d,.]+) \|$", structure.PAGE.read_text("utf-8"), re.MULTILINE)
    written = {name: float(number.replace(",", "")) for name, number in rows}
    for name, (count,) in structure.table([tree]).items():
        if "lines" in name or "modules" in name:
            assert written[name] == pytest.approx(count, rel=ABOUT, abs=8), f"{name}: {structure.PAGE.name} is stale"


def test_no_room_below_words_writes_a_sentence_and_nobody_reads_one(tree) -> None:
    assert tree.sentences_below <= NAMES
    assert tree.reading_sentences == 0


def test_a_file_s_name_says_which_one_it_is(tree) -> None:
    assert tree.names_twice == ()


def test_the_house_is_drawn_as_it_stands() -> None:
    assert draw_house.PICTURE.read_text("utf-8") == draw_house.picture(), "run: python docs/draw_house.py"


@pytest.mark.parametrize("file", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda file: file.stem)
def test_scripts_import_what_there_is(file: Path) -> None:
    """Scripts that nobody ran lately still name modules and functions that exist; those of Django need a study."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("peerfront")
            and "web" not in node.module
        ):
            module = import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name) or import_module(f"{node.module}.{name.name}")
