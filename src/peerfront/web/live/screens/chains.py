"""Recruitment chains: who recruited whom among the people in sight, from their seeds or from anybody on."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property


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
        wave, found = [self], []
        while wave:
            found += wave
            wave = [each for node in wave for each in node.recruits]
        return found


class Forest:
    """All people in sight by recruiter. People whose recruiter is not in sight begin a chain, as seeds do."""

    def __init__(self, people: Iterable[Recruited]) -> None:
        self.people = {each.person: each for each in people}

    @cached_property
    def recruits(self) -> dict[str, list[Recruited]]:
        """Recruits of each person in the order in which they came."""
        found: dict[str, list[Recruited]] = {}
        for each in sorted(self.people.values(), key=lambda person: (person.enrolled_at, person.person)):
            if each.recruiter in self.people:
                found.setdefault(str(each.recruiter), []).append(each)
        return found

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
        found = []
        for root in self.roots:
            below = list(self._below(root))
            newest = max(self.people[person].enrolled_at for person, _ in below)
            found.append(Chain(root, len(below), max(wave for _, wave in below), newest))
        return sorted(found, key=lambda chain: (-chain.people, chain.root))

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
