"""Count the words, pictures and links of the pages, and check every link to a file or heading of the project.

    python docs/count_pages.py            # the counts
    python docs/count_pages.py --write    # puts them into docs/results/structure.md; a test compares

Words are those a reader sees outside code blocks. Links are those of pages written by hand; the reference of commands
and library is made from the program, and its links are checked when the site is built. Addresses elsewhere are only
counted.
"""

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGE = ROOT / "docs" / "results" / "structure.md"
PART = re.compile(r"(?<=<!-- made by docs/count_pages.py -->\n).*?(?=<!-- end -->)", re.DOTALL)
MADE = re.compile(r"(^|/)(commands|library|library/\w+)\.md$")
"""Pages of the reference, which `docs/generated_pages.py` makes."""


@dataclass(frozen=True)
class Link:
    """A link or a picture of a page."""

    page: Path
    target: str
    is_picture: bool

    @property
    def is_elsewhere(self) -> bool:
        return re.match(r"\w+:", self.target) is not None

    @property
    def fault(self) -> str | None:
        """What is wrong with it, if anything; None for addresses elsewhere and pages of the reference."""
        file, _, heading = self.target.partition("#")
        if self.is_elsewhere or MADE.search(file):
            return None
        path = (self.page.parent / file) if file else self.page
        if not path.exists():
            return f"{self.target} does not exist"
        if heading and path.suffix == ".md" and heading not in headings(path):
            return f"{path.name} has no heading {heading}"
        return None


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def links(page: Path) -> Iterator[Link]:
    """The links and pictures of a page."""
    for picture, target in re.findall(r"(!?)\[[^\]]*\]\((?:<)?([^)\s>]+)[^)]*\)", prose(page)):
        yield Link(page, target, picture == "!")


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    found: set[str] = set()
    for title in re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
        number = 0
        while (anchor := slug if number == 0 else f"{slug}_{number}") in found:
            number += 1
        found.add(anchor)
    return found


def words(page: Path) -> int:
    """Words a reader sees: without code blocks, addresses of links and marks of Markdown."""
    text = re.sub(r"<!--.*?-->|\]\([^)]*\)", " ", prose(page), flags=re.DOTALL)
    return len(re.findall(r"\w[\w'.,-]*", text))


def counts() -> dict[str, int]:
    """What the pages amount to."""
    every = [link for page in PAGES for link in links(page)]
    inside = [link for link in every if not link.is_elsewhere]
    return {
        "pages written by hand": len(PAGES),
        "words": sum(words(page) for page in PAGES),
        "pictures": len({link.target.rpartition("/")[2] for link in every if link.is_picture}),
        "links within the project, all checked": len([link for link in inside if not link.is_picture]),
        "of these to a heading": len([link for link in inside if "#" in link.target]),
        "links elsewhere, not checked": len([link for link in every if link.is_elsewhere]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the counts into docs/results/structure.md")
    write = parser.parse_args().write
    for page in PAGES:
        for link in links(page):
            if link.fault:
                print(f"{page.relative_to(ROOT)}: {link.fault}")
    rows = [f"| {name} | {number:,} |" for name, number in counts().items()]
    table = "\n".join(["| | |", "| --- | ---: |", *rows, ""])
    if write:
        PAGE.write_text(PART.sub(lambda _: table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
