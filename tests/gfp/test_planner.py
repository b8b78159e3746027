"""The surrogate, the embeddings and the planner that uses both."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.learning import embedding_error, sampled_embeddings
from peerfront.gfp.planner import Planner
from peerfront.gfp.surrogate import LaplaceNetwork, LaplaceSettings, PersonInputs, SurrogateSettings
from peerfront.gfp.training import LaplaceTrainer, Surrogate, members_of
from peerfront.problem import Frontier, Rules, State, check_feasible, rollout
from peerfront.simulation.catalog import make_world
from problem.given_responses import GivenResponse

WORLD = make_world("bridge")
INPUTS = PersonInputs(WORLD.schema, WORLD.response)
LUCK = named_luck(("planner test",), 1)


def untrained(latent: int = 4, budget: int = 30, seed: int = 0) -> Surrogate:
    return Surrogate(INPUTS, budget, SurrogateSettings(latent=latent), seed)


def a_planner(discount: float = 0.9, **more: int) -> Planner:
    surrogate = untrained().freeze()
    people = WORLD.population(named_luck(("people",), 64))
    trainer = LaplaceTrainer(
        INPUTS, WORLD.offspring, people, 4, LaplaceSettings(steps=50), named_luck(("recruits",), 64), 0
    )
    return Planner.of(WORLD.response, surrogate, trainer.follow(surrogate), discount, **more)


def a_state(budget: int = 20, people: int = 6, rules: Rules | None = None) -> State:
    return State(budget, Frontier.of(WORLD.population(named_luck(("state", people), people))), 0, rules or Rules())


@given(st.integers(0, 30), st.integers(0, 40), st.integers(0, 5), st.booleans())
@settings(max_examples=50, deadline=None)
def test_values_lie_between_zero_and_the_budget(budget: int, people: int, seed: int, paper: bool) -> None:
    chosen = SurrogateSettings.paper() if paper else SurrogateSettings()
    surrogate = Surrogate(INPUTS, 30, chosen, seed).freeze()
    rows = INPUTS.rows(WORLD.population(named_luck(("values",), people)))
    value = surrogate.values(np.array([budget]), rows, np.array([0, people]))[0]
    assert 0.0 <= value <= budget * (1 + 1e-6)
    if people == 0 or budget == 0:
        assert value == 0.0


def test_the_frozen_surrogate_is_the_trained_one() -> None:
    surrogate = untrained()
    people = WORLD.population(named_luck(("frozen",), 12))
    budgets, first = np.array([5, 30, 0]), np.array([0, 3, 10, 12])
    live = surrogate.values(budgets.astype(np.float32), INPUTS.rows(people), members_of(first))
    np.testing.assert_allclose(surrogate.freeze().values(budgets, INPUTS.rows(people), first), live, rtol=1e-4)
    with pytest.raises(SettingError, match="at most 30; found 31"):
        surrogate.freeze().values(np.array([31]), INPUTS.rows(people), np.array([0, 12]))


def test_the_paper_starts_with_everything_covered_and_the_default_does_not() -> None:
    rows = INPUTS.rows(WORLD.population(named_luck(("start",), 200)))
    paper = Surrogate(INPUTS, 100, SurrogateSettings.paper(), 0).freeze().coverage(rows).mean()
    ours = Surrogate(INPUTS, 100, SurrogateSettings(), 0).freeze().coverage(rows).mean(axis=0)
    assert paper > 0.5
    assert ours.min() < 0.1 < ours.max()


def test_the_laplace_network_follows_sampled_embeddings() -> None:
    surrogate = untrained(latent=3).freeze()
    people = WORLD.population(named_luck(("laplace",), 256))
    trainer = LaplaceTrainer(INPUTS, WORLD.offspring, people, 3, LaplaceSettings(), named_luck(("recruits",), 256), 0)
    network = trainer.follow(surrogate)
    sampled = sampled_embeddings(WORLD.offspring, surrogate, people[:50], 400, named_luck(("judged",), 50))
    assert ((sampled > 0) & (sampled <= 1)).all()
    assert embedding_error(network, sampled, people[:50])["mean_error"] < 0.02
    other = Surrogate(INPUTS, 30, SurrogateSettings(latent=3, first_bias=(1.0, 2.0)), 7).freeze()
    judged = sampled_embeddings(WORLD.offspring, other, people[:50], 400, named_luck(("judged",), 50))
    assert embedding_error(network, judged, people[:50])["mean_error"] > 0.3
    assert embedding_error(trainer.follow(other), judged, people[:50])["mean_error"] < 0.1


def test_the_paper_never_refreshes_its_laplace_network() -> None:
    people = WORLD.population(named_luck(("laplace",), 64))
    trainer = LaplaceTrainer(
        INPUTS, WORLD.offspring, people, 3, LaplaceSettings.paper(), named_luck(("recruits",), 64), 0
    )
    rows = INPUTS.rows(people)
    before = trainer.follow(untrained(latent=3).freeze()).uncovered(rows)
    after = trainer.follow(untrained(latent=3, seed=9).freeze()).uncovered(rows)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    "rules", [Rules(), Rules(max_per_person=2), Rules(max_per_round=5), Rules(max_per_person=1, max_per_round=3)]
)
def test_plans_respect_every_cap(rules: Rules) -> None:
    planner = a_planner()
    for budget in (0, 1, 7, 30):
        state = a_state(budget, rules=rules)
        check_feasible(planner.allocate(state, LUCK), state, "gfp")
        np.testing.assert_array_equal(planner.plan(state).allocation.coupons, planner.allocate(state, LUCK).coupons)
    rollout(WORLD, planner, replace(rules, budget=30, people=5), named_luck(("caps",), 20))


def test_a_plan_says_what_each_coupon_is_worth() -> None:
    state = a_state(25)
    plan = a_planner().plan(state)
    assert plan.spend == len(plan.person) == plan.allocation.coupons.sum() > 0
    np.testing.assert_array_equal(np.bincount(plan.person, minlength=6), plan.allocation.coupons)
    assert plan.now.sum() + plan.later.sum() == pytest.approx(plan.value)
    assert plan.value == pytest.approx(np.nanmax(plan.values))
    assert np.isfinite(plan.values).all()
    assert (np.diff(plan.now + plan.later) <= 1e-9).all()


def test_everybody_gets_the_least_while_it_lasts() -> None:
    planner = a_planner(least_per_person=2)
    assert planner.allocate(a_state(30), LUCK).coupons.min() >= 2
    scarce = planner.allocate(a_state(7), LUCK)  # six people, seven coupons: not enough for two each
    assert scarce.spend == 7
    assert scarce.coupons.max() <= 2
    states = [a_state(budget) for budget in (30, 7, 12)]
    for state, together in zip(states, planner.allocate_many(states, [LUCK] * 3), strict=True):
        assert np.array_equal(together.coupons, planner.plan(state).allocation.coupons)


@pytest.mark.parametrize("rules", [Rules(), Rules(max_per_person=2), Rules(max_per_round=9)])
def test_large_frontiers_are_planned_by_price(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    exact, small = a_planner().plan(a_state(30, 40, rules)), a_planner().plan(a_state(9, 2, rules))
    monkeypatch.setattr("peerfront.gfp.planner.MOST_WORK_EXACT", 20)
    for planner in (a_planner(), a_planner(least_per_person=1)):
        states = [a_state(30, 40, rules), a_state(9, 2, rules), a_state(25, 12, rules)]
        together = planner.allocate_many(states, [LUCK] * 3)
        for state, allocation in zip(states, together, strict=True):
            plan = planner.plan(state)
            check_feasible(allocation, state, "gfp")
            np.testing.assert_array_equal(allocation.coupons, plan.allocation.coupons)
            np.testing.assert_array_equal(np.bincount(plan.person, minlength=len(state.frontier)), allocation.coupons)
            assert plan.now.sum() + plan.later.sum() == pytest.approx(plan.value)
            assert plan.values[plan.spend] == plan.value
    plan = a_planner().plan(a_state(30, 40, rules))
    assert plan.gap is not None
    assert 0.0 <= plan.gap < 0.02
    assert 0.995 * exact.value <= plan.value <= plan.bound
    assert exact.value <= plan.bound
    assert small.gap is exact.gap is None


def test_a_frontier_of_another_study_is_refused() -> None:
    other = make_world("icpsr22140")
    state = State(10, Frontier.of(other.population(named_luck(("other",), 3))))
    with pytest.raises(SettingError, match="do not fit a schema of 1 fields"):
        a_planner().plan(state)


def test_models_that_give_nonsense_are_refused() -> None:
    class Unsure(GivenResponse):
        def gains(self, covariates, max_coupons):
            return np.full((len(covariates), max_coupons), 1.5)

    class Negative(LaplaceNetwork):
        def uncovered(self, rows):
            return np.full((len(rows), 4), -0.5)

    planner, story = a_planner(), a_planner().story
    with pytest.raises(SettingError, match="a coupon is used of 1.5"):
        replace(planner, stories=(replace(story, response=Unsure(np.ones((4, 1)))),)).plan(a_state())
    negative = Negative(story.laplace.inputs, story.laplace.network)
    with pytest.raises(SettingError, match="embedding of -0.5"):
        replace(planner, stories=(replace(story, laplace=negative),)).plan(a_state())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SurrogateSettings(latent=0),
        lambda: LaplaceSettings(children=0),
        lambda: LaplaceSettings(learning_rate=0.0),
        lambda: a_planner(discount=1.5),
    ],
)
def test_bad_settings_are_refused(wrong) -> None:
    with pytest.raises(SettingError):
        wrong()
