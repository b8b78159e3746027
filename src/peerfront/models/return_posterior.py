"""The posterior of return times and the mean use of coupons: its mode, its curvature, and draws from it.

Why the prior and the counts are as they are is told in `return_fit`.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from peerfront.foundation.randomness import named_generator
from peerfront.models.coupons_seen import CouponsSeen
from peerfront.models.return_likelihood import Cells, cell_log_likelihoods, unpacked
from peerfront.models.return_times import ReturnTimes

if TYPE_CHECKING:
    from peerfront.models.return_fit import ReturnSettings

Array = NDArray[np.float64]
_SITE_SPREAD_PRIOR = 0.5  # half-normal scale of the variation between sites
_ALMOST_FLAT = 0.1  # recruits' worth of prior on the log share: proper, if nobody has come yet
_DISPERSIONS = 0.5, 10.0
_COUNTS = "binomial"
_ROUNDS, _PROPOSALS, _DEGREES = 6, 500, 5.0
_DIFFERENCE = 1e-4


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

    def __init__(self, seen: CouponsSeen, settings: "ReturnSettings") -> None:
        self.seen, self.settings, self.cells = seen, settings, Cells.of(seen)
        self.everybody = np.ones(len(seen), dtype=bool)

    def log_prior(self, points: torch.Tensor) -> torch.Tensor:
        """Log density of the prior at each point, up to a constant, [points]."""
        settings, sites = self.settings, self.cells.sites
        log_median, log_spread, shifts, _, _ = unpacked(points, sites)
        log_rate, log_size, by_number = points[:, 2 + sites], points[:, 3 + sites], points[:, 4 + sites :]
        return (
            -0.5 * ((log_median[:, 0] - np.log(settings.prior_median)) / settings.prior_variation) ** 2
            - 0.5 * ((log_spread[:, 0] - np.log(settings.prior_spread)) / settings.prior_spread_variation) ** 2
            - 0.5 * (shifts**2).sum(dim=1)
            - 0.5 * (by_number**2).sum(dim=1)
            + _ALMOST_FLAT * log_rate
            - torch.exp(log_rate)
            - 0.5 * log_size**2  # of no consequence: binomial counts have no size
        )

    def log_density(self, points: torch.Tensor, mode: Mode, weights: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Log density of the posterior of weighted cells, up to a constant, [points]."""
        counts, days = cell_log_likelihoods(self.cells, mode.family, _COUNTS, points, mode.site_spread)
        likelihood = (counts * weights[0]).sum(dim=1) / mode.dispersion + (days * weights[1]).sum(dim=1)
        return likelihood + self.log_prior(points)

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
            at = torch.as_tensor(point[None]).requires_grad_()
            value = -self.log_density(at, asked, weights).sum()
            (slope,) = torch.autograd.grad(value, at)
            return float(value.detach()), slope[0].numpy()

        found = minimize(
            loss, asked.point, jac=True, method="L-BFGS-B", options={"maxiter": 300, "ftol": 1e-9, "gtol": 1e-3}
        )
        return replace(asked, point=np.asarray(found.x), height=-float(found.fun))

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
        at = torch.as_tensor(points).requires_grad_()
        (slopes,) = torch.autograd.grad(self.log_density(at, mode, weights).sum(), at)
        curve = -(slopes[:size] - slopes[size:]).numpy() / (2 * _DIFFERENCE)
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
            with torch.no_grad():
                found = self.log_density(torch.as_tensor(added), mode, weights).numpy()
            points = np.concatenate([points, added])
            heights = np.concatenate([heights, np.where(np.isfinite(found), found, -np.inf)])
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
        with torch.no_grad():
            at = torch.as_tensor(mode.point[None])
            counts, days = cell_log_likelihoods(self.cells, mode.family, _COUNTS, at, mode.site_spread)
        return self.cells.by_holder(counts[0].numpy() / mode.dispersion, days[0].numpy())

    def shares(self, points: Array) -> Array:
        """Shares of coupons that are used in the end, [points, numbers]."""
        log_rates = unpacked(torch.as_tensor(points), self.cells.sites)[3].numpy()
        shares: Array = -np.expm1(-np.exp(log_rates))
        return shares

    def times(self, points: Array, mode: Mode) -> ReturnTimes:
        """Return times with these draws, at their mean."""
        log_median, log_spread, shifts, _, _ = (
            part.numpy() for part in unpacked(torch.as_tensor(points), self.cells.sites)
        )
        draws = np.concatenate([log_median, log_spread, mode.site_spread * shifts], axis=1)
        middle = draws.mean(axis=0)
        median, spread = (float(np.exp(value)) for value in middle[:2])
        return ReturnTimes(mode.family, median, spread, self.seen.sites, middle[2:], draws)


def _log_t(points: Array, centre: Array, root: Array) -> Array:
    """Log density of Student's t at each point, up to a constant that all of one dimension share, [points]."""
    distance = (np.linalg.solve(root, (points - centre).T) ** 2).sum(axis=0)
    logs: Array = -0.5 * (_DEGREES + len(centre)) * np.log1p(distance / _DEGREES) - np.log(np.diag(root)).sum()
    return logs
