"""The models of a simulation by days (how many recruits, whom, when), with a draw of what is not known.

Every simulated study has one draw of the belief, the luck of each of its waves, and one draw of the return times. The
last belongs to the first: if returns are slower than estimated, more recruits are still to come, so that more coupons
are used in the end. A belief that was learned with the mean times therefore has everybody's zeal shifted by

    log (sum over holders of coupons * exposure by the mean times / the same by the drawn times).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri

from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Keys, Luck, fold
from peerfront.models.belief.belief import Belief, sampled
from peerfront.models.belief.belief_world import draw_of_episode
from peerfront.models.belief.coupon_family import tilt, transport
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.models.returns.return_times import NEVER, ReturnTimes
from peerfront.problem import OffspringModel
from peerfront.study.artifacts import Fit

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
MOST_DRAWS = 50
"""Draws of return times that simulated studies share."""
_LARGEST_SHIFT = 1.5
_WAVES = 1 << 20  # more than there ever are


def place_of(wave: int, trees: Whole | None, people: int) -> Whole:
    """Where people stand: one number of the wave (0: holders of open coupons, 1: who gets coupons next) and the tree.

    A recruit's place is that of the recruiter plus 1.
    """
    return np.full(people, wave) if trees is None else wave + _WAVES * trees


@dataclass(frozen=True, eq=False)
class DayModels:
    """The models that a simulation by days draws from."""

    belief: Belief
    offspring: OffspringModel
    times: ReturnTimes

    @classmethod
    def of(cls, fit: Fit, times: ReturnTimes) -> "DayModels":
        """The models of a fit, with these return times."""
        return cls(fit.belief, fit.offspring, times)


@dataclass(frozen=True, eq=False)
class DrawnModels:
    """The models with the draws of each simulated study."""

    models: DayModels
    draw: Whole  # [studies], of the belief
    times: tuple[ReturnTimes, ...]
    time_of: Whole  # [studies], index into `times`
    shift: Array  # [studies], of everybody's zeal
    keys: Keys | None
    """[studies], of the luck of waves; None if waves have none."""
    lifts: Array | None = None
    """[studies, trees + 1], of the zeal of each tree (`tree_lifts`); None if all are alike."""

    @classmethod
    def of(
        cls, models: DayModels, seen: CouponsSeen, luck: Luck, *, exact: bool = False, lifts: Array | None = None
    ) -> "DrawnModels":
        """Draw what is not known in each study (one row of luck each); with `exact` return times and waves are."""
        studies, belief = len(luck), models.belief
        draw = draw_of_episode(np.arange(studies), len(belief))
        if exact or models.times.draws is None or not len(models.times.draws):
            times: tuple[ReturnTimes, ...] = (models.times,)
            time_of = np.zeros(studies, np.int64)
        else:
            draws = len(models.times.draws)
            numbers = np.unique(np.linspace(0, draws - 1, min(draws, MOST_DRAWS)).astype(np.int64))
            times = tuple(models.times.draw(int(number)) for number in numbers)
            time_of = (luck.uniform("draw of return times") * len(times)).astype(np.int64)
        by_draw = np.array([_shift(models.times, each, seen) for each in times])
        return cls(models, draw, times, time_of, by_draw[time_of], None if exact else luck.keys, lifts)

    def of_studies(self, rows: Whole) -> "DrawnModels":
        """The same for some of the studies, which may occur several times."""
        keys = None if self.keys is None else self.keys[rows]
        lifts = None if self.lifts is None else self.lifts[rows]
        draw, time_of, shift = self.draw[rows], self.time_of[rows], self.shift[rows]
        return replace(self, draw=draw, time_of=time_of, shift=shift, keys=keys, lifts=lifts)

    def zeal(self, study: Whole, place: Whole) -> Array:
        """What is added to the zeal of people of these studies and places (`place_of` a wave and a tree), [people]."""
        belief, draw = self.models.belief, self.draw[study]
        tree, wave = np.divmod(place, _WAVES)
        zeal: Array = self.shift[study] + belief.drift[draw] * wave
        if self.keys is None:
            return zeal
        if self.lifts is not None:
            zeal = zeal + self.lifts[study, tree]
        luck = ndtri(np.clip(Luck(fold(self.keys[study], wave)).uniform("luck of a wave"), 1e-9, 1.0 - 1e-9))
        return zeal + belief.spread[draw] * luck

    def recruits(self, study: Whole, place: Whole, covariates: Codes, coupons: Whole, luck: Luck) -> Whole:
        """Recruits that each person brings in the end, [people], by the study and place of each."""
        return sampled(self.models.belief, self.draw[study], self.zeal(study, place), covariates, coupons, luck)

    def count_chances(self, study: int, place: Whole, covariates: Codes, coupons: Whole) -> Array:
        """P(N = n) of each holder of open coupons in one study, [holders, most coupons + 1]."""
        own = self.models.belief.part([int(self.draw[study])])
        zeal = self.zeal(np.full(len(place), study), place)
        if own.fields:
            zeal = zeal + own.schema.one_hot(covariates).astype(np.float64) @ own.effects[0]
        scores = zeal[:, None] * tilt(own.most)
        scores[:, 1:] += own.levels[0]
        f = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
        chances = np.zeros((len(coupons), int(coupons.max(initial=0)) + 1))
        for number in np.unique(coupons).tolist():
            rows = coupons == number
            table = transport(number, own.most, float(own.limited[0]), float(own.spur[0]))
            chances[rows, : number + 1] = f[rows] @ table.T
        return chances

    def ages(self, study: Whole, luck: Luck, returns: int, valid_days: float = NEVER) -> Array:
        """Days from issue to each of the first `returns` returns of a person, [people, returns]."""
        days = np.zeros((len(study), returns))
        for number, times in enumerate(self.times):
            own = np.flatnonzero(self.time_of[study] == number)
            if len(own):
                days[own] = times.sample(Luck(luck.keys[own]), returns, valid_days)
        return days


def _shift(mean: ReturnTimes, drawn: ReturnTimes, seen: CouponsSeen) -> float:
    """The shift of zeal for the drawn return times."""
    if drawn is mean or not len(seen):
        return 0.0
    expected = float((seen.coupons * seen.exposure(mean)).sum())
    instead = float((seen.coupons * seen.exposure(drawn)).sum())
    if expected <= 0.0 or instead <= 0.0:
        return 0.0
    return float(np.clip(np.log(expected / instead), -_LARGEST_SHIFT, _LARGEST_SHIFT))
