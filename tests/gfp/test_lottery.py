"""The lottery among people who cannot be told apart: fair, within the limits, and never dearer than the noise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gfp.random_tables import Problem, problems
from peerfront.foundation.errors import SettingError
from peerfront.gfp.backup import Tables
from peerfront.gfp.lottery import Lottery, draw_ties, twin_classes

noises = st.sampled_from([0.0, 1e-6, 0.02, 0.1, 1.0])


def ids_of(people: int) -> list[str]:
    return [f"person-{number}" for number in range(people)]


def draw(problem: Problem, coupons, noise, seed: int = 0, ids=None, **more) -> Lottery:
    """A lottery after a plan; `noise` is one number, or one for each kind of people."""
    people = len(coupons)
    noise = np.broadcast_to(noise, people) if np.ndim(noise) == 0 else np.asarray(noise)[problem.kind]
    return draw_ties(
        problem.tables,
        problem.worth(int(coupons.sum())),
        coupons,
        noise,
        ids_of(people) if ids is None else ids,
        most_per_person=problem.most,
        least_per_person=problem.least,
        seed=seed,
        **more,
    )


def everybody_alike(people: int, spend: int, most: int = 3, chance: float = 0.4, cover: float = 0.1) -> Problem:
    tables = Tables(np.full((people, most), chance), np.full((people, most, 2), cover))
    return Problem(tables, np.ones((spend + 1, 2)), 1.0, spend, most, 0, np.zeros(people, np.int64))


def first_come(people: int, spend: int, most: int) -> np.ndarray:
    """What the order of the file would give: all to the first."""
    return np.clip(spend - most * np.arange(people), 0, most)


@given(problems(), noises, st.integers(0, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_limits_hold_and_no_more_than_the_noise_is_lost(problem: Problem, scale: float, seed: int, luck: int) -> None:
    noise = scale * np.random.default_rng(luck).random(len(problem.kind))  # by kind: people alike have the same
    plan = problem.plan()
    found = draw(problem, plan.coupons, noise, seed)
    assert found.coupons.sum() == plan.spend
    assert problem.least <= found.coupons.min() <= found.coupons.max() <= problem.most
    np.testing.assert_array_equal(found.coupons[~found.tied], plan.coupons[~found.tied])
    assert not (found.drawn & ~found.tied).any()
    moved = np.abs(found.coupons - plan.coupons)
    lost = problem.value(plan.coupons) - problem.value(found.coupons)
    assert lost <= moved @ noise[problem.kind] + 1e-7
    assert found.lost == pytest.approx(lost, abs=1e-7)
    assert ((found.probability > 0.0) & (found.probability <= 1.0)).all()
    assert (found.probability[~found.drawn] == 1.0).all()


@given(problems(), noises, st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_the_order_of_the_file_does_not_matter(problem: Problem, noise: float, order: int) -> None:
    """Rows in another order, planned again from the start: everybody gets the same as before."""
    line = np.random.default_rng(order).permutation(len(problem.kind))
    other = replace(problem, tables=problem.tables.take(line), kind=problem.kind[line])
    ids = ids_of(len(line))
    plan, again = problem.plan(), other.plan()
    if plan.spend != again.spend:  # two spends of the same value, up to rounding
        return
    here = draw(problem, plan.coupons, noise, ids=ids)
    there = draw(other, plan.coupons[line], noise, ids=[ids[i] for i in line.tolist()])
    np.testing.assert_array_equal(there.coupons, here.coupons[line])
    np.testing.assert_allclose(there.probability, here.probability[line])
    sums = (np.bincount(p.kind, weights=c) for p, c in ((problem, plan.coupons), (other, again.coupons)))
    if np.array_equal(*sums):  # greedy itself chose between kinds of exactly the same gain by the order of the file
        there = draw(other, again.coupons, noise, ids=[ids[i] for i in line.tolist()])
        np.testing.assert_array_equal(there.coupons, here.coupons[line])


@given(problems(), noises)
@settings(max_examples=100, deadline=None)
def test_another_seed_changes_only_who_is_drawn(problem: Problem, noise: float) -> None:
    plan = problem.plan()
    one, other = (draw(problem, plan.coupons, noise, seed) for seed in (0, 1))
    if one.exact and other.exact and np.array_equal(one.drawn, other.drawn):
        assert not ((one.coupons != other.coupons) & ~one.drawn).any()
        same = one.coupons == other.coupons
        np.testing.assert_allclose(one.probability[same], other.probability[same])
    assert not ((one.coupons != other.coupons) & ~(one.tied | other.tied)).any()


@given(problems(), noises)
@settings(max_examples=15, deadline=None)
def test_people_who_are_alike_are_treated_alike_on_average(problem: Problem, noise: float) -> None:
    plan = problem.plan()
    draws = 60
    runs = [draw(problem, plan.coupons, noise, seed) for seed in range(draws)]
    mean = np.mean([run.coupons for run in runs], axis=0)
    for kind in np.unique(problem.kind):
        alike = problem.kind == kind
        assert len({bool(t) for t in runs[0].tied[alike]}) == 1
        # A number that is drawn is 0 or 1 above the rest: at most .5 / sqrt(draws) of standard error each.
        assert np.ptp(mean[alike]) <= 8 * 0.5 / np.sqrt(draws)


def test_probabilities_are_what_the_lottery_does() -> None:
    problem = everybody_alike(30, 42, most=2)
    chance = np.zeros(30)
    for seed in range(400):
        found = draw(problem, first_come(30, 42, 2), 0.0, seed)
        chance += found.coupons == 2
        assert found.exact
        np.testing.assert_allclose(found.probability, np.where(found.coupons == 2, 0.4, 0.6))
        assert (int(found.drawn.sum()), int((found.coupons > found.otherwise).sum())) == (30, 12)
    assert np.abs(chance / 400 - 0.4).max() < 4.5 * np.sqrt(0.24 / 400)


@pytest.mark.parametrize(("spend", "numbers"), [(10, {0, 1}), (20, {1}), (40, {2}), (45, {2, 3}), (60, {3})])
def test_everybody_alike_gets_as_equal_a_share_as_possible(spend: int, numbers: set[int]) -> None:
    """Also where a coupon brings the same whether it is somebody's first or third, as when each is used on its own."""
    problem = everybody_alike(20, spend)
    found = draw(problem, first_come(20, spend, 3), 0.0)
    assert set(found.coupons.tolist()) == numbers
    assert found.drawn.all() == (len(numbers) == 2)
    assert found.lost <= 1e-12


def test_a_new_person_changes_nobody_elses_lot() -> None:
    few, more = everybody_alike(20, 10), everybody_alike(21, 10)
    before = draw(few, first_come(20, 10, 3), 0.0)
    after = draw(more, first_come(21, 10, 3), 0.0)
    new_wins = int(after.coupons[20])
    assert (before.coupons != after.coupons[:20]).sum() == new_wins


def test_people_within_the_noise_are_tied_and_others_keep_theirs() -> None:
    gains = np.array([0.9, 0.52, 0.51, 0.49, 0.48, 0.1])[:, None]
    tables = Tables(gains, np.zeros((6, 1, 1)))
    problem = Problem(tables, np.zeros((4, 1)), 1.0, 3, 1, 0, np.arange(6))
    plan = problem.plan()
    assert plan.coupons.tolist() == [1, 1, 1, 0, 0, 0]
    tied = draw(problem, plan.coupons, 0.021)
    assert tied.tied.tolist() == [False, True, True, True, True, False]
    assert tied.coupons[[0, 5]].tolist() == [1, 0]
    assert set(tied.probability.round(9)) == {0.5, 1.0}
    assert (int(tied.drawn.sum()), int((tied.coupons > tied.otherwise).sum())) == (4, 2)
    alone = draw(problem, plan.coupons, 0.009)
    assert not alone.tied.any()
    assert not alone.drawn.any()


def test_where_a_lottery_would_cost_too_much_only_twins_take_part() -> None:
    """Two kinds cover different things: half of each is best by far, and the noise does not excuse another mix."""
    people, number = 40, 20
    covers = np.zeros((people, 1, 2))
    covers[:20, 0, 0] = covers[20:, 0, 1] = 0.3
    tables = Tables(np.full((people, 1), 0.1), covers)
    problem = Problem(tables, np.full((number + 1, 2), 50.0), 1.0, number, 1, 0, np.repeat([0, 1], 20))
    plan = np.concatenate([np.arange(20) < 10, np.arange(20) < 10]).astype(np.int64)
    found = draw(problem, plan, 1e-6)
    assert found.coupons[:20].sum() == 10
    assert found.lost == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(found.probability, 0.5)
    assert (int(found.drawn.sum()), int((found.coupons > found.otherwise).sum())) == (40, 20)
    assert not np.array_equal(found.coupons, plan)


def test_coupons_stay_within_groups_that_have_a_floor() -> None:
    problem = everybody_alike(20, 15, most=1)
    plan = (np.arange(20) < 15).astype(np.int64)  # 10 of the first ten, 5 of the others
    found = draw(problem, plan, 5.0, within=np.repeat([0, 1], 10))
    assert found.coupons[:10].sum() == 10
    assert found.coupons[10:].sum() == 5
    np.testing.assert_allclose(found.probability, np.repeat([1.0, 0.5], 10))


def test_where_more_coupons_motivate_blocks_stay_whole_and_twins_draw_for_them() -> None:
    gains = np.tile([0.2, 0.5], (6, 1))
    gains[4:] = 0.1
    problem = replace(everybody_alike(6, 4, most=2), tables=Tables(gains, np.full((6, 2, 2), 0.01)))
    plan = np.array([2, 2, 0, 0, 0, 0])
    found = [draw(problem, plan, 1.0, seed) for seed in range(200)]
    for lottery in found:
        assert sorted(lottery.coupons[:4].tolist()) == [0, 0, 2, 2], "nobody gets a coupon that alone brings little"
        assert not lottery.coupons[4:].any()
        assert lottery.lost == 0.0
        np.testing.assert_array_equal(lottery.probability, [0.5, 0.5, 0.5, 0.5, 1.0, 1.0])
        np.testing.assert_array_equal(lottery.otherwise[:4], 2 - lottery.coupons[:4])
        np.testing.assert_array_equal(lottery.tied_with, [3, 3, 3, 3, 0, 0])
    assert np.abs(np.mean([each.coupons[:4] for each in found], axis=0) - 1.0).max() < 0.3


@given(problems(), noises)
@settings(max_examples=60, deadline=None)
def test_tables_by_kind_give_the_same_lottery(problem: Problem, noise: float) -> None:
    plan = problem.plan()
    kinds, first, kind = np.unique(problem.kind, return_index=True, return_inverse=True)
    short = replace(problem, tables=problem.tables.take(first))
    one, other = draw(problem, plan.coupons, noise), draw(short, plan.coupons, noise, kind=kind)
    np.testing.assert_array_equal(one.coupons, other.coupons)
    np.testing.assert_allclose(one.probability, other.probability)
    assert len(kinds) == len(short.tables.gains)


def test_rows_that_differ_by_rounding_are_the_same() -> None:
    rng = np.random.default_rng(4)
    gains = np.sort(rng.random((5, 3)), axis=1)[:, ::-1].copy()[[0, 1, 2, 0, 1, 3, 4]]
    gains[3:5] *= 1.0 + 1e-14
    classes = twin_classes(Tables(gains, np.zeros((7, 3, 2))))
    assert classes[0] == classes[3] != classes[1] == classes[4]
    assert len(set(classes.tolist())) == 5


def test_a_lottery_of_thousands_is_quick_and_nobody_or_nothing_is_no_problem() -> None:
    problem = everybody_alike(20_000, 9_000, most=1)
    found = draw(problem, first_come(20_000, 9_000, 1), 0.1)
    assert found.coupons.sum() == 9_000
    np.testing.assert_allclose(found.probability[found.coupons == 1], 0.45)
    nobody = everybody_alike(0, 3)
    assert not draw(nobody, np.zeros(0, np.int64), 0.1).drawn.any()
    assert not draw(everybody_alike(4, 3), np.zeros(4, np.int64), 0.1).tied.any()


def test_bad_input_is_refused() -> None:
    problem = everybody_alike(4, 4)
    plan = np.array([1, 1, 1, 1])
    with pytest.raises(SettingError, match="noise of a gain must be a number of at least 0"):
        draw(problem, plan, np.nan)
    with pytest.raises(SettingError, match="0 to 4 coupons each breaks its limits, 0 to 3"):
        draw(problem, np.array([4, 0, 0, 0]), 0.1)
    with pytest.raises(SettingError, match="for each of 4 people; found 4, 4 and 3"):
        draw(problem, plan, 0.1, ids=["a", "b", "c"])
