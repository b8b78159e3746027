"""Plans within strata against brute force: every number, every lot and every way the lot can fall."""

from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gfp.random_tables import Problem, problems
from peerfront.foundation.errors import SettingError
from peerfront.gfp import strata_plan
from peerfront.gfp.backup import Tables
from peerfront.gfp.blocks import value_of
from peerfront.gfp.floored_greedy import GroupFloors
from peerfront.gfp.strata_kernels import subset_means
from peerfront.gfp.strata_plan import StrataPlan, _lot_means, plan_strata


def _labels(problem: Problem, seed: int, strata: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).integers(0, strata, problem.tables.people)
    return np.unique(drawn, return_inverse=True)[1]


def _worth(problem: Problem) -> np.ndarray:
    return np.array([problem.worth(spend) for spend in range(problem.spendable + 1)])


def _planned(problem: Problem, label: np.ndarray, **more: object) -> StrataPlan:
    return plan_strata(problem.tables, label, _worth(problem), most=problem.most, least=problem.least, **more)  # type: ignore[arg-type]


def _every_plan(problem: Problem, label: np.ndarray):
    """Every whole number for the strata, with every lot in one of them: coupons by stratum, and all allocations."""
    strata, most = int(label.max()) + 1, max(min(problem.most, problem.tables.coupons), problem.least)
    for numbers in product(range(problem.least, most + 1), repeat=strata):
        base = np.array(numbers)[label]
        for lot in range(strata):
            own = np.flatnonzero(label == lot)
            for winners in range(len(own) if numbers[lot] < most else 1):
                if base.sum() + winners > problem.spendable:
                    continue
                drawn = []
                for chosen in combinations(own.tolist(), winners):
                    coupons = base.copy()
                    coupons[list(chosen)] += 1
                    drawn.append(coupons)
                yield int(base.sum()) + winners, drawn


@settings(max_examples=60, deadline=None)
@given(problem=problems(max_people=6, max_budget=10), seed=st.integers(0, 1000), strata=st.integers(1, 3))
def test_the_best_plan_within_strata_is_found(problem: Problem, seed: int, strata: int) -> None:
    label = _labels(problem, seed, strata)
    best: dict[int, float] = {}
    for spend, drawn in _every_plan(problem, label):
        value = float(np.mean([problem.value(coupons) for coupons in drawn]))
        best[spend] = max(best.get(spend, -np.inf), value)
    plan = _planned(problem, label)
    assert plan.is_best
    assert plan.value == pytest.approx(max(best.values()), rel=1e-9, abs=1e-12)
    tried = {spend: value for spend, value in enumerate(plan.values) if not np.isnan(value)}
    assert tried == pytest.approx(best, rel=1e-9, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(problem=problems(max_people=7, max_budget=14), seed=st.integers(0, 1000), strata=st.integers(1, 4))
def test_greedy_keeps_its_share_of_the_best_whole_numbers(problem: Problem, seed: int, strata: int) -> None:
    label = _labels(problem, seed, strata)
    size = np.bincount(label)
    best = _planned(problem, label)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strata_plan, "MOST_PLANS_TRIED", 0)
        greedy = _planned(problem, label)
    assert not greedy.is_best
    assert greedy.value <= best.value + 1e-9
    most = max(min(problem.most, problem.tables.coupons), problem.least)
    for numbers in product(range(problem.least, most + 1), repeat=len(size)):
        spend = int(size @ np.array(numbers))
        if spend > problem.spendable:
            continue
        start = np.full(len(label), problem.least)
        ground = problem.value(start) if spend == int(start.sum()) else _at(problem, start, spend)
        above = problem.value(np.array(numbers)[label]) - ground
        assert greedy.values[spend] - ground >= (1.0 - 1.0 / np.e) * above - 1e-9


def _at(problem: Problem, coupons: np.ndarray, spend: int) -> float:
    """Q of fewer coupons where coordinates are worth what they are after a spend."""
    levels = np.minimum(coupons, problem.tables.coupons)
    now = sum(float(problem.tables.gains[i, :k].sum()) for i, k in enumerate(levels.tolist()))
    left = problem.tables.transform()[np.arange(len(levels)), levels].prod(axis=0)
    return now + float(problem.worth(spend) @ (1.0 - left))


@settings(max_examples=40, deadline=None)
@given(problem=problems(max_people=6, max_budget=10), seed=st.integers(0, 1000), share=st.sampled_from([0.3, 1.0]))
def test_floors_hold_whoever_wins_the_lot(problem: Problem, seed: int, share: float) -> None:
    label = _labels(problem, seed, 2)
    members = np.random.default_rng(seed + 1).random((1, problem.tables.people)) < 0.5
    floors = GroupFloors(members, np.array([share]))
    plan = _planned(problem, label, floors=floors)
    each, winners, _ = plan.numbers(np.bincount(label))
    lot = int(winners.argmax())
    assert (winners > 0).sum() <= 1
    for chosen in combinations(np.flatnonzero(label == lot).tolist(), int(winners[lot])):
        coupons = each[label].copy()
        coupons[list(chosen)] += 1
        assert floors.met(coupons)
    best = [
        float(np.mean([problem.value(coupons) for coupons in drawn]))
        for _, drawn in _every_plan(problem, label)
        if all(floors.met(coupons) for coupons in drawn)
    ]
    assert plan.value == pytest.approx(max(best), rel=1e-9, abs=1e-12)


def test_a_large_stratum_is_averaged_nearly_exactly() -> None:
    ratios = 1.0 - 0.02 * np.random.default_rng(1).random((2_500, 2))
    assert _lot_means(ratios) == pytest.approx(subset_means(ratios), rel=1e-5)


def test_too_many_strata_with_floors_are_refused() -> None:
    rng = np.random.default_rng(0)
    tables = Tables(np.sort(rng.random((24, 3)), axis=1)[:, ::-1].copy(), np.full((24, 3, 1), 0.1))
    floors = GroupFloors(np.ones((1, 24), dtype=bool), np.array([0.5]))
    with pytest.raises(SettingError, match="too many plans to try"):
        plan_strata(tables, np.arange(24) % 12, np.zeros((40, 1)), most=3, floors=floors)


def _rising(label: np.ndarray, seed: int, spendable: int) -> tuple[Tables, np.ndarray]:
    """People alike in each stratum, of whom further coupons bring more than the first; what they are worth later."""
    rng = np.random.default_rng(seed)
    gains = np.cumsum(rng.uniform(0.0, 0.3, (2, 3)), axis=1)[label]
    covers = np.cumsum(rng.uniform(0.0, 0.2, (2, 3, 2)), axis=1)[label]
    worth = np.linspace(rng.uniform(0.0, 1.0), 0.0, spendable + 1)[:, None] * rng.uniform(0.5, 1.0, 2)
    return Tables(gains, covers), worth


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("tried", "share"), [(strata_plan.MOST_PLANS_TRIED, 0.99), (0, 0.85)])
def test_where_more_coupons_motivate_lots_are_drawn_for_whole_blocks(seed, tried, share, monkeypatch) -> None:
    size = np.array([5, 4])
    label = np.repeat([0, 1], size)
    tables, worth = _rising(label, seed, 12)
    monkeypatch.setattr(strata_plan, "MOST_PLANS_TRIED", tried)
    plan = plan_strata(tables, label, worth, most=3)
    each, winners, more = plan.numbers(size)
    coupons = np.concatenate([e + m * (np.arange(n) < w) for e, m, n, w in zip(each, more, size, winners, strict=True)])
    assert plan.value == pytest.approx(value_of(tables, worth[plan.spend], coupons))  # people of a stratum are alike
    pairs = product(*(combinations_with_replacement(range(4), int(n)) for n in size))
    every = (np.array(first + second) for first, second in pairs)
    assert plan.value >= share * max(value_of(tables, worth[c.sum()], c) for c in every if c.sum() <= 12)
