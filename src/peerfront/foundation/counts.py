"""Count distributions for capacities: log pmf, log survival, tables and quantiles, stable for any mean and count.

Poisson and negative binomial (mean mu, size r: variance mu + mu^2 / r), each optionally zero-inflated: with probability
`zero` nobody comes at all. Survival functions are regularised incomplete gamma and beta functions; where those
underflow, the log survival is log pmf(k) plus the log of a series of positive terms, so nothing ever cancels.

Episodes need survival tables and quantiles of many people at once: `poisson_survival` and `poisson_quantile` are exact
in both tails and fast. SciPy's `poisson.sf` and `poisson.ppf` are their reference (the tests hold them equal); called
per element, those cost more than the whole rest of an episode.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc, betaincinv, betaln, gammainc, gammaincc, gammaincinv, gammaln

from peerfront.foundation.errors import SettingError

Array = NDArray[np.float64]
FAMILIES = ("poisson", "zip", "nb", "zinb")
_MOST_ENTRIES = 100_000_000  # people times coupons in one table: 0.8 GB
_UNDERFLOW = 1e-250  # probabilities below this are computed by their logs
_LARGEST_MEAN = 1e6
_SEARCH_LIMIT = 500.0  # beyond this mean exp(-rate) underflows, and the bulk search hands over to SciPy


def is_inflated(family: str) -> bool:
    return family in ("zip", "zinb")


def is_dispersed(family: str) -> bool:
    return family in ("nb", "zinb")


def n_parameters(family: str) -> int:
    """Parameters of the family where everybody has the same mean."""
    return 1 + is_dispersed(family) + is_inflated(family)


def largest_means(most_shown: int, chance: float, sizes: Array) -> Array:
    """Means of counts that are at least `most_shown` with this chance: negative binomials of these sizes.

    An infinite size is the Poisson; means end at a million.
    """
    finite = np.isfinite(sizes)
    size = np.where(finite, sizes, 1.0)
    share = np.minimum(betaincinv(most_shown, size, chance), 1.0 - 1e-12)
    means: Array = np.where(finite, size * share / (1.0 - share), gammaincinv(most_shown, chance))
    return np.minimum(means, _LARGEST_MEAN)


def check_table_size(n_people: int, max_count: int) -> None:
    """Refuse tables that would fill the memory, before they do."""
    if n_people * max_count > _MOST_ENTRIES:
        raise SettingError(
            "coupon_chances.too_many", coupons=max_count, people=n_people, n=n_people * max_count, most=_MOST_ENTRIES
        )


# Poisson in bulk ----------------------------------------------------------------------------------------------------


def poisson_survival(rates: NDArray[np.float64], max_count: int) -> NDArray[np.float64]:
    """P(C >= l) for l = 1 .. max_count, [people, max_count], nonincreasing along each row.

    P(C >= max_count) is a regularised incomplete gamma function; the others add the probabilities of single counts to
    it, from the far end, so that small tails keep their relative precision.
    """
    rates = np.asarray(rates, dtype=np.float64)
    check_table_size(len(rates), max_count)
    if max_count == 0:
        return np.zeros((len(rates), 0))
    counts = np.arange(1, max_count, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_rates = np.log(rates)[:, None]
        single = np.exp(counts * log_rates - rates[:, None] - gammaln(counts + 1.0))
    far_end = gammainc(float(max_count), rates)
    from_far_end = np.concatenate([far_end[:, None], single[:, ::-1]], axis=1)
    table: NDArray[np.float64] = np.minimum(np.cumsum(from_far_end, axis=1)[:, ::-1], 1.0)
    return table


def poisson_quantile(uniforms: NDArray[np.float64], rates: NDArray[np.float64]) -> NDArray[np.int64]:
    """The smallest count c with P(C <= c) >= u, for each person's uniform and rate: monotone in both."""
    uniforms = np.asarray(uniforms, dtype=np.float64)
    rates = np.asarray(rates, dtype=np.float64)
    counts = np.zeros(len(rates), dtype=np.int64)
    probability = np.exp(-np.minimum(rates, _SEARCH_LIMIT))
    cumulative = probability.copy()
    searching = np.flatnonzero((cumulative < uniforms) & (rates <= _SEARCH_LIMIT))
    count = 0
    while len(searching):
        count += 1
        probability[searching] *= rates[searching] / count
        before = cumulative[searching]
        cumulative[searching] += probability[searching]
        counts[searching] = count
        # Rounding can leave the sum a hair below u for ever; a sum that no longer grows has arrived.
        unfinished = (cumulative[searching] < uniforms[searching]) & (
            (cumulative[searching] > before) | (count <= rates[searching])
        )
        searching = searching[unfinished]
    large = rates > _SEARCH_LIMIT
    if large.any():
        from scipy.stats import poisson

        counts[large] = np.asarray(poisson.ppf(uniforms[large], rates[large]), dtype=np.int64)
    return counts


def count_from_survival(uniforms: NDArray[np.float64], survival: NDArray[np.float64]) -> NDArray[np.int64]:
    """The count whose survival table is given, by inversion: the number of l with 1 - u < P(C >= l)."""
    counts: NDArray[np.int64] = ((1.0 - uniforms)[:, None] < survival).sum(axis=1)
    return counts


# Single values in logs -----------------------------------------------------------------------------------------------


def poisson_log_pmf(counts: Array, means: Array) -> Array:
    """log P(C = y), elementwise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.where(counts == 0, 0.0, counts * np.log(means))
    logs: Array = powers - means - gammaln(counts + 1.0)
    return logs


def nb_log_pmf(counts: Array, means: Array, size: Array) -> Array:
    """log P(C = y), elementwise; for size -> infinity the Poisson."""
    # Gamma(y + r) / (Gamma(r) y!) = 1 / (y Beta(r, y)), which stays precise for huge r.
    with np.errstate(divide="ignore", invalid="ignore"):
        choose = np.where(counts == 0, 0.0, -np.log(counts) - betaln(size, np.maximum(counts, 1e-300)))
        powers = np.where(counts == 0, 0.0, counts * (np.log(means) - np.log(means + size)))
    logs: Array = choose + powers - size * np.log1p(means / size)
    return logs


def poisson_log_survival(counts: Array, means: Array) -> Array:
    """log P(C >= k), elementwise; 0 for k = 0."""
    counts, means = np.broadcast_arrays(np.asarray(counts, dtype=float), np.asarray(means, dtype=float))
    at_least = np.maximum(counts, 1.0)
    logs = _log_tail(gammainc(at_least, means), gammaincc(at_least, means))
    lost = (counts > 0) & (means > 0) & ~(logs > np.log(_UNDERFLOW))
    if lost.any():
        k, mu = counts[lost], means[lost]
        logs[lost] = poisson_log_pmf(k, mu) + _log_series(lambda j: mu / (k + j))
    return np.where(counts > 0, logs, 0.0)


def nb_log_survival(counts: Array, means: Array, size: Array) -> Array:
    """log P(C >= k), elementwise; 0 for k = 0."""
    counts, means, size = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (counts, means, size)))
    at_least = np.maximum(counts, 1.0)
    p = means / (means + size)
    logs = _log_tail(
        np.asarray(betainc(at_least, size, p), dtype=float), np.asarray(betaincc(at_least, size, p), dtype=float)
    )
    lost = (counts > 0) & (means > 0) & ~(logs > np.log(_UNDERFLOW))
    if lost.any():
        k, mu, r, q = counts[lost], means[lost], size[lost], p[lost]
        logs[lost] = nb_log_pmf(k, mu, r) + _log_series(lambda j: q * (k + j - 1 + r) / (k + j))
    return np.where(counts > 0, logs, 0.0)


def _log_tail(tail: Array, rest: Array) -> Array:
    """log(tail) where tail + rest = 1, from whichever of the two is the precise one."""
    with np.errstate(divide="ignore"):
        logs: Array = np.where(tail > 0.5, np.log1p(-np.minimum(rest, 1.0)), np.log(tail))
    return logs


def _log_series(ratio: Callable[[int], Array]) -> Array:
    """log(1 + t_1 + t_2 + ...), t_j = t_{j-1} * ratio(j), all positive and in the end shrinking."""
    term = ratio(1)
    total = 1.0 + term
    j = 1
    while (term > 1e-17 * total).any() and j < 100_000:
        j += 1
        term = term * ratio(j)
        total = total + term
    logs: Array = np.log(total)
    return logs


def censored_log_likelihood(
    family: str,
    coupons: NDArray[np.int64] | Array,
    recruits: NDArray[np.int64] | Array,
    means: Array,
    size: float,
    zero: float,
) -> Array:
    """log P(min(C, k) = y), elementwise: pmf where y < k, survival where y = k; 0 for k = 0."""
    k, y, sizes = coupons.astype(np.float64), recruits.astype(np.float64), np.array(size)
    if is_dispersed(family):
        pmf, tail = nb_log_pmf(y, means, sizes), nb_log_survival(k, means, sizes)
    else:
        pmf, tail = poisson_log_pmf(y, means), poisson_log_survival(k, means)
    if is_inflated(family):
        with np.errstate(divide="ignore"):
            log_zero, log_rest = np.log(zero), np.log1p(-zero)
        pmf = np.where(y == 0, np.logaddexp(log_zero, log_rest + pmf), log_rest + pmf)
        tail = log_rest + tail
    logs: Array = np.where(y < k, pmf, np.where(k > 0, tail, 0.0))
    return logs


# All families in bulk -----------------------------------------------------------------------------------------------


def survival_table(family: str, means: Array, size: float, zero: float, max_count: int) -> Array:
    """P(C >= l) for l = 1 .. max_count, [people, max_count], nonincreasing along each row."""
    check_table_size(len(means), max_count)
    table = _nb_survival(means, size, max_count) if is_dispersed(family) else poisson_survival(means, max_count)
    return table * (1.0 - zero) if is_inflated(family) else table


def _nb_survival(means: Array, size: float, max_count: int) -> Array:
    """P(C >= l) of negative binomials, [people, max_count]: one incomplete beta function a person, not one an entry.

    P(C >= l) = P(C >= l + 1) + P(C = l), added up from the far end: nothing cancels. Where P(C = 0) underflows, the
    recursion of the P(C = l) has no start, and every entry is computed on its own.
    """
    table = np.zeros((len(means), max_count))
    if not max_count:
        return table
    start = -size * np.log1p(means / size)  # log P(C = 0)
    usual = start > np.log(_UNDERFLOW)
    mu = means[usual]
    share = mu / (mu + size)
    exactly = np.empty((len(mu), max_count))  # P(C = l), l = 0 .. max_count - 1
    exactly[:, 0] = np.exp(start[usual])
    for count in range(1, max_count):
        exactly[:, count] = exactly[:, count - 1] * share * ((count - 1 + size) / count)
    last = np.exp(nb_log_survival(np.array(float(max_count)), mu, np.array(size)))
    added = np.concatenate([last[:, None], exactly[:, :0:-1]], axis=1).cumsum(axis=1)[:, ::-1]
    table[usual] = np.minimum(added, 1.0)
    if not usual.all():
        counts = np.arange(1, max_count + 1, dtype=float)
        logs = nb_log_survival(counts[None, :], means[~usual, None], np.array(size))
        table[~usual] = np.minimum.accumulate(np.exp(logs), axis=1)
    return table


def quantile(family: str, uniforms: Array, means: Array, size: float | Array, zero: float | Array) -> NDArray[np.int64]:
    """The smallest count c with P(C <= c) >= u, for each person's uniform and mean, however long the tail."""
    inside = uniforms
    if is_inflated(family):  # what lies above `zero`, stretched to (0, 1)
        inside = np.clip((uniforms - zero) / (1.0 - zero), 2.0**-53, 1.0 - 2.0**-53)
    if is_dispersed(family):
        from scipy.stats import nbinom  # only here: it takes longer to load than all the rest

        counts = np.asarray(nbinom.ppf(inside, size, size / (size + means)), dtype=np.int64)
    else:
        counts = poisson_quantile(inside, means)
    return np.where(uniforms > zero, counts, 0) if is_inflated(family) else counts
