"""Recruitment trees as an array of recruiters: depth, roots and circles, for a hundred thousand people at once.

Following recruiters by doubling (two steps, four, eight, ...) reaches every root in log2(people) array operations,
whatever the shape of the trees; whoever has not arrived by then is caught in a circle or behind one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOBODY = -1


@dataclass(frozen=True)
class Trees:
    """Where each person stands."""

    wave: NDArray[np.int64]  # [people], steps from the root; 0 for roots
    root: NDArray[np.int64]  # [people], index of the person the tree begins with
    circles: tuple[tuple[int, ...], ...]
    """People who recruited each other in a circle, in the order recruit, recruiter, recruiter's recruiter ..."""


def trees_of(recruiter: NDArray[np.int64]) -> Trees:
    """Waves and roots of everybody, [people]; meaningless for people in or behind a circle."""
    people = len(recruiter)
    is_root = recruiter == NOBODY
    ahead = np.where(is_root, np.arange(people), recruiter)
    wave = (~is_root).astype(np.int64)
    for _ in range(people.bit_length()):
        wave = wave + wave[ahead]
        ahead = ahead[ahead]
    caught = ~is_root[ahead]
    return Trees(wave, ahead, _circles(recruiter, np.unique(ahead[caught])))


def _circles(recruiter: NDArray[np.int64], inside: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    """After enough steps people behind a circle stand inside it, so `inside` holds exactly the people of circles."""
    left = dict.fromkeys(inside.tolist())
    found = []
    while left:
        start = next(iter(left))
        circle = []
        person = start
        while person in left:
            circle.append(person)
            del left[person]
            person = int(recruiter[person])
        found.append(tuple(circle))
    return tuple(found)
