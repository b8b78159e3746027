"""The size of the population from the order in which network sizes came: successive sampling (SS-PSE).

People who know many come first, so in a sample that is a good part of its population network sizes fall. The model is
that of Handcock, Gile and Mar (2014), as in R's package sspse: N people have independent network sizes, of which one
after another is drawn in proportion to size among those left. With the sizes d_1, ..., d_n in the order of the sample,
R_i = d_i + ... + d_n, and U the sum of the sizes of the N - n people who did not come,

    p(d | N, f)  =  N! / (N - n)!  prod f(d_i)  E[ prod d_i / (R_i + U) ].

Because 1 / (R + U) = integral of exp(-(R + U) t) over t, the expectation is one integral over a number s: with h the
density of a sum of exponential variables with rates R_i, and L(s) = E exp(-s size) the Laplace transform of f,

    E[ prod d_i / (R_i + U) ]  is proportional to  integral of h(s) L(s)^(N - n) ds.

h is found by its saddlepoint (off by about 1 / (12 n)), where U is the saddlepoint's own variable:
s = sum 1 / (R_i + U). Sizes are 1 + negative binomial, whose L is closed; its mean and shape have wide priors and are
integrated out on a grid. Nothing is simulated. The share n / N of the population that came is Beta(1, b) a priori, as
in sspse, so that the prior's median is a guess that has to be given.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp

from peerfront.estimates.sample import Floats, Sample
from peerfront.foundation.errors import SettingError
from peerfront.foundation.settings import whole_number

FEWEST_SIZES = 30
"""People below whom the order of network sizes says nothing."""
MOST_GUESSED = 100_000_000
_CENTRE, _SPREAD = np.array([2.0, 0.5]), np.array([1.5, 1.5])  # normal priors: log of the mean less 1, log of the shape
_FARTHEST = 50.0  # times the guess: a priori, 1.4% of the chance lies beyond
_SIZES, _PLACES, _REACH = 160, 11, 4.0  # populations tried; points of the grid in each direction, standard deviations


@dataclass(frozen=True, eq=False)
class PopulationSize:
    """What the order of network sizes says about how many people there are."""

    guess: int
    """The prior's median."""
    sampled: int
    median: int
    low: int
    high: int
    """Ends of the 95% credible interval."""
    prior_low: int
    prior_high: int
    table: pd.DataFrame
    """Chances of populations: `people` (the upper end of a range), `prior`, `posterior`."""

    @property
    def learned(self) -> float:
        """How much narrower the interval is than the prior's, on the scale of logs: 0 not at all, 1 wholly."""
        return float(1.0 - np.log(self.high / self.low) / np.log(self.prior_high / self.prior_low))

    @property
    def moved(self) -> float:
        """The prior's chance between the guess and the median: 0 if they are the same, at most 0.5."""
        return abs(float(self.table["prior"][self.table["people"] <= self.median].sum()) - 0.5)


def population_size(sample: Sample, guess: int) -> PopulationSize:
    """Return the posterior of the population's size, given network sizes in the order in which people came."""
    guess = whole_number("population_guess", guess, 1, MOST_GUESSED)
    n_people = len(sample)
    if guess <= n_people:
        raise SettingError("population_size.small_guess", guess=guess, sampled=n_people)
    sizes = np.maximum(np.rint(sample.network_size[np.argsort(sample.arrival, kind="stable")]), 1.0)
    if n_people < FEWEST_SIZES or (sizes == sizes[0]).all():
        raise SettingError("population_size.too_little", sampled=n_people, fewest=FEWEST_SIZES)
    return posterior_of_size(sizes, guess)


def posterior_of_size(sizes: Floats, guess: int) -> PopulationSize:
    """The same for plain network sizes (whole, from 1 on), in the order in which people came, [people]."""
    n_people = len(sizes)
    edges = np.unique(np.geomspace(n_people, _FARTHEST * guess, _SIZES + 1).round())
    beta = np.log(0.5) / np.log1p(-n_people / guess)
    below = (1.0 - n_people / edges) ** beta  # [edges], the chance of a population of at most this size
    prior = np.diff(below) / below[-1]
    middle = np.sqrt(edges[1:] * np.maximum(edges[:-1], 1.0))  # [ranges], one size stands for a range
    with np.errstate(divide="ignore"):
        by_size = np.log(prior) + gammaln(middle + 1.0) - gammaln(middle - n_people + 1.0)
    s, log_h = _saddlepoints(sizes, float(edges[-1] * sizes.max()))
    unseen = middle - n_people
    different, count = np.unique(sizes, return_counts=True)

    def joint(eta: Floats) -> Floats:
        """Log density of the sample, populations and parameters, the integral over s done, [populations]."""
        mean, shape = np.exp(eta)
        log_f = (
            gammaln(different - 1.0 + shape) - gammaln(different) - gammaln(shape)
            + shape * np.log(shape / (shape + mean)) + (different - 1.0) * np.log(mean / (shape + mean))
        )  # fmt: skip
        laplace = -s - shape * np.log1p(-np.expm1(-s) * mean / shape)
        inside = log_h[:, None] + unseen[None, :] * laplace[:, None]
        given = float(count @ log_f) - 0.5 * float((((eta - _CENTRE) / _SPREAD) ** 2).sum())
        return cast(Floats, by_size + given + logsumexp(inside, axis=0))

    start = np.array([np.log(max(n_people / (1.0 / sizes).sum() - 1.0, 0.1)), 0.5])

    def fall(eta: Floats) -> float:
        return -float(logsumexp(joint(eta)))

    found = minimize(fall, start, method="Nelder-Mead", options={"xatol": 0.01, "fatol": 0.01})
    steps = np.linspace(-_REACH, _REACH, _PLACES)
    axes = _axes(fall, found.x)
    grid = np.stack([found.x + axes @ np.array([a, b]) for a in steps for b in steps])
    logs = logsumexp(np.stack([joint(eta) for eta in grid]), axis=0)
    posterior = np.exp(logs - logsumexp(logs))
    table = pd.DataFrame({"people": edges[1:].astype(np.int64), "prior": prior, "posterior": posterior})
    low, median, high = (_quantile(edges, posterior, chance) for chance in (0.025, 0.5, 0.975))
    prior_low, prior_high = (_quantile(edges, prior, chance) for chance in (0.025, 0.975))
    return PopulationSize(guess, n_people, median, low, high, prior_low, prior_high, table)


def prior_of_sizes(rng: np.random.Generator) -> tuple[float, float]:
    """Draw the mean less 1 and the shape of network sizes from their prior."""
    mean, shape = np.exp(rng.normal(_CENTRE, _SPREAD))
    return float(mean), float(shape)


def _saddlepoints(sizes: Floats, most: float) -> tuple[Floats, Floats]:
    """Points of s, and log h(s) ds at each, [points]: the density of a sum of exponential variables with rates R_i."""
    rates = np.cumsum(sizes[::-1])[::-1]
    points = int(20 * np.sqrt(len(sizes))) + 100
    # U from just above -R_n (everybody came) to the sum of the largest population; s falls in U.
    shifted = np.geomspace(1e-3 * rates[-1], most, points)  # U + R_n
    spread = 1.0 / (rates[None, :] - rates[-1] + shifted[:, None])
    s, curvature = spread.sum(axis=1), (spread**2).sum(axis=1)
    transform = -np.log1p((shifted - rates[-1])[:, None] / rates[None, :]).sum(axis=1)
    log_density = transform + (shifted - rates[-1]) * s - 0.5 * np.log(curvature)
    return s, log_density + np.log(np.abs(np.gradient(s)))


def _axes(fall: Callable[[Floats], float], at: Floats) -> Floats:
    """The directions of the grid, a standard deviation each, from the curvature at the mode, [2, 2]."""
    step = 0.02
    first, second = step * np.eye(2)
    here = fall(at)
    own = [(fall(at + one) - 2.0 * here + fall(at - one)) / step**2 for one in (first, second)]
    plus, minus = first + second, first - second
    cross = (fall(at + plus) - fall(at + minus) - fall(at - minus) + fall(at - plus)) / (4.0 * step**2)
    falls, vectors = np.linalg.eigh(np.array([[own[0], cross], [cross, own[1]]]))
    return np.asarray(vectors / np.sqrt(np.clip(falls, _SPREAD.max() ** -2, None)))


def _quantile(edges: Floats, chances: Floats, at: float) -> int:
    """The population at which the chances have added up to `at`, linear within a range."""
    below = np.concatenate([[0.0], np.cumsum(chances)])
    return round(float(np.interp(at, below / below[-1], edges)))
