"""A population that runs out: how many of its members have not taken part, and how much harder that makes recruiting.

Everybody can be recruited once. What a response model says of people was learned while fewer of their acquaintances had
taken part than now, so what matters is the share of acquaintances left, relative to then. With N people, n of whom have
taken part, and n0 on average while the study's recruits came,

    s = ((1 - n / N) / (1 - n0 / N)) ^ e,      at most 1.

**Popular people are found first**, so those who are left are known by fewer. If recruits come with chances in
proportion to their network sizes d, and these have a gamma distribution with coefficient of variation c in the
population, the share of everybody's acquaintances left is (1 - n / N)^(1 + c^2): for clocks of rates d,
E[exp(-d t)] = (1 + c^2 t)^(-1 / c^2) have not been found, and they make up E[d exp(-d t)] / E[d]. In a sample drawn in
proportion to d, mean(d) * mean(1 / d) estimates 1 + c^2 (`popularity_of`).

**Whom people find.** Somebody who knows d members of the population, their recruiter among them, has
A = Binomial(d - 1, s) acquaintances left and brings min(N(k), A): who has taken part already gets no coupon, and
somebody else does. People differ in d: each is one of a few numbers, all equally likely.

**Groups.** Where the sizes of groups are known (the categories of one field), each runs out by itself. Acquaintances of
somebody in group g are in group h with chance `mixing[g, h]`, and s is the average over them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from peerfront.foundation.covariates import Codes

Array = NDArray[np.float64]
QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Of network sizes: five people who stand for all."""
USUAL_ACQUAINTANCES = 10
"""Members of the population whom somebody knows, where nothing is said: about the median that studies report."""
_USUAL_SPREAD = (0.4, 0.7, 1.0, 1.4, 2.2)  # quantiles of network sizes beside their median, about as studies report
_MOST_POPULARITY = 3.0  # a few huge answers to "how many do you know" must not say more


@dataclass(frozen=True, eq=False)
class Population:
    """Members of a population by group, and how many of them have taken part. One group where none are told apart."""

    sizes: Array  # [groups]
    already: Array  # [groups], have taken part so far
    before: Array  # [groups], had taken part while the study's recruits came, on average
    field: int | None = None
    """The field whose categories are the groups; None for one group."""
    mixing: Array | None = None  # [groups + 1, groups], the last row for people whose group is not known
    acquaintances: tuple[int, ...] = (USUAL_ACQUAINTANCES,)
    """Members whom somebody knows, the recruiter included: numbers that are equally likely."""
    popularity: float = 1.0
    """The exponent e; 1 if everybody is as easily found."""

    def left(self, more: Array | float = 0.0) -> Array:
        """Members who have not taken part when `more` [..., groups] have come, [..., groups]; at least 0."""
        left: Array = np.maximum(self.sizes - self.already - more, 0.0)
        return left

    def shares(self, more: Array | float = 0.0) -> Array:
        """The share s of acquaintances left by the acquaintance's group, [..., groups]."""
        then = np.maximum(1.0 - self.before / self.sizes, 1e-9)
        shares: Array = np.minimum(self.left(more) / self.sizes / then, 1.0) ** self.popularity
        return shares

    def groups(self, covariates: Codes) -> NDArray[np.int64]:
        """The group of each person, [people]; the number of groups where it is not known."""
        if self.field is None:
            return np.zeros(len(covariates), dtype=np.int64)
        codes = covariates[:, self.field].astype(np.int64)
        return np.where(codes < 0, len(self.sizes), codes)

    def shares_of_people(self, shares: Array) -> Array:
        """The share of acquaintances left by the person's own group, [..., groups + 1], from `shares` [..., groups]."""
        if self.mixing is None:
            weights = np.tile(self.sizes / self.sizes.sum(), (len(self.sizes) + 1, 1))
        else:
            weights = self.mixing
        return np.minimum(shares @ weights.T, 1.0)

    @property
    def besides_recruiter(self) -> NDArray[np.int64]:
        """`acquaintances` without the recruiter, who has taken part, [numbers]."""
        return np.maximum(np.array(self.acquaintances, dtype=np.int64) - 1, 0)

    def finds(self, share: Array, levels: int) -> Array:
        """P(A >= l) for l = 1 .. levels and each share of acquaintances left, [shares, levels]."""
        others, level = self.besides_recruiter[:, None], np.arange(levels)
        chances = betainc(level + 1.0, np.maximum(others - level, 1.0), share[:, None, None])
        there: Array = np.where(level < others, chances, 0.0).mean(axis=1)
        return there


def usual_sizes(median: float = USUAL_ACQUAINTANCES) -> tuple[int, ...]:
    """Network sizes of five people who stand for all, where only the median is known."""
    return tuple(max(round(median * each), 1) for each in _USUAL_SPREAD)


def popularity_of(network_sizes: Array) -> float:
    """The exponent e = 1 + c^2 from the network sizes of a sample; 1 without any, and at most 3.

    Extreme answers count as the 2nd and 98th percentile: 1 / d of a few who know one person would decide otherwise.
    """
    answers = network_sizes[np.isfinite(network_sizes) & (network_sizes > 0)]
    if len(answers) < 2:
        return 1.0
    sizes = np.clip(answers, *np.quantile(answers, [0.02, 0.98]))
    return float(np.clip(sizes.mean() * (1.0 / sizes).mean(), 1.0, _MOST_POPULARITY))
