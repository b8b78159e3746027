"""What to expect from here on: the learned world simulated from a frontier, under the plan and under its rivals.

All policies meet the same people with the same luck, so their differences are not luck, and leaving a rival out changes
no other number. Bands are quantiles of the simulated studies: what luck alone does if the fitted models are right.
A second band adds what the data leave open about capacities (`uncertainty`). No band allows for models that are wrong
in kind or for people who change during a study; the population runs out only where its size is given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from peerfront.baselines.simple_rules import Constant, Evenly, TuningGrid, tune_threshold
from peerfront.foundation.messages import Message
from peerfront.foundation.progress import Progress, silent
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.foundation.settings import seed_number, whole_number
from peerfront.foundation.threads import one_thread
from peerfront.foundation.words import as_html, counted, n_coupons, n_people, percent
from peerfront.problem import Frontier, Policy, Rules, Trajectories, World
from peerfront.problem.limits import MOST_EPISODES
from peerfront.study.artifacts import Fit
from peerfront.study.forecast_tables import rounds_table, story_means, story_row, summary_row
from peerfront.study.orders import PlanOrder, task_of
from peerfront.study.population import check_target, population_size, said_of, with_population
from peerfront.study.restrictions import restriction_of
from peerfront.study.stories import IN_WORDS, believed, ordered_planner, rollout_stories, story_of_episode
from peerfront.study.uncertainty import uncertain_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAN, KNOWING = "plan", "knowing the story"
_APART = 0.02  # share of the recruits by which stories must differ before the headline is a range
_LEADS_APART = 0.5  # recruits by which the plan's leads must differ before they are told story by story
_QUICK_GRID = TuningGrid((0.2, 0.4, 0.6, 0.8, 0.9, 0.98), (0.02, 0.1, 0.2, 0.4, 1.0), 48, 3, 200)


@dataclass(frozen=True, eq=False)
class Forecast:
    """What to expect from here on, under the plan and under its rivals. `Model.forecast` makes it.

    >>> forecast = model.forecast(study.waiting, budget=20, target=15, episodes=50)
    >>> list(forecast.summary["policy"])[:2]
    ['plan', 'constant:coupons=3']
    >>> print(forecast.lines()[0])
    From ... people with 20 coupons and 2 rounds to go, the plan brings ... recruits on average...
    >>> figure = forecast.plot()  # a notebook shows it; figure.savefig("forecast.png") keeps it
    """

    rounds: pd.DataFrame
    """policy, round, and for the recruits of that round and for all so far (`total_...`): mean, p10, p25, median, p75,
    p90, and with the uncertainty of the model (`..._with_model_p10`, `..._with_model_p90`); coupons issued, mean."""
    summary: pd.DataFrame
    """One row per policy, the plan first: recruits, chances, coupons, the plan's lead and its standard error."""
    stories: pd.DataFrame
    """One row per policy and story of what a coupon does: policy, story, weight, episodes, recruits, error, p10, p90,
    reaches_target, plan_lead and its standard error. Every simulated study belongs to one story, in the shares of the
    weights. The last rows, `KNOWING`, are plans that know the story."""
    story_rounds: pd.DataFrame
    """The plan by each story: story, round, recruits and total (so far), means."""
    rules: Rules
    people: int
    """On the frontier now."""
    target: int | None
    """People wanted in all."""
    already: int
    """People who have taken part so far, towards the target."""
    episodes: int
    seed: int
    with_model: bool
    """Whether the second band could be made."""
    nothing_because: Message | None = None
    """Why nothing is given out, in any simulated study; empty where something is."""
    warnings: tuple[str, ...] = ()
    """Why the numbers are to be taken with care."""
    population: int | None = None
    """People in the population, which runs out in the simulations; None if it does not."""
    assumed: tuple[str, ...] = ()
    """What is assumed about the population, in sentences."""

    @property
    def of_plan(self) -> "pd.Series[float]":
        return self.summary.iloc[0]

    @property
    def still_wanted(self) -> int | None:
        """Recruits to come until the target is reached."""
        return None if self.target is None else max(self.target - self.already, 0)

    def lines(self) -> list[str]:
        """The forecast in words, one statement a line."""
        plan, rules = self.of_plan, self.rules
        if self.nothing_because is not None:
            return [f"Nothing is given out: {self.nothing_because}. So nobody is recruited."]
        own = self.stories[self.stories["policy"] == PLAN]
        apart = self._stories_differ
        lines = [
            f"From {n_people(self.people)} with {n_coupons(rules.budget)} and "
            f"{counted(rules.rounds, 'round', 'rounds')} to go, the plan brings {self.brings} recruits on "
            f"average{', by what a coupon does' if apart else ''}; in 8 of 10 simulated studies between "
            f"{plan['p10']:.0f} and {plan['p90']:.0f}.",
        ]
        if len(own) > 1:
            lines += [self._story_line(row) for row in own.to_dict("records")]
        wanted = self.still_wanted
        if wanted is not None:
            lines.append(self._target_line(wanted))
        lines.append(
            "Chance that nobody is left who could refer while coupons and rounds remain: "
            f"{chance_in_words(plan['dies_out'])}."
        )
        lines.append(
            f"Of {n_coupons(rules.budget)}, {plan['recruits']:.0f} are used, {plan['unused']:.0f} are issued "
            f"and not used, {plan['never_issued']:.0f} are never issued (averages)."
        )
        lines += [self._rival_line(row) for _, row in self.summary.iloc[1:].iterrows()]
        lines += [*self.assumed, *self.warnings, self.caveat]
        return lines

    @property
    def _stories_differ(self) -> bool:
        """Whether the stories expect clearly different numbers of recruits: by more than chance, and not a little."""
        own = self.stories[self.stories["policy"] == PLAN]
        low, high = own["recruits"].min(), own["recruits"].max()
        return bool(high - low > max(2.0 * own["error"].max(), _APART * high))

    @property
    def brings(self) -> str:
        """Recruits of the plan, expected: a number, or a range where it depends on what a coupon does."""
        own = self.stories[self.stories["policy"] == PLAN]["recruits"]
        return f"{own.min():.0f} to {own.max():.0f}" if self._stories_differ else f"{self.of_plan['recruits']:.0f}"

    def _story_line(self, row: Mapping[Any, Any]) -> str:
        """What the plan brings by one story, and what knowing it would add."""
        known = self.stories[(self.stories["policy"] == KNOWING) & (self.stories["story"] == row["story"])].iloc[0]
        more, error = -float(known["plan_lead"]), float(known["plan_lead_error"])
        adds = f"knowing it would add {more:.1f}" if more > max(2 * error, 0.05) else "knowing it would not help"
        chance = "" if not self.still_wanted else f"; target {chance_in_words(row['reaches_target'])}"
        return (
            f"  If {IN_WORDS[row['story']]} (weight {percent(row['weight'])}): {row['recruits']:.0f} "
            f"({row['p10']:.0f} to {row['p90']:.0f}){chance}; {adds}."
        )

    def _target_line(self, wanted: int) -> str:
        plan, whole = self.of_plan, f"{n_people(self.target or 0)} in all"
        if wanted == 0:
            return f"The target, {whole}, is reached already."
        come = f"{whole}, {wanted:,} to come" if self.already else counted(wanted, "recruit", "recruits")
        if wanted > self.rules.budget:
            return f"The target ({come}) is out of reach: {n_coupons(self.rules.budget)} bring no more than that."
        text = f"Chance to reach the target ({come}): {chance_in_words(plan['reaches_target'])}"
        if self.with_model:
            text += f"; {chance_in_words(plan['with_model_reaches_target'])} when the model's uncertainty is counted in"
        return text + "."

    def _rival_line(self, row: "pd.Series[float]") -> str:
        compared = verdict(row["plan_lead"], row["plan_lead_error"])
        own = self.stories[self.stories["policy"] == row["policy"]].to_dict("records")
        leads = [each["plan_lead"] for each in own]
        if max(leads) - min(leads) > max(2.0 * max(each["plan_lead_error"] for each in own), _LEADS_APART):
            compared = "; ".join(
                f"if {IN_WORDS[each['story']]}, {verdict(each['plan_lead'], each['plan_lead_error'])}" for each in own
            )
        chance = "" if self.still_wanted is None else f", target {chance_in_words(row['reaches_target'])}"
        return (
            f"{row['described']}: {row['recruits']:.0f} recruits ({row['p10']:.0f} to {row['p90']:.0f}){chance}, "
            f"dies out {chance_in_words(row['dies_out'])}; {compared}."
        )

    @property
    def _and_stories(self) -> str:
        several = self.stories["story"].nunique() > 1
        return " and what a coupon may do, in the shares of the weights" if several else ""

    @property
    def caveat(self) -> str:
        """What the bands hold and what they do not."""
        inside = (
            f"The bands hold luck{self._and_stories}; the wider ones also what the data leave open about how many "
            "people somebody brings."
            if self.with_model
            else f"The bands hold luck{self._and_stories or ' alone'}, as if the model were exact: it was fitted "
            "without a held-out part, "
            "so its uncertainty is not known."
        )
        if self.population is not None:
            return (
                f"{inside} The population runs out as the simulated recruits come. Not in them: a model that is wrong "
                "in kind, people who change during the study, and errors of the population's size."
            )
        return (
            f"{inside} Not in them: a model that is wrong in kind, people who change during the study, and a "
            "population that runs out (--population)."
        )

    def plot(self, *, narrow: bool = False) -> "Figure":
        """Draw recruits so far and by round; side by side, or one below the other."""
        from peerfront.study.figures import forecast_figure

        return forecast_figure(self, narrow=narrow)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        columns = ["described", "recruits", "p10", "p90", "reaches_target", "dies_out", "unused", "never_issued"]
        return as_html(self.lines(), self.summary[columns].round(2))


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
    rivals: Sequence[tuple[str, Policy]] | None = None,
    progress: Progress = silent,
) -> Forecast:
    """Simulate the plan and its rivals (`usual_rivals`, unless others are given: what they do, and the policy).

    An order whose round cap is 0 gives out nothing, now or later, and so has no rivals. The same arguments give the
    same tables, to the last bit.
    """
    n_episodes, seed = whole_number("episodes", episodes, 2, MOST_EPISODES), seed_number("seed", seed)
    n_already = whole_number("people who have taken part already", already, 0)
    n_wanted = None if target is None else whole_number("target", target, 1)
    if order.population and order.already is None and n_already:
        order = replace(order, already=n_already)
    fit, frontier = with_population(fit, frontier, order)
    size = population_size(fit)
    check_target(n_wanted, size)
    task = task_of(fit, frontier, order)
    task.check_study_goes_on()
    rules, nothing = task.rules, task.nothing_because
    stories = believed(fit)
    worlds = [fit.world(frontier, story.name) for story in stories]
    restriction = restriction_of(order, fit.schema)
    if restriction.fields:
        restriction.strata(frontier.covariates)  # too many are refused before anything is simulated
    planner: Policy = Constant(0) if nothing else restriction.policy(ordered_planner(fit, task))
    progress(0.0, "choosing rivals")
    if nothing:
        rivals = ()
    others = usual_rivals(worlds[0], rules, fit.discount, seed) if rivals is None else rivals
    luck = named_luck(("forecast", seed), n_episodes)
    story = story_of_episode([each.weight for each in stories], n_episodes)
    uncertain = [
        uncertain_world(world, fit.responses[stories[number].name], Luck(luck.keys[story == number]))
        for number, world in enumerate(worlds)
    ]
    with_model = all(world is not None for world in uncertain)
    to_come = None if n_wanted is None else max(n_wanted - n_already, 0)

    def story_rows(policy: str, played: Trajectories, plan: Trajectories) -> list[dict[str, object]]:
        return [
            {"policy": policy, "story": each.name, "weight": each.weight, **story_row(played, plan, own, to_come)}
            for each, own in ((each, story == number) for number, each in enumerate(stories))
            if own.any()
        ]

    first: Trajectories | None = None
    rounds: list[pd.DataFrame] = []
    summary: list[dict[str, object]] = []
    by_story: list[dict[str, object]] = []
    for name, described, policy in [(PLAN, "the plan", planner), *((p.name, text, p) for text, p in others)]:
        progress((1 + len(summary)) / (2 + len(others)), f"simulating {described}")
        played = rollout_stories(worlds, story, policy, rules, luck)
        first = first or played
        unsure = rollout_stories(uncertain, story, policy, rules, luck) if with_model else None
        rounds.append(rounds_table(name, played, unsure))
        summary.append({"policy": name, "described": described, **summary_row(played, unsure, first, rules, to_come)})
        by_story += story_rows(name, played, first)
    assert first is not None, "the plan is played first"
    if len(stories) > 1 and not nothing:
        least = order.min_per_person
        alone = [replace(fit.planner.only(each.name), least_per_person=least) for each in stories]
        by_story += story_rows(KNOWING, rollout_stories(worlds, story, alone, rules, luck), first)
    return Forecast(
        rounds=pd.concat(rounds, ignore_index=True),
        summary=pd.DataFrame(summary),
        stories=pd.DataFrame(by_story),
        story_rounds=pd.concat(
            [story_means(each.name, first, story == number) for number, each in enumerate(stories)], ignore_index=True
        ),
        rules=rules,
        people=len(frontier),
        target=n_wanted,
        already=n_already,
        episodes=n_episodes,
        seed=seed,
        with_model=with_model,
        nothing_because=nothing,
        warnings=tuple(note for note in task.notes if note.startswith(("Warning", "Hardly anybody"))),
        population=size,
        assumed=said_of(fit),
    )


def usual_rivals(world: World, rules: Rules, discount: float, seed: int = 0) -> list[tuple[str, Policy]]:
    """What most studies do, and the best simple rules: three each, a tuned threshold, an even pace."""
    each = min(3, rules.max_per_person or 3)
    threshold = tune_threshold(world, rules, [discount], seed=seed, grid=_QUICK_GRID)[discount]
    return [
        (f"{each} coupons each, while they last", Constant(each)),
        (
            f"where use is likely (a chance of {threshold.cutoff:g} or more, at least {threshold.at_least} a round)",
            threshold,
        ),
        ("an even pace, where use is most likely", Evenly(world.response)),
    ]


def chance_in_words(share: float) -> str:
    """A share of simulated studies as a person would say it; none of a thousand is not the same as never."""
    return f"{share:.0%} of the simulated studies" if share in (0.0, 1.0) else percent(share)


def verdict(lead: float, error: float) -> str:
    """How the plan compares with a rival."""
    if not abs(lead) > max(2 * error, 0.05):
        return "no clear difference to the plan"
    return f"the plan brings {abs(lead):.1f} ± {error:.1f} {'more' if lead > 0 else 'fewer'}"
