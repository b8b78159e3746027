"""What a fit has tried, and how well it predicted people left out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.response_families import DESCRIPTIONS
from peerfront.models.rates import RateShape

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Candidate:
    """One shape and family that was tried, with its held-out log-likelihood per row."""

    shape: RateShape
    family: str
    held_out: Array  # [rows], NaN where nothing was held out
    epochs: tuple[int, ...]  # per member, the epoch it was stopped at
    fields: tuple[str, ...] | None = None  # that rates could depend on; None for all

    @property
    def score(self) -> float:
        return float(self.held_out.mean())

    @property
    def label(self) -> str:
        return f"{DESCRIPTIONS[self.family]}, {'everybody alike' if self.fields == () else self.shape.label}"
