"""The appendix's estimator of inheritance probabilities (C.1), against the kernel it is meant for."""

import numpy as np
import pytest

from peerfront.foundation.covariates import UNKNOWN, Schema, uniform_codes
from peerfront.foundation.randomness import named_luck
from peerfront.simulation.catalog import make_world
from peerfront.simulation.icpsr22140 import INHERITANCE, Inheritance
from peerfront.simulation.simulated_history import HistorySettings, simulate_history
from peerfront.simulation.study_like import RECRUITS, InheritanceElseShares, estimate_inheritance, recruit_shares

SMALL = Schema.of_sizes({"a": 2, "b": 3, "c": 7, "d": 20})
P = np.array([0.0, 0.3, 0.75, 0.98])


def pairs(kernel, count=20_000, name="pairs"):
    luck = named_luck((name,), count)
    recruiters = uniform_codes(SMALL, luck.uniforms("anybody", 4) ** 2)  # uneven: small codes are common
    return recruiters, kernel.sample(recruiters, luck)


def test_the_papers_table_is_found_again_from_simulated_pairs() -> None:
    history = simulate_history(make_world("icpsr22140"), HistorySettings(triples=0, pairs=20_000))
    found = estimate_inheritance(history.schema, history.parents, history.children)
    truth = np.array([INHERITANCE[name] for name in history.schema.names])
    assert (np.abs(found.estimates - truth) < 4 * found.standard_errors).all()
    assert (found.standard_errors < 0.01).all()


def test_errors_are_those_of_repeated_samples() -> None:
    estimates, errors = [], []
    for number in range(200):
        found = estimate_inheritance(SMALL, *pairs(Inheritance(SMALL, P), 300, f"sample {number}"))
        estimates.append(found.estimates)
        errors.append(found.standard_errors)
    spread = np.std(estimates, axis=0, ddof=1)
    np.testing.assert_allclose(np.mean(errors, axis=0)[:3], spread[:3], rtol=0.2)
    assert np.mean(errors, axis=0)[3] >= spread[3]  # nearly everybody agrees: the error is on the safe side
    assert (np.abs(np.mean(estimates, axis=0) - P) < 4 * spread / np.sqrt(200)).all()


def test_the_appendix_identity() -> None:
    """match = p + (1 - p) / c, solved for p: exact where pairs agree exactly as often as the kernel says."""
    schema = Schema.of_sizes({"a": 4})
    recruits = np.repeat([0, 1, 2, 3], [70, 10, 10, 10]).astype(np.int16)[:, None]  # p = .6: .6 + .4 / 4 = .7 agree
    found = estimate_inheritance(schema, np.zeros((100, 1), dtype=np.int16), recruits)
    assert found.match == pytest.approx(0.7)
    assert found.chance == 0.25
    assert found.estimates == pytest.approx((0.7 - 1 / 4) / (1 - 1 / 4)) == pytest.approx(0.6)


def test_missing_values_leave_a_pair_out_of_the_field_only() -> None:
    recruiters, recruits = pairs(Inheritance(SMALL, P), 1000)
    recruiters[:400, 1] = UNKNOWN
    recruits[300:500, 1] = UNKNOWN
    found = estimate_inheritance(SMALL, recruiters, recruits)
    assert found.pairs.tolist() == [1000, 500, 1000, 1000]
    rest = estimate_inheritance(SMALL, recruiters[500:], recruits[500:])
    assert found.estimates[1] == rest.estimates[1]


def test_people_who_avoid_their_like_inherit_nothing() -> None:
    schema = Schema.of_sizes({"a": 2})
    codes = np.arange(50, dtype=np.int16)[:, None] % 2
    found = estimate_inheritance(schema, codes, 1 - codes)
    assert found.estimates[0] == -1.0
    assert found.probabilities[0] == 0.0


def test_what_says_nothing_is_said_to_say_nothing() -> None:
    schema = Schema.of_sizes({"only": 1, "unknown": 3})
    codes = np.tile(np.array([0, UNKNOWN], dtype=np.int16), (9, 1))
    for found in (
        estimate_inheritance(schema, codes, codes),
        estimate_inheritance(schema, codes, codes, otherwise=RECRUITS),
        estimate_inheritance(schema, codes[:0], codes[:0]),
    ):
        assert np.isnan(found.estimates).all()
        assert np.isnan(found.standard_errors).all()
        assert (found.probabilities == 0.0).all()


def test_three_pairs_that_agree_are_not_certain() -> None:
    codes = np.zeros((3, 1), dtype=np.int16)
    found = estimate_inheritance(Schema.of_sizes({"a": 2}), codes, codes)
    assert found.estimates[0] == 1.0
    assert found.standard_errors[0] > 0.2


def test_recruits_of_one_recruiter_who_are_alike_count_for_less() -> None:
    recruiters, recruits = pairs(Inheritance(SMALL, P), 400)
    apart = estimate_inheritance(SMALL, recruiters, recruits, groups=np.arange(400))
    four_times = [np.repeat(codes, 4, axis=0) for codes in (recruiters, recruits)]
    together = estimate_inheritance(SMALL, *four_times, groups=np.repeat(np.arange(400), 4))
    np.testing.assert_array_equal(together.estimates, apart.estimates)
    np.testing.assert_allclose(together.standard_errors[:3], apart.standard_errors[:3], rtol=0.02)
    plain = estimate_inheritance(SMALL, *four_times)
    np.testing.assert_allclose(2 * plain.standard_errors[:3], together.standard_errors[:3], rtol=0.02)


def test_with_shares_of_the_recruits_the_other_kernel_is_found_again() -> None:
    """Recruiters and recruits of the same shares: what is not inherited is drawn from just these."""
    recruiters, _ = pairs(Inheritance(SMALL, P))
    shares = recruit_shares(SMALL, recruiters)
    kernel = InheritanceElseShares(SMALL, P, shares)
    recruits = kernel.sample(recruiters, named_luck(("pairs of shares",), len(recruiters)))
    SMALL.check(recruits)
    for mine, theirs in zip(recruit_shares(SMALL, recruits), shares, strict=True):
        assert mine.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(mine, theirs, atol=0.02)
    found = estimate_inheritance(SMALL, recruiters, recruits, otherwise=RECRUITS)
    assert (np.abs(found.estimates - P) < 4 * found.standard_errors).all()
    evenly = InheritanceElseShares(SMALL, P, tuple(np.full(size, 1 / size) for size in SMALL.sizes))
    luck = named_luck(("even shares",), len(recruiters))
    np.testing.assert_array_equal(evenly.sample(recruiters, luck), Inheritance(SMALL, P).sample(recruiters, luck))
