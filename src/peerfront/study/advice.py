"""One answer for a study as it stands on a day: this round's sheet, and what to expect of it.

`advise` is the only place where a plan is made and looked ahead from. The sheet, the forecast, the week, the report,
the app and the live study are views of its result, so that a quantity has one figure, with its day and horizon.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.data.study import Study
from peerfront.foundation.errors import SettingError
from peerfront.foundation.machine import one_thread
from peerfront.foundation.messages import Message, Progress, Remedy, n_coupons, note, part_of, silent, warning
from peerfront.gfp.backup import Array
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.study.artifacts import Fit
from peerfront.study.coupon_calendar import calendar_step, why_undated
from peerfront.study.coupon_sheet import CouponSheet
from peerfront.study.day_policies import coming_of
from peerfront.study.decisions import decide
from peerfront.study.orders import PlanOrder, Task, expected_by, task_of
from peerfront.study.outlook import STUDIES, Choice, Horizon, Outlook, horizon_of, outlook_of
from peerfront.study.planning import plan_coupons
from peerfront.study.population import with_population
from peerfront.study.restrictions import restriction_of
from peerfront.study.signs import Signs, signs_of
from peerfront.study.stories import can_be_simulated, ordered_planner
from peerfront.study.study_state import AT_ONCE, Standing


@dataclass(frozen=True, eq=False)
class Advice:
    """What to do and what to expect."""

    sheet: CouponSheet
    outlook: Outlook | None
    """None if nobody can come, or if the study is too large to simulate."""
    standing: Standing
    horizon: Horizon
    in_time: float = 1.0
    """Share of the recruits of today's coupons who come within the horizon."""


@one_thread()
def advise(
    fit: Fit,
    standing: Standing,
    order: PlanOrder,
    times: ReturnTimes = AT_ONCE,
    study: Study | None = None,
    *,
    given: NDArray[np.int64] | None = None,
    studies: float = STUDIES,
    progress: Progress = silent,
) -> Advice:
    """Plan today's coupons, and simulate the rest of the study.

    `times` are the return times of a study with dates, `study` its file as of today, if there is one. `given` are
    today's numbers where somebody chose them by hand, [people who wait]. The same arguments give the same advice.
    """
    if order.population and order.already is None and standing.enrolled:
        order = replace(order, already=standing.enrolled)
    why = None if study is None or standing.today is not None or not order.deadline else why_undated(study)
    if study is not None and why is not None:
        date = Remedy("deadline", "DATE")
        raise SettingError("outlook.deadline_by_rounds", deadline=date, file=study.source, why=why)
    horizon = horizon_of(fit, standing.today, standing.valid_days, order, times)
    asked, made_with, fit = replace(order, rounds_left=horizon.rounds), fit, expected_by(fit, order)
    coming = coming_of(fit.planner, standing.open, times, horizon.days)
    sheet = plan_coupons(made_with, standing.waiting, asked, coming, given)
    against: tuple[Message, ...] = ()
    if standing.coupons_left is not None and order.budget > standing.coupons_left:
        against = (warning("evidence.fewer_left", budget=n_coupons(order.budget), left=standing.coupons_left),)
    first = int(sheet.certificate is None)  # why there is nothing to give out
    sheet = replace(sheet, notes=(*sheet.notes[:first], *against, *sheet.notes[first:]))
    in_time = float(times.cdf(horizon.days, standing.valid_days))
    task = task_of(fit, standing.waiting, asked)
    nobody_comes = task.nothing_because and not standing.coupons_open
    if nobody_comes or not can_be_simulated(task.state):
        return Advice(sheet, None, standing, horizon, in_time)
    progress(0.3, note("week.looking_ahead"))
    outlook = outlook_of(
        fit, standing, times, task, horizon, sheet.allocation,
        choices=_choices(fit, task, coming), studies=studies, progress=part_of(progress, 0.3, 1.0),
    )  # fmt: skip
    signs = _signs(made_with, standing, times, study, outlook)
    outlook = replace(outlook, signs=signs, notes=(*against, *outlook.notes))
    return Advice(replace(sheet, outlook=outlook), outlook, standing, horizon, in_time)


def _signs(fit: Fit, standing: Standing, times: ReturnTimes, study: Study | None, outlook: Outlook) -> Signs:
    step = 1.0 if standing.today is None else calendar_step(times)
    return signs_of(
        fit, standing, times, study,
        recruits=float(outlook.of_plan["recruits"]), queue=float(outlook.steps_of()["queue"].iloc[-1]),
        generations=outlook.horizon.days / step, population=outlook.population,
        interviews_per_week=outlook.interviews_per_week,
    )  # fmt: skip


def _choices(fit: Fit, task: Task, coming: Mapping[str, Array] | None) -> list[Choice]:
    """Other plans whose price is shown: at least one coupon each, and a plan without the order's limits."""
    order = task.order
    if task.nothing_because:
        return []
    if order.at_least or order.strata or order.randomise or order.min_per_person:
        free = replace(order, min_per_person=0, at_least=(), strata=(), randomise=0.0)
        return [_choice(fit, task, free, coming, "choices.without_limits")]
    if order.spend is None and len(task.state.frontier) <= task.spendable:
        return [_choice(fit, task, replace(order, min_per_person=1), coming, "choices.at_least_one")]
    return []


def _choice(fit: Fit, task: Task, order: PlanOrder, coming: Mapping[str, Array] | None, code: str) -> Choice:
    """What a plan by another order gives out today, and later."""
    depleted, people = with_population(fit, task.state.frontier, order)
    now = task_of(depleted, people, order)
    planner = ordered_planner(depleted, now)
    today = decide(depleted, planner if coming is None else planner.with_coming(coming), now, every_spend=False)
    later = restriction_of(order, fit).policy(ordered_planner(fit, now))
    return Choice(note(code), today.plan.allocation, later)
