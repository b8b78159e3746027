"""Waiting times by median and spread, against SciPy's distributions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from peerfront.foundation.time_families import (
    TIME_FAMILIES,
    cdf,
    density,
    gamma_shape,
    quantile,
    survival,
    weibull_exponent,
)


def reference(family: str, spread: float):
    """SciPy's distribution with a median of 1."""
    if family == "lognormal":
        return stats.lognorm(spread)
    if family == "weibull":
        exponent = float(weibull_exponent(spread))
        return stats.weibull_min(exponent, scale=np.log(2.0) ** (-1.0 / exponent))
    shape = float(gamma_shape(spread))
    return stats.gamma(shape, scale=1.0 / stats.gamma(shape).median())


@pytest.mark.parametrize("family", TIME_FAMILIES)
@given(spread=st.floats(0.1, 3.0), x=st.floats(-4.0, 3.0))
@settings(max_examples=60, deadline=None)
def test_against_scipy(family, spread, x) -> None:
    known, at = reference(family, spread), np.array([x])
    assert cdf(family, at, spread)[0] == pytest.approx(known.cdf(np.exp(x)), rel=1e-8, abs=1e-14)
    assert survival(family, at, spread)[0] == pytest.approx(known.sf(np.exp(x)), rel=1e-8, abs=1e-14)
    assert density(family, at, spread)[0] == pytest.approx(known.pdf(np.exp(x)) * np.exp(x), rel=1e-7, abs=1e-14)


@pytest.mark.parametrize("family", TIME_FAMILIES)
def test_median_spread_and_quantiles(family) -> None:
    for spread in (0.2, 1.0, 2.5):
        shares = np.array([1e-6, 0.1, 0.5, 0.9, 1.0 - 1e-9])
        x = quantile(family, shares, spread)
        assert x[2] == pytest.approx(0.0, abs=1e-9)
        assert cdf(family, x, spread) == pytest.approx(shares, rel=1e-7)
        # The spread is the standard deviation of log times, whatever the family.
        drawn = quantile(family, (np.arange(200_000) + 0.5) / 200_000, spread)
        assert drawn.std() == pytest.approx(spread, rel=2e-3)
    assert cdf(family, np.array([-np.inf, np.inf]), 1.0).tolist() == [0.0, 1.0]
    assert survival(family, np.array([-np.inf, np.inf]), 1.0).tolist() == [1.0, 0.0]
