"""The forecast by date: the rest of the study simulated day by day, under the plan and under its rivals.

All policies meet the same people with the same luck. Bands are quantiles of the simulated studies; they include luck,
what is not known about coupons, and when people return.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.errors import SettingError
from peerfront.foundation.machine import one_thread
from peerfront.foundation.messages import Message, Progress, Readable, Remedy, Severity, note, silent
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.foundation.settings import seed_number, whole_number
from peerfront.models.belief.belief_world import draw_of_episode
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.problem import Policy
from peerfront.problem.state import MOST_EPISODES
from peerfront.study.artifacts import Fit
from peerfront.study.day_models import DayModels, DrawnModels
from peerfront.study.day_policies import ByRule, DayPolicy, PlanByDate, expected_to_come
from peerfront.study.day_simulator import MOST_DAYS, DayPaths, DaySettings, simulate_policies
from peerfront.study.forecast_tables import dates_reached, day_summary, target_table, weeks_table
from peerfront.study.orders import PlanOrder, task_of
from peerfront.study.restrictions import restriction_of
from peerfront.study.rivals import Gains, Rival, Whole, gain_over, usual_rivals
from peerfront.study.stories import ordered_planner
from peerfront.study.study_state import SharesLeft, Standing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAN = "plan"


@dataclass(frozen=True, eq=False)
class DateForecast(Readable):
    """Interviews by date, under the plan and its rivals; returned by `forecast_by_date`."""

    _in_words = "date_forecast_words.date_forecast_lines"

    weeks: pd.DataFrame
    """One row per policy and week: policy, week, until (its last day), days, interviews and total (of the weeks so far)
    with mean, p10, p25, median, p75, p90 (`total_p10` ...); arrivals, queue, spent, spent_so_far, open: means."""
    summary: pd.DataFrame
    """One row per policy, the plan first: recruits with quantiles, reaches_target, target_p25, target_date, target_p75
    (dates; empty if too few simulated studies reach it), spent, never_issued, open, queue, plan_lead and its 95%
    interval."""
    target_dates: pd.DataFrame
    """policy, date, reached: the share of simulated studies that have reached the target by each date."""
    gains: Gains
    """What the plan gains against each rival."""
    today: date
    until: date
    """The deadline: nobody is interviewed after it."""
    waiting: int
    """People who wait for coupons today."""
    in_hand: int
    """Open coupons in people's hands today."""
    from_open: float
    """Recruits expected from these open coupons by the deadline."""
    budget: int
    """Coupons left to give out."""
    already: int
    """People who have taken part so far."""
    target: int | None
    """People wanted in all."""
    interviews_per_week: float | None
    studies: int
    """Simulated studies."""
    seed: int
    notes: tuple[Message, ...] = ()
    """Assumptions behind the numbers, and reasons to take them with care."""

    @property
    def of_plan(self) -> "pd.Series[Any]":
        """The summary's row of the plan."""
        return self.summary.iloc[0]

    @property
    def still_wanted(self) -> int | None:
        """People to come until the target is reached."""
        return None if self.target is None else max(self.target - self.already, 0)

    @property
    def table(self) -> pd.DataFrame:
        """The plan's weeks."""
        columns = ["until", "total", "total_p10", "total_p90", "interviews", "open", "queue"]
        return self.weeks.loc[self.weeks["policy"] == PLAN, columns].round(1)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables, by the name of the file they are saved in."""
        return {"weeks.csv": self.weeks, "summary.csv": self.summary, "target.csv": self.target_dates}

    def plot(self, *, narrow: bool = False) -> "Figure":
        """Draw people so far and interviews by week; side by side, or one below the other."""
        figure: Figure = import_module("peerfront.words.outlook_figures").date_figure(self, narrow=narrow)
        return figure


def days_until(today: date, until: date) -> int:
    """Days from today to the deadline; refuse one that is past or too far ahead."""
    days = (until - today).days
    if not 1 <= days <= MOST_DAYS:
        raise SettingError("outlook.deadline", until=until.isoformat(), today=today.isoformat(), most=MOST_DAYS)
    return days


@one_thread()
def forecast_by_date(
    fit: Fit,
    standing: Standing,
    order: PlanOrder,
    times: ReturnTimes,
    until: date,
    *,
    target: float | None = None,
    interviews_per_week: float | None = None,
    planning_days: int = 7,
    studies: float = 400,
    seed: int = 0,
    share_left: SharesLeft | None = None,
    rivals: Sequence[Rival] | None = None,
    progress: Progress = silent,
) -> DateForecast:
    """Simulate the study from where it stands to a deadline, under the plan and its rivals (by default `usual_rivals`).

    `share_left` says how a population runs out. The same arguments give exactly the same tables.
    """
    n_studies, seed = whole_number(note("outlook.studies"), studies, 2, MOST_EPISODES), seed_number("seed", seed)
    n_wanted = None if target is None else whole_number("target", target, 1)
    settings = DaySettings(days_until(standing.today, until), order.available, planning_days, interviews_per_week)
    task = task_of(fit, standing.waiting, order)
    planner = ordered_planner(fit, task)
    rules = task.rules
    plan: DayPolicy = PlanByDate(planner, times, rules, planning_days, standing.valid_days)
    restriction = restriction_of(order, fit)
    if restriction.is_any or restriction.usual:  # such plans do not look at open coupons
        plan = ByRule(restriction.policy(planner), rules)
    if order.round_cap == 0:
        plan, rivals = ByRule(Constant(0), rules), ()
    models = DayModels.of(fit, times)

    def played(policies: Sequence[DayPolicy], luck: Luck) -> Iterator[DayPaths]:
        return simulate_policies(
            DrawnModels.of(models, standing.seen, luck), standing, policies, settings, luck, share_left
        )

    def recruits(policies: Sequence[Policy], luck: Luck) -> list[Whole]:
        return [paths.total for paths in played([ByRule(policy, rules) for policy in policies], luck)]

    progress(0.0, note("rivals.choosing"))
    others = usual_rivals(fit.given, fit.belief.to_plan_with(), rules, recruits, seed) if rivals is None else rivals
    luck = named_luck(("forecast by date", seed), n_studies)
    part_of = fit.belief.part_of[draw_of_episode(np.arange(n_studies), len(fit.belief))]
    wanted = None if n_wanted is None else max(n_wanted - standing.enrolled, 0)
    first: DayPaths | None = None
    weeks, summary, reached, gains = [], [], [], []
    policies = [plan, *(ByRule(rival.policy, rules) for rival in others)]
    all_paths = played(policies, luck)
    for number, rival in enumerate((Rival(note("rivals.plan"), planner), *others)):
        progress((1 + number) / (2 + len(others)), note("rivals.simulating", rule=rival.described))
        paths, name = next(all_paths), rival.policy.name
        if first is None:
            first, name = paths, PLAN
        else:
            gains.append(gain_over(rival, first.total, paths.total, part_of, tuple(fit.belief.weights)))
        weeks.append(weeks_table(name, paths, standing.today))
        own = day_summary(paths, first, settings.budget, wanted, standing.today)
        summary.append({"policy": name, "described": rival.described, **own})
        if wanted is not None:
            reached.append(target_table(name, dates_reached(paths, wanted), paths.ends, standing.today))
    in_time = expected_to_come(planner, standing.open, times, settings.days)
    return DateForecast(
        weeks=pd.concat(weeks, ignore_index=True),
        summary=pd.DataFrame(summary),
        target_dates=pd.concat(reached, ignore_index=True)
        if reached
        else pd.DataFrame({"policy": [], "date": [], "reached": []}),
        gains=Gains(tuple(gains)),
        today=standing.today,
        until=until,
        waiting=len(standing.waiting),
        in_hand=standing.coupons_open,
        from_open=float(in_time.sum()),
        budget=order.available,
        already=standing.enrolled,
        target=n_wanted,
        interviews_per_week=settings.interviews_per_week,
        studies=n_studies,
        seed=seed,
        notes=(*_notes(standing, order), *(each for each in task.notes if each.severity is Severity.WARNING)),
    )


def _notes(standing: Standing, order: PlanOrder) -> list[Message]:
    notes = [*standing.notes]
    if order.round_cap == 0:
        notes.append(note("outlook.nothing_is_given"))
    if not len(standing.waiting) and not standing.coupons_open:
        notes.append(note("outlook.nobody_can_come", people=standing.enrolled))
    elif np.isinf(standing.valid_days) and order.round_cap != 0:
        notes.append(note("outlook.valid_for_ever", remedy=Remedy("valid_days")))
    return notes
