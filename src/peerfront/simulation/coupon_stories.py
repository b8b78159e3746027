"""Worlds of other stories: what a coupon does where the paper's N = min(k, C) is false.

A world's capacities C say how many people somebody could bring. Three stories can be told with them (`STORIES`):

- capacity: the paper's, N = min(k, C).
- per_coupon: each coupon is used on its own, N = Binomial(k, P). The chance P(x) is the one with which `match` coupons
  bring as many people in expectation as they do in the capacity story, P = (p(1) + ... + p(match)) / match with
  p(l) = P(C >= l); match = 1 is P = p(1), which is 1 - exp(-rate) where C is Poisson. The default of 3 makes worlds
  that a study in which everybody had 3 coupons hardly tells apart. With 1, somebody with a rate of 2.5, who brings 2.1
  people with 3 coupons in the capacity story, would bring 2.8 with 3 and 9 with 10: such worlds soon hold more recruits
  than coupons, and there is little left to plan.
- both: min(k, C') coupons can be used, and each is with the same `chance`. The rates of C' are those of C divided by
  the chance, so that without a limit of coupons a Poisson number of people comes, as many as in the capacity story.

Where `spread` is above 0, P is beta-distributed among people who look alike, with variance spread * P (1 - P).
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.binomials import beta_nodes, beta_quantile
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import note
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import among, at_least, check_fields, optional, proportion
from peerfront.problem import BinomialResponse
from peerfront.problem.response import UNLIMITED

Array = NDArray[np.float64]
CAPACITY, PER_COUPON, BOTH = STORIES = ("capacity", "per_coupon", "both")
_USUAL_MATCH = 3
_USUAL_CHANCE = 0.7
_MOST_MATCH = 1_000
_LEAST_CHANCE = 0.01  # of coupons that somebody has use for: rates are divided by it


class ScaledCapacity(BinomialResponse):
    """A capacity model N = min(k, C) whose rates can be scaled."""

    @abstractmethod
    def scaled(self, factor: float) -> "ScaledCapacity":
        """The same model with all rates times `factor`."""


@dataclass(frozen=True)
class _Chances(BinomialResponse):
    """P for each person, the same for all who look alike or beta-distributed among them."""

    capacity: ScaledCapacity
    spread: float
    """1 / (a + b + 1) of the beta distribution, the share of P (1 - P) that its variance is; 0 for one value of P."""

    @abstractmethod
    def mean_chances(self, covariates: Codes) -> Array:
        """E[P], [people]."""

    @property
    def _size(self) -> float:
        """a + b of the beta distribution."""
        return 1.0 / self.spread - 1.0

    def chances(self, covariates: Codes, degree: int) -> tuple[Array, Array]:
        means = self.mean_chances(covariates)
        if self.spread == 0.0:
            return means[:, None], np.ones((len(means), 1))
        return beta_nodes(means, self._size, degree)

    def drawn_chances(self, covariates: Codes, luck: Luck) -> Array:
        means = self.mean_chances(covariates)
        return means if self.spread == 0.0 else beta_quantile(luck.uniform("chance"), means, self._size)


@dataclass(frozen=True)
class PerCoupon(_Chances):
    """Each coupon is used on its own: N = Binomial(k, P)."""

    match: int = _USUAL_MATCH
    chance: float | None = None
    """P for everybody; None takes it from the capacity, so that `match` coupons bring as many as there."""

    def mean_chances(self, covariates: Codes) -> Array:
        if self.chance is not None:
            return np.full(len(covariates), self.chance)
        means: Array = np.minimum(self.capacity.survival(covariates, self.match).mean(axis=1), 1.0)
        return means

    def survival(self, covariates: Codes, max_coupons: int) -> Array:
        return np.ones((len(covariates), max_coupons))

    def capacities(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        return np.full(len(covariates), UNLIMITED)


@dataclass(frozen=True)
class ThinnedCapacity(_Chances):
    """Of the coupons that somebody has use for each is used with the same chance: N = Binomial(min(k, C), P)."""

    chance: float

    def mean_chances(self, covariates: Codes) -> Array:
        return np.full(len(covariates), self.chance)

    def survival(self, covariates: Codes, max_coupons: int) -> Array:
        return self.capacity.survival(covariates, max_coupons)

    def capacities(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        return self.capacity.capacities(covariates, luck)


def _below_one(name: str, value: Any) -> float:
    """Rule: a number of at least 0 and below 1."""
    if proportion(name, value) == 1.0:
        raise SettingError("coupon_story_settings.below_one", name=name)
    return float(value)


@dataclass(frozen=True)
class CouponStory:
    """Which story is true in a world, and its numbers; the default is the paper's."""

    response: str = CAPACITY
    """capacity, per_coupon or both."""
    match: int | None = None
    """per_coupon: coupons with which people bring as many as in the capacity story; None for 3."""
    chance: float | None = None
    """both: the chance of each coupon that somebody has use for, None for .7. per_coupon: one chance for everybody;
    None takes each person's from the rates (`match`)."""
    spread: float | None = None
    """per_coupon and both: how much chances differ among people who look alike, from 0 (None) to below 1."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            response=among(note("kinds.response"), STORIES),
            match=optional(at_least(1, _MOST_MATCH)),
            chance=optional(proportion),
            spread=optional(_below_one),
        )
        given = [name for name in ("match", "chance", "spread") if getattr(self, name) is not None]
        if self.response == CAPACITY and given:
            raise SettingError("coupon_story_settings.not_of_the_paper", setting=given[0])
        if self.match is not None and (self.response == BOTH or self.chance is not None):
            raise SettingError("coupon_story_settings.match_or_chance")
        if self.response == BOTH and self.chance is not None and self.chance < _LEAST_CHANCE:
            raise SettingError("coupon_story_settings.chance_too_small", least=_LEAST_CHANCE, chance=self.chance)

    def response_of(self, capacity: ScaledCapacity) -> BinomialResponse:
        """The response of people with these capacities; the capacity model itself in the paper's story."""
        spread = self.spread or 0.0
        if self.response == PER_COUPON:
            return PerCoupon(capacity, spread, self.match or _USUAL_MATCH, self.chance)
        if self.response == BOTH:
            chance = _USUAL_CHANCE if self.chance is None else self.chance
            return ThinnedCapacity(capacity.scaled(1.0 / chance), spread, chance)
        return capacity


PAPER = CouponStory()
"""The paper's story, N = min(k, C)."""
