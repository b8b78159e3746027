"""Plans whose stories are weighed by the study's own counts, and coupons given at random to learn from."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.planner import Planner
from peerfront.gfp.story import Story
from peerfront.gfp.surrogate import LaplaceSettings, PersonInputs, SurrogateSettings
from peerfront.gfp.training import LaplaceTrainer, Surrogate
from peerfront.gfp.updating import (
    Design,
    designs,
    log_likelihoods,
    plan_with_weights,
    play_updating,
    updated_weights,
    worth_of_designs,
)
from peerfront.problem import Allocation, Frontier, Rules, State, rollout
from peerfront.simulation.catalog import make_world
from support import within

STORIES = ("capacity", "per_coupon")
WORLDS = [make_world(f"bridge:response={name}") for name in STORIES]
RULES = Rules(20, 6, 4, 3)
LUCK = named_luck(("updating",), 60)


def a_story(number: int, weight: float) -> Story:
    """A story of the bridge with a value that knows the deadline and has learned nothing."""
    world = WORLDS[number]
    inputs = PersonInputs(world.schema, world.response)
    value = Surrogate(inputs, RULES.budget, SurrogateSettings(latent=4, deadline=True), number, RULES.rounds).freeze()
    people = world.population(named_luck(("people",), 64))
    luck = named_luck(("recruits",), 64)
    embeddings = LaplaceTrainer(inputs, world.offspring, people, 4, LaplaceSettings(steps=20), luck, 0).follow(value)
    return Story(world.response, value, embeddings, weight, STORIES[number])


PLANNER = Planner((a_story(0, 0.3), a_story(1, 0.7)), 0.9)


@pytest.mark.parametrize("weights", [(0.3, 0.7), (0.5, 0.5), (1.0, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize("least", [0, 1])
def test_weights_that_are_not_updated_are_the_planner_bit_for_bit(weights, least) -> None:
    stories = tuple(replace(story, weight=weight) for story, weight in zip(PLANNER.stories, weights, strict=True))
    planner = Planner(stories, 0.9, least)
    for world in WORLDS:
        played = play_updating(world, planner, RULES, LUCK, updates=False)
        expected = rollout(world, planner.weighted(weights), RULES, LUCK)
        assert np.array_equal(played.trajectories.recruits, expected.recruits)
        assert np.array_equal(played.trajectories.spend, expected.spend)
        assert (played.weights == np.array(weights)).all()
    assert played.weights.shape == (60, 5, 2)


def test_each_state_is_planned_with_its_own_weights(monkeypatch) -> None:
    states = [
        State(20 - n, Frontier.of(WORLDS[0].population(named_luck(("state", n), 3 + n))), n % 4, RULES)
        for n in range(9)
    ]
    weights = named_luck(("weights",), 9).uniforms("w", 2)
    weights /= weights.sum(axis=1, keepdims=True)
    alone = [
        PLANNER.weighted(own.tolist()).allocate(state, LUCK.row(0)).coupons.tolist()
        for state, own in zip(states, weights, strict=True)
    ]
    assert [plan.coupons.tolist() for plan in plan_with_weights(PLANNER, states, weights)] == alone
    for limit, value in (("updating._MOST_ENTRIES", 500), ("planner.MOST_WORK_EXACT", 0)):
        with monkeypatch.context() as smaller:
            smaller.setattr(f"peerfront.gfp.{limit}", value)
            planned = plan_with_weights(PLANNER, states, weights)
            by_price = [PLANNER.weighted(own.tolist()) for own in weights]
            expected = [one.allocate(state, LUCK.row(0)) for one, state in zip(by_price, states, strict=True)]
            assert [plan.coupons.tolist() for plan in planned] == [plan.coupons.tolist() for plan in expected]
    with pytest.raises(SettingError, match="one for each story in each state"):
        plan_with_weights(PLANNER, states, weights[:, :1])


def test_weights_follow_bayes() -> None:
    people = np.array([[0], [1], [2], [2]], dtype=np.int16)
    coupons, recruits = np.array([3, 1, 2, 0]), np.array([2, 0, 2, 0])
    logs = log_likelihoods(PLANNER, people, coupons, recruits)
    plain = np.array(
        [
            [
                np.log(story.response.counts(people[i : i + 1], k)[0, y]) if k else 0.0
                for story in PLANNER.stories
            ]
            for i, (k, y) in enumerate(zip(coupons.tolist(), recruits.tolist(), strict=True))
        ]
    )  # fmt: skip
    assert np.allclose(logs, plain)
    assert (logs[3] == 0.0).all()
    likelihoods = np.exp(logs.sum(axis=0))
    expected = np.array([0.3, 0.7]) * likelihoods / (np.array([0.3, 0.7]) @ likelihoods)
    assert np.allclose(updated_weights(np.array([0.3, 0.7]), logs.sum(axis=0)[None])[0], expected)
    far = updated_weights(np.array([0.3, 0.7]), np.array([[-5000.0, -1.0], [-9000.0, -9000.0]]))
    assert np.allclose(far, [[0.0, 1.0], [0.3, 0.7]])


@pytest.mark.parametrize("true", [0, 1])
def test_the_true_story_gains_weight(true) -> None:
    even = Planner(tuple(replace(story, weight=0.5) for story in PLANNER.stories), 0.9)
    luck = named_luck(("true story",), 300)
    plain = play_updating(WORLDS[true], even, RULES, luck)
    assert (plain.weights[:, 0] == 0.5).all()
    assert np.allclose(plain.weights.sum(axis=2), 1.0)
    after = plain.weights[:, -1, true]
    assert after.mean() > 0.5 + 4 * after.std() / np.sqrt(300)
    # Among episodes that end with a weight of w, the story is true in a share w: both stories, evenly often.
    other = play_updating(WORLDS[1 - true], even, RULES, luck).weights[:, -1, true]
    calibration = np.concatenate([after - 1.0, other])
    sure = np.concatenate([after, other])
    high = sure > 0.7
    assert abs(calibration[high].mean()) < 4 * calibration[high].std() / np.sqrt(high.sum()) + 0.02


def test_lots_have_the_chances_that_are_logged() -> None:
    design, order = Design(0.4, 5, most=3, fewest=1), np.array([6, 1, 2, 5, 3, 0, 4])
    assert (design.with_most, design.spend) == (2, 9)
    luck = named_luck(("many",), 4000)
    drawn = [design.drawn(order, luck.row(n)) for n in range(4000)]
    coupons = np.array([allocation.coupons for allocation, _ in drawn])
    logged = np.array([probability for _, probability in drawn])
    assert (coupons.sum(axis=1) == 9).all()
    assert (coupons[:, order[5:]] == 0).all()
    for person in order[:5].tolist():
        for number, chance in ((3, 0.4), (1, 0.6)):
            there = coupons[:, person] == number
            assert np.allclose(logged[there, person], chance)
            assert within(there.astype(float), chance)


@given(st.integers(1, 60), st.integers(1, 80), st.integers(1, 80), st.integers(1, 5), st.integers(1, 3))
def test_designs_are_possible(people, planned, spendable, most, fewest) -> None:
    for design in designs(people, planned, spendable, most, fewest):
        assert 0 < design.with_most < design.people <= people
        assert design.spend <= spendable
        assert most > fewest


def test_what_finding_out_is_worth() -> None:
    luck, truth = named_luck(("worth",), 80), np.zeros(80, np.int64)
    order = np.arange(RULES.people)
    tried = [None, Design(0.5, 6, 3, 1)]
    plain, mixed = worth_of_designs(WORLDS[0], PLANNER, RULES, tried, order, truth, luck)
    assert (plain.design, plain.gain, plain.gain_error) == (None, 0.0, 0.0)
    assert mixed.recruits - plain.recruits == pytest.approx(mixed.gain)
    played = play_updating(WORLDS[0], PLANNER, RULES, luck)
    assert plain.recruits == pytest.approx(played.trajectories.discounted_rewards(0.9).mean())
    assert plain.now == pytest.approx(played.trajectories.recruits[:, 0].mean())
    assert 0.0 <= plain.sure <= 1.0
    first = [Allocation.of([1, 3, 1, 3, 1, 3])] * 80
    handed_out = play_updating(WORLDS[0], PLANNER, RULES, luck, first=first)
    assert (handed_out.trajectories.spend[:, 0] == 12).all()


def test_counts_seen_so_far_say_what_thinned_counts_would() -> None:
    people = WORLDS[0].population(named_luck(("seen so far",), 40))
    coupons, recruits = np.tile([1, 2, 3, 3], 10), np.tile([0, 1, 0, 2], 10)
    whole = log_likelihoods(PLANNER, people, coupons, recruits)
    np.testing.assert_allclose(log_likelihoods(PLANNER, people, coupons, recruits, np.ones(40)), whole)
    exposure = np.linspace(0.1, 0.9, 40)
    early = log_likelihoods(PLANNER, people, coupons, recruits, exposure)
    for number, story in enumerate(PLANNER.stories):
        for row in (0, 17, 38, 39):
            chances = story.response.counts(people[row : row + 1], int(coupons[row]))[0]
            thinned = binom.pmf(recruits[row], np.arange(len(chances)), exposure[row])
            assert early[row, number] == pytest.approx(np.log(chances @ thinned))
