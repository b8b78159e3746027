"""Who recruited whom, as inline SVG in the look of `charts.css`: as small as a stamp, or with a name for everybody."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from peerfront.words.charts import Html, shown_text

_STAMP = 200  # units of a small picture, each way
_MANY = 60  # people, from which on dots are smaller


class Shape(StrEnum):
    """What somebody in a tree is."""

    SEED = "seed"
    RECRUIT = "recruit"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class TreePlace:
    """Where somebody stands in the picture of a tree: waves are columns."""

    wave: int
    row: float
    recruiter_row: float | None
    """None for the first."""
    shape: Shape = Shape.RECRUIT
    colour: int = 1
    name: str = ""


def tree_rows(root: str, recruits: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Rows in which nobody stands on another: the ends of chains have one each, a recruiter is among the recruits."""
    rows: dict[str, float] = {}
    next_row = 0
    stack = [(root, False)]
    while stack:  # no recursion: a chain may be longer than Python's stack
        person, below_done = stack.pop()
        own = recruits.get(person, ())
        if below_done:
            rows[person] = (rows[own[0]] + rows[own[-1]]) / 2
        elif own:
            stack.append((person, True))
            stack += [(each, False) for each in reversed(own)]
        else:
            rows[person] = next_row
            next_row += 1
    return rows


def small_tree(people: Collection[TreePlace]) -> Html:
    """A tree without names, as small as a stamp, however many people there are; words beside it say what it shows."""
    wide = max((each.wave for each in people), default=0) + 1
    high = max((each.row for each in people), default=0.0) + 1

    def at(wave: int, row: float) -> str:
        return f"{round((wave + 0.5) * _STAMP / wide)} {round((row + 0.5) * _STAMP / high)}"

    # People who fall on the same place are drawn once.
    links = dict.fromkeys(
        f"M{at(each.wave - 1, each.recruiter_row)}L{at(each.wave, each.row)}"
        for each in people
        if each.recruiter_row is not None
    )
    dots: dict[tuple[Shape, int], dict[str, None]] = {}
    for each in people:
        # A line without length has round ends on paper, too, but no square ones.
        line = "h0.01" if each.shape is Shape.SEED else "h0"
        dots.setdefault((each.shape, each.colour), {})[f"M{at(each.wave, each.row)}{line}"] = None
    shapes = "".join(f'<path class="{shape} c{colour}" d="{"".join(at)}"/>' for (shape, colour), at in dots.items())
    look = "tree many" if len(people) > _MANY else "tree"
    frame = f'viewBox="0 0 {_STAMP} {_STAMP}" preserveAspectRatio="none" aria-hidden="true"'
    return Html(f'<svg class="{look}" {frame}><path class="link" d="{"".join(links)}"/>{shapes}</svg>')


def named_tree(people: Sequence[TreePlace], title: object) -> Html:
    """A tree with a name beside everybody, in its own size: what is around it scrolls."""
    column, line, margin = 132, 26, 12
    width = margin + column * (max(each.wave for each in people) + 1)
    height = round(line * (max(each.row for each in people) + 1))
    links, shapes = [], []
    for each in people:
        x, y = margin + column * each.wave, round(line * (each.row + 0.5), 1)
        if each.recruiter_row is not None:
            links.append(f"M{x - column} {line * (each.recruiter_row + 0.5):.1f}H{x - 20}V{y}H{x}")
        mark = f'<circle class="{each.shape} c{each.colour}" cx="{x}" cy="{y}" r="6"/>'
        if each.shape is Shape.SEED:
            mark = f'<rect class="seed c{each.colour}" x="{x - 6}" y="{y - 6}" width="12" height="12"/>'
        shapes.append(f'{mark}<text class="halo" x="{x + 11}" y="{y + 4}">{shown_text(each.name)}</text>')
    return Html(
        f'<svg class="tree named" width="{width}" height="{height}" role="img" aria-label="{shown_text(title)}">'
        f'<path class="link" d="{"".join(links)}"/>{"".join(shapes)}</svg>'
    )


def as_file(picture: str) -> bytes:
    """A picture as a file of its own, with the rules that it needs."""
    rules = Path(__file__).with_name("charts.css").read_text("utf-8")
    size = re.findall(r'(?:width|height)="\d+"', picture)[:2]
    opened = f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" {" ".join(size)} font-family="sans-serif">'
    return f"{opened}<style>{rules}</style>{picture}</svg>\n".encode()
