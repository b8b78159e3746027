"""Recruitment chains: who recruited whom among the people in sight, and the picture of a chain.

In the picture waves are columns. Everybody without shown recruits gets a row of their own, in order; a recruiter stands
in the middle of their recruits, and no label covers another.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.utils.translation import gettext, ngettext

from peerfront.foundation.shown import visible
from peerfront.web.live.screens import svg


@dataclass(frozen=True)
class Recruited:
    """Somebody in a chain."""

    person: str
    recruiter: str | None
    site: str
    enrolled_at: datetime
    withdrawn: bool = False


@dataclass(frozen=True)
class Chain:
    """Everybody whom one person recruited, directly or through others."""

    root: str
    people: int
    waves: int
    """Of the deepest person; the root is wave 0."""
    newest: datetime


@dataclass(frozen=True)
class Node:
    """A person in a part of a chain that is shown, with the recruits that are shown."""

    person: Recruited
    wave: int
    """Recruitments from the root."""
    recruits: tuple["Node", ...]
    hidden: int
    """Recruits of this person that are not shown."""

    def everybody(self) -> list["Node"]:
        """All people who are shown, wave by wave."""
        wave, people = [self], []
        while wave:
            people += wave
            wave = [each for node in wave for each in node.recruits]
        return people


class Forest:
    """All people in sight by recruiter. People whose recruiter is not in sight begin a chain, as seeds do."""

    def __init__(self, people: Iterable[Recruited]) -> None:
        self.people = {each.person: each for each in people}

    @cached_property
    def recruits(self) -> dict[str, list[Recruited]]:
        """Recruits of each person in the order in which they came."""
        by_recruiter: dict[str, list[Recruited]] = {}
        for each in sorted(self.people.values(), key=lambda person: (person.enrolled_at, person.person)):
            if each.recruiter in self.people:
                by_recruiter.setdefault(str(each.recruiter), []).append(each)
        return by_recruiter

    @cached_property
    def waves(self) -> dict[str, int]:
        """Recruitments between the beginning of the chain and each person."""
        return {person: wave for root in self.roots for person, wave in self._below(root)}

    @property
    def roots(self) -> list[str]:
        """Where chains begin."""
        return [each.person for each in self.people.values() if each.recruiter not in self.people]

    def chains(self) -> list[Chain]:
        """All chains, the largest first."""
        chains = []
        for root in self.roots:
            below = list(self._below(root))
            newest = max(self.people[person].enrolled_at for person, _ in below)
            chains.append(Chain(root, len(below), max(wave for _, wave in below), newest))
        return sorted(chains, key=lambda chain: (-chain.people, chain.root))

    def below(self, root: str) -> int:
        """How many people a chain has, its root included."""
        return sum(1 for _ in self._below(root))

    def shown(self, root: str, most: int) -> Node:
        """The first `most` people of a chain, wave by wave."""
        kept = {person for (person, _), _ in zip(self._below(root), range(most), strict=False)}
        order = [pair for pair in self._below(root) if pair[0] in kept]
        nodes: dict[str, Node] = {}
        for person, wave in reversed(order):  # recruits before their recruiters
            own = self.recruits.get(person, [])
            below = tuple(nodes[each.person] for each in own if each.person in kept)
            nodes[person] = Node(self.people[person], wave, below, len(own) - len(below))
        return nodes[root]

    def _below(self, root: str) -> Iterable[tuple[str, int]]:
        """Everybody of a chain with their wave, wave by wave."""
        wave, number = [root], 0
        while wave:
            yield from ((person, number) for person in wave)
            wave = [each.person for person in wave for each in self.recruits.get(person, ())]
            number += 1


@dataclass(frozen=True)
class Placed:
    """A person with column and row."""

    node: Node
    column: int
    row: float
    recruiter_row: float | None
    """The row of the recruiter, who stands one column before; None for the root."""


def placed(root: Node) -> list[Placed]:
    """Everybody of a chain with their places, recruiters before their recruits."""
    rows: dict[str, float] = {}
    next_row = 0
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:  # no recursion: a chain may be longer than Python's stack
        node, below_done = stack.pop()
        if below_done:
            own = [rows[each.person.person] for each in node.recruits]
            rows[node.person.person] = (own[0] + own[-1]) / 2
        elif node.recruits:
            stack.append((node, True))
            stack += [(each, False) for each in reversed(node.recruits)]
        else:
            rows[node.person.person] = next_row
            next_row += 1
    places: list[Placed] = []
    wave: list[tuple[Node, float | None]] = [(root, None)]
    while wave:
        places += [Placed(node, node.wave, rows[node.person.person], above) for node, above in wave]
        wave = [(each, rows[node.person.person]) for node, _ in wave for each in node.recruits]
    return places


COLUMN, ROW, MARGIN = 150.0, 26.0, 24.0
_LABEL = 14  # characters of a label that fit beside the next column


def tree_svg(root: Node, group: Mapping[str, str], groups: Sequence[str], what: str) -> str:
    """Draw a chain; `group` is that of each person, `groups` are all of them in the order of the legend."""
    people = placed(root)
    colours = dict(zip(groups, (*svg.COLOURS, *[svg.OTHERS] * len(groups)), strict=False))
    rows = max(each.row for each in people) + 1
    columns = max(each.column for each in people) + 1
    top = MARGIN * 2 + 20 * len(groups)
    width = max(MARGIN * 2 + COLUMN * columns, 420.0)
    height = top + MARGIN + ROW * rows
    parts = [*_legend(groups, colours, what), *(_line(each, top) for each in people if each.recruiter_row is not None)]
    parts += [_person(each, top, colours.get(group[each.node.person.person], svg.OTHERS)) for each in people]
    title = gettext("Recruits of %(person)s") % {"person": visible(root.person.person)}
    number = ngettext("%(number)s person is shown.", "%(number)s people are shown.", len(people))
    description = (
        number % {"number": len(people)}
        + " "
        + gettext(
            "Lines lead from recruiters, on the left, to their recruits. The list below the picture says the same."
        )
    )
    return svg.picture(width, height, title, description, parts)


def _spot(each: Placed, top: float) -> tuple[float, float]:
    return MARGIN + COLUMN * each.column, top + ROW * (each.row + 0.5)


def _line(each: Placed, top: float) -> str:
    x, y = _spot(each, top)
    above = top + ROW * ((each.recruiter_row or 0) + 0.5)
    before = x - COLUMN
    middle = x - 24
    return svg.element(
        "path", d=f"M{before:.1f} {above:.1f}H{middle:.1f}V{y:.1f}H{x:.1f}", fill="none", stroke="#8a8a8a"
    )


def _person(each: Placed, top: float, colour: str) -> str:
    x, y = _spot(each, top)
    person = each.node.person
    if person.withdrawn:
        shape = svg.element("circle", cx=x, cy=y, r=7, fill="#ffffff", stroke=colour, stroke_dasharray="3 2")
    elif person.recruiter is None:
        shape = svg.element("rect", x=x - 7, y=y - 7, width=14, height=14, fill=colour, stroke=svg.INK)
    else:
        shape = svg.element("circle", cx=x, cy=y, r=7, fill=colour, stroke=svg.INK)
    name = visible(person.person)
    words = name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"
    more = f" +{each.node.hidden}" if each.node.hidden else ""
    # White around the letters keeps them readable where a line passes.
    return shape + svg.label(
        x + 12, y + 4.5, words + more, size=12, stroke="#ffffff", stroke_width=4, paint_order="stroke"
    )


def _legend(groups: Sequence[str], colours: dict[str, str], what: str) -> list[str]:
    parts = [svg.label(MARGIN, MARGIN, what, size=13, font_weight="bold")]
    for place, group in enumerate(groups):
        y = MARGIN + 20 * (place + 1)
        parts.append(svg.element("circle", cx=MARGIN + 7, cy=y - 4, r=6, fill=colours[group], stroke=svg.INK))
        parts.append(svg.label(MARGIN + 22, y, visible(group), size=12))
    return parts
