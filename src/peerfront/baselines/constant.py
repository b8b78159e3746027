"""What most studies do: the same number of coupons for everybody, while they last."""

from dataclasses import dataclass

import numpy as np

from peerfront.problem import Allocation, State, whole_number
from peerfront.randomness import Luck


@dataclass(frozen=True)
class Constant:
    """`vouchers` each; what is left is dealt round robin when it does not suffice for everybody."""

    vouchers: int = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "vouchers", whole_number("vouchers of constant", self.vouchers, 0))

    @property
    def name(self) -> str:
        return f"constant:vouchers={self.vouchers}"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        people = len(state.frontier)
        spend = min(people * min(self.vouchers, state.most_per_person), state.spendable)
        each, over = divmod(spend, max(people, 1))
        return Allocation(each + (np.arange(people) < over).astype(np.int64))
