"""Prepare README.md for a package index; everything else about the package stands in pyproject.toml.

Links to files of the repository work in a checkout and on a code host, but not on an index. Once `[project.urls]` names
the repository as `Source`, they become absolute; until then they become plain text, and pictures are left out.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?://|#|mailto:)(?P<path>[^)]+)\)")


def index_readme(readme: str, repository: str | None) -> str:
    """Make the links to files of the repository absolute, or plain text if nobody knows where it is."""

    def replace(link: re.Match[str]) -> str:
        if repository is not None:
            kind = "raw" if link["picture"] else "blob"
            return f"{link['picture']}[{link['text']}]({repository.rstrip('/')}/{kind}/main/{link['path']})"
        if link["picture"]:
            return ""
        return link["text"] if link["text"].strip("`") == link["path"] else f"{link['text']} (`{link['path']}`)"

    return LINK.sub(replace, readme)


if __name__ == "__main__":
    here = Path(__file__).parent
    urls = tomllib.loads((here / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
    readme = (here / "README.md").read_text(encoding="utf-8")
    setup(long_description=index_readme(readme, urls.get("Source")), long_description_content_type="text/markdown")
