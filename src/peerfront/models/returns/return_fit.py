"""Fit return times to a study that is still running, so that open coupons are no failures.

Whether coupons are used and when are fitted together (`return_likelihood`): somebody with open coupons says only that
nobody has come yet. Seen early, the two are hard to tell apart: many slow returns look like few fast ones. Three
decisions follow.

1. Times have a prior, from the two lags that were published: an electronic study with a median of 20 days and quartiles
   of 10 and 40, and a field study with 36%, 55% and 72% of the returns within 7, 14 and 21 days. These are lognormals
   with medians of 20 and 12 days and spreads of 1.03 and 1.17. The geometric mean of the medians is 15.5 days, that of
   the spreads 1.1. What two studies say of a third: its log median and log spread deviate from these by .43 and .11
   (the standard deviation of the two, times the root of 1 + 1/2), here .45 and .15; 80% of studies have medians
   between 9 and 28 days.
2. The share of coupons that is used has a flat prior on its log scale, so that it pulls times neither way: a uniform
   share would make slow returns more likely the fewer have come.
3. Only how many were used tells about times, not how they are spread over holders. Thinned counts look ever more
   Poisson, so that a family of counts whose shape is a little off would set the clock. The counts are binomial, with a
   rate for each number of coupons and a dispersion estimated from the data: a quasi-likelihood, whose estimates rest
   on means. What somebody's coupons do is fitted afterwards, with `History.exposure` from the times.

The family of times is chosen by the likelihood of holders left out: lognormal, unless another is clearly better; those
that fit worse than lognormal to everybody are not tried on holders left out, which saves most of the time. What is not
known is drawn from the posterior by importance sampling, adapted in rounds from its mode.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from peerfront.foundation.errors import SettingError
from peerfront.foundation.machine import one_thread
from peerfront.foundation.messages import Measured, Message, note
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.settings import among, check_fields, one_or_more, positive, seed_number
from peerfront.foundation.time_families import TIME_FAMILIES
from peerfront.models.response.rates import SURE, clearly, total_error
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.models.returns.return_likelihood import LIMITS, Cells, cell_log_likelihoods, unpacked
from peerfront.models.returns.return_times import ReturnTimes

Array = NDArray[np.float64]
SITE_SPREADS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8)
"""How much log medians may differ between sites: the one that makes the data most likely is taken."""
_NAMES = {
    "lognormal": note("return_reason.lognormal"),
    "weibull": note("return_reason.weibull"),
    "gamma": note("return_reason.gamma"),
}
_AT_START = _NAMES | {"lognormal": note("return_reason.lognormal_first"), "gamma": note("return_reason.gamma_first")}
_NEAR = 2.0  # units of log-likelihood by which a family may fit worse and still be tried on holders left out
_SITE_SPREAD_PRIOR = 0.5  # half-normal scale of the variation between sites
_ALMOST_FLAT = 0.1  # recruits' worth of prior on the log share: proper, if nobody has come yet
_DISPERSIONS = 0.5, 10.0
_ROUNDS, _PROPOSALS, _DEGREES = 6, 500, 5.0
_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class ReturnSettings:
    """How return times are fitted. The prior is that of the two published lags."""

    family: str = "auto"
    """lognormal, weibull, gamma, or auto: by the likelihood of holders left out."""
    prior_median: float = 15.5
    """Days; the median of the prior of the median."""
    prior_variation: float = 0.45
    """Standard deviation of the log median between studies."""
    prior_spread: float = 1.1
    """The median of the prior of the spread (standard deviation of log times)."""
    prior_spread_variation: float = 0.15
    """Standard deviation of the log spread between studies."""
    folds: int = 5
    """Parts of the holders that are left out in turn, to choose the family."""
    draws: int = 200
    """Draws of what is not known."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            family=among(note("kinds.family_of_times"), (*TIME_FAMILIES, "auto")),
            prior_median=positive,
            prior_variation=positive,
            prior_spread=positive,
            prior_spread_variation=positive,
            folds=one_or_more,
            draws=one_or_more,
            seed=seed_number,
        )


# The posterior --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Mode:
    """The point of highest posterior density of a family of times."""

    family: str
    site_spread: float
    dispersion: float
    point: Array
    height: float


class Posterior:
    """The posterior of one study, for any family of times."""

    def __init__(self, seen: CouponsSeen, settings: ReturnSettings) -> None:
        self.seen, self.settings, self.cells = seen, settings, Cells.of(seen)
        self.everybody = np.ones(len(seen), dtype=bool)

    def log_prior(self, points: Array) -> tuple[Array, Array]:
        """Log density of the prior at each point, up to a constant, [points], and its slopes, [points, parameters]."""
        settings, sites = self.settings, self.cells.sites
        log_median, log_spread, _, _ = unpacked(points, sites)
        middle = np.log([settings.prior_median, settings.prior_spread])
        variation = np.array([settings.prior_variation, settings.prior_spread_variation])
        away = (np.concatenate([log_median, log_spread], axis=1) - middle) / variation
        # The log size is of no consequence: binomial counts have no size.
        log_rate, standard = points[:, 2 + sites], np.delete(points, (0, 1, 2 + sites), axis=1)
        heights = -0.5 * ((away**2).sum(axis=1) + (standard**2).sum(axis=1))
        slopes = -points
        inside = (points[:, :2] >= LIMITS[:, 0]) & (points[:, :2] <= LIMITS[:, 1])
        slopes[:, :2] = np.where(inside, -away / variation, 0.0)
        slopes[:, 2 + sites] = _ALMOST_FLAT - np.exp(log_rate)
        return heights + _ALMOST_FLAT * log_rate - np.exp(log_rate), slopes

    def log_density(self, points: Array, mode: Mode, weights: tuple[Array, Array]) -> tuple[Array, Callable[[], Array]]:
        """Log density of the posterior of weighted cells, up to a constant, [points], and its slopes, if asked."""
        counts, days, slopes = cell_log_likelihoods(self.cells, mode.family, points, mode.site_spread)
        prior, prior_slopes = self.log_prior(points)
        likelihood = (counts * weights[0]).sum(axis=1) / mode.dispersion + (days * weights[1]).sum(axis=1)
        return likelihood + prior, lambda: slopes(weights[0] / mode.dispersion, weights[1]) + prior_slopes

    def mode(
        self,
        family: str,
        site_spread: float,
        dispersion: float,
        holders: NDArray[np.bool_],
        start: Array | None = None,
    ) -> Mode:
        """Maximise the posterior of some holders."""
        asked = Mode(family, site_spread, dispersion, self._start(family) if start is None else start, -np.inf)
        weights = self.cells.weights(holders)

        def loss(point: Array) -> tuple[float, Array]:
            height, slopes = self.log_density(point[None], asked, weights)
            return -float(height[0]), -slopes()[0]

        optimum = minimize(
            loss, asked.point, jac=True, method="L-BFGS-B", options={"maxiter": 300, "ftol": 1e-9, "gtol": 1e-3}
        )
        return replace(asked, point=np.asarray(optimum.x), height=-float(optimum.fun))

    def _start(self, family: str) -> Array:
        """The prior's middle, and the share of coupons that goes with it."""
        settings, seen = self.settings, self.seen
        prior = ReturnTimes(family, settings.prior_median, settings.prior_spread)
        came = float(seen.recruits.sum())
        could = float((seen.coupons * prior.cdf(seen.ages, seen.validity)).sum())
        start = np.zeros(self.cells.parameters)
        start[:2] = np.log([settings.prior_median, settings.prior_spread])
        start[2 + self.cells.sites] = np.log(-np.log1p(-min((came + 0.5) / (could + 1.0), 0.9)))
        return start

    def pearson_dispersion(self, mode: Mode) -> float:
        """Pearson's estimate: squared residuals of counts, in binomial variances."""
        times, shares = self.times(mode.point[None], mode), self.shares(mode.point[None])[0]
        chance = shares[np.searchsorted(self.cells.numbers, self.seen.coupons)] * self.seen.exposure(times)
        expected = self.seen.coupons * chance
        residuals = (self.seen.recruits - expected) ** 2 / np.maximum(expected * (1.0 - chance), 1e-12)
        left = max(len(self.seen) - len(self.cells.numbers), 1)
        return float(np.clip(residuals.sum() / left, *_DISPERSIONS))

    def curvature(self, mode: Mode) -> Array:
        """Minus the second derivatives at the mode, by central differences of gradients."""
        weights, size = self.cells.weights(self.everybody), len(mode.point)
        points = np.repeat(mode.point[None], 2 * size, axis=0)
        points[np.arange(size), np.arange(size)] += _DIFFERENCE
        points[size + np.arange(size), np.arange(size)] -= _DIFFERENCE
        slopes = self.log_density(points, mode, weights)[1]()
        curve = -(slopes[:size] - slopes[size:]) / (2 * _DIFFERENCE)
        values, vectors = np.linalg.eigh((curve + curve.T) / 2)
        matrix: Array = (vectors * np.maximum(values, 1e-2)) @ vectors.T
        return matrix

    def evidence(self, mode: Mode) -> float:
        """Log marginal likelihood by Laplace's approximation, with the prior of the variation between sites."""
        determinant = float(np.linalg.slogdet(self.curvature(mode))[1])
        return mode.height - 0.5 * determinant - 0.5 * (mode.site_spread / _SITE_SPREAD_PRIOR) ** 2

    def draws(self, mode: Mode) -> tuple[Array, float]:
        """Draws from the posterior, [draws, parameters], and the effective number of proposals behind them.

        Adaptive importance sampling (Cornuet, Marin, Mira and Robert 2012): Student's t around the mode, then around
        the mean so far, in rounds; each point is weighed by the posterior over the mixture of all rounds' proposals.
        """
        rng = named_generator("draws of return times", self.settings.seed)
        weights, size = self.cells.weights(self.everybody), len(mode.point)
        centre, spread = mode.point, np.linalg.inv(self.curvature(mode))
        proposals: list[tuple[Array, Array]] = []
        points, heights = np.empty((0, size)), np.empty(0)
        for _ in range(_ROUNDS):
            root: Array = np.linalg.cholesky(spread + 1e-9 * np.eye(size)).astype(np.float64)
            proposals.append((centre, root))
            stretch = np.sqrt(_DEGREES / rng.chisquare(_DEGREES, (_PROPOSALS, 1)))
            added = centre + (rng.standard_normal((_PROPOSALS, size)) * stretch) @ root.T
            densities, _ = self.log_density(added, mode, weights)
            points = np.concatenate([points, added])
            heights = np.concatenate([heights, np.where(np.isfinite(densities), densities, -np.inf)])
            logs = heights - logsumexp([_log_t(points, *proposal) for proposal in proposals], axis=0)
            shares = np.exp(logs - logsumexp(logs))
            if 1.0 / (shares**2).sum() > 3.0 * size:
                centre = shares @ points
                spread = ((points - centre) * shares[:, None]).T @ (points - centre)
        places = (np.arange(self.settings.draws) + rng.random()) / self.settings.draws
        drawn = np.searchsorted(np.cumsum(shares), places).clip(max=len(shares) - 1)
        return points[drawn], float(1.0 / (shares**2).sum())

    # What points say -----------------------------------------------------------------------------------------------

    def by_holder(self, mode: Mode) -> Array:
        """Log-likelihood of each holder at the mode, [holders]."""
        counts, days, _ = cell_log_likelihoods(self.cells, mode.family, mode.point[None], mode.site_spread)
        return self.cells.by_holder(counts[0] / mode.dispersion, days[0])

    def shares(self, points: Array) -> Array:
        """Shares of coupons that are used in the end, [points, numbers]."""
        shares: Array = -np.expm1(-np.exp(unpacked(points, self.cells.sites)[3]))
        return shares

    def times(self, points: Array, mode: Mode) -> ReturnTimes:
        """Return times with these draws, at their mean."""
        log_median, log_spread, shifts, _ = unpacked(points, self.cells.sites)
        draws = np.concatenate([log_median, log_spread, mode.site_spread * shifts], axis=1)
        middle = draws.mean(axis=0)
        median, spread = (float(np.exp(value)) for value in middle[:2])
        return ReturnTimes(mode.family, median, spread, self.seen.sites, middle[2:], draws)


def _log_t(points: Array, centre: Array, root: Array) -> Array:
    """Log density of Student's t at each point, up to a constant that all of one dimension share, [points]."""
    distance = (np.linalg.solve(root, (points - centre).T) ** 2).sum(axis=0)
    logs: Array = -0.5 * (_DEGREES + len(centre)) * np.log1p(distance / _DEGREES) - np.log(np.diag(root)).sum()
    return logs


# The fit --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ReturnFit:
    """Return times, with the share of coupons that is used in the end."""

    times: ReturnTimes
    numbers: NDArray[np.int64]  # [numbers], of coupons that holders had
    shares: Array  # [draws, numbers], of coupons used, by number held; one row for each of `times.draws`
    dispersion: float
    """Variance of the counts of used coupons, over the binomial one."""
    reason: Message
    held_out: dict[str, float]
    """Held-out log-likelihood of the families of times that were compared; empty where the others fit far worse."""
    effective: float
    """Effective number of proposals behind the draws; few (under 50) mean that intervals are rough."""

    def used(self, coupons: NDArray[np.int64]) -> Array:
        """The share of these people's coupons that is used in the end, all together, by each draw, [draws]."""
        if not np.isin(coupons, self.numbers).all():
            raise SettingError("return_times.other_numbers", numbers=self.numbers.tolist())
        own = np.searchsorted(self.numbers, coupons)
        shares: Array = (self.shares[:, own] * coupons).sum(axis=1) / coupons.sum()
        return shares


def fit_return_times(seen: CouponsSeen, settings: ReturnSettings | None = None) -> ReturnFit:
    """Fit return times and the mean use of coupons to what a study shows today."""
    if not len(seen):
        raise SettingError("return_times.nobody")
    with one_thread():
        return _fitted(Posterior(seen, settings or ReturnSettings()))


def _fitted(posterior: Posterior) -> ReturnFit:
    """Choose the family, then how much sites differ, then draw what is not known."""
    seen, settings, sites = posterior.seen, posterior.settings, posterior.cells.sites
    families = TIME_FAMILIES if settings.family == "auto" else (settings.family,)
    dispersion = posterior.pearson_dispersion(posterior.mode(families[0], 0.0, 1.0, posterior.everybody))
    family, why = families[0], note("return_reason.asked", family=_AT_START[families[0]])
    held_out: dict[str, float] = {}
    folds = min(settings.folds, len(seen))
    if len(families) > 1 and folds > 1 and not np.isnan(seen.return_ages).all():
        family, held_out, why = _choice(posterior, families, dispersion, folds)
    elif len(families) > 1:
        why = note("return_reason.too_little", family=_AT_START[family])
    site_spreads = SITE_SPREADS if sites > 1 else (0.0,)
    modes = [posterior.mode(family, spread, dispersion, posterior.everybody) for spread in site_spreads]
    best = max(modes, key=posterior.evidence) if len(modes) > 1 else modes[0]
    points, effective = posterior.draws(best)
    if sites > 1:
        why = note("fit_reason.and_then", first=why, then=note("return_reason.sites_vary", spread=best.site_spread))
    return ReturnFit(
        posterior.times(points, best),
        posterior.cells.numbers,
        posterior.shares(points),
        dispersion,
        why,
        held_out,
        effective,
    )


def _choice(
    posterior: Posterior, families: tuple[str, ...], dispersion: float, folds: int
) -> tuple[str, dict[str, float], Message]:
    """The first family that is not clearly below the best, by holders left out."""
    fold = named_generator("return times", posterior.settings.seed).permutation(len(posterior.seen)) % folds
    modes = {family: posterior.mode(family, 0.0, dispersion, posterior.everybody) for family in families}
    # All families have as many parameters, so one that fits clearly worse to everybody predicts no better.
    fits = {family: posterior.by_holder(mode) for family, mode in modes.items()}
    first = families[0]
    rivals = [family for family in families[1:] if (fits[family] - fits[first]).sum() > -_NEAR]
    if not rivals:
        rival = max(families[1:], key=lambda family: float(fits[family].sum()))
        return first, {}, _why("return_reason.others_far_worse", first, rival, fits[first] - fits[rival])
    families = (first, *rivals)
    logs = {family: np.zeros(len(posterior.seen)) for family in families}
    for family, own in logs.items():
        for number in range(folds):
            mode = posterior.mode(family, 0.0, dispersion, fold != number, modes[family].point)
            own[fold == number] = posterior.by_holder(mode)[fold == number]
    best = max(families, key=lambda family: float(logs[family].sum()))
    simplest = next(family for family in families if not clearly(logs[best] - logs[family], SURE))
    rival = max((family for family in families if family != simplest), key=lambda family: float(logs[family].sum()))
    why = _why("return_reason.held_out", simplest, rival, logs[simplest] - logs[rival])
    return simplest, {family: float(own.sum()) for family, own in logs.items()}, why


def _why(code: str, family: str, rival: str, gains: Array) -> Message:
    gain = Measured.of(float(gains.sum()), total_error(gains))
    return note(code, family=_AT_START[family], gain=gain, rival=_NAMES[rival])
