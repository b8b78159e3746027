"""Families of recruits that are not capacities: likelihoods against SciPy, mpmath and each other, with gradients."""

from itertools import product

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom, binom, nbinom

from peerfront.foundation.counts import FAMILIES, censored_log_likelihood
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.response_families import (
    RESPONSE_FAMILIES,
    STORIES,
    chance_of_use,
    largest_rate,
    response_log_likelihood,
    story_of,
)
from peerfront.models.response.rates import FAMILY_NAMES
from peerfront.models.response.response_likelihood import log_likelihood

OTHERS = tuple(family for family in RESPONSE_FAMILIES if family not in FAMILIES)
RATES = [1e-9, 1e-3, 0.2, 1.3, 9.0, 40.0]


def table(family: str, k: int, rate: float, size: float = 1.5, zero: float = 0.3, use: float = 0.6) -> np.ndarray:
    counts = np.arange(k + 1)
    return response_log_likelihood(family, np.full(k + 1, k), counts, np.full(k + 1, rate), size, zero, use)


def in_torch(family, coupons, recruits, rates, size, zero, use) -> torch.Tensor:
    def logit(share: float) -> torch.Tensor:
        return torch.tensor([np.log(share) - np.log1p(-share)], dtype=torch.float64)

    rows = (torch.as_tensor(np.asarray(part, dtype=np.float64)) for part in (coupons, recruits, rates))
    return log_likelihood(family, *rows, torch.tensor([np.log(size)], dtype=torch.float64), logit(zero), logit(use))


def test_every_family_has_a_story_and_a_name() -> None:
    assert set(RESPONSE_FAMILIES) == set(FAMILY_NAMES)
    assert [story_of(families[0]) for families in STORIES.values()] == list(STORIES)


@pytest.mark.parametrize("family", RESPONSE_FAMILIES)
def test_the_chances_of_all_counts_are_one(family) -> None:
    for k, rate in product([1, 3, 12], RATES):
        assert np.exp(table(family, k, rate)).sum() == pytest.approx(1.0, abs=1e-9), (k, rate)
    assert table(family, 0, 0.5) == [0.0]  # no coupon says nothing


def test_against_scipy() -> None:
    for k, rate in product([1, 3, 12], RATES[1:5]):
        chance, y = -np.expm1(-rate), np.arange(k + 1)
        plain = binom.pmf(y, k, chance)
        assert np.exp(table("binomial", k, rate)) == pytest.approx(plain, rel=1e-9)
        assert np.exp(table("zib", k, rate)) == pytest.approx(0.7 * plain + 0.3 * (y == 0), rel=1e-9)
        for size in (0.05, 1.5, 400.0):
            exact = betabinom.logpmf(y, k, chance * size, np.exp(-rate) * size)
            assert table("betabinomial", k, rate, size) == pytest.approx(exact, rel=1e-8, abs=1e-9)
        usable = nbinom.pmf(y, 1.5, 1.5 / (1.5 + rate))
        usable[k] = nbinom.sf(k - 1, 1.5, 1.5 / (1.5 + rate))
        thinned = [sum(usable[n] * binom.pmf(each, n, 0.6) for n in range(k + 1)) for each in y]
        assert np.exp(table("thinned", k, rate)) == pytest.approx(thinned, rel=1e-9)


def test_against_mpmath_where_numbers_are_extreme() -> None:
    with mpmath.workdps(60):
        for k, y, rate, size in product([3, 40], [0, 1, 3], [1e-9, 0.3, 30.0, 200.0], [6.8e-3, 1.0, 2980.0]):
            chance = -mpmath.expm1(-mpmath.mpf(rate))
            a, b = chance * size, mpmath.exp(-mpmath.mpf(rate)) * size
            choose = mpmath.binomial(k, y)
            exact = mpmath.log(choose) + mpmath.log(mpmath.beta(y + a, k - y + b)) - mpmath.log(mpmath.beta(a, b))
            found = response_log_likelihood("betabinomial", np.array([k]), np.array([y]), np.array([rate]), size, 0.0)
            assert found[0] == pytest.approx(float(exact), rel=1e-9, abs=1e-10), (k, y, rate, size)
            exact = mpmath.log(choose) + y * mpmath.log(chance) - (k - y) * mpmath.mpf(rate)
            assert table("binomial", k, rate)[y] == pytest.approx(float(exact), rel=1e-12, abs=1e-12)


def test_special_cases_are_each_other() -> None:
    rng = named_generator("special cases")
    coupons = rng.integers(0, 8, 200)
    recruits, rates = rng.binomial(coupons, 0.4), rng.gamma(1.0, 1.0, 200) + 1e-3
    whole = response_log_likelihood("thinned", coupons, recruits, rates, 0.8, 0.0, 1.0)
    assert whole == pytest.approx(censored_log_likelihood("nb", coupons, recruits, rates, 0.8, 0.0), rel=1e-9)
    many = response_log_likelihood("thinned", coupons, recruits, np.full(200, 1e7), 500.0, 0.0, 0.25)
    alone = response_log_likelihood("binomial", coupons, recruits, np.full(200, -np.log(0.75)), np.inf, 0.0)
    assert many == pytest.approx(alone, rel=1e-6, abs=1e-9)
    stiff = response_log_likelihood("betabinomial", coupons, recruits, rates, 1e9, 0.0)
    assert stiff == pytest.approx(
        response_log_likelihood("binomial", coupons, recruits, rates, np.inf, 0.0), rel=1e-5, abs=1e-5
    )
    for family in FAMILIES:  # capacities are those of Section 3.1, to the last bit
        assert np.array_equal(
            response_log_likelihood(family, coupons, recruits, rates, 0.8, 0.2),
            censored_log_likelihood(family, coupons, recruits, rates, 0.8, 0.2),
        )


@pytest.mark.parametrize("family", RESPONSE_FAMILIES)
def test_with_and_without_gradients(family) -> None:
    rng = named_generator("twins", family)
    coupons = rng.integers(0, 12, 300)
    recruits, rates = rng.binomial(coupons, 0.3), np.exp(rng.normal(-0.5, 1.5, 300))
    for size, zero, use in product([0.05, 4.0, np.exp(8.0)], [0.02, 0.7], [0.1, 0.95]):
        twin = in_torch(family, coupons, recruits, rates, size, zero, use).numpy()
        plain = response_log_likelihood(family, coupons, recruits, rates, size, zero, use)
        assert plain == pytest.approx(twin, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("family", OTHERS)
def test_gradients_are_the_differences(family) -> None:
    coupons = torch.tensor([1.0, 3.0, 3.0, 3.0, 6.0, 12.0, 0.0], dtype=torch.float64)
    recruits = torch.tensor([1.0, 0.0, 2.0, 3.0, 1.0, 7.0, 0.0], dtype=torch.float64)
    rates = torch.tensor([0.3, 0.05, 1.0, 4.0, 0.2, 2.0, 1.0], dtype=torch.float64, requires_grad=True)
    shared = [torch.tensor([value], dtype=torch.float64, requires_grad=True) for value in (0.4, -1.0, 0.7)]
    assert torch.autograd.gradcheck(
        lambda *given: log_likelihood(family, coupons, recruits, *given),
        (rates, *shared),
        eps=1e-6,
        atol=1e-5,
        rtol=1e-4,
    )


@pytest.mark.parametrize("family", OTHERS)
def test_gradients_stay_finite_at_the_ends(family) -> None:
    rates = torch.tensor([1e-9, 300.0, 1e-9, 1e4], dtype=torch.float64, requires_grad=True)
    coupons = torch.tensor([10.0, 3.0, 50.0, 2.0], dtype=torch.float64)
    recruits = torch.tensor([10.0, 0.0, 50.0, 2.0], dtype=torch.float64)
    shared = [torch.tensor([value], dtype=torch.float64) for value in (-5.0, -12.0, 6.0)]
    logs = log_likelihood(family, coupons, recruits, rates, *shared)
    (slope,) = torch.autograd.grad(logs.sum(), rates)
    assert torch.isfinite(logs).all()
    assert torch.isfinite(slope).all()


@given(st.integers(1, 30), st.floats(0.05, 0.99), st.floats(0.05, 300.0), st.floats(0.05, 1.0))
def test_the_largest_rate_has_the_chance_asked_for(most, chance, size, use) -> None:
    for family in RESPONSE_FAMILIES:
        limit = largest_rate(family, most, chance, size if family not in ("poisson", "zip") else np.inf, use)
        reached = response_log_likelihood(
            family,
            np.array([most]),
            np.array([most]),
            np.array([limit]),
            size,
            0.0,
            use if family == "thinned" else 1.0,
        )
        assert limit > 0.0
        assert reached[0] <= np.log(chance) + 1e-6
        if limit < 29.0:
            assert reached[0] == pytest.approx(np.log(chance), abs=1e-4)


def test_chances_of_use_are_chances() -> None:
    chances = chance_of_use(np.array([0.0, 1e-12, 0.7, 800.0]))
    assert chances == pytest.approx([0.0, 1e-12, 1.0 - np.exp(-0.7), 1.0], rel=1e-12)
