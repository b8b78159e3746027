"""Checking a price index by fresh samples: an estimate of J that errs only upwards, whatever the index says.

For any index with child values from which it computes values I(x, m), take n children of x, and look at the first b of
them by the same method one generation later:

    v(x, m) = sum over l of max(0, p_x(l) * (1 + gamma * a) - m),
    a       = mean over n children of I(child, m / gamma) + mean over b of them of (v - I)(child, m / gamma).

**Theorem.** E[v(x, m)] >= J(x, m), for any index. Proof, by induction over generations: a has the mean E[v(child)] (the
index cancels), which is at least E[J(child, m / gamma)]; v is a convex, rising function of a, so by Jensen's inequality
E[v] is at least the same function of the mean of a, and this is at least J(x, m). The induction starts at m >= gamma,
where children cost at least 1, are worth nothing, and v is J itself.

Where the index says that the crude bound (1 - m) R is about as small as J, v is that bound, without samples: which of
two bounds is taken must not depend on the samples, and the index is fixed before they are drawn.

So an index never makes the estimate wrong, a good one only makes it tight: if I is right, the second mean vanishes but
for sampling noise, and what Jensen adds is of order 1 / n. Prices grow by 1 / gamma a generation and end at 1, so
log(m) / log(gamma) generations suffice: 1 to 4 at the prices that matter for discounts from .9 to .99. Where that would
be more than `audit_depth` (gamma = 1, low prices) the last generation would trust the index and prove nothing, so
`auditable_price` says down to which price an audit is a proof; as any price gives a bound, a certificate that must be
proved takes the best price above it. With a deadline the generations end in any case.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.bounds.price_index import PriceIndex
from peerfront.bounds.surplus import Array, chances_that_matter
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck
from peerfront.gfp.states import StateBatch, sampled_recruits
from peerfront.problem import OffspringModel

_CRUDE_SHARE = 0.9  # share of the crude bound from which on the index takes it
_CHILDREN_AT_ONCE = 1 << 15


def generations_needed(price: float, discount: float) -> float:
    """Generations of recruits to sample before everybody costs at least 1 and is worth nothing."""
    if price >= discount:
        return 0.0
    return np.inf if discount == 1.0 else float(np.ceil(np.log(price) / np.log(discount) - 1e-9)) - 1.0


def auditable_price(index: PriceIndex) -> float:
    """The lowest price at which an audit trusts nothing but samples."""
    return float(index.discount ** (index.settings.audit_depth + 1))


def audited_values(
    index: PriceIndex,
    offspring: OffspringModel,
    codes: Codes,
    prices: NDArray[np.float64],
    luck: Luck,
    max_per_person: int | None = None,
    *,
    rounds_left: int | None = None,
    price_now: float | None = None,
) -> Array:
    """One estimate v(x_i, m_i) of each person at their own price, [people]; `luck` has a row per person.

    A deadline ends the induction as a price of 1 does, so with `rounds_left` (None: any number) up to `audit_depth` + 1
    the estimate is proved at every price and discount. `price_now`, if given, is the price of this round's coupons.
    """
    most = index.settings.most_per_person
    cap = most if max_per_person is None else min(most, max_per_person)
    audit = _Audit(index, offspring)
    return audit.values(
        codes, prices, luck, index.settings.audit_depth, index.settings.audit_width, cap, rounds_left, price_now
    )


@dataclass(frozen=True, eq=False)
class _Audit:
    index: PriceIndex
    offspring: OffspringModel

    def values(
        self,
        codes: Codes,
        prices: Array,
        luck: Luck,
        depth: int,
        width: int,
        most: int,
        rounds: int | None,
        price_now: float | None = None,
    ) -> Array:
        """v of each person, looking at `depth` generations; `rounds` of them are left, this one included."""
        people = max(_CHILDREN_AT_ONCE // self.index.settings.audit_children, 1)
        if len(codes) > people:
            parts = [slice(a, a + people) for a in range(0, len(codes), people)]
            return np.concatenate(
                [
                    self.values(codes[p], prices[p], Luck(luck.keys[p]), depth, width, most, rounds, price_now)
                    for p in parts
                ]
            )
        if price_now is None:
            crude = np.maximum(1.0 - prices, 0.0) * self.index.settings.largest_budget
            fitted = self.index.values(codes, prices[:, None], rounds, most)[:, 0]
            sampled = np.flatnonzero(fitted < _CRUDE_SHARE * crude)
            if len(sampled) < len(codes):
                values = crude
                if len(sampled):
                    values[sampled] = self._sampled(
                        codes[sampled], prices[sampled], Luck(luck.keys[sampled]), depth, width, most, rounds, None
                    )
                return values
        return self._sampled(codes, prices, luck, depth, width, most, rounds, price_now)

    def _sampled(
        self,
        codes: Codes,
        prices: Array,
        luck: Luck,
        depth: int,
        width: int,
        most: int,
        rounds: int | None,
        price_now: float | None,
    ) -> Array:
        worth = 1.0 + self._child_values(codes, prices, luck, depth, width, rounds)[:, None]
        asked = prices[:, None] if price_now is None else np.full((len(codes), 1), price_now)
        chances = chances_that_matter(
            self.index.response, codes, most, float(asked.min(initial=1.0)), float(max(worth.max(initial=1.0), 1.0))
        )
        return chances.surplus(worth, asked)[:, 0]

    def _child_values(
        self, codes: Codes, prices: Array, luck: Luck, depth: int, width: int, rounds: int | None
    ) -> Array:
        """gamma * a of each person, [people]."""
        index, discount, each = self.index, self.index.discount, self.index.settings.audit_children
        child = np.zeros(len(codes))
        if rounds is not None and rounds <= 1:
            return child
        open_ended = np.flatnonzero(prices < discount)  # the others have children worth nothing
        if not len(open_ended):
            return child
        if depth == 0:
            child[open_ended] = index.child_values(codes[open_ended], prices[open_ended, None], rounds)[:, 0]
            return child
        children, lucks = sampled_recruits(self.offspring, codes[open_ended], each, Luck(luck.keys[open_ended]))
        later = np.repeat(prices[open_ended] / discount, each)
        left = None if rounds is None else rounds - 1
        trusted = index.values(children, later[:, None], left)[:, 0].reshape(-1, each)
        mean = trusted.mean(axis=1)
        # With one round left values are exact, and nobody's children matter at prices above gamma.
        if depth > 1 and left != 1 and generations_needed(float(later.min()), discount) > 0.0:
            close = (np.arange(len(open_ended))[:, None] * each + np.arange(width)).ravel()
            seen = self.values(
                children[close], later[close], Luck(lucks.keys[close]), depth - 1, max(width // 2, 1),
                index.settings.most_per_person, left,
            )  # fmt: skip
            mean += (seen.reshape(-1, width) - trusted[:, :width]).mean(axis=1)
        child[open_ended] = discount * mean
        return child


def audited_duals(
    index: PriceIndex,
    offspring: OffspringModel,
    states: StateBatch,
    prices: Array,
    luck: Luck,
    audits: int = 1,
    max_per_person: int | None = None,
) -> Array:
    """`audits` independent estimates of m * r + sum_i J(x_i, m) at a price per state, [states, audits]."""
    owner = np.tile(states.owner, audits)
    codes = np.tile(states.covariates, (audits, 1))
    copy = np.repeat(np.arange(audits), len(states.covariates))
    person = np.tile(np.arange(len(states.covariates)) - states.first[states.owner], audits)
    lucks = Luck(luck.keys[owner]).members(copy).members(person)
    values = audited_values(index, offspring, codes, prices[owner], lucks, max_per_person)
    sums = np.bincount(owner * audits + copy, weights=values, minlength=len(states) * audits)
    duals: Array = sums.reshape(len(states), audits) + (prices * states.budgets)[:, None]
    return duals
