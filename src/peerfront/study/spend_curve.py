"""What other numbers of coupons would bring this round, by the plan's own value."""

import numpy as np
import pandas as pd

from peerfront.foundation.covariates import kinds_of
from peerfront.gfp.backup import Array
from peerfront.gfp.explained_plan import Plan
from peerfront.gfp.greedy import greedy_at
from peerfront.gfp.planner import Planner
from peerfront.gfp.price_plan import values_by_price
from peerfront.study.orders import Task

_WHOLE_CURVE = 400  # coupons up to which every spend of the round is evaluated
_POINTS, _POINTS_BY_PRICE = 60, 12  # spends evaluated in a larger round, and in one planned by price


def is_whole(task: Task) -> bool:
    """Whether the round is small enough to evaluate every spend."""
    return task.spendable <= _WHOLE_CURVE


def spend_curve(planner: Planner, task: Task, plan: Plan) -> pd.DataFrame:
    """Columns spend and value: every spend of a small round, some of a larger one; the plan's is always there."""
    if plan.bound is not None:
        return _curve_by_price(planner, task, plan)
    return curve_of(plan.values) if is_whole(task) else _some_of_the_curve(planner, task, plan)


def curve_of(values: Array) -> pd.DataFrame:
    """The spends that were evaluated, with their values."""
    evaluated = np.flatnonzero(~np.isnan(values))
    return pd.DataFrame({"spend": evaluated, "value": values[evaluated]})


def _some_of_the_curve(planner: Planner, task: Task, plan: Plan) -> pd.DataFrame:
    """The curve of a large round: some spends from the least to all, with the plan's and the usual alternatives."""
    spends, most = _some_spends(task, plan, _POINTS), task.state.most_per_person
    tables = planner.tables(task.state.frontier.covariates, most)
    least, (weights, base) = task.order.min_per_person, planner.weights_and_base(task.state)
    _, values = greedy_at(tables, weights, planner.discount, spends, most, least, base)
    return pd.DataFrame({"spend": spends, "value": values})


def _curve_by_price(planner: Planner, task: Task, plan: Plan) -> pd.DataFrame:
    """The same for a round planned by price: the spends of its search are known."""
    kinds, most = kinds_of(task.state.frontier.covariates), task.state.most_per_person
    tables = planner.tables(kinds.rows, most)
    others = [s for s in _some_spends(task, plan, _POINTS_BY_PRICE) if np.isnan(plan.values[s])]
    values = plan.values.copy()
    least, (weights, base) = task.order.min_per_person, planner.weights_and_base(task.state)
    values[others] = values_by_price(tables, kinds.number, weights, planner.discount, others, most, least, base)
    return curve_of(values)


def _some_spends(task: Task, plan: Plan, points: int) -> list[int]:
    least = task.order.min_per_person * len(task.state.frontier)
    usual = [plan.spend // 2, round(0.75 * plan.spend), round(1.25 * plan.spend), plan.spend]
    spread = np.linspace(least, task.spendable, points).astype(np.int64)
    spends: list[int] = np.unique(np.clip([*usual, *spread.tolist()], least, task.spendable)).tolist()
    return spends
