"""Simulated networks with a known outcome, and the rules for coupons that a design compares on them.

Networks come from assumptions or from a fitted model (`simulation.outcome_network`). The plan is learned in the world
of the assumptions, or is the fitted model's own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.simple_rules import WhileTheyLast
from peerfront.foundation.checked_calls import checked_settings
from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Progress, Remedy, note
from peerfront.foundation.settings import (
    at_least,
    between,
    check_fields,
    inside,
    mean_rate,
    not_negative,
    one_of,
    one_or_more,
    optional,
    seed_number,
    several,
    text_list,
    up_to,
)
from peerfront.gfp.planner import Planner
from peerfront.gfp.restricted import RestrictedPlanner, strata_of
from peerfront.models.belief.belief_world import draw_of_episode
from peerfront.problem import BranchingWorld, Frontier, Policy, Rules, World
from peerfront.simulation.icpsr22140 import Pool, calibrated
from peerfront.simulation.network import NetworkWorld, world_of_society
from peerfront.simulation.outcome_network import (
    GROUP,
    OUTCOME,
    YES,
    A,
    OutcomeNetworkSettings,
    model_network,
    outcome_network,
    spread_outcome,
)
from peerfront.study.artifacts import Fit
from peerfront.study.design_results import PLAN, simple_name
from peerfront.study.fit_settings import FitSettings
from peerfront.study.fitting import simple_rules
from peerfront.study.restrictions import Restriction, read_strata
from peerfront.study.rivals import by_rounds, usual_rivals
from peerfront.study.study_sample import MOST_STRATA


@checked_settings
@dataclass(frozen=True)
class DesignSettings:
    """What is assumed about the population, how many coupons there are, and how often a study is simulated.

    >>> pf.DesignSettings(population=1000, coupons=300).repetitions
    100
    """

    population: int = 2000
    prevalence: float = 0.2
    """Share of people with the outcome."""
    homophily: float = 1.5
    """Ties between people with and without the outcome: those that chance would give, divided by those there are."""
    activity: float = 1.0
    """Mean number of acquaintances of people with the outcome, divided by that of the others."""
    mean_degree: float = 10.0
    """Mean number of acquaintances."""
    brings: float = 1.5
    """Mean number of people whom somebody with enough coupons would bring."""
    unequal: float = 1.0
    """How much people with the outcome, and people of group a, bring more than others; 0: not at all."""
    coupons: int = 500
    """Coupons for the whole study."""
    max_per_person: int = 3
    sample: int | None = None
    """Number of people at which interviews end; None: as many as the coupons bring."""
    seeds: int = 10
    rounds: int = 12
    outcome: str = ""
    """With a model: the field that is the outcome, such as "housing=none"; empty: an assumed outcome."""
    strata: tuple[str, ...] | None = None
    """The only fields by which coupons may differ, one text for each rule to try, such as ("district",
    "district+sex"); None: the group, or with a model the field whose categories differ most."""
    randomise: tuple[float, ...] = (0.1,)
    """The least chance that everybody has of each number, one for each rule to try; empty: no such rule."""
    repetitions: int = 100
    bootstraps: int = 50
    effort: float = 0.2
    """Without a model: share of the usual number of simulations from which the plan is learned."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            population=at_least(20, 1_000_000),
            prevalence=inside(0.0, 1.0),
            homophily=between(1.0, 20.0),
            activity=between(0.05, 20.0),
            mean_degree=between(1.0, 1000.0),
            brings=mean_rate,
            unequal=not_negative,
            coupons=at_least(1, 100_000),
            max_per_person=at_least(1, 20),
            sample=optional(one_or_more),
            seeds=one_or_more,
            rounds=at_least(1, 104),
            strata=optional(text_list),
            randomise=several(up_to(0.5), if_empty=None),
            repetitions=at_least(2, 100_000),
            bootstraps=at_least(2, 100_000),
            effort=up_to(10.0),
            seed=seed_number,
        )
        OutcomeNetworkSettings(self.population, self.prevalence, self.homophily, self.activity, self.mean_degree)
        if self.sample is not None and not self.seeds <= self.sample <= self.population:
            raise SettingError("design.sample_size", sample=self.sample, seeds=self.seeds, population=self.population)

    @property
    def rules(self) -> Rules:
        return Rules(self.coupons, self.seeds, self.rounds, self.max_per_person)


@dataclass(frozen=True, eq=False)
class TrueNetwork:
    """A network in which studies are played, and who in it has the outcome."""

    world: NetworkWorld
    has: NDArray[np.bool_]  # [members]

    @property
    def truth(self) -> float:
        return float(self.has.mean())


class Networks(Protocol):
    """Where networks come from: assumptions, or a fitted model."""

    @property
    def schema(self) -> Schema: ...
    @property
    def given(self) -> Mapping[int, int]:
        """How many people had each number of coupons so far."""
        ...

    def world(self) -> World:
        """The world that plans and thresholds are made in."""
        ...

    def draw(self, number: int) -> TrueNetwork: ...
    def planner(self, rules: Rules, progress: Progress) -> Planner: ...


@dataclass(frozen=True, eq=False)
class AssumedNetworks:
    """Networks by assumptions: people with the outcome, and of group a, bring more."""

    settings: OutcomeNetworkSettings
    brings: float
    """Mean number of people whom a person would bring."""
    unequal: float
    """How much kinds of people differ in that; 0: not at all."""
    effort: float
    seed: int

    @property
    def schema(self) -> Schema:
        return self.draw(0).world.schema

    def draw(self, number: int) -> TrueNetwork:
        society = outcome_network(replace(self.settings, draw=number))
        schema = society.schema
        weights = np.zeros(schema.columns)
        for field, favoured in ((OUTCOME, YES), (GROUP, A)):
            place = schema.names.index(field)
            for category, code in schema.fields[place].code_of.items():
                sign = 1.0 if category == favoured else -1.0
                weights[schema.offsets[place] + code] = sign * self.unequal / 2.0
        willing = calibrated(schema, weights, society.covariates, self.brings)
        place = schema.names.index(OUTCOME)
        has = society.covariates[:, place] == schema.fields[place].code_of[YES]
        return TrueNetwork(world_of_society(society, willing), has)

    @property
    def given(self) -> Mapping[int, int]:
        return {}

    def world(self) -> World:
        world = self.draw(0).world
        first = Pool(world.society.covariates)
        return BranchingWorld("assumed", world.schema, world.response, world.offspring, first)

    def planner(self, rules: Rules, progress: Progress) -> Planner:
        from peerfront.gfp.policy_iteration import learn_by_policy_iteration

        planned = self.world()
        how = FitSettings(budget=rules.budget, rounds=rules.rounds, effort=self.effort, seed=self.seed)
        learned = learn_by_policy_iteration(
            planned, rules, 1.0, simple_rules(planned.response, rules), how.learning_for(rules.people), progress
        )
        return learned.planner


@dataclass(frozen=True, eq=False)
class ModelNetworks:
    """Networks of people like those of a fitted model. The outcome is one of its fields, or assumed."""

    fit: Fit
    people: int
    mean_degree: float
    outcome: tuple[str, str] | None
    """Field and category; None: an assumed outcome with this prevalence and homophily."""
    prevalence: float
    homophily: float

    @property
    def schema(self) -> Schema:
        return self.fit.schema

    def draw(self, number: int) -> TrueNetwork:
        society = model_network(
            self.fit.schema, self.fit.offspring, self.people, mean_degree=self.mean_degree, draw=number
        )
        # Studies leave open what a coupon does: every network has its own draw of the belief.
        belief = self.fit.belief
        response = belief.part(draw_of_episode(np.array([number]), len(belief))).response
        if self.outcome is None:
            society, has = spread_outcome(society, self.prevalence, self.homophily, number)
        else:
            field = self.schema.names.index(self.outcome[0])
            has = society.covariates[:, field] == self.schema.fields[field].code_of[self.outcome[1]]
        if not 0 < has.sum() < len(has):
            raise SettingError("design.outcome_for_all_or_none", people=self.people, having=int(has.sum()))
        return TrueNetwork(world_of_society(society, response), has)

    @property
    def given(self) -> Mapping[int, int]:
        return self.fit.given

    def world(self) -> World:
        return self.fit.world(Frontier.of(self.draw(0).world.society.covariates))

    def planner(self, rules: Rules, progress: Progress) -> Planner:
        if rules.budget > self.fit.planner.budget:
            raise SettingError(
                "design.more_coupons_than_fitted",
                fitted=self.fit.planner.budget, coupons=rules.budget,
                budget=Remedy("budget", rules.budget), fewer=Remedy("coupons"),
            )  # fmt: skip
        return self.fit.planner


def networks_for(fit: Fit | None, settings: DesignSettings) -> Networks:
    """The source of networks that the settings ask for."""
    if fit is None:
        assumed = OutcomeNetworkSettings(
            settings.population, settings.prevalence, settings.homophily, settings.activity, settings.mean_degree
        )
        return AssumedNetworks(assumed, settings.brings, settings.unequal, settings.effort, settings.seed)
    outcome = read_outcome(settings.outcome, fit.schema) if settings.outcome else None
    return ModelNetworks(
        fit, settings.population, settings.mean_degree, outcome, settings.prevalence, settings.homophily
    )


def read_outcome(text: str, schema: Schema) -> tuple[str, str]:
    """Read FIELD or FIELD=CATEGORY; FIELD alone means the second of its two categories."""
    name, equals, category = text.partition("=")
    name = one_of(note("design.field_of_the_model"), name.strip(), schema.names)
    field = schema.fields[schema.names.index(name)]
    if equals:
        return name, one_of(note("design.category_of", field=name), category.strip(), field.categories)
    if len(field.categories) != 2:
        raise SettingError(
            "design.which_category",
            field=name, n=len(field.categories), categories=field.categories,
            remedy=Remedy("outcome", f"{name}={field.categories[-1]}"),
        )  # fmt: skip
    return name, field.categories[1]


def widest_field(networks: Networks, network: TrueNetwork, settings: DesignSettings) -> str:
    """The field, except the outcome's, whose categories differ most in how many recruits a first coupon brings."""
    people = network.world.society.covariates
    gains = network.world.response.willingness.gains(people, settings.max_per_person).sum(axis=1)
    outcome = settings.outcome.partition("=")[0].strip()
    spread = {}
    for column, name in enumerate(networks.schema.names):
        if name != outcome:
            means = [gains[people[:, column] == code].mean() for code in np.unique(people[:, column])]
            spread[name] = float(np.std(means))
    return max(spread or {networks.schema.names[0]: 0.0}, key=lambda name: spread.get(name, 0.0))


# The rules for coupons that are compared -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arm:
    """A rule for coupons, and the strata that are recorded under it."""

    name: str
    policy: Policy
    columns: tuple[int, ...] = ()
    """Columns of the covariates that form the recorded strata."""

    @property
    def is_constant(self) -> bool:
        """Whether everybody gets the same number: then there is one stratum, unless columns form some."""
        return isinstance(self.policy, WhileTheyLast) and self.policy.same_for_all

    def strata(self, network: TrueNetwork, schema: Schema) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """The stratum of every member of the network, and the names of the strata."""
        codes = network.world.society.covariates
        names = tuple(schema.names[column] for column in self.columns)
        if len(np.unique(codes[:, list(self.columns)], axis=0)) > MOST_STRATA:
            raise SettingError("design.many_strata", fields=" x ".join(names), most=MOST_STRATA)
        return strata_of(codes, self.columns), Restriction(schema, names).strata(codes)[1]


def rivals_of(networks: Networks, rules: Rules, seed: int) -> list[Policy]:
    """Simple rules to compare the plan with; the first gives everybody the same number."""
    world = networks.world()
    rivals = usual_rivals(networks.given, world.response, rules, by_rounds(world, rules), seed)
    return [rival.policy for rival in rivals]


def arms_of(
    planner: Planner, schema: Schema, rivals: Sequence[Policy], strata: tuple[str, ...], randomise: tuple[float, ...]
) -> list[Arm]:
    """Simple rules, the plan, and the plan within every restriction; restricted plans give everybody at least 1.

    The first rule is tried with recorded strata, too: people who bring more bias estimates just as coupons do.
    """
    one_each = replace(planner, least_per_person=1)
    arms = [Arm(simple_name(rival.name), rival) for rival in rivals]
    arms += [Arm(PLAN, planner), Arm(f"{PLAN}, at least 1 each", one_each)]
    within = []
    for text in strata:
        names = read_strata(text, schema)
        within.append((" x ".join(names), tuple(schema.names.index(name) for name in names)))
    arms[1:1] = [Arm(f"{arms[0].name}, {name} kept", arms[0].policy, columns) for name, columns in within]
    arms += [Arm(f"within {name}", RestrictedPlanner(one_each, columns), columns) for name, columns in within]
    arms += [Arm(f"{100 * chance:g}% random", RestrictedPlanner(one_each, (), chance)) for chance in randomise]
    arms += [
        Arm(f"within {name}, {100 * chance:g}% random", RestrictedPlanner(one_each, columns, chance), columns)
        for name, columns in within
        for chance in randomise
    ]
    return arms
