"""The dual of the budget, D(m) = m * r + sum_i J(x_i, m): its smallest value, and the policy that follows its price.

**The bound.** D is convex in the price, so a first search over the index's own prices and a few finer ones around the
best of them find the minimum; any price gives a bound, so nothing depends on finding it exactly. `smallest_duals` does
it for many states at once, `smallest_dual` for one whose round may have a limit of its own.

**The policy.** `PriceIndexPolicy` gives a coupon where it is worth more than the price at which D is smallest. At this
price, coupon l of person x brings p_x(l) recruits, each worth 1 + gamma * E[J(child, price / gamma)]: somebody who
opens a community worth reaching gets coupons although few of them are used. It is the optimal policy of the relaxed
problem, solved again each round and made feasible. The relaxed problem balances the budget on average and so does not
see extinction. At gamma near 1 its price stays where a growing community would put it however thin the frontier is.

**By samples.** Where no table holds the index, the expectation in J(x, m) is replaced by a mean over sampled recruits
of x, whose own worth is estimated in the same way at the price m / gamma (`sampled_dual`):

    v(x, m) = sum over l of max(0, p_x(l) * (1 + gamma * mean of v(recruit, m / gamma)) - m).

It errs upwards, E[v] >= J, by induction over generations: v is a convex, rising function of the mean, which has at
least the right expectation (Jensen's inequality). The induction starts where recruits are worth nothing more: from
m >= gamma on, and in the last round. So m * r + sum_i v(x_i, m) is a bound but for chance at every price above
gamma^(1 + `_GENERATIONS`), and any price gives a bound. That is where the best prices are: in the paper's world about
.8 at a discount of .9, two generations deep. At a discount of 1 the induction ends at the deadline only: with many
rounds left there is no such bound. The price is chosen on one sample and the bound evaluated on others. Of many people,
some stand for all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.bounds.clairvoyant import Estimate
from peerfront.bounds.price_index import Array, Chances, PriceIndex, chances_that_matter
from peerfront.foundation.checked_calls import checked_late
from peerfront.foundation.covariates import Codes, Kinds, kinds_of
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import note
from peerfront.foundation.randomness import Luck
from peerfront.gfp.states import StateBatch, sampled_recruits
from peerfront.problem import Allocation, OffspringModel, ResponseModel, State

_FINER_PRICES = 16  # prices tried between the neighbours of the best
_CELLS_AT_ONCE = 1 << 22  # people times prices held in memory
_CAPPED_PRICES = 64  # prices of either kind that are tried before those near the best of them
_GENERATIONS = 3  # of recruits that are sampled
_RECRUITS_TO_CHOOSE, _RECRUITS = (6, 2, 1), (12, 4, 2)  # of each person, by generation
_SAMPLED_PRICES = 16
_PEOPLE = 200  # who stand for all
_CHOICES = 2  # samples that choose the price
_COUNTED_BY_KIND = 1_000  # people above which those who are alike are counted together


# ---- many states ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Duals:
    """The smallest dual of each state, and the price it is at."""

    bounds: Array  # [states], D
    prices: Array  # [states], m


def smallest_duals(
    index: PriceIndex, states: StateBatch, rounds_left: int | None = None, max_per_person: int | None = None
) -> Duals:
    """The bound of every state; all have the same rounds left (None: all of the index's) and cap."""
    check_within(index, int(states.budgets.max(initial=0)), max_per_person)
    each = max(_CELLS_AT_ONCE // len(index.prices) // max(int(states.sizes.max(initial=0)), 1), 1)
    parts = [
        _smallest(index, states.take(np.arange(a, min(a + each, len(states)))), rounds_left, max_per_person)
        for a in range(0, len(states), each)
    ]
    if not parts:
        return Duals(np.zeros(0), np.zeros(0))
    return Duals(np.concatenate([part.bounds for part in parts]), np.concatenate([part.prices for part in parts]))


def check_within(index: PriceIndex, budget: int, max_per_person: int | None) -> None:
    """Refuse states the index was not made for, rather than give a wrong bound."""
    settings = index.settings
    if budget > settings.largest_budget:
        raise SettingError("prices.budget_too_large", largest=settings.largest_budget, budget=budget)
    if settings.max_per_person is not None and (max_per_person is None or max_per_person > settings.max_per_person):
        allowed = note("prices.any_number") if max_per_person is None else max_per_person
        raise SettingError("prices.cap_too_loose", most=settings.max_per_person, allowed=allowed)


def _smallest(index: PriceIndex, states: StateBatch, rounds_left: int | None, max_per_person: int | None) -> Duals:
    grid = index.prices
    duals = _duals(index, states, np.broadcast_to(grid, (len(states), len(grid))), rounds_left, max_per_person, grid)
    best = duals.argmin(axis=1)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    finer = np.concatenate([np.linspace(low, high, _FINER_PRICES, axis=1), grid[best][:, None]], axis=1)
    duals = _duals(index, states, finer, rounds_left, max_per_person)
    best = duals.argmin(axis=1)
    rows = np.arange(len(states))
    return Duals(duals[rows, best], finer[rows, best])


def _duals(
    index: PriceIndex,
    states: StateBatch,
    prices: NDArray[np.float64],  # [states, prices]
    rounds_left: int | None,
    max_per_person: int | None,
    shared: Array | None = None,  # the prices, if all states have the same
) -> Array:
    """D, [states, prices]."""
    own_or_shared = prices[states.owner] if shared is None else shared
    values = index.values(states.covariates, own_or_shared, rounds_left, max_per_person)
    sums = np.concatenate([np.zeros((1, prices.shape[1])), np.cumsum(values, axis=0)])
    people: Array = sums[states.first[1:]] - sums[states.first[:-1]]
    return prices * states.budgets[:, None] + people


# ---- one state, whose round may be limited -------------------------------------------------------------------------


@dataclass(frozen=True)
class LimitedDual:
    """The smallest dual of a state at the index's own prices, and the price of later coupons there."""

    bound: float
    price: float


def smallest_dual(index: PriceIndex, state: State) -> LimitedDual:
    """Where this round has a limit, its coupons may cost more than m: q - m for each, paid back for as many as it is.

    Then D(m, q) = m * r + (q - m) * limit + sum_i (what x_i is worth at q now and m later) is a bound for all q >= m.
    """
    prices, kinds = index.prices, _kinds(state.frontier.covariates)
    worth = 1.0 + index.child_values(kinds.rows, prices, state.rounds_left)  # [kinds, prices]
    most = index.settings.most_per_person
    chances = chances_that_matter(index.response, kinds.rows, most, float(prices[0]), float(worth.max()))
    bound, _, later = _best_prices(
        chances, worth, kinds.number, prices, state.remaining_budget, state.rules.max_per_round
    )
    return LimitedDual(bound, float(prices[later]))


def _kinds(codes: Codes) -> Kinds:
    """People by kind where there are many; where there are few, everybody is a kind of their own, in their order."""
    if len(codes) > _COUNTED_BY_KIND:
        return kinds_of(codes)
    return Kinds(codes, np.arange(len(codes)), np.ones(len(codes), dtype=np.int64))


def _best_prices(
    chances: Chances, worth: Array, number: NDArray[np.int64], prices: Array, budget: int, limit: int | None
) -> tuple[float, int, int]:
    """The smallest D over prices of this round and of the later ones, with the places of these two prices.

    `chances` and `worth` [kinds, prices] are those of the kinds of people, `number` [kinds] says how many there are.
    """
    if limit is None or limit >= budget:
        alone: Array = budget * prices + (number[:, None] * chances.surplus(worth, prices)).sum(axis=0)
        best = int(alone.argmin())
        return float(alone[best]), best, best

    def smallest(now: NDArray[np.int64], later: NDArray[np.int64]) -> tuple[float, int, int]:
        smallest_yet = (np.inf, 0, 0)
        for row in now:
            columns = later[later <= row]
            if not len(columns):
                continue
            paid_back = budget * prices[columns] + limit * (prices[row] - prices[columns])
            surplus = chances.surplus(np.ascontiguousarray(worth[:, columns]), np.full(len(columns), prices[row]))
            duals = paid_back + (number[:, None] * surplus).sum(axis=0)
            best = int(duals.argmin())
            smallest_yet = min(smallest_yet, (float(duals[best]), int(row), int(columns[best])))
        return smallest_yet

    every = max(len(prices) // _CAPPED_PRICES, 1)
    some = np.arange(len(prices) - 1, -1, -every)[::-1]
    coarse = smallest(some, some)
    # Every pair gives a bound. D is convex in both prices, so the best pair of all is usually near the best of some.
    near = [np.arange(max(at - every + 1, 0), min(at + every, len(prices))) for at in coarse[1:]]
    return min(coarse, smallest(near[0], near[1]))


# ---- one state, by samples -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SampledDual:
    """The price bound of a state by samples: those that chose the price, and those that evaluate it."""

    pilot: Estimate
    bound: Estimate
    price: float


def sampled_dual(
    state: State,
    response: ResponseModel,
    offspring: OffspringModel,
    discount: float,
    luck: Luck,
    samples: int,
) -> SampledDual | None:
    """The bound at the best price, by `samples` independent estimates; None where no price gives one."""
    ends = state.rounds_left <= _GENERATIONS + 1
    if not ends and discount == 1.0:
        return None
    lowest = 0.02 if ends else discount ** (_GENERATIONS + 1) * (1.0 + 1e-9)  # rounding must not need a generation more
    sampled = _SampledState(state, response, offspring, discount)
    by_price = {
        float(price): sampled.duals(float(price), _RECRUITS_TO_CHOOSE, luck.members(np.array([0])), _CHOICES)
        for price in np.geomspace(lowest, 1.0, _SAMPLED_PRICES)
    }
    price = min(by_price, key=lambda each: float(by_price[each].mean()))
    fresh = sampled.duals(price, _RECRUITS, luck.members(np.array([1])), samples)
    return SampledDual(Estimate.of(by_price[price]), Estimate.of(fresh), price)


@dataclass(frozen=True, eq=False)
class _SampledState:
    state: State
    response: ResponseModel
    offspring: OffspringModel
    discount: float

    def duals(self, price: float, recruits: tuple[int, ...], luck: Luck, samples: int) -> Array:
        """m * r + sum_i v(x_i, m), by people and recruits of each sample, [samples]."""
        codes, total = self.state.frontier.covariates, []
        for sample in range(samples):
            own = luck.members(np.array([sample]))
            lucks = Luck(np.repeat(own.keys, len(codes))).members(np.arange(len(codes)))
            some = np.argsort(lucks.uniform("who stands for all"))[:_PEOPLE] if len(codes) > _PEOPLE else slice(None)
            values = self._worth(codes[some], price, recruits, Luck(lucks.keys[some]), self.state.rounds_left)
            total.append(price * self.state.remaining_budget + float(values.mean()) * len(codes))
        return np.array(total)

    def _worth(self, codes: Codes, price: float, recruits: tuple[int, ...], luck: Luck, rounds_left: int) -> Array:
        """v of each person, [people]."""
        worth = np.ones((len(codes), 1))
        if price < self.discount and rounds_left > 1:
            people, lucks = sampled_recruits(self.offspring, codes, recruits[0], luck)
            later = self._worth(people, price / self.discount, recruits[1:], lucks, rounds_left - 1)
            worth += self.discount * later.reshape(len(codes), -1).mean(axis=1, keepdims=True)
        most = max(self.state.most_per_person, 1)
        chances = chances_that_matter(self.response, codes, most, price, float(worth.max()))
        crude = max(1.0 - price, 0.0) * self.state.remaining_budget  # nobody's descendants spend more than the budget
        return np.minimum(chances.surplus(worth, np.array([price]))[:, 0], crude)


# ---- the policy ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PriceIndexPolicy:
    """Give out coupons worth more than the price, the most valuable first, within budget and caps; at least one."""

    index: PriceIndex
    name: str = "price_index"

    @checked_late
    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state; prices of states with the same rounds left and cap are computed together."""
        prices = np.zeros(len(states))
        kinds = [(state.rounds_left, state.rules.max_per_person) for state in states]
        for left, cap in set(kinds):
            alike = [i for i, kind in enumerate(kinds) if kind == (left, cap)]
            prices[alike] = smallest_duals(self.index, _batch([states[i] for i in alike]), left, cap).prices
        return [self._at_price(state, price) for state, price in zip(states, prices.tolist(), strict=True)]

    def _at_price(self, state: State, price: float) -> Allocation:
        codes = state.frontier.covariates
        if not state.spendable:
            return Allocation(np.zeros(len(codes), dtype=np.int64))
        recruit = 1.0 + self.index.child_values(codes, np.array([price]), state.rounds_left)  # [people, 1]
        worth = self.index.response.gains(codes, state.most_per_person) * recruit  # [people, coupons]
        spend = min(max(int((worth > price).sum()), 1), state.spendable)
        order = np.argsort(-worth, axis=None, kind="stable")[:spend]
        return Allocation(np.bincount(order // worth.shape[1], minlength=len(codes)))


def _batch(states: Sequence[State]) -> StateBatch:
    budgets = np.array([state.remaining_budget for state in states], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum([len(state.frontier) for state in states])])
    return StateBatch(budgets, first, np.concatenate([state.frontier.covariates for state in states]))
