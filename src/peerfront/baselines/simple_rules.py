"""What most studies do: the same number of coupons for everybody, while they last.

Random (Section 5.2): a round budget uniform on 0 .. b, split by a uniform multinomial draw.

Coupons in the order of their chance to be used: the greedy allocation by immediate reward.

The threshold rule TH(c, m): coupons go where they are most likely used, down to a chance of c.

A baseline everybody must beat: it looks at nobody's recruits, only at how likely the next coupon is to be used.

Rules that know the deadline: what is left after the last round is worth nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import whole_number
from peerfront.problem import Allocation, CapacityModel, Policy, State, ask_many


@dataclass(frozen=True)
class Constant:
    """`coupons` each; what is left is dealt round robin when it does not suffice for everybody."""

    coupons: int = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "coupons", whole_number("coupons of constant", self.coupons, 0))

    @property
    def name(self) -> str:
        return f"constant:coupons={self.coupons}"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        people = len(state.frontier)
        spend = min(people * min(self.coupons, state.most_per_person), state.spendable)
        each, over = divmod(spend, max(people, 1))
        return Allocation(each + (np.arange(people) < over).astype(np.int64))


@dataclass(frozen=True)
class RandomSplit:
    """With caps, the budget is uniform on what may be spent, and each coupon goes to somebody below the cap."""

    name: str = "random_split"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        people = len(state.frontier)
        uniforms = luck.uniforms("random split", 1 + state.spendable)[0]
        spend = int(uniforms[0] * (state.spendable + 1))
        draws = uniforms[1 : 1 + spend]
        if state.most_per_person >= spend:
            return Allocation(np.bincount((draws * people).astype(np.int64), minlength=people))
        coupons = np.zeros(people, dtype=np.int64)
        below_cap = list(range(people))
        for u in draws:
            place = int(u * len(below_cap))
            person = below_cap[place]
            coupons[person] += 1
            if coupons[person] == state.most_per_person:
                below_cap.pop(place)
        return Allocation(coupons)


def survival_tables(capacity: CapacityModel, states: Sequence[State]) -> list[NDArray[np.float64]]:
    """P(C >= l) of everybody on each frontier, [people, most per person]; the model is asked once for all of them."""
    if not states:
        return []
    most = max(state.most_per_person for state in states)
    chances = capacity.survival(np.concatenate([state.frontier.covariates for state in states]), most)
    ends = np.cumsum([len(state.frontier) for state in states])
    tables = np.split(chances, ends[:-1])
    return [table[:, : state.most_per_person] for table, state in zip(tables, states, strict=True)]


def most_likely_used(survival: NDArray[np.float64], spend: int) -> NDArray[np.int64]:
    """Who gets coupon 1, 2, ..., spend, [spend]: always the person with the largest P(C >= k + 1), ties to the first.

    `survival` is [people, coupons] with nonincreasing rows, so a stable sort of all its entries is the greedy order.
    """
    people, levels = survival.shape
    chances = survival.reshape(-1)
    if spend < len(chances):
        # Only entries at or above the spend-th largest can be chosen; sorting the others is wasted work.
        smallest = np.partition(chances, len(chances) - spend)[len(chances) - spend] if spend else np.inf
        entries = np.flatnonzero(chances >= smallest)
    else:
        entries = np.arange(people * levels)
    order = entries[np.argsort(-chances[entries], kind="stable")][:spend]
    persons: NDArray[np.int64] = order // max(levels, 1)
    return persons


def check_threshold(cutoff: float, at_least: int) -> int:
    """Refuses impossible settings; returns `at_least` as the whole number it is."""
    if not 0.0 <= cutoff <= 1.0:
        raise SettingError(f"The cutoff of threshold is a probability between 0 and 1; found {cutoff}.")
    return whole_number("at_least of threshold", at_least, 0)


@dataclass(frozen=True)
class Threshold:
    """The next coupon to the largest P(C >= k + 1); stop below `cutoff`, but spend `at_least` if the budget allows."""

    capacity: CapacityModel
    cutoff: float
    at_least: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "at_least", check_threshold(self.cutoff, self.at_least))

    @property
    def name(self) -> str:
        return f"threshold:cutoff={self.cutoff:g},at_least={self.at_least}"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state; the capacity model is asked once for everybody."""
        tables = survival_tables(self.capacity, states)
        return [self._allocation(table, state) for table, state in zip(tables, states, strict=True)]

    def _allocation(self, survival: NDArray[np.float64], state: State) -> Allocation:
        likely = survival >= self.cutoff
        wanted = int(likely.sum())
        spend = min(max(wanted, self.at_least), state.spendable)
        if spend == wanted:
            return Allocation(likely.sum(axis=1))
        return Allocation(np.bincount(most_likely_used(survival, spend), minlength=len(survival)))


def check_pace(pace: float) -> None:
    if not 0.0 < pace < math.inf:
        raise SettingError(f"The pace of evenly must be above 0; found {pace}. 1 spends evenly.")


@dataclass(frozen=True)
class Evenly:
    """The budget spread over the rounds left, each coupon where it is most likely used.

    With t rounds left the share 1 - (1 - 1/t)^pace of what remains is spent: 1/t of it at a pace of 1, more at a faster
    pace, everything in the last round.
    """

    capacity: CapacityModel
    pace: float = 1.0

    def __post_init__(self) -> None:
        check_pace(self.pace)

    @property
    def name(self) -> str:
        return f"evenly:pace={self.pace:g}"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state; the capacity model is asked once for everybody."""
        return _most_likely(self.capacity, states, [self._spend(state) for state in states])

    def _spend(self, state: State) -> int:
        kept = (1.0 - 1.0 / max(state.rounds_left, 1)) ** self.pace
        return math.ceil(state.remaining_budget * (1.0 - kept))


@dataclass(frozen=True, eq=False)
class AllAtLast:
    """Another rule until the last round; then everything, where it is most likely used."""

    capacity: CapacityModel
    rule: Policy

    @property
    def name(self) -> str:
        return f"{self.rule.name}, all at last"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state, asked in bulk."""
        last = [state.rounds_left <= 1 for state in states]
        ending = [state for state, now in zip(states, last, strict=True) if now]
        going_on = [(state, luck) for state, luck, now in zip(states, lucks, last, strict=True) if not now]
        spread = iter(_most_likely(self.capacity, ending, [state.remaining_budget for state in ending]))
        ruled = iter(ask_many(self.rule, [s for s, _ in going_on], [luck for _, luck in going_on]) if going_on else ())
        return [next(spread if now else ruled) for now in last]


def _most_likely(capacity: CapacityModel, states: Sequence[State], spends: Sequence[int]) -> list[Allocation]:
    """These spends (or what may be spent), each coupon where it is most likely used."""
    return [
        Allocation(np.bincount(most_likely_used(table, min(spend, state.spendable)), minlength=len(table)))
        for table, state, spend in zip(survival_tables(capacity, states), states, spends, strict=True)
    ]
