"""The one loop of the whole program: play episodes round by round, many at once.

Training, evaluation, forecasting, the Gymnasium environment and the comparison all come through here. Episodes run in
lock step: each round the policy allocates in every living episode, and then all people of all episodes refer together.
The contract, terminal cases included, is docs/explanation/simulation.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.checked_calls import checked, checked_class
from peerfront.foundation.errors import InfeasibleAllocation, PeerfrontError, PolicyFailed, SettingError
from peerfront.foundation.messages import note
from peerfront.foundation.own_parts import name_of, place_of
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import readable
from peerfront.problem.state import (
    Allocation,
    BulkPolicy,
    Frontier,
    Policy,
    Rules,
    Seen,
    State,
    check_feasible,
    check_size,
    place_of_one,
)
from peerfront.problem.world import Crowd, Referrals, World

T = TypeVar("T")
_POLICY_LUCK = 1 << 40  # far above any number of people, so that a policy's luck is nobody's


class Ending(IntEnum):
    """Why an episode ended."""

    BUDGET = 0  # every coupon is given out
    EXTINCT = 1  # nobody is left: coupons were given and nobody came, or nobody was there to begin with
    STOPPED = 2  # the policy gave out nothing, so nobody can come
    HORIZON = 3  # the last round is over


@checked_class
@dataclass(frozen=True, slots=True)
class Trajectories:
    """What happened, round by round; zeros after the end of an episode."""

    recruits: NDArray[np.int64]  # [episodes, rounds]
    spend: NDArray[np.int64]  # [episodes, rounds]
    frontier: NDArray[np.int64]  # [episodes, rounds], people at the start of the round
    rounds: NDArray[np.int64]  # [episodes], rounds played
    ending: NDArray[np.int64]  # [episodes], an Ending each

    def discounted_rewards(self, discount: float) -> NDArray[np.float64]:
        """sum over t of discount^t * recruits_t, [episodes]."""
        rewards: NDArray[np.float64] = self.recruits @ discount ** np.arange(self.recruits.shape[1])
        return rewards

    @property
    def total_recruits(self) -> NDArray[np.int64]:
        totals: NDArray[np.int64] = self.recruits.sum(axis=1)
        return totals


@dataclass(frozen=True, slots=True)
class Round:
    """One round of all living episodes, for whoever watches a rollout (histories, printed tables)."""

    number: int
    crowd: Crowd
    coupons: NDArray[np.int64]  # [people]
    referrals: Referrals


class Episodes:
    """Episodes under way: `states` says where each living one stands, `step` plays a round of all of them.

    With `remember` the states also say what each episode has seen before.
    """

    def __init__(
        self,
        world: World,
        rules: Rules,
        luck: Luck,
        start: Crowd | None = None,
        budgets: NDArray[np.int64] | None = None,
        rounds_left: NDArray[np.int64] | None = None,
        *,
        remember: bool = False,
    ) -> None:
        self.world, self.rules, self.luck = world, rules, luck
        self._past: list[Round] | None = [] if remember else None
        count = len(luck)
        check_size(count, rounds=rules.rounds, people=rules.people)
        self.round = 0
        self._horizon = np.full(count, rules.rounds) if rounds_left is None else rounds_left.astype(np.int64)
        if self._horizon.shape != (count,) or (self._horizon < 0).any() or (self._horizon > rules.rounds).any():
            raise SettingError("episodes.other_rounds_left", episodes=count, rounds=rules.rounds)
        self._remaining = np.full(count, rules.budget, dtype=np.int64) if budgets is None else budgets.astype(np.int64)
        if self._remaining.shape != (count,) or (self._remaining < 0).any():
            raise SettingError("episodes.other_budgets", episodes=count)
        self._recruits, self._spend, self._sizes = (np.zeros((count, rules.rounds), dtype=np.int64) for _ in range(3))
        self._played = np.zeros(count, dtype=np.int64)
        if start is not None and (np.diff(start.episode) < 0).any():
            raise SettingError("episodes.unordered_crowd")
        crowd = _made_by(world, "seeds", Crowd, world.seeds(luck, rules.people)) if start is None else start
        # What holds if no round is ever played; `step` says otherwise.
        nobody = np.bincount(crowd.episode, minlength=count) == 0
        self._ending = np.select(
            [self._remaining == 0, nobody], [Ending.BUDGET, Ending.EXTINCT], Ending.HORIZON
        ).astype(np.int64)
        self._crowd = self._still_playing(crowd)

    def _still_playing(self, crowd: Crowd) -> Crowd:
        playing = ((self._remaining > 0) & (self.round < self._horizon))[crowd.episode]
        return crowd if playing.all() else crowd.where(playing)

    @property
    def living(self) -> NDArray[np.int64]:
        """The numbers of the episodes that are still played, in order."""
        return np.unique(self._crowd.episode)

    def states(self) -> list[State]:
        """The states of the living episodes, in order; none when all are over."""
        living = self.living
        ends = np.searchsorted(self._crowd.episode, living, side="right").tolist()
        keys, covariates = _read_only(self._crowd.keys), _read_only(self._crowd.covariates)
        numbers = self.rules.rounds - self._horizon[living] + self.round
        seen = self._seen(living)
        return [
            State(budget, Frontier(keys[a:b], covariates[a:b]), number, self.rules, past)
            for a, b, budget, number, past in zip(
                [0, *ends], ends, self._remaining[living].tolist(), numbers.tolist(), seen, strict=False
            )
        ]

    def _seen(self, living: NDArray[np.int64]) -> list[Seen] | list[None]:
        """What each of these episodes has seen so far; None if nobody asked."""
        if self._past is None:
            return [None] * len(living)
        no_people = np.zeros((0, len(self.world.schema.fields)), dtype=np.int16)
        no_counts = np.zeros(0, dtype=np.int64)
        nothing = (no_people, no_counts, no_counts, no_people, no_people)
        parts: list[list[list[NDArray[Any]]]] = [[[column] for column in nothing] for _ in living]
        for played in self._past:
            crowd, came = played.crowd, played.referrals
            parents = crowd.covariates[came.parent]
            people = _places(crowd.episode, living)
            recruits = _places(came.next_crowd.episode, living)
            for part, (a, b), (c, d) in zip(parts, people, recruits, strict=True):
                of_round: tuple[NDArray[Any], ...] = (
                    crowd.covariates[a:b], played.coupons[a:b], came.recruits[a:b],
                    parents[c:d], came.next_crowd.covariates[c:d],
                )  # fmt: skip
                for column, values in zip(part, of_round, strict=True):
                    column.append(values)
        return [Seen(*(np.concatenate(column) for column in part)) for part in parts]

    def policy_lucks(self) -> list[Luck]:
        """For each of `states`, the luck of whatever policy plays it this round."""
        living = self.living
        lucks = Luck(self.luck.keys[living]).members(np.full(len(living), _POLICY_LUCK + self.round))
        return [lucks.row(i) for i in range(len(lucks))]

    def step(self, allocations: Sequence[Allocation]) -> Round:
        """Give out coupons, one (feasible) allocation for each of `states`, and see who comes."""
        crowd, number, count = self._crowd, self.round, len(self.luck)
        coupons = np.concatenate([allocation.coupons for allocation in allocations]).astype(np.int64, copy=False)
        referrals = _made_by(self.world, "refer", Referrals, self.world.refer(crowd, coupons))
        spent = np.bincount(crowd.episode, weights=coupons, minlength=count).astype(np.int64)
        came = np.bincount(referrals.next_crowd.episode, minlength=count)
        self._sizes[:, number] = np.bincount(crowd.episode, minlength=count)
        self._spend[:, number] = spent
        self._recruits[:, number] = came
        self._remaining -= spent
        living = np.unique(crowd.episode)
        self._played[living] = number + 1
        self._ending[living] = np.select(
            [self._remaining[living] == 0, spent[living] == 0, came[living] == 0],
            [Ending.BUDGET, Ending.STOPPED, Ending.EXTINCT],
            Ending.HORIZON,
        )
        self.round += 1
        self._crowd = self._still_playing(referrals.next_crowd)
        played = Round(number, crowd, coupons, referrals)
        if self._past is not None:
            self._past.append(played)
        return played

    def trajectories(self) -> Trajectories:
        """What has happened so far."""
        return Trajectories(self._recruits, self._spend, self._sizes, self._played, self._ending)


def _made_by(world: World, method: str, kind: type[T], made: Any) -> T:
    """What a world has made, if it is of the kind that it must be."""
    if isinstance(made, kind):
        return made
    values = {"method": method, "name": name_of(world), "kind": kind.__name__, "value": readable(made)}
    raise SettingError("own_parts.world_gave", **values)


def _read_only(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers for a policy to see, which must not change the world."""
    seen = values.view()
    seen.flags.writeable = False
    return seen


def _places(episode: NDArray[np.int64], living: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Where the people of each living episode stand among people in the order of their episodes."""
    first = np.searchsorted(episode, living, side="left").tolist()
    return list(zip(first, np.searchsorted(episode, living, side="right").tolist(), strict=True))


def learns(policy: Policy) -> bool:
    """Whether the policy learns from the study it plays, and so has to be told what was seen."""
    return bool(getattr(policy, "learns", False))


def ask(policy: Policy, state: State, luck: Luck) -> Allocation:
    """The policy's allocation for this state, checked."""
    try:
        allocation = policy.allocate(state, luck)
    except PeerfrontError:
        raise
    except (Exception, SystemExit) as problem:
        raise PolicyFailed(_called(policy), state.place, place_of(problem)) from problem
    check_feasible(allocation, state, _called(policy))
    return allocation


def ask_many(policy: Policy, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
    """An allocation for each state, checked; a `BulkPolicy` makes all of them at once."""
    if not isinstance(policy, BulkPolicy):
        return [ask(policy, state, luck) for state, luck in zip(states, lucks, strict=True)]
    try:
        allocations = list(policy.allocate_many(states, lucks))
    except PeerfrontError:
        raise
    except (Exception, SystemExit) as problem:
        raise PolicyFailed(_called(policy), place_of_one(states), place_of(problem)) from problem
    if len(allocations) != len(states):
        fault = note("allocation_fault.other_states", allocations=len(allocations), states=len(states))
        raise InfeasibleAllocation(_called(policy), fault)
    for allocation, state in zip(allocations, states, strict=True):
        check_feasible(allocation, state, _called(policy))
    return allocations


def _called(policy: Policy) -> str:
    """The name of a policy; whoever writes one may forget it."""
    return str(getattr(policy, "name", type(policy).__name__))


@checked
def rollout(
    world: World,
    policy: Policy,
    rules: Rules,
    luck: Luck,
    *,
    start: Crowd | None = None,
    budgets: NDArray[np.int64] | None = None,
    rounds_left: NDArray[np.int64] | None = None,
    watch: Callable[[Round], None] | None = None,
) -> Trajectories:
    """Play one episode for each row of luck to its end.

    `start` replaces the world's own first frontiers, `budgets` the rules' budget and `rounds_left` the rules' rounds,
    one for each episode. An episode with fewer rounds left than the rules have stands in a late round of the study, and
    its states say so; rewards are discounted, and rounds of the trajectories counted, from where it starts.

    >>> from peerfront.baselines.simple_rules import Constant
    >>> episodes = pf.named_luck(("my study",), 200)  # 200 episodes; the same names give the same people
    >>> played = pf.rollout(pf.make_world("bridge"), Constant(2), pf.Rules(budget=20, people=5), episodes)
    >>> played.recruits.shape  # [episodes, rounds]
    (200, 50)
    """
    episodes = Episodes(world, rules, luck, start, budgets, rounds_left, remember=learns(policy))
    while states := episodes.states():
        played = episodes.step(ask_many(policy, states, episodes.policy_lucks()))
        if watch is not None:
            watch(played)
    return episodes.trajectories()


def rollouts(world: World, policies: Sequence[Policy], rules: Rules, luck: Luck) -> list[Trajectories]:
    """Play every policy on the same episodes, one for each row of luck. All at once: a world is quicker in bulk."""
    count = len(luck)
    remember = any(learns(policy) for policy in policies)
    episodes = Episodes(world, rules, Luck(np.tile(luck.keys, len(policies))), remember=remember)
    while states := episodes.states():
        lucks = episodes.policy_lucks()
        ends = np.searchsorted(episodes.living, count * np.arange(len(policies) + 1)).tolist()
        allocations = [
            ask_many(policy, states[first:end], lucks[first:end])
            for policy, first, end in zip(policies, ends[:-1], ends[1:], strict=True)
            if end > first
        ]
        episodes.step([allocation for of_policy in allocations for allocation in of_policy])
    together = episodes.trajectories()
    parts = {field.name: np.split(getattr(together, field.name), len(policies)) for field in fields(together)}
    return [Trajectories(**{name: split[p] for name, split in parts.items()}) for p in range(len(policies))]
