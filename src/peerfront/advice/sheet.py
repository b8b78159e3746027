"""The coupon sheet: who gets how many, why, what else could be done, and how much better anything could be.

A coupon sheet in sentences: how many now, what else could be done, how good it is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.advice.certificate import certify_sheet
from peerfront.advice.learned_world import learned_world
from peerfront.advice.orders import PlanOrder, Task, task_of
from peerfront.advice.reasons import Facts, reasons_of
from peerfront.allocation.backup import Array
from peerfront.allocation.greedy import greedy_at
from peerfront.allocation.planner import Plan, Planner
from peerfront.artifacts import Fit
from peerfront.bounds.certificate import Certificate
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.foundation.words import counted, n_coupons, n_people, percent
from peerfront.problem import Allocation, Frontier, State, rollout

if TYPE_CHECKING:
    pass


_FLAT = 0.01  # spends that lose less than this are as good
_SAME = 0.005  # recruits


def sheet_lines(sheet: "CouponSheet") -> list[str]:
    """What a coordinator reads below the table."""
    if sheet.certificate is None:
        return list(sheet.notes)
    return [*_total(sheet), *_alternatives(sheet), *_how_good(sheet), *sheet.notes]


def _total(sheet: "CouponSheet") -> list[str]:
    order, getting = sheet.order, int((sheet.table["coupons"] > 0).sum())
    given = f"Give out {n_coupons(sheet.spend)} to {getting:,} of {n_people(len(sheet.table))}"
    reserve = f", and {order.reserve} stay in reserve" if order.reserve else ""
    now = float(sheet.table["expected_now"].sum())
    return [
        f"{given}; {_rest(sheet)}{reserve}.",
        f"Expected from this round: {now:.1f} recruits.{_in_all(sheet)} All of this is by the model.",
    ]


def _rest(sheet: "CouponSheet") -> str:
    kept = sheet.order.available - sheet.spend
    if sheet.rounds_left == 1:
        return "this is the last round" + (f", and {n_coupons(kept)} cannot be used within the limits" if kept else "")
    return f"{counted(kept, 'is', 'are')} kept for later rounds" if kept else "none is kept for later rounds"


def _in_all(sheet: "CouponSheet") -> str:
    if sheet.rounds_left == 1:
        return ""
    error = "" if sheet.expected_error is None else f" (+- {2 * sheet.expected_error:.1f} for chance in the simulation)"
    counts = "" if sheet.discount == 1.0 else f", where a recruit a round later counts {sheet.discount:g} times as much"
    after = counted(sheet.rounds_left - 1, "round", "rounds")
    return f" With the {after} after it, {sheet.expected:.1f} in all{error}{counts}."


def _alternatives(sheet: "CouponSheet") -> list[str]:
    curve = sheet.curve.set_index("spend")["value"]
    best = float(curve[sheet.spend])
    lowest, highest = int(curve.index.min()), int(curve.index.max())
    wanted = {
        "half": sheet.spend // 2,
        "a quarter fewer": round(0.75 * sheet.spend),
        "a quarter more": round(1.25 * sheet.spend),
        "all that may be given": highest,
    }
    lines, told = [], {sheet.spend}
    for name, spend in wanted.items():
        spend = min(max(spend, lowest), highest)
        if spend in told or spend not in curve.index:
            continue
        told.add(spend)
        lost = best - float(curve[spend])
        said = "as good" if lost < _SAME else f"{lost:.2f} recruits fewer in all ({percent(lost / max(best, 1e-9))})"
        lines.append(f"  {name}, {spend:,}: {said}")
    if not lines:
        return []
    near = curve.index[curve.to_numpy() >= (1.0 - _FLAT) * best]
    flat = (
        f"Anything from {int(near.min()):,} to {int(near.max()):,} loses less than {percent(_FLAT)}."
        if len(near) > 1
        else "Every other number loses more than 1%."
    )
    return ["Other numbers of coupons this round:", *lines, f"  {flat}"]


def _how_good(sheet: "CouponSheet") -> list[str]:
    certificate = sheet.certificate
    assert certificate is not None, "asked only where there is one"
    short = certificate.shortfall(sheet.expected)
    surety = {
        "exact": "proved for these models",
        "statistical": "proved for these models, up to chance in the sampling",
        "estimated": "an estimate, not a proof",
    }[certificate.proof]
    too_high = sheet.expected_error is None and sheet.expected > certificate.high
    close = (
        "The plan's own total lies above that, so it is too high"
        if too_high
        else "No plan can do better"
        if short < _SAME
        else f"So this plan is within {math.ceil(100 * short)}% of the best possible, perhaps much closer"
    )
    return [
        f"By the model, no plan whatever can expect more than {certificate.high:.1f} recruits "
        f"({certificate.explanation}; {surety}). {close}. This says nothing about errors of the model itself."
    ]


COLUMNS = ("person", "coupons", "chance_used", "expected_now", "expected_later", "reason")
_WHOLE_CURVE = 400  # spends up to which every one is evaluated
_CURVE_POINTS = 60
_EPISODES, _SIMULATED_PEOPLE = 400, 100_000
_SIMULATED_BUDGET = 2_000  # beyond it, simulating the rest of the study takes minutes


@dataclass(frozen=True, eq=False)
class CouponSheet:
    """A plan for this round, ready to print."""

    table: pd.DataFrame
    """person, coupons, chance_used (of each coupon), expected_now, expected_later, reason; in the frontier's order."""
    spend: int
    order: PlanOrder
    curve: pd.DataFrame
    """spend, value: recruits expected in all, by the plan's own value, for every spend that was evaluated."""
    certificate: Certificate | None
    """What no plan can expect to exceed, by the model; None where there is nothing to decide."""
    expected: float
    """Recruits expected in all, discounted, if later rounds are planned too: simulated, or `promised` if too large."""
    expected_error: float | None
    """Its standard error (0 in the last round, which needs no simulation); None if `promised` stands in."""
    promised: float
    """The same by the plan's own value."""
    discount: float
    rounds_left: int
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """The sheet in words, without the table."""
        return sheet_lines(self)

    def csv(self) -> str:
        return self.table.to_csv(index=False, lineterminator="\n", float_format="%.3f")


def plan_coupons(fit: Fit, frontier: Frontier, ids: Sequence[str], order: PlanOrder) -> CouponSheet:
    """Plan one round. The same fit, people and order give the same sheet, byte for byte."""
    if len(ids) != len(frontier):
        raise SettingError(f"There are {len(ids)} ids and {len(frontier)} people; give one id each.")
    fit.schema.check(frontier.covariates)
    task = task_of(fit, frontier, order)
    if task.over:
        return _nothing(fit, task, ids)
    planner = replace(fit.planner, least_per_person=order.min_per_person)
    whole = task.spendable <= _WHOLE_CURVE
    plan = planner.plan(task.state, every_spend=whole)
    survival, uncovered = planner.tables(frontier.covariates, task.state.most_per_person)
    facts = Facts.of(fit, task, plan, survival, uncovered)
    table = _table(ids, plan.allocation.coupons, survival, facts.later, reasons_of(facts))
    curve = _curve(plan.values) if whole else _some_of_the_curve(planner, task, plan, survival, uncovered)
    simulated = (plan.value, 0.0) if task.state.rounds_left == 1 else _simulated(fit, planner, task, plan.allocation)
    return CouponSheet(
        table=table,
        spend=plan.spend,
        order=order,
        curve=curve,
        certificate=certify_sheet(fit, task.state),
        expected=plan.value if simulated is None else simulated[0],
        expected_error=None if simulated is None else simulated[1],
        promised=plan.value,
        discount=fit.discount,
        rounds_left=task.state.rounds_left,
        notes=task.notes,
    )


def _nothing(fit: Fit, task: Task, ids: Sequence[str]) -> CouponSheet:
    """Nobody gets anything, and the sheet says why."""
    order, people = task.order, len(ids)
    why = (
        "no round is left" if order.rounds_left == 0
        else "the round's limit is 0" if order.round_cap == 0
        else "no coupons are left" if not order.reserve
        else "all coupons are kept in reserve"
    )  # fmt: skip
    nothing = np.zeros(people, dtype=np.int64)
    table = _table(ids, nothing, np.zeros((people, 1)), np.zeros(people), [f"No coupon: {why}."] * people)
    told = f"Nothing to give out: {why if people else 'nobody is waiting for coupons'}."
    left = fit.rules.rounds if order.rounds_left is None else order.rounds_left
    curve = pd.DataFrame({"spend": [0], "value": [0.0]})
    return CouponSheet(table, 0, order, curve, None, 0.0, None, 0.0, fit.discount, left, (told, *task.notes))


def _table(
    ids: Sequence[str], coupons: NDArray[np.int64], survival: Array, later: Array, reasons: Sequence[str]
) -> pd.DataFrame:
    levels = np.arange(survival.shape[1])
    used = np.where(levels < coupons[:, None], survival, 0.0)
    chances = [
        " ".join(f"{chance:.0%}" for chance in _padded(row, count))
        for row, count in zip(survival, coupons.tolist(), strict=True)
    ]
    table = pd.DataFrame(
        {
            "person": pd.Series(list(ids), dtype=object),
            "coupons": coupons,
            "chance_used": pd.Series(chances, dtype=object),
            "expected_now": used.sum(axis=1).round(3),
            "expected_later": later.round(3),
            "reason": pd.Series(list(reasons), dtype=object),
        }
    )
    return table[list(COLUMNS)]


def _padded(row: Array, count: int) -> list[float]:
    """Chances of `count` coupons; those beyond the table are never used."""
    return [*row[:count].tolist(), *([0.0] * (count - len(row)))]


def _curve(values: Array) -> pd.DataFrame:
    known = np.flatnonzero(~np.isnan(values))
    return pd.DataFrame({"spend": known, "value": values[known]})


def _some_of_the_curve(planner: Planner, task: Task, plan: Plan, survival: Array, uncovered: Array) -> pd.DataFrame:
    """A large round: some spends from the least to all, the chosen one and the usual alternatives among them."""
    least = task.order.min_per_person * len(survival)
    usual = [plan.spend // 2, round(0.75 * plan.spend), round(1.25 * plan.spend), plan.spend]
    spread = np.linspace(least, task.spendable, _CURVE_POINTS).astype(np.int64)
    spends = np.unique(np.clip([*usual, *spread.tolist()], least, task.spendable))
    budget, most = task.state.remaining_budget, task.state.most_per_person
    weights = planner.surrogate.weights_with(task.state.rounds_left - 1)[: budget + 1]
    _, values = greedy_at(
        survival, uncovered, weights, planner.discount, spends.tolist(), most, task.order.min_per_person
    )
    return pd.DataFrame({"spend": spends, "value": values})


@dataclass(frozen=True, eq=False)
class _SheetFirst:
    """This round as on the sheet, the later ones as planned then."""

    sheet: Allocation
    planner: Planner
    name: str = "the sheet"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        if states[0].round == 0:
            return [self.sheet] * len(states)
        return self.planner.allocate_many(states, lucks)


def _simulated(fit: Fit, planner: Planner, task: Task, sheet: Allocation) -> tuple[float, float] | None:
    """Mean and standard error of all recruits, played to the end with the models; None if that takes too long."""
    state = task.state
    if state.remaining_budget > _SIMULATED_BUDGET or len(state.frontier) > _SIMULATED_BUDGET:
        return None
    people = len(state.frontier)
    episodes = int(np.clip(_SIMULATED_PEOPLE // (people + state.remaining_budget), 40, _EPISODES))
    luck = named_luck(("sheet",), episodes)
    world, rules = learned_world(fit, state.frontier), replace(state.rules, people=people)
    played = rollout(world, _SheetFirst(sheet, planner), rules, luck)
    rewards = played.discounted_rewards(fit.discount)
    return float(rewards.mean()), float(rewards.std(ddof=1) / np.sqrt(episodes))
