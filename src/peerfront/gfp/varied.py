"""Different numbers of coupons at random, so that a study finds out what a coupon does.

Where everybody with a kind of answers gets the same number, nothing shows what another number would have brought. Here
each person whom the plan gives coupons is chosen with a chance, the share, and then gets a number drawn evenly from
the fewest that a person may get (at least 1) to one more than planned, or to the most that the rules and the coupons
left allow. People are gone through in random order, and everybody chosen is kept as many as they could draw. So who is
chosen never depends on what was drawn, and the chance of every number is known.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.randomness import Luck, fold
from peerfront.foundation.settings import proportion
from peerfront.problem import Allocation, State

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Varied:
    """An allocation in which some numbers were drawn at random."""

    allocation: Allocation
    chosen: NDArray[np.bool_]  # [people]
    """Whose number was drawn."""
    probability: Array  # [people]
    """How likely each person's number was, given the plan, what a lot before it could bring, and whom coupons were kept
    for before."""


def vary(
    plan: Allocation,
    state: State,
    share: float,
    luck: Luck,
    *,
    least: int = 0,
    lot: tuple[Numbers, Array] | None = None,
) -> Varied:
    """Draw the numbers of a share of the people who get coupons; `luck` has one row, keyed by the study and round.

    `least` is the fewest that a person may get. Where a lot was drawn before, `lot` says what number each person had
    otherwise, and how likely the one they have was, [people] each.
    """
    share = proportion("share of people", share)
    planned = plan.coupons
    otherwise, likely = (planned, np.ones(len(planned))) if lot is None else lot
    uniforms = Luck(fold(luck.keys, np.arange(len(planned)))).uniforms("coupons to learn from", 3)
    coupons, chosen, probability = planned.copy(), np.zeros(len(planned), dtype=bool), likely.copy()
    spare, fewest, most = state.spendable - plan.spend, max(least, 1), state.most_per_person
    for person in np.argsort(uniforms[:, 1]).tolist():
        own = int(planned[person])
        if own == 0:
            continue
        room = min(1, spare)
        top = min(most, own + room)
        if top > fewest and uniforms[person, 0] < share:
            chosen[person] = True
            coupons[person] = fewest + int(uniforms[person, 2] * (top - fewest + 1))
            spare -= max(top - own, 0)
        number = int(coupons[person])
        by_lot = ((own, likely[person]), (int(otherwise[person]), 1.0 - likely[person]))
        probability[person] = sum(
            chance * _chance_of(number, start, fewest, min(most, start + room), share) for start, chance in by_lot
        )
    return Varied(Allocation(coupons), chosen, probability)


def _chance_of(number: int, planned: int, fewest: int, top: int, share: float) -> float:
    """The chance that somebody with so many planned ends with this number."""
    if planned == 0 or top <= fewest:
        return float(number == planned)
    return (1.0 - share) * (number == planned) + share / (top - fewest + 1) * (fewest <= number <= top)
