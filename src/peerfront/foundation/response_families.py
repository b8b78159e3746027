"""What a fit must know of its families of capacities (`foundation.counts`): how many parameters, how large a mean."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv

from peerfront.foundation.counts import is_dispersed, is_inflated

Array = NDArray[np.float64]
_LARGEST_MEAN = 1e6


def n_parameters(family: str) -> int:
    """Parameters of the family where everybody has the same mean."""
    return 1 + is_dispersed(family) + is_inflated(family)


def largest_means(most_shown: int, chance: float, sizes: Array) -> Array:
    """Means of counts that are at least `most_shown` with this chance: negative binomials of these sizes.

    An infinite size is the Poisson; means end at a million.
    """
    finite = np.isfinite(sizes)
    size = np.where(finite, sizes, 1.0)
    share = np.minimum(betaincinv(most_shown, size, chance), 1.0 - 1e-12)
    means: Array = np.where(finite, size * share / (1.0 - share), gammaincinv(most_shown, chance))
    return np.minimum(means, _LARGEST_MEAN)
