"""A value that knows the deadline: its tables are as good as the paper's, and plans hurry when time runs out."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerfront.baselines.simple_rules import AllAtLast, Evenly, Threshold, most_likely_used
from peerfront.foundation.errors import SettingError
from peerfront.foundation.networks import Perceptron
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.fitted_value_iteration import FittedValueIterationSettings
from peerfront.gfp.greedy import greedy
from peerfront.gfp.learning import LearnedPlanner
from peerfront.gfp.paper import algorithm_1, expected_future_value, expected_recruits
from peerfront.gfp.planner import Planner
from peerfront.gfp.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration
from peerfront.gfp.states import StateBatch, explored, simulated_returns, visited
from peerfront.gfp.surrogate import FrozenSurrogate, LaplaceNetwork, LaplaceSettings, PersonInputs, SurrogateSettings
from peerfront.gfp.training import Surrogate, members_of
from peerfront.problem import Frontier, Policy, Rules, State, rollout
from peerfront.simulation.typed import bridge
from simulation.exact import exact_value, solve
from support import Scripted

WORLD = bridge()
INPUTS = PersonInputs(WORLD.schema, WORLD.response)
DEADLINE = SurrogateSettings(deadline=True)
STUDY = Rules(budget=30, people=5, rounds=5)
LUCK = named_luck(("deadline",), 1)
QUICK = PolicyIterationSettings(
    rounds=1,
    episodes=100,
    states=300,
    returns=4,
    steps=300,
    judged_episodes=100,
    laplace=LaplaceSettings(parents=200, children=24, steps=200, refresh_steps=60),
)


def rules_to_start_from(budget: int) -> list[Policy]:
    patient = Threshold(WORLD.response, 0.3, max(1, budget // 10))
    hasty = Threshold(WORLD.response, 0.6, max(1, budget // 8))
    return [AllAtLast(WORLD.response, patient), hasty, Evenly(WORLD.response)]


@cache
def learned(rules: Rules, discount: float, *, deadline: bool = True) -> LearnedPlanner:
    chosen = replace(QUICK, surrogate=DEADLINE if deadline else SurrogateSettings())
    return learn_by_policy_iteration(WORLD, rules, discount, rules_to_start_from(rules.budget), chosen)


def an_untrained_planner(seed: int = 0, rounds: int = 4, discount: float = 0.9) -> Planner:
    surrogate = Surrogate(INPUTS, 12, replace(DEADLINE, latent=3), seed, rounds).freeze()
    laplace = LaplaceNetwork(INPUTS, Perceptron.started([INPUTS.width, 8, 3], seed).frozen())
    return Planner.of(WORLD.response, surrogate, laplace, discount)


def people(count: int, name: str = "people") -> np.ndarray:
    return WORLD.population(named_luck((name,), count))


def a_state(budget: int, rounds_left: int, count: int = 4, *, rules: Rules = STUDY) -> State:
    return State(budget, Frontier.of(people(count)), rules.rounds - rounds_left, rules)


# The tables ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 12), st.integers(0, 6), st.integers(0, 20), st.integers(0, 5))
@settings(max_examples=50)
def test_values_lie_between_zero_and_the_budget_and_nothing_comes_after_the_last_round(
    budget: int, rounds_left: int, count: int, seed: int
) -> None:
    surrogate = an_untrained_planner(seed).story.surrogate
    assert surrogate.weights.shape == (5, 13, 3)
    assert (surrogate.rounds, surrogate.budget, surrogate.latent) == (4, 12, 3)
    assert (surrogate.weights >= 0).all()
    assert (surrogate.weights[0] == 0).all()  # w(r, 0)
    assert (surrogate.weights[:, 0] == 0).all()  # w(0, t)
    assert (surrogate.weights.sum(axis=2) <= np.arange(13) * (1 + 1e-6)).all()
    states = (np.array([budget]), INPUTS.rows(people(count)), np.array([0, count]))
    value = surrogate.values(*states, np.array([rounds_left]))[0]
    assert 0.0 <= value <= budget * (1 + 1e-6)
    if rounds_left == 0 or budget == 0 or count == 0:
        assert value == 0.0
    if rounds_left >= 4:  # more rounds than were learned count as the most
        assert value == surrogate.values(*states, np.array([4]))[0]


def test_the_frozen_value_is_the_trained_one() -> None:
    surrogate = Surrogate(INPUTS, 12, DEADLINE, 3, 4)
    budgets, left, first = np.array([5, 12, 0, 7]), np.array([1, 4, 2, 0]), np.array([0, 3, 6, 9, 12])
    rows = INPUTS.rows(people(12))
    live = surrogate.values(budgets.astype(np.float32), rows, members_of(first), left.astype(np.float32))
    np.testing.assert_allclose(surrogate.freeze().values(budgets, rows, first, left), live, rtol=1e-4, atol=1e-9)


@given(st.integers(1, 5), st.integers(1, 12), st.integers(1, 5), st.integers(0, 3))
@settings(max_examples=40)
def test_propositions_hold_for_every_number_of_rounds_left(left: int, budget: int, count: int, seed: int) -> None:
    planner = an_untrained_planner(seed)
    tables = planner.tables(people(count), budget)
    weights = planner.story.surrogate.weights_with(left - 1)[: budget + 1]
    np.testing.assert_array_equal(planner.weights_with(left - 1)[: budget + 1], weights)
    tables.check(weights)
    # Algorithm 1 as written
    written = algorithm_1(tables.gains, tables.covers, weights, 0.9)
    expected = written.coupons
    found = greedy(tables, weights, 0.9)
    np.testing.assert_array_equal(found.coupons, expected)
    assert found.value == written.value
    plan = planner.plan(State(budget, Frontier.of(people(count)), 5 - left, STUDY))
    np.testing.assert_array_equal(plan.allocation.coupons, expected)
    assert plan.now.sum() + plan.later.sum() == pytest.approx(plan.value)
    future = 0.9 * expected_future_value(tables.transform(), weights[budget - plan.spend], expected)
    assert plan.value == pytest.approx(expected_recruits(tables.gains, expected) + future, abs=1e-9)  # Proposition 1
    assert (np.diff(plan.now + plan.later) <= 1e-9).all()  # Proposition 2: gains shrink


def test_one_table_serves_all_times_when_the_value_knows_no_deadline() -> None:
    blind = Surrogate(INPUTS, 12, SurrogateSettings(), 0, 5).freeze()
    assert blind.rounds is None
    assert blind.weights.shape == (13, 8)
    for left in (-1, 0, 3, 99):
        np.testing.assert_array_equal(blind.weights_with(left), blind.weights)


# Plans --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [None, 2])
def test_the_last_round_is_myopic_and_keeps_nothing_that_may_be_used(cap: int | None) -> None:
    planner, rules = an_untrained_planner(), replace(STUDY, max_per_person=cap)
    for budget in (1, 5, 12):
        state = a_state(budget, 1, rules=rules)
        plan = planner.plan(state)
        gains = WORLD.response.gains(state.frontier.covariates, state.most_per_person)
        useful = min(state.spendable, int((gains > 1e-9).sum()))
        most_likely = np.bincount(most_likely_used(gains, useful), minlength=4)
        np.testing.assert_array_equal(plan.allocation.coupons, most_likely)
        recruits = expected_recruits(gains, most_likely)
        assert plan.value == pytest.approx(recruits)
        assert (plan.later == 0).all()


def test_states_with_different_rounds_left_are_planned_together_as_each_alone() -> None:
    planner = an_untrained_planner()
    states = [a_state(12, left, count) for left, count in ((1, 3), (4, 5), (2, 1), (5, 4), (1, 4), (3, 2))]
    together = planner.allocate_many(states, [LUCK] * 6)
    for state, allocation in zip(states, together, strict=True):
        np.testing.assert_array_equal(allocation.coupons, planner.plan(state).allocation.coupons)


@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_close_to_the_exact_optimum_with_few_rounds_left(discount: float) -> None:
    tiny = Rules(budget=6, people=3, rounds=3)
    planner = learned(tiny, discount).planner
    optimum = solve(WORLD, tiny, discount)
    for rounds_left in (1, 2, 3):
        shorter = replace(tiny, rounds=rounds_left)
        for types in ([0, 1, 1], [1, 1, 2], [0, 1, 3]):
            frontier = np.array(types, dtype=np.int16)[:, None]
            best = optimum.value(frontier, rounds_left=rounds_left)
            value = exact_value(WORLD, planner, shorter, discount, frontier)
            assert value <= best + 1e-9
            assert value >= (1 - 1e-9 if rounds_left == 1 else 0.96) * best, (
                f"{types}, {rounds_left}: {value} of {best}"
            )


def test_the_advice_spends_faster_as_time_runs_out() -> None:
    """On the same frontiers with the same budget, on average over people of the world."""
    planner = learned(STUDY, 1.0).planner
    frontiers = [people(5, f"frontier {number}") for number in range(30)]
    spends = [
        np.mean(
            [
                planner.plan(State(30, Frontier.of(codes), 5 - left, STUDY), every_spend=False).spend
                for codes in frontiers
            ]
        )
        for left in (1, 2, 3, 4, 5)
    ]
    assert all(sooner > later - 0.1 for sooner, later in pairwise(spends))
    assert spends[0] == 30  # the last round keeps nothing
    assert spends[0] > 1.3 * spends[1] > 1.3 * spends[4]


@pytest.mark.parametrize(("rounds", "at_least"), [(1, 0.8), (2, 1.2), (3, 0.8), (5, -0.5)])
def test_knowing_the_deadline_earns_more_when_rounds_are_few(rounds: int, at_least: float) -> None:
    """Values learned for five rounds, used with so many left; with all five the blind one was learned for just that."""
    episodes = named_luck(("few rounds",), 300)
    aware, blind = (
        rollout(WORLD, learned(STUDY, 1.0, deadline=known).planner, STUDY, episodes, rounds_left=np.full(300, rounds))
        for known in (True, False)
    )
    gain = aware.discounted_rewards(1.0) - blind.discounted_rewards(1.0)
    assert gain.mean() - 3 * gain.std() / np.sqrt(300) > at_least, f"{gain.mean():.2f}"


def test_the_same_seed_learns_the_same_tables() -> None:
    small = replace(
        QUICK, rounds=1, episodes=30, states=60, returns=2, steps=30, judged_episodes=20, surrogate=DEADLINE
    )
    rules = rules_to_start_from(30)[:2]
    one, other = (learn_by_policy_iteration(WORLD, STUDY, 0.9, rules, small).planner for _ in range(2))
    np.testing.assert_array_equal(one.story.surrogate.weights, other.story.surrogate.weights)
    assert one.story.surrogate.rounds == 5


def test_states_carry_their_rounds_left() -> None:
    rule = Evenly(WORLD.response)
    met = visited(WORLD, rule, STUDY, named_luck(("met",), 30))
    assert met.rounds_left is not None
    assert (met.rounds_left[:30] == 5).all()
    assert set(met.rounds_left.tolist()) == {1, 2, 3, 4, 5}
    half = met.take(np.arange(0, len(met), 2))
    np.testing.assert_array_equal(half.rounds_left, met.rounds_left[::2])
    both = StateBatch.joined([half, met.thinned(np.random.default_rng(0))])
    np.testing.assert_array_equal(both.rounds_left, np.concatenate([half.rounds_left, met.rounds_left]))
    again = met.redated(np.random.default_rng(1), 1.0, 5)
    assert again.rounds_left.min() == 1
    assert again.rounds_left.max() == 5
    assert (again.rounds_left[:30] < 5).any()
    np.testing.assert_array_equal(met.redated(np.random.default_rng(1), 0.0, 5).rounds_left, met.rounds_left)
    sizes = {"episodes": 20, "states": 30, "thinned": 0.5, "names": ("some",)}
    assert explored(WORLD, rule, STUDY, **sizes).rounds_left is None
    assert len(explored(WORLD, rule, STUDY, redated=0.5, **sizes).rounds_left) == 30
    unknown = replace(met, rounds_left=None)
    with pytest.raises(SettingError, match="like with like"):
        StateBatch.joined([met, unknown])
    with pytest.raises(SettingError, match="do not say how many rounds are left"):
        unknown.redated(np.random.default_rng(1), 0.5, 5)


def test_returns_are_simulated_with_the_rounds_that_are_left() -> None:
    """Five sure recruits a round: a state with t rounds left earns 5 t, whatever the rules' horizon."""
    from peerfront.simulation.typed import typed_world

    sure = typed_world("sure", {"x": 400.0}, {"x": {"x": 1.0}}, {"x": 1.0})
    states = StateBatch(np.full(3, 100), np.array([0, 5, 10, 15]), np.zeros((15, 1), np.int16), np.array([1, 4, 2]))
    one_each = Scripted(lambda state: np.ones(len(state.frontier), dtype=int))
    returns = simulated_returns(sure, one_each, Rules(rounds=6), 1.0, states, 2, named_luck(("sure",), 3))
    np.testing.assert_array_equal(returns, [[5, 5], [20, 20], [10, 10]])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Surrogate(INPUTS, 12, DEADLINE, 0), "needs the number of rounds"),
        (lambda: Surrogate(INPUTS, 12, DEADLINE, 0, 0), "rounds of the value must be a whole number of at least 1"),
        (lambda: FittedValueIterationSettings(surrogate=DEADLINE), "does not learn deadlines"),
        (lambda: PolicyIterationSettings(redated=2.0), "redated must be a share"),
        (
            lambda: an_untrained_planner().story.surrogate.values(
                np.array([3]), INPUTS.rows(people(2)), np.array([0, 2])
            ),
            "say how many rounds",
        ),
        (lambda: Surrogate(INPUTS, 12, DEADLINE, 0, 3).weights(np.ones(2, dtype=np.float32)), "say how many rounds"),
    ],
)
def test_bad_settings_are_refused(wrong, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        wrong()


def test_a_blind_value_is_a_deadline_value_with_one_table() -> None:
    """The same weights for every number of rounds left plan as the blind value does."""
    blind = learned(STUDY, 1.0, deadline=False).planner
    story = blind.story
    weights = np.repeat(story.surrogate.weights[None], 6, axis=0)
    surrogate = FrozenSurrogate(INPUTS, story.surrogate.coverage_network, weights)
    same = replace(blind, stories=(replace(story, surrogate=surrogate),))
    for left in (1, 3, 5):
        state = a_state(20, left)
        np.testing.assert_array_equal(same.plan(state).allocation.coupons, blind.plan(state).allocation.coupons)
