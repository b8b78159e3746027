"""The parts of the belief: the planner of each, and what a sheet brings by rounds where it is true.

The parts (`models.belief`) answer "and if": people have a limited number to bring, so that one coupon does almost as
well as three; each coupon is used on its own; or more coupons motivate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
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
    """A sheet, played by rounds in the world of one story."""

    name: str
    weight: float
    now: float
    """Expected recruits of this round."""
    expected: float
    """Recruits in all, discounted."""


def believed(fit: Fit) -> list[Story]:
    """The remaining stories, the most credible first."""
    return sorted(fit.planner.stories, key=lambda story: -story.weight)


def expected_now(story: Story, state: State, sheet: Allocation) -> float:
    """Recruits of this round that one story expects."""
    most = state.most_per_person
    gains = story.response.gains(state.frontier.covariates, most)
    return float(gains[np.arange(most) < sheet.coupons[:, None]].sum())


def last_round(fit: Fit, state: State, sheet: Allocation) -> list[StoryResult]:
    """The exact expectation of a sheet in the last round, by every story."""
    means = [(story, expected_now(story, state, sheet)) for story in believed(fit)]
    return [StoryResult(story.name, story.weight, now, now) for story, now in means]


def results_of(fit: Fit, state: State, sheet: SheetFirst, luck: Luck) -> list[StoryResult]:
    """Play a sheet by rounds in the world of every story."""
    results = []
    for story in believed(fit):
        world = fit.world(state.frontier, story.name)
        earned = rollout(world, sheet, state.rules, luck).discounted_rewards(fit.discount)
        now = expected_now(story, state, sheet.sheet)
        results.append(StoryResult(story.name, story.weight, now, float(earned.mean())))
    return results
