"""Planners in a comparison: learned models, learned values, and the bound that nobody passes."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from experiments.small import SMALL
from peerfront.baselines.simple_rules import Constant, Evenly
from peerfront.experiments.comparison_run import run_comparison
from peerfront.foundation.errors import ComparisonFailed, SettingError, UnknownName
from peerfront.problem import Rules, rollout
from peerfront.words.comparison_words import markdown_report


def test_policies_can_plan_with_learned_models() -> None:
    # Every type of boom_bust is among the first recruits, so a history of theirs says something about all of them.
    asked = dataclasses.replace(
        SMALL, worlds=("boom_bust",), policies=("population_dp", "threshold:cutoff=0.5,at_least=4"), episodes=300
    )
    oracle = run_comparison(asked).episodes
    learned = run_comparison(dataclasses.replace(asked, models="learned"))
    means = [table.groupby("policy")["recruits"].mean() for table in (oracle, learned.episodes)]
    assert not np.allclose(*means, rtol=0, atol=1e-9)  # other models, other decisions
    assert np.allclose(*means, rtol=0.15)  # learned well
    assert "fitted to a simulated history (learned)" in markdown_report(learned)
    with pytest.raises(UnknownName, match="Did you mean 'learned'"):
        dataclasses.replace(SMALL, models="learnt")


def test_the_planning_world_is_fitted_only_as_far_as_needed() -> None:
    from peerfront.experiments.planning_world import planning_world
    from peerfront.foundation.randomness import named_luck
    from peerfront.simulation.catalog import make_world

    world = make_world("bridge")
    assert planning_world(world, "oracle", 0) is world
    planned = planning_world(world, "learned", 0)
    assert "model" not in vars(planned.offspring)
    seeds = planned.seeds(named_luck(("planned",), 3), 5)
    assert np.array_equal(seeds.covariates, world.seeds(named_luck(("planned",), 3), 5).covariates)
    planned.refer(seeds, np.full(15, 3))
    assert "model" in vars(planned.offspring)


GFP = dataclasses.replace(
    SMALL,
    worlds=("bridge",),
    draws=(0,),
    policies=("random_split", "gfp:learn=backups", "gfp-paper", "gfp-untrained"),
    discounts=(1.0,),
    episodes=60,
    bound=True,
)


def test_gfp_beats_its_untrained_start_and_stays_below_the_bound(tmp_path) -> None:
    results = run_comparison(GFP, tmp_path / "gfp")
    means = results.episodes.groupby("policy")["discounted_reward"].mean()
    assert means["gfp:learn=backups"] > means["random_split"] + 1
    assert means["gfp:learn=backups"] > means["gfp-untrained"] + 1
    assert results.bounds is not None
    bounds = results.bounds["bound"]
    assert len(bounds) == 60
    assert means.max() <= bounds.mean() + 1.0
    assert bounds.max() <= 20
    text = (tmp_path / "gfp" / "table.md").read_text()
    assert f"| upper bound | {bounds.mean():.1f}" in text
    assert "No policy" in text
    assert "earns" in (tmp_path / "gfp" / "prepared.csv").read_text()
    again = run_comparison(GFP, tmp_path / "gfp", resume=True)  # bounds are read back, not made again
    pd.testing.assert_frame_equal(again.bounds, results.bounds)


def test_the_bound_is_for_worlds_of_independent_referrals() -> None:
    with pytest.raises(SettingError, match="no bound for 'network'"):
        run_comparison(dataclasses.replace(SMALL, worlds=("network",), bound=True))


def test_price_index_plays_wherever_a_table_holds_the_prices() -> None:
    small = dataclasses.replace(
        SMALL, worlds=("bridge",), draws=(0,), policies=("price_index", "random_split"), episodes=60
    )
    for models in ("oracle", "learned", "learned:offspring=softmax"):
        means = run_comparison(dataclasses.replace(small, models=models)).episodes.groupby("policy")["recruits"].mean()
        assert means["price_index"] > means["random_split"], models
    with pytest.raises(ComparisonFailed, match="'price_index' needs a table of prices.*'icpsr22140'"):
        run_comparison(dataclasses.replace(small, worlds=("icpsr22140",)))


def test_deadlines_and_paces_are_checked_before_any_work() -> None:
    with pytest.raises(UnknownName, match="answer for deadline of gfp called 'perhaps'"):
        dataclasses.replace(SMALL, policies=("gfp:deadline=perhaps",))
    with pytest.raises(SettingError, match="leave out learn=backups"):
        dataclasses.replace(SMALL, policies=("gfp:deadline=yes,learn=backups",))
    with pytest.raises(SettingError, match="pace of evenly"):
        dataclasses.replace(SMALL, policies=("evenly:pace=0",))


def test_a_value_knows_the_deadline_where_rounds_are_few(monkeypatch) -> None:
    from peerfront.experiments.policies import FEW_ROUNDS, Preparation, prepare_gfp
    from peerfront.gfp.policy_iteration import PolicyIterationSettings
    from peerfront.simulation.catalog import make_world

    asked: list[PolicyIterationSettings] = []

    class Stop(Exception):
        pass

    def note(world, rules, discount, simple, settings) -> None:
        asked.append(settings)
        raise Stop

    monkeypatch.setattr("peerfront.gfp.policy_iteration.learn_by_policy_iteration", note)

    def knows_deadline(rounds: int, **options: str) -> bool:
        rules = dataclasses.replace(SMALL.rules, rounds=rounds)
        with pytest.raises(Stop):
            prepare_gfp(Preparation(make_world("bridge"), rules, 0.9, (0.9,), 0), **options)
        return asked[-1].surrogate.deadline

    assert knows_deadline(5)
    assert knows_deadline(FEW_ROUNDS)
    assert not knows_deadline(FEW_ROUNDS + 1)
    assert not knows_deadline(50)
    assert not knows_deadline(5, deadline="no")
    assert knows_deadline(50, deadline="yes")
    assert asked[3] == PolicyIterationSettings(seed=0)  # the paper's rounds are learned as ever


def test_gfp_plays_the_rule_that_did_better_and_says_so(monkeypatch) -> None:
    from peerfront.experiments.policies import Preparation, prepare_gfp
    from peerfront.foundation.randomness import named_luck
    from peerfront.gfp import policy_iteration
    from peerfront.simulation.catalog import make_world

    learn, met = policy_iteration.learn_by_policy_iteration, []

    def hasty(world, rules, discount, simple, settings):
        poor = dataclasses.replace(settings, rounds=1, episodes=20, states=30, returns=1, steps=1, judged_episodes=40)
        met.append(learn(world, rules, discount, [Evenly(world.response)], poor))
        return met[-1]

    monkeypatch.setattr(policy_iteration, "learn_by_policy_iteration", hasty)
    world, rules = make_world("bridge"), Rules(budget=20, people=5, rounds=1)
    policy = prepare_gfp(Preparation(world, rules, 1.0, (1.0,), 0), deadline="no")
    (learned,) = met
    assert learned.rule is not None
    assert f"plays the rule {learned.rule.name}" in policy.name
    assert "than the best planner" in policy.name
    luck = named_luck(("the rule",), 30)
    ours, its = (rollout(world, each, rules, luck) for each in (policy, learned.rule))
    assert np.array_equal(ours.spend, its.spend)
    assert np.array_equal(ours.recruits, its.recruits)


def test_ways_to_learn_are_checked_before_any_work() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'returns'"):
        dataclasses.replace(SMALL, policies=("gfp:learn=return",))


def test_a_history_that_follows_recruits_meets_the_hubs() -> None:
    from peerfront.simulation.catalog import make_world
    from peerfront.simulation.simulated_history import HistorySettings, followed_history, simulate_history

    world, sizes = make_world("bridge"), HistorySettings(triples=500, pairs=400)
    asked, followed = simulate_history(world, sizes), followed_history(world, sizes)
    hub = world.schema.fields[0].code_of["Hub"]
    assert not (asked.referrers == hub).any()
    assert (followed.referrers == hub).sum() > 20
    assert (followed.parents == hub).sum() > 20
    assert len(followed.coupons) == 500
    assert len(followed.parents) == 400
    assert followed.coupons[followed.coupons > 0].min() >= 1
    assert followed.coupons.max() <= 10


def test_a_value_is_learned_for_a_network_too() -> None:
    from peerfront.foundation.randomness import named_luck
    from peerfront.gfp.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration
    from peerfront.problem import with_independent_referrals
    from peerfront.simulation.catalog import make_world

    network, rules = make_world("network:people=100"), dataclasses.replace(SMALL.rules, budget=8, people=3)
    world = with_independent_referrals(network)
    assert with_independent_referrals(world) is world
    luck = named_luck(("first recruits",), 5)
    assert np.array_equal(world.population(luck), network.population(luck))
    settings = PolicyIterationSettings(rounds=1, episodes=10, states=20, steps=10, judged_episodes=10)
    simple = [Constant(1), Constant(2)]
    learned = learn_by_policy_iteration(world, rules, 0.9, simple, settings)
    played = rollout(network, learned.planner, rules, luck)
    assert (played.spend.sum(axis=1) <= 8).all()
    assert played.total_recruits.sum() > 0
