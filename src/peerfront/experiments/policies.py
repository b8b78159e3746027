"""The policies by name, and how each is prepared for a world.

A policy is prepared in a *planning* world and tested in the *testing* world, which it never sees. With the true models
the two are the same; with learned models the planning world is made of those (`planning_world.py`).

A planner learns its value from simulated returns or from backups, at the discount it is judged at; where rounds are few
its value knows the deadline, and where a simple rule earned more than every planner, `gfp` plays that rule and says so.
Agents of reinforcement learning learn by playing, at that discount unless another is given. What trains loads torch, so
it is imported where it is used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from peerfront.baselines.simple_rules import (
    Constant,
    Evenly,
    RandomSplit,
    Threshold,
    deadline_rules,
    threshold_rules,
    tune_threshold,
)
from peerfront.foundation import own_parts
from peerfront.foundation.checked_calls import checked, checked_late
from peerfront.foundation.errors import (
    InfeasibleAllocation,
    PeerfrontError,
    PolicyFailed,
    SettingError,
    check_extra,
)
from peerfront.foundation.messages import Measured, Message, in_english, note
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.foundation.settings import (
    MOST_SEED,
    Option,
    Spec,
    checked_discount,
    one_of,
    positive,
    proportion,
    readable,
    whole_number,
)
from peerfront.problem import (
    Allocation,
    Policy,
    Rules,
    State,
    World,
    ask,
    ask_many,
    with_independent_referrals,
)
from peerfront.problem.episode import learns
from peerfront.problem.state import MOST_COUPONS
from peerfront.simulation.catalog import make_world

if TYPE_CHECKING:
    from peerfront.gfp.learning import LearnedPlanner

POPULATION_SAMPLE = 1024  # people from whom population DP learns what the population is like (the paper's size)
LEARNING = ("returns", "backups")
YES_OR_NO = ("no", "yes")
FEW_ROUNDS = 12
"""Up to this many rounds the value of `gfp` knows the deadline, unless `deadline=no` is given."""
SEES = ("nothing", "covariates", "capacity")  # those of gfp.surrogate, named here so that nothing is loaded for them
TRAINING = ("default", "paper", "published")


@dataclass(frozen=True)
class Preparation:
    """What a policy may know before it plays."""

    planning_world: World
    rules: Rules
    discount: float
    discounts: tuple[float, ...]  # all that are compared, for preparations that serve them together
    seed: int


class Discounts(Enum):
    """What the discount means to a policy, and so how its work is divided."""

    IGNORED = "ignored"
    """One set of episodes serves every discount."""
    SEPARATE = "separate"
    """Each discount is prepared and played on its own."""
    TOGETHER = "together"
    """One preparation serves every discount, so they are best done together."""


@dataclass(frozen=True)
class PolicyEntry:
    """How a named policy is prepared; `prepare` and `check` take the settings given after the colon."""

    name: str
    prepare: Callable[..., Policy]
    options: Mapping[str, Option] = field(default_factory=dict)
    check: Callable[..., object] = lambda **_: None
    """Refuses impossible settings at once, before any work."""
    usual_discounts: Discounts = Discounts.SEPARATE
    ignored_with: str | None = None
    """A setting with which the policy ignores the discount."""
    about: Message | None = None
    """What it is, for policies that are not of this package."""

    @property
    def summary(self) -> Message:
        return self.about or note(f"policy_summary.{self.name.replace('-', '_')}")

    def settings(self, spec: Spec) -> dict[str, Any]:
        """The settings of a specification, checked."""
        values = spec.read_options(self.options)
        with self.named(note("policy_failed.checked")):
            self.check(**values)
        return values

    @contextmanager
    def named(self, doing: Message) -> Iterator[None]:
        """Say in words what a policy of somebody's own raises; errors of this package stay as they are."""
        try:
            yield
        except PeerfrontError:
            raise
        except (Exception, SystemExit) as problem:
            if self in _ENTRIES:
                raise
            raise PolicyFailed(self.name, doing, own_parts.place_of(problem)) from problem

    def discounts(self, spec: Spec) -> Discounts:
        """What the discount means to the policy of this specification."""
        return Discounts.IGNORED if self.ignored_with in dict(spec.options) else self.usual_discounts


@checked
def make_policy(
    spec: Spec | str, world: World | str, rules: Rules | None = None, discount: float = 0.9, seed: int = 0
) -> Policy:
    """Make a policy by name and prepare it in a world: tuned, fitted or trained with the world's own models.

    `spec` is a name with its settings (`peerfront policies` lists them), `world` a world or its name. The policy plans
    for these rules (the paper's by default) and this discount; the seed names the luck of its preparation.

    >>> import peerfront as pf
    >>> world, rules = pf.make_world("bridge"), pf.Rules(budget=20, people=5)
    >>> policy = pf.make_policy("threshold:cutoff=0.5,at_least=4", world, rules)
    >>> played = pf.rollout(world, policy, rules, pf.named_luck(("example",), 100))
    >>> bool(played.total_recruits.mean() > 5)
    True
    """
    place = make_world(world) if isinstance(world, str) else world
    discount = checked_discount(discount)
    preparation = Preparation(place, rules or Rules(), discount, (discount,), whole_number("seed", seed, 0, MOST_SEED))
    return prepare_policy(Spec.parse(spec) if isinstance(spec, str) else spec, preparation)


def prepare_policy(spec: Spec, preparation: Preparation, entry: PolicyEntry | None = None) -> Policy:
    """The policy of a specification such as `constant:coupons=3`, ready to play; `entry` is one of somebody's own."""
    entry = entry or policy_entry(spec.name)
    settings = entry.settings(spec)
    with entry.named(note("policy_failed.prepared")):
        policy = entry.prepare(preparation, **settings)
    if not _is_policy(policy):
        raise SettingError("own_parts.made_no_policy", name=entry.name, value=readable(policy))
    return policy if isinstance(getattr(policy, "name", None), str) else Renamed(policy, entry.name)


def policy_entry(name: str) -> PolicyEntry:
    """The entry of a name, here or in another package."""
    return own_parts.entry_named(name, POLICIES, GROUP, own_policy, note("policy_setting.policy"))


# Of one's own ------------------------------------------------------------------------------------------------------


def own_policy(thing: Any) -> PolicyEntry:
    """The entry of somebody's own policy.

    An object with `allocate` plays as it is, a function is asked for coupons (`state`, and `luck` if it wants it), and
    a class makes a policy for each world and discount, from a `Preparation` if it wants one.
    """
    if isinstance(thing, PolicyEntry):
        return thing
    name, sentence = own_parts.name_of(thing), note("own_parts.about", about=own_parts.about(thing))
    if isinstance(thing, type):
        return PolicyEntry(name, partial(_of_class, thing, own_parts.wants(thing, "preparation")), about=sentence)
    if not _is_policy(thing):
        if not callable(thing):
            raise SettingError("own_parts.no_policy", value=readable(thing))
        thing = PolicyFunction(thing, name, own_parts.wants(thing, "luck", least=1))
    return PolicyEntry(name, partial(own_parts.given, thing), usual_discounts=Discounts.IGNORED, about=sentence)


def _of_class(kind: Callable[..., Policy], prepared: bool, preparation: Preparation) -> Policy:
    return kind(preparation) if prepared else kind()


def _is_policy(thing: Any) -> bool:
    return not isinstance(thing, type) and callable(getattr(thing, "allocate", None))


@dataclass(frozen=True, eq=False)
class PolicyFunction:
    """A function that says how many coupons each person gets, as a policy."""

    function: Callable[..., Any]
    name: str
    with_luck: bool

    @property
    def learns(self) -> bool:
        return bool(getattr(self.function, "learns", False))

    def allocate(self, state: State, luck: Luck) -> Allocation:
        coupons = self.function(state, luck) if self.with_luck else self.function(state)
        try:
            return coupons if isinstance(coupons, Allocation) else Allocation.of(coupons)
        except PeerfrontError as problem:
            raise InfeasibleAllocation(self.name, problem.message, state.place) from problem


# Simple rules and population DP ------------------------------------------------------------------------------------


def _constant(_: Preparation, coupons: int = Constant.coupons) -> Policy:
    return Constant(coupons)


def _check_constant(coupons: int = 0) -> None:
    whole_number(note("settings.of", name="coupons", owner="constant"), coupons, 0, MOST_COUPONS)


def _evenly(preparation: Preparation, pace: float = 1.0) -> Policy:
    return Evenly(preparation.planning_world.response, pace)


def _check_evenly(pace: float = 1.0) -> None:
    positive(note("settings.of", name="pace", owner="evenly"), pace)


def _threshold(preparation: Preparation, cutoff: float | None = None, at_least: int | None = None) -> Policy:
    world, discounts = preparation.planning_world, preparation.discounts
    if cutoff is not None and at_least is not None:
        return Threshold(world.response, cutoff, at_least)
    return _tuned_thresholds(world, preparation.rules, discounts, preparation.seed)[preparation.discount]


@lru_cache(maxsize=1)
def _tuned_thresholds(world: World, rules: Rules, discounts: tuple[float, ...], seed: int) -> Mapping[float, Policy]:
    """Kept for the other discounts of the same task: one simulated grid serves them all."""
    return tune_threshold(world, rules, discounts, seed=seed)


def _check_threshold(cutoff: float | None = None, at_least: int | None = None) -> None:
    if (cutoff is None) != (at_least is None):
        raise SettingError("policy_settings.threshold_needs_both")
    if cutoff is not None and at_least is not None:
        proportion(note("settings.of", name="cutoff", owner="threshold"), cutoff)
        whole_number(note("settings.of", name="at_least", owner="threshold"), at_least, 0)


def _population_dp(
    preparation: Preparation, population: int = POPULATION_SAMPLE, marginal: str = "mixture", recruits: int = 0
) -> Policy:
    from peerfront.baselines.population_dp import fit_population_dp

    world, rules, discount = preparation.planning_world, preparation.rules, preparation.discount
    people = world.population(named_luck(("population", preparation.seed), population))
    if recruits:
        from peerfront.gfp.states import planning_population

        people = planning_population(world, population, recruits, preparation.seed)
    return fit_population_dp(world.response, people, rules, discount, marginal=marginal)


def _check_population_dp(population: int = POPULATION_SAMPLE, marginal: str = "mixture", recruits: int = 0) -> None:
    from peerfront.baselines.population_dp import MARGINALS

    whole_number(note("settings.of", name="population", owner="population_dp"), population, 1, 1_000_000)
    one_of(note("kinds.marginal"), marginal, MARGINALS)
    whole_number(note("settings.of", name="recruits", owner="population_dp"), recruits, 0, 1_000_000)


# Planners ----------------------------------------------------------------------------------------------------------


def prepare_gfp(
    preparation: Preparation,
    learn: str = LEARNING[0],
    deadline: str | None = None,
    sees: str = SEES[-1],
    training: str = TRAINING[0],
) -> Policy:
    """Generative frontier planning; without an answer for `deadline`, few rounds have one (`FEW_ROUNDS`)."""
    if training != TRAINING[0]:
        return _gfp_paper(preparation, published=training == "published")
    rules, response = preparation.rules, preparation.planning_world.response
    if learn == "backups":
        from peerfront.gfp.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration

        problem = (preparation.planning_world, rules, preparation.discount)
        by_backups = FittedValueIterationSettings(sees=sees, seed=preparation.seed)
        return _reported(
            learn_by_fitted_value_iteration(*problem, threshold_rules(response, rules.budget), by_backups), "gfp"
        )
    from peerfront.gfp.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration

    problem = (with_independent_referrals(preparation.planning_world), rules, preparation.discount)
    if deadline == "yes" or (deadline is None and rules.rounds <= FEW_ROUNDS):
        settings = replace(PolicyIterationSettings.with_deadline(preparation.seed), sees=sees)
        learned = learn_by_policy_iteration(*problem, deadline_rules(response, rules.budget), settings)
        return _reported(learned, "gfp with a deadline")
    settings = PolicyIterationSettings(sees=sees, seed=preparation.seed)
    return _reported(learn_by_policy_iteration(*problem, threshold_rules(response, rules.budget), settings), "gfp")


def _check_gfp(
    learn: str = LEARNING[0], deadline: str | None = None, sees: str = SEES[-1], training: str = TRAINING[0]
) -> None:
    one_of(note("kinds.training"), training, TRAINING)
    if training != TRAINING[0] and (learn, deadline, sees) != (LEARNING[0], None, SEES[-1]):
        raise SettingError("policy_settings.training_settles", training=training)
    one_of(note("kinds.way_to_learn"), learn, LEARNING)
    if deadline is not None:
        one_of(note("kinds.deadline"), deadline, YES_OR_NO)
    one_of(note("kinds.sees"), sees, SEES)
    if deadline == "yes" and learn != "returns":
        raise SettingError("policy_settings.deadline_by_returns")


def _gfp_paper(preparation: Preparation, iterations: int | None = None, published: bool = False) -> Policy:
    """The paper's value training, to the letter or as the published table was made; 0 iterations: its start."""
    from peerfront.gfp.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration

    kind = FittedValueIterationSettings.published if published else FittedValueIterationSettings.paper
    settings = replace(kind(), seed=preparation.seed)
    if iterations is not None:
        settings = replace(settings, iterations=iterations)
    problem = (preparation.planning_world, preparation.rules, preparation.discount)
    name = "gfp-untrained" if iterations == 0 else "gfp-published" if published else "gfp-paper"
    return _reported(learn_by_fitted_value_iteration(*problem, [RandomSplit()], settings), name)


def _reported(learned: "LearnedPlanner", name: str) -> Policy:
    """The best policy that learning met, under a name that says how it was learned."""
    report, planner = learned.report, learned.report.best_planner
    if learned.rule is not None and planner is not None:
        rule_name = note(
            "prepared_policy.rule",
            name=name,
            method=report.method,
            rule=learned.rule.name,
            more=Measured.of(planner.behind, planner.behind_error),
        )
        return Renamed(learned.rule, in_english(rule_name))
    earns = Measured.of(report.simulated, report.simulated_error)
    planner_name = note("prepared_policy.planner", name=name, method=report.method, earns=earns)
    return replace(learned.planner, name=in_english(planner_name))


@dataclass(frozen=True, eq=False)
class Renamed:
    """A policy under another name."""

    policy: Policy
    name: str

    @property
    def learns(self) -> bool:
        return learns(self.policy)

    @checked_late
    def allocate(self, state: State, luck: Luck) -> Allocation:
        return ask(self.policy, state, luck)

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        return ask_many(self.policy, states, lucks)


def _price_index(preparation: Preparation) -> Policy:
    from peerfront.bounds.dual import PriceIndexPolicy
    from peerfront.bounds.price_index import BoundSettings, exact_price_index
    from peerfront.experiments.planning_world import inherited_by_field

    world, rules = preparation.planning_world, preparation.rules
    settings = BoundSettings(largest_budget=rules.budget, max_per_person=rules.max_per_person)
    offspring = inherited_by_field(world, preparation.seed)
    index = exact_price_index(world.response, offspring, world.schema, preparation.discount, rules.rounds, settings)
    if index is None:
        raise SettingError("prices.no_table", policy="price_index", world=own_parts.name_of(world))
    return PriceIndexPolicy(index)


# Reinforcement learning --------------------------------------------------------------------------------------------


def _trained(
    agent: str,
    preparation: Preparation,
    training: str = TRAINING[0],
    discount: float | None = None,
    episodes: int | None = None,
) -> Policy:
    """Train the agent of this name, as by default, as in the paper, or as for its table."""
    from peerfront.baselines.budget_dqn import BudgetDQNSettings, fit_budget_dqn
    from peerfront.baselines.factorized_rl import FactorizedRLSettings, fit_factorized_rl

    kind: Any = BudgetDQNSettings if agent == "budget_dqn" else FactorizedRLSettings
    fit: Callable[..., Any] = fit_budget_dqn if agent == "budget_dqn" else fit_factorized_rl
    settings = {"paper": kind.paper, "published": kind.published}.get(training, kind)()
    learning = replace(settings.learning, seed=preparation.seed)
    if episodes is not None:
        learning = replace(learning, episodes=episodes)
    trained_at = preparation.discount if discount is None else discount
    trained = fit(preparation.planning_world, preparation.rules, trained_at, replace(settings, learning=learning))
    last = trained.learning_returns[-max(1, learning.episodes // 5) :].mean()
    name = note(
        "prepared_policy.trained",
        name=trained.name,
        episodes=learning.episodes,
        discount=trained_at,
        last=float(last),
    )
    policy: Policy = replace(trained, name=in_english(name))
    return policy


def _check_training(discount: float | None = None, episodes: int | None = None, training: str = TRAINING[0]) -> None:
    check_extra("torch", note("extras.agents"), "research")
    one_of(note("kinds.training"), training, TRAINING)
    if discount is not None:
        checked_discount(discount)
    if episodes is not None:
        whole_number("episodes", episodes, 1, 10_000_000)


# Learning during the study -----------------------------------------------------------------------------------------


def _thompson(preparation: Preparation, before: int = 0, explore: float = 0.1, most_each: int = 3) -> Policy:
    """Thompson sampling; `before` people of whole recruitments are known when a study begins."""
    from peerfront.baselines.thompson import Thompson, ThompsonSettings, prior, updated
    from peerfront.simulation.simulated_history import HistorySettings, followed_history

    world = preparation.planning_world
    known = prior(world.schema)
    if before:
        settings = HistorySettings(triples=before, pairs=before)
        known = updated(known, world.schema, followed_history(world, settings, preparation.seed))
    return Thompson(world.schema, preparation.discount, known, ThompsonSettings(explore=explore, most_each=most_each))


def _check_thompson(before: int = 0, explore: float = 0.1, most_each: int = 3) -> None:
    whole_number(note("settings.of", name="before", owner="thompson"), before, 0, 1_000_000)
    proportion(note("settings.of", name="explore", owner="thompson"), explore)
    whole_number(note("settings.of", name="most_each", owner="thompson"), most_each, 1, 100)


# Their names -------------------------------------------------------------------------------------------------------


def _settings(**kinds: Any) -> dict[str, Option]:
    """Settings by their kinds; the sentence `policy_setting.NAME` says what each is, some of them with these values."""
    values: dict[str, Any] = {"rounds": FEW_ROUNDS, "choices": SEES}
    return {name: Option(kind, note(f"policy_setting.{name}", **values)) for name, kind in kinds.items()}


_TRAINED = _settings(discount=float, episodes=int, training=str)
_ENTRIES = (
    PolicyEntry("random_split", lambda _: RandomSplit(), usual_discounts=Discounts.IGNORED),
    PolicyEntry("constant", _constant, _settings(coupons=int), _check_constant, Discounts.IGNORED),
    PolicyEntry(
        "threshold", _threshold, _settings(cutoff=float, at_least=int), _check_threshold, Discounts.TOGETHER, "cutoff"
    ),
    PolicyEntry("evenly", _evenly, _settings(pace=float), _check_evenly, Discounts.IGNORED),
    PolicyEntry(
        "population_dp", _population_dp, _settings(population=int, marginal=str, recruits=int), _check_population_dp
    ),
    PolicyEntry("budget_dqn", partial(_trained, "budget_dqn"), _TRAINED, _check_training, ignored_with="discount"),
    PolicyEntry(
        "factorized_rl",
        partial(_trained, "factorized_rl"),
        _TRAINED,
        _check_training,
        ignored_with="discount",
    ),
    PolicyEntry("gfp", prepare_gfp, _settings(learn=str, deadline=str, sees=str, training=str), _check_gfp),
    PolicyEntry("gfp-paper", _gfp_paper),
    PolicyEntry("gfp-untrained", partial(_gfp_paper, iterations=0)),
    PolicyEntry("price_index", _price_index),
    PolicyEntry("thompson", _thompson, _settings(before=int, explore=float, most_each=int), _check_thompson),
)
GROUP = "peerfront.policies"
"""Entry points under which other packages offer policies."""
POLICIES: dict[str, PolicyEntry] = {entry.name: entry for entry in _ENTRIES}
