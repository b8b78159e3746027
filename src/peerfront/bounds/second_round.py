"""Looking one round further: what recruits are worth if the price of coupons knows the luck of their round too.

In an outcome of the first round, with r' coupons left and recruits y of weight w_y (their shares of coupons given out),
the price bound charges one price m for all that follows. Here the price of coupons after the second round depends on
its luck omega' as well. For **any** rule m'(omega') >= 0, with q = gamma * E[m'],

    h_y = max over k of sum over l <= k of { p_y(l) + gamma * E[used_y(l) * J(recruit l of y, m'(omega'))] - q }

and q take the places of J(y, m) and m in the lookahead bound: the same argument as there, for the recruits' round,
whatever luck the first had. Expectations over omega' are means over samples, inside a maximum, so they err upwards
(Jensen), and no rule can make the bound wrong; it is chosen by fictitious play on samples of its own. Where that finds
no clear gain over the price bound the outcome keeps its one price, which costs no chance at all.
"""

from dataclasses import dataclass

import numpy as np

from peerfront.bounds.lookahead_sample import ExactMeans, Indices, RoundSample, first_coupons, prefix_sums
from peerfront.bounds.price_index import PriceIndex
from peerfront.bounds.surplus import Array
from peerfront.problem import OffspringModel

_PLAYS = 6  # steps of fictitious play
_CHOICE_SAMPLES, _SAMPLES = 48, 48  # of each outcome of the first round
_CLEAR_GAIN = 0.01  # share of an outcome's price bound that a rule must gain on the samples it was chosen by
_NEGLIGIBLE = 1e-12  # chance of use below which a coupon is left out
_MOST_RECRUITS = 400_000  # of the second round, held at once
_FEWEST_OUTCOMES = 32


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
        for play in range(_PLAYS):
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
    return count if count >= _FEWEST_OUTCOMES else 0


def _nearest(grid: Array, wanted: Array) -> Indices:
    right = np.clip(np.searchsorted(grid, wanted), 1, len(grid) - 1)
    nearest: Indices = np.where(wanted - grid[right - 1] < grid[right] - wanted, right - 1, right)
    return nearest
