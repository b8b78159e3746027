import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.foundation.errors import DataFileError, InfeasibleAllocation, SettingError
from peerfront.foundation.settings import checked_discount
from peerfront.problem import Allocation, Frontier, Rules, State, check_feasible
from peerfront.problem.history import History
from peerfront.simulation.simulated_history import simulate_history
from peerfront.simulation.typed import bridge


def state(people: int = 3, budget: int = 10, **rules) -> State:
    return State(budget, Frontier.of(np.zeros((people, 1), dtype=np.int16)), 0, Rules(budget=budget, **rules))


@pytest.mark.parametrize(
    "settings",
    [
        {"budget": -1},
        {"budget": 2.5},
        {"budget": float("nan")},
        {"budget": float("inf")},
        {"budget": "10"},
        {"budget": True},
        {"budget": None},
        {"people": -1},
        {"rounds": 0},
        {"max_per_person": 0},
        {"max_per_round": 1.5},
    ],
)
def test_impossible_rules_are_refused(settings) -> None:
    with pytest.raises(SettingError, match="must be a whole number of at least"):
        Rules(**settings)


def test_whole_floats_become_ints() -> None:
    assert Rules(12.0, 3.0, 5.0, None, 4.0) == Rules(12, 3, 5, None, 4)
    assert isinstance(Rules(12.0, 3.0, 5.0).budget, int)
    assert type(Rules(budget=np.int64(7)).budget) is int
    assert Rules(budget=np.int64(7)).budget == 7
    assert checked_discount(np.float64(0.9)) == 0.9


@pytest.mark.parametrize("discount", [0.0, -0.5, 1.01, float("nan"), "0.9", None, True])
def test_impossible_discounts_are_refused(discount) -> None:
    with pytest.raises(SettingError, match="discount must lie above 0"):
        checked_discount(discount)


@given(
    st.integers(0, 6),
    st.integers(0, 12),
    st.none() | st.integers(1, 5),
    st.none() | st.integers(1, 9),
    st.integers(0, 9),
)
def test_what_may_be_spent_is_what_the_check_allows(people, budget, per_person, per_round, extra) -> None:
    here = state(people, budget, max_per_person=per_person, max_per_round=per_round)
    # Deal the most that may be spent, one coupon at a time; it is feasible, and one more nowhere is.
    coupons = np.zeros(people, dtype=np.int64)
    for _ in range(here.spendable):
        coupons[int(coupons.argmin())] += 1
    check_feasible(Allocation(coupons), here, "dealer")
    for person in range(people):
        more = coupons.copy()
        more[person] += 1
        with pytest.raises(InfeasibleAllocation):
            check_feasible(Allocation(more), here, "dealer")
    if people:
        single = np.zeros(people, dtype=np.int64)
        single[0] = here.most_per_person
        check_feasible(Allocation(single), here, "dealer")


@pytest.mark.parametrize(
    ("coupons", "rules", "fault"),
    [
        ([4, 4, 4], {}, "spends 12 of 10 remaining coupons, 2 too many"),
        ([4, 0, 0], {"max_per_person": 3}, "person 0 gets 4, 1 above the cap of 3 a person"),
        ([3, 3, 0], {"max_per_round": 5}, "spends 6, 1 above the cap of 5 a round"),
        ([-1, 0, 0], {}, "person 0 gets -1 coupons"),
        ([1, 1], {}, r"shape \(2,\) for 3 people"),
        ([0.5, 0.5, 0.0], {}, "not whole numbers"),
        ([2**62] * 3, {}, f"spends {3 * 2**62} of 10 remaining"),
        (np.array([2**63] * 3, dtype=np.uint64), {}, f"spends {3 * 2**63} of 10 remaining"),
    ],
)
def test_infeasible_allocations_name_policy_and_excess(coupons, rules, fault) -> None:
    with pytest.raises(InfeasibleAllocation, match=f"'greedy' made an infeasible allocation in round 0 .*{fault}"):
        check_feasible(Allocation.of(coupons), state(**rules), "greedy")


def test_terminal_states() -> None:
    assert state(people=0).is_terminal
    assert state(budget=0).is_terminal
    assert not state().is_terminal
    last = State(5, Frontier.of(np.zeros((1, 1), dtype=np.int16)), 50, Rules())
    assert last.is_terminal
    assert last.rounds_left == 0
    assert Allocation.of([1, 2]).spend == 3


def test_a_frontier_has_one_row_per_id() -> None:
    with pytest.raises(SettingError, match="2 ids and 3 covariate rows"):
        Frontier(np.arange(2), np.zeros((3, 1), dtype=np.int16))


def test_histories_refuse_impossible_rows() -> None:
    good = simulate_history(bridge())
    parts = (good.schema, good.referrers, good.coupons, good.recruits, good.parents, good.children)
    assert np.array_equal(good.saturated, good.recruits == good.coupons)
    too_many = good.recruits.copy()
    too_many[7] = good.coupons[7] + 1
    with pytest.raises(DataFileError, match=r"1 referral rows have more recruits than coupons \(rows 7\)"):
        History(*parts[:3], too_many, *parts[4:])
    with pytest.raises(DataFileError, match="negative"):
        History(*parts[:3], -good.recruits - 1, *parts[4:])
    with pytest.raises(DataFileError, match="do not match"):
        History(*parts[:3], good.recruits[1:], *parts[4:])
    with pytest.raises(DataFileError, match="do not form pairs"):
        History(*parts[:5], good.children[1:])
