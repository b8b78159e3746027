"""Checking a price index by fresh samples: an estimate of J that errs only upwards, whatever the index says.

For any index with child values from which it computes values I(x, m), take n children of x, and look at the first b of
them by the same method one generation later:

    v(x, m) = sum over l of max(0, p_x(l) * (1 + gamma * a) - m),
    a       = mean over n children of I(child, m / gamma) + mean over b of them of (v - I)(child, m / gamma).

**Theorem.** E[v(x, m)] >= J(x, m), for any index. Proof, by induction over generations: a has the mean E[v(child)] (the
index cancels), which is at least E[J(child, m / gamma)]; v is a convex, rising function of a, so by Jensen's inequality
E[v] is at least the same function of the mean of a, and this is at least J(x, m). The induction starts at m >= gamma,
where children cost at least 1, are worth nothing, and v is J itself.

So an index never makes the estimate wrong, a good one only makes it tight: if I is right, the second mean vanishes but
for sampling noise, and what Jensen adds is of order 1 / n. Prices grow by 1 / gamma a generation and end at 1, so
log(m) / log(gamma) generations suffice: 1 to 4 at the prices that matter for discounts from .9 to .99. Where that would
be more than `audit_depth` (gamma = 1, low prices) the last generation would trust the index and prove nothing, so
`auditable_price` says down to which price an audit is a proof; as any price gives a bound, a certificate that must be
proved takes the best price above it.
"""

import numpy as np
from numpy.typing import NDArray

from peerfront.bounds.dual import smallest_duals
from peerfront.bounds.price_index import PriceCheck, PriceIndex
from peerfront.bounds.surplus import Array, chances_that_matter
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.problem import OffspringModel
from peerfront.value.states import StateBatch, sampled_recruits

_CHECKED_FRONTIERS = 64
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
) -> Array:
    """One estimate v(x_i, m_i) of each person at their own price, [people]; `luck` has a row per person."""
    most = index.settings.most_per_person
    cap = most if max_per_person is None else min(most, max_per_person)
    return _audited(index, offspring, codes, prices, luck, index.settings.audit_depth, index.settings.audit_width, cap)


def _audited(
    index: PriceIndex,
    offspring: OffspringModel,
    codes: Codes,
    prices: Array,
    luck: Luck,
    depth: int,
    width: int,
    most: int,
) -> Array:
    discount, each = index.discount, index.settings.audit_children
    people = max(_CHILDREN_AT_ONCE // each, 1)
    if len(codes) > people:
        parts = [slice(a, a + people) for a in range(0, len(codes), people)]
        return np.concatenate(
            [_audited(index, offspring, codes[p], prices[p], Luck(luck.keys[p]), depth, width, most) for p in parts]
        )
    child = np.zeros(len(codes))
    open_ended = np.flatnonzero(prices < discount)  # the others have children worth nothing
    if len(open_ended) and depth == 0:
        child[open_ended] = index.child_values(codes[open_ended], prices[open_ended, None])[:, 0]
    elif len(open_ended):
        children, lucks = sampled_recruits(offspring, codes[open_ended], each, Luck(luck.keys[open_ended]))
        later = np.repeat(prices[open_ended] / discount, each)
        trusted = index.values(children, later[:, None])[:, 0].reshape(-1, each)
        mean = trusted.mean(axis=1)
        if depth > 1 and generations_needed(float(later.min()), discount) > 0.0:
            close = (np.arange(len(open_ended))[:, None] * each + np.arange(width)).ravel()
            seen = _audited(
                index, offspring, children[close], later[close], Luck(lucks.keys[close]), depth - 1,
                max(width // 2, 1), index.settings.most_per_person,
            )  # fmt: skip
            mean += (seen.reshape(-1, width) - trusted[:, :width]).mean(axis=1)
        child[open_ended] = discount * mean
    worth = 1.0 + child[:, None]
    chances = chances_that_matter(index.capacity, codes, most, float(prices.min()), float(max(worth.max(), 1.0)))
    return chances.surplus(worth, prices[:, None])[:, 0]


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


def check_index(index: PriceIndex, offspring: OffspringModel, people: Codes) -> PriceCheck:
    """Audited over fitted bounds of random frontiers of these people, of many sizes and budgets."""
    seed, largest = index.settings.seed, index.settings.largest_budget
    rng = named_generator("price check", seed)
    sizes = rng.integers(3, 21, size=_CHECKED_FRONTIERS)
    states = StateBatch(
        rng.integers(max(largest // 4, 1), largest + 1, size=_CHECKED_FRONTIERS),
        np.concatenate([[0], np.cumsum(sizes)]),
        people[rng.integers(len(people), size=int(sizes.sum()))],
    )
    fitted = smallest_duals(
        index, states, max_per_person=index.settings.max_per_person, at_least=auditable_price(index)
    )
    luck = named_luck(("price check", seed), len(states))
    audited = audited_duals(index, offspring, states, fitted.prices, luck)[:, 0]
    factor = float(audited.sum() / fitted.bounds.sum())
    # Of a ratio of sums: the spread of what each frontier adds to it.
    spread = audited - factor * fitted.bounds
    return PriceCheck(
        factor,
        float(np.sqrt(np.square(spread).sum()) / fitted.bounds.sum()),
        float(np.sqrt(np.square(spread).mean()) / fitted.bounds.mean()),
        auditable_price(index),
    )
