"""What coupons do by a belief: tables for planners, and recruits for simulations."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from peerfront.foundation.covariates import Codes, Schema, kinds_of
from peerfront.foundation.randomness import Luck
from peerfront.models.belief.belief import Belief
from peerfront.models.belief.coupon_family import FURTHEST, expected, moved, transport

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BeliefResponse:
    """The response of people of whom only the belief is known, each draw as likely: a `ResponseModel`.

    With a belief of one draw it is what that draw says.
    """

    belief: Belief
    zeal: Array  # [draws], added to everybody's

    @property
    def schema(self) -> Schema:
        return self.belief.schema

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that people's zeal depends on."""
        return self.belief.fields

    @property
    def _shapes(self) -> list[tuple[float, float]]:
        return list(zip(self.belief.limited.tolist(), self.belief.spur.tolist(), strict=True))

    def of_one(self, draw: int) -> "BeliefResponse":
        """The response by one draw."""
        return BeliefResponse(self.belief.part([draw]), self.zeal[[draw]])

    def _of_kinds(self, covariates: Codes) -> tuple[Array, NDArray[np.int64]]:
        """f by each draw of people who differ in what counts, [draws, kinds, most + 1], and the kind of each person."""
        used = [self.schema.names.index(name) for name in self.fields]
        shown = np.full_like(covariates, -1)
        shown[:, used] = covariates[:, used]
        kinds = kinds_of(shown)
        return self.belief.of_most(kinds.rows, self.zeal), kinds.kind

    def by_draw(self, covariates: Codes, max_coupons: int) -> Array:
        """Expected recruits with 1 .. max_coupons coupons, [draws, people, max_coupons]."""
        f, kind = self._of_kinds(covariates)
        return self._recruits(f, max_coupons)[:, kind]

    def _recruits(self, f: Array, max_coupons: int) -> Array:
        maps = [expected(max_coupons, self.belief.most, *shape)[1:] for shape in self._shapes]
        return np.einsum("dpm,dkm->dpk", f, np.stack(maps))

    def expected_recruits(self, covariates: Codes, max_coupons: int) -> Array:
        """Expected recruits with 1 .. max_coupons coupons, [people, max_coupons]."""
        f, kind = self._of_kinds(covariates)
        mean: Array = self._recruits(f, max_coupons).mean(axis=0)[kind]
        return mean

    def gains(self, covariates: Codes, max_coupons: int) -> Array:
        gains: Array = np.diff(self.expected_recruits(covariates, max_coupons), axis=1, prepend=0.0)
        return np.maximum(gains, 0.0)

    def transform(self, covariates: Codes, uncovered: Array, max_coupons: int) -> Array:
        """T(k) = E[alpha^N(k)] for k = 0 .. max_coupons, [people, max_coupons + 1, latent]."""
        powers = uncovered[:, None, :] ** np.arange(max_coupons + 1)[:, None]  # [people, y, latent]
        f, kind = self._of_kinds(covariates)
        total = np.ones((len(covariates), max_coupons + 1, uncovered.shape[1]))
        for coupons in range(1, max_coupons + 1):
            counts = self._counts(f, coupons)[kind]
            total[:, coupons] = np.einsum("py,pyl->pl", counts, powers[:, : coupons + 1])
        return total

    def _counts(self, f: Array, coupons: int) -> Array:
        maps = np.stack([transport(coupons, self.belief.most, *shape) for shape in self._shapes])  # [draws, y, Y]
        counts: Array = np.einsum("dpm,dym->py", f, maps) / len(f)
        return counts

    def covers(self, covariates: Codes, uncovered: Array, max_coupons: int) -> Array:
        table = self.transform(covariates, uncovered, max_coupons)
        shares: Array = np.clip(1.0 - table[:, 1:] / np.maximum(table[:, :-1], 1e-300), 0.0, 1.0)
        return np.ascontiguousarray(shares)

    def counts(self, covariates: Codes, coupons: int) -> Array:
        f, kind = self._of_kinds(covariates)
        return self._counts(f, coupons)[kind]

    def sample(self, covariates: Codes, coupons: Numbers | int, luck: Luck) -> Numbers:
        draw = (luck.uniform("draw of the belief") * len(self.belief)).astype(np.int64)
        return sampled(self.belief, draw, self.zeal[draw], covariates, coupons, luck)


def sampled(
    belief: Belief, draw: Numbers, zeal: Array, covariates: Codes, coupons: Numbers | int, luck: Luck
) -> Numbers:
    """Recruits of people, [people], each by the draw and with the zeal of their own, by inversion of their own luck.

    More coupons never bring fewer people.
    """
    luck.check(len(covariates))
    most, given = belief.most, np.broadcast_to(np.asarray(coupons, dtype=np.int64), len(covariates))
    tilt = np.arange(most + 1) * (3.0 / max(most, 3))
    one_hot = belief.schema.one_hot(covariates).astype(np.float64)
    scores = ((belief.effects[draw] * one_hot).sum(axis=1) + zeal)[:, None] * tilt
    scores[:, 1:] += belief.levels[draw]
    below = np.cumsum(np.exp(scores - logsumexp(scores, axis=1, keepdims=True)), axis=1)[:, :-1]
    used = (luck.uniform("recruits with the most coupons")[:, None] > below).sum(axis=1)  # Y
    limited = luck.uniform("limited") < belief.limited[draw]
    each = luck.uniforms("coupons used", FURTHEST * most)
    recruits = np.zeros(len(given), dtype=np.int64)
    for coupon in range(min(int(given.max(initial=0)), FURTHEST * most)):
        if coupon < most:
            chance = np.where(limited, used > coupon, (used - recruits) / (most - coupon))
        else:
            chance = np.where(limited, 0.5 * (recruits == coupon), (used + 0.5) / (most + 1.0))
        recruits += (given > coupon) & (each[:, coupon] < chance)
    wishes = luck.uniform("wish") < moved(given, most, belief.spur[draw])
    return np.where(wishes & (given > 0), recruits, 0)
