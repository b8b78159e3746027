"""The censored likelihood of Section 3.1 with gradients: pmf where y < k, survival where y = k.

`foundation.counts` computes log survivals in double precision (and the same likelihood without gradients); their
derivatives are analytic (for the mean) or central differences (for the one size parameter), because torch has neither
the incomplete beta function nor the derivative of the incomplete gamma function in its first argument.
"""

from typing import Any

import numpy as np
import torch
from scipy.special import betaln
from torch import Tensor

from peerfront.foundation.counts import (
    is_dispersed,
    is_inflated,
    nb_log_survival,
    poisson_log_pmf,
    poisson_log_survival,
)

_STEP = 1e-5  # of central differences in the log size


class _PoissonLogSurvival(torch.autograd.Function):
    """d/d mu log P(C >= k) = P(C = k - 1) / P(C >= k)."""

    @staticmethod
    def forward(ctx: Any, means: Tensor, counts: Tensor) -> Tensor:
        mu, k = np.broadcast_arrays(_array(means), _array(counts))
        logs, slope = np.zeros(k.shape), np.zeros(k.shape)
        positive = k > 0  # P(C >= 0) = 1, whatever the mean
        mu, k = mu[positive], k[positive]
        logs[positive] = poisson_log_survival(k, mu)
        slope[positive] = np.exp(poisson_log_pmf(k - 1.0, mu) - logs[positive])
        ctx.save_for_backward(_tensor(slope, means))
        ctx.shape = means.shape
        return _tensor(logs, means)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (slope,) = ctx.saved_tensors
        return (gradients[0] * slope).sum_to_size(ctx.shape), None


class _NegativeBinomialLogSurvival(torch.autograd.Function):
    """d/dp I_p(k, r) = p^(k-1) (1-p)^(r-1) / B(k, r), p = mu / (mu + r); in r by central differences of log r."""

    @staticmethod
    def forward(ctx: Any, means: Tensor, size: Tensor, counts: Tensor) -> Tensor:
        mu, r, k = np.broadcast_arrays(_array(means), _array(size), _array(counts))
        logs, slope, in_size = np.zeros(k.shape), np.zeros(k.shape), np.zeros(k.shape)
        positive = k > 0  # P(C >= 0) = 1, whatever the parameters
        mu, r, k = mu[positive], r[positive], k[positive]
        logs[positive] = nb_log_survival(k, mu, r)
        log_p, log_q = np.log(mu) - np.log(mu + r), np.log(r) - np.log(mu + r)
        log_slope = (k - 1.0) * log_p + (r - 1.0) * log_q - betaln(k, r) + np.log(r) - 2 * np.log(mu + r)
        slope[positive] = np.exp(log_slope - logs[positive])
        up, down = nb_log_survival(k, mu, r * np.exp(_STEP)), nb_log_survival(k, mu, r * np.exp(-_STEP))
        in_size[positive] = (up - down) / (2 * _STEP) / r
        ctx.save_for_backward(_tensor(slope, means), _tensor(in_size, means))
        ctx.shapes = means.shape, size.shape
        return _tensor(logs, means)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        slope, in_size = ctx.saved_tensors
        for_means, for_size = ctx.shapes
        gradient = gradients[0]
        return (gradient * slope).sum_to_size(for_means), (gradient * in_size).sum_to_size(for_size), None


def _array(values: Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
    return values.detach().double().numpy()


def _tensor(values: np.ndarray[Any, np.dtype[np.float64]], like: Tensor) -> Tensor:
    return torch.as_tensor(values, dtype=like.dtype)


def log_survival(family: str, counts: Tensor, means: Tensor, log_size: Tensor) -> Tensor:
    """log P(C >= k) without zero inflation."""
    if is_dispersed(family):
        return _NegativeBinomialLogSurvival.apply(means, log_size.exp(), counts)
    return _PoissonLogSurvival.apply(means, counts)


def log_pmf(family: str, counts: Tensor, means: Tensor, log_size: Tensor) -> Tensor:
    """log P(C = y) without zero inflation."""
    if not is_dispersed(family):
        return torch.xlogy(counts, means) - means - torch.lgamma(counts + 1.0)
    size = log_size.exp()
    choose = torch.lgamma(counts + size) - torch.lgamma(size) - torch.lgamma(counts + 1.0)
    powers = torch.xlogy(counts, means / (means + size))
    return choose + powers - size * torch.log1p(means / size)


def censored_log_likelihood(
    family: str, coupons: Tensor, recruits: Tensor, means: Tensor, log_size: Tensor, zero_logit: Tensor
) -> Tensor:
    """log P(Y = y | k) for each row; rows with k = 0 say nothing and give 0."""
    saturated = recruits >= coupons
    # Each branch only sees counts that belong to it, so that no gradient flows through the other.
    pmf = log_pmf(family, torch.where(saturated, 0.0, recruits), means, log_size)
    tail = log_survival(family, torch.where(saturated, coupons, 0.0), means, log_size)
    if is_inflated(family):
        log_zero, log_rest = torch.nn.functional.logsigmoid(zero_logit), torch.nn.functional.logsigmoid(-zero_logit)
        nobody = torch.logaddexp(log_zero + torch.zeros_like(pmf), log_rest + pmf)
        pmf = torch.where(recruits == 0, nobody, log_rest + pmf)
        tail = log_rest + tail
    return torch.where(saturated, torch.where(coupons > 0, tail, 0.0), pmf)
