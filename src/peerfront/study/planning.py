"""Plan one round: who gets how many coupons now and why, what other spends would bring, and how good the plan is.

`plan_coupons` checks the order, plans the round, and bounds what any plan could expect. What comes of it is simulated
by `outlook`; `advice` brings both together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.bounds.certificate import certify_by_story
from peerfront.foundation.covariates import Kinds, kinds_of
from peerfront.foundation.machine import one_thread
from peerfront.foundation.messages import note
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.backup import Array
from peerfront.gfp.blocks import greedy_at_in_blocks, majorants, people_in_blocks, worth_of_kinds
from peerfront.gfp.explained_plan import Plan
from peerfront.gfp.planner import Planner
from peerfront.gfp.price_plan import totals_by_price
from peerfront.problem import Allocation, Frontier, Policy
from peerfront.study.artifacts import Fit
from peerfront.study.coupon_sheet import CouponSheet
from peerfront.study.decisions import AT_RANDOM, BY_HAND, BY_LOT, BY_PLAN, decide, with_numbers
from peerfront.study.orders import PlanOrder, Task, expected_by, task_of
from peerfront.study.population import population_notes, with_population
from peerfront.study.reasons import Draw, Facts, Reason, ReasonCode, alike, reasons_of
from peerfront.study.restrictions import restriction_of
from peerfront.study.stories import (
    SheetFirst,
    StoryResult,
    can_be_simulated,
    drawn_responses,
    last_round,
    ordered_planner,
    results_of,
)

_EPISODES, _SIMULATED_PEOPLE = 400, 100_000
_WHOLE_CURVE = 400  # up to this many coupons, every spend of the round is evaluated
_POINTS, _POINTS_BY_PRICE = 60, 12  # spends evaluated in a larger round, and in one planned by price


@one_thread()
def plan_coupons(
    fit: Fit,
    frontier: Frontier,
    order: PlanOrder,
    coming: Mapping[str, Array] | None = None,
    given: NDArray[np.int64] | None = None,
) -> CouponSheet:
    """Plan one round. The same fit, people and order give the same sheet, byte for byte.

    `coming` is the part that recruits still to come from open coupons leave uncovered, by story
    (`Planner.with_coming`). `given` are numbers that somebody chose instead of the plan's, [people].
    """
    made_with = fit
    fit, frontier = with_population(expected_by(fit, order), frontier, order)
    task, people = task_of(fit, frontier, order), [str(person) for person in frontier.ids.tolist()]
    if task.nothing_because:
        return _nothing(made_with, task, people)
    afterwards = ordered_planner(fit, task)
    planner = afterwards if coming is None else afterwards.with_coming(coming)
    decision = decide(fit, planner, task, every_spend=_is_whole(task))
    if given is not None:
        decision = with_numbers(decision, planner, task, given)
    plan = decision.plan
    kinds = alike(frontier.covariates, plan.allocation.coupons)
    tables = planner.tables(kinds.rows[:, :-1].astype(np.int16), task.state.most_per_person)
    facts = Facts.of(fit, planner, task, plan, kinds, tables)
    restriction = restriction_of(order, fit)
    later = np.zeros_like(facts.later) if restriction.usual else facts.later
    table = _table(people, kinds, tables.gains, _chances_used(planner, kinds), later, reasons_of(facts))
    table.insert(5, "decided_by", decision.decided_by)
    table.insert(6, "probability", decision.probability.round(6))
    if decision.stratum:
        table.insert(7, "stratum", pd.Series(list(decision.stratum), dtype=object))
        reasons = zip(table["coupons"].tolist(), decision.stratum, decision.decided_by.tolist(), strict=True)
        table["reason"] = _objects([_reason_in_stratum(*each) for each in reasons])
    elif restriction.usual:
        table["reason"] = _objects([Reason(ReasonCode.USUAL, coupons) for coupons in table["coupons"].tolist()])
    if not decision.stratum and (decision.decided_by != BY_PLAN).any():
        draws = zip(table["reason"], decision.decided_by.tolist(), decision.tied_with.tolist(), strict=True)
        table["reason"] = _objects([_with_draw(*each, bool(decision.learning)) for each in draws])
    promised, results = plan.value, []
    if restriction.usual:  # the value was learned with the belief that counts contradict
        promised = float(table["expected_now"].sum())
        curve = pd.DataFrame({"spend": [plan.spend], "value": [promised]})
    else:
        curve = _curve_of(plan.values) if restriction.is_any else _spend_curve(planner, task, plan)
        results = _simulated(fit, restriction.policy(afterwards), task, plan.allocation)
    return CouponSheet(
        table=table,
        spend=plan.spend,
        order=order,
        curve=curve,
        certificates=certify_by_story(drawn_responses(fit), fit.offspring, fit.schema, fit.discount, task.state),
        in_rounds=tuple(results),
        promised=promised,
        discount=fit.discount,
        rounds_left=task.state.rounds_left,
        notes=(*decision.notes, *population_notes(fit), *task.notes),
        gap=plan.gap,
        learning=decision.learning,
        chances=decision.chances,
        **_provenance(made_with),
    )


def _nothing(fit: Fit, task: Task, people: Sequence[str]) -> CouponSheet:
    """A sheet on which nobody gets anything, with the reason."""
    order, why = task.order, task.nothing_because
    assert why is not None, "otherwise something is planned"
    alike_all = Kinds(np.zeros((1, 1), np.int64), np.zeros(len(people), np.int64), np.array([len(people)]))
    reasons = [Reason(ReasonCode.NOTHING, because=why.code)]
    table = _table(people, alike_all, np.zeros((1, 1)), [""], np.zeros(1), reasons)
    left = fit.rules.rounds if order.rounds_left is None else order.rounds_left
    curve = pd.DataFrame({"spend": [0], "value": [0.0]})
    table.insert(5, "decided_by", BY_PLAN)
    table.insert(6, "probability", 1.0)
    notes = (note("nothing_to_give.so", why=why), *task.notes)
    return CouponSheet(table, 0, order, curve, {}, (), 0.0, fit.discount, left, notes, **_provenance(fit))


def _provenance(fit: Fit) -> dict[str, Any]:
    """The model that a sheet was made with."""
    study = str(fit.settings.get("study", ""))
    return {"study": study, "model_fingerprint": fit.fingerprint, "warnings": fit.warnings}


def _table(
    people: Sequence[str],
    kinds: Kinds,
    gains: Array,
    chances: Sequence[str],
    later: Array,
    reasons: Sequence[Reason],
) -> pd.DataFrame:
    """One row per person; what else is given is by kind (of answers and coupons)."""
    coupons, kind = kinds.rows[:, -1], kinds.kind
    used = np.where(np.arange(gains.shape[1]) < coupons[:, None], gains, 0.0)
    return pd.DataFrame(
        {
            "person": pd.Series(list(people), dtype=object),
            "coupons": coupons[kind],
            "chance_used": pd.Series(np.array(chances, dtype=object)[kind], dtype=object),
            "expected_now": used.sum(axis=1).round(3)[kind],
            "expected_later": later.round(3)[kind],
            "reason": _objects(reasons)[kind],
        }
    )


def _objects(values: Sequence[object]) -> NDArray[np.object_]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _chances_used(planner: Planner, kinds: Kinds) -> list[str]:
    """The chance that one, two, ... of somebody's coupons are used, by kind (of answers and coupons)."""
    people, coupons = kinds.rows[:, :-1].astype(np.int16), kinds.rows[:, -1]
    chances = [""] * len(coupons)
    for number in np.unique(coupons[coupons > 0]).tolist():
        own = np.flatnonzero(coupons == number)
        counts = sum(story.weight * story.response.counts(people[own], number)[:, 1:] for story in planner.stories)
        for place, row in zip(own.tolist(), np.cumsum(np.fliplr(counts), axis=1), strict=True):
            chances[place] = " ".join(f"{chance:.0%}" for chance in row[::-1])
    return chances


def _reason_in_stratum(coupons: int, stratum: str, decided_by: str) -> Reason:
    if decided_by == AT_RANDOM:
        return Reason(ReasonCode.RANDOM, coupons)
    code = ReasonCode.STRATUM_LOT if decided_by == BY_LOT else ReasonCode.STRATUM
    return Reason(code, coupons, stratum=stratum)


def _with_draw(reason: Reason, decided_by: str, tied_with: int, to_learn: bool) -> Reason:
    """Add to the reason whether it was decided by lot or at random."""
    if decided_by == BY_LOT:
        return replace(reason, draw=Draw.LOT, tied_with=tied_with)
    if decided_by in (BY_PLAN, BY_HAND):
        return reason
    return replace(reason, draw=Draw.TO_LEARN) if to_learn else Reason(ReasonCode.RANDOM, reason.coupons)


def _episodes(task: Task) -> int:
    state = task.state
    return int(np.clip(_SIMULATED_PEOPLE // (len(state.frontier) + state.remaining_budget), 40, _EPISODES))


def _simulated(fit: Fit, later: Policy, task: Task, sheet: Allocation) -> list[StoryResult]:
    """Play the sheet by rounds in the world of every story; empty if that takes too long.

    `later` decides the rounds after this one. Bounds on plans are by rounds, and this is what they are compared with.
    """
    state = task.state
    if state.rounds_left == 1:  # nothing is left to chance but the counts, whose means are known
        return last_round(fit, state, sheet)
    if not can_be_simulated(state):
        return []
    return results_of(fit, state, SheetFirst(sheet, later), named_luck(("sheet",), _episodes(task)))


# What other spends would bring ----------------------------------------------------------------------------------------


def _is_whole(task: Task) -> bool:
    """Whether the round is small enough to evaluate every spend."""
    return task.spendable <= _WHOLE_CURVE


def _spend_curve(planner: Planner, task: Task, plan: Plan) -> pd.DataFrame:
    """Columns spend and value: every spend of a small round, some of a larger one; always the plan's."""
    if plan.bound is not None:
        return _curve_by_price(planner, task, plan)
    return _curve_of(plan.values) if _is_whole(task) else _some_of_the_curve(planner, task, plan)


def _curve_of(values: Array) -> pd.DataFrame:
    """The spends that were evaluated, with their values."""
    evaluated = np.flatnonzero(~np.isnan(values))
    return pd.DataFrame({"spend": evaluated, "value": values[evaluated]})


def _some_of_the_curve(planner: Planner, task: Task, plan: Plan) -> pd.DataFrame:
    """The curve of a large round: some spends from least to most, with the plan's and the usual alternatives."""
    spends, most = _some_spends(task, plan, _POINTS), task.state.most_per_person
    tables = planner.tables(task.state.frontier.covariates, most)
    least, (weights, base) = task.order.min_per_person, planner.weights_and_base(task.state)
    _, values = greedy_at_in_blocks(tables, weights, planner.discount, spends, most, least, base)
    values[spends.index(plan.spend)] = plan.value  # after lots and floors
    return pd.DataFrame({"spend": spends, "value": values})


def _curve_by_price(planner: Planner, task: Task, plan: Plan) -> pd.DataFrame:
    """The curve of a round planned by price: the spends that its search has evaluated, and some others; each with the
    coupons that would be handed out.
    """
    kinds, most = kinds_of(task.state.frontier.covariates), task.state.most_per_person
    tables = planner.tables(kinds.rows, most)
    concave, ends = majorants(tables)
    others = [s for s in _some_spends(task, plan, _POINTS_BY_PRICE) if np.isnan(plan.values[s])]
    values = plan.values.copy()
    least, (weights, base) = task.order.min_per_person, planner.weights_and_base(task.state)
    planned = totals_by_price(concave, kinds.number, weights, planner.discount, others, most, least)
    for spend, totals in zip(others, planned, strict=True):
        left, coupons = len(weights) - 1 - spend, people_in_blocks(totals, kinds.kind, ends, least)
        values[spend] = worth_of_kinds(tables, planner.discount * weights[left], kinds.kind, coupons)[0]
        values[spend] += 0.0 if base is None else planner.discount * base[left]
    return _curve_of(values)


def _some_spends(task: Task, plan: Plan, points: int) -> list[int]:
    least = task.order.min_per_person * len(task.state.frontier)
    usual = [plan.spend // 2, round(0.75 * plan.spend), round(1.25 * plan.spend), plan.spend]
    spread = np.linspace(least, task.spendable, points).astype(np.int64)
    spends: list[int] = np.unique(np.clip([*usual, *spread.tolist()], least, task.spendable)).tolist()
    return spends
