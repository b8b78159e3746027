"""The likelihood of recruits with gradients: for capacities the censored one of Section 3.1, pmf where y < k and
survival where y = k; for the other families of `foundation.response_families` the chance of each count.

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
    FAMILIES,
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


# Each coupon on its own, and both at once --------------------------------------------------------------------------


def log_likelihood(
    family: str,
    coupons: Tensor,
    recruits: Tensor,
    rates: Tensor,
    log_size: Tensor,
    zero_logit: Tensor,
    use_logit: Tensor,
    exposure: Tensor | None = None,
) -> Tensor:
    """log P(Y = y) for each row and any family; rows with k = 0 say nothing and give 0.

    Y is N(k), or Binomial(N(k), exposure) if there is an exposure above 0; gradients flow through it, too.
    """
    if exposure is None:
        return _all_seen(family, coupons, recruits, rates, log_size, zero_logit, use_logit)
    every = torch.broadcast_tensors(coupons, recruits, rates, log_size, zero_logit, use_logit, exposure)
    partly = (every[-1] < 1.0) & (every[0] > 0)
    if not bool(partly.any()):
        return _all_seen(family, *every[:-1])
    # Each row is computed in one way only: this is where fits spend their time.
    logs = torch.zeros_like(every[2]).masked_scatter(partly, _partly_seen(family, *(part[partly] for part in every)))
    if bool(partly.all()):
        return logs
    return logs.masked_scatter(~partly, _all_seen(family, *(part[~partly] for part in every[:-1])))


def _all_seen(
    family: str,
    coupons: Tensor,
    recruits: Tensor,
    rates: Tensor,
    log_size: Tensor,
    zero_logit: Tensor,
    use_logit: Tensor,
) -> Tensor:
    if family in FAMILIES:
        return censored_log_likelihood(family, coupons, recruits, rates, log_size, zero_logit)
    if family == "thinned":
        log_use, log_not = torch.nn.functional.logsigmoid(use_logit), torch.nn.functional.logsigmoid(-use_logit)
        logs = _thinned("nb", coupons, recruits, rates, log_size, log_use, log_not)
    elif family == "betabinomial":
        log_chance, size = torch.log(-torch.expm1(-rates)), log_size.exp()
        used = _log_rising(log_chance.exp() * size, recruits, log_chance + log_size)
        unused = _log_rising(torch.exp(-rates) * size, coupons - recruits, log_size - rates)
        all_coupons = _log_rising(size.expand_as(rates), coupons, log_size.expand_as(rates))
        logs = _log_choose(coupons, recruits) + used + unused - all_coupons
    else:
        log_chance = torch.log(-torch.expm1(-rates))
        logs = _log_choose(coupons, recruits) + recruits * log_chance - (coupons - recruits) * rates
        if family == "zib":
            logs = _inflated(logs, recruits, zero_logit)
    return torch.where(coupons > 0, logs, 0.0)


def _partly_seen(
    family: str,
    coupons: Tensor,
    recruits: Tensor,
    rates: Tensor,
    log_size: Tensor,
    zero_logit: Tensor,
    use_logit: Tensor,
    exposure: Tensor,
) -> Tensor:
    """log P(Binomial(N(k), exposure) = y) for exposures between 0 and 1, family by family."""
    log_seen, log_unseen = torch.log(exposure), torch.log1p(-exposure)
    if family == "betabinomial":
        terms = []
        for n in range(int(coupons.max()) + 1 if coupons.numel() else 1):
            count = torch.full_like(coupons, float(n)).minimum(coupons)
            each = _all_seen(family, coupons, count, rates, log_size, zero_logit, use_logit)
            each = each + _log_used(count, recruits, log_seen, log_unseen)
            terms.append(torch.where((recruits <= n) & (coupons >= n), each, -torch.inf))
        return torch.logsumexp(torch.stack(torch.broadcast_tensors(*terms)), dim=0)
    if family in ("binomial", "zib"):
        log_chance = torch.log(-torch.expm1(-rates)) + log_seen
        unused = torch.logaddexp(log_unseen + torch.zeros_like(rates), log_seen - rates)
        logs = _log_choose(coupons, recruits) + recruits * log_chance + (coupons - recruits) * unused
    elif family == "thinned":
        use = torch.sigmoid(use_logit) * exposure
        logs = _thinned("nb", coupons, recruits, rates, log_size, torch.log(use), torch.log1p(-use))
    else:
        logs = _thinned(family, coupons, recruits, rates, log_size, log_seen, log_unseen)
    return _inflated(logs, recruits, zero_logit) if family in ("zip", "zinb", "zib") else logs


def _inflated(logs: Tensor, recruits: Tensor, zero_logit: Tensor) -> Tensor:
    log_zero, log_rest = torch.nn.functional.logsigmoid(zero_logit), torch.nn.functional.logsigmoid(-zero_logit)
    nobody = torch.logaddexp(log_zero + torch.zeros_like(logs), log_rest + logs)
    return torch.where(recruits == 0, nobody, log_rest + logs)


def _log_used(n: Tensor, recruits: Tensor, log_use: Tensor, log_not: Tensor) -> Tensor:
    """log P(Binomial(n, use) = recruits); of n = recruits where n is smaller."""
    whole = torch.maximum(n, recruits)
    return _log_choose(whole, recruits) + recruits * log_use + (whole - recruits) * log_not


def _log_choose(n: Tensor, y: Tensor) -> Tensor:
    return torch.lgamma(n + 1.0) - torch.lgamma(y + 1.0) - torch.lgamma(n - y + 1.0)


def _log_rising(a: Tensor, count: Tensor, log_a: Tensor) -> Tensor:
    """log a (a + 1) .. (a + count - 1), from a and log a, precise where a is tiny."""
    rest = torch.lgamma(a + count.clamp(min=1.0)) - torch.lgamma(a + 1.0)
    return torch.where(count > 0, log_a + rest, 0.0)


_ALMOST_ALL = float(np.log1p(-1e-4))  # the rest of a sum of chances is precise enough below this


def _thinned(
    family: str, coupons: Tensor, recruits: Tensor, rates: Tensor, log_size: Tensor, log_use: Tensor, log_not: Tensor
) -> Tensor:
    """Sum over what C can be: each c < k on its own, and all from k on as one. Zero inflation is left out."""
    if not coupons.numel() or int(coupons.max()) == 0:
        return log_survival(family, coupons, rates, log_size)
    terms, below = [], []
    for c in range(int(coupons.max())):
        count = torch.full_like(coupons, float(c))
        fewer = torch.where(coupons > c, log_pmf(family, count, rates, log_size), -torch.inf)
        used = _log_used(count, recruits, log_use, log_not)
        terms.append(torch.where(recruits <= c, fewer + used, -torch.inf))
        below.append(torch.where(coupons > 0, fewer, 0.0))  # without coupons nothing is below, and no gradient flows
    tail = _log_rest(family, torch.logsumexp(torch.stack(below), dim=0), coupons, rates, log_size)
    terms.append(tail + _log_used(coupons, recruits, log_use, log_not))
    return torch.logsumexp(torch.stack(torch.broadcast_tensors(*terms)), dim=0)


def _log_rest(family: str, below: Tensor, coupons: Tensor, rates: Tensor, log_size: Tensor) -> Tensor:
    """log P(C >= k) as what log P(C < k) leaves; computed anew, which takes longer, where that is hardly anything."""
    enough = below < _ALMOST_ALL
    rest = torch.log1p(-torch.where(enough, below, -1.0).exp())
    if bool(enough.all()):
        return rest
    every = torch.broadcast_tensors(coupons, rates, log_size)
    return rest.masked_scatter(~enough, log_survival(family, *(part[~enough] for part in every)))
