"""The coupon sheet: who gets how many coupons now and why, what other numbers would bring, and how good the plan is.

`plan_coupons` checks the order, plans the round, plays the rest of the study with the fitted models, and bounds what
any plan could expect. `CouponSheet` carries the result as tables, sentences and a picture.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from peerfront.advice.certificate import certify_sheet
from peerfront.advice.orders import PlanOrder, Task, task_of
from peerfront.advice.reasons import Facts, alike, reasons_of
from peerfront.advice.spend_curve import is_whole, spend_curve
from peerfront.allocation.backup import Array
from peerfront.allocation.planner import Planner
from peerfront.artifacts import Fit
from peerfront.bounds.certificate import Certificate
from peerfront.foundation.covariates import Kinds
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.threads import one_thread
from peerfront.foundation.words import as_html, counted, n_coupons, n_people, percent
from peerfront.problem import Allocation, Frontier, State, rollout

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EPISODES, _SIMULATED_PEOPLE = 400, 100_000
_SIMULATED_BUDGET = 2_000  # beyond it, simulating the rest of the study takes minutes
_AS_GOOD = 0.005  # recruits, or a share of the best possible: a smaller loss is called none
_FLAT = 0.01  # share of the value: spends that lose less lie on the flat part of the curve


@dataclass(frozen=True, eq=False)
class CouponSheet:
    """Who gets how many coupons this round, why, and how good that is. `Model.plan` makes it.

    >>> sheet = model.plan(study.waiting, budget=20)
    >>> int(sheet.table["coupons"].sum()) == sheet.spend <= 20
    True
    >>> list(sheet.table.columns)
    ['person', 'coupons', 'chance_used', 'expected_now', 'expected_later', 'reason']
    >>> print(sheet.lines()[0])
    Give out ... coupons to ... people; ...
    """

    table: pd.DataFrame
    """person, coupons, chance_used (of each coupon), expected_now, expected_later, reason; in the frontier's order."""
    spend: int
    """Coupons given out this round."""
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
    gap: float | None = None
    """Planned by a common price of a coupon: the share by which `promised` can be below the best plan's own value, at
    most. None where coupons were given out one by one (exact greedy)."""

    @property
    def why(self) -> "pd.Series[str]":
        """The reason for each person's number of coupons, by person."""
        return self.table.set_index("person")["reason"]

    def lines(self) -> list[str]:
        """What a coordinator reads below the table, one statement a line."""
        if self.certificate is None:
            return list(self.notes)
        return [*_total(self), *_alternatives(self), *_how_good(self, self.certificate), *self.notes]

    def csv(self) -> str:
        """The table as the text of a CSV file."""
        return csv_text(self.table, float_format="%.3f")

    def plot(self) -> "Figure":
        """Draw the recruits expected in all against the coupons given out this round."""
        from peerfront.advice.figures import curve_figure

        return curve_figure(self)

    def __str__(self) -> str:
        return "\n".join([self.table.drop(columns="reason").to_string(index=False), "", *self.lines()])

    def _repr_html_(self) -> str:
        return as_html(self.lines(), self.table)


@one_thread()
def plan_coupons(fit: Fit, frontier: Frontier, order: PlanOrder) -> CouponSheet:
    """Plan one round. The same fit, people and order give the same sheet, byte for byte."""
    task, people = task_of(fit, frontier, order), [str(person) for person in frontier.ids.tolist()]
    if task.nothing_because:
        return _nothing(fit, task, people)
    planner = replace(fit.planner, least_per_person=order.min_per_person)
    plan = planner.plan(task.state, every_spend=is_whole(task))
    kinds = alike(frontier.covariates, plan.allocation.coupons)
    survival, uncovered = planner.tables(kinds.rows[:, :-1].astype(np.int16), task.state.most_per_person)
    facts = Facts.of(fit, task, plan, kinds, survival, uncovered)
    table = _table(people, kinds, survival, facts.later, reasons_of(facts))
    curve = spend_curve(planner, task, plan)
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
        gap=plan.gap,
    )


def _nothing(fit: Fit, task: Task, people: Sequence[str]) -> CouponSheet:
    """A sheet on which nobody gets anything, and which says why."""
    order, why = task.order, task.nothing_because
    alike_all = Kinds(np.zeros((1, 1), np.int64), np.zeros(len(people), np.int64), np.array([len(people)]))
    table = _table(people, alike_all, np.zeros((1, 1)), np.zeros(1), [f"No coupon: {why}."])
    left = fit.rules.rounds if order.rounds_left is None else order.rounds_left
    curve = pd.DataFrame({"spend": [0], "value": [0.0]})
    notes = (f"Nothing to give out: {why}.", *task.notes)
    return CouponSheet(table, 0, order, curve, None, 0.0, None, 0.0, fit.discount, left, notes)


def _table(people: Sequence[str], kinds: Kinds, survival: Array, later: Array, reasons: Sequence[str]) -> pd.DataFrame:
    """One row per person; survival, `later` and `reasons` are by kind (of answers and coupons)."""
    coupons, kind = kinds.rows[:, -1], kinds.kind
    used = np.where(np.arange(survival.shape[1]) < coupons[:, None], survival, 0.0)
    chances = [
        " ".join(f"{chance:.0%}" for chance in _padded(row, count))
        for row, count in zip(survival, coupons.tolist(), strict=True)
    ]
    return pd.DataFrame(
        {
            "person": pd.Series(list(people), dtype=object),
            "coupons": coupons[kind],
            "chance_used": pd.Series(np.array(chances, dtype=object)[kind], dtype=object),
            "expected_now": used.sum(axis=1).round(3)[kind],
            "expected_later": later.round(3)[kind],
            "reason": pd.Series(np.array(reasons, dtype=object)[kind], dtype=object),
        }
    )


def _padded(row: Array, count: int) -> list[float]:
    """Chances of `count` coupons; those beyond the table are never used."""
    return [*row[:count].tolist(), *([0.0] * (count - len(row)))]


@dataclass(frozen=True, eq=False)
class _SheetFirst:
    """A policy: this round as on the sheet, later rounds as the planner decides then."""

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
    played = rollout(fit.world(state.frontier), _SheetFirst(sheet, planner), state.rules, luck)
    rewards = played.discounted_rewards(fit.discount)
    return float(rewards.mean()), float(rewards.std(ddof=1) / np.sqrt(episodes))


# The sheet in words --------------------------------------------------------------------------------------------------


def _total(sheet: CouponSheet) -> list[str]:
    order, getting = sheet.order, int((sheet.table["coupons"] > 0).sum())
    given = f"Give out {n_coupons(sheet.spend)} to {getting:,} of {n_people(len(sheet.table))}"
    reserve = f", and {order.reserve} stay in reserve" if order.reserve else ""
    now = float(sheet.table["expected_now"].sum())
    return [
        f"{given}; {_rest(sheet)}{reserve}.",
        f"Expected from this round: {now:.1f} recruits.{_in_all(sheet)} All of this is by the model.",
    ]


def _rest(sheet: CouponSheet) -> str:
    kept = sheet.order.available - sheet.spend
    if sheet.rounds_left == 1:
        return "this is the last round" + (f", and {n_coupons(kept)} cannot be used within the limits" if kept else "")
    return f"{counted(kept, 'is', 'are')} kept for later rounds" if kept else "none is kept for later rounds"


def _in_all(sheet: CouponSheet) -> str:
    if sheet.rounds_left == 1:
        return ""
    error = "" if sheet.expected_error is None else f" (+- {2 * sheet.expected_error:.1f} for chance in the simulation)"
    counts = "" if sheet.discount == 1.0 else f", where a recruit a round later counts {sheet.discount:g} times as much"
    after = counted(sheet.rounds_left - 1, "round", "rounds")
    return f" With the {after} after it, {sheet.expected:.1f} in all{error}{counts}."


def _alternatives(sheet: CouponSheet) -> list[str]:
    curve = sheet.curve.set_index("spend")["value"]
    best = float(curve[sheet.spend])
    lowest, highest = int(curve.index.min()), int(curve.index.max())
    alternatives = {
        "half": sheet.spend // 2,
        "a quarter fewer": round(0.75 * sheet.spend),
        "a quarter more": round(1.25 * sheet.spend),
        "all that may be given": highest,
    }
    lines, listed = [], {sheet.spend}
    for name, spend in alternatives.items():
        spend = min(max(spend, lowest), highest)
        if spend in listed or spend not in curve.index:
            continue
        listed.add(spend)
        lost = best - float(curve[spend])
        loss = "as good" if lost < _AS_GOOD else f"{lost:.2f} recruits fewer in all ({percent(lost / max(best, 1e-9))})"
        lines.append(f"  {name}, {spend:,}: {loss}")
    if not lines:
        return []
    near = curve.index[curve.to_numpy() >= (1.0 - _FLAT) * best]
    flat = (
        f"Anything from {int(near.min()):,} to {int(near.max()):,} loses less than {percent(_FLAT)}."
        if len(near) > 1
        else "Every other number loses more than 1%."
    )
    return ["Other numbers of coupons this round:", *lines, f"  {flat}"]


def _how_good(sheet: CouponSheet, certificate: Certificate) -> list[str]:
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
        if short < _AS_GOOD
        else f"So this plan is within {math.ceil(100 * short)}% of the best possible, perhaps much closer"
    )
    by_price = (
        []
        if sheet.gap is None
        else [
            f"Planned by a common price of a coupon, because the file is large: at most {_share_of_percent(sheet.gap)} "
            "below the best plan by the same value."
        ]
    )
    return [
        *by_price,
        f"By the model, no plan whatever can expect more than {certificate.high:.1f} recruits "
        f"({certificate.explanation}; {surety}). {close}. This says nothing about errors of the model itself.",
    ]


def _share_of_percent(share: float) -> str:
    """A small share, rounded up: .000312 is .04%."""
    return f"{math.ceil(1e4 * share) / 100:.2f}%"
