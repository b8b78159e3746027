"""States, allocations and policies (Section 2): what a policy sees, and what it may do.

The state (r, F) is what is left of the budget and who may refer now, within the rules of the study; the action k says
how many coupons each of them gets; a policy is pi: state -> action, and one function says whether it is feasible.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.checked_calls import check_types, checked_settings, checked_state
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import InfeasibleAllocation, SettingError
from peerfront.foundation.messages import Message, Remedy, n_coupons, n_people, note
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import at_least, check_fields, one_or_more, optional

# The largest studies and simulations that are accepted. More is a typing error, or would fill the memory.
MOST_COUPONS = 10_000_000
"""Coupons of a whole study."""
MOST_PEOPLE = 10_000_000
"""People who wait for coupons at once."""
MOST_COUPONS_FITTED = 2_000_000
"""Coupons that a fit prepares for: its value has an entry for each number of them."""
MOST_ROUNDS = 10_000
"""Rounds of a simulated study."""
MOST_ROUNDS_LEFT = 104
"""Rounds that are left of a real study: two years of weeks."""
MOST_EPISODES = 1_000_000
"""Simulated studies."""
MOST_DRAWS = 10_000
"""Draws of a world in one comparison."""
MOST_EACH = 50_000
"""Coupons for one person that policies reckon with: they keep a chance of use for each, for thousands of people."""
MOST_SIDE_BY_SIDE = {"rounds": 50_000_000, "people": 20_000_000, "coupons": 20_000_000}
"""Episodes times rounds, first recruits or coupons that are played side by side."""
_TOO_MANY = {"rounds": "study_size.rounds", "people": "study_size.people", "coupons": "study_size.coupons"}


@checked_settings
@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one study. The defaults are the paper's (Section 5.3): 100 coupons, 10 people, 50 rounds.

    >>> pf.Rules(budget=60, people=8, rounds=6, max_per_person=3).budget
    60
    """

    budget: int = 100
    """Coupons for the whole study, B."""
    people: int = 10
    """People on the first frontier, |F0|."""
    rounds: int = 50
    """Rounds after which the study ends, whatever is left."""
    max_per_person: int | None = None
    """Most coupons one person may get in a round; None for no cap."""
    max_per_round: int | None = None
    """Most coupons that may be given out in a round; None for no cap."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            budget=at_least(0, MOST_COUPONS),
            people=at_least(0, MOST_PEOPLE),
            rounds=at_least(1, MOST_ROUNDS),
            max_per_person=optional(one_or_more),
            max_per_round=optional(one_or_more),
        )


def check_size(episodes: int, **each: int) -> None:
    """Refuse to play more episodes side by side than the memory holds; `each` is a number of things in one episode."""
    for what, number in each.items():
        most = MOST_SIDE_BY_SIDE[what]
        if episodes * number > most:
            total = episodes * number
            raise SettingError(_TOO_MANY[what], episodes=episodes, each=number, number=total, most=most)


def check_caps(*caps: int | None) -> None:
    """Refuse to let one person get more coupons than policies reckon with; None is no cap."""
    each = min(cap for cap in caps if cap is not None)
    if each > MOST_EACH:
        raise SettingError("study_size.for_one_person", coupons=each, most=MOST_EACH, limit=Remedy("max_per_person"))


@checked_state
@dataclass(frozen=True, slots=True)
class Frontier:
    """The people who may refer this round, F = {x_1, ..., x_n}: a multiset, since two people may share a row.

    >>> codes = pf.make_world("bridge").population(pf.named_luck(("today",), 4))
    >>> len(pf.Frontier.of(codes))
    4
    """

    ids: NDArray[Any]  # [people], of any kind
    covariates: Codes  # [people, fields]
    left: NDArray[np.int64] | None = None  # [people]
    """Acquaintances who have not taken part yet, where somebody asked; -1 where it is not known."""

    def __post_init__(self) -> None:
        if not (isinstance(self.ids, np.ndarray) and isinstance(self.covariates, np.ndarray) and self.left is None):
            check_types(self)
        if self.left is not None and len(self.left) != len(self.ids):
            raise SettingError("frontier.other_acquaintances", ids=len(self.ids), numbers=len(self.left))
        if len(self.ids) != len(self.covariates):
            raise SettingError("frontier.other_rows", ids=len(self.ids), rows=len(self.covariates))

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, covariates: Codes) -> "Frontier":
        """A frontier whose people are just numbered."""
        return cls(np.arange(len(covariates)), covariates)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a study has seen before this round, first round first; for policies that learn while they recruit."""

    referrers: Codes  # [people, fields], everybody who could refer
    coupons: NDArray[np.int64]  # [people]
    recruits: NDArray[np.int64]  # [people]
    parents: Codes  # [recruits, fields]
    children: Codes  # [recruits, fields]


@checked_state
@dataclass(frozen=True, slots=True)
class State:
    """The state (r, F) of the paper, with the round and the rules that limit what may be done.

    >>> frontier = pf.Frontier.of(pf.make_world("bridge").population(pf.named_luck(("today",), 4)))
    >>> pf.State(40, frontier, rules=pf.Rules(max_per_person=3)).spendable
    12
    """

    remaining_budget: int
    frontier: Frontier
    round: int = 0
    rules: Rules = Rules()
    seen: Seen | None = None
    """What this study has seen so far; None unless a policy asks for it (`learns = True`), or nothing is known."""

    def __post_init__(self) -> None:
        if not (type(self.remaining_budget) is int and type(self.frontier) is Frontier and type(self.rules) is Rules):
            check_types(self)

    @property
    def rounds_left(self) -> int:
        """Rounds that may still be played, this one included."""
        return max(self.rules.rounds - self.round, 0)

    @property
    def is_terminal(self) -> bool:
        """No further referral can happen: V(0, F) = V(r, {}) = 0, and nothing after the last round."""
        return self.remaining_budget == 0 or len(self.frontier) == 0 or self.rounds_left == 0

    @property
    def place(self) -> Message:
        """Which state it is, for messages."""
        left = n_coupons(int(self.remaining_budget))
        return note("policy_failed.in_state", round=self.round, left=left, people=n_people(len(self.frontier)))

    @property
    def most_per_person(self) -> int:
        """Coupons one person may get this round: the budget, or the caps where they are tighter."""
        most = self.spendable_by_round
        return most if self.rules.max_per_person is None else min(most, self.rules.max_per_person)

    @property
    def spendable_by_round(self) -> int:
        most = self.remaining_budget
        return most if self.rules.max_per_round is None else min(most, self.rules.max_per_round)

    @property
    def spendable(self) -> int:
        """The largest feasible round budget s: all caps together."""
        if self.rules.max_per_person is None:
            return self.spendable_by_round if len(self.frontier) else 0
        return min(self.spendable_by_round, self.rules.max_per_person * len(self.frontier))


def place_of_one(states: Sequence[State]) -> Message:
    """Where one of these states stands, for messages; nobody knows which."""
    if len(states) == 1:
        return states[0].place
    return note("policy_failed.in_states", n=len(states), round=states[0].round)


@checked_state
@dataclass(frozen=True, slots=True)
class Allocation:
    """How many coupons each person on the frontier gets, in the frontier's order; a copy of what it is made of.

    >>> pf.Allocation.of([2, 0, 1]).spend
    3
    """

    coupons: NDArray[Any]  # [people], whole numbers: `check_feasible` refuses others, and names the policy

    def __post_init__(self) -> None:
        if not isinstance(self.coupons, np.ndarray):
            check_types(self)
        object.__setattr__(self, "coupons", self.coupons.copy())

    @classmethod
    def of(cls, coupons: Sequence[float] | NDArray[Any]) -> "Allocation":
        array = np.asarray(coupons)
        # Others are left as they are, for `check_feasible` to refuse: changing them would hide a policy's mistake.
        fits = array.dtype.kind in "iu" and np.can_cast(array.dtype, np.int64)
        return cls(array.astype(np.int64, copy=False) if fits else array)

    @property
    def spend(self) -> int:
        """The round budget s = sum of k."""
        return int(self.coupons.sum())


def check_feasible(allocation: Allocation, state: State, policy: str) -> None:
    """Raise `InfeasibleAllocation`, naming the policy and the excess. Nothing is ever clipped."""
    count = len(state.frontier)

    def refuse(code: str, **values: object) -> NoReturn:
        raise InfeasibleAllocation(policy, note(code, **values), state.place)

    if not isinstance(allocation, Allocation):
        refuse("allocation_fault.no_allocation", kind=type(allocation).__name__)
    coupons, rules = allocation.coupons, state.rules
    if not isinstance(coupons, np.ndarray) or coupons.shape != (count,):
        refuse("allocation_fault.other_shape", shape=str(np.shape(coupons)), people=count)
    if coupons.dtype.kind not in "iu":
        refuse("allocation_fault.no_whole_numbers", kind=str(coupons.dtype))
    if not count:
        return
    if coupons.min() < 0:
        person = int(coupons.argmin())
        refuse("allocation_fault.negative", person=person, coupons=int(coupons[person]))
    spend, budget = sum(coupons.tolist()), state.remaining_budget  # Python's numbers: those of NumPy overflow
    if spend > budget:
        refuse("allocation_fault.above_budget", spend=spend, budget=budget, excess=spend - budget)
    if rules.max_per_round is not None and spend > rules.max_per_round:
        cap = rules.max_per_round
        refuse("allocation_fault.above_round_cap", spend=spend, cap=cap, excess=spend - cap)
    if rules.max_per_person is not None and coupons.max() > rules.max_per_person:
        person, cap = int(coupons.argmax()), rules.max_per_person
        most = int(coupons[person])
        refuse("allocation_fault.above_person_cap", person=person, coupons=most, cap=cap, excess=most - cap)


class Policy(Protocol):
    """Anything with a name and a method `allocate`: it sees a state and returns a feasible allocation.

    `luck` has one row, keyed by the episode and the round; a policy that needs no chance ignores it.

    >>> class EverybodyOne:
    ...     name = "one each"
    ...
    ...     def allocate(self, state, luck):
    ...         people = len(state.frontier)
    ...         return pf.Allocation.of([int(n < state.remaining_budget) for n in range(people)])
    >>> played = pf.rollout(pf.make_world("bridge"), EverybodyOne(), pf.Rules(20, 5), pf.named_luck(("one",), 10))
    >>> bool(played.total_recruits.max() <= 20)
    True
    """

    @property
    def name(self) -> str: ...

    def allocate(self, state: State, luck: Luck) -> Allocation: ...


@runtime_checkable
class BulkPolicy(Protocol):
    """A policy that can also allocate in many states at once; rollouts then call it once per round."""

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> Sequence[Allocation]: ...
