"""How many a person can bring, and whom: the two Protocols on which everything turns (q and G of Section 2).

The learned pair is the planning environment, the true pair the testing environment; policies never know which one
they face.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from peerfront.covariates import Codes
from peerfront.randomness import Luck


class CapacityModel(Protocol):
    """The referral capacity C ~ q(. | x)."""

    def survival(self, covariates: Codes, max_vouchers: int) -> NDArray[np.float64]:
        """[people, max_vouchers]; column l - 1 is P(C >= l), nonincreasing along the row."""
        ...

    def sample(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        """A capacity each, [people]: the quantile of the person's own uniform, so that models couple monotonically."""
        ...


class OffspringModel(Protocol):
    """The covariates of a recruit, x' ~ G(. | x)."""

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        """One child per parent row, [children, fields]; `luck` is keyed by the child."""
        ...
