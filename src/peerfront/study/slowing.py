"""Why studies slow down, besides a drift: people who can be reached run out, and staff hold few interviews.

Neither is known of a running study, so every simulated study draws its own.

**People who can be reached.** Their number R has a wide prior. If it is R, the share r of them who took part by now has
slowed the study down by -log(1 - r) in all, and the drift of its waves is the rest: a draw of the drift with a large
fall speaks for a small R, by the density that the prior of drifts gives to the rest.

**Interviews.** If staff were the limit in the last k weeks, their numbers are alike; if not, each differs from the one
before by more than chance. Both are normal on the log scale, so that the evidence for a limit has a closed form.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import norm

from peerfront.foundation.randomness import Luck
from peerfront.models.belief.belief import Belief
from peerfront.models.belief.prior import Prior
from peerfront.study.study_state import SharesLeft, Standing

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_MIDDLE, _SPREAD = 10_000.0, 1.4  # of the prior of people who can be reached: lognormal
_POINTS = 40
_PRIOR = Prior()
_LEAST_LEFT = 0.02  # people who can still be reached, as a share of those who took part
_LARGE_STUDY = np.array([1.1, 1.5, 2.0, 4.0, 8.0])  # people who can be reached, where more took part than the prior has
_LIMITED = 0.25  # chance, before any data, that staff are the limit
_FEWEST_WEEKS, _MOST_WEEKS = 3, 8  # for which a limit may have held
_FEWEST_INTERVIEWS = 3  # in a week at a limit
_ALIKE, _APART = 0.12, 0.35  # standard deviations of log numbers of weeks at a limit, and from week to week without
_LIMITS_CHANGE = 0.15  # standard deviation of the log of a limit, from the weeks so far to those to come


@dataclass(frozen=True, eq=False)
class Brakes:
    """What slows each simulated study down."""

    share_left: SharesLeft
    limit: Array  # [studies], interviews a week; infinite where staff are not the limit

    def of_studies(self, rows: Whole) -> "Brakes":
        """The same for some of the studies, which may occur several times."""
        return Brakes(lambda recruited, study: self.share_left(recruited, rows[study]), self.limit[rows])


@dataclass(frozen=True, eq=False)
class Reachable:
    """People who can still be reached, whose number is another one in each simulated study."""

    people: Array  # [studies]

    def __call__(self, recruited: Whole, study: Whole) -> Array:
        share: Array = np.clip(1.0 - recruited / self.people[study], 0.0, 1.0)
        return share


def brakes_of(
    belief: Belief,
    draw: Whole,
    standing: Standing,
    luck: Luck,
    share_left: SharesLeft | None = None,
    interviews_per_week: float | None = None,
) -> Brakes:
    """What slows each study down (one draw of the belief and one row of luck each): what is known, otherwise drawn."""
    if share_left is None:
        uniform = luck.uniform("people who can be reached")
        share_left = Reachable(people_left(belief.drift[draw], belief.waves, standing.enrolled, uniform))
    if interviews_per_week is not None:
        return Brakes(share_left, np.full(len(luck), interviews_per_week))
    chance, middle, spread = limit_of(standing.weeks)
    limited = luck.uniform("whether staff are the limit") < chance
    normal = norm.ppf(np.clip(luck.uniform("interviews a week"), 1e-6, 1 - 1e-6))
    return Brakes(share_left, np.where(limited, np.exp(middle + spread * normal), np.inf))


def people_left(drift: Array, waves: int, enrolled: int, uniform: Array) -> Array:
    """People who can still be reached, [studies], by draws of the drift."""
    points = np.exp(np.log(_MIDDLE) + _SPREAD * norm.ppf((np.arange(_POINTS) + 0.5) / _POINTS))
    possible = points > (1.0 + _LEAST_LEFT) * enrolled
    points = points[possible] if possible.any() else enrolled * _LARGE_STUDY
    rest = drift[:, None] - np.log1p(-enrolled / points) / max(waves, 1) * (waves > 1)  # the drift of other causes
    logs = norm.logpdf(rest, -_PRIOR.slowing, _PRIOR.drift)
    shares = np.cumsum(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)), axis=1)
    place = (uniform[:, None] > shares / shares[:, -1:]).sum(axis=1)
    left: Array = points[np.minimum(place, len(points) - 1)] - enrolled
    return left


def limit_of(weeks: Whole) -> tuple[float, float, float]:
    """The chance that staff are the limit, and mean and standard deviation of the limit's log, by numbers of weeks."""
    logs: Array = np.log(np.maximum(weeks, 0.5))
    noise: Array = 1.0 / np.maximum(weeks, 1.0)
    held = int(np.argmin(np.append(weeks[::-1] >= _FEWEST_INTERVIEWS, False)))  # weeks with enough, back from today
    most = min(_MOST_WEEKS, len(weeks) - 1, held)
    evidence, means, variances = [], [], []
    for k in range(_FEWEST_WEEKS, most + 1):
        last, before = logs[-k:], logs[-k - 1]
        step = _APART**2 + noise[-k:] + noise[-k - 1 : -1]
        free = _log_density(np.diff(logs[-k - 1 :]), step)
        own = _ALIKE**2 + (0.5 * noise[-k:]) ** 2  # whole people
        precision = np.append(1.0 / own, 1.0)  # the last: the prior, around the week before
        mean = (precision @ np.append(last, before)) / precision.sum()
        at_mean = _log_density(np.append(last, before) - mean, 1.0 / precision)
        limited = at_mean + 0.5 * np.log(2 * np.pi / precision.sum())
        evidence.append(limited - free)
        means.append(mean)
        variances.append(1.0 / precision.sum())
    if not evidence:
        return 0.0, 0.0, _LIMITS_CHANGE
    odds = _LIMITED / (1.0 - _LIMITED) * np.exp(logsumexp(evidence) - np.log(len(evidence)))
    best = int(np.argmax(evidence))
    return float(odds / (1.0 + odds)), float(means[best]), float(np.sqrt(variances[best] + _LIMITS_CHANGE**2))


def _log_density(off: Array, variance: Array) -> float:
    """Of independent normal numbers around 0."""
    return float(-0.5 * (np.square(off) / variance + np.log(2 * np.pi * variance)).sum())
