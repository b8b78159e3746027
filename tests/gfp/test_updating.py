"""Plans whose stories are weighed by the study's own counts, and coupons given at random to learn from."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.planner import Planner
from peerfront.gfp.story import Story
from peerfront.gfp.surrogate import LaplaceSettings, PersonInputs, SurrogateSettings
from peerfront.gfp.training import LaplaceTrainer, Surrogate
from peerfront.gfp.updating import (
    log_likelihoods,
    plan_with_weights,
    play_updating,
    updated_weights,
    vary,
    worth_of_learning,
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
    learned = play_updating(WORLDS[true], even, RULES, luck, share=0.5, learning_rounds=4)
    assert learned.trajectories.spend.sum(axis=1).max() <= RULES.budget


def test_random_numbers_have_the_chances_that_are_told() -> None:
    frontier = Frontier.of(WORLDS[0].population(named_luck(("vary",), 5)))
    state = State(20, frontier, 0, Rules(20, 5, 4, 3, max_per_round=9))
    plan = Allocation.of([1, 2, 0, 3, 1])
    luck = named_luck(("many",), 6000)
    drawn = [vary(plan, state, 0.4, luck.row(n)) for n in range(6000)]
    coupons = np.array([each.allocation.coupons for each in drawn])
    chosen = np.array([each.at_random for each in drawn])
    assert (coupons.sum(axis=1) <= 9).all()
    assert (coupons[:, 2] == 0).all()
    assert not chosen[:, 2].any()
    assert (coupons[:, [0, 1, 3, 4]] >= 1).all()
    assert within(chosen[:, 0].astype(float), 0.4)
    # 1 / probability of what was given counts every possible number once: the mean is how many there are.
    for person, numbers in ((3, 3), (2, 1)):
        assert within(1.0 / np.array([each.probability[person] for each in drawn]), numbers)
    assert Counter(coupons[chosen[:, 3], 3].tolist()).keys() == {1, 2, 3}
    same = vary(plan, state, 0.0, luck.row(0))
    assert np.array_equal(same.allocation.coupons, plan.coupons)
    assert (same.probability == 1.0).all()
    with pytest.raises(SettingError, match="share of people must be a share between 0 and 1"):
        vary(plan, state, 1.5, luck.row(0))


def test_nobody_draws_more_than_is_left() -> None:
    state = State(7, Frontier.of(np.zeros((5, 1), dtype=np.int16)), 0, Rules(7, 5, 4, 3))
    for n in range(200):
        varied = vary(Allocation.of([1, 1, 1, 1, 1]), state, 1.0, named_luck(("left",), 200).row(n))
        assert varied.allocation.spend <= 7
        assert varied.at_random.sum() == 2  # for the others nothing is left to vary with


def test_random_numbers_keep_the_least_and_count_what_a_lot_before_could_bring() -> None:
    """Over every lot and every draw, the chances of the numbers that came are the chances that were logged."""
    state = State(30, Frontier.of(np.zeros((4, 1), dtype=np.int16)), 0, Rules(30, 4, 4, 3))
    winners, losers, luck = np.array([2, 1, 2, 3]), np.array([2, 1, 1, 3]), named_luck(("lots",), 4000)
    won = named_luck(("won",), 4000).uniform("lot") < 0.3
    plans = [(winners, losers, 0.3) if win else (losers, winners, 0.7) for win in won.tolist()]
    drawn = [
        vary(
            Allocation(own), state, 0.5, luck.row(n), least=1, lot=(other, np.array([1.0, 1.0, chance, 1.0]))
        )
        for n, (own, other, chance) in enumerate(plans)
    ]  # fmt: skip
    coupons = np.array([each.allocation.coupons for each in drawn])
    logged = np.array([each.probability for each in drawn])
    for person in range(4):
        for number in np.unique(coupons[:, person]):
            there = coupons[:, person] == number
            assert np.ptp(logged[there, person]) < 1e-12
            assert within(there.astype(float), logged[there, person][0])
    with_two = [vary(Allocation.of([2, 2, 3, 3]), state, 1.0, luck.row(n), least=2) for n in range(50)]
    assert min(each.allocation.coupons.min() for each in with_two) == 2


def test_what_learning_is_worth() -> None:
    luck = named_luck(("worth",), 80)
    found = worth_of_learning(WORLDS, PLANNER, RULES, luck, shares=(0.0, 0.5))
    assert [each.share for each in found] == [0.0, 0.5]
    assert (found[0].gain, found[0].gain_error) == (0.0, 0.0)
    assert found[1].recruits - found[0].recruits == pytest.approx(found[1].gain)
    assert all(0.0 <= each.sure <= 1.0 for each in found)
    plain = [play_updating(world, PLANNER, RULES, luck).trajectories.discounted_rewards(0.9) for world in WORLDS]
    assert found[0].recruits == pytest.approx(0.3 * plain[0].mean() + 0.7 * plain[1].mean())
    with pytest.raises(SettingError, match="2 stories and 1 worlds"):
        worth_of_learning(WORLDS[:1], PLANNER, RULES, luck)


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
