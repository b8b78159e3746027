"""Coupon sheets: limits hold for any order, reasons are facts, the deadline counts, the same order, the same bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_study import small_fit, some_people

from peerfront.foundation.errors import SettingError
from peerfront.problem import Frontier
from peerfront.study.orders import PlanOrder, task_of
from peerfront.study.planning import plan_coupons
from peerfront.study.reasons import Draw, Limit, Reason, ReasonCode


def sheet_of(people: int = 12, *, seed: int = 0, **order):
    frontier, _ = some_people(people, seed)
    return plan_coupons(small_fit().fit, frontier, PlanOrder(**{"budget": 30, **order}))


def in_detail(sheet) -> str:
    return "\n".join(map(str, sheet.details()))


@st.composite
def orders(draw):
    people = draw(st.integers(0, 14))
    budget = draw(st.integers(0, 40))
    most = draw(st.none() | st.integers(1, 4))
    order = PlanOrder(
        budget=budget,
        max_per_person=most,
        min_per_person=draw(st.integers(0, min(most or 3, 2))),
        round_cap=draw(st.none() | st.integers(0, 30)),
        rounds_left=draw(st.none() | st.integers(0, 6)),
        reserve=draw(st.integers(0, budget)),
    )
    return people, order


@settings(max_examples=40)
@given(orders(), st.integers(0, 5))
def test_every_limit_holds(ordered, seed) -> None:
    people, order = ordered
    frontier, ids = some_people(people, seed)
    free = min(order.available, people * (order.max_per_person or 3), order.round_cap or order.available)
    over = order.rounds_left == 0 or order.round_cap == 0
    if order.min_per_person * people > (0 if over else free):
        with pytest.raises(SettingError, match="Lower the minimum"):
            plan_coupons(small_fit().fit, frontier, order)
        return
    sheet = plan_coupons(small_fit().fit, frontier, order)
    coupons = sheet.table["coupons"].to_numpy()
    assert list(sheet.table["person"]) == ids
    assert sheet.spend == coupons.sum() <= order.available
    assert (coupons >= order.min_per_person).all()
    assert (coupons <= (order.max_per_person or 3)).all()
    if order.round_cap is not None:
        assert sheet.spend <= order.round_cap
    assert [len(text.split()) for text in sheet.table["chance_used"]] == coupons.tolist()
    assert all(Reason.from_data(reason.as_data()) == reason for reason in sheet.table["reason"])
    assert sheet.lines()
    assert sheet.spend in set(sheet.curve["spend"])
    if sheet.certificate is not None:
        best = sheet.curve["value"].max()
        assert 0.75 * best <= sheet.promised <= best + 1e-9, "lots are drawn among people who cannot be told apart"
        assert sheet.share_of_best is None or 0.0 < sheet.share_of_best <= 1.0


def test_the_same_order_gives_the_same_bytes() -> None:
    one, two = sheet_of(rounds_left=3), sheet_of(rounds_left=3)
    assert one.csv() == two.csv()
    assert one.lines() == two.lines()
    assert one.curve.equals(two.curve)
    assert one.certificate == two.certificate


def test_numbers_of_the_table_are_the_models() -> None:
    fit = small_fit().fit
    frontier, _ = some_people(10)
    sheet = plan_coupons(fit, frontier, PlanOrder(25, rounds_left=3))
    gains = fit.planner.gains(frontier.covariates, 3)
    for row, added in zip(sheet.table.itertuples(), gains, strict=True):
        assert row.expected_now == pytest.approx(added[: row.coupons].sum(), abs=1e-3)
        chances = [int(chance[:-1]) / 100 for chance in row.chance_used.split()]
        assert chances == sorted(chances, reverse=True), "two coupons are used no more often than one of them"
        assert sum(chances) == pytest.approx(row.expected_now, abs=0.02)
    together = sheet.table["expected_now"].sum() + sheet.table["expected_later"].sum()
    assert together == pytest.approx(sheet.promised, abs=0.02)


def test_people_alike_are_worth_alike() -> None:
    frontier, _ = some_people(1)
    twins = Frontier(np.arange(6), np.repeat(frontier.covariates, 6, axis=0))
    sheet = plan_coupons(small_fit().fit, twins, PlanOrder(12, rounds_left=3))
    by_coupons = sheet.table.groupby("coupons")
    assert (by_coupons["expected_later"].nunique() == 1).all()
    assert (by_coupons["reason"].nunique() == 1).all()


def test_spends_faster_as_rounds_run_out() -> None:
    spends = [sheet_of(20, rounds_left=left).spend for left in (5, 3, 2, 1)]
    assert spends == sorted(spends)
    assert spends[-1] == 30, "in the last round nothing is kept"
    assert spends[0] < 30
    last = sheet_of(20, rounds_left=1)
    assert (last.table["expected_later"] == 0).all()
    assert last.certificate.proof == "exact"
    assert all(each.expected <= last.certificates[each.name].high + 1e-9 for each in last.in_rounds)
    assert last.expected == pytest.approx(last.table["expected_now"].sum(), abs=0.02)
    assert "This is the last round." in str(last)


def test_the_last_round_is_the_best_there_is() -> None:
    """With one round left a plan for one story alone comes near its bound, and never exceeds it."""
    for name in small_fit().fit.responses:
        sheet = sheet_of(20, rounds_left=1, response=name)
        own = next(each for each in sheet.in_rounds if each.name == name)
        # The bound is that of somebody who knows the draw, too; the sheet is a lottery's cost below the plan.
        assert 0.95 * sheet.certificates[name].bound <= own.expected <= sheet.certificates[name].high + 1e-9


def test_reasons_are_facts() -> None:
    full = sheet_of(rounds_left=1, budget=40).table
    assert {each.limit for each in full.loc[full["coupons"] == 3, "reason"]} == {Limit.PERSON}
    short = sheet_of(rounds_left=1, budget=5).table
    nobody = list(short.loc[short["coupons"] == 0, "reason"])
    assert {(each.limit, each.coupons) for each in nobody} == {(Limit.BUDGET, 0)}
    capped = sheet_of(rounds_left=3, round_cap=4).table
    assert {each.limit for each in capped.loc[capped["coupons"] < 3, "reason"]} == {Limit.ROUND}
    kept = sheet_of(rounds_left=5)
    assert kept.spend < 30
    assert {each.limit for each in kept.table.loc[kept.table["coupons"] < 3, "reason"]} == {Limit.LATER}
    least = sheet_of(rounds_left=5, min_per_person=1, budget=14).table
    assert any(each.is_minimum and each.coupons == 1 for each in least["reason"])


def test_the_answer_that_sets_somebody_apart() -> None:
    """Two people who differ in one column: that column is the reason."""
    fit = small_fit().fit
    effect = max(fit.scores["effects"], key=lambda each: max(each["chances"].values()) - min(each["chances"].values()))
    number = fit.schema.names.index(effect["field"])
    codes = np.zeros((5, len(fit.schema.fields)), dtype=np.int16)
    ordered = sorted(effect["chances"], key=effect["chances"].get)
    categories = fit.schema.fields[number].categories
    codes[:, number] = categories.index(ordered[0])
    codes[0, number] = categories.index(ordered[-1])
    sheet = plan_coupons(fit, Frontier(np.arange(5), codes), PlanOrder(6))
    first, *others = sheet.table["reason"]
    assert (first.code, first.field, first.category) == (ReasonCode.MORE_LIKELY, effect["field"], ordered[-1])
    assert {each.code for each in others} == {ReasonCode.AS_LIKELY}


def test_twins_are_told_apart_by_lot() -> None:
    frontier, _ = some_people(1)
    twins = Frontier(np.arange(3), np.repeat(frontier.covariates, 3, axis=0))
    table = plan_coupons(small_fit().fit, twins, PlanOrder(1, rounds_left=1)).table
    assert sorted(table["coupons"]) == [0, 0, 1]
    assert table["probability"].tolist() == pytest.approx(
        np.where(table["coupons"] == 1, 1 / 3, 2 / 3).round(6).tolist()
    )
    nothing = table.loc[table["coupons"] == 0, "reason"]
    assert {(each.draw, each.tied_with, each.twin_has_more) for each in nothing} == {(Draw.LOT, 2, True)}


def test_the_reserve_is_not_counted_on() -> None:
    with_reserve, without = sheet_of(reserve=12), sheet_of(budget=18)
    assert with_reserve.table.equals(without.table)
    assert "12 stay in reserve" in str(with_reserve)


def test_alternatives_and_the_flat_part() -> None:
    sheet = sheet_of(20, rounds_left=5)
    text = in_detail(sheet)
    values = sheet.curve.set_index("spend")["value"]
    half = sheet.spend // 2
    assert f"half, {half}: {values[sheet.spend] - values[half]:.2f} recruits fewer" in text
    assert ", 30: " in text, "all that may be given, here also a quarter more"
    assert "it says nothing about errors of the model itself" in text


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ({"budget": 0}, "no coupons are left"),
        ({"rounds_left": 0}, "no round is left"),
        ({"round_cap": 0}, "the round's limit is 0"),
        ({"reserve": 30}, "all coupons are kept in reserve"),
    ],
)
def test_nothing_to_give_out(order, said) -> None:
    sheet = sheet_of(4, **order)
    assert sheet.spend == 0
    assert sheet.certificate is None
    assert sheet.why.eq(f"No coupon: {said}.").all()
    assert f"Nothing to give out: {said}." in map(str, sheet.lines())


def test_nobody_is_waiting() -> None:
    sheet = sheet_of(0)
    assert len(sheet.table) == 0
    assert str(sheet.lines()[0]) == "Nothing to give out: nobody is waiting for coupons."


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ({"budget": -1}, "budget must be a whole number"),
        ({"budget": 2.5}, "found 2.5"),
        ({"budget": 41}, r"at most 40 coupons; found 41.*budget=41, or keep 1"),
        ({"reserve": 31}, "reserve of 31 is more than the 30 coupons"),
        ({"min_per_person": 4}, "At least 4 and at most 3 coupons per person contradict"),
        ({"min_per_person": 3}, "needs 36 coupons; 30 can be given out"),
        ({"min_per_person": 1, "budget": 0}, "needs 12 coupons; 0 can be given out"),
        ({"max_per_person": 0}, "max per person must be"),
        ({"rounds_left": -1}, "rounds left must be"),
    ],
)
def test_impossible_orders(order, message) -> None:
    with pytest.raises(SettingError, match=message):
        sheet_of(**order)


def test_orders_beyond_the_fit_are_noted() -> None:
    sheet = sheet_of(70, budget=40, rounds_left=9, max_per_person=2)
    text = " ".join(map(str, sheet.notes))
    assert "9 are treated as 5" in text
    assert "fitted for at most 3 per person" in text
    assert "people=70" in text


def test_ids_and_codes_must_fit() -> None:
    frontier, ids = some_people(3)
    with pytest.raises(SettingError, match="2 ids and 3 covariate rows"):
        Frontier(np.array(ids[:2]), frontier.covariates)
    wrong = Frontier(np.arange(2), np.full((2, 5), 9, dtype=np.int16))
    with pytest.raises(SettingError, match="allowed are"):
        plan_coupons(small_fit().fit, wrong, PlanOrder(5))


def test_a_large_round_has_a_coarser_curve(monkeypatch) -> None:
    whole = sheet_of(20, rounds_left=3, min_per_person=1)
    monkeypatch.setattr("peerfront.study.planning._WHOLE_CURVE", 10)
    monkeypatch.setattr("peerfront.study.planning._POINTS", 7)
    monkeypatch.setattr("peerfront.study.stories._SIMULATED_BUDGET", 10)
    coarse = sheet_of(20, rounds_left=3, min_per_person=1)
    assert whole.table["coupons"].min() == 1, "everybody's least, even where lots would show what a coupon does"
    assert coarse.table.equals(whole.table)
    assert coarse.in_rounds == ()
    assert coarse.share_of_best is None
    exact = whole.curve.set_index("spend")["value"]
    assert len(coarse.curve) < len(exact)
    for spend, value in coarse.curve.itertuples(index=False):
        assert value == pytest.approx(exact[spend], rel=1e-9)


def test_reasons_of_a_plan_add_up() -> None:
    """The planner's order, found with a heap, is the greedy one: each coupon is the best that is left, unless more
    coupons motivate.
    """
    fit = small_fit().fit
    frontier, _ = some_people(15, seed=4)
    state = task_of(fit, frontier, PlanOrder(30, rounds_left=3)).state
    for planner in (fit.planner, fit.planner.only("capacity")):
        plan = planner.plan(state)
        assert plan.now.sum() + plan.later.sum() == pytest.approx(plan.value)
        assert np.array_equal(np.bincount(plan.person, minlength=15), plan.allocation.coupons)
    assert (np.diff(plan.now + plan.later) <= 1e-12).all()


def test_a_large_file_is_planned_by_price_and_by_kinds(monkeypatch) -> None:
    exact = sheet_of(20, rounds_left=3)
    monkeypatch.setattr("peerfront.gfp.planner.MOST_WORK_EXACT", 10)
    monkeypatch.setattr("peerfront.study.reasons._MOST_ONE_BY_ONE", 2)
    sheet = sheet_of(20, rounds_left=3)
    assert exact.gap is None
    assert "common price" not in in_detail(exact)
    assert sheet.gap is not None
    assert sheet.gap < 0.02
    assert sheet.promised >= (1.0 - sheet.gap) * exact.promised, "it loses no more than it says"
    assert "common price of a coupon, because the file is large: at most" in in_detail(sheet)
    assert int(sheet.table["coupons"].sum()) == sheet.spend in sheet.curve["spend"].to_numpy()
    assert sheet.table["expected_now"].sum() + sheet.table["expected_later"].sum() == pytest.approx(
        sheet.promised, abs=0.01
    )


def test_sentences_by_kinds_are_those_of_everybody(monkeypatch) -> None:
    """Counting people by kind changes no word; three times the same people make kinds of at least three."""
    frontier, _ = some_people(12)
    codes = np.repeat(frontier.covariates, 3, axis=0)
    waiting = Frontier(np.arange(len(codes)), codes)
    one_by_one = plan_coupons(small_fit().fit, waiting, PlanOrder(25, rounds_left=3))
    monkeypatch.setattr("peerfront.study.reasons._MOST_ONE_BY_ONE", 2)
    by_kinds = plan_coupons(small_fit().fit, waiting, PlanOrder(25, rounds_left=3))
    assert by_kinds.csv() == one_by_one.csv()
    assert by_kinds.lines() == one_by_one.lines()
