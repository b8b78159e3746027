"""The price-index rule: give a voucher where it is worth more than the price that the remaining budget commands.

The price minimises the bound of the state (`price_index`). At it, voucher l of person x brings p_x(l) recruits, each
worth 1 + gamma * E[J(child, price / gamma)]: who opens a community worth reaching gets vouchers although few of them
are used. It is the optimal policy of the relaxed problem, asked anew each round, made feasible.

The relaxed problem balances the budget on average and so does not see extinction. At gamma near 1 its price stays where
a growing community would put it however thin the frontier is; `share_of_price` below 1 spends earlier there.
"""

from collections.abc import Sequence
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
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """The prices of all states are found together."""
        prices = np.zeros(len(states))
        alike = [(state.rounds_left, state.rules.max_per_person) for state in states]
        for left, cap in set(alike):
            chosen = [i for i, kind in enumerate(alike) if kind == (left, cap)]
            prices[chosen] = smallest_duals(self.index, _situations([states[i] for i in chosen]), left, cap).prices
        return [self._at_price(state, price) for state, price in zip(states, prices.tolist(), strict=True)]

    def _at_price(self, state: State, price: float) -> Allocation:
        codes = state.frontier.covariates
        if not state.spendable:
            return Allocation(np.zeros(len(codes), dtype=np.int64))
        recruit = 1.0 + self.index.child_values(codes, np.array([price]), state.rounds_left)  # [people, 1]
        worth = self.index.capacity.survival(codes, state.most_per_person) * recruit  # [people, vouchers]
        spend = min(max(int((worth > self.share_of_price * price).sum()), 1), state.spendable)
        order = np.argsort(-worth, axis=None, kind="stable")[:spend]
        return Allocation(np.bincount(order // worth.shape[1], minlength=len(codes)))


def _situations(states: Sequence[State]) -> Situations:
    budgets = np.array([state.remaining_budget for state in states], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum([len(state.frontier) for state in states])])
    return Situations(budgets, first, np.concatenate([state.frontier.covariates for state in states]))
