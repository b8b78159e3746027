"""The contract of an episode (docs/explanation/simulation.md), and that luck belongs to people."""

import dataclasses

import numpy as np
import pytest

from peerfront.baselines.simple_rules import Constant, RandomSplit, Threshold
from peerfront.foundation.errors import InfeasibleAllocation, PolicyFailed, SettingError
from peerfront.foundation.randomness import Luck, fold, named_luck
from peerfront.problem import Allocation, Crowd, Ending, Episodes, Round, Rules, Trajectories, rollout, rollouts
from peerfront.simulation.catalog import make_world
from peerfront.simulation.typed import typed_world
from support import Scripted

EPISODES = named_luck(("test episodes",), 60)


def sure_world(rate: float):
    """Everybody is alike and brings exactly as many as coupons allow (or nobody, at rate 0)."""
    return typed_world("sure", {"x": rate}, {"x": {"x": 1.0}}, {"x": 1.0})


def play(policy, rules: Rules, world=None, episodes: Luck = EPISODES, **more) -> Trajectories:
    return rollout(world or sure_world(400.0), policy, rules, episodes, **more)


def test_budget_exhausted() -> None:
    played = play(Constant(2), Rules(budget=10, people=3))
    assert (played.ending == Ending.BUDGET).all()
    assert (played.recruits[:, :3] == [6, 4, 0]).all()
    assert (played.rounds == 2).all()
    assert (played.spend.sum(axis=1) == 10).all()
    assert np.allclose(played.discounted_rewards(0.5), 6 + 0.5 * 4)
    assert (played.total_recruits == 10).all()


def test_extinction() -> None:
    played = play(Constant(2), Rules(budget=10, people=3), sure_world(0.0))
    assert (played.ending == Ending.EXTINCT).all()
    assert (played.rounds == 1).all()
    assert (played.total_recruits == 0).all()


def test_zero_spend_ends_the_episode() -> None:
    spends = {0: 3, 1: 0}
    policy = Scripted(lambda s: [1] * 3 if spends[s.round] else [0] * len(s.frontier))
    played = play(policy, Rules(budget=10, people=3))
    assert (played.ending == Ending.STOPPED).all()
    assert (played.rounds == 2).all()
    assert (played.frontier[:, :3] == [3, 3, 0]).all()


def test_horizon() -> None:
    one = Scripted(lambda s: [1, *[0] * (len(s.frontier) - 1)])
    played = play(one, Rules(budget=100, people=3, rounds=4))
    assert (played.ending == Ending.HORIZON).all()
    assert (played.rounds == 4).all()
    assert (played.total_recruits == 4).all()
    assert play(one, Rules(budget=100)).rounds.max() == 50  # the paper's horizon


@pytest.mark.parametrize(("rules", "ending"), [(Rules(budget=0), Ending.BUDGET), (Rules(people=0), Ending.EXTINCT)])
def test_nothing_to_play(rules, ending) -> None:
    played = play(Constant(1), rules)
    assert (played.ending == ending).all()
    assert (played.rounds == 0).all()
    assert played.recruits.sum() == 0


def test_budget_wins_over_extinction_and_horizon() -> None:
    assert (play(Constant(5), Rules(budget=10, people=2), sure_world(0.0)).ending == Ending.BUDGET).all()
    assert (play(Constant(5), Rules(budget=10, people=2, rounds=1)).ending == Ending.BUDGET).all()


def test_caps_reach_the_policy() -> None:
    rules = Rules(budget=30, people=4, max_per_person=2, max_per_round=5)
    played = play(Constant(9), rules)
    assert (played.spend[:, 0] == 5).all()
    played = play(Constant(9), Rules(budget=30, people=4, max_per_person=2))
    assert (played.spend[:, 0] == 8).all()


def test_an_infeasible_policy_is_named() -> None:
    greedy = Scripted(lambda s: [s.remaining_budget + 1, *[0] * (len(s.frontier) - 1)], name="too greedy")
    with pytest.raises(InfeasibleAllocation, match="'too greedy'.* 1 too many"):
        play(greedy, Rules())


def test_a_policy_may_use_its_array_again() -> None:
    reused = np.zeros(100, dtype=np.int64)

    class Reusing:
        name = "reusing"

        def allocate(self, state, luck):
            coupons = reused[: len(state.frontier)]
            coupons[:] = 0
            coupons[state.frontier.ids[0] % len(coupons)] = 1
            return Allocation(coupons)

    anew = Scripted(lambda s: np.eye(len(s.frontier), dtype=int)[s.frontier.ids[0] % len(s.frontier)])
    rules, world = Rules(budget=10, people=4), make_world("bridge")
    assert np.array_equal(play(Reusing(), rules, world).recruits, play(anew, rules, world).recruits)


@pytest.mark.parametrize("what", ["covariates", "ids"])
def test_a_policy_cannot_change_the_world(what) -> None:
    def meddle(state):
        getattr(state.frontier, what)[:] = 0
        return [0] * len(state.frontier)

    with pytest.raises(PolicyFailed, match="read-only"):
        play(Scripted(meddle), Rules(budget=10, people=3), make_world("bridge"))


def test_any_kind_of_whole_numbers_is_coupons() -> None:
    kinds = (np.uint64, np.int64, np.int8)
    mixed = Scripted(lambda s: np.ones(len(s.frontier), dtype=kinds[s.frontier.ids[0] % 3]))
    assert np.array_equal(play(mixed, Rules(budget=6, people=3)).recruits, play(Constant(1), Rules(6, 3)).recruits)


def test_no_round_spends_more_than_is_left() -> None:
    played = rollout(make_world("icpsr22140"), RandomSplit(), Rules(), EPISODES)
    assert (played.spend.sum(axis=1) <= 100).all()
    assert (played.recruits <= played.spend).all()
    # The next frontier is exactly this round's recruits, unless the episode is over.
    follows = played.frontier[:, 1:] > 0
    assert (played.frontier[:, 1:][follows] == played.recruits[:, :-1][follows]).all()


# Luck belongs to people -------------------------------------------------------------------------------------------


def people_met(policy, rules: Rules, world, episodes: Luck) -> dict[int, tuple[tuple[int, ...], int, int]]:
    """Covariates of everybody met, and how many each brought of how many coupons, by key."""
    met: dict[int, tuple[tuple[int, ...], int, int]] = {}

    def watch(played: Round) -> None:
        crowd = played.crowd
        for i, key in enumerate(crowd.keys.tolist()):
            met[key] = (tuple(crowd.covariates[i]), int(played.coupons[i]), int(played.referrals.recruits[i]))

    rollout(world, policy, rules, episodes, watch=watch)
    return met


@pytest.mark.parametrize("name", ["icpsr22140", "bridge", "network:people=300"])
def test_the_same_person_has_the_same_luck_under_every_policy(name) -> None:
    world = make_world(name)
    two = people_met(Constant(2), Rules(budget=60), world, EPISODES)
    four = people_met(Constant(4), Rules(budget=60), world, EPISODES)
    both = two.keys() & four.keys()
    assert len(both) > 300
    for key in both:
        (one, k2, n2), (other, k4, n4) = two[key], four[key]
        assert one == other  # the same covariates
        if name.startswith("network"):
            continue  # there, how many can come also depends on whom others recruited before
        if k2 <= k4:
            assert n2 == min(k2, n4)  # N = min(k, C) with one C


def test_adding_a_person_changes_nobody_else() -> None:
    world = make_world("icpsr22140")
    plenty = Rules(budget=10_000, people=5, rounds=3)
    five = people_met(Constant(2), plenty, world, EPISODES)
    six = people_met(Constant(2), Rules(budget=10_000, people=6, rounds=3), world, EPISODES)
    assert five.items() <= six.items()
    assert len(six) > len(five)


def test_episodes_do_not_depend_on_their_company() -> None:
    world = make_world("icpsr22140")
    together = rollout(world, RandomSplit(), Rules(), EPISODES)
    for e in (0, 7, 59):
        alone = rollout(world, RandomSplit(), Rules(), EPISODES.row(e))
        assert np.array_equal(alone.recruits[0], together.recruits[e])
        assert np.array_equal(alone.spend[0], together.spend[e])
        assert alone.ending[0] == together.ending[e]


def test_policies_get_their_own_luck_each_round() -> None:
    seen: list[int] = []

    class Watching:
        name = "watching"

        def allocate(self, state, luck):
            seen.append(int(luck.keys[0]))
            return Constant(1).allocate(state, luck)

    rollout(sure_world(400.0), Watching(), Rules(budget=30, people=3), EPISODES)
    assert len(set(seen)) == len(seen) == 60 * 10


def test_a_given_start_replaces_the_worlds_own() -> None:
    start = Crowd(np.array([0, 0, 2]), np.arange(3, dtype=np.uint64), np.zeros((3, 1), dtype=np.int16))
    played = play(Constant(1), Rules(budget=4), episodes=Luck(EPISODES.keys[:3]), start=start)
    assert played.frontier[:, 0].tolist() == [2, 0, 1]
    assert played.total_recruits.tolist() == [4, 0, 4]
    assert played.ending.tolist() == [Ending.BUDGET, Ending.EXTINCT, Ending.BUDGET]
    with pytest.raises(SettingError, match="in the order of the episodes"):
        play(Constant(1), Rules(), start=Crowd(start.episode[::-1], start.keys, start.covariates))


def test_episodes_may_start_late_in_the_study() -> None:
    """Rounds left of its own for each episode: states stand in the study's later rounds, and end with it."""
    seen: list[tuple[int, int]] = []

    def one_each(state):
        seen.append((state.round, state.rounds_left))
        return [1] * len(state.frontier)

    rules, three = Rules(budget=50, people=2, rounds=6), Luck(EPISODES.keys[:4])
    played = play(Scripted(one_each), rules, episodes=three, rounds_left=np.array([1, 6, 0, 3]))
    assert played.rounds.tolist() == [1, 6, 0, 3]
    assert played.total_recruits.tolist() == [2, 12, 0, 6]
    assert (played.ending == Ending.HORIZON).all()
    assert played.recruits[3].tolist() == [2, 2, 2, 0, 0, 0]  # counted from where it starts
    assert seen[:3] == [(5, 1), (0, 6), (3, 3)]
    assert seen[3:5] == [(1, 5), (4, 2)]
    whole = play(Constant(2), rules, make_world("bridge"))
    same = play(Constant(2), rules, make_world("bridge"), rounds_left=np.full(60, 6))
    assert np.array_equal(whole.recruits, same.recruits)
    for wrong in (np.array([1, 2]), np.array([1, 2, 3, 7]), np.array([1, 2, 3, -1])):
        with pytest.raises(SettingError, match="4 whole numbers from 0 to 6"):
            play(Constant(1), rules, episodes=three, rounds_left=wrong)


def test_states_say_where_each_living_episode_stands() -> None:
    under_way = Episodes(sure_world(400.0), Rules(budget=5, people=2), EPISODES)
    (first, *_), lucks = under_way.states(), under_way.policy_lucks()
    assert len(under_way.states()) == len(lucks) == 60
    assert (first.remaining_budget, first.round, len(first.frontier)) == (5, 0, 2)
    under_way.step([Constant(2).allocate(s, luck) for s, luck in zip(under_way.states(), lucks, strict=True)])
    assert under_way.states()[0].remaining_budget == 1
    under_way.step([Constant(2).allocate(s, luck) for s, luck in zip(under_way.states(), lucks, strict=True)])
    assert under_way.states() == []


def test_policies_side_by_side_play_as_they_would_alone() -> None:
    world, rules, luck = make_world("bridge"), Rules(budget=20, people=4, rounds=7), named_luck(("beside",), 40)
    policies = [RandomSplit(), Constant(2), Threshold(world.response, 0.7, 3), Threshold(world.response, 0.2, 1)]
    together = rollouts(world, policies, rules, luck)
    for policy, beside in zip(policies, together, strict=True):
        alone = rollout(world, policy, rules, luck)
        for field in dataclasses.fields(alone):
            assert np.array_equal(getattr(beside, field.name), getattr(alone, field.name))


def test_policies_side_by_side_draw_each_person_once() -> None:
    world, rules, luck = make_world("bridge"), Rules(budget=20, people=4, rounds=7), named_luck(("beside",), 40)
    drawn: list[int] = []

    class Counting:
        def sample(self, parents, lucks):
            drawn.append(len(parents))
            return world.offspring.sample(parents, lucks)

    counting = dataclasses.replace(world, offspring=Counting())
    rollouts(counting, [Constant(2)], rules, luck)
    alone = sum(drawn)
    rollouts(counting, [Constant(2)] * 3, rules, luck)
    assert sum(drawn) == 2 * alone


def test_different_people_with_the_same_luck_bring_recruits_of_their_own() -> None:
    world, rules = make_world("bridge"), Rules(budget=12, people=2, rounds=2)
    once = named_luck(("common",), 30)
    luck = Luck(np.tile(once.keys, 2))
    episode = np.repeat(np.arange(60), 2)
    keys = fold(luck.keys[episode], np.tile(np.arange(2), 60))
    covariates = np.repeat([world.schema.fields[0].categories.index(kind) for kind in ("Local", "Hub")], 60)
    start = Crowd(episode, keys, covariates[:, None].astype(np.int16))
    came: list[np.ndarray] = []
    play(Constant(3), rules, world, luck, start=start, watch=lambda played: came.append(played.crowd.covariates[:, 0]))
    alone = Crowd(episode[60:] - 30, keys[60:], start.covariates[60:])
    hubs: list[np.ndarray] = []
    play(Constant(3), rules, world, once, start=alone, watch=lambda played: hubs.append(played.crowd.covariates[:, 0]))
    assert np.array_equal(came[1][-len(hubs[1]) :], hubs[1])
    assert (hubs[1] == world.schema.fields[0].categories.index("Hub")).any()
