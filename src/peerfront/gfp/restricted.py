"""Planning within limits that keep estimates valid: few strata, and a floor of randomisation.

`restricted_plan` decides a round: what everybody is planned to get, and the exact chance of every number. `draw` then
draws lots and random numbers. `RestrictedPlanner` is the policy that does so in every round.

**Random numbers** (`RandomFloor`). With a floor p and K allowed numbers, a share K p of the people get a number drawn
evenly, the others their planned one. Tickets are made by systematic sampling, so that of n people p n get each number,
up to rounding, and the coupons needed hardly depend on luck; then tickets are shuffled. Everybody has chance p of each
number by ticket, exactly, and 1 - K p of the planned one. A planner that knows this sees other tables: with k planned,
a person leaves (1 - K p) T(k) + p sum_v T(v) uncovered on average, and brings (1 - K p) G(k) more than what the random
numbers bring.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.checked_calls import checked_late
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Remedy
from peerfront.foundation.randomness import Luck, fold
from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.blocks import greedy_at_in_blocks
from peerfront.gfp.floored_greedy import GroupFloors
from peerfront.gfp.planner import Planner
from peerfront.gfp.strata_plan import RandomPart, plan_strata
from peerfront.problem import Allocation, State

Numbers = NDArray[np.int64]
_DIGITS = 9  # decimals that masses of tickets are rounded to, so that 0.1 * 30 is 3
PLANNED = -1
"""The ticket of those who get their planned number."""
MOST_PEOPLE = 20_000
"""People up to whom restricted plans are made."""
_POINTS, _POINTS_IN_EPISODES = 60, 12  # spends tried where random numbers are given


@dataclass(frozen=True)
class RandomFloor:
    """The chance of each number from `least` to `most`, at least."""

    chance: float
    least: int
    most: int

    def __post_init__(self) -> None:
        if not 0.0 <= self.chance * self.n_numbers <= 1.0 + 1e-9:
            raise SettingError(
                "random_numbers.chance_too_high",
                chance=self.chance,
                numbers=self.n_numbers,
                least=self.least,
                most=self.most,
                highest=1.0 / self.n_numbers,
                lower=Remedy("randomise"),
                fewer=Remedy("max_per_person"),
            )

    @property
    def n_numbers(self) -> int:
        return self.most - self.least + 1

    @property
    def kept(self) -> float:
        """The chance that somebody gets their planned number in any case."""
        return max(1.0 - self.chance * self.n_numbers, 0.0)

    def tickets(self, people: int, start: float) -> Numbers:
        """How many people get each number by ticket, and how many their planned one, [numbers + 1]; 0 <= start < 1."""
        counts: Numbers = np.diff(np.ceil(self._ends(people) - start)).astype(np.int64)
        return counts

    def worst_cases(self, people: int) -> RandomPart:
        """What tickets may take, for every start that makes a difference."""
        starts = np.unique(np.append(np.round(self._ends(people) % 1.0, _DIGITS) % 1.0, 0.0))
        middles = (starts + np.append(starts[1:], 1.0)) / 2.0
        counts = np.unique(np.array([self.tickets(people, start) for start in middles]), axis=0)
        return RandomPart(counts[:, :-1] @ np.arange(self.least, self.most + 1), counts[:, -1].copy())

    def drawn(self, order: Array, start: float) -> Numbers:
        """Everybody's ticket: a number, or PLANNED; `order` [people] are uniforms that shuffle."""
        numbers = np.append(np.arange(self.least, self.most + 1), PLANNED)
        tickets = np.empty(len(order), np.int64)
        tickets[np.argsort(order, kind="stable")] = np.repeat(numbers, self.tickets(len(order), start))
        return tickets

    def expected_spend(self, planned: Numbers, people: int) -> Array:
        """Coupons that go out on average for each number of planned ones, [spends]."""
        at_random = self.chance * people * float(np.arange(self.least, self.most + 1).sum())
        return np.asarray(self.kept * planned + at_random, dtype=np.float64)

    def mixed(self, tables: Tables) -> tuple[Tables, Array, float]:
        """Tables of the planned coupons, what the random numbers leave uncovered [latent], and what they bring."""
        levels = np.minimum(np.arange(self.least, self.most + 1), tables.coupons)
        transform = tables.transform()  # [people, coupons + 1, latent]
        random = self.chance * transform[:, levels].sum(axis=1, keepdims=True)
        mixture = np.maximum(self.kept * transform + random, 1e-300)
        covers = np.clip(1.0 - mixture[:, 1:] / mixture[:, :-1], 0.0, 1.0)
        left: Array = np.exp(np.log(mixture[:, 0]).sum(axis=0))
        brought = np.concatenate([np.zeros((tables.people, 1)), np.cumsum(tables.gains, axis=1)], axis=1)
        value = self.chance * float(brought[:, levels].sum())
        return Tables(np.ascontiguousarray(self.kept * tables.gains), np.ascontiguousarray(covers)), left, value

    def _ends(self, people: int) -> Array:
        """Where the tickets of each number end on a line as long as the people are many, [numbers + 2]."""
        shares = np.append(np.arange(self.n_numbers + 1) * self.chance, 1.0)
        return np.asarray(np.round(np.minimum(shares, 1.0) * people, _DIGITS))


@dataclass(frozen=True, eq=False)
class RestrictedPlan:
    """A round planned within strata, or with random numbers, or both."""

    planned: Numbers  # [people], before lots and random numbers; of a stratum with a lot, without the coupon drawn for
    label: Numbers | None  # [people], the stratum; None if there are none
    winners: Numbers  # [strata], people of each who get more by lot
    more: Numbers  # [strata], how many more
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
        won = self.planned + (0 if self.label is None else self.more[self.label] * (by_lot > 0))
        most = int(won.max(initial=0))
        if self.floor is not None:
            most = max(most, self.floor.most)
        chances = np.zeros((len(self.planned), most + 1))
        everybody = np.arange(len(self.planned))
        chances[everybody, self.planned] = 1.0 - by_lot
        chances[everybody, won] += by_lot
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
                coupons[own[np.argsort(lots[own], kind="stable")][: self.winners[stratum]]] += self.more[stratum]
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
        raise SettingError("random_numbers.too_many_people", most=MOST_PEOPLE, people=people)
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
        each, winners, more = best.numbers(size)
        values = best.values + brought
        value = best.value + brought
        return RestrictedPlan(each[label], label, winners, more, floor, value, values, best.is_best)
    points = _POINTS_IN_EPISODES if in_episodes else _POINTS
    tried_spends = np.unique(np.linspace(least * people, len(worth) - 1, points).astype(np.int64)).tolist()
    coupons, tried_values = greedy_at_in_blocks(
        tables, np.ascontiguousarray(worth[::-1]), 1.0, tried_spends, most, least
    )
    fits = np.array([random.suffices(row, spendable) for row in coupons])
    values = np.full(len(worth), np.nan)
    places = np.array(tried_spends)[fits]
    values[places] = tried_values[fits] + constant[places] + brought
    best_spend = int(np.nanargmax(values))
    planned = coupons[tried_spends.index(best_spend)]
    nobody = np.zeros(1, np.int64)
    return RestrictedPlan(planned, None, nobody, nobody, floor, float(values[best_spend]), values, False)


def _check_enough(floor: RandomFloor, random: RandomPart, people: int, spendable: int) -> None:
    needed = int((random.coupons + random.planned * floor.least).max())
    if needed > spendable:
        raise SettingError(
            "random_numbers.too_few_coupons",
            chance=floor.chance,
            least=floor.least,
            most=floor.most,
            people=people,
            needed=needed,
            spendable=spendable,
            lower=Remedy("randomise"),
            fewer=Remedy("max_per_person"),
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

    @checked_late
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
