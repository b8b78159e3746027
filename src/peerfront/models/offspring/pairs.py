"""What every generator is fitted to: parent-child pairs, checked, with a part held out where one is needed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.covariates import Codes, Schema
from peerfront.errors import SettingError
from peerfront.models.checks import check_people, seed_number
from peerfront.models.checks import share as checked_share
from peerfront.problem import History
from peerfront.randomness import named_generator

_WELL_KNOWN = 20  # pairs of each kind of recruiter, on average


@dataclass(frozen=True, eq=False)
class Pairs:
    """Recruiter-recruit pairs of one schema; at least one."""

    schema: Schema
    parents: Codes  # [pairs, fields]
    children: Codes  # [pairs, fields]

    def __post_init__(self) -> None:
        for codes in (self.parents, self.children):
            check_people(self.schema, codes)
        if len(self.parents) != len(self.children):
            raise SettingError(
                f"{len(self.parents)} recruiters and {len(self.children)} recruits do not form pairs; "
                "give one recruiter per recruit."
            )
        if not len(self.parents):
            raise SettingError("There is no recruiter-recruit pair to learn from. Add at least one.")

    @classmethod
    def of(cls, history: History) -> "Pairs":
        pairs = cls(history.schema, history.parents, history.children)
        if not pairs.known_fields.any():
            raise SettingError(
                "Nothing is known of any recruit: every field is missing. Add recruits with at least one known field."
            )
        return pairs

    @property
    def known_fields(self) -> NDArray[np.bool_]:
        """Fields known of at least one recruit, [fields]; generators draw the others evenly."""
        known: NDArray[np.bool_] = np.any(self.children >= 0, axis=0)
        return known

    def __len__(self) -> int:
        return len(self.parents)

    def chosen(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "Pairs":
        return Pairs(self.schema, self.parents[rows], self.children[rows])

    def split(self, share: float, seed: int) -> tuple["Pairs", "Pairs"]:
        """(training, held out), by whole recruiters: all pairs of people with the same covariates are on one side.

        Otherwise a network that knows recruiters by heart would look good on their other recruits. At least one kind of
        recruiter is on each side; with only one kind everything is on both. Where there are so few kinds that each has
        20 pairs and more, knowing them by heart is what is wanted, and a kind that is held out would never be learned:
        there pairs are drawn.
        """
        share, seed = checked_share("held out", share), seed_number("seed", seed)
        kinds, kind = np.unique(self.parents, axis=0, return_inverse=True)
        rng = named_generator("pairs", seed)
        if len(self) >= _WELL_KNOWN * len(kinds):
            drawn = rng.random(len(self)) < share
            drawn[:2] = (True, False)  # something on both sides
            return self.chosen(~drawn), self.chosen(drawn)
        if len(kinds) < 2:
            return self, self
        held = min(max(1, round(share * len(kinds))), len(kinds) - 1)
        out = np.isin(kind.reshape(-1), rng.permutation(len(kinds))[:held])
        return self.chosen(~out), self.chosen(out)
