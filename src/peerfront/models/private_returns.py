"""Return times that tell no count of fewer than five people: rounded by what five people move.

With n returns of known age, one return that comes at another time moves the log median by about spread / n and the log
spread by about 1 / n; no parameter is kept more exactly than five times that. Draws keep how they differ from their
mean, in steps, rounded up or down by chance so that their spread stays what it is (as in `private_response`).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.privacy import FEWEST, rounded_count
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.time_families import LARGEST_SPREAD, SMALLEST_SPREAD
from peerfront.models.return_times import LONGEST_MEDIAN, SHORTEST_MEDIAN, ReturnTimes

Array = NDArray[np.float64]
_LEAST_STEP = 0.01
_MOST_STEP = 0.25  # with very few returns times are the prior's, and tell nobody's


def private_returns(times: ReturnTimes, returns: int) -> ReturnTimes:
    """Round return times that were fitted to so many returns of known age."""
    assert times.shifts is not None, "ReturnTimes fills it in"
    people = max(rounded_count(returns), FEWEST)
    by_five = float(np.clip(FEWEST / people, _LEAST_STEP, _MOST_STEP))
    steps = np.array([by_five * min(times.spread, 1.0), by_five, *(by_five for _ in times.sites)])
    steps = np.maximum(steps, _LEAST_STEP)
    middle = np.array([np.log(times.median), np.log(times.spread), *times.shifts])
    kept: Array = steps * np.round(middle / steps)
    draws = None
    if times.draws is not None:
        chance = named_generator("private return times", 0)
        apart = (times.draws - times.draws.mean(axis=0)) / steps
        draws = np.round(kept + steps * np.floor(apart + chance.random(apart.shape)), 6)
    return replace(
        times,
        median=round(float(np.clip(np.exp(kept[0]), SHORTEST_MEDIAN, LONGEST_MEDIAN)), 4),
        spread=round(float(np.clip(np.exp(kept[1]), SMALLEST_SPREAD, LARGEST_SPREAD)), 4),
        shifts=np.round(kept[2:], 6),
        draws=draws,
    )
