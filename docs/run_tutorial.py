"""Run the commands of tutorial.md in an empty folder and put what they print into the page.

    python docs/run_tutorial.py     # a minute or two; then look at `git diff docs/tutorial.md`

Progress bars go to standard error and are left out. Of a sheet the
first rows are shown.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

PAGE = Path(__file__).with_name("tutorial.md")
BLOCK = re.compile(r"```console\n\$ (?P<command>.*)\n(?P<printed>(?:.*\n)*?)```")
WIDTH = 100  # characters of the window the commands believe to have
ROWS = 12  # people shown of a sheet
START = "from peerfront.cli.main import main; main()"


def printed_by(command: str, folder: Path) -> str:
    """What `peerfront ...` prints when it runs in the folder."""
    name, *arguments = shlex.split(command)
    if name != "peerfront":
        raise ValueError(f"The tutorial only runs peerfront, not {command!r}.")
    environment = {"COLUMNS": str(WIDTH), "PEERFRONT_LANGUAGE": "en", "PYTHONPATH": str(PAGE.parents[1] / "src")}
    done = subprocess.run(
        [sys.executable, "-c", START, *arguments],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines = [folded for line in done.stdout.rstrip().splitlines() for folded in _fold(line)]
    people = [number for number, line in enumerate(lines) if re.match(r"P\d{4} ", line)]
    if len(people) > ROWS:
        lines[people[ROWS] : people[-1] + 1] = ["..."]
    return "\n".join(lines) + "\n"


def _fold(line: str) -> list[str]:
    """The line as the window shows it."""
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent) if len(line) > WIDTH else [line.rstrip()]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = BLOCK.sub(
            lambda block: f"```console\n$ {block['command']}\n{printed_by(block['command'], Path(folder))}```",
            PAGE.read_text(encoding="utf-8"),
        )
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
