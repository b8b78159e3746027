"""The price-index rule: give a voucher where it is worth more than the price that the remaining budget commands.

The price minimises the bound of the state (`price_index`). At it, voucher l of person x brings p_x(l) recruits, each
worth 1 + gamma * E[J(child, price / gamma)]: who opens a community worth reaching gets vouchers although few of them
are used. It is the optimal policy of the relaxed problem, asked anew each round, made feasible.

The relaxed problem balances the budget on average and so does not see extinction. At gamma near 1 its price stays where
a growing community would put it however thin the frontier is; `share_of_price` below 1 spends earlier there.
"""

from dataclasses import dataclass

import numpy as np

from peerfront.errors import SettingError
from peerfront.planning.dual import smallest_duals
from peerfront.planning.price_index import PriceIndex
from peerfront.planning.situations import Situations
from peerfront.problem import Allocation, State
from peerfront.randomness import Luck


@dataclass(frozen=True, eq=False)
class PriceIndexPolicy:
    """Vouchers worth more than the price, the most valuable first, as far as budget and caps go; at least one."""

    index: PriceIndex
    share_of_price: float = 1.0
    """A voucher is given if it is worth more than this share of the price."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.share_of_price <= 1.0:
            raise SettingError(f"share_of_price must lie between 0 and 1; found {self.share_of_price}.")

    @property
    def name(self) -> str:
        return "price_index" if self.share_of_price == 1.0 else f"price_index:share_of_price={self.share_of_price:g}"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        codes = state.frontier.covariates
        if not state.spendable:
            return Allocation(np.zeros(len(codes), dtype=np.int64))
        dual = smallest_duals(
            self.index,
            Situations(np.array([state.remaining_budget]), np.array([0, len(codes)]), codes),
            state.rounds_left,
            state.rules.max_per_person,
        )
        recruit = 1.0 + self.index.child_values(codes, dual.prices, state.rounds_left)  # [people, 1]
        worth = self.index.capacity.survival(codes, state.most_per_person) * recruit
        spend = min(max(int((worth > self.share_of_price * dual.prices[0]).sum()), 1), state.spendable)
        order = np.argsort(-worth, axis=None, kind="stable")[:spend]
        return Allocation(np.bincount(order // worth.shape[1], minlength=len(codes)))
