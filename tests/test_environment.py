"""The Gymnasium environment: valid, masked, and the same game as the episode runner's."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from peerfront.baselines.simple_rules import RandomSplit
from peerfront.environment import ENVIRONMENT_ID, RecruitmentEnv
from peerfront.foundation.errors import SettingError
from peerfront.problem import Rules, rollout
from peerfront.simulation.catalog import make_world
from support import Scripted


@pytest.mark.parametrize("world", ["bridge", "icpsr22140", "network:people=60"])
def test_gymnasiums_own_check(world) -> None:
    check_env(gymnasium.make(ENVIRONMENT_ID, world=world, rules=Rules(budget=12, people=4)).unwrapped)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "rules", [Rules(budget=30, people=4), Rules(budget=30, people=4, rounds=3, max_per_person=2, max_per_round=6)]
)
def test_a_random_agent_earns_what_the_episode_runner_says(seed, rules) -> None:
    """A random agent that respects the mask, replayed by the runner on the same seed."""
    env = gymnasium.make(ENVIRONMENT_ID, world="bridge", rules=rules, discount=0.9)
    env.action_space.seed(seed)
    given: list[list[int]] = []
    observation, info = env.reset(seed=seed)
    earned, over = 0.0, False
    while not over:
        action = env.action_space.sample(mask=info["action_mask"])
        if action == env.unwrapped.close_round:
            given.append(observation["coupons"][: observation["present"].sum()].tolist())
        observation, reward, over, _, info = env.step(action)
        assert not info["refused"]
        earned += reward
    replay = Scripted(lambda state: given[state.round])
    played = rollout(make_world("bridge"), replay, rules, RecruitmentEnv.episode_luck(seed))
    assert earned == pytest.approx(played.discounted_rewards(0.9)[0])
    assert len(given) == played.rounds[0]


@pytest.mark.parametrize("seed", range(5))
def test_the_random_policy_plays_the_same_game_in_both(seed) -> None:
    rules, policy = Rules(budget=40, people=5), RandomSplit()
    env = RecruitmentEnv("icpsr22140", rules)
    env.reset(seed=seed)
    earned = 0.0
    while env.state is not None:
        coupons = policy.allocate(env.state, env.policy_luck).coupons
        for person, count in enumerate(coupons):
            for _ in range(count):
                env.step(np.int64(person))
        _, reward, *_ = env.step(np.int64(env.close_round))
        earned += reward
    assert earned == rollout(env.world, policy, rules, RecruitmentEnv.episode_luck(seed)).total_recruits[0]


def test_forbidden_actions_change_nothing_and_are_flagged() -> None:
    env = RecruitmentEnv("bridge", Rules(budget=3, people=2, max_per_person=2))
    observation, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 0, 1]
    after, reward, over, _, info = env.step(np.int64(2))  # nobody stands there
    assert (info["refused"], reward, over) == (True, 0.0, False)
    assert np.array_equal(after["coupons"], observation["coupons"])
    for nonsense in (np.int64(-1), np.int64(99)):
        after, _, _, _, info = env.step(nonsense)
        assert info["refused"]
        assert after["coupons"].sum() == 0
    env.step(np.int64(0))
    _, _, _, _, info = env.step(np.int64(0))
    assert info["action_mask"].tolist() == [0, 1, 0, 1]  # the cap of two
    observation, _, _, _, info = env.step(np.int64(1))
    assert info["action_mask"].tolist() == [0, 0, 0, 1]  # the budget
    assert observation["remaining_budget"].tolist() == [0]
    _, _, over, _, info = env.step(np.int64(env.close_round))
    assert over
    assert info["action_mask"].sum() == 0


def test_seeds_and_unseeded_resets() -> None:
    env = RecruitmentEnv("bridge", Rules(budget=5, people=6))
    one, _ = env.reset(seed=1)
    again, _ = env.reset(seed=1)
    assert np.array_equal(one["covariates"], again["covariates"])
    following = [env.reset()[0]["covariates"].tobytes() for _ in range(6)]
    assert len(set(following)) > 1


def test_bad_settings() -> None:
    with pytest.raises(SettingError, match="discount"):
        RecruitmentEnv("bridge", discount=0.0)
