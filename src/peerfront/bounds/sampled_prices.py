"""The price bound where no table holds the price index: recruits are sampled, and their recruits, and theirs.

Replace the expectation in J(x, m) (`price_index`) by a mean over sampled recruits of x, whose own worth is estimated in
the same way at the price m / gamma:

    v(x, m) = sum over l of max(0, p_x(l) * (1 + gamma * mean of v(recruit, m / gamma)) - m).

**It errs upwards.** E[v] >= J by induction over generations: v is a convex, rising function of the mean, which has at
least the right expectation (Jensen's inequality). The induction starts where recruits are worth nothing more: from
m >= gamma on, and in the last round. So m * r + sum_i v(x_i, m) is a bound but for chance at every price above
gamma^(1 + `_GENERATIONS`), and any price gives a bound. That is where the best prices are: in the paper's world about
.8 at a discount of .9, two generations deep. At a discount of 1 the induction ends at the deadline only: with many
rounds left there is no such bound.

The price is chosen on one sample and the bound evaluated on others. Of many people, some stand for all.
"""

from dataclasses import dataclass

import numpy as np

from peerfront.bounds.clairvoyant import Estimate
from peerfront.bounds.price_index import Array, chances_that_matter
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck
from peerfront.gfp.states import sampled_recruits
from peerfront.problem import OffspringModel, ResponseModel, State

_GENERATIONS = 3  # of recruits that are sampled
_RECRUITS_TO_CHOOSE, _RECRUITS = (6, 2, 1), (12, 4, 2)  # of each person, by generation
_PRICES = 16
_PEOPLE = 200  # who stand for all
_CHOICES = 2  # samples that choose the price


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
        for price in np.geomspace(lowest, 1.0, _PRICES)
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
