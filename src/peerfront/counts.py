"""Poisson counts in bulk: survival tables and quantiles, exact in both tails and fast for many people at once.

SciPy's `poisson.sf` and `poisson.ppf` are the reference (the tests hold the two equal); they are called per element
and cost more than the whole rest of an episode.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaln

_SEARCH_LIMIT = 500.0  # beyond this mean exp(-rate) underflows, and the bulk search hands over to SciPy


def poisson_survival(rates: NDArray[np.float64], max_count: int) -> NDArray[np.float64]:
    """P(C >= l) for l = 1 .. max_count, [people, max_count], nonincreasing along each row.

    P(C >= max_count) is a regularised incomplete gamma function; the others add the probabilities of single counts to
    it, from the far end, so that small tails keep their relative precision.
    """
    rates = np.asarray(rates, dtype=np.float64)
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
