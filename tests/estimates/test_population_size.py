"""The size of the population from the order of network sizes: against brute force, in simulation, and at its limits."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import nbinom
from small_samples import sample_with

from peerfront.estimates import population_size as module
from peerfront.estimates.population_size import population_size, posterior_of_size
from peerfront.foundation.errors import SettingError


def successive(sizes, n_people, rng):
    """Draw people one after another, in proportion to size among those left."""
    return sizes[np.argsort(rng.exponential(size=len(sizes)) / sizes)[:n_people]]


def made_sizes(population, rng, mean=8.0, shape=2.0):
    return 1.0 + rng.poisson(rng.gamma(shape, mean / shape, population))


def test_the_integral_over_s_is_the_expectation_over_those_who_did_not_come() -> None:
    """E[prod d / (R + U)] over the exact distribution of U, against the saddlepoint's integral, between populations."""
    rng = np.random.default_rng(0)
    sizes = successive(made_sizes(200, rng), 60, rng)
    rates = np.cumsum(sizes[::-1])[::-1]
    s, log_h = module._saddlepoints(sizes, 1e5)
    exact, integral = [], []
    for unseen in (20, 60, 200, 600):
        above = np.arange(20 * unseen)  # U is as many as are unseen, and a sum of negative binomials
        chance = nbinom.logpmf(above, 2.0 * unseen, 2.0 / 10.0)
        exact.append(logsumexp(chance - np.log(rates[None, :] + unseen + above[:, None]).sum(axis=1)))
        laplace = -s - 2.0 * np.log1p(-np.expm1(-s) * 8.0 / 2.0)
        integral.append(logsumexp(log_h + unseen * laplace))
    np.testing.assert_allclose(np.diff(integral), np.diff(exact), atol=0.005)


def test_the_prior_is_a_beta_for_the_share_that_came() -> None:
    rng = np.random.default_rng(1)
    made = posterior_of_size(successive(made_sizes(1000, rng), 100, rng), 500)
    beta = np.log(0.5) / np.log1p(-100 / 500)
    drawn = 100 / rng.beta(1.0, beta, 200_000)
    drawn = drawn[drawn < 50 * 500]
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert made.prior_low == pytest.approx(low, rel=0.03)
    assert made.prior_high == pytest.approx(high, rel=0.05)
    assert made.table["prior"].sum() == pytest.approx(1)
    assert made.table["posterior"].sum() == pytest.approx(1)


def test_a_sample_of_half_the_population_says_how_large_it_is() -> None:
    rng = np.random.default_rng(2)
    medians = []
    for _ in range(5):
        made = posterior_of_size(successive(made_sizes(800, rng), 400, rng), 2000)
        assert made.low < 800 < made.high
        medians.append(made.median)
        assert made.learned > 0.3
    assert 600 < np.median(medians) < 1100


def test_sizes_in_any_order_say_that_the_population_is_large() -> None:
    rng = np.random.default_rng(3)
    made = posterior_of_size(rng.permutation(made_sizes(300, rng)), 1000)
    in_order = posterior_of_size(np.sort(made_sizes(300, rng))[::-1], 1000)
    assert made.median > 1000
    assert in_order.high < 450, "who knows most came first: nobody is left"


def test_who_came_when_is_all_that_counts() -> None:
    rng = np.random.default_rng(4)
    sizes = successive(made_sizes(150, rng), 80, rng)
    sample = sample_with([-1, *range(79)], size=sizes)
    assert population_size(sample, 300).median == posterior_of_size(sizes, 300).median


@pytest.mark.parametrize(
    ("people", "guess", "message"),
    [
        (80, 80, "above that"),
        (20, 300, "At least 30 people"),
        (80, 1.5, "whole number"),
        (80, 10**9, "100000000|100,000,000"),
    ],
)
def test_what_says_nothing_is_refused(people, guess, message) -> None:
    sample = sample_with([-1, *range(people - 1)], size=1.0 + np.arange(people) % 7)
    with pytest.raises(SettingError, match=message):
        population_size(sample, guess)


def test_sizes_that_are_all_alike_are_refused() -> None:
    with pytest.raises(SettingError, match="that differ"):
        population_size(sample_with([-1, *range(50)]), 300)


def test_the_closed_transform_is_that_of_the_sizes() -> None:
    k = np.arange(3000)
    log_f = gammaln(k + 2.0) - gammaln(k + 1.0) - gammaln(2.0) + 2.0 * np.log(2 / 10) + k * np.log(8 / 10)
    for s in (0.001, 0.05, 1.0):
        assert -s - 2.0 * np.log1p(-np.expm1(-s) * 8.0 / 2.0) == pytest.approx(logsumexp(log_f - s * (k + 1)))
