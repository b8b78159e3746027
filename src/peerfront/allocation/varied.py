"""Different numbers of coupons at random, so that a study finds out what a coupon does.

Where everybody with a kind of answers gets the same number, nothing shows what another number would have brought. Here
each person whom the plan gives coupons is chosen with a chance, the share, and then gets a number drawn evenly from
1 .. top instead of the planned one. `top` is the most per person that the rules allow, or less where coupons run out:
people are gone through in random order, and everybody chosen is kept as many as they could draw. So who is chosen never
depends on what was drawn, and the chance of every number is known.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.randomness import Luck, fold
from peerfront.foundation.settings import proportion
from peerfront.problem import Allocation, State


@dataclass(frozen=True, eq=False)
class Varied:
    """An allocation in which some numbers were drawn at random."""

    allocation: Allocation
    chosen: NDArray[np.bool_]  # [people]
    """Whose number was drawn."""
    probability: NDArray[np.float64]  # [people]
    """How likely each person's number was, given the plan and whoever came before in the random order."""


def vary(plan: Allocation, state: State, share: float, luck: Luck) -> Varied:
    """Draw the numbers of a share of the people who get coupons; `luck` has one row, keyed by the study and round."""
    share = proportion("share of people", share)
    planned = plan.coupons
    uniforms = Luck(fold(luck.keys, np.arange(len(planned)))).uniforms("coupons to learn from", 3)
    coupons, chosen, probability = planned.copy(), np.zeros(len(planned), dtype=bool), np.ones(len(planned))
    spare = state.spendable - plan.spend
    for person in np.argsort(uniforms[:, 1]).tolist():
        own = int(planned[person])
        if own == 0:
            continue
        top = min(state.most_per_person, own + spare)
        if uniforms[person, 0] < share:
            chosen[person] = True
            coupons[person] = 1 + int(uniforms[person, 2] * top)
            spare -= top - own
        kept = (1.0 - share) * (coupons[person] == own)
        probability[person] = kept + share / top
    return Varied(Allocation(coupons), chosen, probability)
