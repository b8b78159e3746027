"""Population DP against its plain text and against enumeration of everything that can happen."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.plain_population_dp import plain_best_spend, plain_population_values
from peerfront.baselines.population_dp import (
    PopulationDP,
    fit_population_dp,
    next_sizes,
    population_values,
)
from peerfront.foundation.counts import poisson_survival
from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Frontier, Rules, State
from peerfront.simulation.catalog import make_world

LUCK = named_luck(("dp",), 1)
survivals = st.lists(st.floats(0.0, 1.0), min_size=12, max_size=12).map(lambda p: np.array(sorted(p, reverse=True)))
discounts = st.sampled_from([0.5, 0.9, 1.0])


def enumerated_values(survival: np.ndarray, budget: int, discount: float) -> np.ndarray:
    """U(r, n) by listing every capacity of every person."""
    at_least = [1.0, *survival[:budget], 0.0]

    @cache
    def value(r: int, n: int) -> float:
        best = 0.0
        for s in range(1, r + 1) if n else []:
            a, c = divmod(s, n)
            shares = [a + 1] * c + [a] * (n - c)
            total = 0.0
            for recruits in product(*(range(k + 1) for k in shares)):
                chance = np.prod(
                    [at_least[y] - (at_least[y + 1] if y < k else 0.0) for y, k in zip(recruits, shares, strict=True)]
                )
                total += chance * (sum(recruits) + discount * value(r - s, sum(recruits)))
            best = max(best, total)
        return best

    return np.array([[value(r, n) for n in range(budget + 1)] for r in range(budget + 1)])


@settings(max_examples=20)
@given(survivals, discounts)
def test_the_table_equals_enumeration(survival, discount) -> None:
    assert np.allclose(population_values(survival, Rules(budget=4), discount), enumerated_values(survival, 4, discount))


@settings(max_examples=25)
@given(survivals, st.integers(0, 9), discounts, st.none() | st.integers(1, 4), st.none() | st.integers(1, 6))
def test_the_table_equals_the_plain_text(survival, budget, discount, per_person, per_round) -> None:
    rules = Rules(budget=budget, max_per_person=per_person, max_per_round=per_round)
    fast, plain = population_values(survival, rules, discount), plain_population_values(survival, rules, discount)
    # The plain text computes frontiers larger than the budget too; the table knows that they are worth no more.
    assert np.allclose(fast, plain)


@given(survivals, st.integers(1, 12))
def test_next_sizes_are_distributions_with_the_right_mean(survival, budget) -> None:
    sizes = next_sizes(survival, budget)
    assert np.allclose(sizes[1:].sum(axis=2), 1.0)
    for n, s in product(range(1, budget + 1), range(budget + 1)):
        a, c = divmod(s, n)
        mean = n * survival[:a].sum() + (c * survival[a] if c else 0.0)
        assert np.isclose(sizes[n, s] @ np.arange(budget + 1), mean)


class Rows:
    """Capacities by row number."""

    def __init__(self, table: np.ndarray) -> None:
        self.table = table

    def gains(self, covariates, max_coupons):
        return self.table[covariates[:, 0], :max_coupons]


@given(
    st.lists(st.sampled_from([0.0, 0.3, 1.0, 2.0, 6.0]), min_size=1, max_size=5),
    st.integers(1, 12),
    discounts,
    st.none() | st.integers(1, 5),
    st.none() | st.integers(1, 8),
)
def test_acting_equals_the_plain_text(rates, budget, discount, per_person, per_round) -> None:
    rules = Rules(budget=budget, max_per_person=per_person, max_per_round=per_round)
    response = Rows(poisson_survival(np.array(rates), budget))
    everybody = np.arange(len(rates), dtype=np.int16)[:, None]
    policy = fit_population_dp(response, everybody, rules, discount)
    state = State(budget, Frontier.of(everybody), 0, rules)
    plain = plain_best_spend(
        response.gains(everybody, state.most_per_person), policy.values, budget, state.spendable, discount
    )
    assert policy.allocate(state, LUCK).coupons.tolist() == plain.tolist()


def test_value_bounds_and_monotonicity() -> None:
    values = population_values(poisson_survival(np.array([2.5]), 60)[0], Rules(budget=60), 0.95)
    budgets = np.arange(61)
    assert (values >= 0).all()
    assert (values <= budgets[:, None] + 1e-9).all()
    assert (np.diff(values, axis=0) >= -1e-9).all()
    assert (np.diff(values, axis=1) >= -1e-9).all()


def test_bad_input() -> None:
    with pytest.raises(SettingError, match="must not increase"):
        population_values(np.array([0.1, 0.5]), Rules(budget=2), 0.9)
    with pytest.raises(SettingError, match="finite"):
        population_values(np.array([0.5, np.nan]), Rules(budget=2), 0.9)
    with pytest.raises(SettingError, match="discount"):
        population_values(np.array([0.5, 0.1]), Rules(budget=2), 1.5)
    with pytest.raises(SettingError, match="at most 600 .*found 1000"):
        population_values(np.array([0.5]), Rules(budget=1000), 0.9)
    world = make_world("bridge")
    with pytest.raises(SettingError, match="at least one person"):
        fit_population_dp(world.response, np.zeros((0, 1), dtype=np.int16), Rules(), 0.9)
    small = PopulationDP(world.response, 0.9, np.zeros((5, 5)))
    with pytest.raises(SettingError, match="budgets of at most 4; found 9"):
        small.allocate(State(9, Frontier.of(np.zeros((1, 1), dtype=np.int16))), LUCK)


def test_the_two_marginals() -> None:
    world, rules = make_world("bridge"), Rules(budget=3)  # a budget far below what people can bring
    people = np.array([[0], [3]], dtype=np.int16)  # rates 4 and .02
    poisson = fit_population_dp(world.response, people, rules, 0.9, marginal="poisson")
    expected = population_values(poisson_survival(np.array([2.01]), 3)[0], rules, 0.9)
    assert np.allclose(poisson.values, expected, atol=1e-9)
    mixture = fit_population_dp(world.response, people, rules, 0.9)
    assert (mixture.values <= poisson.values + 1e-9).all()  # spread in capacity wastes coupons
    assert (mixture.name, poisson.name) == ("population_dp", "population_dp:marginal=poisson")
    with pytest.raises(UnknownName, match="Did you mean 'poisson'"):
        fit_population_dp(world.response, people, rules, 0.9, marginal="poison")


def test_a_budget_of_nothing_has_a_table() -> None:
    assert population_values(np.array([0.5]), Rules(budget=0), 0.9).tolist() == [[0.0]]
