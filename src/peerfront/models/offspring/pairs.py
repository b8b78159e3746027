"""What every generator is fitted to: parent-child pairs, checked, with a part held out where one is needed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.covariates import Codes, Schema
from peerfront.errors import SettingError
from peerfront.problem import History
from peerfront.randomness import named_generator


@dataclass(frozen=True)
class Pairs:
    """Recruiter-recruit pairs of one schema."""

    schema: Schema
    parents: Codes  # [pairs, fields]
    children: Codes  # [pairs, fields]

    @classmethod
    def of(cls, history: History) -> "Pairs":
        if not len(history.parents):
            raise SettingError("There is no recruiter-recruit pair to learn from. Add at least one.")
        return cls(history.schema, history.parents, history.children)

    def __len__(self) -> int:
        return len(self.parents)

    def chosen(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "Pairs":
        return Pairs(self.schema, self.parents[rows], self.children[rows])

    def split(self, share: float, seed: int) -> tuple["Pairs", "Pairs"]:
        """(training, held out), by whole recruiters: all pairs of people with the same covariates are on one side.

        Otherwise a network that knows recruiters by heart would look good on their other recruits. With fewer than two
        kinds of recruiters everything is on both sides.
        """
        kinds, kind = np.unique(self.parents, axis=0, return_inverse=True)
        held = max(1, round(share * len(kinds)))
        if held >= len(kinds):
            return self, self
        out = np.isin(kind.reshape(-1), named_generator("pairs", seed).permutation(len(kinds))[:held])
        return self.chosen(~out), self.chosen(out)
