"""The models of a simulation by days (how many recruits, whom, when), with random draws of their errors.

Every simulated study has a story (in proportion to the weights), an error of the response model (`uncertainty`) and one
draw of the return times. The last two belong together: if returns are slower than estimated, more recruits are still to
come, so that more coupons are used in the end. A response that was fitted with the mean times therefore has its log
rates shifted by

    log (sum over holders of coupons * exposure by the mean times / the same by the drawn times).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck
from peerfront.models.response.learned_response import LearnedResponse, shifted
from peerfront.models.returns.coupons_seen import CouponsSeen, count_chances
from peerfront.models.returns.return_times import NEVER, ReturnTimes
from peerfront.problem import OffspringModel, ResponseModel
from peerfront.study.artifacts import Fit
from peerfront.study.stories import believed, story_of_episode
from peerfront.study.uncertainty import member_weights

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
MOST_DRAWS = 50
"""Draws of return times that simulated studies share."""
_LARGEST_LOG_RATE = 1.5  # limit of this shift


@dataclass(frozen=True, eq=False)
class DayModels:
    """The models that a simulation by days draws from."""

    names: tuple[str, ...]
    """Stories of what a coupon does, the most credible first."""
    weights: tuple[float, ...]
    responses: tuple[ResponseModel, ...]
    offspring: OffspringModel
    times: ReturnTimes

    @classmethod
    def of(cls, fit: Fit, times: ReturnTimes) -> "DayModels":
        """The models of a fit, with these return times."""
        stories = believed(fit)
        return cls(
            tuple(story.name for story in stories),
            tuple(story.weight for story in stories),
            tuple(story.response for story in stories),
            fit.offspring,
            times,
        )


@dataclass(frozen=True, eq=False)
class DrawnModels:
    """The models with the errors of each simulated study."""

    models: DayModels
    story: Whole  # [studies]
    weights: tuple[Array | None, ...]  # by story, [studies, members]; None if the response is taken as exact
    times: tuple[ReturnTimes, ...]
    time_of: Whole  # [studies], index into `times`
    log_rate: Array  # [studies]

    @classmethod
    def of(cls, models: DayModels, seen: CouponsSeen, luck: Luck, *, exact: bool = False) -> "DrawnModels":
        """Draw the errors of each study (one row of luck each); `exact` models have none."""
        studies = len(luck)
        story = story_of_episode(models.weights, studies)
        if exact or models.times.draws is None or not len(models.times.draws):
            times: tuple[ReturnTimes, ...] = (models.times,)
            time_of = np.zeros(studies, np.int64)
        else:
            draws = len(models.times.draws)
            numbers = np.unique(np.linspace(0, draws - 1, min(draws, MOST_DRAWS)).astype(np.int64))
            times = tuple(models.times.draw(int(number)) for number in numbers)
            time_of = (luck.uniform("draw of return times") * len(times)).astype(np.int64)
        by_draw = np.array([_log_rate(models.times, each, seen) for each in times])
        weights = tuple(
            None if exact or not isinstance(response, LearnedResponse) else member_weights(response, luck)
            for response in models.responses
        )
        return cls(models, story, weights, times, time_of, by_draw[time_of])

    def recruits(self, study: Whole, covariates: Codes, coupons: Whole, luck: Luck) -> Whole:
        """Recruits that each person brings in the end, [people]; `study` is the study of each person."""
        brought = np.zeros(len(study), np.int64)
        for number, response in enumerate(self.models.responses):
            own, errors = np.flatnonzero(self.story[study] == number), self.weights[number]
            if not len(own):
                continue
            theirs = covariates[own], coupons[own], Luck(luck.keys[own])
            if isinstance(response, LearnedResponse):
                of = np.zeros((len(own), len(response.rates.log_scale))) if errors is None else errors[study[own]]
                brought[own] = response.sample_shifted(*theirs, of, self.log_rate[study[own]])
            else:
                brought[own] = response.sample(*theirs)
        return brought

    def count_chances(self, study: int, covariates: Codes, coupons: Whole) -> Array:
        """P(N = n) of each person in one study, [people, most coupons + 1]."""
        number = int(self.story[study])
        response, errors = self.models.responses[number], self.weights[number]
        if isinstance(response, LearnedResponse):
            of = np.zeros(len(response.rates.log_scale)) if errors is None else errors[study]
            response = shifted(response, of, float(self.log_rate[study]))
        return count_chances(response, covariates, coupons)

    def ages(self, study: Whole, luck: Luck, returns: int, valid_days: float = NEVER) -> Array:
        """Days from issue to each of the first `returns` returns of a person, [people, returns]."""
        days = np.zeros((len(study), returns))
        for number, times in enumerate(self.times):
            own = np.flatnonzero(self.time_of[study] == number)
            if len(own):
                days[own] = times.sample(Luck(luck.keys[own]), returns, valid_days)
        return days


def _log_rate(mean: ReturnTimes, drawn: ReturnTimes, seen: CouponsSeen) -> float:
    """The shift of the log rates for the drawn return times."""
    if drawn is mean or not len(seen):
        return 0.0
    expected = float((seen.coupons * seen.exposure(mean)).sum())
    instead = float((seen.coupons * seen.exposure(drawn)).sum())
    if expected <= 0.0 or instead <= 0.0:
        return 0.0
    return float(np.clip(np.log(expected / instead), -_LARGEST_LOG_RATE, _LARGEST_LOG_RATE))
