"""The noise that every innocent grouping leaves, and what is found where a grouping knows the outcome."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from peerfront.data.columns.counting_noise import CountingNoise


@given(
    st.integers(1, 8),
    st.lists(st.tuples(st.floats(0, 1).map(lambda p: round(p, 6)), st.floats(0.01, 1)), min_size=1, max_size=6),
)
def test_mixtures_of_binomials_keep_the_noise(coupons, parts) -> None:
    """The inequalities that the test rests on: variance, nothing used, everything used."""
    weights = np.array([weight for _, weight in parts])
    weights /= weights.sum()
    counts = np.arange(coupons + 1)
    chances = sum(w * binom.pmf(counts, coupons, p) for w, (p, _) in zip(weights, parts, strict=True))
    mean = chances @ counts
    share = min(mean / coupons, 1.0)
    assert chances @ (counts - mean) ** 2 >= mean * (1 - share) - 1e-9
    assert chances[0] >= (1 - share) ** coupons - 1e-9
    assert chances[-1] >= share**coupons - 1e-9


@given(st.integers(1, 6), st.floats(0.05, 8.0))
def test_poisson_capacities_keep_it_too(coupons, rate) -> None:
    from scipy.stats import poisson

    counts = np.arange(coupons + 1)
    chances = poisson.pmf(counts, rate)
    chances[-1] = poisson.sf(coupons - 1, rate)
    mean = chances @ counts
    assert chances @ (counts - mean) ** 2 >= mean * (1 - mean / coupons) - 1e-9
    assert chances[0] >= (1 - mean / coupons) ** coupons - 1e-9


def counts(n_people, seed=0, rate=0.4, coupons=3):
    rng = np.random.default_rng(seed)
    given_out = np.full(n_people, coupons)
    return rng, given_out, rng.binomial(given_out, rate)


def test_a_random_grouping_leaves_all_the_noise() -> None:
    rng, coupons, recruits = counts(2000)
    evidence = CountingNoise(coupons, recruits).test(rng.integers(0, 6, 2000), 6)
    assert evidence.noise_left == pytest.approx(1.0, abs=0.1)
    assert abs(evidence.explained) < 0.02
    assert not evidence.implausible


def test_the_outcome_leaves_none() -> None:
    _, coupons, recruits = counts(200)
    evidence = CountingNoise(coupons, recruits, 1000).test(recruits, 4)
    assert evidence.noise_left < 0.05
    assert evidence.explained > 0.9
    assert evidence.implausible
    assert "of the variation that chance alone makes" in str(evidence.why)


def test_one_coupon_each_is_judged_by_who_recruits() -> None:
    rng, coupons, recruits = counts(400, coupons=1)
    noise = CountingNoise(coupons, recruits)
    wrong = rng.random(400) < 0.02
    assert "tells" in str(noise.test(np.where(wrong, 1 - recruits, recruits), 2).why)
    wrong = rng.random(400) < 0.2
    assert not noise.test(np.where(wrong, 1 - recruits, recruits), 2).implausible


def test_people_without_recruits_are_missing() -> None:
    rng, coupons, recruits = counts(600, rate=0.35)
    marked = (recruits > 0) & (rng.random(600) < 0.5)  # says nothing about the others
    assert "brought somebody" in str(CountingNoise(coupons, recruits).test(marked.astype(np.int64), 2).why)


def test_where_everybody_varies_little_a_column_is_not_suspected() -> None:
    rng = np.random.default_rng(1)
    recruits = np.where(rng.random(300) < 0.95, 1, 0)
    noise = CountingNoise(np.full(300, 3), recruits, 10)
    assert noise.noise_of_all < 0.2
    assert not noise.test(rng.integers(0, 4, 300), 4).implausible
    assert not noise.bounded(rng.integers(0, 2, 300) * recruits * 0.0, 1)


def test_counts_that_never_exceed_the_recruits() -> None:
    rng, coupons, recruits = counts(400)
    noise = CountingNoise(coupons, recruits)
    assert noise.bounded(rng.binomial(recruits, 0.5).astype(float), 20)
    assert not noise.bounded(rng.binomial(3, 0.1, 400).astype(float), 20)
    assert not noise.bounded(0.5 * recruits, 20)


@given(st.integers(0, 10_000))
def test_innocent_groups_are_hardly_ever_refused(seed) -> None:
    """At the edge: binomial chances that the groups know exactly."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 4, 150)
    coupons = rng.integers(1, 5, 150)
    recruits = rng.binomial(coupons, np.array([0.1, 0.3, 0.5, 0.75])[groups])
    assert not CountingNoise(coupons, recruits, 20).test(groups, 4).implausible
