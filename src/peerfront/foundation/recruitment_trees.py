"""Recruitment trees: from everybody's recruiter to waves, roots, and recruiters in a circle."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOBODY = -1


@dataclass(frozen=True)
class Trees:
    """Where each person stands in the recruitment trees."""

    wave: NDArray[np.int64]  # [people], steps from the root; 0 for roots
    root: NDArray[np.int64]  # [people], index of the person the tree begins with
    circles: tuple[tuple[int, ...], ...]
    """People who recruited each other in a circle, in the order recruit, recruiter, recruiter's recruiter ..."""


def trees_of(recruiter: NDArray[np.int64]) -> Trees:
    """Find the waves and roots of everybody, [people]; they mean nothing for people in or behind a circle.

    Recruiters are followed by doubling (two steps, four, eight, ...): every root is reached in log2(people) array
    operations, whatever the shape of the trees. Somebody who has not arrived by then is in a circle or behind one.
    """
    n_people = len(recruiter)
    is_root = recruiter == NOBODY
    ahead = np.where(is_root, np.arange(n_people), recruiter)
    wave = (~is_root).astype(np.int64)
    for _ in range(n_people.bit_length()):
        wave = wave + wave[ahead]
        ahead = ahead[ahead]
    caught = ~is_root[ahead]
    return Trees(wave, ahead, _circles(recruiter, np.unique(ahead[caught])))


def _circles(recruiter: NDArray[np.int64], inside: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    """List the circles; after enough steps people behind a circle stand inside it, so `inside` are those of circles."""
    left = dict.fromkeys(inside.tolist())
    circles = []
    while left:
        start = next(iter(left))
        circle = []
        person = start
        while person in left:
            circle.append(person)
            del left[person]
            person = int(recruiter[person])
        circles.append(tuple(circle))
    return tuple(circles)
