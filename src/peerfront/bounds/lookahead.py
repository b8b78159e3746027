"""The lookahead bound: a price of later coupons that knows how this round turned out, and perhaps the next.

The price bound (`price_index`) charges the same price for a coupon whatever happens, so it lets a policy that is short
of coupons in lucky futures buy those that unlucky futures, in which nobody comes, leave unused. Here the price of later
coupons depends on the luck omega of this round: how many each person on the frontier could bring, and whom. With r
coupons and T rounds left, a policy that gives out between a and b coupons in this round (all the rules allow: at least
one, at most the cap) earns at most

    B(m) = gamma * E[m] * r + lam * (b if lam > 0 else a) + sum_i max over k of sum over l <= k of g_i(l),
    g_i(l) = p_i(l) + gamma * E[used_i(l) * J_{T-1}(recruit l of i, m(omega))] - gamma * E[m] - lam,

for **any** function m(omega) >= 0 and any number lam, where p(l) is what the l-th coupon adds to the expected
recruits, used(l) whether it does (`response.brings`), and J the price index of a person with one round less.

**Proof.** Give out k_i coupons. What comes after earns at most m * (r - sum k) + sum of J_{T-1}(recruit, m) at every
price m (weak duality), so also at m(omega); take expectations, collect the terms of each person, add lam times the
spend, which the rules limit, and let each k_i be the best for its own terms. omega does not depend on k (recruit
l of i is the same person however many coupons i has), so the expectations do not either, and people separate. This is
an information relaxation with a penalty (Brown, Smith and Sun 2010): whoever chooses k still does not know omega;
only the price at which the budget may be broken does.

**The best price.** B is convex in m(.). For shares w_i(l) of coupons given out (mixed choices of k), the best price
of omega is the smallest argument of m * (r - sum w) + sum of w_i(l) * J(recruit l of i, m); at the saddle point this
price and w belong together. Fictitious play finds w on one sample, and the price rule so found is *evaluated on
another sample*, because the smallest of noisy bounds is no bound. There the maximum over k of sample means errs
upwards (Jensen), so what is reported is on average a bound, however well the play went. A constant price gives back
the price bound.

J is an exact table, so nothing else is approximate, and the mean of J at one price is known, so that only differences
to it are sampled. J(recruit, m) and m may be replaced by what looking at the luck of a second round makes of them
(below), which takes most of the slack that is left.

**A second round** (`SecondRound`). In an outcome of the first round, with r' coupons left and recruits y of weight w_y
(their shares of coupons given out), the price bound charges one price m for all that follows. Here the price of coupons
after the second round depends on its luck omega' as well. For **any** rule m'(omega') >= 0, with q = gamma * E[m'],

    h_y = max over k of sum over l <= k of { p_y(l) + gamma * E[used_y(l) * J(recruit l of y, m'(omega'))] - q }

and q take the places of J(y, m) and m above: the same argument, for the recruits' round, whatever luck the first had.
Expectations over omega' are means over samples, inside a maximum, so they err upwards (Jensen), and no rule can make
the bound wrong; it is chosen by fictitious play on samples of its own. Where that gains nothing clear over the price
bound the outcome keeps its one price, which costs no chance at all.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.bounds.clairvoyant import Estimate
from peerfront.bounds.lookahead_sample import ExactMeans, Indices, RoundSample, first_coupons, prefix_sums
from peerfront.bounds.price_index import Array, PriceIndex
from peerfront.foundation.randomness import Luck
from peerfront.gfp.states import StateBatch
from peerfront.problem import OffspringModel, State

_PLAYS = 24  # steps of fictitious play
_PRICES = 72  # prices among which the best of an outcome is looked for
_RECRUITS = 60_000  # sampled recruits of the frontier held at once, at most
_MOST_CELLS = 1 << 20  # people times coupons above which the bound is not computed
_FEWEST_OUTCOMES = 8
_CHOICE, _EVALUATION = 0, 1  # branches of luck
_SECOND_PLAYS = 6  # steps of fictitious play
_CHOICE_SAMPLES, _SAMPLES = 48, 48  # of each outcome of the first round
_CLEAR_GAIN = 0.01  # share of an outcome's price bound that a rule must gain on the samples it was chosen by
_NEGLIGIBLE = 1e-12  # chance of use below which a coupon is left out
_MOST_RECRUITS = 400_000  # of the second round, held at once
_FEWEST_FOLLOWED = 32


@dataclass(frozen=True)
class Lookahead:
    """The bound, the mean price of a later coupon in the money of this round, and how many outcomes it rests on."""

    bound: Estimate
    price: float
    outcomes: int


def lookahead_bound(
    index: PriceIndex, offspring: OffspringModel, state: State, luck: Luck, *, outcomes: int = 400
) -> tuple[Lookahead, Lookahead]:
    """Choose a price rule on some sampled rounds and evaluate it on `outcomes` others: (as pilot, as evaluated).

    Only the second is a bound but for chance; the first, which may be too small, may decide whether to report it. It
    looks at one round of luck, the second at two where three rounds are left and the frontier is small enough. `luck`
    has one row.
    """
    problem = _Problem(index, offspring, state)
    pilot = problem.sample(max(outcomes // 2, _FEWEST_OUTCOMES), luck.members(np.array([_CHOICE])))
    rule = _played(problem, pilot)
    price = problem.prices_of(rule, pilot)
    rule = replace(rule, control=int(np.median(price)))
    first = problem.judged(rule, pilot, pilot.at(price), pilot.prices[price])
    followed = min(affordable_outcomes(pilot, index), outcomes) if state.rounds_left > 2 else 0
    fresh = problem.sample(followed or outcomes, luck.members(np.array([_EVALUATION])))
    price = problem.prices_of(rule, fresh)
    later, prices = fresh.at(price), fresh.prices[price]
    if followed:
        second = SecondRound.after(fresh, index, offspring, state.rounds_left - 1)
        weights = rule.shares[fresh.person, fresh.level]
        prices, later = second.values(weights, state.remaining_budget - float(rule.shares.sum()), price)
    return first, problem.judged(rule, fresh, later, prices)


def can_look_ahead(state: State) -> bool:
    """Whether there is a later round, and the tables of people and coupons are small enough."""
    return state.rounds_left > 1 and 0 < len(state.frontier) * state.most_per_person <= _MOST_CELLS


@dataclass(frozen=True, eq=False)
class _Rule:
    """Prices by outcome, from shares of coupons given out; and what the sample said."""

    shares: Array  # [people, levels]
    spend_price: float = 0.0
    """lam, which keeps the spend within the rules."""
    bound: float = np.inf
    control: int = 0
    """The price at which known means are taken."""


class _Problem:
    def __init__(self, index: PriceIndex, offspring: OffspringModel, state: State) -> None:
        self.index, self.offspring, self.frontier = index, offspring, state.frontier.covariates
        self.budget, self.rounds_left, self.discount = state.remaining_budget, state.rounds_left, index.discount
        each = max(min(index.settings.most_per_person, state.most_per_person), 1)
        self.chances = index.response.gains(self.frontier, each)  # [people, levels]
        self.most_spend = min(state.spendable_by_round, self.chances.size)
        self.prices = self._later_prices(each)
        self.exact_means = ExactMeans.of(index, self.frontier, self.prices, self.rounds_left)

    def _later_prices(self, each: int) -> Array:
        """Prices to choose from, rising, in the money of the next round; of many, some and the price bound's own."""
        prices = self.index.prices
        every = len(prices) // _PRICES
        if every < 2:
            return np.unique(np.append(prices, 1.0))
        from peerfront.bounds.dual import smallest_duals

        state = StateBatch(np.array([self.budget]), np.array([0, len(self.frontier)]), self.frontier)
        best = smallest_duals(self.index, state, self.rounds_left, each).prices[0] / self.discount
        return np.unique(np.concatenate([prices[::every], [min(best, 1.0), 1.0]]))

    def sample(self, count: int, luck: Luck) -> RoundSample:
        count = max(min(count, int(_RECRUITS / max(self.chances.sum(), 1.0))), _FEWEST_OUTCOMES)
        people = len(self.frontier)
        lucks = Luck(np.repeat(luck.keys, people)).members(np.arange(people))
        return RoundSample.drawn(
            self.index, self.offspring, self.frontier, np.zeros(people, dtype=np.int64), 1, count, lucks, self.chances,
            self.prices, self.rounds_left - 1,
        )  # fmt: skip

    def prices_of(self, rule: _Rule, sample: RoundSample) -> Indices:
        """Which price is best in each outcome if coupons are given out in these shares, [outcomes]."""
        return sample.best_prices(rule.shares, np.array([self.budget - rule.shares.sum()]))

    def gains(self, rule: _Rule, sample: RoundSample, later: Array, mean_price: float) -> Array:
        """g_i(l) without lam, [people, levels], from the values of recruits."""
        control = max(rule.control, self.exact_means.lowest)
        means = self.exact_means.at(control)[:, None] * self.chances
        means = means + sample.means(later - sample.values[sample.kind, control])
        gains: Array = self.chances + self.discount * (means - mean_price)
        return gains

    def bound(self, gains: Array, mean_price: float, lam: float) -> tuple[float, Indices]:
        """B and the best number of coupons of each person."""
        sums = prefix_sums(gains - lam)
        given = sums.argmax(axis=1)
        paid_back = self.discount * mean_price * self.budget + lam * (self.most_spend if lam > 0.0 else 1)
        return float(paid_back + sums[np.arange(len(given)), given].sum()), given

    def judged(self, rule: _Rule, sample: RoundSample, later: Array, prices: Array) -> Lookahead:
        """B if recruits are worth `later` [recruits] where later coupons cost `prices` [outcomes]."""
        mean_price = float(prices.mean())
        bound, given = self.bound(self.gains(rule, sample, later, mean_price), mean_price, rule.spend_price)
        counted = (sample.level < given[sample.person]).astype(np.float64)
        # What each outcome adds, the pilot coupons taken as they are: the bound is the mean of this.
        control = sample.values[sample.kind, max(rule.control, self.exact_means.lowest)]
        own = sample.totals(counted * (later - control)) + prices * (self.budget - given.sum())
        error = self.discount * float(np.sqrt(own.var(ddof=1) / sample.outcomes))
        return Lookahead(Estimate(bound, error), self.discount * mean_price, sample.outcomes)


def _played(problem: _Problem, sample: RoundSample) -> _Rule:
    """Fictitious play: prices answer the mean of past allocations, allocations answer the prices."""
    best = _Rule(np.zeros(problem.chances.shape))
    shares = best.shares
    for play in range(_PLAYS):
        price = problem.prices_of(_Rule(shares), sample)
        mean_price = float(sample.prices[price].mean())
        control = int(np.median(price))
        gains = problem.gains(_Rule(shares, control=control), sample, sample.at(price), mean_price)
        lam, answer = _answer(gains, 1, problem.most_spend)
        bound, _ = problem.bound(gains, mean_price, lam)
        if bound < best.bound:
            best = _Rule(shares, lam, bound, control)
        shares = shares + (answer - shares) / (play + 1.0 if play == 0 else play + 2.0)
    return best


def _answer(gains: Array, least: int, most: int) -> tuple[float, Array]:
    """The lam that keeps the spend within limits at the smallest bound, and the best (mixed) coupons."""
    sums = prefix_sums(gains)
    coupons, levels = np.arange(sums.shape[1]), gains.shape[1]

    def given(lam: float) -> NDArray[np.int64]:
        best: NDArray[np.int64] = (sums - lam * coupons).argmax(axis=1)
        return best

    free = given(0.0)
    if least <= free.sum() <= most:
        return 0.0, first_coupons(free, levels)
    target = most if free.sum() > most else least
    reach = 1.0 + float(np.abs(gains).max())
    low, high = (0.0, reach) if free.sum() > most else (-reach, 0.0)  # the spend falls with lam
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if given(middle).sum() > target else (low, middle)
    many, few = given(low), given(high)
    part = (target - few.sum()) / max(int(many.sum() - few.sum()), 1)
    return high, part * first_coupons(many, levels) + (1.0 - part) * first_coupons(few, levels)


# ---- a second round ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SecondRound:
    """The round after every outcome of a first round."""

    index: PriceIndex
    first: RoundSample
    exact_means: ExactMeans  # of the recruits' recruits
    choice: RoundSample
    fresh: RoundSample

    @classmethod
    def after(cls, first: RoundSample, index: PriceIndex, offspring: OffspringModel, rounds_left: int) -> "SecondRound":
        """`rounds_left` counts the second round, and is at least 2."""
        levels = first.chances.shape[1]
        chances = index.response.gains(first.recruits, levels)
        useful = max(int((chances > _NEGLIGIBLE).any(axis=0).sum()), 1)
        chances = np.ascontiguousarray(chances[:, :useful])

        def drawn(branch: int, samples: int) -> RoundSample:
            luck = first.luck.members(np.full(len(first.recruits), branch))
            return RoundSample.drawn(
                index, offspring, first.recruits, first.outcome, first.outcomes, samples, luck, chances, first.prices,
                rounds_left - 1,
            )  # fmt: skip

        exact_means = ExactMeans.of(index, first.recruits, first.prices, rounds_left)
        return cls(index, first, exact_means, drawn(0, _CHOICE_SAMPLES), drawn(1, _SAMPLES))

    def values(self, weights: Array, coupons_left: float, price: Indices) -> tuple[Array, Array]:
        """q of each outcome and h of each recruit, [outcomes] and [recruits].

        `weights` [recruits] are the recruits' shares, `coupons_left` what the first round leaves, `price` [outcomes]
        that of the price bound.
        """
        first, discount = self.first, self.index.discount
        alone, at_price = first.prices[price], first.at(price)  # the price bound's q and h
        bound = alone * coupons_left + first.totals(weights * at_price)
        control = np.maximum(_nearest(first.prices, np.minimum(alone / discount, 1.0)), self.exact_means.lowest)
        recruit = 1.0 + discount * self.exact_means.at(control[first.outcome])
        cost = discount * first.prices[control[first.outcome]]
        shares = (self.choice.chances * recruit[:, None] > cost[:, None]).astype(np.float64)
        best, rule = np.full(first.outcomes, np.inf), shares
        for play in range(_SECOND_PLAYS):
            prices, gains = self._gains(self.choice, shares, weights, coupons_left, control)
            sums = prefix_sums(gains)
            bounds = prices * coupons_left + first.totals(weights * sums.max(axis=1))
            better = bounds < best
            best, rule = np.where(better, bounds, best), np.where(better[first.outcome, None], shares, rule)
            shares = shares + (first_coupons(sums.argmax(axis=1), shares.shape[1]) - shares) / (play + 2.0)
        prices, gains = self._gains(self.fresh, rule, weights, coupons_left, control)
        gained = best < (1.0 - _CLEAR_GAIN) * bound
        return (
            np.where(gained, prices, alone),
            np.where(gained[first.outcome], prefix_sums(gains).max(axis=1), at_price),
        )

    def _gains(
        self, sample: RoundSample, shares: Array, weights: Array, coupons_left: float, control: Indices
    ) -> tuple[Array, Array]:
        """q [outcomes of the first round], and what each coupon of a recruit adds to h, [recruits, levels]."""
        first, discount = self.first, self.index.discount
        after = coupons_left - first.totals(weights * shares.sum(axis=1))
        price = sample.best_prices(weights[:, None] * shares, after)
        now = discount * first.prices[price].reshape(first.outcomes, -1).mean(axis=1)
        more = sample.means(sample.at(price) - sample.at(np.repeat(control, sample.samples)))
        later = self.exact_means.at(control[first.outcome])[:, None] * sample.chances + more
        return now, sample.chances + discount * later - now[first.outcome, None]


def affordable_outcomes(first: RoundSample, index: PriceIndex) -> int:
    """How many outcomes of a first round like this one can be followed for another round; 0 if too few."""
    each = index.response.gains(first.recruits, first.chances.shape[1]).sum()
    recruits = max(float(each), 1.0) / first.outcomes * (_CHOICE_SAMPLES + _SAMPLES)
    count = int(_MOST_RECRUITS / recruits)
    return count if count >= _FEWEST_FOLLOWED else 0


def _nearest(grid: Array, wanted: Array) -> Indices:
    right = np.clip(np.searchsorted(grid, wanted), 1, len(grid) - 1)
    nearest: Indices = np.where(wanted - grid[right - 1] < grid[right] - wanted, right - 1, right)
    return nearest
