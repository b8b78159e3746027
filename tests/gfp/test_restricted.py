"""Random floors and plans within limits: chances are exact, and coupons always suffice."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gfp.random_tables import Problem, problems
from peerfront.foundation.errors import SettingError
from peerfront.gfp.backup import Tables
from peerfront.gfp.restricted import PLANNED, RandomFloor, RestrictedPlan, restricted_plan


@settings(max_examples=60, deadline=None)
@given(
    people=st.integers(1, 40),
    chance=st.sampled_from([0.01, 0.05, 0.1, 1 / 3, 0.2]),
    least=st.integers(0, 1),
    most=st.integers(1, 2),
)
def test_tickets_have_the_floor_as_their_chance(people: int, chance: float, least: int, most: int) -> None:
    floor = RandomFloor(chance, least, max(most, least))
    starts = (np.arange(2_000) + 0.5) / 2_000
    counts = np.array([floor.tickets(people, start) for start in starts])
    assert (counts.sum(axis=1) == people).all()
    assert counts[:, :-1].mean(axis=0) / people == pytest.approx(chance, abs=2e-3 / people + 1e-9)
    worst = floor.worst_cases(people)
    cases = set(zip(worst.coupons.tolist(), worst.planned.tolist(), strict=True))
    numbers = np.arange(floor.least, floor.most + 1)
    assert {(int(row[:-1] @ numbers), int(row[-1])) for row in counts} <= cases


def _planned(problem: Problem, **more: object) -> RestrictedPlan:
    return restricted_plan(
        problem.tables, problem.weights, problem.discount,
        spendable=problem.spendable, most=problem.most, least=problem.least, **more,
    )  # fmt: skip # type: ignore[arg-type]


@settings(max_examples=80, deadline=None)
@given(
    problem=problems(max_people=8),
    seed=st.integers(0, 1000),
    chance=st.sampled_from([0.02, 0.1, 0.25]),
    within=st.booleans(),
)
def test_coupons_suffice_and_everybody_has_the_floor(problem: Problem, seed: int, chance: float, within: bool) -> None:
    rng = np.random.default_rng(seed)
    label = np.unique(rng.integers(0, 2, problem.tables.people), return_inverse=True)[1] if within else None
    assume(chance * (problem.most - problem.least + 1) <= 1)
    random = RandomFloor(chance, problem.least, problem.most)
    worst = random.worst_cases(problem.tables.people)
    assume(int((worst.coupons + worst.planned * problem.least).max()) <= problem.spendable)
    plan = _planned(problem, label=label, chance=chance)
    chances = plan.chances()
    assert chances.sum(axis=1) == pytest.approx(1.0)
    assert (chances[:, problem.least : problem.most + 1] >= chance - 1e-12).all()
    for _ in range(20):
        drawn = plan.draw(*rng.random((2, problem.tables.people)), float(rng.random()))
        assert drawn.coupons.sum() <= problem.spendable
        assert drawn.coupons.min() >= problem.least
        assert drawn.coupons.max() <= problem.most
    if label is not None:
        for stratum in range(int(label.max()) + 1):
            assert np.allclose(chances[label == stratum], chances[label == stratum][0])


def test_chances_are_those_of_many_draws() -> None:
    rng = np.random.default_rng(3)
    gains = np.sort(rng.random((10, 3)), axis=1)[:, ::-1].copy()
    tables = Tables(gains, np.full((10, 3, 2), 0.05))
    plan = restricted_plan(
        tables, np.full((31, 2), 2.0), 1.0, spendable=18, most=3, label=np.arange(10) % 2, chance=0.05
    )
    drawn = np.array([plan.draw(*rng.random((2, 10)), float(rng.random())).coupons for _ in range(8_000)])
    shares = np.array([(drawn == number).mean(axis=0) for number in range(4)]).T
    assert plan.winners.any(), "the case has a lot"
    assert np.abs(shares - plan.chances()).max() < 5 * np.sqrt(0.25 / 8_000)


@settings(max_examples=40, deadline=None)
@given(problem=problems(max_people=5, max_budget=12), seed=st.integers(0, 1000))
def test_the_value_is_the_mean_over_draws(problem: Problem, seed: int) -> None:
    """Within strata without random numbers the value is exact."""
    rng = np.random.default_rng(seed)
    plan = _planned(problem, label=np.unique(rng.integers(0, 2, problem.tables.people), return_inverse=True)[1])
    values = [problem.value(plan.draw(*rng.random((2, problem.tables.people)), 0.0).coupons) for _ in range(200)]
    spread = float(np.std(values)) / np.sqrt(200)
    assert float(np.mean(values)) == pytest.approx(plan.value, abs=5 * spread + 1e-9)


def test_a_floor_above_what_is_possible_is_refused() -> None:
    with pytest.raises(SettingError, match=r"at most 0.25 is possible"):
        RandomFloor(0.3, 0, 3)
    tables = Tables(np.full((10, 3), 0.5), np.zeros((10, 3, 1)))
    with pytest.raises(SettingError, match="random numbers alone; 5 can be given out"):
        restricted_plan(tables, np.zeros((6, 1)), 1.0, spendable=5, most=3, chance=0.2)


def test_planned_people_keep_their_number() -> None:
    floor = RandomFloor(0.1, 0, 3)
    tickets = floor.drawn(np.random.default_rng(0).random(50), 0.4)
    assert (tickets == PLANNED).sum() == 30
    assert [(tickets == number).sum() for number in range(4)] == [5, 5, 5, 5]


@settings(max_examples=40, deadline=None)
@given(problem=problems(max_people=6), seed=st.integers(0, 1000))
def test_what_coupons_are_worth_to_people_still_to_come_is_part_of_the_choice(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    label = np.unique(rng.integers(0, 2, problem.tables.people), return_inverse=True)[1]
    base = np.sort(rng.uniform(0.0, 3.0, len(problem.weights)))
    plain, with_base = _planned(problem, label=label), _planned(problem, label=label, base=base)
    budget = len(problem.weights) - 1
    worth = problem.discount * base[budget - np.arange(len(plain.values))]
    assert with_base.values == pytest.approx(plain.values + worth, nan_ok=True)
    assert with_base.value == pytest.approx(np.nanmax(plain.values + worth))
