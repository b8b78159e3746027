"""What a plan brings by each story of what a coupon does, and what planning for that story alone would bring.

Two plain stories fit most studies equally well: a person has a limited number of people to bring and uses the first
coupons first (`capacity`), or each coupon is used on its own (`per_coupon`). A plan is simulated in the world of every
remaining story; the regret is how many more recruits planning for that story alone would bring there, with the same
luck.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Remedy
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.gfp.planner import Planner
from peerfront.gfp.story import Story
from peerfront.problem import Allocation, BulkPolicy, Policy, Rules, State, Trajectories, World, rollout
from peerfront.study.artifacts import Fit
from peerfront.study.orders import Task

Array = NDArray[np.float64]
STORY_CODES = {
    "capacity": "story_phrases.capacity",
    "per_coupon": "story_phrases.per_coupon",
    "both": "story_phrases.both",
}
"""Codes of the phrases by which coordinators read the stories, after "if"."""
AVERAGE, CAUTIOUS = "average", "cautious"
_SIMULATED_BUDGET = 2_000  # beyond it, simulating the rest of the study takes minutes
_CAUTIOUS_EPISODES = 200
_SHARES = tuple(number / 20 for number in range(21))  # weights of one story to try for a cautious plan


def responses_to_choose(fit: Fit) -> tuple[str, ...]:
    """The stories that a plan by this model may choose from."""
    return (AVERAGE, CAUTIOUS, *fit.responses)


def planner_for(fit: Fit, response: str) -> Planner:
    """The planner for the stories that were asked for; `most_cautious` chooses the weights of a cautious one."""
    if response in (AVERAGE, CAUTIOUS):
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
    """The planner for the order's stories, which gives everybody at least the order's minimum."""
    order = task.order
    if order.response == CAUTIOUS:
        if not can_be_simulated(task.state):
            raise SettingError(
                "stories.too_large_for_caution", most=_SIMULATED_BUDGET, average=Remedy("response", AVERAGE)
            )
        return most_cautious(fit, task.state, order.min_per_person, named_luck(("cautious",), _CAUTIOUS_EPISODES))
    return replace(planner_for(fit, order.response), least_per_person=order.min_per_person)


@dataclass(frozen=True, eq=False)
class SheetFirst:
    """A policy: this round as on the sheet, later rounds as the planner decides then."""

    sheet: Allocation
    planner: BulkPolicy
    name: str = "the sheet"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        if states[0].round == 0:
            return [self.sheet] * len(states)
        return list(self.planner.allocate_many(states, lucks))


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


def most_cautious(fit: Fit, state: State, least: int, luck: Luck) -> Planner:
    """The weights of the stories whose plan has the smallest worst regret, simulated by every story."""
    names = [story.name for story in fit.planner.stories]
    if len(names) == 1:
        return replace(fit.planner, least_per_person=least)
    candidates = [np.array([story.weight for story in fit.planner.stories])]
    for number in range(len(names)):
        for share in _SHARES:
            weights = np.full(len(names), (1.0 - share) / (len(names) - 1))
            weights[number] = share
            candidates.append(weights)
    distinct = {tuple(np.round(weights, 6).tolist()): weights for weights in candidates}
    planners, seen = [], set()
    for weights in distinct.values():
        planner = replace(fit.planner.weighted(weights.tolist()), least_per_person=least)
        sheet = planner.plan(state, every_spend=False).allocation
        # Later rounds differ little between close weights: one plan for each sheet.
        if sheet.coupons.tobytes() not in seen:
            seen.add(sheet.coupons.tobytes())
            planners.append((sheet, planner))
    earned = np.zeros((len(planners), len(names)))
    for row, (sheet, planner) in enumerate(planners):
        policy = SheetFirst(sheet, planner)
        for column, name in enumerate(names):
            played = rollout(fit.world(state.frontier, name), policy, state.rules, luck)
            earned[row, column] = played.discounted_rewards(fit.discount).mean()
    worst = (earned.max(axis=0) - earned).max(axis=1)
    return planners[int(worst.argmin())][1]


def story_table(results: Sequence[StoryResult]) -> pd.DataFrame:
    """story, weight, expected, error, regret, regret_error: one row for each remaining story."""
    return pd.DataFrame([{field.name: getattr(each, field.name) for field in fields(StoryResult)} for each in results])


def story_of_episode(weights: Sequence[float], episodes: int) -> NDArray[np.int64]:
    """A story for each episode, in proportion to the weights and evenly spread, [episodes]."""
    spread = (np.arange(episodes) + 0.5) * 0.6180339887498949 % 1.0
    ends = np.cumsum(weights)
    story: NDArray[np.int64] = np.minimum(np.searchsorted(ends, spread * ends[-1], side="right"), len(ends) - 1)
    return story


def rollout_stories(
    worlds: Sequence[World | None],
    story: NDArray[np.int64],
    policy: Policy | Sequence[Policy],
    rules: Rules,
    luck: Luck,
) -> Trajectories:
    """Simulate each episode in the world of its story: `worlds[i]` for story i, with its own policy if several."""
    parts: dict[str, NDArray[np.int64]] = {}
    for number, world in enumerate(worlds):
        own = np.flatnonzero(story == number)
        if not len(own) or world is None:
            continue
        own_policy = policy[number] if isinstance(policy, Sequence) else policy
        played = rollout(world, own_policy, rules, Luck(luck.keys[own]))
        for field in fields(Trajectories):
            values = getattr(played, field.name)
            whole = parts.setdefault(field.name, np.zeros((len(luck), *values.shape[1:]), dtype=np.int64))
            whole[own] = values
    return Trajectories(**parts)
