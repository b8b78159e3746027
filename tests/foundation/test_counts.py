from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from peerfront.foundation.counts import count_from_survival, poisson_quantile, poisson_survival
from peerfront.foundation.randomness import named_luck

rates = st.one_of(st.just(0.0), st.floats(1e-6, 60.0), st.floats(60.0, 3000.0))


@given(st.lists(rates, min_size=1, max_size=8), st.integers(0, 120))
def test_survival_equals_scipy_and_never_increases(some_rates, max_count) -> None:
    table = poisson_survival(np.array(some_rates), max_count)
    reference = poisson.sf(np.arange(max_count)[None, :], np.array(some_rates)[:, None])
    assert table.shape == (len(some_rates), max_count)
    assert np.allclose(table, reference, rtol=1e-9, atol=1e-300)
    assert (np.diff(table, axis=1) <= 0).all()
    assert ((table >= 0) & (table <= 1)).all()


@given(st.lists(st.tuples(st.floats(1e-12, 1 - 1e-12), rates), min_size=1, max_size=20))
def test_quantile_equals_scipy(cases) -> None:
    uniforms, some_rates = map(np.array, zip(*cases, strict=True))
    found = poisson_quantile(uniforms, some_rates)
    # At a jump of the distribution function rounding decides; on either side of it the two must agree.
    below = poisson.ppf(uniforms * (1 - 1e-9), some_rates)
    above = poisson.ppf(np.minimum(uniforms * (1 + 1e-9) + 1e-15, 1 - 1e-16), some_rates)
    assert ((below <= found) & (found <= above)).all()


def test_quantile_couples_rates_monotonically() -> None:
    uniforms = named_luck(("coupling",), 5000).uniform("capacity")
    counts = [poisson_quantile(uniforms, np.full(5000, rate)) for rate in (0.5, 1.0, 3.0, 9.0)]
    assert all((low <= high).all() for low, high in pairwise(counts))


def test_counts_by_inversion_have_the_right_distribution() -> None:
    uniforms = named_luck(("inversion",), 40_000).uniform("capacity")
    survival = np.broadcast_to(poisson_survival(np.array([2.5]), 30), (40_000, 30))
    by_table = count_from_survival(uniforms, survival)
    assert np.array_equal(by_table, poisson_quantile(uniforms, np.full(40_000, 2.5)))
    assert abs(by_table.mean() - 2.5) < 4 * np.sqrt(2.5 / 40_000)
