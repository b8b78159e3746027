"""The estimators against R's numbers, against closed forms, and against networks whose truth is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_samples import fauxmadrona, sample_by_group, sample_with, society_with_truth, yes_no

from peerfront.estimates.estimators import (
    MEAN,
    RDS_I,
    RDS_II,
    SS,
    STRATIFIED,
    STRATIFIED_SS,
    Impossible,
    estimators_for,
    not_below,
)
from peerfront.estimates.recruitment_chain import Depletion, Pairs, balanced, inclusion_chances, irreducible, stationary
from peerfront.estimates.sample import Outcome, Sample, the_sample
from peerfront.foundation.errors import SettingError


def shares(sample: Sample, outcome: Outcome, population=None) -> dict[str, np.ndarray]:
    found = {}
    for estimator in estimators_for(sample, outcome, population):
        if not isinstance(estimator, Impossible):
            totals = estimator.totals(the_sample(sample), outcome.bands, len(outcome.band_names))[0]
            found[estimator.name] = totals / totals.sum()
    return found


def test_fauxmadrona_has_the_numbers_of_r(shared_data) -> None:
    found = {name: share[1] for name, share in shares(*fauxmadrona(shared_data), population=1000).items()}
    assert round(found[MEAN], 4) == 0.2592
    assert round(found[RDS_I], 4) == 0.1592
    assert round(found[RDS_II], 4) == 0.1644
    assert found[SS] == pytest.approx(0.1941, abs=0.0005)  # R simulates it


def test_faux_transitions_have_r_s_stationary_share() -> None:
    counts = np.array([[[39.0, 82.0], [79.0, 188.0]]])
    assert stationary(counts)[0, 0] == pytest.approx(0.303913776, abs=5e-10)


def test_stratified_successive_sampling_finds_the_truth_of_fauxmadrona(shared_data) -> None:
    """Half of the population is sampled: plain RDS-I says .159, the truth is .200."""
    sample, outcome = fauxmadrona(shared_data)
    halves = Sample(
        sample.recruiter, sample.seed, sample.network_size, sample.arrival, sample.coupons,
        np.arange(len(sample)) % 2, ("one half", "the other half"),
    )  # fmt: skip
    assert shares(halves, outcome, 1000)[STRATIFIED_SS][1] == pytest.approx(0.194, abs=0.003)


def tables_of(states: int):
    row = st.lists(st.integers(1, 60), min_size=states, max_size=states)
    return st.lists(row, min_size=states, max_size=states)


counts_of_chains = st.integers(2, 5).flatmap(tables_of)


@given(counts_of_chains)
def test_the_stationary_distribution_is_one(counts) -> None:
    counts = np.array(counts, dtype=np.float64)
    shares = stationary(counts[None])[0]
    np.testing.assert_allclose(shares @ (counts / counts.sum(axis=1, keepdims=True)), shares, atol=1e-12)
    assert shares.sum() == pytest.approx(1.0)


@given(counts_of_chains, st.data())
def test_more_coupons_for_a_state_leave_its_stationary_share(counts, data) -> None:
    """Recruits of a state multiplied (more coupons) change no row of shares, so neither its stationary distribution."""
    counts = np.array(counts, dtype=np.float64)
    times = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(counts), max_size=len(counts))))
    np.testing.assert_allclose(stationary((counts * times[:, None])[None]), stationary(counts[None]), atol=1e-10)


@given(st.integers(2, 4), st.integers(0, 10_000), st.lists(st.integers(1, 4), min_size=4, max_size=4))
def test_a_balanced_chain_is_found_again_whatever_the_coupons(states, seed, times) -> None:
    """Counts that are exactly those of mutual ties, rows multiplied by coupons: the ties come out."""
    rng = np.random.default_rng(seed)
    ties = rng.uniform(0.2, 1.0, (states, states))
    ties = ties + ties.T
    counts = np.rint(400 * ties / ties.sum(axis=1, keepdims=True)) * np.array(times[:states])[:, None]
    source, target = (np.repeat(np.indices((states, states))[i].ravel(), counts.ravel().astype(int)) for i in (0, 1))
    pairs = Pairs(np.arange(len(source)), source, target, states)
    found = balanced(pairs, np.ones((1, len(source))), Depletion.none(len(source), states))[0]
    np.testing.assert_allclose(found, found.T, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), ties.sum(axis=1) / ties.sum(), atol=0.02)


def test_irreducible() -> None:
    assert irreducible(np.array([[0.0, 1.0], [2.0, 0.0]]))
    assert not irreducible(np.array([[5.0, 1.0], [0.0, 4.0]]))


def test_equal_network_sizes_make_rds_ii_the_mean() -> None:
    sample, outcome = sample_with([-1, 0, 0, 1, 1, 2]), yes_no([1, 0, 1, 1, 0, 0])
    found = shares(sample, outcome)
    np.testing.assert_allclose(found[RDS_II], found[MEAN])
    assert found[MEAN][1] == pytest.approx(2 / 5)  # the seed is left out


def test_inclusion_chances_add_up_to_the_population_and_agree_with_simulation() -> None:
    rng = np.random.default_rng(3)
    size = np.repeat([2.0, 5.0, 12.0], [150, 100, 50])  # a population of 300
    drawn = np.zeros((400, 300), dtype=bool)
    for row in drawn:  # successive sampling: exponential clocks with these rates, the first 120 to ring
        row[np.argsort(rng.exponential(1.0, 300) / size)[:120]] = True
    simulated = np.array([drawn[:, size == each].mean() for each in (2.0, 5.0, 12.0)])
    sample = np.repeat([2.0, 5.0, 12.0], np.rint(simulated * [150, 100, 50]).astype(int))
    chance = inclusion_chances(sample, 300)
    assert (1.0 / chance).sum() == pytest.approx(300.0)
    np.testing.assert_allclose([chance[sample == each][0] for each in (2.0, 5.0, 12.0)], simulated, atol=0.015)


def test_a_whole_population_counts_everybody_once() -> None:
    np.testing.assert_array_equal(inclusion_chances(np.array([1.0, 5.0, 9.0]), 3), 1.0)


def test_coupons_by_a_covariate_bias_rds_ii_and_not_the_stratified_estimates() -> None:
    """20 samples of 400 from 4,000 people: standard errors of the means of about .007."""
    society, yes, in_a = society_with_truth(people=4000, prevalence=0.2, homophily=1.5, draw=1)
    rng = np.random.default_rng(5)
    found = [shares(*sample_by_group(society, yes, in_a, 400, rng), population=4000) for _ in range(20)]
    errors = {name: np.mean([each[name][1] for each in found]) - yes.mean() for name in found[0]}
    assert errors[RDS_II] > 0.06
    assert errors[RDS_I] > 0.03
    assert abs(errors[STRATIFIED]) < 0.025
    assert abs(errors[STRATIFIED_SS]) < 0.02


def test_half_of_a_population_is_no_problem_for_successive_sampling_by_state() -> None:
    society, yes, in_a = society_with_truth(people=1000, prevalence=0.2, homophily=1.5, activity=1.5, draw=2)
    rng = np.random.default_rng(6)
    found = [shares(*sample_by_group(society, yes, in_a, 500, rng), population=1000) for _ in range(15)]
    errors = {name: np.mean([each[name][1] for each in found]) - yes.mean() for name in found[0]}
    assert errors[STRATIFIED] < -0.04  # the favoured group runs out
    assert abs(errors[STRATIFIED_SS]) < 0.015


@pytest.mark.parametrize("population", [500, 505, 520, 560, 1000])
def test_nobody_stands_for_less_than_themselves(population, shared_data) -> None:
    """The chain alone says 89 people with the disease where 127 were recruited and only 500 people are there."""
    sample, outcome = fauxmadrona(shared_data)
    (chain,) = (each for each in estimators_for(sample, outcome, population) if each.name == STRATIFIED_SS)
    weights = chain.of_people(the_sample(sample))[0]
    weights *= (population - sample.seed.sum()) / weights.sum()
    assert weights[~sample.seed].min() >= 1.0 - 1e-6
    if population == len(sample):
        plain = outcome.values[~sample.seed].mean()
        assert shares(sample, outcome, population)[STRATIFIED_SS][1] == pytest.approx(plain)


sizes_and_least = st.integers(1, 6).flatmap(
    lambda states: st.tuples(*(st.lists(st.floats(0.01, 100), min_size=states, max_size=states) for _ in range(2)))
)


@given(sizes_and_least, st.floats(0.0, 1.0))
def test_shares_are_raised_to_the_least_and_the_others_keep_their_proportions(both, part) -> None:
    sizes, least = map(np.array, both)
    least = least / least.sum() * part
    found = not_below(least, sizes)
    assert found.sum() == pytest.approx(1.0)
    assert (found >= least - 1e-12).all()
    free = found > least + 1e-9
    times = found[free] / sizes[free]
    np.testing.assert_allclose(times, times.max(initial=0.0), rtol=1e-6)
    raised = ~free & (least > 0)
    assert (sizes[raised] * times.max(initial=0.0) <= least[raised] + 1e-8).all(), "only those that were below"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([1, 0, 0, 0, 0, 0], "nobody with yes was ever recruited"),
        ([0, 0, 0, 0, 1, 1], "nobody with yes brought anybody"),
    ],
)
def test_a_chain_that_is_not_irreducible_is_refused_in_words(values, why) -> None:
    estimators = {each.name: each for each in estimators_for(sample_with([-1, 0, 0, 1, 1, 2]), yes_no(values))}
    assert isinstance(estimators[RDS_I], Impossible)
    assert why in str(estimators[RDS_I].why)


def test_a_stratum_that_brought_nobody_is_named() -> None:
    sample = sample_with([-1, 0, 0, 1, 1, 2, 3], stratum=[0, 0, 0, 0, 1, 1, 1], strata=("many", "none"))
    made = {each.name: each for each in estimators_for(sample, yes_no([1, 0, 1, 1, 0, 0, 1]))}
    assert isinstance(made[STRATIFIED], Impossible)
    assert "stratum none" in str(made[STRATIFIED].why)


def test_a_number_is_averaged_with_the_weights_of_its_bands() -> None:
    sample = sample_with([-1, 0, 0, 1, 1, 2, 2], size=[4, 2, 8, 4, 4, 2, 8])
    age = Outcome("age", np.array([30.0, 20, 40, 50, 22, 35, 44]))
    by_name = {each.name: each for each in estimators_for(sample, age)}
    codes = np.zeros(len(sample), dtype=np.int64)
    whole = the_sample(sample)
    above = by_name[RDS_II].totals(whole, codes, 1, age.values)[0, 0]
    below = by_name[RDS_II].totals(whole, codes, 1)[0, 0]
    weights = 1 / sample.network_size[1:]
    assert above / below == pytest.approx((weights * age.values[1:]).sum() / weights.sum())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recruiter": [-1, 5, 0]}, "Recruiters must be places"),
        ({"size": [1, 0, 2]}, "above 0"),
        ({"stratum": [0, 0, 3]}, "Strata must be places"),
        ({"recruiter": [-1, 2, 1]}, "circle"),
    ],
)
def test_impossible_samples_are_refused(change, message) -> None:
    with pytest.raises(SettingError, match=message):
        sample_with(**{"recruiter": [-1, 0, 0], **change})
