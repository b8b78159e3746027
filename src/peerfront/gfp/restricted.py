"""Planning within limits that keep estimates valid: few strata, and a floor of randomisation.

`restricted_plan` decides a round: what everybody is planned to get, and the exact chance of every number. `draw` then
draws lots and random numbers. `RestrictedPlanner` is the policy that does so in every round.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, fold
from peerfront.foundation.words import n_coupons, n_people
from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.floored_greedy import GroupFloors
from peerfront.gfp.greedy import greedy_at
from peerfront.gfp.planner import Planner
from peerfront.gfp.random_floor import PLANNED, RandomFloor
from peerfront.gfp.strata_plan import RandomPart, plan_strata
from peerfront.problem import Allocation, State

Numbers = NDArray[np.int64]
MOST_PEOPLE = 20_000
"""People up to whom restricted plans are made."""
_POINTS, _POINTS_IN_EPISODES = 60, 12  # spends tried where random numbers are given


@dataclass(frozen=True, eq=False)
class RestrictedPlan:
    """A round planned within strata, or with random numbers, or both."""

    planned: Numbers  # [people], before lots and random numbers; of a stratum with a lot, without the coupon drawn for
    label: Numbers | None  # [people], the stratum; None if there are none
    winners: Numbers  # [strata], people of each who get one more by lot
    floor: RandomFloor | None
    value: float
    """What the plan expects from here on, averaged over lots and random numbers."""
    values: Array
    """The same for every number of planned coupons that was tried; NaN for others."""
    is_best: bool
    """Whether no plan within these limits has a higher value (where nobody gets a random number)."""

    @property
    def lot_chance(self) -> Array:
        """The chance of everybody to get one more by lot, [people]."""
        if self.label is None:
            return np.zeros(len(self.planned))
        size = np.bincount(self.label, minlength=len(self.winners))
        return np.asarray((self.winners / np.maximum(size, 1))[self.label])

    def chances(self) -> Array:
        """The chance of everybody to get 0, 1, ... coupons, [people, numbers]."""
        by_lot = self.lot_chance
        most = int((self.planned + (by_lot > 0)).max(initial=0))
        if self.floor is not None:
            most = max(most, self.floor.most)
        chances = np.zeros((len(self.planned), most + 2))
        everybody = np.arange(len(self.planned))
        chances[everybody, self.planned] = 1.0 - by_lot
        chances[everybody, self.planned + 1] += by_lot
        chances = chances[:, : most + 1]
        if self.floor is not None:
            chances *= self.floor.kept
            chances[:, self.floor.least : self.floor.most + 1] += self.floor.chance
        return chances

    def draw(self, lots: Array, tickets: Array, start: float) -> "Drawn":
        """Draw lots and random numbers; uniforms of the people, [people] each, and one of the round."""
        coupons, by_lot = self.planned.copy(), self.lot_chance > 0
        if self.label is not None:
            for stratum in np.flatnonzero(self.winners).tolist():
                own = np.flatnonzero(self.label == stratum)
                coupons[own[np.argsort(lots[own], kind="stable")][: self.winners[stratum]]] += 1
        at_random = np.zeros(len(coupons), dtype=bool)
        if self.floor is not None:
            drawn = self.floor.drawn(tickets, start)
            at_random = drawn != PLANNED
            coupons = np.where(at_random, drawn, coupons)
        return Drawn(coupons, by_lot & ~at_random, at_random)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Coupons after lots and random numbers were drawn."""

    coupons: Numbers  # [people]
    by_lot: NDArray[np.bool_]  # [people]
    at_random: NDArray[np.bool_]  # [people]


def restricted_plan(
    tables: Tables,
    weights: Array,
    discount: float,
    *,
    spendable: int,
    most: int,
    least: int = 0,
    label: Numbers | None = None,
    chance: float = 0.0,
    floors: GroupFloors | None = None,
    in_episodes: bool = False,
    base: Array | None = None,
) -> RestrictedPlan:
    """Plan one frontier; `tables` are those of the people, `weights` [budget + 1, latent] and `base` as in `greedy`.

    Coupons differ only between people with different labels, where these are given. Everybody has at least this
    `chance` of each number from `least` to `most`.
    """
    people, budget = tables.people, len(weights) - 1
    if people > MOST_PEOPLE:
        raise SettingError(
            f"Strata and random numbers are possible for at most {n_people(MOST_PEOPLE)} waiting at once; found "
            f"{people:,}. Plan parts of the file, or leave them out."
        )
    floor = RandomFloor(chance, least, most) if chance > 0.0 else None
    random, brought, spends = RandomPart.none(), 0.0, np.arange(spendable + 1)
    spent, worth = spends, discount * weights[budget - spends]
    if floor is not None:
        random = floor.worst_cases(people)
        _check_enough(floor, random, people, spendable)
        tables, left, brought = floor.mixed(tables)
        spends = np.arange(most * people + 1)
        spent = np.minimum(np.round(floor.expected_spend(spends, people)).astype(np.int64), budget)
        whole = discount * weights[budget - spent]
        worth, constant = whole * left, (whole * (1.0 - left)).sum(axis=1)
    else:
        constant = np.zeros(len(spends))
    if base is not None:
        constant = constant + discount * base[budget - spent]
    if label is not None:
        best = plan_strata(
            tables, label, worth,
            most=most, least=least, floors=floors, random=random, available=spendable, quickly=in_episodes,
            besides=constant,
        )  # fmt: skip
        size = np.bincount(label, minlength=len(best.totals))
        each, winners = best.numbers(size)
        values = best.values + brought
        return RestrictedPlan(each[label], label, winners, floor, float(values[best.spend]), values, best.is_best)
    points = _POINTS_IN_EPISODES if in_episodes else _POINTS
    tried_spends = np.unique(np.linspace(least * people, len(worth) - 1, points).astype(np.int64)).tolist()
    coupons, found = greedy_at(tables, np.ascontiguousarray(worth[::-1]), 1.0, tried_spends, most, least)
    fits = np.array([random.suffices(row, spendable) for row in coupons])
    values = np.full(len(worth), np.nan)
    places = np.array(tried_spends)[fits]
    values[places] = found[fits] + constant[places] + brought
    best_spend = int(np.nanargmax(values))
    planned = coupons[tried_spends.index(best_spend)]
    nobody = np.zeros(1, np.int64)
    return RestrictedPlan(planned, None, nobody, floor, float(values[best_spend]), values, False)


def _check_enough(floor: RandomFloor, random: RandomPart, people: int, spendable: int) -> None:
    needed = int((random.coupons + random.planned * floor.least).max())
    if needed > spendable:
        raise SettingError(
            f"With a chance of at least {floor.chance:g} for each number from {floor.least} to {floor.most}, "
            f"{n_people(people)} need {n_coupons(needed)} for random numbers alone; {spendable:,} can be given out "
            "this round. Lower --randomise or --max-per-person, or raise the round's limits."
        )


def strata_of(covariates: Codes, columns: Sequence[int]) -> Numbers:
    """The stratum of everybody, counted from 0 in the order of their codes, [people]."""
    _, label = np.unique(covariates[:, list(columns)], axis=0, return_inverse=True)
    return np.asarray(label.reshape(-1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RestrictedPlanner:
    """The policy that plans every round within strata and with a floor of randomisation, as far as coupons last."""

    planner: Planner
    columns: tuple[int, ...] = ()
    """Columns of the covariates that form the strata; none: people may differ one by one."""
    chance: float = 0.0
    name: str = "gfp, restricted"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state; the models are evaluated once for everybody."""
        first = np.concatenate([[0], np.cumsum([len(state.frontier) for state in states])])
        covariates = np.concatenate([state.frontier.covariates for state in states])
        limits = self.planner.limits(states)
        tables = self.planner.tables(covariates, int(limits.most_per_person.max(initial=0)))
        return [
            self._allocate(
                state, luck, tables.take(slice(first[f], first[f + 1])),
                int(limits.most_per_person[f]), int(limits.least_per_person[f]),
            )
            for f, (state, luck) in enumerate(zip(states, lucks, strict=True))
        ]  # fmt: skip

    def _allocate(self, state: State, luck: Luck, tables: Tables, most: int, least: int) -> Allocation:
        people, spendable = len(state.frontier), state.spendable
        if not people or not spendable:
            return Allocation(np.zeros(people, np.int64))
        plan = restricted_plan(
            tables,
            self.planner.weights_with(state.rounds_left - 1)[: state.remaining_budget + 1],
            self.planner.discount,
            spendable=spendable,
            most=most,
            least=least,
            label=strata_of(state.frontier.covariates, self.columns) if self.columns else None,
            chance=_chance_that_lasts(self.chance, people, least, most, spendable),
            in_episodes=True,
        )
        uniforms = Luck(fold(luck.keys, np.arange(people + 1))).uniforms("lots within limits", 2)
        return Allocation(plan.draw(uniforms[:-1, 0], uniforms[:-1, 1], float(uniforms[-1, 0])).coupons)


def _chance_that_lasts(chance: float, people: int, least: int, most: int, spendable: int) -> float:
    """The chance of each number that coupons suffice for: late in a study there may be too few."""
    while chance > 0.0:
        if chance * (most - least + 1) <= 1.0:
            random = RandomFloor(chance, least, most).worst_cases(people)
            if int((random.coupons + random.planned * least).max()) <= spendable:
                return chance
        chance = chance / 2.0 if chance > 0.005 else 0.0
    return 0.0
