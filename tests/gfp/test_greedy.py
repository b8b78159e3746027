"""Algorithm 1: the same as in the paper to the last bit, pruned = unpruned, and Proposition 3."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from gfp.instances import Instance, instances, solve
from peerfront.foundation.errors import SettingError
from peerfront.gfp import greedy_kernels as kernels
from peerfront.gfp.backup import Tables
from peerfront.gfp.greedy import Limits, greedy, greedy_many, twins
from peerfront.gfp.greedy_pruning import coverages, tangent_bound
from peerfront.gfp.paper import algorithm_1, surrogate_q


@pytest.fixture(autouse=True, scope="module")
def _small_problems_as_large_ones():
    """Do in small problems what pays in large ones: look for twins, and compute the tangent bound."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("peerfront.gfp.greedy._MAX_PEOPLE_WITHOUT_TWINS", 1)
        patch.setattr("peerfront.gfp.greedy.RUNS_BEFORE_TANGENT", 1)
        yield


@given(instances())
@settings(max_examples=400, deadline=None)
def test_the_same_plan_as_algorithm_1(problem: Instance) -> None:
    plain = algorithm_1(
        problem.tables.gains,
        problem.tables.covers,
        problem.weights,
        problem.discount,
        spendable=problem.spendable,
        most_per_person=problem.most_per_person,
        least_per_person=problem.least_per_person,
    )
    coupons, values = plain.coupons, plain.values
    whole, pruned = solve(problem, every_spend=True), solve(problem)
    np.testing.assert_array_equal(whole.values, values)
    np.testing.assert_array_equal(whole.coupons, coupons)
    np.testing.assert_array_equal(pruned.coupons, coupons)
    assert pruned.value == np.nanmax(values)
    evaluated = np.isfinite(pruned.values)
    np.testing.assert_array_equal(pruned.values[evaluated], values[evaluated])
    assert whole.spend == coupons.sum() <= problem.spendable
    assert problem.least_per_person <= coupons.min()
    assert coupons.max() <= problem.most_per_person


@given(instances())
@settings(max_examples=100, deadline=None)
def test_values_are_those_of_the_backup(problem: Instance) -> None:
    plan = solve(problem)
    weights = problem.discount * problem.weights[len(problem.weights) - 1 - plan.spend]
    plain = surrogate_q(problem.tables.gains, problem.tables.transform(), weights, 1.0, plan.coupons)
    assert plan.value == pytest.approx(plain, abs=1e-9)


def test_twins_have_the_same_rows() -> None:
    survival = np.array([[0.5], [0.2], [0.5], [0.5], [0.2], [0.9]])
    before, after = twins(Tables.of_capacity(survival, np.ones((6, 2))))
    assert before.tolist() == [-1, -1, 0, 2, 1, -1]
    assert after.tolist() == [2, 4, 3, -1, -1, -1]


def test_a_crowd_of_a_few_kinds_is_planned_as_people_one_by_one() -> None:
    rng = np.random.default_rng(11)
    kind = rng.integers(0, 9, 200)
    survival = np.sort(rng.random((9, 5)), axis=1)[:, ::-1].copy()[kind]
    tables = Tables.of_capacity(survival, rng.uniform(0.6, 1.0, (9, 4))[kind])
    weights = np.arange(301)[:, None] * rng.dirichlet(np.ones(4))[None, :]
    nobody = np.full(200, -1)
    for most, least in ((3, 0), (5, 1), (7, 0)):
        found = greedy(tables, weights, 0.95, most_per_person=most, least_per_person=least)
        coupons, spend, values = kernels.plan_frontier(
            tables.gains,
            tables.covers,
            weights,
            np.zeros(301),
            0.95,
            300,
            most,
            least,
            False,
            10**9,
            nobody,
            nobody,
        )
        np.testing.assert_array_equal(found.coupons, coupons)
        assert found.value == values[spend]
        assert found.spend == spend > 0
        assert np.isfinite(found.values).sum() <= np.isfinite(values).sum()  # the tangent saves runs


@given(instances())
@settings(max_examples=100, deadline=None)
def test_the_tangent_is_a_bound_on_every_allocation(problem: Instance) -> None:
    """At whatever coverage it touches; here that of some allocation, of any spend."""
    rng = np.random.default_rng(0)
    tables = problem.tables
    logs, room = coverages(tables.covers), np.empty(tables.gains.size)
    people, most, least = problem.people, problem.most_per_person, problem.least_per_person
    for _ in range(5):
        touches, coupons = (rng.integers(least, most, people, endpoint=True) for _ in range(2))
        spend = min(int(coupons.sum()), len(problem.weights) - 1)
        if spend < coupons.sum():
            continue
        left = tables.transform()[np.arange(people), np.minimum(touches, tables.coupons)].prod(axis=0)
        worth = problem.discount * problem.weights[len(problem.weights) - 1 - spend]
        value = surrogate_q(tables.gains, tables.transform(), worth, 1.0, coupons)
        for floor in (0.0, 0.3):
            bound, _ = tangent_bound(tables.gains, logs, worth, left, spend, most, least, floor, room)
            assert bound >= value - 1e-9


def test_larger_problems_are_pruned_and_unchanged() -> None:
    rng = np.random.default_rng(3)
    people, budget, latent = 40, 150, 8
    survival = np.sort(rng.random((people, 30)), axis=1)[:, ::-1].copy()
    tables = Tables.of_capacity(survival, rng.uniform(0.1, 1.0, (people, latent)))
    weights = np.arange(budget + 1)[:, None] * rng.dirichlet(np.ones(latent))[None, :]
    whole = greedy(tables, weights, 0.95, every_spend=True)
    pruned = greedy(tables, weights, 0.95)
    np.testing.assert_array_equal(whole.coupons, pruned.coupons)
    assert np.isfinite(whole.values).all()
    assert np.isfinite(pruned.values).sum() < 40


def test_proposition_3_against_brute_force(capsys: pytest.CaptureFixture[str]) -> None:
    """Greedy is at least 1 - 1/e of the best allocation of every spend; in fact it comes much closer."""
    rng = np.random.default_rng(11)
    worst = 1.0
    for _ in range(150):
        people, budget, latent = int(rng.integers(2, 5)), int(rng.integers(1, 5)), int(rng.integers(2, 5))
        survival = np.sort(rng.random((people, budget)) ** rng.choice([0.02, 0.2, 1.0]), axis=1)[:, ::-1].copy()
        # Some cover two coordinates in part and others one of them wholly: what leads greedy astray.
        tables = Tables.of_capacity(survival, rng.choice([1.0, 0.5, 0.3, 0.01], size=(people, latent)))
        weights = np.arange(budget + 1)[:, None] * rng.dirichlet(np.full(latent, 5.0), size=1) * 20.0
        values = greedy(tables, weights, 1.0, every_spend=True).values
        for spend in range(1, budget + 1):
            best = max(
                surrogate_q(tables.gains, tables.transform(), weights[budget - spend], 1.0, np.array(k))
                for k in product(range(spend + 1), repeat=people)
                if sum(k) == spend
            )
            assert values[spend] <= best + 1e-9
            worst = min(worst, values[spend] / best)
    with capsys.disabled():
        print(f"\nProposition 3: the worst ratio of greedy to the best allocation was {worst:.4f} (proved: 0.6321)")
    assert worst >= 1 - 1 / np.e


def test_a_separable_value_is_solved_exactly() -> None:
    """One coordinate per person and deterministic capacities: the optimum is plain to see."""
    survival = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    uncovered = np.array([[0.5, 1.0], [1.0, 0.01]])
    weights = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.0, 2.0], [0.0, 2.0]])
    # Two coupons now leave two: worth 1 + 1 + .99 * 2. Three now leave one, worth nothing.
    plan = greedy(Tables.of_capacity(survival, uncovered), weights, 1.0, every_spend=True)
    np.testing.assert_array_equal(plan.coupons, [1, 1])
    assert plan.value == pytest.approx(2 + 2 * 0.99)


def test_many_frontiers_are_planned_as_each_alone() -> None:
    rng = np.random.default_rng(0)
    sizes, budgets = np.array([3, 1, 5]), np.array([7, 0, 12])
    first = np.concatenate([[0], np.cumsum(sizes)])
    survival = np.sort(rng.random((9, 6)), axis=1)[:, ::-1].copy()
    tables = Tables.of_capacity(survival, rng.uniform(0.2, 1.0, (9, 2)))
    weights = np.arange(13)[:, None] * np.array([[[0.6, 0.4]], [[0.1, 0.3]]])  # [tables, budget + 1, latent]
    spendable, most, which = np.array([5, 0, 12]), np.array([2, 0, 12]), np.array([1, 0, 0])
    least = np.array([1, 0, 2])
    limits = Limits(budgets, spendable, most, least)
    coupons, values = greedy_many(tables, weights, which, 0.9, first, limits)
    for f in range(3):
        own = slice(first[f], first[f + 1])
        alone = greedy(
            tables.take(own),
            weights[which[f], : budgets[f] + 1],
            0.9,
            spendable=int(spendable[f]),
            most_per_person=int(most[f]),
            least_per_person=int(least[f]),
        )
        np.testing.assert_array_equal(coupons[own], alone.coupons)
        assert values[f] == alone.value


def test_threads_do_not_disturb_each_other() -> None:
    rng = np.random.default_rng(1)
    problems = [
        Tables.of_capacity(np.sort(rng.random((20, 10)), axis=1)[:, ::-1], rng.uniform(0.2, 1.0, (20, 4)))
        for _ in range(24)
    ]
    weights = np.arange(61)[:, None] * np.full((1, 4), 0.25)
    alone = [greedy(tables, weights, 0.9).coupons for tables in problems]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda tables: greedy(tables, weights, 0.9).coupons, problems))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("least", "most", "spendable"), [(3, 2, 10), (2, 5, 3), (-1, 5, 5)])
def test_an_impossible_least_is_refused(least: int, most: int, spendable: int) -> None:
    weights = np.arange(11)[:, None] * np.ones((1, 1))
    with pytest.raises(SettingError, match="not possible with"):
        greedy(
            Tables.of_capacity(np.full((2, 3), 0.5), np.full((2, 1), 0.5)),
            weights,
            1.0,
            spendable=spendable,
            most_per_person=most,
            least_per_person=least,
        )
