"""What is kept of a study must not tell how few people gave an answer.

Counts below five are never kept as they are. What a saved model holds is computed from counts that were rounded to
multiples of five first, and from categories that at least five people share.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FEWEST = 5
"""A count of fewer people is not told."""


def rounded_counts(counts: Any, to: int = FEWEST) -> NDArray[np.float64]:
    """Round counts to the nearest multiple of five (or `to`): 0, 1 and 2 become 0, and 3 to 7 become 5."""
    rounded: NDArray[np.float64] = to * np.floor(np.asarray(counts, dtype=np.float64) / to + 0.5)
    return rounded


def rounded_count(count: int) -> int:
    """Round one count, as `rounded_counts` does."""
    return int(rounded_counts(count))
