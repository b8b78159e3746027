"""Run the commands of tutorial.md in an empty folder and put what they print into the page.

    python docs/run_tutorial.py     # a minute or two; then look at `git diff docs README.md`

Progress bars go to standard error and are left out. Of a sheet the first rows are shown. The picture of the forecast,
and what README.md, index.md and how-to/world-like-your-study.md tell of this study, come from the same run: their parts
between `<!-- NAME -->` and `<!-- end -->`.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pandas as pd

PAGE = Path(__file__).with_name("tutorial.md")
WORLD_PAGE = PAGE.parent / "how-to" / "world-like-your-study.md"
OTHERS = (PAGE.with_name("index.md"), PAGE.parents[1] / "README.md", WORLD_PAGE)
BLOCK = re.compile(r"```console\n\$ (?P<command>.*)\n(?P<printed>(?:.*\n)*?)```")
PART = re.compile(r"<!-- (?P<name>[a-z]+) -->\n(?:.*\n)*?<!-- end -->")
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


def parts_of_run(folder: Path, page: str) -> dict[str, str]:
    """What README.md and index.md tell of the study, from the run's files and from what was printed."""
    summary = pd.read_csv(folder / "forecast" / "summary.csv").set_index("policy")
    plan, rivals = summary.loc["plan"], summary.iloc[1:]
    headline = (
        f"A made-up study with 60 coupons and 5 rounds to go: {plan['recruits']:.0f} recruits with the plan "
        f"({plan['p10']:.0f} to {plan['p90']:.0f} in 8 of 10 simulated studies), {rivals['recruits'].max():.0f} with "
        f"the best simple rule, {summary.loc['3 each', 'recruits']:.0f} with three coupons each while they last."
    )
    table = ["| rule | recruits | 8 of 10 times | the plan's gain (95%) |", "| --- | ---: | ---: | ---: |"]
    for name, rule in summary.iterrows():
        gain = "{plan_lead:+.1f} ({plan_lead_low:+.1f} - {plan_lead_high:+.1f})".format(**rule)
        numbers = "{recruits:.1f} | {p10:.0f} - {p90:.0f}".format(**rule)
        table.append(f"| {rule['described']} | {numbers} | {'' if name == 'plan' else gain} |")
    (below,) = re.findall(r"^Give out .*?(?=^Written: )", page, flags=re.DOTALL | re.MULTILINE)
    return {
        "headline": headline,
        "rivals": "\n".join(table),
        "below": _shown(below),
    }


def parts_of_world(folder: Path) -> dict[str, str]:
    """What the commands of world-like-your-study.md print with the study of the run."""
    (compare,) = re.findall(
        r"^peerfront compare (?:.*\\\n)*.*", WORLD_PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    named = "study:file=example/study.csv"
    world = printed_by(f"peerfront worlds {named}", folder)
    compared = printed_by(compare.replace("\\\n", " ").replace("study:file=study.csv", named), folder)
    return {
        "world": _shown(world[world.index("Fields (") : world.index("Settings, written")]),
        "compared": _shown(compared[compared.index("Recruits in") :]),
    }


def _shown(text: str) -> str:
    return f"```text\n{text.strip()}\n```"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page = BLOCK.sub(
            lambda block: f"```console\n$ {block['command']}\n{printed_by(block['command'], folder)}```",
            PAGE.read_text(encoding="utf-8"),
        )
        parts = parts_of_run(folder, page) | parts_of_world(folder)
        shutil.copy(folder / "forecast" / "forecast.png", PAGE.parent / "images" / "forecast.png")
    PAGE.write_text(page, encoding="utf-8")
    for other in OTHERS:
        text = other.read_text(encoding="utf-8")
        fill = PART.sub(lambda part: f"<!-- {part['name']} -->\n\n{parts[part['name']]}\n\n<!-- end -->", text)
        other.write_text(fill, encoding="utf-8")


if __name__ == "__main__":
    main()
