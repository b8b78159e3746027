"""Plans with several stories of what a coupon does: the average of their values, and each alone, bit for bit."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from peerfront.foundation.errors import SettingError
from peerfront.foundation.networks import Perceptron
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.backup import Tables
from peerfront.gfp.greedy import Limits, greedy
from peerfront.gfp.paper import algorithm_1, surrogate_q
from peerfront.gfp.planner import Planner
from peerfront.gfp.story import Story
from peerfront.gfp.surrogate import LaplaceNetwork, PersonInputs, SurrogateSettings
from peerfront.gfp.training import Surrogate
from peerfront.problem import Frontier, Rules, State
from peerfront.simulation.catalog import make_world
from problem.given_responses import GivenResponse, drawn_embeddings, drawn_response

WORLD = make_world("bridge")  # a field of four types
BUDGET, ROUNDS = 24, 4


@cache
def a_story(name: str, weight: float, latent: int = 3, seed: int = 0) -> Story:
    """A story of people of four types, with an untrained value."""
    rng = np.random.default_rng(seed + 10)
    at_least = np.cumprod(rng.uniform(0.3, 1.0, (4, 6)), axis=1)
    chances = rng.uniform(0.1, 0.9, (4, 2)), np.tile([0.4, 0.6], (4, 1))
    response = {
        "capacity": GivenResponse(at_least),
        "per_coupon": GivenResponse(np.ones((4, 6)), *chances, unlimited=True),
        "both": GivenResponse(at_least, *chances),
    }[name]
    inputs = PersonInputs(WORLD.schema, None)
    surrogate = Surrogate(inputs, BUDGET, SurrogateSettings(latent=latent, deadline=True), seed, ROUNDS).freeze()
    laplace = LaplaceNetwork(inputs, Perceptron.started([inputs.width, 8, latent], seed).frozen())
    return Story(response, surrogate, laplace, weight, name)


def a_planner(*weights: float) -> Planner:
    names = ("capacity", "per_coupon", "both")[: len(weights)]
    stories = (a_story(name, w, 2 + n, n) for n, (name, w) in enumerate(zip(names, weights, strict=True)))
    return Planner(tuple(stories), 0.9)


def a_state(budget: int = 20, people: int = 7, played: int = 0, **rules: int) -> State:
    codes = WORLD.population(named_luck(("stories", people), people))
    return State(budget, Frontier.of(codes), played, Rules(budget=BUDGET, rounds=ROUNDS, **rules))


def averaged_value(planner: Planner, state: State, coupons: np.ndarray) -> float:
    """Q as `Planner` writes it, story by story: no tables, every person's T(k) = E[alpha^N(k)] as it is defined."""
    codes, total = state.frontier.covariates, 0.0
    most = int(coupons.max(initial=0))
    everybody = np.arange(len(codes))
    for story in planner.stories:
        gains = story.response.gains(codes, most)
        recruits = sum(gains[i, : coupons[i]].sum() for i in everybody)
        alpha = story.laplace.uncovered(story.laplace.inputs.rows(codes))
        by_coupons = [story.response.counts(codes, k) for k in range(most + 1)]  # P(N(k) = y), [people, k + 1]
        left = np.prod(
            [by_coupons[k][i] @ alpha[i] ** np.arange(k + 1)[:, None] for i, k in enumerate(coupons)], axis=0
        )
        worth = story.surrogate.weights_with(state.rounds_left - 1)[state.remaining_budget - int(coupons.sum())]
        total += story.weight * (recruits + planner.discount * float(worth @ (1.0 - left)))
    return total


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.9, 0.1), (0.2, 0.3, 0.5)])
@pytest.mark.parametrize("rules", [{}, {"max_per_person": 3}, {"max_per_round": 6}])
@pytest.mark.parametrize("played", [0, 2, 3])
def test_a_plan_is_worth_the_average_over_the_stories(weights: tuple, rules: dict, played: int) -> None:
    planner, state = a_planner(*weights), a_state(played=played, **rules)
    plan = planner.plan(state)
    assert plan.value == pytest.approx(averaged_value(planner, state, plan.allocation.coupons), rel=1e-10)
    assert plan.now.sum() + plan.later.sum() == pytest.approx(plan.value)
    tables, table = planner.tables(state.frontier.covariates, state.most_per_person), planner.weights_with(3 - played)
    limits = {"spendable": state.spendable, "most_per_person": state.most_per_person}
    plain = algorithm_1(tables.gains, tables.covers, table[:21], 0.9, **limits)
    np.testing.assert_array_equal(plan.allocation.coupons, plain.coupons)
    np.testing.assert_array_equal(plan.values, plain.values)


def test_no_allocation_of_two_people_is_much_better() -> None:
    """Greedy has the same guarantee with several stories; brute force over every allocation of every spend."""
    planner = a_planner(0.5, 0.5)
    state = a_state(5, 3)
    plan = planner.plan(state)
    for spend in range(1, 6):
        best = max(
            averaged_value(planner, state, np.array(k)) for k in product(range(spend + 1), repeat=3) if sum(k) == spend
        )
        assert (1 - 1 / np.e) * best <= plan.values[spend] <= best + 1e-9


def test_many_states_are_planned_as_each_alone() -> None:
    planner = a_planner(0.3, 0.3, 0.4)
    states = [a_state(20, 7), a_state(11, 3, 2), a_state(0, 4), a_state(24, 9, 3, max_per_person=2)]
    together = planner.allocate_many(states, [named_luck(("many",), 1)] * 4)
    for state, allocation in zip(states, together, strict=True):
        np.testing.assert_array_equal(allocation.coupons, planner.plan(state).allocation.coupons)
    first = np.concatenate([[0], np.cumsum([len(state.frontier) for state in states])])
    limits = Limits(
        np.array([state.remaining_budget for state in states]),
        np.array([state.spendable for state in states]),
        np.array([state.most_per_person for state in states]),
        np.zeros(4, dtype=np.int64),
    )
    covariates = np.concatenate([state.frontier.covariates for state in states])
    coupons, values = planner.plan_many(covariates, first, limits, np.array([s.rounds_left for s in states]))
    for number, state in enumerate(states):
        own = coupons[first[number] : first[number + 1]]
        assert values[number] == pytest.approx(averaged_value(planner, state, own), rel=1e-10)


def test_a_story_believed_alone_plans_as_if_there_were_no_other() -> None:
    planner = a_planner(0.5, 0.5)
    for number, name in enumerate(("capacity", "per_coupon")):
        alone = Planner((replace(planner.stories[number], weight=1.0),), 0.9)
        weights = [0.0, 0.0]
        weights[number] = 1.0
        for other in (planner.only(name), planner.weighted(weights)):
            assert [story.name for story in other.stories] == [name]
            for state in (a_state(), a_state(18, 12, 1, max_per_person=2)):
                one, two = alone.plan(state), other.plan(state)
                np.testing.assert_array_equal(one.allocation.coupons, two.allocation.coupons)
                assert one.value == two.value
                for part in ("values", "person", "now", "later"):
                    np.testing.assert_array_equal(getattr(one, part), getattr(two, part))


def test_a_weight_of_nearly_0_changes_nothing_but_ties() -> None:
    """Two stories that say the same are one story, whatever their weights."""
    story = a_story("both", 1.0)
    alone = Planner((story,), 0.9).plan(a_state())
    for share in (0.5, 0.25, 1e-6):
        twice = Planner((replace(story, weight=share), replace(story, weight=1.0 - share, name="again")), 0.9)
        assert twice.plan(a_state()).value == pytest.approx(alone.value, rel=1e-9)


def test_large_frontiers_of_several_stories_are_planned_by_price(monkeypatch: pytest.MonkeyPatch) -> None:
    planner, state = a_planner(0.6, 0.4), a_state(24, 40, max_per_person=2)
    exact = planner.plan(state)
    monkeypatch.setattr("peerfront.gfp.planner.MOST_WORK_EXACT", 20)
    plan = planner.plan(state)
    assert plan.bound is not None
    assert 0.99 * exact.value <= plan.value <= plan.bound
    assert exact.value <= plan.bound
    assert plan.value == pytest.approx(averaged_value(planner, state, plan.allocation.coupons), rel=1e-9)


def test_stories_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(SettingError, match=r"add up to 1; found \[0.5, 0.4\]"):
        a_planner(0.5, 0.4)
    with pytest.raises(SettingError, match=r"found \[\]"):
        Planner((), 0.9)
    with pytest.raises(SettingError, match="weight must be"):
        a_story("both", 1.5)
    other = Surrogate(PersonInputs(WORLD.schema, None), 9, SurrogateSettings(latent=2), 0).freeze()
    with pytest.raises(SettingError, match="the same budget and rounds"):
        Planner((a_story("capacity", 0.5), replace(a_story("both", 0.5), surrogate=other)), 0.9)
    with pytest.raises(SettingError, match="averages over capacity, per_coupon; choose one"):
        _ = a_planner(0.5, 0.5).story
    with pytest.raises(SettingError, match="found"):
        a_planner(0.5, 0.5).only("magic")


def test_impossible_models_are_refused_before_planning() -> None:
    planner = a_planner(0.5, 0.5)
    good = planner.stories[1]

    def with_response(response: GivenResponse) -> Planner:
        return replace(planner, stories=(planner.stories[0], replace(good, response=response)))

    for chance in (1.2, -0.1, np.nan):
        wrong = GivenResponse(np.ones((4, 6)), np.full((4, 1), chance), np.ones((4, 1)), unlimited=True)
        with pytest.raises(SettingError, match="chances are from 0 to 1"):
            with_response(wrong).plan(a_state())


def test_where_a_second_coupon_brings_more_than_the_first_nobody_gets_only_one() -> None:
    rising = GivenResponse(np.tile([0.05, 0.9, 0.0, 0.0, 0.0, 0.0], (4, 1)))
    planner = Planner((replace(a_story("capacity", 1.0), response=rising),), 0.9)
    for state in (a_state(), a_state(budget=8), a_state(played=ROUNDS - 1)):
        coupons = planner.plan(state).allocation.coupons
        assert coupons.sum() > 0
        assert set(coupons.tolist()) <= {0, 2}
        quick = planner.allocate_many([state], [named_luck(("any",), 1)])[0].coupons
        assert (quick == 2).any()
        assert (quick == 1).sum() <= 1  # what whole blocks leave of an odd number


def test_the_guarantee_holds_for_every_family() -> None:
    """Proposition 3 by brute force: mixtures of stories, chances of 0 and 1, ties, embeddings at both ends."""
    rng = np.random.default_rng(12)
    worst = 1.0
    for _ in range(60):
        people, budget = int(rng.integers(2, 4)), int(rng.integers(1, 5))
        parts = [drawn_response(rng, people, budget, family, 1) for family in ("per coupon", "both")]
        covers = [part.covers(part.everybody, drawn_embeddings(rng, people, 2, 1, True), budget) for part in parts]
        gains = 0.5 * sum(part.gains(part.everybody, budget) for part in parts)
        tables = Tables(gains, np.concatenate(covers, axis=2))
        weights = np.arange(budget + 1)[:, None] * rng.dirichlet(np.full(4, 0.5)) * 5.0
        values = greedy(tables, weights, 1.0, every_spend=True).values
        for spend in range(1, budget + 1):
            best = max(
                surrogate_q(tables.gains, tables.transform(), weights[budget - spend], 1.0, np.array(k))
                for k in product(range(spend + 1), repeat=people)
                if sum(k) == spend
            )
            assert values[spend] <= best + 1e-9
            worst = min(worst, values[spend] / best if best > 0 else 1.0)
    assert worst >= 1 - 1 / np.e
