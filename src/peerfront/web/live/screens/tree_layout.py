"""Where the people of a chain stand in its picture: waves are columns, and nobody's label covers another's.

Everybody without shown recruits gets a row of their own, in order; a recruiter stands in the middle of their recruits.
"""

from dataclasses import dataclass

from peerfront.web.live.screens.chains import Node


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
    found: list[Placed] = []
    wave: list[tuple[Node, float | None]] = [(root, None)]
    while wave:
        found += [Placed(node, node.wave, rows[node.person.person], above) for node, above in wave]
        wave = [(each, rows[node.person.person]) for node, _ in wave for each in node.recruits]
    return found
