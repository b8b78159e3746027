"""Bootstraps: what they count, and that they are unbiased where they should be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_samples import sample_with, yes_no

from peerfront.estimates.bootstraps import (
    BOOTSTRAPS,
    CopiedPopulation,
    batches,
    neighbourhood_bootstrap,
    salganik_bootstrap,
    tree_bootstrap,
)
from peerfront.estimates.estimating import estimate_outcome
from peerfront.estimates.sample import spread_of, the_sample
from peerfront.foundation.errors import SettingError

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
    monkeypatch.setattr("peerfront.estimates.bootstraps._BATCH_CELLS", 30)
    sample = sample_with([-1, 0, 0, 1, 1, 2, 2])
    state = np.array([0, 1, 0, 1, 0, 1, 0])
    sizes = [len(each.people) for each in batches(kind, sample, state, 50, 11, np.random.default_rng(0))]
    assert sum(sizes) == 11
    assert max(sizes) == 4


def grown(people: int, seed: int = 0):
    """A sample of two states whose people recruit their like, and everybody's state."""
    rng = np.random.default_rng(seed)
    recruiter = [-1 if place < 3 else int(rng.integers(place // 3, (place + 1) // 2)) for place in range(people)]
    state = np.zeros(people, dtype=np.int64)
    for place, by in enumerate(recruiter):
        state[place] = state[by] if by >= 0 and rng.random() < 0.6 else rng.random() < 0.4
    return sample_with(recruiter, size=rng.integers(1, 12, people)), state


def transitions(sample, state, multiplicity):
    """Recruitments from state to state, [replicates, states, states]."""
    child = sample.recruited
    cells = [(state[sample.recruiter[child]] == s) & (state[child] == t) for s in (0, 1) for t in (0, 1)]
    return np.stack([multiplicity[:, child[cell]].sum(axis=1) for cell in cells], axis=1).reshape(-1, 2, 2)


def test_salganiks_bootstrap_walks_by_the_samples_own_transitions() -> None:
    sample, state = grown(200)
    drawn = salganik_bootstrap(sample, state, 3000, np.random.default_rng(1))
    assert (drawn.people.sum(axis=1) == len(sample.recruited)).all()
    assert (drawn.people[:, sample.recruiter < 0] == 0).all()
    own = transitions(sample, state, the_sample(sample).pairs)[0]
    found = transitions(sample, state, drawn.pairs).sum(axis=0)
    shares = found / found.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, own / own.sum(axis=1, keepdims=True), atol=0.005)


def test_the_ss_bootstrap_draws_nobody_more_often_than_there_are_copies() -> None:
    sample, state = grown(200)
    copied = CopiedPopulation.of(sample, state, 320)
    seeds = int(sample.seed.sum())
    assert copied.copies.sum() == pytest.approx(320 - seeds, abs=20)
    drawn = copied.draw(400, np.random.default_rng(1))
    recruits = ~sample.seed
    assert (drawn.people[:, recruits] <= copied.copies[recruits]).all()
    assert (drawn.people[:, recruits].sum(axis=1) == 200 - seeds).all()
    np.testing.assert_allclose(drawn.pairs.sum(axis=1), len(sample.recruited))
    assert (drawn.people[:, sample.seed] == 1).all()


def test_the_ss_bootstrap_has_less_to_vary_the_more_of_the_population_came() -> None:
    sample, state = grown(200)
    outcome = yes_no(state)
    errors = []
    for population in (100_000, 400, 210):
        table = estimate_outcome(sample, outcome, population=population, interval="ss", bootstraps=300).table
        errors.append(table.set_index(["category", "estimator"]).loc[("yes", "SS"), "standard_error"])
    assert errors[0] > errors[1] > 2 * errors[2]


def test_the_ss_bootstrap_needs_the_population() -> None:
    sample, state = grown(50)
    with pytest.raises(SettingError, match="Give it .population"):
        estimate_outcome(sample, yes_no(state), interval="ss", bootstraps=10)


@pytest.mark.parametrize("kind", BOOTSTRAPS)
def test_weights_and_their_replicates_give_every_estimate_and_standard_error(kind) -> None:
    sample, state = grown(150)
    values = state.astype(float)
    values[40:45] = np.nan
    made = estimate_outcome(sample, yes_no(values), population=2000, interval=kind, bootstraps=40)
    known = values[~np.isnan(values)]
    for row in made.table[made.table["category"] == "yes"].itertuples():
        weights = made.weighing.weights(row.estimator)
        assert weights.sum() == pytest.approx(2000)
        assert weights @ known / weights.sum() == pytest.approx(row.estimate, rel=1e-12)
        replicates = made.weighing.replicate_weights(row.estimator)
        assert replicates.shape[1] == len(known)
        assert len(replicates) == 40 or kind == "tree", "only the tree bootstrap draws samples of seeds alone"
        shares = replicates @ known / replicates.sum(axis=1)
        assert np.std(shares, ddof=1) == pytest.approx(row.standard_error, rel=1e-10)


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
