"""Binomial quantiles in bulk against SciPy, and beta-distributed chances against SciPy and exact moments."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from peerfront.foundation.binomials import beta_nodes, beta_quantile, binomial_quantile

SEEDS = st.integers(0, 2**32 - 1)
CHANCES = (0.0, 1e-300, 1e-9, 0.3, 0.5, 0.9, 0.97, 1.0 - 1e-9, 1.0)


# Quantiles ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 500), st.sampled_from(CHANCES) | st.floats(0.0, 1.0), SEEDS)
@settings(max_examples=200, deadline=None)
def test_quantiles_are_those_of_scipy(most: int, chance: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    trials = rng.integers(0, most, 40, endpoint=True)
    chances = np.where(rng.random(40) < 0.5, chance, rng.random(40))
    uniforms = np.concatenate([rng.random(36), [1e-12, 2.0**-53, 1.0 - 1e-12, 1.0 - 2.0**-53]])
    found = binomial_quantile(uniforms, trials, chances)
    assert ((found >= 0) & (found <= trials)).all()
    # The smallest count whose cumulative chance reaches the uniform; by what remains of 1 in the upper half.
    counts = np.arange(most + 1)[:, None]
    below, above = stats.binom.cdf(counts, trials, chances), stats.binom.sf(counts, trials, chances)
    expected = np.where(uniforms <= 0.5, below >= uniforms, above <= 1.0 - uniforms).argmax(axis=0)
    # Where a uniform is a cumulative chance up to rounding, either side of the step is right.
    at = np.minimum(found, expected), np.arange(40)
    slack = np.where(uniforms <= 0.5, np.abs(below[at] / uniforms - 1), np.abs(above[at] / (1 - uniforms) - 1))
    assert ((found == expected) | ((slack < 1e-7) & (np.abs(found - expected) == 1))).all()


@given(st.integers(1, 500), st.floats(0.001, 0.999), SEEDS)
@settings(max_examples=100, deadline=None)
def test_quantiles_are_those_of_scipys_own_search(most: int, chance: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    trials, uniforms = rng.integers(1, most, 40, endpoint=True), rng.random(40)
    found = binomial_quantile(uniforms, trials, np.full(40, chance))
    np.testing.assert_array_equal(found, stats.binom.ppf(uniforms, trials, chance))


@given(st.floats(0.0, 1.0), st.sampled_from([3, 60, 198, 400]), SEEDS)
@settings(max_examples=60, deadline=None)
def test_one_more_trial_adds_one_or_nothing_and_a_larger_chance_never_less(chance: float, most: int, seed: int) -> None:
    uniforms = np.random.default_rng(seed).random(30)
    counts = np.stack([binomial_quantile(uniforms, np.full(30, most + more), np.full(30, chance)) for more in range(5)])
    assert np.isin(np.diff(counts, axis=0), [0, 1]).all()
    likelier = binomial_quantile(uniforms, np.full(30, most), np.full(30, min(chance + 0.01, 1.0)))
    assert (likelier >= counts[0]).all()


def test_ends_and_one_chance_for_everybody() -> None:
    uniforms, trials = np.array([0.1, 0.5, 0.9]), np.array([0, 7, 7])
    assert binomial_quantile(uniforms, trials, np.array(0.0)).tolist() == [0, 0, 0]
    assert binomial_quantile(uniforms, trials, np.array(1.0)).tolist() == [0, 7, 7]
    assert binomial_quantile(uniforms, trials, np.array(0.5)).tolist() == [0, 3, 5]
    assert binomial_quantile(uniforms[:0], trials[:0], np.zeros(0)).tolist() == []


# Beta-distributed chances -------------------------------------------------------------------------------------------


@given(st.floats(1e-3, 1e6), st.sampled_from([1e-6, 1e-3, 0.2, 0.5, 0.9, 1.0 - 1e-6]) | st.floats(0.01, 0.99), SEEDS)
@settings(max_examples=100, deadline=None)
def test_beta_quantiles_are_those_of_scipy(size: float, mean: float, seed: int) -> None:
    uniforms = np.random.default_rng(seed).random(20)
    found = beta_quantile(uniforms, np.full(20, mean), size)
    expected = stats.beta.ppf(uniforms, mean * size, (1.0 - mean) * size)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found[np.argsort(uniforms)]) >= 0).all()


def test_means_at_the_ends_are_certain() -> None:
    assert beta_quantile(np.array([0.3, 0.3]), np.array([0.0, 1.0]), 2.0).tolist() == [0.0, 1.0]
    nodes, shares = beta_nodes(np.array([0.0, 1.0]), 2.0, 4)
    np.testing.assert_allclose((nodes * shares).sum(axis=1), [0.0, 1.0], atol=1e-15)
    np.testing.assert_allclose((nodes**4 * shares).sum(axis=1), [0.0, 1.0], atol=1e-15)


def exact_moment(a: float, b: float, power: int, other: int) -> float:
    """E[P^power (1 - P)^other] of a beta variable, in fractions."""
    a_exact, b_exact, moment = Fraction(a), Fraction(b), Fraction(1)
    for i in range(power):
        moment *= (a_exact + i) / (a_exact + b_exact + i)
    for i in range(other):
        moment *= (b_exact + i) / (a_exact + b_exact + power + i)
    return float(moment)


SIZES = (1e-3, 0.1, 0.999999, 1.0, 1.000001, 1.7, 2.0, 2.5, 3.0, 40.0, 1e3, 1e6)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("degree", [1, 2, 3, 6, 11, 24, 60])
def test_nodes_give_the_mean_of_every_polynomial(size: float, degree: int) -> None:
    means = np.array([1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.8, 0.999, 1.0 - 1e-6])
    nodes, shares = beta_nodes(means, size, degree)
    assert nodes.shape == shares.shape == (len(means), max((degree + 2) // 2, 1))
    assert ((nodes >= 0) & (nodes <= 1)).all()
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    for row, mean in enumerate(means):
        a, b = mean * size, (1.0 - mean) * size
        for power in {0, 1, 2, degree // 2, degree}:
            for other in {0, degree - power if power <= degree else 0}:
                if power + other <= degree:
                    found = float(shares[row] @ (nodes[row] ** power * (1.0 - nodes[row]) ** other))
                    assert found == pytest.approx(exact_moment(a, b, power, other), rel=1e-8, abs=1e-13)


@given(st.floats(1e-3, 1e6), st.floats(1e-6, 1.0 - 1e-6), st.integers(1, 40), st.floats(0.0, 1.0))
@settings(max_examples=150, deadline=None)
def test_nodes_give_what_coupons_leave_uncovered(size: float, mean: float, coupons: int, alpha: float) -> None:
    """E[(1 - (1 - alpha) P)^k], which the planner needs, as a sum of exact moments."""
    nodes, shares = beta_nodes(np.array([mean]), size, coupons)
    found = float(shares[0] @ (1.0 - (1.0 - alpha) * nodes[0]) ** coupons)
    a, b = Fraction(mean) * Fraction(size), (1 - Fraction(mean)) * Fraction(size)
    kept, total, term = Fraction(alpha), Fraction(0), Fraction(1)
    for used in range(coupons + 1):  # (alpha P + 1 - P)^k = sum of binomial terms alpha^y P^y (1 - P)^(k - y)
        moment = Fraction(1)
        for i in range(used):
            moment *= (a + i) / (a + b + i)
        for i in range(coupons - used):
            moment *= (b + i) / (a + b + used + i)
        total += term * kept**used * moment
        term = term * (coupons - used) / (used + 1)
    assert found == pytest.approx(float(total), rel=1e-9, abs=1e-13)


def test_people_with_the_same_mean_have_the_same_nodes() -> None:
    means = np.array([0.3, 0.7, 0.3])
    nodes, shares = beta_nodes(means, 2.0, 5)
    np.testing.assert_array_equal(nodes[0], nodes[2])
    np.testing.assert_array_equal(shares[0], shares[2])
    alone, _ = beta_nodes(means[1:2], 2.0, 5)
    np.testing.assert_array_equal(nodes[1], alone[0])
