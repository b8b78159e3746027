from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from peerfront.baselines.simple_rules import most_likely_used
from peerfront.baselines.thompson import (
    DrawnModels,
    Thompson,
    ThompsonSettings,
    _by_cutoff,
    _design,
    further_gains,
    prior,
    updated,
)
from peerfront.experiments.policies import make_policy
from peerfront.foundation.covariates import Field, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.problem import Frontier, Rules, Seen, State, check_feasible, rollout, rollouts
from peerfront.simulation.catalog import make_world

SCHEMA = Schema((Field("kind", ("keen", "shy")), Field("site", ("x", "y", "z"))))
FEW = ThompsonSettings(plays=4)


def simulated(rows: int, parameters: np.ndarray) -> Seen:
    """People of a working model with these parameters, whose recruits are all of their recruiter's kind."""
    rng = named_generator("test of thompson", rows)
    people = np.stack([rng.integers(0, size, rows) for size in SCHEMA.sizes], axis=1).astype(np.int16)
    coupons = rng.integers(0, 4, rows)
    chance = 1.0 / (1.0 + np.exp(-_design(SCHEMA, people, coupons) @ parameters))
    recruits = rng.binomial(coupons, chance)
    parents = np.repeat(people, recruits, axis=0)
    children = parents.copy()
    children[:, 1] = rng.integers(0, 3, len(children))
    return Seen(people, coupons, recruits, parents, children)


KEEN = np.array([0.0, 2.0, -2.0, 0.0, 0.0, 0.0, -0.5])


def test_the_posterior_is_the_mode_and_its_curvature():
    seen, before = simulated(300, KEEN), prior(SCHEMA)
    posterior = updated(before, SCHEMA, seen)
    rows = seen.coupons > 0
    design = _design(SCHEMA, seen.referrers[rows], seen.coupons[rows])

    def loss(parameters: np.ndarray) -> float:
        scores, off = design @ parameters, parameters - before.mean
        fit = seen.recruits[rows] * scores - seen.coupons[rows] * np.logaddexp(0.0, scores)
        return float(off @ before.precision @ off / 2.0 - fit.sum())

    found = minimize(loss, before.mean, tol=1e-10)
    assert posterior.mean == pytest.approx(found.x, abs=1e-3)
    step = 1e-3 * np.eye(len(KEEN))[1]
    curvature = (loss(found.x + step) - 2 * loss(found.x) + loss(found.x - step)) / 1e-6
    assert posterior.precision[1, 1] == pytest.approx(curvature, rel=0.01)


def test_two_parts_of_a_history_teach_nearly_as_much_as_the_whole():
    seen = simulated(400, KEEN)
    half = len(seen.coupons) // 2
    empty = np.zeros((0, 2), dtype=np.int16)
    parts = [
        Seen(seen.referrers[rows], seen.coupons[rows], seen.recruits[rows], empty, empty)
        for rows in (slice(0, half), slice(half, None))
    ]
    in_two = updated(updated(prior(SCHEMA), SCHEMA, parts[0]), SCHEMA, parts[1])
    assert in_two.mean == pytest.approx(updated(prior(SCHEMA), SCHEMA, seen).mean, abs=0.2)


def test_draws_are_around_the_posterior_and_recruits_like_those_seen():
    posterior = updated(prior(SCHEMA), SCHEMA, simulated(2000, KEEN))
    lucks = [named_luck(("draws",), 400).row(i) for i in range(400)]
    drawn = DrawnModels.of(SCHEMA, [posterior] * 400, lucks)
    spread = np.sqrt(np.diag(np.linalg.inv(posterior.precision)))
    assert (np.abs(drawn.parameters.mean(axis=0) - posterior.mean) < 4 * spread / 20).all()
    assert drawn.parameters.std(axis=0) == pytest.approx(spread, rel=0.2)
    shy = np.tile(np.array([[1, 2]], dtype=np.int16), (400, 1))
    children = drawn.children(np.arange(400), shy, named_luck(("children",), 400))
    assert (children[:, 0] == 1).mean() > 0.97
    assert np.bincount(children[:, 1], minlength=3).min() > 90


def test_people_of_whom_nothing_is_known_can_be_planned_for():
    drawn = DrawnModels.of(SCHEMA, [prior(SCHEMA)], [named_luck(("unknown",), 1)])
    nobody = np.full((2, 2), -1, dtype=np.int16)
    chances = drawn.chances(np.zeros(2, dtype=np.int64), nobody, 3)
    assert chances[0, 0] == pytest.approx(1.0 / (1.0 + np.exp(-drawn.parameters[0, 0])))
    children = drawn.children(np.zeros(2, dtype=np.int64), nobody, named_luck(("unknown",), 2))
    SCHEMA.check(children)


def test_what_was_seen_decides_who_gets_coupons():
    policy = Thompson(SCHEMA, 0.9, prior(SCHEMA), ThompsonSettings(explore=0.0, plays=4))
    people = np.array([[0, 0], [1, 0]] * 5, dtype=np.int16)
    lucks = named_luck(("who",), 40)
    given = []
    for seen in (simulated(400, KEEN), simulated(400, KEEN * [1, -1, -1, 1, 1, 1, 1])):
        state = State(15, Frontier.of(people), 0, Rules(30, 10), seen)
        made = policy.allocate_many([state] * 40, [lucks.row(i) for i in range(40)])
        given.append(np.sum([each.coupons for each in made], axis=0).reshape(5, 2).sum(axis=0))
    assert given[0][0] > 4 * given[0][1]
    assert given[1][1] > 4 * given[1][0]


@given(st.data())
def test_coupons_of_many_studies_are_those_of_each_alone(data):
    sizes = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    study = np.repeat(np.arange(len(sizes)), sizes)
    chances = np.array(
        data.draw(
            st.lists(
                st.lists(st.sampled_from([0.1, 0.3, 0.6, 0.9]), min_size=3, max_size=3),
                min_size=len(study),
                max_size=len(study),
            )
        )
    ).reshape(-1, 3)
    gains = further_gains(chances)
    numbers = st.lists(st.integers(0, 14), min_size=len(sizes), max_size=len(sizes))
    least, allowed = (np.array(data.draw(numbers)) for _ in range(2))
    cutoffs = np.array(data.draw(st.lists(st.sampled_from([0.2, 0.5]), min_size=len(sizes), max_size=len(sizes))))
    coupons = _by_cutoff(gains, study, cutoffs, least, allowed)
    for number in range(len(sizes)):
        own = gains[study == number]
        spend = min(max(int((own >= cutoffs[number]).sum()), least[number]), allowed[number], own.size)
        plain = np.bincount(most_likely_used(own, spend), minlength=len(own))
        assert coupons[study == number].tolist() == plain.tolist()


@pytest.mark.parametrize(
    "rules", [Rules(20, 4, 6), Rules(20, 4, 6, max_per_person=1), Rules(20, 4, 6, max_per_round=3), Rules(1, 1, 1)]
)
def test_studies_played_together_or_alone_end_alike(rules):
    world = make_world("bridge")
    policy = Thompson(world.schema, 0.9, prior(world.schema), FEW)
    luck = named_luck(("together",), 40)
    together = rollout(world, policy, rules, luck)  # refuses what is not feasible
    alone = rollout(world, policy, rules, luck.row(37))
    assert together.spend[37].tolist() == alone.spend[0].tolist()
    assert together.recruits[37].tolist() == alone.recruits[0].tolist()


def test_it_learns_only_from_the_study_it_plays():
    world = make_world("bridge")
    policy = make_policy("thompson", world, Rules(20, 4, 6))
    states = []

    class Watching(Thompson):
        def allocate_many(self, states_now, lucks):
            states.extend(states_now)
            return super().allocate_many(states_now, lucks)

    watching = Watching(world.schema, 0.9, policy.before, FEW)
    rollout(world, watching, Rules(20, 4, 6), named_luck(("learns",), 5))
    assert all(state.seen is not None for state in states)
    assert {len(state.seen.coupons) for state in states if state.round == 0} == {0}
    later = [state for state in states if state.round > 0]
    assert later
    for state in later:
        assert state.seen.coupons.sum() == 20 - state.remaining_budget
        assert state.seen.recruits.sum() == len(state.seen.children)
        assert state.seen.children[-len(state.frontier) :].tolist() == state.frontier.covariates.tolist()
        assert len(state.seen.referrers) == 4 + len(state.seen.children) - len(state.frontier)


def test_policies_that_do_not_learn_are_told_nothing():
    world, rules = make_world("bridge"), Rules(20, 4, 6)
    luck = named_luck(("beside",), 10)
    constant = make_policy("constant:coupons=2", world, rules)
    thompson = replace(make_policy("thompson", world, rules), settings=FEW)
    both = rollouts(world, [constant, thompson], rules, luck)
    assert both[0].recruits.tolist() == rollout(world, constant, rules, luck).recruits.tolist()
    assert both[1].recruits.tolist() == rollout(world, thompson, rules, luck).recruits.tolist()
    state = State(5, Frontier.of(world.population(luck)), 0, rules)
    check_feasible(thompson.allocate(state, luck.row(0)), state, "thompson")  # nothing is known: the prior


def test_an_earlier_study_can_be_known():
    world, rules = make_world("bridge"), Rules(40, 6)
    luck = named_luck(("earlier",), 100)
    new, experienced = (
        rollout(world, make_policy(text, world, rules), rules, luck).total_recruits
        for text in ("thompson", "thompson:before=1000")
    )
    difference = experienced - new
    assert difference.mean() > 2 * difference.std() / np.sqrt(len(difference))


@pytest.mark.parametrize("text", ["thompson:explore=2", "thompson:before=-1", "thompson:most_each=0"])
def test_impossible_settings_are_refused(text):
    with pytest.raises(SettingError):
        make_policy(text, make_world("bridge"))


@pytest.mark.parametrize("field", ["cutoffs", "shares"])
@pytest.mark.parametrize("values", [(), ("a",), "a", (float("nan"),), (-0.1,), (1.5,)])
def test_impossible_rules_are_refused(field, values):
    with pytest.raises(SettingError, match=field):
        ThompsonSettings(**{field: values})
