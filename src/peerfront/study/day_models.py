"""The models of a simulation by days (how many recruits, whom, when), with a draw of what is not known.

Every simulated study has one draw of the belief, the luck of its waves, and one draw of the return times. The last
belongs to the first: if returns are slower than estimated, more recruits are still to come, so that more coupons are
used in the end. A belief that was learned with the mean times therefore has everybody's zeal shifted by

    log (sum over holders of coupons * exposure by the mean times / the same by the drawn times).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck
from peerfront.models.belief.belief import Belief, BeliefResponse, sampled
from peerfront.models.belief.belief_world import draw_of_episode
from peerfront.models.returns.coupons_seen import CouponsSeen, count_chances
from peerfront.models.returns.return_times import NEVER, ReturnTimes
from peerfront.problem import OffspringModel
from peerfront.study.artifacts import Fit

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
MOST_DRAWS = 50
"""Draws of return times that simulated studies share."""
_LARGEST_SHIFT = 1.5


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
    zeal: Array  # [studies]

    @classmethod
    def of(cls, models: DayModels, seen: CouponsSeen, luck: Luck, *, exact: bool = False) -> "DrawnModels":
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
        zeal = belief.drift[draw] + by_draw[time_of]
        if not exact:
            waves = ndtri(np.clip(luck.uniform("luck of the waves"), 1e-9, 1.0 - 1e-9))
            zeal = zeal + belief.spread[draw] * waves
        return cls(models, draw, times, time_of, zeal)

    def recruits(self, study: Whole, covariates: Codes, coupons: Whole, luck: Luck) -> Whole:
        """Recruits that each person brings in the end, [people]; `study` is the study of each person."""
        return sampled(self.models.belief, self.draw[study], self.zeal[study], covariates, coupons, luck)

    def count_chances(self, study: int, covariates: Codes, coupons: Whole) -> Array:
        """P(N = n) of each person in one study, [people, most coupons + 1]."""
        own = self.models.belief.part([int(self.draw[study])])
        response = BeliefResponse(own, float(self.zeal[study] - own.drift[0]))
        return count_chances(response, covariates, coupons)

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
