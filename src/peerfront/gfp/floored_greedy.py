"""Algorithm 1 with floors: the mean number of coupons of some groups is at least a share of everybody's mean.

With s coupons for n people, a floor of share f on a group of n_g people asks for ceil(f * n_g * s / n) coupons in the
group. For each spend the coupons go first to the best gains among people of groups that lack some, then freely; the
best spend wins, as in Algorithm 1. Without floors, or where the plan meets them anyway, it is the plan of `greedy`, to
the last bit. Arrays of the compiled loop are those of `greedy_kernels`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.greedy import GreedyPlan, greedy, twins
from peerfront.gfp.greedy_kernels import marginal_gain, sift_down, sift_up
from peerfront.gfp.lottery import measured, uncovered_by

MOST_PEOPLE = 20_000
"""People up to whom plans with floors are made."""
_WHOLE_CURVE = 400  # coupons up to which every spend is tried
_MOST_WORK = 2_000_000  # people x spends tried
_POINTS = 25  # spends tried in a larger round
_SMALL = 200  # people x coupons each up to which an integer program is always tried where groups overlap
_ROUNDING = 1e-9
Lines = tuple[NDArray[np.int64], NDArray[np.int64]]  # previous and next twin, as `greedy.twins` gives them


@dataclass(frozen=True, slots=True, eq=False)
class GroupFloors:
    """Groups that may overlap, and the least share of everybody's mean coupons that each of them gets."""

    members: NDArray[np.bool_]  # [floors, people]
    shares: Array  # [floors], above 0 and at most 1

    def __post_init__(self) -> None:
        if self.members.ndim != 2 or len(self.members) != len(self.shares):
            raise SettingError("plan_floors.other_groups", floors=len(self.shares), shape=str(self.members.shape))
        if not ((self.shares > 0.0) & (self.shares <= 1.0)).all():
            raise SettingError("plan_floors.no_share", shares=self.shares.tolist())

    def needed(self, spend: int) -> NDArray[np.int64]:
        """The fewest coupons that each group gets of `spend`, [floors]."""
        people = max(self.members.shape[1], 1)
        exact = self.shares * self.members.sum(axis=1) * (spend / people)
        return np.ceil(exact - _ROUNDING * np.maximum(exact, 1.0)).astype(np.int64)

    def met(self, coupons: NDArray[np.int64]) -> bool:
        """Whether an allocation keeps every floor."""
        return bool((self.members @ coupons >= self.needed(int(coupons.sum()))).all())


@dataclass(frozen=True, slots=True, eq=False)
class FlooredPlan:
    """The best plan that keeps the floors, and the best one without them."""

    plan: GreedyPlan
    free: GreedyPlan
    """The plan without floors."""

    @property
    def cost(self) -> float:
        """What the floors cost, in recruits by the plan's own value; 0 where the plan meets them anyway."""
        return max(self.free.value - self.plan.value, 0.0)


def greedy_with_floors(
    tables: Tables,
    weights: Array,
    discount: float,
    floors: GroupFloors,
    *,
    spendable: int | None = None,
    most_per_person: int | None = None,
    least_per_person: int = 0,
    spends: Sequence[int] | None = None,
    base: Array | None = None,
) -> FlooredPlan:
    """Plan one frontier with floors; the other arguments are those of `greedy`.

    `spends` are the numbers of coupons to try (None: all of a small round, some of a large one, and always those of
    the plan without floors and of everybody's least).
    """
    people, budget = tables.people, len(weights) - 1
    if people > MOST_PEOPLE:
        raise SettingError("plan_floors.too_many_people", most=MOST_PEOPLE, people=people)
    limits = {"spendable": spendable, "most_per_person": most_per_person, "least_per_person": least_per_person}
    free = greedy(tables, weights, discount, every_spend=budget <= _WHOLE_CURVE, base=base, **limits)  # type: ignore[arg-type]
    if spends is None and floors.met(free.coupons):
        return FlooredPlan(free, free)
    most = budget if most_per_person is None else most_per_person
    largest, start = len(free.values) - 1, least_per_person * people
    tried = _spends(people, start, largest, free.spend) if spends is None else sorted(set(spends))
    lines = _twins(tables, floors)
    values = np.full(largest + 1, np.nan)
    best: tuple[float, NDArray[np.int64]] | None = None
    for spend in tried:
        if not start <= spend <= largest:
            raise SettingError("plan_floors.no_such_spend", spend=spend, least=start, most=largest)
        worth = np.ascontiguousarray(discount * weights[budget - spend], dtype=np.float64)
        plan = _spend(tables, worth, floors, lines, spend, most, least_per_person)
        if plan is None:
            continue
        if base is not None:
            plan = plan[0] + discount * float(base[budget - spend]), plan[1]
        values[spend] = plan[0]
        if best is None or plan[0] > best[0]:
            best = plan
    if best is None:
        raise SettingError("plan_floors.cannot_be_met", least=tried[0], most=tried[-1])
    value, coupons = best
    return FlooredPlan(GreedyPlan(coupons, int(coupons.sum()), value, values), free)


def _spends(people: int, start: int, largest: int, best: int) -> list[int]:
    if largest <= _WHOLE_CURVE and people * (largest - start + 1) <= _MOST_WORK:
        return list(range(start, largest + 1))
    spread = np.linspace(start, largest, _POINTS).astype(np.int64)
    near = np.linspace(0.5 * best, 1.5 * best, _POINTS).astype(np.int64)  # floors move the best spend a little
    return [int(spend) for spend in np.unique(np.clip([*spread, *near, best], start, largest))]


def _twins(tables: Tables, floors: GroupFloors) -> Lines:
    """People with the same rows in the same groups."""
    rows = np.concatenate([tables.gains, floors.members.T.astype(np.float64)], axis=1)
    return twins(Tables(np.ascontiguousarray(rows), tables.covers))


def _spend(
    tables: Tables, worth: Array, floors: GroupFloors, lines: Lines, spend: int, most: int, least: int
) -> tuple[float, NDArray[np.int64]] | None:
    """Value and coupons of one spend; None if the floors cannot be met with it."""
    plan = _hand_out(tables, worth, floors.members, floors.needed(spend), lines, spend, most, least)
    overlap = spend > least * tables.people and bool((floors.members.sum(axis=0) > 1).any())
    if not overlap or (plan is not None and tables.people * most > _SMALL):
        return plan
    for members, number in _shares_of_patterns(tables, worth, floors, lines, spend, most, least):
        other = _hand_out(tables, worth, members, number, lines, spend, most, least)
        if plan is None or (other is not None and other[0] > plan[0]):
            plan = other
    return plan


def _hand_out(
    tables: Tables,
    worth: Array,
    members: NDArray[np.bool_],
    needed: NDArray[np.int64],
    lines: Lines,
    spend: int,
    most: int,
    least: int,
) -> tuple[float, NDArray[np.int64]] | None:
    """First to groups that lack coupons, then freely: value and coupons; None if there are too few for the groups."""
    coupons, left, reward = np.full(tables.people, least, dtype=np.int64), np.ones(tables.latent), 0.0
    for person in range(tables.people if least else 0):
        for level in range(min(least, tables.coupons)):
            reward += float(tables.gains[person, level])
            left *= 1.0 - tables.covers[person, level]
    number, lacking = spend - least * tables.people, needed - members @ coupons
    for free in (False, True):
        number, reward = hand_out(
            tables.gains, tables.covers, worth, number, most, members, lacking, free, *lines, coupons, left, reward
        )
        if (lacking > 0).any():
            return None
    for each, uncovered in zip(worth.tolist(), left.tolist(), strict=True):
        reward += each * (1.0 - uncovered)
    return reward, coupons


def _shares_of_patterns(
    tables: Tables, worth: Array, floors: GroupFloors, lines: Lines, spend: int, most: int, least: int
) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
    """How many coupons people get who are in the same groups, where groups overlap: these people, and their coupons.

    Best gains first may use up the coupons before people who are in several groups have their turn. An integer program
    divides them instead, each coupon at its worth by the prices of the plan without floors (see `lottery`).
    Empty if nothing meets all floors.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    nobody = floors.members[:0]
    free = _hand_out(tables, worth, nobody, np.zeros(0, np.int64), lines, spend, most, least)
    assert free is not None, "there is no floor"
    patterns, of = np.unique(floors.members, axis=1, return_inverse=True)  # [floors, patterns]
    size, of = np.bincount(of.reshape(-1)), of.reshape(-1)
    measures = measured(tables, worth, uncovered_by(tables, np.arange(tables.people), free[1]))[:, least:most]
    worths, pattern = [], []
    for number, people in enumerate(size.tolist()):
        best = np.sort(measures[of == number].reshape(-1))[::-1]
        beyond = people * (most - least) - len(best)  # coupons after those of the tables bring nothing
        best = np.concatenate([best[:spend], np.zeros(min(beyond, spend))])
        worths.append(best)
        pattern.append(np.full(len(best), number))
    of_coupon = np.concatenate(pattern)
    rows = np.concatenate([patterns[:, of_coupon], np.ones((1, len(of_coupon)))])
    needed = np.append(floors.needed(spend) - least * floors.members.sum(axis=1), spend - least * tables.people)
    solved = milp(
        -np.concatenate(worths),
        integrality=np.ones(len(of_coupon), np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(csr_array(rows), needed, np.append(np.full(len(patterns), np.inf), needed[-1])),
    )
    if not solved.success:
        return []
    given = np.bincount(of_coupon, weights=np.round(solved.x), minlength=len(size)).astype(np.int64)
    return [(np.arange(len(size))[:, None] == of, given + least * size)]


# ---- the compiled loop -----------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _may_get(members: NDArray[np.bool_], lacking: NDArray[np.int64], free: bool, person: int) -> bool:
    lacks = free
    for group in range(len(lacking)):
        lacks |= lacking[group] > 0 and members[group, person]
    return lacks


@njit(cache=True, nogil=True)
def hand_out(
    chance: Array,
    covers: Array,
    worth: Array,
    number: int,
    most: int,
    members: NDArray[np.bool_],
    lacking: NDArray[np.int64],
    free: bool,
    previous_twin: NDArray[np.int64],
    next_twin: NDArray[np.int64],
    coupons: NDArray[np.int64],
    left: Array,
    reward: float,
) -> tuple[int, float]:
    """Give up to `number` coupons, one by one, to the largest marginal gain.

    Returns how many are left, and `reward` with the expected recruits of those given added to it.
    Unless `free`, only people of groups that are `lacking` coupons get some, until none is. `members` is [groups,
    people]. Writes `coupons`, `left` and `lacking`. Twins must be in the same groups.
    """
    people = len(chance)
    heap_gains, heap_persons = np.empty(people), np.empty(people, np.int64)
    fresh = np.zeros(people, np.int64)
    size, step = 0, 0
    for i in range(people):
        before = previous_twin[i]
        if coupons[i] < most and (before < 0 or coupons[before] > coupons[i]) and _may_get(members, lacking, free, i):
            heap_gains[size] = marginal_gain(chance, covers, worth, left, i, coupons[i])
            heap_persons[size] = i
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap_gains, heap_persons, size, at)
    while number > 0 and size > 0:
        person = heap_persons[0]
        given = coupons[person]
        eligible = _may_get(members, lacking, free, person)
        if eligible and fresh[person] != step:
            heap_gains[0] = marginal_gain(chance, covers, worth, left, person, given)
            fresh[person] = step
            sift_down(heap_gains, heap_persons, size, 0)
            continue
        stays = eligible
        if eligible:
            if given < chance.shape[1]:
                reward += chance[person, given]
                for j in range(len(left)):
                    left[j] *= 1.0 - covers[person, given, j]
            coupons[person] = given + 1
            for group in range(len(lacking)):
                if members[group, person]:
                    lacking[group] -= 1
            number, step = number - 1, step + 1
            before = previous_twin[person]
            stays = given + 1 < most and not (before >= 0 and coupons[before] == given + 1)
        if not stays:
            size -= 1
            heap_gains[0], heap_persons[0] = heap_gains[size], heap_persons[size]
        if size > 1:
            sift_down(heap_gains, heap_persons, size, 0)
        following = next_twin[person]
        if eligible and following >= 0 and coupons[following] == given:
            heap_gains[size] = marginal_gain(chance, covers, worth, left, following, given)
            heap_persons[size] = following
            fresh[following] = step
            size += 1
            sift_up(heap_gains, heap_persons, size - 1)
    return number, reward
