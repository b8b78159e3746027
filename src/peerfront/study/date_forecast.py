"""What to expect by date: the rest of the study played day by day, under the plan and under the same number for all.

Both meet the same people with the same luck. Bands are quantiles of the simulated studies; they hold luck, what a
coupon may do (in the shares of the weights), and what the data leave open about how many people bring and when they
return.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.errors import SettingError
from peerfront.foundation.progress import Progress, silent
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.settings import seed_number, whole_number
from peerfront.foundation.threads import one_thread
from peerfront.foundation.words import as_html, counted, n_coupons, n_people
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.problem.limits import MOST_EPISODES
from peerfront.study.artifacts import Fit
from peerfront.study.date_tables import dates_reached, summary_row, target_table, weeks_table
from peerfront.study.day_models import DayModels, DrawnModels
from peerfront.study.day_policies import ByRule, PlanByDate, expected_to_come
from peerfront.study.day_simulator import MOST_DAYS, DayPaths, DayPolicy, DaySettings, SharesLeft, simulate_days
from peerfront.study.forecast import chance_in_words, verdict
from peerfront.study.orders import PlanOrder, task_of
from peerfront.study.restrictions import restriction_of
from peerfront.study.standing import Standing
from peerfront.study.stories import CAUTIOUS, ordered_planner

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAN = "plan"
_MILESTONES = 14, 28


@dataclass(frozen=True, eq=False)
class DateForecast:
    """Interviews by date, under the plan and its rivals; `forecast_by_date` makes it."""

    weeks: pd.DataFrame
    """One row per policy and week: policy, week, until (its last day), days, interviews and total (of the weeks so far)
    with mean, p10, p25, median, p75, p90 (`total_p10` ...); arrivals, queue, spent, spent_so_far, open: means."""
    summary: pd.DataFrame
    """One row per policy, the plan first: recruits with quantiles, reaches_target, target_p25, target_date, target_p75
    (dates; empty where so few simulated studies get there), spent, never_issued, open, queue, plan_lead and its
    error."""
    target_dates: pd.DataFrame
    """policy, date, reached: the share of simulated studies that have reached the target by each date."""
    today: date
    until: date
    """The deadline: nobody is interviewed after it."""
    waiting: int
    """People who wait for coupons today."""
    in_hand: int
    """Open coupons in people's hands today."""
    from_open: float
    """Recruits expected from them by the deadline."""
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
    notes: tuple[str, ...] = ()

    @property
    def of_plan(self) -> "pd.Series[Any]":
        return self.summary.iloc[0]

    @property
    def still_wanted(self) -> int | None:
        """People to come until the target is reached."""
        return None if self.target is None else max(self.target - self.already, 0)

    def on(self, day: date, policy: str = PLAN) -> "pd.Series[Any]":
        """The week of a policy in which a date lies."""
        own = self.weeks[self.weeks["policy"] == policy]
        later = own[own["until"] >= day.isoformat()]
        return (later if len(later) else own.iloc[-1:]).iloc[0]

    def lines(self) -> list[str]:
        """The forecast in words, one statement a line."""
        lines = [
            f"On {in_words(self.today)} {counted(self.waiting, 'person waits', 'people wait')} for coupons, "
            f"{n_coupons(self.budget)} {'is' if self.budget == 1 else 'are'} left to give out, and "
            f"{n_coupons(self.in_hand)} {'is' if self.in_hand == 1 else 'are'} in people's hands"
            + (
                f", of which about {self.from_open:.0f} will be used by {in_words(self.until)}."
                if self.in_hand
                else "."
            )
        ]
        own = self.weeks[self.weeks["policy"] == PLAN]
        shown = [
            row for row in own.to_dict("records") if row["days"] in _MILESTONES or row["until"] == own["until"].iloc[-1]
        ]
        lines += [
            f"By {in_words(date.fromisoformat(row['until']))} the plan brings {row['total']:.0f} more "
            f"(8 of 10: {row['total_p10']:.0f} to {row['total_p90']:.0f})."
            for row in shown
        ]
        if self.target is not None:
            lines.append(self._target_line())
        lines += self._queue_lines()
        lines += [self._rival_line(row) for row in self.summary.iloc[1:].to_dict("records")]
        return [*lines, *self.notes, self.caveat]

    def _target_line(self) -> str:
        plan, wanted = self.of_plan, self.still_wanted
        if not wanted:
            return f"The target of {self.target:,} is reached already."
        chance = chance_in_words(float(plan["reaches_target"]))
        middle = str(plan["target_date"])
        if not middle:
            return (
                f"The target of {self.target:,} ({wanted:,} to come) is reached by the deadline, "
                f"{in_words(self.until)}, in {chance}."
            )
        early, late = (str(plan[name]) for name in ("target_p25", "target_p75"))
        if early == late:
            return (
                f"The target of {self.target:,} ({wanted:,} to come) is reached on "
                f"{in_words(date.fromisoformat(middle))} in at least half of the simulated studies; by the deadline in "
                f"{chance}."
            )
        ends = f"between {in_words(date.fromisoformat(early))} and " + (
            in_words(date.fromisoformat(late)) if late else "a day after the deadline"
        )
        return (
            f"The target of {self.target:,} ({wanted:,} to come) is reached on {in_words(date.fromisoformat(middle))} "
            f"(half of the simulated studies {ends}); by the deadline in {chance}."
        )

    def _queue_lines(self) -> list[str]:
        if self.interviews_per_week is None:
            return []
        own = self.weeks[self.weeks["policy"] == PLAN]
        longest = max(own.to_dict("records"), key=lambda row: float(row["queue"]))
        if longest["queue"] < 0.5:
            return [f"{self.interviews_per_week:g} interviews a week are enough: hardly anybody waits for one."]
        return [
            f"With {self.interviews_per_week:g} interviews a week people queue: about {longest['queue']:.0f} wait for "
            f"theirs on {in_words(date.fromisoformat(longest['until']))}, and {own['queue'].iloc[-1]:.0f} at the "
            "deadline. Coupons that were presented in time count."
        ]

    def _rival_line(self, row: dict[Any, Any]) -> str:
        chance = "" if not self.still_wanted else f", target {chance_in_words(row['reaches_target'])}"
        return (
            f"{row['described']}: {row['recruits']:.0f} more ({row['p10']:.0f} to {row['p90']:.0f}){chance}; "
            f"{verdict(row['plan_lead'], row['plan_lead_error'])}."
        )

    @property
    def caveat(self) -> str:
        """What the bands hold and what they do not."""
        return (
            "The bands hold luck, and what the data leave open about how many people bring and when they return. Not "
            "in them: a model that is wrong in kind, and people or staff who change during the study (`peerfront "
            "backtest` shows how such forecasts fared)."
        )

    def plot(self, *, narrow: bool = False) -> "Figure":
        """Draw people so far and interviews by week; side by side, or one below the other."""
        from peerfront.study.date_figures import date_figure

        return date_figure(self, narrow=narrow)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        columns = ["until", "total", "total_p10", "total_p90", "interviews", "open", "queue"]
        return as_html(self.lines(), self.weeks.loc[self.weeks["policy"] == PLAN, columns].round(1))


def in_words(day: date) -> str:
    """Write 5 March 2027."""
    return f"{day.day} {day:%B} {day.year}"


def days_until(today: date, until: date) -> int:
    """Days from today to a deadline that can be looked ahead to."""
    days = (until - today).days
    if not 1 <= days <= MOST_DAYS:
        raise SettingError(
            f"The forecast is to end on {until.isoformat()}, {days} days after {today.isoformat()}, the day of the "
            f"data; allowed are 1 to {MOST_DAYS} days. Give a later or earlier date, or newer data."
        )
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
    rivals: Sequence[tuple[str, DayPolicy]] | None = None,
    progress: Progress = silent,
) -> DateForecast:
    """Simulate the study from where it stands to a deadline, under the plan and under three coupons each.

    `share_left` says how a population runs out. The same arguments give the same tables, to the last bit.
    """
    n_studies, seed = whole_number("simulated studies", studies, 2, MOST_EPISODES), seed_number("seed", seed)
    n_wanted = None if target is None else whole_number("target", target, 1)
    settings = DaySettings(days_until(standing.today, until), order.available, planning_days, interviews_per_week)
    task = task_of(fit, standing.waiting, order)
    planner = fit.planner if order.response == CAUTIOUS and not len(standing.waiting) else ordered_planner(fit, task)
    rules = task.rules
    each = min(3, rules.max_per_person or 3)
    plan: DayPolicy = PlanByDate(planner, times, rules, planning_days, standing.valid_days)
    restriction = restriction_of(order, fit.schema)
    if restriction.is_any:  # plans within strata do not look at open coupons
        plan = ByRule(restriction.policy(planner), rules)
    usual: list[tuple[str, DayPolicy]] = [(f"{each} coupons each, while they last", ByRule(Constant(each), rules))]
    if order.round_cap == 0:
        plan, usual = ByRule(Constant(0), rules), []
    luck = named_luck(("forecast by date", seed), n_studies)
    models = DrawnModels.of(DayModels.of(fit, times), standing.seen, luck)
    wanted = None if n_wanted is None else max(n_wanted - standing.enrolled, 0)
    first: DayPaths | None = None
    weeks, summary, reached = [], [], []
    policies = [("the plan", PLAN, plan), *((text, p.name, p) for text, p in (usual if rivals is None else rivals))]
    for number, (described, name, policy) in enumerate(policies):
        progress(number / len(policies), f"simulating {described}")
        paths = simulate_days(models, standing, policy, settings, luck, share_left)
        first = first or paths
        weeks.append(weeks_table(name, paths, standing.today))
        own = summary_row(paths, first, settings.budget, wanted, standing.today)
        summary.append({"policy": name, "described": described, **own})
        if wanted is not None:
            reached.append(target_table(name, dates_reached(paths, wanted), paths.ends, standing.today))
    in_time = expected_to_come(planner, standing.open, times, settings.days)
    return DateForecast(
        weeks=pd.concat(weeks, ignore_index=True),
        summary=pd.DataFrame(summary),
        target_dates=pd.concat(reached, ignore_index=True)
        if reached
        else pd.DataFrame({"policy": [], "date": [], "reached": []}),
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
        notes=(*_notes(standing, order), *(note for note in task.notes if note.startswith("Warning"))),
    )


def _notes(standing: Standing, order: PlanOrder) -> list[str]:
    notes = []
    if order.round_cap == 0:
        notes.append("Nothing is given out: the limit of a planning day is 0. What comes, comes from open coupons.")
    if not len(standing.waiting) and not standing.coupons_open:
        notes.append(
            f"Nobody waits and no coupon is open, so nobody can come; {n_people(standing.enrolled)} took part."
        )
    elif np.isinf(standing.valid_days) and order.round_cap != 0:
        notes.append("Coupons count as valid for ever: say how long they are (valid_days), if they expire.")
    return notes
