"""Draw the house: its rooms, floor by floor, as import-linter holds them.

python docs/draw_house.py          # writes docs/images/house.svg
python docs/draw_house.py --check  # changes nothing; exit code 1 if the picture is not what the contract says

Floors are the layers of the first contract in pyproject.toml; what a room is for is the first line of its docstring. So
a room that is new, moved or gone changes the picture, and a test notices.
"""

import ast
import sys
import textwrap
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "house.svg"
WIDTH, GAP, PAD, LINE = 1100, 26, 12, 15


def floors() -> list[list[str]]:
    """Rooms that stand side by side, from the top of the house to its foundation."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    return [[room.strip().removeprefix("peerfront.") for room in floor.split("|")] for floor in contract["layers"]]


def purpose(room: str) -> str:
    """The first sentence of a room's docstring."""
    place = ROOT / "src" / "peerfront" / room
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return (ast.get_docstring(ast.parse(file.read_bytes())) or "").split("\n")[0].replace("`", "")


def lines_in(room: str, width: float) -> list[str]:
    """What a room is for, broken to fit its box."""
    return textwrap.wrap(purpose(room), max(int((width - 2 * PAD) / 6.2), 12))


def box(room: str, left: float, top: float, width: float, height: float) -> str:
    """One room: its name, and what it is for."""
    lines = "".join(
        _text(escape(line), left + PAD, top + 40 + LINE * number, "font-size='11.5' fill='#334'")
        for number, line in enumerate(lines_in(room, width))
    )
    looks = "rx='6' fill='#f4f7fb' stroke='#5b7794'"
    return (
        f"<rect x='{left:.0f}' y='{top}' width='{width:.0f}' height='{height:.0f}' {looks}/>"
        + _text(room, left + PAD, top + 22, "font-size='15' font-weight='600' fill='#123'")
        + lines
    )


def _text(words: str, left: float, top: float, looks: str) -> str:
    return f"<text x='{left:.0f}' y='{top}' {looks} font-family='system-ui, sans-serif'>{words}</text>"


def picture() -> str:
    """The house as SVG: each floor may use those below it, never those above."""
    parts, top = [], GAP
    for number, rooms in enumerate(floors()):
        width = (WIDTH - GAP * (len(rooms) + 1)) / len(rooms)
        height = 40 + LINE * max(len(lines_in(room, width)) for room in rooms)
        if number:
            arrow = f"M{WIDTH // 2} {top - GAP + 3} v{GAP - 10} m-5 -6 l5 6 l5 -6"
            parts.append(f"<path d='{arrow}' stroke='#5b7794' fill='none' stroke-width='2'/>")
        parts += [box(room, GAP + place * (width + GAP), top, width, height) for place, room in enumerate(rooms)]
        top += height + GAP
    title = "<title>The rooms of peerfront; imports run downwards</title>"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {top}' role='img'>{title}"
        f"<rect width='100%' height='100%' fill='white'/>{''.join(parts)}</svg>\n"
    )


def main() -> None:
    if "--check" in sys.argv:
        sys.exit(PICTURE.read_text("utf-8") != picture())
    PICTURE.write_text(picture(), "utf-8")
    print(f"Written: {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
