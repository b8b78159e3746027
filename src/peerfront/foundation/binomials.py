"""Counts of coupons used, N = Binomial(n, p): quantiles in bulk, and nodes that stand for a beta-distributed p.

`binomial_quantile` inverts a person's own uniform. It never falls when n or p rises, and one more trial adds 0 or 1, so
that somebody with more coupons never brings fewer people. SciPy's `binom` is its reference (the tests hold them
equal); its `ppf` costs more than the whole rest of an episode, and fails for chances near 0.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, gammaln, xlogy

Array = NDArray[np.float64]
_SEARCH_LIMIT = 200  # trials beyond which (1 - p)^n may underflow, and counts are found by bisection
_LARGEST_CHANCE, _LARGEST_UNIFORM = 0.97, 1.0 - 1e-6  # the same beyond these: sums from below cannot reach 1 - 2^-53


def binomial_quantile(uniforms: Array, trials: NDArray[np.int64], chances: Array) -> NDArray[np.int64]:
    """The smallest count y with P(N <= y) >= u, for each person's uniform, number of trials and chance, [people]."""
    trials = np.asarray(trials, dtype=np.int64)
    chances = np.broadcast_to(np.asarray(chances, dtype=np.float64), trials.shape)
    counts = np.where(chances >= 1.0, trials, 0)
    inside = (chances > 0.0) & (chances < 1.0) & (trials > 0)
    searched = (trials <= _SEARCH_LIMIT) & (chances < _LARGEST_CHANCE) & (uniforms <= _LARGEST_UNIFORM)
    searching = np.flatnonzero(inside & searched)
    n, p, u = trials[searching].astype(np.float64), chances[searching], uniforms[searching]
    odds = p / (1.0 - p)
    probability = np.exp(n * np.log1p(-p))
    cumulative = probability.copy()
    count = 0
    going = np.flatnonzero((cumulative < u) & (n > 0))
    while len(going):
        count += 1
        probability[going] *= odds[going] * (n[going] - count + 1.0) / count
        cumulative[going] += probability[going]
        counts[searching[going]] = count
        going = going[(cumulative[going] < u[going]) & (count < n[going])]
    rest = np.flatnonzero(inside & ~searched)
    if len(rest):
        counts[rest] = _by_bisection(uniforms[rest], trials[rest], chances[rest])
    return counts


def _by_bisection(uniforms: Array, trials: NDArray[np.int64], chances: Array) -> NDArray[np.int64]:
    """`binomial_quantile` by halving, for 0 < p < 1: slower, and exact in both tails for any number of trials."""
    low, high = np.zeros_like(trials), trials.copy()  # the quantile is from low to high
    while (low < high).any():
        middle = (low + high) // 2  # below the number of trials while something is left to halve
        rest = np.maximum(trials - middle, 1)
        reached = np.where(
            uniforms <= 0.5,
            betainc(rest, middle + 1.0, 1.0 - chances) >= uniforms,  # P(N <= middle)
            betainc(middle + 1.0, rest, chances) <= 1.0 - uniforms,  # P(N > middle)
        )
        low, high = np.where((low < high) & ~reached, middle + 1, low), np.where(reached, middle, high)
    return low


def beta_quantile(uniforms: Array, means: Array, size: float | Array) -> Array:
    """The quantile of a beta variable with this mean and a + b = size, [people]."""
    a, b = np.asarray(means) * size, (1.0 - np.asarray(means)) * size
    quantiles: Array = np.where(
        (means > 0.0) & (means < 1.0), betaincinv(np.maximum(a, 1e-12), np.maximum(b, 1e-12), uniforms), means
    )
    return np.clip(quantiles, 0.0, 1.0)


def beta_nodes(means: Array, size: float | Array, degree: int) -> tuple[Array, Array]:
    """Nodes and shares, [people, nodes] each, that give E[f(P)] exactly for polynomials f up to `degree`.

    P is beta with these means and a + b = size. They are those of Gauss and Jacobi: the eigenvalues of the symmetric
    matrix of the recursion of Jacobi polynomials (Golub and Welsch 1969), for everybody at once.
    """
    means = np.asarray(means, dtype=np.float64)
    distinct, which = np.unique(means, return_inverse=True)
    a = np.maximum(distinct * size, 1e-300)
    b = np.maximum((1.0 - distinct) * size, 1e-300)
    count = max((degree + 2) // 2, 1)
    n = np.arange(count, dtype=np.float64)[:, None]
    total = a + b
    with np.errstate(divide="ignore", invalid="ignore"):
        # Monic Jacobi polynomials on [0, 1] with weight x^(a - 1) (1 - x)^(b - 1).
        middle = 0.5 * (1.0 + ((a - 1.0) ** 2 - (b - 1.0) ** 2) / ((2 * n + total - 2.0) * (2 * n + total)))
        squares = (
            n * (n + a - 1.0) * (n + b - 1.0) * (n + total - 2.0)
            / ((2 * n + total - 2.0) ** 2 * (2 * n + total - 3.0) * (2 * n + total - 1.0))
        )  # fmt: skip
    middle[0] = a / total
    if count > 1:
        squares[1] = a * b / (total**2 * (total + 1.0))  # the variance, where the formula may divide 0 by 0
    matrix = np.zeros((len(distinct), count, count))
    steps = np.arange(count)
    matrix[:, steps, steps] = middle.T
    off = np.sqrt(np.maximum(squares[1:], 0.0)).T
    matrix[:, steps[1:], steps[:-1]] = off
    matrix[:, steps[:-1], steps[1:]] = off
    nodes, vectors = np.linalg.eigh(matrix)
    shares = vectors[:, 0, :] ** 2
    return np.clip(nodes, 0.0, 1.0)[which], (shares / shares.sum(axis=1, keepdims=True))[which]


def log_thinning(recruits: NDArray[np.int64], exposure: Array, most: int) -> Array:
    """log P(Binomial(n, exposure) = recruits) for n = 0 .. most, [people, most + 1]; -inf where n is smaller."""
    y, chance, n = recruits[:, None].astype(np.float64), exposure[:, None], np.arange(most + 1.0)
    whole = np.maximum(n, y)
    logs = gammaln(whole + 1.0) - gammaln(y + 1.0) - gammaln(whole - y + 1.0)
    logs = logs + xlogy(y, chance) + xlogy(whole - y, 1.0 - chance)
    return np.where(n >= y, logs, -np.inf)


def thinned_counts(chances: Array, exposure: Array) -> Array:
    """P(Binomial(N, exposure) = y) for each y, from P(N = n), both [people, counts]."""
    most = chances.shape[1] - 1
    thinned = np.empty_like(chances)
    for y in range(most + 1):
        thinned[:, y] = (chances * np.exp(log_thinning(np.full(len(chances), y), exposure, most))).sum(axis=1)
    return thinned
