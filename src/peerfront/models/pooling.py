"""What earlier studies say about one number of a new one: random effects, with the spread between studies learned.

Each study has a number theta_j (a log rate, a slope, a chance to be alike), known to a standard error e_j. Studies
differ: theta_j ~ N(mu, tau^2). For a given tau, mu is estimated from all of them, with weights 1 / (e_j^2 + tau^2), and
the new study's own number is drawn towards what the others say,

    posterior precision = 1 / e^2 + 1 / (tau^2 + var(mu of the others)).

tau is not known: it is averaged over, by the restricted likelihood of all studies, the new one included, times a
half-normal prior. So earlier studies that differ from each other, or from the new one, make tau large and count for
little; how much they count is `prior_share`, their part of the posterior precision.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_GRID = 80
_SMALLEST, _LARGEST = 0.01, 10.0  # taus tried, in units of the prior's


@dataclass(frozen=True)
class Pooled:
    """A number of the new study after the earlier ones have been heard."""

    mean: float
    error: float
    """Its standard error; never above the study's own but for how unsure the weight of the others is."""
    between: float
    """How much studies differ: the posterior mean of tau."""
    prior_share: float
    """The earlier studies' part of the precision: 0 if they do not count, 1 if the study itself says nothing."""

    def counts_as(self, people: float) -> float:
        """How many people of the new study the earlier ones count as, if it has so many."""
        return people * self.prior_share / max(1.0 - self.prior_share, 1e-9)


def pooled(own: float, error: float, others: Sequence[float], errors: Sequence[float], usual_spread: float) -> Pooled:
    """Draw the new study's number towards those of the others; `usual_spread` is the half-normal prior's of tau.

    An infinite `error` says that the new study knows nothing by itself.
    """
    if not len(others):
        return Pooled(own, error, usual_spread, 0.0)
    theta, known = np.asarray(others, dtype=np.float64), np.maximum(np.asarray(errors, dtype=np.float64), 1e-6)
    taus = usual_spread * np.geomspace(_SMALLEST, _LARGEST, _GRID)
    weights = 1.0 / (known**2 + taus[:, None] ** 2)  # [taus, others]
    middle = (weights * theta).sum(axis=1) / weights.sum(axis=1)
    says = taus**2 + 1.0 / weights.sum(axis=1)  # variance of what the others say about the new study, [taus]
    log_likelihood = 0.5 * np.log(weights).sum(axis=1) - 0.5 * np.log(weights.sum(axis=1))
    log_likelihood -= 0.5 * (weights * (theta - middle[:, None]) ** 2).sum(axis=1)
    speaks = bool(np.isfinite(error))
    variance = max(error, 1e-6) ** 2 if speaks else np.inf
    if speaks:
        log_likelihood += -0.5 * np.log(variance + says) - 0.5 * (own - middle) ** 2 / (variance + says)
    # The grid is even in log tau, so that its density has another factor tau.
    log_posterior = log_likelihood - 0.5 * (taus / usual_spread) ** 2 + np.log(taus)
    believed = np.exp(log_posterior - log_posterior.max())
    believed /= believed.sum()
    share = (1.0 / says) / (1.0 / says + (1.0 / variance if speaks else 0.0))
    means = share * middle + (1.0 - share) * own if speaks else middle
    mean = float(believed @ means)
    spread = float(believed @ ((1.0 - share) * variance if speaks else says))
    return Pooled(
        mean,
        float(np.sqrt(spread + believed @ (means - mean) ** 2)),
        float(believed @ taus),
        float(believed @ share),
    )
