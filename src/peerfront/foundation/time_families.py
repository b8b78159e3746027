"""Distributions of waiting times: lognormal, Weibull and gamma, all by their median and their spread.

A time is `median * exp(x)`; its spread is the standard deviation of log times, so that one prior serves all families:

    lognormal   F(x) = Phi(x / spread);
    weibull     F(x) = 1 - 2^(-exp(a x)),  a = pi / (sqrt(6) spread);
    gamma       F(x) = P(a, exp(x) q),     trigamma(a) = spread^2 and P(a, q) = 1/2, P the incomplete gamma function.

SciPy's distributions are the reference in the tests.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, gammaincinv, gammaln, ndtr, ndtri, polygamma

Array = NDArray[np.float64]
TIME_FAMILIES = ("lognormal", "weibull", "gamma")
"""Simplest to explain first."""
SMALLEST_SPREAD, LARGEST_SPREAD = 0.05, 4.0
"""Spreads that all families can have: between them, quartiles lie 7% to 20,000% apart."""
_LOG_2 = float(np.log(2.0))
_NEWTON_STEPS = 30


def weibull_exponent(spread: Array | float) -> Array:
    """The shape of a Weibull distribution whose log times have this standard deviation."""
    return np.asarray(np.pi / (np.sqrt(6.0) * np.asarray(spread, dtype=np.float64)))


def gamma_shape(spread: Array | float) -> Array:
    """The shape of a gamma distribution whose log times have this standard deviation: the inverse of trigamma."""
    variance = np.asarray(spread, dtype=np.float64) ** 2
    shape = 0.5 + 1.0 / variance
    for _ in range(_NEWTON_STEPS):  # on 1 / trigamma, which is nearly linear: monotone from this start
        value = polygamma(1, shape)
        step = value * (1.0 - value / variance) / polygamma(2, shape)
        shape = shape + step
        if bool((np.abs(step) < 1e-12 * shape).all()):
            break
    return np.asarray(shape)


def _gamma_parts(spread: Array | float) -> tuple[Array, Array]:
    """Shape and median of gamma distributions; of a single one they are remembered, because fits ask for them often."""
    if np.size(spread) == 1:
        shape, middle = _one_gamma(float(np.reshape(spread, ())))
        return np.asarray(shape), np.asarray(middle)
    shapes = gamma_shape(spread)
    return shapes, np.asarray(gammaincinv(shapes, 0.5))


@lru_cache(maxsize=1024)
def _one_gamma(spread: float) -> tuple[float, float]:
    shape = float(gamma_shape(spread))
    return shape, float(gammaincinv(shape, 0.5))


def cdf(family: str, x: Array, spread: Array | float) -> Array:
    """P(time <= median * exp(x)), elementwise; precise where it is small."""
    if family == "lognormal":
        return np.asarray(ndtr(x / spread))
    with np.errstate(over="ignore"):
        if family == "weibull":
            return np.asarray(-np.expm1(-_LOG_2 * np.exp(x * weibull_exponent(spread))))
        shape, middle = _gamma_parts(spread)
        return np.asarray(gammainc(shape, np.exp(x) * middle))


def survival(family: str, x: Array, spread: Array | float) -> Array:
    """P(time > median * exp(x)), elementwise; precise where it is small."""
    if family == "lognormal":
        return np.asarray(ndtr(-x / spread))
    with np.errstate(over="ignore"):
        if family == "weibull":
            return np.asarray(np.exp(-_LOG_2 * np.exp(x * weibull_exponent(spread))))
        shape, middle = _gamma_parts(spread)
        return np.asarray(gammaincc(shape, np.exp(x) * middle))


def density(family: str, x: Array, spread: Array | float) -> Array:
    """The derivative of `cdf` in x, elementwise."""
    if family == "lognormal":
        return np.asarray(np.exp(-0.5 * (x / spread) ** 2) / (np.sqrt(2.0 * np.pi) * spread))
    if family == "weibull":
        exponent = weibull_exponent(spread)
        hazard = _LOG_2 * np.exp(x * exponent)
        return np.asarray(exponent * hazard * np.exp(-hazard))
    shape, middle = _gamma_parts(spread)
    time = np.exp(x) * middle
    return np.asarray(np.exp(shape * np.log(time) - time - gammaln(shape)))


def quantile(family: str, shares: Array, spread: Array | float) -> Array:
    """The x with `cdf` = share, elementwise."""
    with np.errstate(divide="ignore"):
        if family == "lognormal":
            return np.asarray(ndtri(shares) * spread)
        if family == "weibull":
            return np.asarray(np.log(-np.log1p(-shares) / _LOG_2) / weibull_exponent(spread))
        shape, middle = _gamma_parts(spread)
        return np.asarray(np.log(gammaincinv(shape, shares)) - np.log(middle))
