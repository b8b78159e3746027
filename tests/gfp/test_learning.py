"""Learning the value: both ways come close to the exact optimum, and the paper's way does not learn."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.baselines.simple_rules import Constant, Evenly, RandomSplit, Threshold
from peerfront.foundation.errors import SettingError
from peerfront.foundation.networks import Adam
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.gfp.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration
from peerfront.gfp.learning import LearnedPlanner, compared, earned
from peerfront.gfp.planner import Planner
from peerfront.gfp.policy_iteration import PolicyIterationSettings, best_rule, learn_by_policy_iteration
from peerfront.gfp.states import ExplorationMixture, StateBatch, drawn_states, explored, simulated_returns, visited
from peerfront.gfp.surrogate import (
    LaplaceSettings,
    PersonInputs,
    SurrogateSettings,
    learned_networks,
    with_response,
)
from peerfront.gfp.training import Kinds, Surrogate, fit_values
from peerfront.problem import Allocation, Frontier, Rules, State
from peerfront.simulation.typed import bridge
from simulation.exact import exact_value, solve
from support import Scripted, within

WORLD = bridge()
TINY = Rules(budget=8, people=3)
RULES = [Threshold(WORLD.response, c, m) for c in (0.3, 0.6, 0.9) for m in (1, 3)]
LAPLACE = LaplaceSettings(parents=256, children=32, steps=300, refresh_steps=60)
RETURNS = PolicyIterationSettings(
    rounds=2, episodes=250, states=500, returns=8, steps=400, judged_episodes=200, laplace=LAPLACE
)
BACKUPS = FittedValueIterationSettings(iterations=800, states=400, episodes=150, laplace=LAPLACE)


def learned(method: str, discount: float) -> LearnedPlanner:
    if method == "returns":
        return learn_by_policy_iteration(WORLD, TINY, discount, RULES, RETURNS)
    return learn_by_fitted_value_iteration(WORLD, TINY, discount, RULES, BACKUPS)


@pytest.mark.parametrize("method", ["returns", "backups"])
@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_close_to_the_exact_optimum_of_a_tiny_world(method: str, discount: float) -> None:
    result = learned(method, discount)
    optimum = solve(WORLD, TINY, discount)
    for types in ([0, 0, 1], [0, 1, 1], [1, 1, 2], [0, 1, 3], [2, 2, 2]):
        frontier = np.array(types, dtype=np.int16)[:, None]
        best = optimum.value(frontier)
        value = exact_value(WORLD, result.planner, TINY, discount, frontier)
        assert value <= best + 1e-9
        assert value >= 0.97 * best, f"{types}: {value:.4f} of {best:.4f}"


def test_the_papers_training_changes_next_to_nothing_and_ours_a_lot() -> None:
    """In bridge the literal planner reads V = r and feeds the locals; a learned value does better by half and more."""
    rules = Rules(budget=40, people=6)
    paper = FittedValueIterationSettings.paper()
    literal = learn_by_fitted_value_iteration(WORLD, rules, 0.9, [RandomSplit()], paper).report
    start = learn_by_fitted_value_iteration(WORLD, rules, 0.9, [RandomSplit()], replace(paper, iterations=0)).report
    ours = learn_by_policy_iteration(WORLD, rules, 0.9, RULES, RETURNS).report
    assert start.iterations == 0
    assert literal.simulated < 1.2 * start.simulated
    assert ours.simulated > 1.5 * literal.simulated
    assert ours.uncovered_spread > 3 * start.uncovered_spread
    assert ours.embedding_error < 0.02
    assert any("simulation gives" in str(line) for line in ours.lines())


def test_the_best_of_all_candidates_is_kept_the_rule_included() -> None:
    """In a single round a value that knows no deadline saves coupons, and spending all is best; in many it wins."""
    hasty = replace(RETURNS, episodes=30, states=60, returns=1, steps=20, judged_episodes=60)
    once, often = Rules(budget=20, people=5, rounds=1), Rules(budget=20, people=5)
    for settings, rules, simple, rule_wins in (
        (hasty, once, [Evenly(WORLD.response)], True),
        (replace(hasty, steps=200), often, [Constant(1)], False),
    ):
        result = learn_by_policy_iteration(WORLD, rules, 1.0, simple, settings)
        fresh = named_luck(("compare rule and planners", settings.seed), settings.judged_episodes)
        means = {name: earned(WORLD, policy, rules, 1.0, fresh).mean() for name, policy in result.candidates.items()}
        kept, best_planner = result.report.kept, result.report.best_planner
        assert kept is not None
        assert best_planner is not None
        assert list(means) == [each.name for each in result.report.candidates]
        assert [each.earned for each in result.report.candidates] == list(means.values())
        assert result.candidates[kept.name] is result.policy
        assert means[kept.name] == max(means.values())
        assert result.candidates[best_planner.name] is result.planner
        assert result.planner.plan(State(9, _three_people(), 0, rules)).spend <= 9  # can explain itself, rule or not
        assert (result.rule is not None) is rule_wins
        assert (result.policy is simple[0]) is rule_wins
        assert str(result.report).count("so this one is kept") == 1


def test_an_earlier_planner_is_started_from_and_kept_where_it_is_better() -> None:
    """With hardly any simulations the value of before is better, and it still belongs to the response of today."""
    before = learn_by_policy_iteration(WORLD, TINY, 0.9, RULES, RETURNS).planner
    hasty = replace(RETURNS, rounds=1, episodes=2, states=4, returns=1, steps=1, judged_episodes=150)
    again = learn_by_policy_iteration(WORLD, TINY, 0.9, RULES, hasty, earlier=before)
    assert [each.name.partition(",")[0] for each in again.report.candidates] == ["start", "earlier", "round 1"]
    assert again.planner is before
    other = bridge()
    carried = with_response(before.story, other.response)
    assert carried.response is other.response
    assert all(network.inputs.response in (None, other.response) for network in learned_networks(carried))
    state = State(8, Frontier.of(np.array([[0], [1], [1]], dtype=np.int16)), rules=TINY)
    moved = Planner((carried,), 0.9).plan(state, every_spend=False)
    assert (moved.allocation.coupons == before.plan(state, every_spend=False).allocation.coupons).all()


def test_a_rule_that_only_looked_good_where_it_was_chosen_is_not_kept() -> None:
    """The episodes that choose the rule are not those that compare it with planners."""
    small = replace(RETURNS, rounds=1, episodes=40, states=60, returns=2, steps=40, judged_episodes=20)
    result = learn_by_policy_iteration(WORLD, TINY, 0.9, RULES, small)
    chosen_in = named_luck(("judge", small.seed), small.judged_episodes)
    rule, flattered = best_rule(WORLD, RULES, TINY, 0.9, chosen_in)
    start = result.report.candidates[0]
    assert start.name == f"start, {rule.name}"
    assert start.earned != flattered


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=4))
def test_candidates_are_compared_in_pairs(table: list[list[int]]) -> None:
    rewards = {f"candidate {number}": np.array(row, dtype=float) for number, row in enumerate(table)}
    candidates = compared(rewards, "candidate 0")
    (kept,) = (each for each in candidates if each.kept)
    assert kept.earned == max(each.earned for each in candidates)
    assert (kept.behind, kept.behind_error) == (0.0, 0.0)
    for each in candidates:
        assert each.behind == pytest.approx(kept.earned - each.earned)
        assert each.is_planner is (each.name != "candidate 0")
        if each.earned == kept.earned and each.is_planner:
            assert kept.is_planner  # equally good: keep the one that can explain itself


def test_the_same_seed_learns_the_same_planner() -> None:
    small = replace(RETURNS, rounds=1, episodes=40, states=60, returns=2, steps=40, judged_episodes=20)
    one, other = (learn_by_policy_iteration(WORLD, TINY, 0.9, RULES, small).planner for _ in range(2))
    np.testing.assert_array_equal(one.story.surrogate.weights, other.story.surrogate.weights)
    different = learn_by_policy_iteration(WORLD, TINY, 0.9, RULES, replace(small, seed=1)).planner
    assert not np.array_equal(one.story.surrogate.weights, different.story.surrogate.weights)


def test_learning_tells_how_far_it_is() -> None:
    told: list[float] = []
    small = replace(BACKUPS, iterations=60, states=40, episodes=20, revisit=1)
    learn_by_fitted_value_iteration(WORLD, TINY, 0.9, RULES, small, lambda share, what: told.append(share))
    assert told[0] == 0.0
    assert told[-1] == 1.0
    assert told == sorted(told)


def test_a_learned_planner_keeps_the_caps_it_was_learned_with() -> None:
    rules = Rules(budget=12, people=4, max_per_person=2, max_per_round=5)
    small = replace(BACKUPS, iterations=100, states=60, episodes=30)
    result = learn_by_fitted_value_iteration(WORLD, rules, 0.9, RULES, small)
    met = visited(WORLD, result.planner, rules, named_luck(("caps",), 20))  # rollouts check every allocation
    assert len(met)


def test_states_can_be_taken_joined_and_thinned() -> None:
    states = StateBatch(np.array([5, 9]), np.array([0, 3, 5]), np.arange(5, dtype=np.int16)[:, None] % 4)
    swapped = states.take(np.array([1, 0, 1]))
    np.testing.assert_array_equal(swapped.budgets, [9, 5, 9])
    np.testing.assert_array_equal(swapped.covariates[:, 0], [3, 0, 0, 1, 2, 3, 0])
    both = StateBatch.joined([states, swapped])
    np.testing.assert_array_equal(both.sizes, [3, 2, 2, 3, 2])
    np.testing.assert_array_equal(both.owner, np.repeat(np.arange(5), [3, 2, 2, 3, 2]))
    few = both.thinned(np.random.default_rng(0))
    assert (few.sizes >= 1).all()
    assert (few.sizes <= both.sizes).all()
    assert few.sizes.sum() < both.sizes.sum()
    for s in range(5):  # whoever is left was there
        before = both.covariates[both.first[s] : both.first[s + 1], 0].tolist()
        for person in few.covariates[few.first[s] : few.first[s + 1], 0].tolist():
            before.remove(person)
    assert len(drawn_states(both, 3, "some")) == 3
    assert drawn_states(both, 9, "all") is both


def test_states_met_are_those_of_the_episodes() -> None:
    met = visited(WORLD, Constant(2), Rules(budget=30, people=4), named_luck(("met",), 50))
    assert (met.budgets[:50] == 30).all()
    assert (met.sizes[:50] == 4).all()
    assert (met.budgets[50:] == 22).any()


def test_simulated_returns_are_what_the_policy_earns() -> None:
    """Two hubs with one coupon each: a return is one reward of each of them."""
    two_hubs = StateBatch(np.array([2, 2]), np.array([0, 2, 4]), np.full((4, 1), 2, dtype=np.int16))
    policy = Scripted(lambda state: np.ones(len(state.frontier), dtype=int))
    returns = simulated_returns(WORLD, policy, Rules(), 0.9, two_hubs, 4000, named_luck(("returns",), 2))
    assert returns.shape == (2, 4000)
    chance = float(WORLD.response.gains(np.full((1, 1), 2, dtype=np.int16), 1)[0, 0])
    assert within(returns[0], 2 * chance)
    assert not np.array_equal(returns[0], returns[1])


def test_an_exploration_mixture_does_both() -> None:
    nothing, everything = Scripted(lambda s: np.zeros(len(s.frontier), int)), Constant(1)
    state = State(9, _three_people())
    lucks = [named_luck(("wander",), 400).row(i) for i in range(400)]
    spent = [a.spend for a in ExplorationMixture(nothing, [everything], 0.25).allocate_many([state] * 400, lucks)]
    assert set(spent) == {0, 3}
    assert 60 < sum(s == 3 for s in spent) < 140
    assert isinstance(ExplorationMixture(nothing, [], 1.0).allocate(state, lucks[0]), Allocation)


def _three_people():
    from peerfront.problem import Frontier

    return Frontier.of(WORLD.population(named_luck(("three",), 3)))


def test_the_best_rule_wins_its_episodes() -> None:
    poor, good = Constant(1), Threshold(WORLD.response, 0.5, 8)
    rule, value = best_rule(WORLD, [poor, good], Rules(), 0.9, named_luck(("best",), 80))
    assert rule is good
    assert value > 40


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: PolicyIterationSettings(rounds=0), "rounds"),
        (lambda: PolicyIterationSettings(thinned=1.5), "thinned must be a share"),
        (lambda: PolicyIterationSettings(learning_rate=0.0), "learning rate"),
        (lambda: PolicyIterationSettings(seed=-1.5), "seed must be a whole number"),
        (lambda: SurrogateSettings(first_bias=(1.0,)), "first bias must be two numbers"),
        (lambda: SurrogateSettings(deadline=1), "deadline must be True or False"),
        (lambda: LaplaceSettings(batch=2.5), "batch must be a whole number"),
        (lambda: FittedValueIterationSettings(seed="0"), "seed must be a whole number"),
        (lambda: FittedValueIterationSettings(states=0), "states"),
        (lambda: FittedValueIterationSettings(exploration=-0.1), "exploration must be a share"),
        (lambda: FittedValueIterationSettings(learning_rate=2.0), "learning rate"),
        (lambda: learn_by_policy_iteration(WORLD, TINY, 0.9, []), "at least one simple rule"),
        (lambda: learn_by_fitted_value_iteration(WORLD, TINY, 0.9, []), "at least one policy"),
        (
            lambda: explored(WORLD, RULES[0], Rules(budget=0), episodes=5, states=5, thinned=0.0, names=("none",)),
            "nothing to learn from",
        ),
    ],
)
def test_bad_settings_are_refused(wrong, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        wrong()


def test_settings_are_plain_values() -> None:
    settings = PolicyIterationSettings(seed=np.int64(3), rounds=2.0, thinned=np.float32(0.5))
    assert (type(settings.seed), type(settings.rounds), type(settings.thinned)) == (int, int, float)
    assert settings == PolicyIterationSettings(seed=3)


def test_thinning_is_reproducible() -> None:
    states = visited(WORLD, RULES[0], Rules(budget=20, people=5), named_luck(("thin",), 20))
    one, other = (states.thinned(named_generator("thin")) for _ in range(2))
    np.testing.assert_array_equal(one.covariates, other.covariates)


def test_people_who_are_alike_are_valued_once_and_the_same(monkeypatch) -> None:
    rule, rules = Threshold(WORLD.response, 0.5, 6), Rules(budget=40, people=8)
    states = visited(WORLD, rule, rules, named_luck(("alike",), 60))
    targets = np.minimum(states.budgets, 1.5 * states.sizes).astype(float)
    inputs = PersonInputs.seeing("covariates", WORLD.schema, WORLD.response)

    def fitted() -> np.ndarray:
        surrogate = Surrogate(inputs, 40, SurrogateSettings(latent=3, hidden=8), seed=0)
        optimiser = Adam(surrogate.parameters, 1e-2)
        fit_values(surrogate, states, targets, optimiser, steps=40, batch=32, rng=np.random.default_rng(0))
        return surrogate.freeze().values(states.budgets, inputs.rows(states.covariates), states.first)

    one_by_one = fitted()
    assert Kinds.of(states) is None  # so few are valued one by one
    monkeypatch.setattr("peerfront.gfp.training._MIN_PEOPLE_TO_GROUP", 1)
    kinds = Kinds.of(states)
    assert kinds is not None
    assert kinds.count.sum() == len(states.covariates)
    by_kinds = fitted()
    np.testing.assert_allclose(by_kinds, one_by_one, rtol=1e-3)
    assert np.abs(one_by_one - targets).mean() < np.abs(targets.mean() - targets).mean()
