"""Random (Section 5.2): a round budget uniform on 0 .. b, split by a uniform multinomial draw."""

from dataclasses import dataclass

import numpy as np

from peerfront.problem import Allocation, State
from peerfront.randomness import Luck


@dataclass(frozen=True)
class RandomSplit:
    """With caps, the budget is uniform on what may be spent, and each voucher goes to somebody below the cap."""

    name: str = "random_split"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        people = len(state.frontier)
        uniforms = luck.uniforms("random split", 1 + state.spendable)[0]
        spend = int(uniforms[0] * (state.spendable + 1))
        draws = uniforms[1 : 1 + spend]
        if state.most_per_person >= spend:
            return Allocation(np.bincount((draws * people).astype(np.int64), minlength=people))
        vouchers = np.zeros(people, dtype=np.int64)
        below_cap = list(range(people))
        for u in draws:
            place = int(u * len(below_cap))
            person = below_cap[place]
            vouchers[person] += 1
            if vouchers[person] == state.most_per_person:
                below_cap.pop(place)
        return Allocation(vouchers)
