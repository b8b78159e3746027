"""The notebooks run from the first cell to the last, and show what their cells print."""

import json
import os
import subprocess
import sys

import pytest

from pages import ROOT, script

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_shows_what_its_cells_print(notebook) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "run_notebooks.py"), "--check", str(notebook)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_is_one_for_jupyter(notebook) -> None:
    kept = json.loads(notebook.read_text(encoding="utf-8"))
    assert (kept["nbformat"], kept["nbformat_minor"]) == (4, 5)
    assert kept["cells"][0]["source"][0].startswith("# ")
    ids = [cell["id"] for cell in kept["cells"]]
    assert len(set(ids)) == len(ids)
    code = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert any(cell["outputs"] for cell in code), "run python docs/run_notebooks.py"


def test_cells_share_their_names_and_show_their_last_value(tmp_path) -> None:
    run = script("docs/run_notebooks.py").run
    cells = [{"source": ["x = 2\n", "print('two')  "]}, {"source": ["y = x + 1\n", "y"]}, {"source": ["None"]}]
    assert run(cells, tmp_path) == ["two\n", "3\n", ""]
    with pytest.raises(ZeroDivisionError):
        run([{"source": ["1 / 0"]}], tmp_path)
