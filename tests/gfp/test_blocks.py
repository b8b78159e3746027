"""Plans where more coupons motivate: majorants, whole blocks, and how good they are."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerfront.gfp.backup import Tables
from peerfront.gfp.blocks import (
    greedy_at_in_blocks,
    greedy_in_blocks,
    majorants,
    people_in_blocks,
    rises,
    smoothed,
    value_of,
    whole_blocks,
    worth_of_kinds,
)
from peerfront.gfp.greedy import Limits, greedy, greedy_at, greedy_many
from peerfront.models.belief.coupon_family import expected, transport

MOST, LATENT, BUDGET = 3, 2, 7


def some_tables(seed: int, people: int = 4, spurs=(0.0, 0.4, 0.8, 1.2), alike: bool = False) -> Tables:
    """Tables of people by draws of a belief."""
    rng = np.random.default_rng(seed)
    gains, covers = np.zeros((people, MOST)), np.zeros((people, MOST, LATENT))
    for i in range(people):
        if not alike or i == 0:
            f, alpha = rng.dirichlet(np.ones(MOST + 1)), rng.random(LATENT)
            shape = float(rng.choice([0.0, 0.5, 1.0])), float(rng.choice(spurs))
        gains[i] = np.diff(expected(MOST, MOST, *shape) @ f)
        left = [transport(k, MOST, *shape) @ f @ alpha[None, :] ** np.arange(k + 1)[:, None] for k in range(MOST + 1)]
        covers[i] = 1.0 - np.array(left[1:]) / np.array(left[:-1])
    return Tables(gains, np.clip(covers, 0.0, 1.0))


def some_weights(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.ascontiguousarray(rng.random(LATENT) * np.arange(BUDGET + 1)[:, None] / BUDGET * 2)


def best_of_all(tables: Tables, weights: np.ndarray) -> float:
    return max(
        value_of(tables, 0.9 * weights[BUDGET - sum(given_out)], np.array(given_out))
        for given_out in product(range(MOST + 1), repeat=tables.people)
        if sum(given_out) <= BUDGET
    )


@given(st.integers(0, 10_000))
@settings(max_examples=100, deadline=None)
def test_majorants_are_concave_and_never_below(seed) -> None:
    tables = some_tables(seed)
    concave, ends = majorants(tables)
    assert (np.diff(concave.gains, axis=1) <= 1e-12).all()
    assert (np.diff(concave.covers, axis=1) <= 1e-12).all()
    assert (np.cumsum(concave.gains, axis=1) >= np.cumsum(tables.gains, axis=1) - 1e-9).all()
    assert (concave.transform() <= tables.transform() + 1e-9).all()
    for own, smooth, end in zip(tables.gains, concave.gains, ends, strict=True):
        touched = np.unique(end[1:])
        np.testing.assert_allclose(np.cumsum(own)[touched - 1], np.cumsum(smooth)[touched - 1])


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_majorants_bound_every_plan_and_blocks_come_close(seed, alike) -> None:
    tables, weights = some_tables(seed, alike=alike), some_weights(seed)
    best = best_of_all(tables, weights)
    concave, ends = majorants(tables)
    plan = greedy(concave, weights, 0.9, spendable=BUDGET, most_per_person=MOST)
    assert plan.value / (1.0 - 1.0 / np.e) >= best - 1e-9
    spends = list(range(BUDGET + 1))
    values = []
    for spend, coupons in zip(spends, greedy_at(concave, weights, 0.9, spends, MOST)[0], strict=True):
        whole = whole_blocks(tables, 0.9 * weights[BUDGET - spend], coupons, ends, 0)
        assert whole.sum() <= spend
        assert whole.max() <= MOST
        values.append(value_of(tables, 0.9 * weights[BUDGET - int(whole.sum())], whole))
    assert max(values) >= 0.85 * best


def test_coupons_that_motivate_are_given_together() -> None:
    """One coupon brings nothing, three bring two: of six coupons two people get three."""
    tables = Tables(np.tile([0.01, 0.01, 1.98], (4, 1)), np.zeros((4, 3, 1)))
    limits = Limits(*(np.array([number]) for number in (6, 6, 3, 0)))
    coupons, _ = greedy_in_blocks(tables, np.zeros((1, 7, 1)), np.zeros(1, int), 1.0, np.array([0, 4]), limits)
    assert sorted(coupons.tolist()) == [0, 0, 3, 3]
    assert rises(tables)


@pytest.mark.parametrize("seed", range(5))
def test_concave_tables_are_planned_as_ever(seed) -> None:
    tables, weights = smoothed(some_tables(seed, spurs=(0.0,))), some_weights(seed)
    tables.check(weights)
    first, limits = np.array([0, 4]), Limits(*(np.array([number]) for number in (BUDGET, BUDGET, MOST, 0)))
    assert not rises(tables)
    own = greedy_in_blocks(tables, weights[None], np.zeros(1, int), 0.9, first, limits)
    usual = greedy_many(tables, weights[None], np.zeros(1, int), 0.9, first, limits)
    np.testing.assert_array_equal(own[0], usual[0])


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_every_spend_is_planned_in_blocks_or_better(seed) -> None:
    tables, weights = some_tables(seed), some_weights(seed)
    spends = list(range(BUDGET + 1))
    plans, values = greedy_at_in_blocks(tables, weights, 0.9, spends, MOST)
    for spend, coupons, value in zip(spends, plans, values, strict=True):
        left = BUDGET - int(coupons.sum())
        assert left >= BUDGET - spend
        assert value == pytest.approx(value_of(tables, 0.9 * weights[left], coupons))
    plain, _ = greedy_at(majorants(tables)[0], weights, 0.9, spends, MOST)
    for spend, coupons in zip(spends, plain, strict=True):
        assert values[spend] >= value_of(tables, 0.9 * weights[BUDGET - spend], coupons) - 1e-12
    assert values.max() >= 0.85 * best_of_all(tables, weights)


def test_people_of_a_kind_share_whole_blocks() -> None:
    """Of the first kind three coupons belong together, of the second each is one of its own."""
    ends = np.array([[0, 3, 3, 3], [0, 1, 2, 3]])
    kind = np.array([0, 1, 0, 1, 0, 1, 0])
    for totals, first, second in (
        ([6, 4], [3, 3, 0, 0], [2, 1, 1]),
        ([7, 3], [3, 3, 1, 0], [1, 1, 1]),
        ([4, 9], [3, 1, 0, 0], [3, 3, 3]),
        ([12, 0], [3, 3, 3, 3], [0, 0, 0]),
    ):
        coupons = people_in_blocks(np.array(totals), kind, ends, 0)
        assert (coupons[kind == 0].tolist(), coupons[kind == 1].tolist()) == (first, second)
    with_least = people_in_blocks(np.array([6, 3]), kind, ends, 1)
    assert sorted(with_least[kind == 0].tolist()) == [1, 1, 1, 3]


def test_what_kinds_are_worth_is_what_their_people_are_worth() -> None:
    tables, worth = some_tables(3, people=2), np.array([1.5, 0.7])
    kind, coupons = np.array([0, 1, 1, 0, 1]), np.array([3, 0, 2, 1, 3])
    value, later = worth_of_kinds(tables, worth, kind, coupons)
    assert value == pytest.approx(value_of(tables.take(kind), worth, coupons))
    given_out = np.arange(MOST) < coupons[:, None]
    assert value == pytest.approx((tables.gains + later)[kind][given_out].sum())
