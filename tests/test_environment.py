"""The Gymnasium environment: valid, masked, and the same game as the episode runner's."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

import peerfront as pf
from peerfront.baselines.simple_rules import RandomSplit
from peerfront.environment import ENVIRONMENT_ID, AgentPolicy, RecruitmentEnv, RecruitmentVectorEnv
from peerfront.foundation.errors import InfeasibleAllocation, PeerfrontError, SettingError, UnknownName
from peerfront.problem import Rules, rollout
from peerfront.simulation.catalog import make_world
from support import Scripted


@pytest.mark.parametrize("world", ["bridge", "icpsr22140", "network:people=60"])
def test_gymnasiums_own_check(world) -> None:
    check_env(gymnasium.make(ENVIRONMENT_ID, world=world, rules=Rules(budget=12, people=4)).unwrapped)


def test_stable_baselines_own_check() -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker", reason="stable-baselines3 is not installed")
    checker.check_env(gymnasium.make(ENVIRONMENT_ID, world="bridge", budget=12, people=4).unwrapped, warn=True)


def test_stable_baselines_makes_many_of_them() -> None:
    util = pytest.importorskip("stable_baselines3.common.env_util", reason="stable-baselines3 is not installed")
    with pytest.warns(UserWarning, match="render_mode='rgb_array' that is not in the possible render_modes"):
        envs = util.make_vec_env(ENVIRONMENT_ID, n_envs=2, env_kwargs={"world": "bridge", "budget": 12, "people": 4})
    assert envs.reset()["present"].sum(axis=1).tolist() == [4, 4]


def test_gymnasium_finds_it_by_its_module_without_an_import() -> None:
    script = f"""
import sys, gymnasium
env = gymnasium.make("peerfront.environment:{ENVIRONMENT_ID}", world="bridge", budget=12, people=4, rounds=3)
envs = gymnasium.make_vec("peerfront.environment:{ENVIRONMENT_ID}", num_envs=3, world="bridge", budget=12)
print(env.unwrapped.rules.budget, env.unwrapped.rules.rounds, type(envs).__name__)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["12", "3", "RecruitmentVectorEnv"]


def test_peerfront_itself_loads_no_gymnasium() -> None:
    script = "import sys, peerfront as pf; pf.compare, pf.make_world('bridge'); print('gymnasium' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


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
    rounds: list[list[int]] = []
    luck = RecruitmentEnv.episode_luck(seed)
    result = rollout(env.world, policy, rules, luck, watch=lambda played: rounds.append(played.coupons.tolist()))
    env.reset(seed=seed)
    earned = 0.0
    for coupons in rounds:
        assert env.state is not None
        for person, count in enumerate(coupons):
            for _ in range(count):
                env.step(np.int64(person))
        _, reward, *_ = env.step(np.int64(env.close_round))
        earned += reward
    assert env.state is None
    assert earned == result.total_recruits[0]


def test_forbidden_actions_change_nothing_and_are_flagged() -> None:
    env = RecruitmentEnv("bridge", Rules(budget=3, people=2, max_per_person=2))
    observation, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 0, 1]
    after, reward, over, _, info = env.step(np.int64(2))  # nobody stands there
    assert (info["refused"], reward, over) == (True, 0.0, False)
    assert np.array_equal(after["coupons"], observation["coupons"])
    for nonsense in (np.int64(-1), np.int64(99), 99, 0.5, "x", None):
        after, _, _, _, info = env.step(nonsense)
        assert info["refused"]
        assert after["coupons"].sum() == 0
    after, *_, info = env.step(0)  # a number of Python is an action, too
    assert not info["refused"]
    assert after["coupons"].tolist() == [1, 0, 0]
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


@pytest.mark.parametrize("made", [RecruitmentEnv, RecruitmentVectorEnv])
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"discount": 0.0}, SettingError, "discount"),
        ({"budget": -1}, SettingError, "budget"),
        ({"budget": 2.5}, SettingError, "budget"),
        ({"budget": 5, "rules": Rules()}, SettingError, "rules= or one by one; found rules and budget"),
        ({"max_steps": 0}, SettingError, "max_steps"),
        ({"budget": 10_000_000}, SettingError, "more than fit into memory"),
        ({"most_each": 3}, UnknownName, "most_each"),
        ({"world": "brigde"}, UnknownName, "Did you mean 'bridge'"),
    ],
)
def test_bad_settings(made, given, error, message) -> None:
    with pytest.raises(error, match=message):
        made(**{"world": "icpsr22140", **given})


def test_bad_vector_settings_and_actions() -> None:
    with pytest.raises(SettingError, match="num_envs"):
        RecruitmentVectorEnv(0)
    with pytest.raises(UnknownName, match="autoreset_mode"):
        RecruitmentVectorEnv(2, "bridge", autoreset_mode="Disabled")
    envs = RecruitmentVectorEnv(2, "bridge", budget=5)
    with pytest.raises(SettingError, match="reset"):
        envs.step(np.zeros(2, dtype=np.int64))
    with pytest.raises(SettingError, match="3 seeds were given for 2 episodes"):
        envs.reset(seed=[1, 2, 3])
    envs.reset(seed=0)
    for actions in (np.zeros(3, dtype=np.int64), np.zeros(2), np.zeros((2, 1), dtype=np.int64)):
        with pytest.raises(PeerfrontError):
            envs.step(actions)


def test_a_forbidden_action_for_ever_ends_the_episode() -> None:
    env = RecruitmentEnv("bridge", budget=5, people=2, rounds=3)
    env.reset(seed=0)
    steps = 0
    for _ in range(100_000):
        _, reward, terminated, truncated, info = env.step(np.int64(4))  # nobody stands there
        assert (reward, terminated, info["refused"]) == (0.0, False, True)
        steps += 1
        if truncated:
            break
    assert steps == env.max_steps == 16
    _, info = env.reset(seed=0)
    assert env.action_masks().tolist() == info["action_mask"].astype(bool).tolist()
    assert not env.step(np.int64(0))[3]


def test_no_allowed_episode_is_cut_off() -> None:
    """The longest there is gives out one coupon a step, and closes every round."""
    envs = RecruitmentVectorEnv(64, "bridge", budget=9, people=3, rounds=4, max_per_round=3)
    rng = np.random.default_rng(0)
    _, infos = envs.reset(seed=1)
    for _ in range(200):
        *_, truncated, infos = envs.step((infos["action_mask"] * rng.random((64, 10))).argmax(axis=1))
        assert not truncated.any()


@settings(max_examples=40)
@given(
    world=st.sampled_from(["bridge", "icpsr22140:pool=50", "network:people=40", "boom_bust"]),
    rules=st.builds(
        Rules,
        budget=st.integers(0, 12),
        people=st.integers(0, 5),
        rounds=st.integers(1, 4),
        max_per_person=st.none() | st.integers(1, 3),
        max_per_round=st.none() | st.integers(1, 6),
    ),
    mode=st.sampled_from([AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]),
    count=st.integers(1, 4),
    seed=st.integers(0, 1000),
    obedient=st.booleans(),
    resets=st.sets(st.integers(0, 40), max_size=4),
)
def test_many_episodes_are_step_by_step_the_single_ones(world, rules, mode, count, seed, obedient, resets) -> None:
    """Observations, rewards, ends and masks, also of actions that are forbidden, and of episodes that begin anew."""
    place = pf.make_world(world)
    steps = 3 * (rules.budget + rules.rounds)
    single = SyncVectorEnv(
        [lambda: RecruitmentEnv(place, rules, 0.9, max_steps=rules.budget + 2) for _ in range(count)],
        autoreset_mode=mode,
    )
    many = RecruitmentVectorEnv(count, place, rules, 0.9, max_steps=rules.budget + 2, autoreset_mode=mode)
    assert many.metadata["autoreset_mode"] is mode
    assert many.single_observation_space == single.single_observation_space
    assert many.action_space == single.action_space
    expected, wanted = single.reset(seed=seed)
    found, infos = many.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for step in range(steps):
        if step in resets:
            expected, wanted = single.reset(seed=seed + step)
            found, infos = many.reset(seed=seed + step)
        _assert_same(found, expected)
        _assert_same(infos, wanted)
        assert found in many.observation_space
        chances = rng.random((count, many.places + 1))
        masks = infos["action_mask"] if obedient else 1
        actions = (masks * chances).argmax(axis=1)
        expected, *outcome, wanted = single.step(actions)
        found, *ours, infos = many.step(actions)
        for one, other in zip(outcome, ours, strict=True):
            assert np.array_equal(one, other)


def test_a_reset_after_an_end_begins_at_once() -> None:
    envs = RecruitmentVectorEnv(2, "bridge", budget=5, people=3, rounds=1)
    envs.reset(seed=1)
    _, _, over, _, _ = envs.step(np.full(2, envs.places))
    assert over.all()
    envs.reset(seed=7)
    seen, *_ = envs.step(np.zeros(2, dtype=np.int64))
    assert seen["coupons"].sum(axis=1).tolist() == [1, 1]


def _assert_same(one, other) -> None:
    """Dictionaries of arrays, and of such dictionaries, with the same numbers."""
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, dict):
            _assert_same(value, other[name])
        elif isinstance(value, np.ndarray) and value.dtype == object:
            for ours, theirs in zip(value, other[name], strict=True):
                assert (ours is None) == (theirs is None)
                if ours is not None:
                    _assert_same(ours, theirs)
        else:
            assert np.array_equal(value, other[name]), name


class FirstInLine:
    """An agent that gives everything to the first person who may get more, and keeps `reserve` coupons."""

    def __init__(self, reserve: int = 0, action: int | None = None) -> None:
        self.reserve, self.action = reserve, action

    def predict(self, observation, action_masks, deterministic):
        left = observation["remaining_budget"][:, 0]
        first = action_masks.argmax(axis=1)
        actions = np.where(left <= self.reserve, action_masks.shape[1] - 1, first)
        return (actions if self.action is None else np.full(len(left), self.action)), None


def test_an_agent_plays_in_comparisons_as_it_does_here() -> None:
    rules = Rules(budget=20, people=3, rounds=4, max_per_round=8, max_per_person=5)
    policy = AgentPolicy(FirstInLine(), "bridge", name="first in line")
    for seed in range(4):
        env = RecruitmentEnv("bridge", rules)
        observation, _ = env.reset(seed=seed)
        earned, over = 0.0, False
        while not over:
            batch = {name: values[None] for name, values in observation.items()}
            actions, _ = FirstInLine().predict(batch, env.action_masks()[None], True)
            observation, reward, over, _, _ = env.step(actions[0])
            earned += reward
        played = rollout(env.world, policy, rules, RecruitmentEnv.episode_luck(seed))
        assert played.total_recruits[0] == earned
    played = rollout(env.world, AgentPolicy(FirstInLine(3), "bridge"), rules, pf.named_luck(("many",), 30))
    assert played.spend.sum(axis=1).max() == 17  # all at once, and each alone, keep three


@pytest.mark.filterwarnings("default")  # of torch and Stable-Baselines3 about themselves
def test_an_agent_of_sb3_contrib_learns_here_and_plays_in_comparisons() -> None:
    sb3_contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed (pip install --group rl)")
    rules = {"budget": 8, "people": 2, "rounds": 3}
    env = gymnasium.make(ENVIRONMENT_ID, world="bridge", **rules)
    model = sb3_contrib.MaskablePPO("MultiInputPolicy", env, n_steps=32, batch_size=16, n_epochs=1, seed=0)
    model.learn(64)
    agent = AgentPolicy(model, "bridge", name="tiny")
    asked = {"draws": 1, "episodes": 6, "discounts": [0.9], **rules}
    one, two = (pf.compare(["bridge"], [agent, "constant"], **asked, workers=workers) for workers in (1, 2))
    assert one.policies == ("tiny", "constant")
    assert one.episodes.equals(two.episodes)
    # It learned with fewer coupons.
    with pytest.raises(pf.PeerfrontError, match="tiny' failed in one of 6 states of round 0"):
        pf.compare(["bridge"], [agent, "constant"], **{**asked, "budget": 50})


def test_an_agent_without_masks_or_of_another_world_is_refused_in_words() -> None:
    class Plain:
        def predict(self, observation, deterministic=False):
            return np.zeros(1, dtype=np.int64), None

    with pytest.raises(SettingError, match="'plain' cannot be told which actions are allowed.*MaskablePPO"):
        AgentPolicy(Plain(), "bridge", name="plain")
    with pytest.raises(SettingError, match="AgentPolicy needs world"):
        AgentPolicy(FirstInLine())
    rules = Rules(budget=10, people=2)
    for own, other in (("icpsr22140", "bridge"), ("bridge", "icpsr22140"), ("alike", "bridge")):
        policy = AgentPolicy(FirstInLine(), own, name="foreign")
        with pytest.raises(SettingError, match="'foreign' learned with people who have .*round 0 .*other fields"):
            rollout(pf.make_world(other), policy, rules, pf.named_luck(("one",), 3))


@pytest.mark.parametrize(
    ("agent", "message"),
    [(FirstInLine(action=7), "chose action 7, which the mask forbids"), (FirstInLine(action=-1), "action -1")],
)
def test_an_agent_that_breaks_the_rules_is_named(agent, message) -> None:
    policy = AgentPolicy(agent, "bridge", name="rebel")
    with pytest.raises(InfeasibleAllocation, match=f"rebel.*in round 0 .10 coupons, 2 people.*{message}"):
        rollout(pf.make_world("bridge"), policy, Rules(budget=10, people=2), pf.named_luck(("one",), 3))
    policy.agent.predict = lambda *_, **__: (np.zeros(99), None)
    fault = r"one of 3 states of round 0: its agent predicted actions of shape \(99,\) for 3 states"
    with pytest.raises(InfeasibleAllocation, match=fault):
        rollout(pf.make_world("bridge"), policy, Rules(budget=10, people=2), pf.named_luck(("one",), 3))
