"""The forecast by rounds: the learned world simulated from a frontier, under the plan and under its rivals.

All policies meet the same people with the same luck, so their differences are not luck, and leaving a rival out changes
no other number. Bands are quantiles of the simulated studies, each of which has its own draw of the belief: they show
luck and what is not known about coupons together. The population runs out only if its size is given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.machine import one_thread
from peerfront.foundation.messages import Message, Progress, Readable, Severity, note, silent
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.settings import seed_number, whole_number
from peerfront.models.belief.belief_world import draw_of_episode
from peerfront.problem import Frontier, Policy, Rules, Trajectories, rollout
from peerfront.problem.state import MOST_EPISODES
from peerfront.study.artifacts import Fit
from peerfront.study.forecast_tables import round_summary, rounds_table, story_means, story_row
from peerfront.study.orders import PlanOrder, task_of
from peerfront.study.population import check_target, population_notes, population_size, with_population
from peerfront.study.restrictions import restriction_of
from peerfront.study.rivals import Gains, Rival, by_rounds, gain_over, usual_rivals
from peerfront.study.stories import ordered_planner

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAN, KNOWING = "plan", "knowing the story"
_APART = 0.02  # if stories differ by more than this share of the recruits, the headline is a range


@dataclass(frozen=True, eq=False)
class Forecast(Readable):
    """Recruits to expect under the plan and under its rivals; returned by `Model.forecast`.

    >>> forecast = model.forecast(study.waiting, budget=20, target=15, episodes=50)
    >>> list(forecast.summary["policy"])[:2]
    ['plan', '3 each']
    >>> print(forecast.lines()[0])
    From ... people with 20 coupons and 2 rounds to go, the plan brings ... recruits on average...
    >>> figure = forecast.plot()  # a notebook shows it; figure.savefig("forecast.png") keeps it
    """

    _in_words = "forecast_words.forecast_lines"

    rounds: pd.DataFrame
    """policy, round, and for the recruits of that round and for all so far (`total_...`): mean, p10, p25, median, p75,
    p90; coupons issued, mean."""
    summary: pd.DataFrame
    """One row per policy, the plan first: recruits, chances, coupons, the plan's lead and its 95% interval."""
    stories: pd.DataFrame
    """One row per policy and story of what a coupon does: policy, story, weight, episodes, recruits, error, p10, p90,
    reaches_target, plan_lead and its 95% interval. Every simulated study belongs to one story, in proportion to the
    weights. The last rows, `KNOWING`, are plans that know the story."""
    story_rounds: pd.DataFrame
    """The plan by each story: story, round, recruits and total (so far), means."""
    gains: Gains
    """What the plan gains against each rival."""
    rules: Rules
    people: int
    """People on the frontier now."""
    target: int | None
    """People wanted in all."""
    already: int
    """People who have taken part so far, towards the target."""
    episodes: int
    seed: int
    nothing_because: Message | None = None
    """Why nothing is given out in any simulated study; None if something is."""
    warnings: tuple[Message, ...] = ()
    """Reasons to take the numbers with care."""
    population: int | None = None
    """People in the population, which runs out in the simulations; None if it does not."""
    assumed: tuple[Message, ...] = ()
    """What is assumed about the population."""

    @property
    def of_plan(self) -> "pd.Series[float]":
        """The summary's row of the plan."""
        return self.summary.iloc[0]

    @property
    def still_wanted(self) -> int | None:
        """Recruits to come until the target is reached."""
        return None if self.target is None else max(self.target - self.already, 0)

    @property
    def stories_differ(self) -> bool:
        """Whether the stories' expected recruits differ by more than chance and by a relevant amount."""
        own = self.stories_of(PLAN)
        low, high = own["recruits"].min(), own["recruits"].max()
        return bool(high - low > max(2.0 * own["error"].fillna(np.inf).max(), _APART * high))

    def stories_of(self, policy: str) -> pd.DataFrame:
        """The rows of one policy in `stories`."""
        return self.stories[self.stories["policy"] == policy]

    @property
    def table(self) -> pd.DataFrame:
        """The summary's most important columns."""
        columns = ["described", "recruits", "p10", "p90", "reaches_target", "dies_out", "unused", "never_issued"]
        return self.summary[columns].round(2)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables, by the name of the file they are saved in."""
        return {"rounds.csv": self.rounds, "summary.csv": self.summary, "stories.csv": self.stories}

    def plot(self, *, narrow: bool = False) -> "Figure":
        """Draw recruits so far and by round; side by side, or one below the other."""
        figure: Figure = import_module("peerfront.words.outlook_figures").forecast_figure(self, narrow=narrow)
        return figure


@one_thread()
def forecast(
    fit: Fit,
    frontier: Frontier,
    order: PlanOrder,
    target: float | None = None,
    episodes: float = 1000,
    seed: int = 0,
    *,
    already: float = 0,
    rivals: Sequence[Rival] | None = None,
    progress: Progress = silent,
) -> Forecast:
    """Simulate the plan and its rivals (by default `usual_rivals`).

    An order whose round cap is 0 gives out nothing, now or later, and so has no rivals. The same arguments give
    exactly the same tables.
    """
    n_episodes, seed = whole_number("episodes", episodes, 2, MOST_EPISODES), seed_number("seed", seed)
    n_already = whole_number(note("outlook.already"), already, 0)
    n_wanted = None if target is None else whole_number("target", target, 1)
    if order.population and order.already is None and n_already:
        order = replace(order, already=n_already)
    fit, frontier = with_population(fit, frontier, order)
    size = population_size(fit)
    check_target(n_wanted, size)
    task = task_of(fit, frontier, order)
    task.check_study_goes_on()
    rules, nothing = task.rules, task.nothing_because
    world = fit.world(frontier)
    restriction = restriction_of(order, fit)
    if restriction.fields:
        restriction.strata(frontier.covariates)  # refuses too many strata before anything is simulated
    planner: Policy = Constant(0) if nothing else restriction.policy(ordered_planner(fit, task))
    progress(0.0, note("rivals.choosing"))
    if nothing:
        rivals = ()
    others = usual_rivals(fit.given, world.response, rules, by_rounds(world, rules), seed) if rivals is None else rivals
    luck = named_luck(("forecast", seed), n_episodes)
    part_of = fit.belief.part_of[draw_of_episode(np.arange(n_episodes), len(fit.belief))]
    weights = fit.belief.weights
    to_come = None if n_wanted is None else max(n_wanted - n_already, 0)

    def story_rows(policy: str, played: Trajectories, plan: Trajectories) -> list[dict[str, object]]:
        return [
            {"policy": policy, "story": name, "weight": weight, **story_row(played, plan, part_of == name, to_come)}
            for name, weight in weights.items()
            if (part_of == name).any()
        ]

    first: Trajectories | None = None
    rounds: list[pd.DataFrame] = []
    summary: list[dict[str, object]] = []
    by_story: list[dict[str, object]] = []
    gains = []
    for rival in (Rival(note("rivals.plan"), planner), *others):
        progress((1 + len(summary)) / (2 + len(others)), note("rivals.simulating", rule=rival.described))
        played = rollout(world, rival.policy, rules, luck)
        name = rival.policy.name
        if first is None:
            first, name = played, PLAN
        else:
            gains.append(gain_over(rival, first.total_recruits, played.total_recruits, part_of, tuple(weights)))
        rounds.append(rounds_table(name, played))
        own = round_summary(played, first, rules, to_come)
        summary.append({"policy": name, "described": rival.described, **own})
        by_story += story_rows(name, played, first)
    assert first is not None, "the plan is played first"
    if len(weights) > 1 and not nothing:
        for name in weights:
            alone = replace(fit.planner.only(name), least_per_person=order.min_per_person)
            rows = story_rows(KNOWING, rollout(world, alone, rules, luck), first)
            by_story += [row for row in rows if row["story"] == name]
    return Forecast(
        rounds=pd.concat(rounds, ignore_index=True),
        summary=pd.DataFrame(summary),
        stories=pd.DataFrame(by_story),
        story_rounds=pd.concat([story_means(name, first, part_of == name) for name in weights], ignore_index=True),
        gains=Gains(tuple(gains)),
        rules=rules,
        people=len(frontier),
        target=n_wanted,
        already=n_already,
        episodes=n_episodes,
        seed=seed,
        nothing_because=nothing,
        warnings=tuple(each for each in task.notes if each.severity is Severity.WARNING),
        population=size,
        assumed=population_notes(fit),
    )
