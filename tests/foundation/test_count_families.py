"""Count families against mpmath and SciPy over a wide grid, and their derivatives."""

from itertools import product

import mpmath
import numpy as np
import pytest
import torch
from scipy.special import gammaln
from scipy.stats import nbinom, poisson

from peerfront.foundation import counts as without_gradients
from peerfront.foundation.counts import (
    FAMILIES,
    nb_log_pmf,
    nb_log_survival,
    poisson_log_pmf,
    poisson_log_survival,
    quantile,
    survival_table,
)
from peerfront.foundation.randomness import named_generator
from peerfront.models.response.response_likelihood import censored_log_likelihood, log_pmf, log_survival

MEANS = [1e-9, 1e-4, 0.3, 2.5, 17.0, 400.0, 1e5]
COUNTS = [0, 1, 2, 7, 40, 500]
HALF = torch.tensor(0.5, dtype=torch.float64)
SIZES = [1e-2, 0.7, 5.0, 300.0, 1e6]


def test_poisson_log_survival_against_mpmath() -> None:
    with mpmath.workdps(60):
        for mu, k in product(MEANS, COUNTS):
            found = float(poisson_log_survival(np.array(float(k)), np.array(mu)))
            exact = mpmath.mpf(0) if k == 0 else mpmath.log(mpmath.gammainc(k, 0, mpmath.mpf(mu), regularized=True))
            assert found == pytest.approx(float(exact), rel=1e-9, abs=1e-14), (mu, k)


def test_nb_log_survival_against_mpmath() -> None:
    with mpmath.workdps(60):
        for mu, k, r in product([1e-4, 0.3, 2.5, 17.0, 400.0], [1, 2, 7, 40], SIZES):
            p = mpmath.mpf(mu) / (mpmath.mpf(mu) + r)
            exact = mpmath.log(mpmath.betainc(k, r, 0, p, regularized=True))
            found = float(nb_log_survival(np.array(float(k)), np.array(mu), np.array(r)))
            assert found == pytest.approx(float(exact), rel=1e-7, abs=1e-12), (mu, k, r)


def test_tails_far_below_the_smallest_number() -> None:
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.gammainc(400, 0, mpmath.mpf("1e-3"), regularized=True))
    assert poisson_log_survival(np.array(400.0), np.array(1e-3)) == pytest.approx(float(exact), rel=1e-12)
    assert nb_log_survival(np.array(400.0), np.array(1e-3), np.array(2.0)) < -3000


def test_pmfs_against_scipy() -> None:
    counts, means = np.arange(60.0)[None, :], np.array([0.0, 0.01, 2.5, 30.0])[:, None]
    assert np.allclose(poisson_log_pmf(counts, means), poisson.logpmf(counts, means))
    for size in (0.3, 4.0, 1e5):
        p = size / (size + means[1:])
        assert np.allclose(nb_log_pmf(counts, means[1:], np.array(size)), nbinom.logpmf(counts, size, p), rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_survival_tables_are_survival_tables(family) -> None:
    table = survival_table(family, np.array([0.01, 2.0, 40.0]), 1.5, 0.3, 60)
    assert (np.diff(table, axis=1) <= 1e-15).all()
    assert ((table >= 0) & (table <= 1)).all()
    ceiling = 0.7 if family.startswith("zi") else 1.0
    assert table[2, 0] == pytest.approx(ceiling, abs=0.2)


def test_the_added_up_table_is_the_incomplete_beta_function() -> None:
    means, counts = np.array(MEANS), np.arange(1.0, 61.0)
    for size in SIZES:
        entries = np.exp(nb_log_survival(counts[None, :], means[:, None], np.array(size)))
        assert np.allclose(survival_table("nb", means, size, 0.0, 60), entries, rtol=1e-8, atol=1e-300)


@pytest.mark.parametrize("family", FAMILIES)
def test_quantiles_invert_the_survival_table(family) -> None:
    uniforms = np.array([1e-12, 0.1, 0.29, 0.31, 0.5, 0.9, 0.999, 1.0 - 2.0**-53])
    for mean, size in product([1e-9, 0.4, 6.0], [0.3, 4.0]):
        table = survival_table(family, np.full(len(uniforms), mean), size, 0.3, 2000)
        found = quantile(family, uniforms, np.full(len(uniforms), mean), size, 0.3)
        assert np.array_equal(found[:-1], (1.0 - uniforms[:-1, None] < table[:-1]).sum(axis=1)), (mean, size)
        assert found[-2] <= found[-1] < 2000  # the largest uniform there is


@pytest.mark.parametrize("family", FAMILIES)
def test_quantiles_of_long_tails_are_not_cut_off(family) -> None:
    """A person's capacity is theirs alone, whoever else is asked, and has no largest value."""
    uniforms, means = np.array([0.2, 0.6, 0.95]), np.array([1.0, 1e5, 1e5])
    together = quantile(family, uniforms, means, 0.5, 0.25)
    alone = [int(quantile(family, uniforms[i : i + 1], means[i : i + 1], 0.5, 0.25)[0]) for i in range(3)]
    assert together.tolist() == alone
    assert together[0] == 0
    assert together[2] > 90_000
    inflated = 0.75 if family.startswith("zi") else 1.0
    survival = {"poisson": poisson.sf, "zip": poisson.sf}.get(family, lambda c, m: nbinom.sf(c, 0.5, 0.5 / (0.5 + m)))
    assert inflated * survival(together[2], 1e5) <= 0.05 < inflated * survival(together[2] - 1, 1e5)


def test_one_mean_for_many_counts() -> None:
    counts = torch.tensor([1.0, 4.0, 9.0], dtype=torch.float64)
    mean = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    for family in ("poisson", "nb"):
        assert torch.autograd.gradcheck(lambda mu, f=family: log_survival(f, counts, mu, HALF[None]), (mean,))


@pytest.mark.parametrize("family", ["poisson", "nb"])
def test_gradients(family) -> None:
    counts = torch.tensor([0.0, 1.0, 3.0, 10.0, 40.0], dtype=torch.float64)
    means = torch.tensor([0.2, 0.05, 2.0, 30.0, 1.0], dtype=torch.float64, requires_grad=True)
    log_size = torch.tensor([0.4], dtype=torch.float64, requires_grad=True)
    for function in (log_survival, log_pmf):
        assert torch.autograd.gradcheck(
            lambda mu, size, f=function: f(family, counts, mu, size), (means, log_size), eps=1e-6, atol=1e-5, rtol=1e-4
        )


@pytest.mark.parametrize("family", FAMILIES)
def test_the_censored_likelihood_sums_to_one(family) -> None:
    """For every k the chances of y = 0 .. k are all there is: pmf below k, survival at k."""
    for k, mu in product([1, 3, 10], [0.05, 2.0, 25.0]):
        recruits = torch.arange(k + 1, dtype=torch.float64)
        logs = censored_log_likelihood(
            family,
            torch.full_like(recruits, k),
            recruits,
            torch.full_like(recruits, mu),
            HALF,
            -2 * HALF,
        )
        assert float(logs.exp().sum()) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_censored_likelihood_with_and_without_gradients(family) -> None:
    """The two agree to 1e-12 of their value, or of the log-gamma functions that torch's pmf subtracts."""
    rng = named_generator("censored", family)
    coupons = rng.integers(0, 12, 500)
    recruits = np.minimum(rng.poisson(3.0, 500), coupons)
    means = np.exp(rng.normal(0.5, 1.5, 500))
    for size, zero in product([0.3, 4.0, np.exp(8.0)], [0.0, 0.2, 0.95]):
        zero_logit = torch.tensor(np.log(max(zero, 1e-300)) - np.log1p(-zero), dtype=torch.float64)
        with_gradients = censored_log_likelihood(
            family,
            torch.as_tensor(coupons, dtype=torch.float64),
            torch.as_tensor(recruits, dtype=torch.float64),
            torch.as_tensor(means),
            torch.tensor(np.log(size), dtype=torch.float64),
            zero_logit,
        ).numpy()
        plain = without_gradients.censored_log_likelihood(family, coupons, recruits, means, size, zero)
        scale = max(1.0, float(gammaln(size + 12.0))) if family in ("nb", "zinb") else 1.0
        assert plain == pytest.approx(with_gradients, rel=1e-12, abs=1e-12 * scale)


def test_no_coupon_says_nothing() -> None:
    zero = torch.zeros(1, dtype=torch.float64)
    assert float(censored_log_likelihood("zinb", zero, zero, zero + 3.0, zero, zero)) == 0.0


def test_gradients_stay_finite_in_the_tails() -> None:
    means = torch.tensor([1e-9, 1e4, 1e-9], dtype=torch.float64, requires_grad=True)
    coupons = torch.tensor([10.0, 3.0, 50.0], dtype=torch.float64)
    recruits = torch.tensor([10.0, 0.0, 50.0], dtype=torch.float64)
    for family in FAMILIES:
        (slope,) = torch.autograd.grad(
            censored_log_likelihood(
                family, coupons, recruits, means, torch.tensor(0.0, dtype=torch.float64), torch.tensor(0.0)
            ).sum(),
            means,
        )
        assert torch.isfinite(slope).all()
