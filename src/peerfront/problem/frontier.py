"""The people who may refer this round: the frontier F = {x_1, ..., x_n} of Section 2, a multiset."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.covariates import Codes
from peerfront.errors import SettingError


@dataclass(frozen=True, slots=True)
class Frontier:
    """Who is there (ids, of any kind) and what is known of them. Two people may well share a covariate row."""

    ids: NDArray[Any]  # [people]
    covariates: Codes  # [people, fields]

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.covariates):
            raise SettingError(
                f"A frontier has {len(self.ids)} ids and {len(self.covariates)} covariate rows; give one row per id."
            )

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, covariates: Codes) -> "Frontier":
        """A frontier whose people are just numbered."""
        return cls(np.arange(len(covariates)), covariates)
