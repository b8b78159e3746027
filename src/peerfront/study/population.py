"""A population that runs out: read its size from an order, and plan and simulate with it.

`with_population` adapts a fit and the people who wait to a population of known size: responses allow for how many
acquaintances are left now (`models.depletion`), and simulated worlds go on running out. If people who wait say how many
acquaintances they have left, the answer becomes one more field, which plans, reasons and lots use as any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from peerfront.data.read.answers import MOST_KNOWN
from peerfront.foundation.covariates import UNKNOWN, Codes, Field, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, Remedy, n_people, note
from peerfront.foundation.networks import Rows
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.settings import whole_number
from peerfront.foundation.typed_values import typed_number
from peerfront.gfp.story import PersonView, Story
from peerfront.gfp.surrogate import FrozenSurrogate, LaplaceNetwork
from peerfront.models.depletion import Depleted, DepletingWorld, StillUnasked
from peerfront.models.finite_population import USUAL_ACQUAINTANCES, Array, Population, popularity_of, usual_sizes
from peerfront.problem import Frontier, World
from peerfront.study.artifacts import Fit
from peerfront.study.floors import split_group
from peerfront.study.orders import PlanOrder

_POPULATION = Remedy("population")
LEFT = "acquaintances left"
"""The field of what staff asked: acquaintances who have not taken part."""
MOST_LEFT = 1_000
"""Acquaintances left above which the answer no longer matters; more count as this number."""
_LEAST_PART = 0.01  # least part of a person that a later recruit counts as
_GRID = 201
_DRAWN = 4_000  # recruits drawn to see in which groups people's acquaintances are


@dataclass(frozen=True, eq=False)
class _Group:
    """One part of the population, as the order gives it."""

    text: str
    place: tuple[str, str] | None  # field and category
    size: int
    already: int | None


def read_population(order: PlanOrder, fit: Fit, frontier: Frontier) -> Population | None:
    """Read the order's population and check it against the study; None if the order has none.

    One number is the whole population; otherwise every group of one field is written FIELD=CATEGORY:PEOPLE, perhaps
    with :ALREADY, the people of that group who have taken part.
    """
    if not order.population:
        return None
    groups = [_read(text, fit.schema) for text in order.population]
    _by_group(groups, fit.schema, 0)  # refuse incomplete groups before their sum is judged
    people = fit.scores.get("people")
    in_study = people if isinstance(people, int) else 0
    counts = [group.already for group in groups if group.already is not None]
    if counts and len(counts) < len(groups):
        raise SettingError("populations.some_already", population=_POPULATION)
    total = sum(counts) if counts else order.already
    if counts and order.already not in (None, total):
        raise SettingError("populations.already_twice", already=Remedy("already", order.already), total=total)
    counted = max(in_study, len(frontier)) if total is None else total
    whole = sum(group.size for group in groups)
    if counted < len(frontier):
        raise SettingError("populations.fewer_than_waiting", waiting=len(frontier), already=Remedy("already", counted))
    if whole < counted:
        raise SettingError("populations.too_small", people=n_people(whole), already=counted, population=_POPULATION)
    if order.acquaintances is not None and order.acquaintances >= whole:
        known = Remedy("acquaintances", order.acquaintances)
        raise SettingError("populations.knows_too_many", people=n_people(whole), acquaintances=known)
    field, sizes, already = _by_group(groups, fit.schema, counted)
    before = already * (min(in_study, counted) / counted if counted else 0.0) / 2.0
    network_sizes = _network_sizes(fit, order)
    return Population(
        sizes=sizes,
        already=already,
        before=before,
        field=field,
        mixing=None if field is None else _mixing(fit, frontier, field, sizes),
        acquaintances=network_sizes,
        popularity=popularity_of(np.array(network_sizes, dtype=np.float64)),
    )


def population_total(order: PlanOrder, schema: Schema) -> int | None:
    """People in the order's population; None if the order has none."""
    return sum(_read(text, schema).size for text in order.population) or None


def _network_sizes(fit: Fit, order: PlanOrder) -> tuple[int, ...]:
    """Network sizes: as the order says, as in the study, or a usual one."""
    if order.acquaintances is not None:
        return usual_sizes(order.acquaintances)
    stored = fit.scores.get("network_sizes")
    if isinstance(stored, list) and stored and all(type(each) is int and 0 < each <= MOST_KNOWN for each in stored):
        return tuple(stored)
    # People who used all coupons knew others, too: where people had many coupons, they knew more than is usual.
    return usual_sizes(max(USUAL_ACQUAINTANCES, 2 * max(fit.most_shown or 0, fit.rules.max_per_person or 0)))


def _read(text: str, schema: Schema) -> _Group:
    if "=" not in text:
        return _Group(text, None, _size(text, text), None)
    head, _, last = text.rpartition(":")
    group, colon, middle = head.rpartition(":")
    # Of two numbers at the end, the last says how many have taken part; a category may contain colons.
    if colon and "=" in group and typed_number(middle) is not None and typed_number(last) is not None:
        size = _size(middle, text)
        return _Group(text, split_group(group, schema), size, whole_number("already", float(last), 0, size))
    if not head:
        raise SettingError("populations.written", text=text, population=_POPULATION)
    return _Group(text, split_group(head, schema), _size(last, text), None)


def _size(number: str, text: str) -> int:
    size = typed_number(number)
    if size is None:
        raise SettingError("populations.written", text=text, population=_POPULATION)
    return whole_number("population", size, 1)


def _by_group(groups: Sequence[_Group], schema: Schema, counted: int) -> tuple[int | None, Array, Array]:
    """The field, the sizes of its categories and how many of each have taken part."""
    if len(groups) == 1 and groups[0].place is None:
        return None, np.array([float(groups[0].size)]), np.array([float(counted)])
    places = [group.place for group in groups]
    names = {place[0] for place in places if place is not None}
    if None in places or len(names) > 1:
        raise SettingError("populations.mixed", groups=[group.text for group in groups], population=_POPULATION)
    field = schema.names.index(names.pop())
    by_category = {place[1]: group for place, group in zip(places, groups, strict=True) if place is not None}
    if len(by_category) < len(groups):
        raise SettingError("populations.group_twice", population=_POPULATION)
    categories = schema.fields[field].categories
    absent = [category for category in categories if category not in by_category]
    if absent:
        raise SettingError("populations.no_size", field=schema.names[field], groups=absent, population=_POPULATION)
    sizes = np.array([float(by_category[category].size) for category in categories])
    already = [by_category[category].already for category in categories]
    if None not in already:
        return field, sizes, np.array(already, dtype=np.float64)
    return field, sizes, counted * sizes / sizes.sum()


def _mixing(fit: Fit, frontier: Frontier, field: int, sizes: Array) -> Array:
    """The share of each group among the recruits of each group, [groups + 1, groups]: drawn from the generator."""
    groups = len(sizes)
    people = frontier.covariates[np.arange(max(_DRAWN, groups * 50)) % len(frontier)].copy()
    people[:, field] = np.arange(len(people)) % (groups + 1)
    people[people[:, field] == groups, field] = UNKNOWN
    recruits = fit.offspring.sample(people, named_luck(("mixing", field), len(people)))
    counts = np.tile(sizes / sizes.sum(), (groups + 1, 1))  # one recruit like the population, where nobody is drawn
    there = recruits[:, field] >= 0
    own = np.where(people[:, field] < 0, groups, people[:, field])
    np.add.at(counts, (own[there], recruits[there, field]), 1.0)
    mixing: Array = counts / counts.sum(axis=1, keepdims=True)
    return mixing


@dataclass(frozen=True, eq=False)
class ReachableShares:
    """The share of would-be recruits who can still be recruited, by the number recruited since: for forecasts by date.

    It is more than the share of people left, because people bring others instead of those who have taken part.
    """

    population: Population
    reachable: Array  # [grid], at shares of acquaintances left from 0 to 1

    def __call__(self, recruited: NDArray[np.int64], study: NDArray[np.int64] | None = None) -> Array:
        population = self.population
        come = recruited[:, None] * population.sizes / population.sizes.sum()
        left = population.shares_of_people(population.shares(come))[:, -1]
        reachable = np.interp(left, np.linspace(0.0, 1.0, len(self.reachable)), self.reachable)
        return np.where(population.left(come).sum(axis=1) >= 1.0, reachable, 0.0)


def reachable_shares(population: Population, fit: Fit, people: Frontier) -> ReachableShares:
    """The reachable shares averaged over these people, with the most coupons that one may have."""
    most = int(np.clip(fit.rules.max_per_person or fit.most_shown or 1, 1, max(population.acquaintances)))
    gains = fit.planner.gains(people.covariates, most).sum(axis=0)
    reachable = population.finds(np.linspace(0.0, 1.0, _GRID), most) @ gains / max(float(gains.sum()), 1e-300)
    reachable[-1] = 1.0  # nothing changes as long as nobody has come
    return ReachableShares(population, reachable)


# The fit of a population ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PopulationFit(Fit):
    """A fit whose people have fewer acquaintances left. It plans and simulates, but cannot be saved."""

    fitted: Fit | None = None
    population: Population | None = None
    asked: NDArray[np.int16] | None = None
    """Acquaintances left of the people who wait, [people]; if given, the last field of the schema."""
    notes: tuple[Message, ...] = ()
    """What is assumed about the population."""

    @property
    def whole(self) -> Fit:
        assert self.fitted is not None, "made by with_population"
        return self.fitted

    @property
    def fingerprint(self) -> str:
        return self.whole.fingerprint

    def world(self, frontier: Frontier, story: str | None = None) -> World:
        codes = frontier.covariates if self.asked is None else frontier.covariates[:, :-1]
        inner = self.whole.world(Frontier(frontier.ids, codes), story)
        return DepletingWorld.of(inner, self.population, self.schema, self.asked)


def with_population(fit: Fit, frontier: Frontier, order: PlanOrder) -> tuple[Fit, Frontier]:
    """Adapt the fit and the people to the order's population; both are unchanged if nothing runs out."""
    fit.schema.check(frontier.covariates)
    population = read_population(order, fit, frontier) if len(frontier) else None
    if population is None and frontier.left is None:
        return fit, frontier
    asked, schema, people = None, fit.schema, frontier
    if frontier.left is not None:
        asked = np.clip(frontier.left, UNKNOWN, MOST_LEFT).astype(np.int16)
        answers = tuple(str(number) for number in range(int(asked.max(initial=0)) + 1))
        schema = Schema((*fit.schema.fields, Field(_new_name(fit.schema), answers)))
        people = replace(frontier, covariates=np.concatenate([frontier.covariates, asked[:, None]], axis=1))
    stories = tuple(_story(story, population, frontier, order, fit) for story in fit.planner.stories)
    if asked is not None:
        stories = tuple(unasked_story(story, schema) for story in stories)
    parts = {each.name: getattr(fit, each.name) for each in fields(Fit)}
    parts |= {"schema": schema, "planner": replace(fit.planner, stories=stories)}
    if asked is not None:
        parts["offspring"] = StillUnasked(fit.offspring)
    notes = tuple(_notes(population, frontier))
    return PopulationFit(**parts, fitted=fit, population=population, asked=asked, notes=notes), people


def population_notes(fit: Fit) -> tuple[Message, ...]:
    """Notes on what is assumed about the population; empty if it does not run out."""
    return fit.notes if isinstance(fit, PopulationFit) else ()


def population_size(fit: Fit) -> int | None:
    """People in the population; None where the order does not say."""
    population = fit.population if isinstance(fit, PopulationFit) else None
    return None if population is None else round(population.sizes.sum())


def check_target(target: float | None, size: int | None) -> None:
    """Refuse a target that the population cannot reach."""
    if target is not None and size is not None and target > size:
        raise SettingError(
            "populations.target_too_high", target=n_people(int(target)), people=size, population=_POPULATION
        )


def _new_name(schema: Schema) -> str:
    name = LEFT
    while name in schema.names:
        name += " (asked)"
    return name


@dataclass(frozen=True, eq=False)
class _Unasked:
    """A network that is given all fields except the answer about acquaintances, which it was not trained on."""

    inputs: PersonView
    schema: Schema

    def rows(self, covariates: Codes) -> Rows:
        return self.inputs.rows(covariates[:, :-1])


def _story(story: Story, population: Population | None, frontier: Frontier, order: PlanOrder, fit: Fit) -> Story:
    """The story for people with fewer acquaintances left, now and in later rounds."""
    laplace = story.laplace
    if population is not None:
        most = order.max_per_person or fit.rules.max_per_person or fit.most_shown or 1
        laplace = later_recruits_count(story, population, frontier.covariates, order.available, most)
    response = Depleted(story.response, population, frontier.left is not None)
    return replace(story, response=response, laplace=laplace)


def later_recruits_count(
    story: Story, population: Population, people: Codes, budget: int, most_per_person: int
) -> LaplaceNetwork:
    """The recruits' embeddings with each recruit counted as a part of one.

    The part is the ratio of recruits that people bring with the population depleted (when half of the recruits of the
    budget have come) to those they bring without.
    """
    laplace = cast(LaplaceNetwork, story.laplace)
    levels = int(np.clip(most_per_person, 1, max(population.acquaintances)))
    plain = story.response.gains(people, levels)
    come = 0.5 * min(budget * float(plain[:, 0].mean()), float(population.left().sum()))
    spread = come * population.sizes / population.sizes.sum()
    later = replace(population, already=np.minimum(population.already + spread, population.sizes))
    reached = Depleted(story.response, later).gains(people, levels)
    part = float(reached.sum() / plain.sum()) if plain.sum() > 0.0 else 1.0
    return laplace if part == 1.0 else replace(laplace, stretch=laplace.stretch / max(part, _LEAST_PART))


def unasked_story(story: Story, schema: Schema) -> Story:
    """The story with networks that are not given the last field of the schema, the answer about acquaintances."""
    surrogate, laplace = cast(FrozenSurrogate, story.surrogate), cast(LaplaceNetwork, story.laplace)
    inputs = [_Unasked(part.inputs, schema) for part in (surrogate, laplace)]
    return replace(
        story,
        surrogate=replace(surrogate, inputs=inputs[0]),  # type: ignore[arg-type] # planning asks for rows alone
        laplace=replace(laplace, inputs=inputs[1]),  # type: ignore[arg-type]
    )


def _notes(population: Population | None, frontier: Frontier) -> list[Message]:
    """Notes on what is assumed about the population and the people who wait."""
    notes = []
    if population is not None:
        sizes = sorted(population.acquaintances)
        low, high = (sizes[0], sizes[-1]) if len(sizes) < 3 else (sizes[1], sizes[-2])
        notes.append(
            note(
                "populations.assumed",
                people=n_people(round(population.sizes.sum())),
                left=round(population.left().sum()),
                acquaintances=low if low == high else note("populations.about", low=low, high=high),
                share=float(population.shares_of_people(population.shares())[-1]),
            )
        )
    if frontier.left is not None:
        notes.append(note("populations.answers", people=n_people(int((frontier.left >= 0).sum()))))
    return notes
