"""The lookahead bound: a price of later coupons that knows how this round turned out.

The price bound (`price_index`) charges the same price for a coupon whatever happens, so it lets a policy that is short
of coupons in lucky futures buy those that unlucky futures, in which nobody comes, leave unused. Here the price of later
coupons depends on the luck omega of this round: how many each person on the frontier could bring, and whom. With r
coupons and T rounds left, a policy that gives out between a and b coupons in this round earns at most

    B(m) = gamma * E[m] * r + lam * (b if lam > 0 else a) + sum_i max over k of sum over l <= k of g_i(l),
    g_i(l) = p_i(l) + gamma * E[1{C_i >= l} * J_{T-1}(recruit l of i, m(omega))] - gamma * E[m] - lam,

for **any** function m(omega) >= 0 and any number lam, where J is the price index of a person with one round less. The
bound is the largest of these over intervals [a, b] that cover every spend the rules allow.

**Proof.** Give out k_i coupons. What comes after earns at most m * (r - sum k) + sum of J_{T-1}(recruit, m) at every
price m (weak duality), so also at m(omega); take expectations, collect the terms of each person, add lam times the
spend, which the interval limits, and let each k_i be the best for its own terms. omega does not depend on k (recruit
l of i is the same person however many coupons i has), so the expectations do not either, and people separate. This is
an information relaxation with a penalty (Brown, Smith and Sun 2010): whoever chooses k still does not know omega;
only the price at which the budget may be broken does.

**The best price.** B is convex in m(.). For shares w_i(l) of coupons given out (mixed choices of k), the best price
of omega is the smallest argument of m * (r - sum w) + sum of w_i(l) * J(recruit l of i, m); at the saddle point this
price and w belong together. Fictitious play finds w on one sample, intervals with the largest bound are split in two,
and the price rules so found are *evaluated on another sample*, because the smallest of noisy bounds is no bound.
There the maxima over k and over intervals of sample means err upwards (Jensen), so what is reported is on average a
bound, however well the play went. A constant price and one interval give back the price bound.

Where J is a table with given probabilities nothing else is approximate. Where it is fitted, nested samples
(`price_audit`) of the recruits of some outcomes correct it, which again errs only upwards.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from peerfront.bounds.certificate import Caps, Estimate
from peerfront.bounds.price_audit import audited_values
from peerfront.bounds.price_index import PriceIndex
from peerfront.bounds.surplus import Array
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck
from peerfront.problem import OffspringModel

_PLAYS = 24  # steps of fictitious play for each interval
_SPLITS = 20  # intervals of the spend that are split
_PRICES = 72  # prices among which the best of an outcome is looked for
_RECRUITS = 60_000  # sampled recruits of the frontier held at once, at most
_NEAR_THE_TOP = 0.03  # intervals whose bound is further below the largest are not audited
_MOST_CELLS = 1 << 20  # people times coupons above which the bound is not computed
_CHOICE, _EVALUATION = 0, 1  # branches of luck


@dataclass(frozen=True)
class Lookahead:
    """The bound, the mean price of a later coupon in the money of this round, and how many outcomes it rests on."""

    bound: Estimate
    price: float
    outcomes: int


def lookahead_bound(
    index: PriceIndex,
    offspring: OffspringModel,
    frontier: Codes,
    budget: int,
    rounds_left: int,
    luck: Luck,
    caps: Caps | None = None,
    *,
    outcomes: int = 400,
    audited: int = 0,
) -> tuple[Lookahead, Lookahead]:
    """Choose a price rule on `outcomes` sampled rounds and evaluate it on as many others: (as chosen, as evaluated).

    Only the second is a bound but for chance; the first, which is too small, may decide whether to report it.
    `audited` outcomes of the second sample have the values of their recruits corrected by nested samples, for the
    intervals that may hold the largest bound; 0 trusts the index. `luck` has one row.
    """
    problem = _Problem(index, offspring, frontier, budget, rounds_left, caps or Caps())
    chosen = problem.outcomes(max(outcomes // 2, 8), luck.members(np.array([_CHOICE])))
    rules = _rules(problem, chosen)
    fresh = problem.outcomes(outcomes, luck.members(np.array([_EVALUATION])))
    evaluated = [problem.evaluated(rule, fresh, 0) for rule in rules]
    if audited:
        near = (1.0 - _NEAR_THE_TOP) * max(found.bound.mean for found in evaluated)
        evaluated = [
            problem.evaluated(rule, fresh, audited)
            for rule, found in zip(rules, evaluated, strict=True)
            if found.bound.mean >= near
        ]
    first = problem.evaluated(max(rules, key=lambda rule: rule.bound), chosen, 0)
    return first, max(evaluated, key=lambda found: found.bound.mean)


def can_look_ahead(frontier: Codes, most: int, rounds_left: int) -> bool:
    """Whether there is a later round, and the tables of people and coupons are small enough."""
    return rounds_left > 1 and 0 < len(frontier) * most <= _MOST_CELLS


@dataclass(frozen=True, eq=False)
class _Outcomes:
    """Sampled luck of this round: everybody's recruits if they had all the coupons they could use."""

    count: int
    sample: NDArray[np.int64]  # [recruits], the outcome each belongs to
    person: NDArray[np.int64]  # [recruits], who brings them
    level: NDArray[np.int64]  # [recruits], with which coupon (from 0)
    recruits: Codes  # [recruits, fields]
    luck: Luck  # [recruits]
    values: Array  # [recruits, prices], J with one round less
    shape: tuple[int, ...]  # people, levels

    def means(self, of_recruits: Array, outcomes: int | None = None) -> Array:
        """Mean over outcomes of a number of each recruit, by person and coupon, [people, levels]."""
        cells = np.bincount(
            self.person * self.shape[1] + self.level, weights=of_recruits, minlength=int(np.prod(self.shape))
        )
        mean: Array = cells.reshape(self.shape) / (outcomes or self.count)
        return mean

    def at(self, price: NDArray[np.int64]) -> Array:
        """J of each recruit at the price of its outcome, [recruits]."""
        values: Array = self.values[np.arange(len(self.sample)), price[self.sample]]
        return values

    def sums(self, weights: Array) -> csr_matrix:
        """The matrix that adds up recruits of each outcome with these weights, [outcomes, recruits]."""
        many = len(weights)
        first = np.searchsorted(self.sample, np.arange(self.count + 1))
        return csr_matrix((weights, np.arange(many), first), shape=(self.count, many))


@dataclass(frozen=True, eq=False)
class _Rule:
    """Prices by outcome for spends in an interval, from shares of coupons given out; and what the sample said."""

    least: int
    most: int
    shares: Array  # [people, levels]
    spend_price: float = 0.0
    """lam, which keeps the spend in the interval."""
    bound: float = np.inf


class _Problem:
    def __init__(
        self, index: PriceIndex, offspring: OffspringModel, frontier: Codes, budget: int, rounds_left: int, caps: Caps
    ) -> None:
        self.index, self.offspring, self.frontier = index, offspring, frontier
        self.budget, self.rounds_left, self.discount = budget, rounds_left, index.discount
        limits = [budget, index.settings.most_per_person, caps.per_person, caps.per_round]
        self.each = max(min(limit for limit in limits if limit is not None), 1)
        self.survival = index.capacity.survival(frontier, self.each)  # [people, levels]
        self.most_spend = min(budget, budget if caps.per_round is None else caps.per_round, self.survival.size)
        every = max(len(index.prices) // _PRICES, 1)
        self.prices = np.unique(np.append(index.prices[::every], 1.0))

    def outcomes(self, count: int, luck: Luck) -> _Outcomes:
        people = len(self.frontier)
        count = max(min(count, int(_RECRUITS / max(self.survival.sum(), 1.0))), 8)
        person = np.tile(np.arange(people), count)
        lucks = Luck(np.repeat(luck.keys, count * people)).members(np.arange(count * people))
        brought = np.minimum(self.index.capacity.sample(self.frontier[person], lucks), self.each)
        parent = np.repeat(np.arange(len(brought)), brought)
        level = np.arange(len(parent)) - (np.cumsum(brought) - brought)[parent]
        child_luck = Luck(lucks.keys[parent]).members(level)
        recruits = self.offspring.sample(self.frontier[person[parent]], child_luck)
        values = self.index.values(recruits, self.prices, self.rounds_left - 1)
        return _Outcomes(
            count, parent // people, person[parent], level, recruits, child_luck, values, self.survival.shape
        )

    def prices_of(self, rule: _Rule, outcomes: _Outcomes) -> NDArray[np.int64]:
        """Which price is best in each outcome if coupons are given out in these shares, [outcomes]."""
        weights = outcomes.sums(rule.shares[outcomes.person, outcomes.level])
        duals = self.prices * (self.budget - rule.shares.sum()) + weights @ outcomes.values
        best: NDArray[np.int64] = np.asarray(duals).argmin(axis=1)
        return best

    def gains(self, later: Array, mean_price: float) -> Array:
        """g_i(l) without lam, [people, levels], from the mean values of recruits by person and coupon."""
        gains: Array = self.survival + self.discount * (later - mean_price)
        return gains

    def bound(self, gains: Array, mean_price: float, rule: _Rule) -> tuple[float, NDArray[np.int64]]:
        """B and the best number of coupons of each person."""
        sums, lam = _prefix_sums(gains - rule.spend_price), rule.spend_price
        given = sums.argmax(axis=1)
        paid_back = self.discount * mean_price * self.budget + lam * (rule.most if lam > 0.0 else rule.least)
        return float(paid_back + sums[np.arange(len(given)), given].sum()), given

    def evaluated(self, rule: _Rule, outcomes: _Outcomes, audited: int) -> Lookahead:
        price = self.prices_of(rule, outcomes)
        later, mean_price = outcomes.at(price), float(self.prices[price].mean())
        means = outcomes.means(later)
        few = outcomes.sample < min(audited, outcomes.count)
        corrections = np.zeros(len(few))
        if few.any():
            corrections[few] = self._corrections(outcomes, price, few)
            means = means + outcomes.means(corrections, min(audited, outcomes.count))
        bound, given = self.bound(self.gains(means, mean_price), mean_price, rule)
        counted = (outcomes.level < given[outcomes.person]).astype(np.float64)
        # What each outcome adds, the chosen coupons taken as they are: the bound is the mean of this.
        own = outcomes.sums(counted) @ later + self.prices[price] * (self.budget - given.sum())
        variance = own.var(ddof=1) / outcomes.count
        if few.any():
            sums = (outcomes.sums(counted) @ corrections)[: min(audited, outcomes.count)]
            variance += sums.var(ddof=1) / len(sums) if len(sums) > 1 else np.inf
        error = self.discount * float(np.sqrt(variance))
        return Lookahead(Estimate(bound, error), self.discount * mean_price, outcomes.count)

    def _corrections(self, outcomes: _Outcomes, price: NDArray[np.int64], few: NDArray[np.bool_]) -> Array:
        """Nested samples minus the index, of the recruits of a few outcomes, [their recruits]."""
        asked = price[outcomes.sample[few]]
        audit = audited_values(
            self.index, self.offspring, outcomes.recruits[few], self.prices[asked], Luck(outcomes.luck.keys[few]),
            rounds_left=self.rounds_left - 1,
        )  # fmt: skip
        differences: Array = audit - outcomes.values[few, asked]
        return differences


def _rules(problem: _Problem, outcomes: _Outcomes) -> list[_Rule]:
    """Price rules for intervals that cover every spend, the intervals of the largest bounds split again and again."""
    nobody = np.zeros(outcomes.shape)
    rules = [_played(problem, outcomes, _Rule(1, problem.most_spend, nobody))]
    for _ in range(_SPLITS):
        top = max(range(len(rules)), key=lambda at: rules[at].bound)
        rule = rules[top]
        if rule.least == rule.most:
            break
        middle = _split_at(rule)
        halves = (_Rule(rule.least, middle, rule.shares), _Rule(middle + 1, rule.most, rule.shares))
        rules[top : top + 1] = [_played(problem, outcomes, half) for half in halves]
    return rules


def _split_at(rule: _Rule) -> int:
    """Near the spend of the mixed choice, where the two pure choices it mixes lie on either side."""
    middle = (rule.least + rule.most) // 2
    return int(np.clip(round((rule.shares.sum() + middle) / 2.0), rule.least, rule.most - 1))


def _played(problem: _Problem, outcomes: _Outcomes, start: _Rule) -> _Rule:
    """Fictitious play: prices answer the mean of past allocations, allocations answer the prices."""
    best, shares = start, start.shares
    for play in range(_PLAYS):
        price = problem.prices_of(_Rule(start.least, start.most, shares), outcomes)
        mean_price = float(problem.prices[price].mean())
        gains = problem.gains(outcomes.means(outcomes.at(price)), mean_price)
        lam, answer = _answer(gains, start.least, start.most)
        rule = _Rule(start.least, start.most, shares, lam)
        found, _ = problem.bound(gains, mean_price, rule)
        if found < best.bound:
            best = _Rule(start.least, start.most, shares, lam, found)
        shares = shares + (answer - shares) / (play + 1.0 if play == 0 else play + 2.0)
    return best


def _answer(gains: Array, least: int, most: int) -> tuple[float, Array]:
    """The lam that keeps the spend within limits at the smallest bound, and the best (mixed) coupons."""
    sums = _prefix_sums(gains)
    coupons = np.arange(sums.shape[1])

    def given(lam: float) -> NDArray[np.int64]:
        best: NDArray[np.int64] = (sums - lam * coupons).argmax(axis=1)
        return best

    def shares(chosen: NDArray[np.int64]) -> Array:
        table: Array = (coupons[None, 1:] <= chosen[:, None]).astype(np.float64)
        return table

    free = given(0.0)
    if least <= free.sum() <= most:
        return 0.0, shares(free)
    target = most if free.sum() > most else least
    reach = 1.0 + float(np.abs(gains).max())
    low, high = (0.0, reach) if free.sum() > most else (-reach, 0.0)  # the spend falls with lam
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if given(middle).sum() > target else (low, middle)
    many, few = given(low), given(high)
    part = (target - few.sum()) / max(int(many.sum() - few.sum()), 1)
    mixed: Array = part * shares(many) + (1.0 - part) * shares(few)
    return high, mixed


def _prefix_sums(gains: Array) -> Array:
    return np.concatenate([np.zeros((len(gains), 1)), np.cumsum(gains, axis=1)], axis=1)
