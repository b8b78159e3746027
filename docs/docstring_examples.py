"""Show the `>>>` examples of docstrings as code: Markdown would take them for quotations."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(?P<indent> *)>>> .*(?:\n.*\S.*)*", flags=re.MULTILINE)  # up to the next empty line


class DocstringExamples(griffe.Extension):
    """Put every example between fences, before mkdocstrings reads the docstring."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with a fence around each example."""
    return EXAMPLE.sub(lambda found: f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```", text)
