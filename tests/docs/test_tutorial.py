"""The tutorial shows what its commands print, and the README the same; commands that take seconds are run again."""

import re

import pytest

from pages import ROOT, script

QUICK = ("example", "check")


@pytest.mark.slow
def test_the_tutorial_shows_what_the_commands_print(tmp_path) -> None:
    tutorial = script("docs/run_tutorial.py")
    blocks = list(tutorial.BLOCK.finditer(tutorial.PAGE.read_text(encoding="utf-8")))
    assert [block["command"].split()[1] for block in blocks] == [
        "example",
        "check",
        "fit",
        "plan",
        "forecast",
        "report",
    ]
    for block in blocks:
        assert block["printed"], f"run docs/run_tutorial.py: {block['command']} has no output in the tutorial"
        if block["command"].split()[1] in QUICK:
            assert tutorial.printed_by(block["command"], tmp_path) == block["printed"], "run docs/run_tutorial.py"


def test_the_readme_tells_what_the_tutorials_commands_printed() -> None:
    """Its sheet, its table of rules and its first sentence are those of one run."""
    tutorial = script("docs/run_tutorial.py")
    page, readme = (path.read_text(encoding="utf-8") for path in (tutorial.PAGE, ROOT / "README.md"))
    parts = {part["name"]: part[0] for part in tutorial.PART.finditer(readme)}
    printed = [" ".join(line.split()) for line in page.splitlines()]
    (below,) = re.findall(r"```text\n(.*?)```", parts["below"], flags=re.DOTALL)
    assert below in page
    rules = [row[1:-1].split("|") for row in parts["rivals"].splitlines() if row.startswith("|")][2:]
    assert len(rules) >= 5
    for _, recruits, band, gain in rules:
        numbers = [re.escape(" ".join(each.split())) for each in (recruits, band, gain)]
        assert any(re.search(f" {numbers[0]} {numbers[1]}( .*%)* ?{numbers[2]}$", line) for line in printed), numbers
    plan, *others = ({"rule": row[0].strip(), "recruits": float(row[1])} for row in rules)
    three = next(each["recruits"] for each in others if each["rule"].startswith("3 coupons each"))
    told = [int(number) for number in re.findall(r"(\d+) (?:recruits )?with", parts["headline"])]
    best = max(each["recruits"] for each in others)
    assert told == pytest.approx([plan["recruits"], best, three], abs=0.55), "rounded from one more digit"
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert parts["headline"] in index
