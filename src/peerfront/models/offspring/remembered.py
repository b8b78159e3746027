"""A generator that draws nobody twice.

Policies, discounts and training runs meet many of the same people (a person is a key and a recruiter), and the paper's
diffusion model takes a millisecond to draw one.
"""

import numpy as np

from peerfront.covariates import Codes
from peerfront.problem import OffspringModel
from peerfront.randomness import Keys, Luck, fold

_MOST = 1_000_000  # people remembered; some 250 bytes each


class RememberedOffspring:
    """The same recruits as the model's, each drawn once."""

    def __init__(self, model: OffspringModel) -> None:
        self.model = model
        self._drawn: dict[int, bytes] = {}

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        people = _named(parents, luck.keys).tolist()
        new = {person: place for place, person in enumerate(people) if person not in self._drawn}
        if len(self._drawn) + len(new) > _MOST:
            self._drawn.clear()
            new = {person: place for place, person in enumerate(people)}
        if new:
            places = np.fromiter(new.values(), dtype=np.int64)
            children = self.model.sample(parents[places], Luck(luck.keys[places]))
            self._drawn |= {person: child.tobytes() for person, child in zip(new, children, strict=True)}
        found = np.frombuffer(b"".join(self._drawn[person] for person in people), dtype=np.int16)
        return found.reshape(parents.shape).copy()


def _named(parents: Codes, keys: Keys) -> Keys:
    """One number for each recruit-to-be: its key, with its recruiter's categories folded in field by field."""
    named = keys
    for field in parents.T:
        named = fold(named, field)
    return named
