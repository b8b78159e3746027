"""N = Binomial(min(k, C), P) for every family: tables against exact fractions and enumeration, samples against both."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerfront.foundation.binomials import binomial_quantile
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.problem.coverage import coverage_gains, mixed_coverage_gains
from peerfront.problem.response import UNLIMITED, brings
from problem.given_responses import FAMILIES, GivenResponse, drawn_embeddings, drawn_response, responses

SEEDS = st.integers(0, 2**32 - 1)


def exact_counts(response: GivenResponse, person: int, coupons: int) -> list[Fraction]:
    """P(N(coupons) = y) by listing every C and every use of the coupons, in fractions."""
    survival = response.survival(response.everybody[[person]], coupons)[0]
    at_least = [Fraction(1), *map(Fraction, survival), Fraction(0)]
    chances = response.chances(response.everybody[[person]], coupons)
    values = (
        [(Fraction(1), Fraction(1))]
        if chances is None
        else [
            (Fraction(float(value)), Fraction(float(share)))
            for value, share in zip(chances[0][0], chances[1][0], strict=True)
        ]
    )
    whole = sum(share for _, share in values)
    counts = [Fraction(0)] * (coupons + 1)
    for usable in range(coupons + 1):
        so_many = at_least[usable] - at_least[usable + 1]
        for value, share in values:
            for used in range(usable + 1):
                ways = comb(usable, used) * value**used * (1 - value) ** (usable - used)
                counts[used] += so_many * share / whole * ways
    return counts


# Tables -------------------------------------------------------------------------------------------------------------


@given(responses(), SEEDS, st.booleans())
@settings(max_examples=150, deadline=None)
def test_tables_are_those_of_the_enumerated_counts(response: GivenResponse, seed: int, extremes: bool) -> None:
    people, levels = response.at_least.shape
    uncovered = drawn_embeddings(np.random.default_rng(seed), people, 2, 12, extremes)
    gains = response.gains(response.everybody, levels)
    covers = response.covers(response.everybody, uncovered, levels)
    for person in range(people):
        exact = [exact_counts(response, person, k) for k in range(levels + 1)]
        means = [float(sum(y * chance for y, chance in enumerate(counts))) for counts in exact]
        np.testing.assert_allclose(gains[person], np.diff(means), atol=1e-13)
        for k, counts in enumerate(exact):
            found = response.counts(response.everybody[[person]], k)[0]
            np.testing.assert_allclose(found, [float(chance) for chance in counts], atol=1e-13)
            assert found.sum() == pytest.approx(1.0, abs=1e-12)
            assert found @ np.arange(k + 1) == pytest.approx(gains[person, :k].sum(), abs=1e-12)
        for j in range(2):
            left = [
                sum(chance * Fraction(uncovered[person, j]) ** y for y, chance in enumerate(counts)) for counts in exact
            ]
            for k in range(levels):
                if left[k] > Fraction(1, 10**280):  # below, everything is covered for sure
                    assert covers[person, k, j] == pytest.approx(float(1 - left[k + 1] / left[k]), rel=1e-9, abs=1e-300)


@given(responses(), SEEDS, st.booleans())
@settings(max_examples=150, deadline=None)
def test_gains_and_covered_shares_never_rise(response: GivenResponse, seed: int, extremes: bool) -> None:
    people, levels = response.at_least.shape
    uncovered = drawn_embeddings(np.random.default_rng(seed), people, 3, 12, extremes)
    gains = response.gains(response.everybody, levels)
    covers = response.covers(response.everybody, uncovered, levels)
    assert ((gains >= 0) & (gains <= 1)).all()
    assert ((covers >= 0) & (covers <= 1)).all()
    assert (np.diff(gains, axis=1) <= 1e-15).all()
    assert (np.diff(covers, axis=1) <= 1e-14).all()


@given(SEEDS, st.booleans())
@settings(max_examples=100, deadline=None)
def test_one_chance_of_1_is_the_capacity_to_the_last_bit(seed: int, extremes: bool) -> None:
    rng = np.random.default_rng(seed)
    response = drawn_response(rng, 4, 8, "capacity", 12)
    uncovered = drawn_embeddings(rng, 4, 3, 12, extremes)
    alone = coverage_gains(response.at_least, uncovered)
    mixed = mixed_coverage_gains(response.at_least, uncovered, np.ones((4, 1)), np.ones((4, 1)))
    np.testing.assert_array_equal(mixed, np.minimum.accumulate(alone, axis=1))
    certain = GivenResponse(response.at_least, np.ones((4, 1)), np.ones((4, 1)))
    np.testing.assert_array_equal(certain.gains(response.everybody, 8), response.gains(response.everybody, 8))
    np.testing.assert_array_equal(response.covers(response.everybody, uncovered, 8), alone)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.3])
def test_each_coupon_on_its_own_has_the_plain_formulas(value: float) -> None:
    """C unlimited and one P: G(k) = k P, and every coupon covers the same share (1 - alpha) P."""
    response = GivenResponse(np.ones((1, 5)), np.full((1, 1), value), np.ones((1, 1)), unlimited=True)
    uncovered = np.array([[1.0, 0.5, 1e-300]])
    np.testing.assert_allclose(response.gains(response.everybody, 9), np.full((1, 9), value))
    covers = response.covers(response.everybody, uncovered, 3 if value == 1.0 else 9)
    expected = np.broadcast_to((1.0 - uncovered) * value, covers.shape).copy()
    if value == 1.0:
        expected[0, 2, 2] = 0.0  # after two coupons 1e-600 is left, which is nothing
    np.testing.assert_allclose(covers, expected, rtol=1e-12)


def test_people_alike_who_differ_unseen_cover_less_with_each_coupon() -> None:
    """A mixture of P = 0 and P = .8: whoever did not use the first coupons is less likely to use the next."""
    response = GivenResponse(np.ones((1, 4)), np.array([[0.0, 0.8]]), np.array([[0.5, 0.5]]), unlimited=True)
    covers = response.covers(response.everybody, np.array([[0.5]]), 4)[0, :, 0]
    left = 0.5 + 0.5 * 0.6 ** np.arange(5)
    np.testing.assert_allclose(covers, 1.0 - left[1:] / left[:-1])
    assert (np.diff(covers) < 0).all()


@pytest.mark.parametrize(
    ("values", "shares", "message"),
    [
        ([[0.5, 1.2]], [[0.5, 0.5]], "Person 0 .*chance of 1.2; chances are from 0 to 1"),
        ([[-0.1, 1.0]], [[0.5, 0.5]], "chance of -0.1"),
        ([[np.nan, 1.0]], [[0.5, 0.5]], "chance of nan"),
        ([[0.5, 1.0]], [[0.5, 0.4]], "shares .* add up to 1"),
        ([[0.5, 1.0]], [[1.5, -0.5]], "at least 0"),
        ([[0.5, 1.0]], [[np.nan, 0.5]], "shares .* add up to 1"),
    ],
)
def test_impossible_chances_are_refused(values: list, shares: list, message: str) -> None:
    response = GivenResponse(np.full((1, 3), 0.5), np.array(values), np.array(shares))
    for ask in (
        lambda: response.gains(response.everybody, 3),
        lambda: response.covers(response.everybody, np.full((1, 1), 0.5), 3),
        lambda: response.counts(response.everybody, 3),
    ):
        with pytest.raises(SettingError, match=message):
            ask()


# Samples ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", [1, 2])
def test_samples_have_the_law_of_the_counts(family: str, seed: int) -> None:
    response = drawn_response(np.random.default_rng(seed), 4, 6, family, 12)
    draws = 20_000
    for person in range(4):
        people = np.full((draws, 1), person, dtype=np.int16)
        luck = named_luck(("law", family, seed, person), draws)
        for coupons in (1, 3, 6):
            expected = response.counts(people[:1], coupons)[0]
            found = np.bincount(response.sample(people, coupons, luck), minlength=coupons + 1) / draws
            error = np.sqrt(np.maximum(expected * (1.0 - expected), 1e-12) / draws)
            assert (np.abs(found - expected) < 5 * error + 1e-9).all()


@given(responses(), SEEDS)
@settings(max_examples=60, deadline=None)
def test_one_more_coupon_brings_one_more_or_nobody(response: GivenResponse, seed: int) -> None:
    people = np.tile(response.everybody, (25, 1))
    luck = named_luck(("one more", seed), len(people))
    levels = response.at_least.shape[1] + 2
    recruits = np.stack([response.sample(people, coupons, luck) for coupons in range(levels + 1)], axis=1)
    assert (recruits[:, 0] == 0).all()
    assert np.isin(np.diff(recruits, axis=1), [0, 1]).all()
    np.testing.assert_array_equal(brings(response, people, levels, luck), np.diff(recruits, axis=1) == 1)
    each = np.random.default_rng(seed).integers(0, levels, len(people))  # people with different numbers of coupons
    np.testing.assert_array_equal(response.sample(people, each, luck), recruits[np.arange(len(people)), each])


def test_any_model_can_say_which_coupons_bring_somebody() -> None:
    """`brings` of a model that has nothing but `sample`."""

    class Alternating:
        def sample(self, covariates, coupons, luck):
            return np.full(len(covariates), (coupons + 1) // 2)

    found = brings(Alternating(), np.zeros((2, 1), dtype=np.int16), 4, named_luck(("alternating",), 2))
    assert found.tolist() == [[True, False, True, False]] * 2


@given(SEEDS)
@settings(max_examples=50, deadline=None)
def test_without_chances_people_bring_what_they_can(seed: int) -> None:
    response = drawn_response(np.random.default_rng(seed), 4, 6, "capacity", 12)
    people, luck = np.tile(response.everybody, (50, 1)), named_luck(("plain", seed), 200)
    capacities = response.capacities(people, luck)
    certain = GivenResponse(response.at_least, np.ones((4, 1)), np.ones((4, 1)))
    for coupons in range(8):
        np.testing.assert_array_equal(response.sample(people, coupons, luck), np.minimum(coupons, capacities))
        np.testing.assert_array_equal(certain.sample(people, coupons, luck), np.minimum(coupons, capacities))


def test_unlimited_capacities_are_no_number_of_coupons() -> None:
    response = GivenResponse(np.ones((1, 1)), np.array([[0.25]]), np.ones((1, 1)), unlimited=True)
    people, luck = np.zeros((3000, 1), dtype=np.int16), named_luck(("unlimited",), 3000)
    assert (response.capacities(people, luck) == UNLIMITED).all()
    recruits = response.sample(people, 400, luck)
    expected = binomial_quantile(luck.uniform("coupons used"), np.full(3000, 400), np.full(3000, 0.25))
    np.testing.assert_array_equal(recruits, expected)
    assert abs(recruits.mean() - 100.0) < 5 * np.sqrt(75.0 / 3000)
