"""The tutorial shows what its commands print; those that take seconds are run again."""

import pytest
from pages import script

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
