"""What to expect: the rest of a study simulated from where it stands, under the plan and under simple rules.

A study whose file has dates is simulated day by day to its last day, with the coupons that are open today. Without
dates a round counts as a day: everybody comes on the day after the coupons were given out. All rules meet the same
people with the same luck. Bands are quantiles of the simulated studies, each of which has its own draw of the belief:
they show luck, what is not known about coupons, and when people return.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.checked_calls import checked_class
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, Progress, Readable, Remedy, Severity, note, silent
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.foundation.settings import whole_number
from peerfront.gfp.planner import Planner
from peerfront.models.belief.belief_world import draw_of_episode
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.problem import Allocation, Policy, Rules
from peerfront.problem.state import MOST_COUPONS, MOST_EPISODES
from peerfront.study.artifacts import Fit
from peerfront.study.day_models import DayModels, DrawnModels
from peerfront.study.day_policies import ByRule, DayPolicy, PlanByDate, SheetToday, expected_to_come
from peerfront.study.day_simulator import MOST_DAYS, DayPaths, DaySettings, NewSeeds, simulate_days, simulate_policies
from peerfront.study.dying_out import DyingOut, dying_out
from peerfront.study.forecast_trust import HorizonTrust
from peerfront.study.orders import PlanOrder, Task
from peerfront.study.outlook_tables import (
    dates_reached,
    part_row,
    part_steps,
    steps_table,
    summary_row,
    target_table,
    widened,
)
from peerfront.study.population import population_notes, population_size, with_population
from peerfront.study.restrictions import restriction_of
from peerfront.study.rivals import Gains, Rival, Whole, gain_over, usual_rivals
from peerfront.study.signs import Signs
from peerfront.study.slowing import Brakes, brakes_of
from peerfront.study.stories import ordered_planner
from peerfront.study.study_state import Standing, generation_days, rounds_until, share_left_of
from peerfront.study.tree_lifts import tree_lifts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAN = "plan"
STUDIES = 400
"""Simulated studies behind every outlook, unless another number is asked for."""
_WEEK = 7


@dataclass(frozen=True)
class Horizon:
    """How far is looked ahead: to a day, or for a number of rounds."""

    days: int
    """Days, or rounds."""
    step: int
    """Days between two planning days; 1 by rounds."""
    generation: float
    """Days from the coupons of one generation to those of the next; 1 by rounds."""
    rounds: int
    """Generations that fit, as far as the model distinguishes them."""
    by_rounds: bool
    until: date | None = None
    """The last day; None by rounds."""


def horizon_of(fit: Fit, today: date | None, valid_days: float, order: PlanOrder, times: ReturnTimes) -> Horizon:
    """To the order's deadline, or for its rounds (otherwise the model's); refuse a deadline that is past or far off.

    `today` is None for a study without dates; new coupons are valid for `valid_days`.
    """
    rounds = fit.rules.rounds if order.rounds_left is None else order.rounds_left
    if today is None:
        if order.deadline:
            raise SettingError(
                "outlook.deadline_needs_dates", deadline=Remedy("deadline", "DATE"), study=Remedy("study_file", "FILE")
            )
        return Horizon(max(rounds, 1), 1, 1.0, rounds, True)
    generation = generation_days(times, valid_days, _WEEK)
    if not order.deadline:
        days = min(max(round(rounds * generation), 1), MOST_DAYS)
        return Horizon(days, _WEEK, generation, rounds, False, today + timedelta(days=days))
    until = date.fromisoformat(order.deadline)
    days = (until - today).days
    if days < 1:
        raise SettingError(
            "week.deadline_passed",
            deadline=until.isoformat(), today=today.isoformat(),
            later=Remedy("deadline", "DATE"), earlier=Remedy("as_of", "DATE"),
        )  # fmt: skip
    if days > MOST_DAYS:
        raise SettingError("outlook.deadline", until=until.isoformat(), today=today.isoformat(), most=MOST_DAYS)
    return Horizon(days, _WEEK, generation, rounds_until(days, generation, rounds), False, until)


@dataclass(frozen=True, eq=False)
class Choice:
    """Another plan that somebody may prefer: everybody gets at least one coupon, or limits are lifted."""

    described: Message
    sheet: Allocation
    """What it gives out today."""
    later: Policy
    """Plans of the days after today."""


@checked_class
@dataclass(frozen=True, eq=False)
class Outlook(Readable):
    """What to expect under the plan and under simple rules; returned by `Model.forecast`.

    >>> outlook = model.forecast(study.waiting, budget=20, target=140, episodes=50)
    >>> list(outlook.summary["policy"])[:2]
    ['plan', '3 each']
    >>> figure = outlook.plot()  # a notebook shows it; figure.savefig("outlook.png") keeps it
    """

    _in_words = "outlook_words.outlook_lines"
    _details_in_words = "outlook_words.outlook_details"

    steps: pd.DataFrame
    """One row per rule and week (or round): policy, step, until (its last day), days, recruits and total (so far) with
    mean, p10, p25, median, p75, p90 (`total_p10` ...); arrivals, queue, spent, spent_so_far, open: means."""
    summary: pd.DataFrame
    """One row per rule, the plan first: recruits with quantiles, reaches_target, target_p25, target_date, target_p75
    (dates; empty if too few simulated studies reach it), dies_out, spent, unused, never_issued, open, queue, plan_lead
    and its 95% interval."""
    parts: pd.DataFrame
    """One row per rule and part of the belief: policy, part, weight, studies, recruits, p10, p90, reaches_target,
    plan_lead and its 95% interval. Every simulated study belongs to one part, in proportion to the weights."""
    part_steps: pd.DataFrame
    """The plan by each part: part, step, until, recruits and total (so far), means."""
    target_dates: pd.DataFrame
    """policy, date, reached: the share of simulated studies that have reached the target by each date."""
    gains: Gains
    """What the plan gains against each rival."""
    choices: Gains
    """What the plan gains against other plans that were asked about, such as at least one coupon each."""
    horizon: Horizon
    today: date | None
    """The day from which is looked ahead; None by rounds."""
    waiting: int
    """People who wait for coupons."""
    in_hand: int
    """Open coupons in people's hands today."""
    from_open: float
    """Recruits expected from these open coupons within the horizon."""
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
    trust: HorizonTrust | None = None
    """How earlier forecasts of the study so far ahead fared, and by how much bands are widened; None if unknown."""
    population: int | None = None
    """People in the population, which runs out in the simulations; None if it does not."""
    dying_out: DyingOut | None = None
    """By when the study may stop by itself, and what new seeds would change; None if that is unlikely."""
    signs: Signs | None = None
    """Why the study may slow down; None if nobody looked."""

    @property
    def of_plan(self) -> "pd.Series[Any]":
        """The summary's row of the plan."""
        return self.summary.iloc[0]

    @property
    def still_wanted(self) -> int | None:
        """People to come until the target is reached."""
        return None if self.target is None else max(self.target - self.already, 0)

    @property
    def by_rounds(self) -> bool:
        return self.horizon.by_rounds

    def steps_of(self, policy: str = PLAN) -> pd.DataFrame:
        """The weeks or rounds of one rule."""
        return self.steps[self.steps["policy"] == policy]

    def parts_of(self, policy: str = PLAN) -> pd.DataFrame:
        """The parts of the belief under one rule."""
        return self.parts[self.parts["policy"] == policy]

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables, by the name of the file they are saved in."""
        steps = "rounds.csv" if self.by_rounds else "weeks.csv"
        tables = {steps: self.steps, "summary.csv": self.summary, "parts.csv": self.parts}
        if self.dying_out is not None and self.dying_out.with_seeds:
            tables["seeds.csv"] = pd.DataFrame(self.dying_out.with_seeds)
        return tables if self.by_rounds else {**tables, "target.csv": self.target_dates}

    def plot(self, *, narrow: bool = False) -> "Figure":
        """Draw people so far and by week or round; side by side, or one below the other."""
        figure: Figure = import_module("peerfront.words.outlook_figures").outlook_figure(self, narrow=narrow)
        return figure


def outlook_of(
    fit: Fit,
    standing: Standing,
    times: ReturnTimes,
    task: Task,
    horizon: Horizon,
    sheet: Allocation | None = None,
    *,
    studies: float = STUDIES,
    rivals: Sequence[Rival] | None = None,
    choices: Sequence[Choice] = (),
    progress: Progress = silent,
) -> Outlook:
    """Simulate the study from where it stands, under the plan, its rivals (by default `usual_rivals`) and other plans.

    `sheet` is what the plan gives out today; without it that is planned in every simulated study. The same arguments
    give exactly the same tables.
    """
    order, rules = task.order, task.rules
    share_left = share_left_of(fit, standing, order)
    depleted, _ = with_population(fit, standing.waiting, order)
    n_studies, seed = whole_number(note("outlook.studies"), studies, 2, MOST_EPISODES), order.seed
    settings = DaySettings(horizon.days, order.available, horizon.step)
    models, luck = DayModels.of(fit, times), named_luck(("outlook", seed), n_studies)

    def what_is_drawn(luck: Luck) -> tuple[DrawnModels, Brakes]:
        lifts = tree_lifts(fit.belief, standing, times, luck)
        drawn = DrawnModels.of(models, standing.seen, luck, lifts=lifts)
        return drawn, brakes_of(fit.belief, drawn.draw, standing, luck, share_left, order.interviews_per_week)

    def played(policies: Sequence[DayPolicy], luck: Luck) -> Iterator[DayPaths]:
        drawn, brakes = what_is_drawn(luck)
        return simulate_policies(drawn, standing, policies, settings, luck, brakes)

    def played_with_seeds(rows: Whole, seeds: NewSeeds) -> DayPaths:
        drawn, brakes = what_is_drawn(luck)
        own = drawn.of_studies(rows), standing, policies[0], settings, Luck(luck.keys[rows]), brakes.of_studies(rows)
        return simulate_days(*own, seeds=seeds)

    def recruits(policies: Sequence[Policy], luck: Luck) -> list[Whole]:
        return [paths.total for paths in played([ByRule(policy, rules) for policy in policies], luck)]

    progress(0.0, note("rivals.choosing"))
    if order.round_cap == 0:
        rivals = ()
    others = usual_rivals(fit.given, fit.belief.to_plan_with(), rules, recruits, seed) if rivals is None else rivals
    restriction = restriction_of(order, fit)
    if restriction.usual:  # nothing is known of other numbers
        others = [rival for rival in others if rival.is_practice]
    parts = fit.belief.part_of[draw_of_episode(np.arange(n_studies), len(fit.belief))]
    weights = {name: weight for name, weight in fit.belief.weights.items() if (parts == name).any()}
    wanted = None if order.target is None else max(order.target - standing.enrolled, 0)
    planner = ordered_planner(fit, task)
    # Plans within strata, or of the usual number, do not look at open coupons.
    other = restriction.is_any or restriction.usual
    plan = _by_days(restriction.policy(planner) if other else planner, times, rules, horizon, sheet)
    others_by_days = [_by_days(choice.later, times, rules, horizon, choice.sheet) for choice in choices]
    policies = [plan, *(ByRule(rival.policy, rules) for rival in others), *others_by_days]
    if order.round_cap == 0:
        policies[0] = ByRule(Constant(0), rules)
    trust = fit.past_forecasts.at(horizon.days, by_waves=horizon.by_rounds)
    wider = 1.0 if trust is None else trust.wider
    all_paths, first = played(policies, luck), None
    steps, summary, by_part, reached, gains = [], [], [], [], []
    for number, rival in enumerate((Rival(note("rivals.plan"), Constant(0)), *others)):
        progress((1 + number) / (2 + len(policies)), note("rivals.simulating", rule=rival.described))
        simulated, name = next(all_paths), rival.policy.name
        paths = widened(simulated, wider)
        if first is None:
            first, name = paths, PLAN
            each_gets = min(max(fit.given, key=fit.given.__getitem__), rules.max_per_person or MOST_COUPONS)
            dying = dying_out(simulated, standing.today, order.available, each_gets, played_with_seeds)
        else:
            gains.append(gain_over(rival, first.total, paths.total, parts, tuple(weights)))
        steps.append(steps_table(name, paths, standing.today))
        own = summary_row(paths, first, settings.budget, standing.coupons_open, wanted, standing.today)
        summary.append({"policy": name, "described": rival.described, **own})
        by_part += [
            {"policy": name, "part": part, "weight": weight, **part_row(paths, first, parts == part, wanted)}
            for part, weight in weights.items()
        ]
        if wanted is not None and standing.today is not None:
            reached.append(target_table(name, dates_reached(paths, wanted), paths.ends, standing.today))
    assert first is not None, "the plan is played first"
    chosen = []
    for choice, paths in zip(choices, all_paths, strict=True):
        rival = Rival(choice.described, choice.later)
        chosen.append(gain_over(rival, first.total, widened(paths, wider).total, parts, tuple(weights)))
    nowhere = pd.DataFrame({"policy": [], "date": [], "reached": []})
    in_time = expected_to_come(fit.planner, standing.open, times, horizon.days)
    return Outlook(
        steps=pd.concat(steps, ignore_index=True),
        summary=pd.DataFrame(summary),
        parts=pd.DataFrame(by_part),
        part_steps=pd.concat([part_steps(part, first, parts == part, standing.today) for part in weights]),
        target_dates=pd.concat(reached, ignore_index=True) if reached else nowhere,
        gains=Gains(tuple(gains)),
        choices=Gains(tuple(chosen)),
        horizon=horizon,
        today=standing.today,
        waiting=len(standing.waiting),
        in_hand=standing.coupons_open,
        from_open=float(in_time.sum()),
        budget=order.available,
        already=standing.enrolled,
        target=order.target,
        interviews_per_week=order.interviews_per_week,
        studies=n_studies,
        seed=seed,
        notes=(
            *_notes(standing, order),
            *population_notes(depleted),
            *(each for each in task.notes if each.severity is Severity.WARNING),
        ),
        trust=trust,
        population=population_size(depleted),
        dying_out=dying,
    )


def _by_days(policy: Policy, times: ReturnTimes, rules: Rules, horizon: Horizon, sheet: Allocation | None) -> DayPolicy:
    """A plan as a policy by days: the sheet today, and plans of the same kind later."""
    later: DayPolicy = ByRule(policy, rules)
    if isinstance(policy, Planner):
        later = PlanByDate(policy, times, rules, horizon.generation)
    return later if sheet is None else SheetToday(sheet.coupons, later)


def _notes(standing: Standing, order: PlanOrder) -> list[Message]:
    notes = [*standing.notes]
    if order.round_cap == 0:
        notes.append(note("outlook.nothing_is_given"))
    if standing.today is None:
        return notes
    if not len(standing.waiting) and not standing.coupons_open:
        notes.append(note("outlook.nobody_can_come", people=standing.enrolled))
    elif np.isinf(standing.valid_days) and order.round_cap != 0:
        notes.append(note("outlook.valid_for_ever", remedy=Remedy("valid_days")))
    return notes
