"""Run the notebooks and put what their cells print into them.

    python docs/run_notebooks.py            # a few minutes; then look at `git diff docs/notebooks`
    python docs/run_notebooks.py --check    # change nothing; fail if a cell prints something else

The cells of a notebook run one after another in a folder of their own, as in Jupyter, which it does not need: what is
printed, and the value of a cell's last line, are its output. Python shows them as text, so that they can be compared.
"""

import argparse
import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).with_name("notebooks")
WIDTH = 110  # characters of a line of a table


def run(cells: list[dict[str, Any]], folder: Path) -> list[str]:
    """What each code cell shows; an error ends the run."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    before = Path.cwd()
    os.chdir(folder)
    try:
        for number, cell in enumerate(cells, start=1):
            tree = ast.parse("".join(cell["source"]))
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(tree, f"cell {number}", "exec"), names)  # the project's own notebooks
                if isinstance(last, ast.Expr):
                    value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
                    if value is not None:
                        print(value)
            shown.append("".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines()))
    finally:
        os.chdir(before)
    return shown


def filled(notebook: dict[str, Any], shown: list[str]) -> dict[str, Any]:
    """The notebook with these outputs of its code cells."""
    outputs = iter(shown)
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            text = next(outputs)
            lines = text.splitlines(keepends=True)
            stream = [{"name": "stdout", "output_type": "stream", "text": lines}] if text else []
            cell = {**cell, "outputs": stream}
        cells.append(cell)
    return {**notebook, "cells": cells}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a cell prints something else")
    parser.add_argument("notebooks", nargs="*", type=Path)
    asked = parser.parse_args()
    import pandas as pd

    pd.set_option("display.width", WIDTH, "display.max_columns", 12)
    differing = []
    for path in asked.notebooks or sorted(NOTEBOOKS.glob("*.ipynb")):
        written = path.read_text(encoding="utf-8")
        notebook = json.loads(written)
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        with tempfile.TemporaryDirectory() as folder:
            shown = run(code, Path(folder))
        text = json.dumps(filled(notebook, shown), indent=1, ensure_ascii=False) + "\n"
        if text != written:
            differing.append(path.name)
            if not asked.check:
                path.write_text(text, encoding="utf-8")
    if asked.check and differing:
        sys.exit(f"Cells print something else now: {', '.join(differing)}. Run python docs/run_notebooks.py.")


if __name__ == "__main__":
    main()
