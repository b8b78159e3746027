"""Simple rules for giving out coupons: what studies do today, and what a planner has to beat.

`WhileTheyLast` gives people in the order of arrival what studies give them, and nothing when no coupon is left.
`Constant` gives everybody the same number, and deals a budget that does not suffice round robin. `RandomSplit` is the
paper's Random (Section 5.2): a round budget uniform on 0 .. b, split by a uniform multinomial draw.

The others give each coupon to the person most likely to use it, the largest P(C >= k + 1), which is the greedy
allocation by immediate reward (`most_likely_used`); they differ in how much they spend. `Threshold` TH(c, m) spends as
long as a coupon is used with a chance of at least c, and at least m a round; it ignores what recruits bring later, and
is hard to beat once `tune_threshold` has set c and m by simulation. `Evenly` spreads the budget over the rounds left.
`AllAtLast` spends everything in the last round, because coupons left after it are worth nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.checked_calls import checked_late
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.foundation.settings import at_least, check_fields, positive, proportion
from peerfront.problem import Allocation, Policy, ResponseModel, Rules, State, World, ask_many, rollouts

_CUTOFFS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99, 0.995)  # of the threshold rules that start a planner's learning
_LEAST_SHARES = (0.02, 0.04, 0.08, 0.12, 0.2, 0.32)  # of the budget, which they spend at least in a round
_PACES = (0.5, 0.75, 1.0, 1.5, 2.0)  # of the rules that spread the budget over the rounds


@dataclass(frozen=True)
class Constant:
    """`coupons` for each person; when the budget does not suffice, deal what is left round robin."""

    coupons: int = 3

    def __post_init__(self) -> None:
        check_fields(self, "constant", coupons=at_least(0))

    @property
    def name(self) -> str:
        return f"constant:coupons={self.coupons}"

    @checked_late
    def allocate(self, state: State, luck: Luck) -> Allocation:
        n_people = len(state.frontier)
        spend = min(n_people * min(self.coupons, state.most_per_person), state.spendable)
        each, over = divmod(spend, max(n_people, 1))
        return Allocation(each + (np.arange(n_people) < over).astype(np.int64))


@dataclass(frozen=True)
class WhileTheyLast:
    """A number for each person in the order of arrival; the last one gets what is left, who comes after gets none.

    >>> from peerfront.baselines.simple_rules import WhileTheyLast
    >>> frontier = pf.Frontier.of(pf.make_world("bridge").population(pf.named_luck(("today",), 4)))
    >>> WhileTheyLast.each(3).allocate(pf.State(7, frontier), pf.named_luck(("today",), 1)).coupons.tolist()
    [3, 3, 1, 0]
    """

    chances: tuple[float, ...]
    """How likely 0, 1, 2, ... coupons are; everybody's number is drawn."""
    name: str = "as so far"

    @classmethod
    def each(cls, coupons: int) -> "WhileTheyLast":
        """The same number for everybody."""
        return cls((*[0.0] * coupons, 1.0), f"{coupons} each")

    @classmethod
    def drawn_from(cls, given: Mapping[int, float]) -> "WhileTheyLast":
        """Numbers that as many people had as `given` says; `each` if all had the same."""
        if len(given) == 1:
            return cls.each(*given)
        total = sum(given.values())
        return cls(tuple(given.get(coupons, 0.0) / total for coupons in range(max(given) + 1)))

    @property
    def same_for_all(self) -> bool:
        """Whether everybody gets the same number."""
        return max(self.chances) == 1.0

    @checked_late
    def allocate(self, state: State, luck: Luck) -> Allocation:
        drawn = luck.uniforms("number of coupons", len(state.frontier))[0]
        wanted = np.searchsorted(np.cumsum(self.chances[:-1]), drawn, side="right")
        wanted = np.minimum(wanted, state.most_per_person)
        before = np.cumsum(wanted) - wanted
        return Allocation(np.clip(state.spendable_by_round - before, 0, wanted))


@dataclass(frozen=True)
class RandomSplit:
    """A uniformly random round budget, each coupon to a random person.

    With caps, the round budget is uniform on what may be spent, and each coupon goes to somebody below the cap.
    """

    name: str = "random_split"

    @checked_late
    def allocate(self, state: State, luck: Luck) -> Allocation:
        n_people = len(state.frontier)
        uniforms = luck.uniforms("random split", 1 + state.spendable)[0]
        spend = int(uniforms[0] * (state.spendable + 1))
        draws = uniforms[1 : 1 + spend]
        if state.most_per_person >= spend:
            return Allocation(np.bincount((draws * n_people).astype(np.int64), minlength=n_people))
        coupons = np.zeros(n_people, dtype=np.int64)
        below_cap = list(range(n_people))
        for u in draws:
            place = int(u * len(below_cap))
            person = below_cap[place]
            coupons[person] += 1
            if coupons[person] == state.most_per_person:
                below_cap.pop(place)
        return Allocation(coupons)


class CouponGains(Protocol):
    """The part of a `ResponseModel` that simple rules look at."""

    def gains(self, covariates: Codes, max_coupons: int) -> NDArray[np.float64]: ...


def gain_tables(response: CouponGains, states: Sequence[State]) -> list[NDArray[np.float64]]:
    """P(C >= l) of everybody on each frontier, [people, most per person], in one call of the model."""
    if not states:
        return []
    most = max(state.most_per_person for state in states)
    chances = response.gains(np.concatenate([state.frontier.covariates for state in states]), most)
    ends = np.cumsum([len(state.frontier) for state in states])
    tables = np.split(chances, ends[:-1])
    return [table[:, : state.most_per_person] for table, state in zip(tables, states, strict=True)]


def most_likely_used(survival: NDArray[np.float64], spend: int) -> NDArray[np.int64]:
    """The person who gets coupon 1, 2, ..., spend, [spend]: the largest P(C >= k + 1), ties to the first.

    `survival` is [people, coupons] with nonincreasing rows, so a stable sort of all its entries is the greedy order.
    """
    n_people, levels = survival.shape
    chances = survival.reshape(-1)
    if spend < len(chances):
        # Only entries at or above the spend-th largest can be chosen; sorting the others is wasted work.
        smallest = np.partition(chances, len(chances) - spend)[len(chances) - spend] if spend else np.inf
        entries = np.flatnonzero(chances >= smallest)
    else:
        entries = np.arange(n_people * levels)
    order = entries[np.argsort(-chances[entries], kind="stable")][:spend]
    persons: NDArray[np.int64] = order // max(levels, 1)
    return persons


@dataclass(frozen=True)
class Threshold:
    """The next coupon to the largest P(C >= k + 1); stop below `cutoff`, but spend `at_least` if the budget allows."""

    response: CouponGains
    cutoff: float
    at_least: int

    def __post_init__(self) -> None:
        check_fields(self, "threshold", cutoff=proportion, at_least=at_least(0))

    @property
    def name(self) -> str:
        return f"threshold:cutoff={self.cutoff:g},at_least={self.at_least}"

    @checked_late
    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state, with one call of the capacity model."""
        tables = gain_tables(self.response, states)
        return [self._allocation(table, state) for table, state in zip(tables, states, strict=True)]

    def _allocation(self, survival: NDArray[np.float64], state: State) -> Allocation:
        likely = survival >= self.cutoff
        wanted = int(likely.sum())
        spend = min(max(wanted, self.at_least), state.spendable)
        if spend == wanted:
            return Allocation(likely.sum(axis=1))
        return Allocation(np.bincount(most_likely_used(survival, spend), minlength=len(survival)))


@dataclass(frozen=True)
class Evenly:
    """Spread the budget over the rounds left, each coupon where it is most likely used.

    With t rounds left the share 1 - (1 - 1/t)^pace of what remains is spent: 1/t of it at a pace of 1, more at a faster
    pace, everything in the last round.
    """

    response: ResponseModel
    pace: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self, "evenly", pace=positive)

    @property
    def name(self) -> str:
        return f"evenly:pace={self.pace:g}"

    @checked_late
    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state, with one call of the capacity model."""
        return _likeliest_first(self.response, states, [self._spend(state) for state in states])

    def _spend(self, state: State) -> int:
        kept = (1.0 - 1.0 / max(state.rounds_left, 1)) ** self.pace
        return math.ceil(state.remaining_budget * (1.0 - kept))


@dataclass(frozen=True, eq=False)
class AllAtLast:
    """Follow another rule until the last round; then spend everything, where it is most likely used."""

    response: ResponseModel
    rule: Policy

    @property
    def name(self) -> str:
        return f"{self.rule.name}, all at last"

    @checked_late
    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state; the other rule answers for all its states at once."""
        last = [state.rounds_left <= 1 for state in states]
        ending = [state for state, now in zip(states, last, strict=True) if now]
        going_on = [(state, luck) for state, luck, now in zip(states, lucks, last, strict=True) if not now]
        spread = iter(_likeliest_first(self.response, ending, [state.remaining_budget for state in ending]))
        ruled = iter(ask_many(self.rule, [s for s, _ in going_on], [luck for _, luck in going_on]) if going_on else ())
        return [next(spread if now else ruled) for now in last]


def _likeliest_first(response: ResponseModel, states: Sequence[State], spends: Sequence[int]) -> list[Allocation]:
    """Allocations that spend these amounts (or what may be spent), each coupon where it is most likely used."""
    return [
        Allocation(np.bincount(most_likely_used(table, min(spend, state.spendable)), minlength=len(table)))
        for table, state, spend in zip(gain_tables(response, states), states, spends, strict=True)
    ]


def threshold_rules(
    response: CouponGains,
    budget: int,
    cutoffs: Sequence[float] = _CUTOFFS,
    shares: Sequence[float] = _LEAST_SHARES,
) -> list[Threshold]:
    """Threshold rules over a grid; the usual ones start a planner's learning, and explore."""
    least = sorted({max(1, round(share * budget)) for share in shares})
    return [Threshold(response, c, m) for c, m in product(cutoffs, least)]


def deadline_rules(response: ResponseModel, budget: int) -> list[Policy]:
    """The same, with everything given out in the last round, and rules that spread the budget over the rounds."""
    evenly = [Evenly(response, pace) for pace in _PACES]
    return [*(AllAtLast(response, rule) for rule in threshold_rules(response, budget)), *evenly]


@dataclass(frozen=True)
class TuningGrid:
    """The values of c and m that `tune_threshold` tries: all pairs on few episodes, the best ones again on more.

    `at_least` are shares of the budget. The grids end where returns were flat or falling in every world here.
    """

    cutoffs: tuple[float, ...] = (0.3, 0.5, 0.65, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99, 0.995, 0.999)
    at_least: tuple[float, ...] = (0.01, 0.02, 0.04, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48)
    screening_episodes: int = 64
    finalists: int = 6
    final_episodes: int = 400


def tune_threshold(
    world: World, rules: Rules, discounts: Sequence[float], *, seed: int = 0, grid: TuningGrid | None = None
) -> dict[float, Threshold]:
    """Tune TH(c, m) by simulation: the best rule of the grid for each discount.

    All rules play the same episodes, which are named for tuning, so that evaluation never sees the same luck.
    """
    search = grid or TuningGrid()
    rules_tried = threshold_rules(world.response, rules.budget, search.cutoffs, search.at_least)
    episodes = named_luck(("tune threshold", seed), max(search.screening_episodes, search.final_episodes))
    screened = _mean_rewards(world, rules, rules_tried, discounts, Luck(episodes.keys[: search.screening_episodes]))
    finalists = np.argsort(-screened, axis=0, kind="stable")[: search.finalists]  # [finalists, discounts]
    survivors = np.unique(finalists)
    final = np.full_like(screened, -np.inf)
    final[survivors] = _mean_rewards(
        world, rules, [rules_tried[i] for i in survivors], discounts, Luck(episodes.keys[: search.final_episodes])
    )
    # A rule wins among the finalists of its own discount, so that it does not depend on the other discounts.
    winners = [own[final[own, d].argmax()] for d, own in enumerate(finalists.T)]
    return {discount: rules_tried[best] for discount, best in zip(discounts, winners, strict=True)}


def _mean_rewards(
    world: World, rules: Rules, policies: Sequence[Threshold], discounts: Sequence[float], episodes: Luck
) -> NDArray[np.float64]:
    """Mean discounted rewards, [policies, discounts]. Rules ignore the discount, so one simulation serves them all."""
    played = rollouts(world, policies, rules, episodes)
    return np.array([[part.discounted_rewards(discount).mean() for discount in discounts] for part in played])
