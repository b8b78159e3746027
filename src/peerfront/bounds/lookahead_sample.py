"""Sampled luck of one round: everybody's recruits if they had all the coupons they could use.

People come in groups that do not share a budget: one group for the frontier of a state, one for each way its first
round can turn out (`SecondRound`). Every group has the same number of samples; a sample of a group is an outcome.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from peerfront.bounds.price_index import Array, PriceIndex
from peerfront.foundation.covariates import Codes, kinds_of
from peerfront.foundation.randomness import Luck
from peerfront.problem import OffspringModel
from peerfront.problem.response import brings

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RoundSample:
    """Recruits of every outcome, and what they are worth at each of some prices."""

    prices: Array  # [prices], rising, in the money of the next round
    chances: Array  # [people, levels], what each coupon adds to the expected recruits
    outcomes: int  # of all groups together
    samples: int  # of each group
    outcome: Indices  # [recruits], the outcome each belongs to, group by group
    person: Indices  # [recruits], who brings them
    level: Indices  # [recruits], with which coupon (from 0)
    recruits: Codes  # [recruits, fields]
    luck: Luck  # [recruits]
    kind: Indices  # [recruits]
    values: Array  # [kinds, prices], J with one round less

    @classmethod
    def drawn(
        cls,
        index: PriceIndex,
        offspring: OffspringModel,
        people: Codes,
        group: Indices,  # [people]
        groups: int,
        samples: int,
        luck: Luck,  # [people]
        chances: Array,  # [people, levels]: nobody gets more coupons than there are levels
        prices: Array,
        rounds_left: int,
    ) -> "RoundSample":
        """Draw `samples` outcomes of each group; recruits have `rounds_left` rounds."""
        person = np.repeat(np.arange(len(people)), samples)
        number = np.tile(np.arange(samples), len(people))
        lucks = Luck(luck.keys[person]).members(number)
        parent, level = np.nonzero(brings(index.response, people[person], chances.shape[1], lucks))
        person, number, child_luck = person[parent], number[parent], Luck(lucks.keys[parent]).members(level)
        recruits = offspring.sample(people[person], child_luck)
        kinds = kinds_of(recruits)
        values = index.values(kinds.rows, prices, rounds_left)
        return cls(
            prices, chances, groups * samples, samples, group[person] * samples + number, person, level, recruits,
            child_luck, kinds.kind, values,
        )  # fmt: skip

    def best_prices(self, shares: Array, coupons_left: Array) -> Indices:
        """Which price is the best in each outcome, [outcomes].

        Best is the smallest dual if people get coupons in these shares [people, levels] and the group of the outcome
        has `coupons_left` [groups] after it.
        """
        weights = self.sums(shares[self.person, self.level])
        duals = np.repeat(coupons_left, self.samples)[:, None] * self.prices + weights @ self.values
        best: Indices = np.asarray(duals).argmin(axis=1)
        return best

    def at(self, price: Indices) -> Array:
        """J of each recruit at the price of its outcome, [recruits]."""
        values: Array = self.values[self.kind, price[self.outcome]]
        return values

    def means(self, of_recruits: Array) -> Array:
        """Mean over the group's outcomes of a number of each recruit, by person and coupon, [people, levels]."""
        shape = self.chances.shape
        cells = np.bincount(self.person * shape[1] + self.level, weights=of_recruits, minlength=self.chances.size)
        mean: Array = cells.reshape(shape) / self.samples
        return mean

    def sums(self, weights: Array) -> csr_matrix:
        """The matrix that adds up values of the recruits of each outcome with these weights, [outcomes, kinds]."""
        return csr_matrix((weights, (self.outcome, self.kind)), shape=(self.outcomes, len(self.values)))

    def totals(self, of_recruits: Array) -> Array:
        """Sum over the recruits of each outcome, [outcomes]."""
        total = np.bincount(self.outcome, weights=of_recruits, minlength=self.outcomes)
        return total.astype(np.float64)


def prefix_sums(gains: Array) -> Array:
    """What the first 0, 1, 2, ... coupons bring together, [people, levels + 1]."""
    return np.concatenate([np.zeros((len(gains), 1)), np.cumsum(gains, axis=1)], axis=1)


def first_coupons(given: Indices, levels: int) -> Array:
    """1 for each coupon that a person has, 0 beyond, [people, levels]; `given` is [people]."""
    shares: Array = (np.arange(levels) < given[:, None]).astype(np.float64)
    return shares


@dataclass(frozen=True, eq=False)
class ExactMeans:
    """E[J(recruit of x, m)] of some people, where the index is a table of it: the control of the sampled means.

    A sampled mean of J at prices that depend on the outcome is the known mean at one price and the sampled mean of
    the difference, which is much less a matter of chance.
    """

    values: Array  # [kinds, prices]
    kind: Indices  # [people]
    lowest: int  # the first price at which the means are known

    @classmethod
    def of(cls, index: PriceIndex, people: Codes, prices: Array, rounds_left: int) -> "ExactMeans":
        """`rounds_left` counts the people's own round."""
        kinds = kinds_of(people)
        now = index.discount * prices
        values = index.child_values(kinds.rows, now, rounds_left) / index.discount
        # Below its lowest price an index has only a crude bound.
        return cls(values, kinds.kind, int(np.searchsorted(now, index.prices[0] * (1.0 - 1e-12))))

    def at(self, price: Indices | int) -> Array:
        """At a price of each person or of all, [people]."""
        means: Array = self.values[self.kind, price]
        return means
