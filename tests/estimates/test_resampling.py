"""Bootstraps: what they count, and that they are unbiased where they should be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_samples import sample_with, yes_no

from peerfront.estimates.estimating import estimate_outcome
from peerfront.estimates.sample import (
    BOOTSTRAPS,
    batches,
    neighbourhood_bootstrap,
    spread_of,
    the_sample,
    tree_bootstrap,
)

trees = st.lists(st.integers(0, 100), min_size=1, max_size=40).map(
    lambda draws: [-1, -1, *(draw % (place + 2) for place, draw in enumerate(draws))]
)


@given(trees, st.integers(0, 1000))
def test_tree_bootstrap_draws_as_many_recruits_as_there_were(recruiter, seed) -> None:
    sample = sample_with(recruiter)
    drawn = tree_bootstrap(sample, 5, np.random.default_rng(seed))
    assert (drawn.people[:, sample.recruiter < 0].sum(axis=1) == (sample.recruiter < 0).sum()).all()
    for person in np.flatnonzero(sample.recruits):
        own = drawn.people[:, sample.recruiter == person].sum(axis=1)
        np.testing.assert_array_equal(own, drawn.people[:, person] * sample.recruits[person])
    np.testing.assert_array_equal(drawn.pairs, np.where(sample.recruiter >= 0, drawn.people, 0.0))


@given(trees, st.integers(0, 1000))
def test_neighbourhood_bootstrap_counts_neighbours_of_those_drawn(recruiter, seed) -> None:
    sample = sample_with(recruiter)
    people = len(sample)
    ties = np.zeros((people, people))
    ties[sample.recruited, sample.recruiter[sample.recruited]] = 1.0
    ties += ties.T
    size = round(people / 2)
    chances = np.full(people, 1 / people)
    drawn = np.random.default_rng(seed).multinomial(size, chances, size=4).astype(np.float64)
    found = neighbourhood_bootstrap(sample, 4, np.random.default_rng(seed))
    np.testing.assert_allclose(found.people, drawn @ ties)
    pairs = np.zeros_like(drawn)
    pairs[:, sample.recruited] = drawn[:, sample.recruited] + drawn[:, sample.recruiter[sample.recruited]]
    np.testing.assert_allclose(found.pairs, pairs)


def test_tree_bootstrap_counts_everybody_once_on_average() -> None:
    sample = sample_with([-1, -1, -1, 0, 0, 0, 1, 3, 3, 7, 7, 7])
    means = tree_bootstrap(sample, 20_000, np.random.default_rng(1)).people
    np.testing.assert_allclose(means.mean(axis=0), 1.0, atol=4 * means.std(axis=0).max() / np.sqrt(20_000))


@pytest.mark.parametrize("kind", BOOTSTRAPS)
def test_batches_give_as_many_as_asked(kind, monkeypatch) -> None:
    monkeypatch.setattr("peerfront.estimates.sample._BATCH_CELLS", 30)
    sample = sample_with([-1, 0, 0, 1, 1, 2, 2])
    sizes = [len(each.people) for each in batches(kind, sample, 11, np.random.default_rng(0))]
    assert sum(sizes) == 11
    assert max(sizes) == 4


def test_the_sample_itself_counts_everybody_once() -> None:
    whole = the_sample(sample_with([-1, 0, 0]))
    assert whole.people.tolist() == [[1, 1, 1]]
    assert whole.pairs.tolist() == [[0, 1, 1]]


def test_intervals_stay_between_0_and_1_and_hold_the_estimate() -> None:
    replicates = np.random.default_rng(0).normal([0.03, 0.5], 0.02, (500, 2))
    spread = spread_of(np.array([0.03, 0.5]), replicates, share=True)
    assert (spread.low > 0).all()
    assert (spread.high < 1).all()
    assert spread.low[1] == pytest.approx(0.5 - 1.96 * 0.02, abs=0.003)
    assert spread.high[0] - 0.03 > 0.03 - spread.low[0]


def test_one_line_of_people_has_no_tree_interval() -> None:
    """One seed and one recruit each: the tree bootstrap draws the same sample every time."""
    sample = sample_with([-1, *range(30)])
    outcome = yes_no(np.arange(31) % 3 == 0)
    table = estimate_outcome(sample, outcome, interval="tree", bootstraps=50).table
    assert table["estimate"].notna().all()
    assert table[["low", "high", "standard_error", "design_effect"]].isna().all(axis=None)


def test_the_same_seed_gives_the_same_numbers() -> None:
    sample, outcome = sample_with([-1, -1, 0, 0, 1, 1, 2, 3, 4, 5]), yes_no([1, 0, 1, 0, 1, 0, 0, 1, 1, 0])
    one, same, other = (estimate_outcome(sample, outcome, bootstraps=40, seed=seed).table for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one["standard_error"].equals(other["standard_error"])
