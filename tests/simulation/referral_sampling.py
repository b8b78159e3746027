"""Referral samples as in the field, from a network whose truth is known.

People are interviewed one after another, in the order in which they came. Everybody gets the coupons that a rule says,
and gives each to an acquaintance who has not taken part, picked at random; somebody who was given a coupon comes with
the same chance whoever gave it. When nobody is left to interview, another seed joins.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from peerfront.simulation.network import ReferralSample
from peerfront.simulation.society import Society


def referral_sample(
    society: Society,
    coupons: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    people: int = 400,
    seeds: int = 10,
    chance: float = 0.6,
    seed_weights: NDArray[np.float64] | None = None,
) -> ReferralSample:
    """Draw a sample; member i of the society gets `coupons[i]` coupons, if they are interviewed.

    Seeds are drawn uniformly, or in proportion to `seed_weights`.
    """
    n_members = len(society)
    order = _seed_order(n_members, seed_weights, rng)
    taken = np.zeros(n_members, dtype=bool)
    members: list[int] = []
    recruiter: list[int] = []
    given: list[int] = []
    waiting: deque[int] = deque()

    def join(member: int, by: int) -> None:
        taken[member] = True
        waiting.append(len(members))
        members.append(member)
        recruiter.append(by)
        given.append(-1)

    fresh = iter(order)
    for _ in range(seeds):
        join(next(fresh), -1)
    while len(members) < people:
        if not waiting:
            join(next(member for member in fresh if not taken[member]), -1)
            continue
        person = waiting.popleft()
        number = int(coupons[members[person]])
        given[person] = number
        acquaintances = society.acquaintances_of(members[person])
        free = acquaintances[~taken[acquaintances]]
        if not number or not len(free):
            continue
        asked = rng.permutation(free)[:number] if len(free) > 1 else free
        for member in asked[rng.random(len(asked)) < chance].tolist():
            if len(members) < people:
                join(member, person)
    return ReferralSample(np.array(members), np.array(recruiter), np.array(given))


def _seed_order(n_members: int, weights: NDArray[np.float64] | None, rng: np.random.Generator) -> list[int]:
    """Everybody in the random order in which they would be asked to be a seed; weights of 0 come last."""
    keys = rng.random(n_members)
    if weights is not None:
        keys = np.log(keys) / np.maximum(weights, 1e-12)
        keys = -keys
    return [int(member) for member in np.argsort(keys)]
