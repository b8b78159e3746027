"""Families of N = Binomial(min(k, C), P), the number of recruits of somebody with k coupons, and their likelihood.

Three stories of what a coupon does, each with its families:

    capacity     P = 1; C is Poisson or negative binomial, perhaps zero-inflated (`foundation.counts`).
    per_coupon   C is unlimited; P = 1 - exp(-rate) for everybody alike (binomial), 0 with probability `zero` (zib), or
                 beta-distributed with this mean and a + b = `size` (betabinomial).
    both         C is negative binomial, and each coupon is used with the same chance `use` (thinned).

Every family has a rate for each person; `size`, `zero` and `use` are shared. Nothing here cancels: 1 - P is exp(-rate),
and beta functions of small numbers are written as products.

While coupons may still be used, what is seen is Y = Binomial(N, exposure): each recruit who will come has come with
chance `exposure`. So Y = Binomial(min(k, C), P * exposure), which is closed where P is the same for everybody:

    capacity     a sum over min(k, C), as for `both` with use = exposure;
    per_coupon   binomial and zib with P * exposure for P; betabinomial a sum over N;
    both         use * exposure for use.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv, gammaln, xlogy

from peerfront.foundation.counts import FAMILIES as CAPACITY_FAMILIES
from peerfront.foundation.counts import (
    censored_log_likelihood,
    nb_log_pmf,
    nb_log_survival,
    poisson_log_pmf,
    poisson_log_survival,
)

Array = NDArray[np.float64]
STORIES: dict[str, tuple[str, ...]] = {
    "capacity": CAPACITY_FAMILIES,
    "per_coupon": ("binomial", "zib", "betabinomial"),
    "both": ("thinned",),
}
"""The families of each story, simplest first."""
RESPONSE_FAMILIES = tuple(family for families in STORIES.values() for family in families)
_LARGEST_MEAN = 1e6
_LARGEST_RATE = 30.0  # exp(-30): what is left of 1 where a chance of use is certain
_HALVINGS = 80
_TINY = 1e-300


def story_of(family: str) -> str:
    """The story that a family belongs to."""
    return next(story for story, families in STORIES.items() if family in families)


def has_size(family: str) -> bool:
    """Whether the family has a size: of the negative binomial, or a + b of the beta distribution."""
    return family in ("nb", "zinb", "betabinomial", "thinned")


def has_zero(family: str) -> bool:
    """Whether some people bring nobody, whatever they get."""
    return family in ("zip", "zinb", "zib")


def n_parameters(family: str) -> int:
    """Parameters of the family where everybody has the same rate."""
    return 1 + has_size(family) + has_zero(family) + (family == "thinned")


def chance_of_use(rates: Array) -> Array:
    """P = 1 - exp(-rate)."""
    chances: Array = -np.expm1(-np.asarray(rates, dtype=np.float64))
    return chances


def response_log_likelihood(
    family: str,
    coupons: NDArray[np.int64],
    recruits: NDArray[np.int64],
    rates: Array,
    size: float,
    zero: float,
    use: float = 1.0,
    exposure: Array | None = None,
) -> Array:
    """log P(Y = y), elementwise; 0 for k = 0. Y is N(k), or Binomial(N(k), exposure) if there is an exposure."""
    logs = _all_seen(family, coupons, recruits, rates, size, zero, use)
    if exposure is None or bool((np.asarray(exposure) == 1.0).all()):
        return logs
    k, y, means, seen, logs = (
        np.array(part, dtype=np.float64) for part in np.broadcast_arrays(coupons, recruits, rates, exposure, logs)
    )
    part = seen < 1.0
    logs[part] = _partly_seen(family, k[part], y[part], means[part], size, zero, use, seen[part])
    return np.where(k > 0, logs, 0.0)


def _partly_seen(
    family: str, k: Array, y: Array, rates: Array, size: float, zero: float, use: float, exposure: Array
) -> Array:
    """log P(Binomial(N(k), exposure) = y), elementwise, for exposures below 1."""
    if family == "betabinomial":
        total = np.full_like(k, -np.inf)
        for n in range(int(k.max(initial=0.0)) + 1):
            there = (n >= y) & (n <= k)
            each = _all_seen(family, k, np.minimum(n, k), rates, size, zero, use) + _log_used(n, y, exposure)
            total = np.where(there, np.logaddexp(total, each), total)
        return total
    if family in STORIES["per_coupon"]:
        log_chance = np.log(-np.expm1(-rates))
        unused = np.logaddexp(np.log1p(-exposure), np.log(np.maximum(exposure, _TINY)) - rates)
        logs: Array = _log_choose(k, y) + y * log_chance + xlogy(y, exposure) + (k - y) * unused
    else:
        size = size if has_size(family) else np.inf
        logs = _thinned(k, y, rates, size, use * exposure if family == "thinned" else exposure)
    return _inflated(logs, y, zero) if has_zero(family) else logs


def _all_seen(
    family: str,
    coupons: NDArray[np.int64] | Array,
    recruits: NDArray[np.int64] | Array,
    rates: Array,
    size: float,
    zero: float,
    use: float,
) -> Array:
    """log P(N(k) = y), elementwise; 0 for k = 0."""
    if family in CAPACITY_FAMILIES:
        return censored_log_likelihood(family, coupons, recruits, rates, size, zero)
    k, y, rates = (
        np.asarray(part, dtype=np.float64) for part in np.broadcast_arrays(coupons, recruits, np.asarray(rates))
    )
    if family == "thinned":
        logs = _thinned(k, y, rates, size, use)
    else:
        log_chance = np.log(-np.expm1(-rates))
        if family == "betabinomial":
            a, b = np.exp(log_chance) * size, np.exp(-rates) * size
            rising = _log_rising(a, y, log_chance + np.log(size)) + _log_rising(b, k - y, np.log(size) - rates)
            logs = _log_choose(k, y) + rising - _log_rising(np.full_like(k, size), k, np.full_like(k, np.log(size)))
        else:
            logs = _log_choose(k, y) + y * log_chance - (k - y) * rates
        if has_zero(family):
            logs = _inflated(logs, y, zero)
    return np.where(k > 0, logs, 0.0)


def _inflated(logs: Array, y: Array, zero: float) -> Array:
    """Log chances of y if nobody comes at all with probability `zero`."""
    with np.errstate(divide="ignore"):
        log_zero, log_rest = np.log(zero), np.log1p(-zero)
    inflated: Array = np.where(y == 0, np.logaddexp(log_zero, log_rest + logs), log_rest + logs)
    return inflated


def _log_used(n: Array | int, y: Array, chance: float | Array) -> Array:
    """log P(Binomial(n, chance) = y); of n = y where n is smaller."""
    whole = np.maximum(n, y)
    logs: Array = _log_choose(whole, y) + xlogy(y, chance) + xlogy(whole - y, 1.0 - chance)
    return logs


def _log_choose(n: Array, y: Array) -> Array:
    logs: Array = gammaln(n + 1.0) - gammaln(y + 1.0) - gammaln(n - y + 1.0)
    return logs


def _log_rising(a: Array, count: Array, log_a: Array) -> Array:
    """log a (a + 1) .. (a + count - 1), from a and log a, precise where a is tiny."""
    more = np.maximum(count, 1.0)
    return np.where(count > 0, log_a + gammaln(a + more) - gammaln(a + 1.0), 0.0)


def _thinned(k: Array, y: Array, rates: Array, size: float, use: float | Array) -> Array:
    """Sum over what C can be: each c < k on its own, and all from k on as one. An infinite size is the Poisson."""
    sizes, is_poisson = np.array(size), np.isinf(size)
    total = poisson_log_survival(k, rates) if is_poisson else nb_log_survival(k, rates, sizes)
    total = total + _log_used(k, y, use)
    for c in range(int(k.max(initial=0.0))):
        there = (c >= y) & (c < k)
        count = np.full_like(k, c)
        log_pmf = poisson_log_pmf(count, rates) if is_poisson else nb_log_pmf(count, rates, sizes)
        total = np.where(there, np.logaddexp(total, log_pmf + _log_used(count, y, use)), total)
    return total


# How far a rate may reach ------------------------------------------------------------------------------------------


def largest_rate(family: str, most_shown: int, chance: float, size: float, use: float = 1.0) -> float:
    """The rate at which somebody brings `most_shown` recruits with as many coupons with this chance.

    Zero inflation aside. Rates end at a million (at 30 where each coupon is used on its own, which is certain use).
    """
    if family in STORIES["per_coupon"]:
        return _largest_use_rate(family, most_shown, chance, size)
    all_used = use**most_shown if family == "thinned" else 1.0  # the chance that somebody who could bring them all does
    if chance >= all_used:
        return _LARGEST_MEAN
    reached = chance / all_used
    return float(largest_means(most_shown, reached, np.array(size)))


def largest_means(most_shown: int, chance: float, sizes: Array) -> Array:
    """Means of counts that are at least `most_shown` with this chance: negative binomials of these sizes.

    An infinite size is the Poisson; means end at a million.
    """
    finite = np.isfinite(sizes)
    size = np.where(finite, sizes, 1.0)
    share = np.minimum(betaincinv(most_shown, size, chance), 1.0 - 1e-12)
    means: Array = np.where(finite, size * share / (1.0 - share), gammaincinv(most_shown, chance))
    return np.minimum(means, _LARGEST_MEAN)


def _largest_use_rate(family: str, most_shown: int, chance: float, size: float) -> float:
    if family != "betabinomial":
        return float(min(-np.log1p(-(chance ** (1.0 / most_shown))), _LARGEST_RATE))
    # E[P^most] rises with the mean of P: halve the interval of rates until it is nothing.
    low, high = 0.0, _LARGEST_RATE
    everything = np.array([most_shown])
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        logs = response_log_likelihood(family, everything, everything, np.array([middle]), size, 0.0)
        low, high = (middle, high) if logs[0] <= np.log(chance) else (low, middle)
    return low
