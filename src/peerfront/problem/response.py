"""How people respond to coupons: the number of recruits N(k) that somebody with k coupons brings.

The paper's N = min(k, C) says that a person can bring C people and uses the first coupons first. The other plain story
is that each coupon is used on its own with the person's chance P. One family holds both (`BinomialResponse`):

    N(k) = Binomial(min(k, C), P),     P independent of C, given the covariates.

P = 1 is the paper, C = infinity is each coupon on its own. A planner needs two tables of it, never the model itself:

    G(k) = E[N(k)] = E[P] * sum_{l <= k} p(l),                                              p(l) = P(C >= l),
    T(k) = E[alpha^N(k)] = E_P[1 - (1 - alpha) P * sum_{l <= k} (1 - (1 - alpha) P)^(l - 1) p(l)].

G is concave and T(k + 1) / T(k) never falls, for every family: for fixed P this is the paper's formula with alpha
replaced by 1 - (1 - alpha) P, and mixtures of log-convex functions are log-convex. Propositions 1 to 3 use no more.
"""

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.binomials import binomial_quantile
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck

Array = NDArray[np.float64]
UNLIMITED = 2**62
"""A capacity that no number of coupons reaches."""
_ROUNDING = 1e-9  # by which shares of P may miss 1 in sum


class ResponseModel(Protocol):
    """What coupons do: expected recruits, what they leave uncovered, and recruits drawn by chance."""

    def gains(self, covariates: Codes, max_coupons: int) -> Array:
        """What the l-th coupon adds to the expected recruits, [people, max_coupons], nonincreasing along the row."""
        ...

    def covers(self, covariates: Codes, uncovered: Array, max_coupons: int) -> Array:
        """1 - T(k + 1) / T(k) for k = 0 .. max_coupons - 1, [people, max_coupons, latent].

        `uncovered` [people, latent] is alpha, what one recruit leaves uncovered of each coordinate; the result is the
        share of what is uncovered that one more coupon covers.
        """
        ...

    def counts(self, covariates: Codes, coupons: int) -> Array:
        """P(N(coupons) = y) for y = 0 .. coupons, [people, coupons + 1]."""
        ...

    def sample(self, covariates: Codes, coupons: NDArray[np.int64] | int, luck: Luck) -> NDArray[np.int64]:
        """Recruits of people with these coupons, [people], by inversion of their own luck.

        One more coupon adds 0 or 1, so that somebody with more coupons never brings fewer.
        """
        ...


class BinomialResponse(ABC):
    """N(k) = Binomial(min(k, C), P). A family says what C is, and what P is if it is not 1."""

    @abstractmethod
    def survival(self, covariates: Codes, max_coupons: int) -> Array:
        """P(C >= l), [people, max_coupons], nonincreasing along the row."""

    @abstractmethod
    def capacities(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        """A capacity C each, [people]: the quantile of the person's own uniform, so that models couple."""

    def chances(self, covariates: Codes, degree: int) -> tuple[Array, Array] | None:
        """Values of P and their shares, [people, values] each; None where P is 1.

        Where P is continuous they are nodes that give the mean of every polynomial of P up to `degree` exactly.
        """
        return None

    def drawn_chances(self, covariates: Codes, luck: Luck) -> Array | None:
        """A chance P each, [people], by inversion of the person's own luck; None where P is 1."""
        return None

    def gains(self, covariates: Codes, max_coupons: int) -> Array:
        survival = self.survival(covariates, max_coupons)
        chances = self._checked_chances(covariates, 1)
        if chances is None:
            return survival
        values, shares = chances
        gains: Array = survival * (values * shares).sum(axis=1)[:, None]
        return gains

    def covers(self, covariates: Codes, uncovered: Array, max_coupons: int) -> Array:
        from peerfront.problem.coverage import coverage_gains, mixed_coverage_gains

        survival = np.ascontiguousarray(self.survival(covariates, max_coupons))
        chances = self._checked_chances(covariates, max_coupons)
        if chances is None:
            covers: Array = coverage_gains(survival, np.ascontiguousarray(uncovered))
            return covers
        values, shares = (np.ascontiguousarray(part) for part in chances)
        mixed: Array = mixed_coverage_gains(survival, np.ascontiguousarray(uncovered), values, shares)
        return mixed

    def counts(self, covariates: Codes, coupons: int) -> Array:
        survival = self.survival(covariates, coupons)
        ends = np.ones((len(survival), 1)), np.zeros((len(survival), 1))
        at_least = np.concatenate([ends[0], survival, ends[1]], axis=1)
        usable: Array = at_least[:, :-1] - at_least[:, 1:]  # P(min(coupons, C) = n)
        chances = self._checked_chances(covariates, coupons)
        if chances is None:
            return usable
        total: Array = np.zeros_like(usable)
        for value, share in zip(chances[0].T, chances[1].T, strict=True):
            used = np.ones((len(survival), 1))  # P(Binomial(n, P) = y), n = 0, 1, ...
            for n in range(coupons + 1):
                total[:, : n + 1] += share[:, None] * usable[:, n, None] * used
                more = np.zeros((len(survival), n + 2))
                more[:, :-1] += used * (1.0 - value[:, None])
                more[:, 1:] += used * value[:, None]
                used = more
        return total

    def sample(self, covariates: Codes, coupons: NDArray[np.int64] | int, luck: Luck) -> NDArray[np.int64]:
        usable = np.minimum(coupons, self.capacities(covariates, luck))
        chances = self.drawn_chances(covariates, luck)
        return usable if chances is None else binomial_quantile(luck.uniform("coupons used"), usable, chances)

    def brings(self, covariates: Codes, max_coupons: int, luck: Luck) -> NDArray[np.bool_]:
        """`brings` of this model, for all numbers of coupons at once."""
        capacities, chances = self.capacities(covariates, luck), self.drawn_chances(covariates, luck)
        if chances is None:
            used: NDArray[np.bool_] = np.arange(max_coupons) < capacities[:, None]
            return used
        usable = np.minimum(np.arange(max_coupons + 1), capacities[:, None])  # [people, max_coupons + 1]
        uniforms, each = (np.repeat(part, max_coupons + 1) for part in (luck.uniform("coupons used"), chances))
        recruits = binomial_quantile(uniforms, usable.reshape(-1), each).reshape(usable.shape)
        added: NDArray[np.bool_] = np.diff(recruits, axis=1) > 0
        return added

    def _checked_chances(self, covariates: Codes, degree: int) -> tuple[Array, Array] | None:
        """`chances`, refused if they are none: no plan is made with them."""
        chances = self.chances(covariates, degree)
        if chances is None:
            return None
        values, shares = chances
        wrong = ~((values >= 0.0) & (values <= 1.0))
        if wrong.any():
            person, place = (int(index[0]) for index in np.nonzero(wrong))
            raise SettingError("response_chances.no_chance", person=person, chance=float(values[person, place]))
        if not ((shares >= 0.0).all() and (np.abs(shares.sum(axis=1) - 1.0) <= _ROUNDING).all()):
            raise SettingError("response_chances.no_shares")
        return values, shares


def brings(response: ResponseModel, covariates: Codes, max_coupons: int, luck: Luck) -> NDArray[np.bool_]:
    """Whether the l-th coupon of each person would add a recruit, [people, max_coupons]: N(l) - N(l - 1)."""
    if (own := getattr(response, "brings", None)) is not None:
        at_once: NDArray[np.bool_] = own(covariates, max_coupons, luck)
        return at_once
    recruits = [response.sample(covariates, coupons, luck) for coupons in range(max_coupons + 1)]
    added: NDArray[np.bool_] = np.diff(np.stack(recruits, axis=1), axis=1) > 0
    return added
