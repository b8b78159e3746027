"""A world like a study, from its history: capacities fit the counts, first recruits are its people, p_k its pairs."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from peerfront.foundation.counts import censored_log_likelihood, poisson_survival
from peerfront.foundation.covariates import UNKNOWN
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.foundation.randomness import named_luck
from peerfront.problem import History
from peerfront.simulation.demo_study import demo_world
from peerfront.simulation.simulated_history import HistorySettings, simulate_history
from peerfront.simulation.study_like import StudyWorldSettings, censored_mean, study_like

WORLD = demo_world()
HISTORY = simulate_history(WORLD, HistorySettings(triples=2000, pairs=6000, max_coupons=3))
PEOPLE = WORLD.population(named_luck(("people",), 400))
TRUTH = WORLD.offspring.probabilities


def with_counts(coupons, recruits) -> History:
    rows = HISTORY.referrers[: len(coupons)]
    return History(HISTORY.schema, rows, np.array(coupons), np.array(recruits), HISTORY.parents, HISTORY.children)


def expected_recruits(world, history=HISTORY) -> float:
    given = np.arange(1, history.coupons.max() + 1) <= history.coupons[:, None]
    return float(poisson_survival(world.response.rates(history.referrers), history.coupons.max())[given].sum())


@pytest.mark.parametrize("seed", range(6))
def test_the_censored_mean_is_most_likely(seed) -> None:
    rng = np.random.default_rng(seed)
    coupons = rng.integers(0, 6, 80)
    recruits = np.minimum(rng.poisson(rng.choice([0.1, 1.0, 4.0]), 80), coupons)
    mean = censored_mean(coupons, recruits)

    def unlikely(log_rate: float) -> float:
        rates = np.full(80, np.exp(log_rate))
        return -float(censored_log_likelihood("poisson", coupons, recruits, rates, 1.0, 0.0).sum())

    best = minimize_scalar(unlikely, bounds=(-6.0, 6.0), method="bounded", options={"xatol": 1e-9})
    assert np.log(mean) == pytest.approx(best.x, abs=1e-4)


def test_the_censored_mean_at_its_ends() -> None:
    assert censored_mean(np.array([2, 3]), np.array([0, 0])) == 0.0
    assert censored_mean(np.array([2, 3, 0]), np.array([2, 3, 0])) == np.inf
    assert censored_mean(np.array([9, 9]), np.array([1, 2])) == pytest.approx(1.5)  # nothing is censored


@pytest.mark.parametrize("draw", range(3))
@pytest.mark.parametrize("sigma", [0.0, 0.2, 1.0, 3.0])
def test_the_study_played_again_brings_as_many(sigma, draw) -> None:
    world = study_like(HISTORY, PEOPLE, StudyWorldSettings(draw=draw, sigma=sigma))
    assert expected_recruits(world) == pytest.approx(HISTORY.recruits.sum(), rel=1e-9)
    mean = study_like(HISTORY, PEOPLE, StudyWorldSettings(draw=draw, sigma=sigma, calibrate="mean"))
    assert mean.mean_rate == pytest.approx(censored_mean(HISTORY.coupons, HISTORY.recruits), rel=1e-9)
    assert mean.mean_rate <= world.mean_rate * 1.01  # the mean alone brings fewer: the best people run out of coupons
    given = study_like(HISTORY, PEOPLE, StudyWorldSettings(draw=draw, sigma=sigma, mean_capacity=2.0))
    assert given.response.rates(HISTORY.referrers).mean() == pytest.approx(2.0)


@pytest.mark.parametrize("otherwise", ["uniform", "recruits"])
def test_inheritance_and_people_are_the_studys(otherwise) -> None:
    world = study_like(HISTORY, PEOPLE, StudyWorldSettings(otherwise=otherwise))
    assert (np.abs(world.offspring.probabilities - TRUTH) < 4 * world.inheritance.standard_errors).all()
    known = {row.tobytes() for row in PEOPLE}
    assert {row.tobytes() for row in world.population(named_luck(("first",), 300))} <= known
    other = study_like(HISTORY, PEOPLE, StudyWorldSettings(draw=1, otherwise=otherwise))
    assert not np.array_equal(other.response.weights, world.response.weights)
    assert np.array_equal(other.offspring.probabilities, world.offspring.probabilities)


def test_answers_that_are_not_known_are_filled_with_those_of_others() -> None:
    people = PEOPLE.copy()
    people[::3, 0] = UNKNOWN
    people[people[:, 2] == 1, 2] = 0  # nobody of category 1 is left to take an answer from
    people[1::3, 2] = UNKNOWN
    people[:, 4] = UNKNOWN
    world = study_like(HISTORY, people)
    pool = world.seed_model.members
    known = people >= 0
    assert np.array_equal(pool[known], people[known])
    world.schema.check(pool)
    assert pool.min() == 0
    assert not (pool[:, 2] == 1).any()
    assert set(pool[:, 4]) == {0, 1, 2}  # nobody's answer is known: any of them
    assert np.array_equal(study_like(HISTORY, people).seed_model.members, pool)


def test_the_world_says_what_it_took() -> None:
    children = HISTORY.children.copy()
    children[:, 1] = (HISTORY.parents[:, 1] + 1) % 4
    children[:, 3] = UNKNOWN
    odd = History(HISTORY.schema, HISTORY.referrers, HISTORY.coupons, HISTORY.recruits, HISTORY.parents, children)
    world = study_like(odd, PEOPLE)
    assert world.offspring.probabilities[1] == world.offspring.probabilities[3] == 0.0
    facts = " ".join(map(str, world.facts))
    assert f"Mean capacity {world.mean_rate:.2f}." in facts
    assert "agree less than by chance: age_group." in facts
    assert "the pairs say nothing about it: housing." in facts


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (with_counts([3, 2], [3, 2]), r"everybody used all their coupons.*mean_capacity=5"),
        (with_counts([3, 2], [0, 0]), "nobody with usable counts brought anybody"),
        (with_counts([0, 0], [0, 0]), "nobody with usable recruitment counts"),
        (
            History(HISTORY.schema, HISTORY.referrers, HISTORY.coupons, HISTORY.recruits, PEOPLE[:0], PEOPLE[:0]),
            "no recruit whose recruiter is known",
        ),
    ],
)
def test_studies_that_say_too_little_are_refused(history, message) -> None:
    with pytest.raises(DataFileError, match=f"study.csv.*{message}"):
        study_like(history, PEOPLE, source="study.csv")


def test_a_mean_of_ones_own_serves_where_everybody_used_everything() -> None:
    world = study_like(with_counts([3, 2], [3, 2]), PEOPLE, StudyWorldSettings(mean_capacity=4.0))
    assert world.mean_rate == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"sigma": -1}, SettingError, "sigma must be a number of at least 0"),
        ({"mean_capacity": 0}, SettingError, "mean capacity must be a number above 0"),
        ({"calibrate": "means"}, UnknownName, "Did you mean 'mean'"),
        ({"otherwise": "uniformly"}, UnknownName, "Did you mean 'uniform'"),
    ],
)
def test_bad_settings(settings, error, message) -> None:
    with pytest.raises(error, match=message):
        StudyWorldSettings(**settings)


def test_open_coupons_are_no_failures() -> None:
    """A study of which half of the recruits have come makes the world that the whole of it makes, within its error."""
    rng = np.random.default_rng(5)
    seen = rng.binomial(HISTORY.recruits, 0.5)
    early = dataclasses.replace(HISTORY, recruits=seen, exposure=np.full(len(seen), 0.5))
    world = study_like(early, PEOPLE, StudyWorldSettings(), source="early")
    assert expected_recruits(world) == pytest.approx(2 * seen.sum(), rel=1e-6)
    whole = HISTORY.recruits.sum()
    assert expected_recruits(world) == pytest.approx(whole, abs=3 * np.sqrt(whole)), "2 * Binomial(whole, .5)"
    with pytest.raises(SettingError, match="still open"):
        study_like(early, PEOPLE, StudyWorldSettings(calibrate="mean"), source="early")
