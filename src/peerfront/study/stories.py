"""What a plan brings by each part of the belief, and what knowing that it is the true one would bring.

The parts (`models.belief`) answer "and if": people have a limited number to bring, so that one coupon does almost as
well as three; each coupon is used on its own; or more coupons motivate. A plan is simulated in the world of every part;
the regret is how many more recruits planning for that part alone would bring there, with the same luck.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Remedy
from peerfront.foundation.randomness import Luck
from peerfront.gfp.planner import Planner
from peerfront.gfp.story import Story
from peerfront.models.belief.belief import BeliefResponse
from peerfront.models.depletion import Depleted
from peerfront.problem import Allocation, Policy, ResponseModel, State, ask_many, rollout
from peerfront.study.artifacts import Fit
from peerfront.study.orders import AVERAGE, BELIEF, Task

Array = NDArray[np.float64]
STORY_CODES = {
    "capacity": "story_phrases.capacity",
    "per_coupon": "story_phrases.per_coupon",
    "motivate": "story_phrases.motivate",
}
"""Codes of the phrases by which coordinators read the parts, after "if"."""
_SIMULATED_BUDGET = 2_000  # beyond it, simulating the rest of the study takes minutes


def drawn_responses(fit: Fit) -> dict[str, list[ResponseModel]]:
    """The draws of each part of the belief that plans are made with, as responses of their own."""
    return {story.name: drawn_responses_of(story.response) for story in fit.planner.stories}


def drawn_responses_of(response: ResponseModel) -> list[ResponseModel]:
    """The draws of a response, each as a response of its own."""
    if isinstance(response, Depleted):
        return [replace(response, response=draw) for draw in drawn_responses_of(response.response)]
    if not isinstance(response, BeliefResponse):
        return [response]
    belief = response.belief
    return [BeliefResponse(belief.part([draw]), response.zeal) for draw in range(len(belief))]


def responses_to_choose(fit: Fit) -> tuple[str, ...]:
    """The stories that a plan by this model may choose from."""
    return (AVERAGE, BELIEF, *fit.responses)


def planner_for(fit: Fit, response: str) -> Planner:
    """The planner for the part of the belief that was asked for."""
    if response in (AVERAGE, BELIEF):
        return fit.planner
    if response not in fit.responses:
        asked, left = Remedy("response", response), responses_to_choose(fit)
        pinned = fit.scores.get("coupon_stories", {}).get("pinned")
        if pinned:
            raise SettingError("stories.pinned", asked=asked, left=left, pinned=Remedy("response", pinned))
        raise SettingError("stories.ruled_out", asked=asked, left=left)
    return fit.planner.only(response)


def can_be_simulated(state: State) -> bool:
    """Whether the rest of the study is small enough to be simulated many times."""
    return state.remaining_budget <= _SIMULATED_BUDGET and len(state.frontier) <= _SIMULATED_BUDGET


def ordered_planner(fit: Fit, task: Task) -> Planner:
    """The planner for the order's part of the belief, which gives everybody at least the order's minimum."""
    return replace(planner_for(fit, task.order.response), least_per_person=task.order.min_per_person)


@dataclass(frozen=True, eq=False)
class SheetFirst:
    """A policy: this round as on the sheet, later rounds as the planner decides then."""

    sheet: Allocation
    planner: Policy
    name: str = "the sheet"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        if states[0].round == 0:
            return [self.sheet] * len(states)
        return ask_many(self.planner, states, lucks)


@dataclass(frozen=True)
class StoryResult:
    """One plan, simulated in the world of one story."""

    name: str
    weight: float
    now: float
    """Expected recruits of this round."""
    expected: float
    """Recruits in all, discounted."""
    error: float
    """Its standard error."""
    regret: float
    """How many more recruits planning for this story alone would bring; chance can make it negative."""
    regret_error: float


def believed(fit: Fit) -> list[Story]:
    """The remaining stories, the most credible first."""
    return sorted(fit.planner.stories, key=lambda story: -story.weight)


def expected_now(story: Story, state: State, sheet: Allocation) -> float:
    """Recruits of this round that one story expects."""
    most = state.most_per_person
    gains = story.response.gains(state.frontier.covariates, most)
    return float(gains[np.arange(most) < sheet.coupons[:, None]].sum())


def last_round(
    fit: Fit, state: State, sheet: Allocation, planned: Allocation, alone: Mapping[str, Allocation]
) -> list[StoryResult]:
    """The exact expectation of a sheet in the last round, by every story; arguments as in `results_of`."""
    results = []
    for story in believed(fit):
        now, before, best = (expected_now(story, state, each) for each in (sheet, planned, alone[story.name]))
        results.append(StoryResult(story.name, story.weight, now, now, 0.0, best - before, 0.0))
    return results


def results_of(
    fit: Fit, state: State, sheet: SheetFirst, planned: SheetFirst, alone: Mapping[str, SheetFirst], luck: Luck
) -> list[StoryResult]:
    """Simulate a sheet in the world of every story.

    `alone` are the plans for one story alone, by its name. The regret compares them with the sheet as it was `planned`,
    before floors, lots and random numbers, because their cost is no regret.
    """
    results = []
    for story in believed(fit):
        world = fit.world(state.frontier, story.name)
        played: dict[int, Array] = {}
        for policy in (sheet, planned, alone[story.name]):
            if id(policy) not in played:
                played[id(policy)] = rollout(world, policy, state.rules, luck).discounted_rewards(fit.discount)
        earned, regret = played[id(sheet)], played[id(alone[story.name])] - played[id(planned)]
        results.append(
            StoryResult(
                name=story.name,
                weight=story.weight,
                now=expected_now(story, state, sheet.sheet),
                expected=float(earned.mean()),
                error=_error(earned),
                regret=float(regret.mean()),
                regret_error=_error(regret),
            )
        )
    return results


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def story_table(results: Sequence[StoryResult]) -> pd.DataFrame:
    """story, weight, expected, error, regret, regret_error: one row for each remaining story."""
    return pd.DataFrame([{field.name: getattr(each, field.name) for field in fields(StoryResult)} for each in results])
