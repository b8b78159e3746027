"""Random effects: what earlier studies count, and that they count less the more they differ."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerfront.models.pooling import pooled

THREE = (0.0, 0.05, -0.05), (0.08, 0.08, 0.08)


def test_a_study_that_says_nothing_takes_what_the_others_say() -> None:
    result = pooled(7.0, np.inf, *THREE, 0.3)
    assert result.mean == pytest.approx(0.0, abs=0.01)
    assert result.prior_share == 1.0
    assert 0.05 < result.error < 0.4  # as far as studies differ, not as sure as the three are


def test_without_earlier_studies_nothing_changes() -> None:
    result = pooled(1.5, 0.2, [], [], 0.3)
    assert (result.mean, result.error, result.prior_share) == (1.5, 0.2, 0.0)


def test_earlier_studies_count_as_far_as_they_agree() -> None:
    agree = pooled(0.1, 0.2, *THREE, 0.3)
    differ = pooled(0.1, 0.2, (0.9, -0.8, 0.2), THREE[1], 0.3)
    opposed = pooled(1.6, 0.2, *THREE, 0.3)  # they agree with each other, and not with the new study
    assert agree.prior_share > 0.5 > differ.prior_share
    assert agree.error < 0.2
    assert agree.prior_share > opposed.prior_share
    assert opposed.mean > 1.2  # mostly its own
    assert agree.between < differ.between


@given(
    own=st.floats(-2, 2),
    error=st.floats(0.05, 1.0),
    others=st.lists(st.floats(-2, 2), min_size=1, max_size=6),
    shift=st.floats(-5, 5),
)
@settings(max_examples=60, deadline=None)
def test_it_lies_between_and_moves_with_its_scale(own: float, error: float, others: list[float], shift: float) -> None:
    errors = [0.1] * len(others)
    result = pooled(own, error, others, errors, 0.3)
    assert min(own, *others) - 1e-9 <= result.mean <= max(own, *others) + 1e-9
    assert 0.0 < result.prior_share < 1.0
    moved = pooled(own + shift, error, [each + shift for each in others], errors, 0.3)
    assert moved.mean == pytest.approx(result.mean + shift, abs=1e-9)
    assert moved.error == pytest.approx(result.error, rel=1e-6)


def test_the_error_is_honest_where_studies_differ_as_the_prior_has_it() -> None:
    rng = np.random.default_rng(8)
    misses = []
    for _ in range(400):
        spread = abs(rng.normal(0.0, 0.3))
        true = rng.normal(0.0, spread, 4)
        seen = true + rng.normal(0.0, [0.2, 0.1, 0.1, 0.1])
        result = pooled(float(seen[0]), 0.2, seen[1:].tolist(), [0.1] * 3, 0.3)
        misses.append((result.mean - true[0]) / result.error)
    assert 0.85 < float(np.std(misses)) < 1.15
    assert abs(float(np.mean(misses))) < 0.2
