"""The policies by name, and how each is prepared for a world: what it may look at before the first episode.

A policy is prepared in a *planning* world and tested in the *testing* world, which it never sees. With the oracle's
models the two are the same; with learned models the planning world is made of those (`planning_world.py`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any

from peerfront.errors import SettingError, UnknownName
from peerfront.problem import Policy, Rules, World, checked_discount, whole_number
from peerfront.randomness import named_luck
from peerfront.specs import Option, Spec

if TYPE_CHECKING:
    from peerfront.baselines.budget_dqn import BudgetDQNSettings
    from peerfront.baselines.factorized_rl import FactorizedRLSettings
    from peerfront.baselines.q_learning import TrainedPolicy
    from peerfront.planning.learning import LearnedPlanner

POPULATION_SAMPLE = 1024  # people from whom population_dp learns the marginal capacities (the paper's size)


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

    IGNORED = "one set of episodes serves every discount"
    SEPARATE = "each discount is prepared and played on its own"
    TOGETHER = "one preparation serves every discount, so they are best done together"


@dataclass(frozen=True)
class PolicyEntry:
    """How a named policy is described and prepared; `prepare` takes the settings given after the colon."""

    summary: str
    prepare: Callable[..., Policy]
    options: Mapping[str, Option]
    discounts: Callable[[Spec], Discounts]
    """What the discount means to the policy of this specification."""
    check: Callable[..., object] = lambda **_: None
    """Refuses impossible settings at once, before any work; takes them as `prepare` does."""


def policy_entry(spec: Spec) -> PolicyEntry:
    """The entry of a specification, its settings checked."""
    if spec.name not in POLICIES:
        raise UnknownName("policy", spec.name, POLICIES)
    entry = POLICIES[spec.name]
    entry.check(**spec.read_options(entry.options))
    return entry


def prepare_policy(spec: Spec, preparation: Preparation) -> Policy:
    """The policy of a specification such as `constant:vouchers=3`, ready to play."""
    entry = policy_entry(spec)
    return entry.prepare(preparation, **spec.read_options(entry.options))


def _check_constant(**options: Any) -> None:
    from peerfront.baselines.constant import Constant

    Constant(**options)


def _check_threshold(cutoff: float | None = None, at_least: int | None = None) -> None:
    from peerfront.baselines.threshold import check_threshold

    if (cutoff is None) != (at_least is None):
        raise SettingError("threshold: give both cutoff= and at_least=, or neither to have them tuned by simulation.")
    if cutoff is not None and at_least is not None:
        check_threshold(cutoff, at_least)


def _check_population_dp(population: int = POPULATION_SAMPLE, marginal: str = "mixture") -> None:
    from peerfront.baselines.population_dp import check_marginal

    whole_number("population of population_dp", population, 1)
    check_marginal(marginal)


def _check_evenly(pace: float = 1.0) -> None:
    from peerfront.baselines.deadline import check_pace

    check_pace(pace)


def _random_split(_: Preparation) -> Policy:
    from peerfront.baselines.random_split import RandomSplit

    return RandomSplit()


def _constant(_: Preparation, **options: Any) -> Policy:
    from peerfront.baselines.constant import Constant

    return Constant(**options)


def _evenly(known: Preparation, pace: float = 1.0) -> Policy:
    from peerfront.baselines.deadline import Evenly

    return Evenly(known.planning_world.capacity, pace)


def _threshold(known: Preparation, cutoff: float | None = None, at_least: int | None = None) -> Policy:
    from peerfront.baselines.threshold import Threshold

    if cutoff is not None and at_least is not None:
        return Threshold(known.planning_world.capacity, cutoff, at_least)
    return _tuned_thresholds(known.planning_world, known.rules, known.discounts, known.seed)[known.discount]


@lru_cache(maxsize=1)
def _tuned_thresholds(world: World, rules: Rules, discounts: tuple[float, ...], seed: int) -> Mapping[float, Policy]:
    """Kept for the other discounts of the same task: one simulated grid serves them all."""
    from peerfront.baselines.threshold_tuning import tune_threshold

    return tune_threshold(world, rules, discounts, seed=seed)


def _population_dp(known: Preparation, population: int = POPULATION_SAMPLE, marginal: str = "mixture") -> Policy:
    from peerfront.baselines.population_dp import fit_population_dp

    people = known.planning_world.population(named_luck(("population", known.seed), population))
    return fit_population_dp(known.planning_world.capacity, people, known.rules, known.discount, marginal=marginal)


_CUTOFFS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99, 0.995)
_SHARES = (0.02, 0.04, 0.08, 0.12, 0.2, 0.32)
_PACES = (0.5, 0.75, 1.0, 1.5, 2.0)
LEARNING = ("returns", "backups")
YES_OR_NO = ("no", "yes")


def simple_rules(known: Preparation) -> list[Policy]:
    """Threshold rules of all kinds: where learning starts, and what it wanders with."""
    from peerfront.baselines.threshold import Threshold

    least = sorted({max(1, round(share * known.rules.budget)) for share in _SHARES})
    return [Threshold(known.planning_world.capacity, c, m) for c, m in product(_CUTOFFS, least)]


def _deadline_rules(known: Preparation) -> list[Policy]:
    """The same, with everything given out in the last round, and rules that spread the budget over the rounds."""
    from peerfront.baselines.deadline import AllAtLast, Evenly

    capacity = known.planning_world.capacity
    evenly = [Evenly(capacity, pace) for pace in _PACES]
    return [*(AllAtLast(capacity, rule) for rule in simple_rules(known)), *evenly]


def _check_gfp(learn: str = LEARNING[0], deadline: str = YES_OR_NO[0]) -> None:
    if learn not in LEARNING:
        raise UnknownName("way to learn of gfp", learn, LEARNING)
    if deadline not in YES_OR_NO:
        raise UnknownName("answer for deadline of gfp", deadline, YES_OR_NO)
    if deadline == "yes" and learn != "returns":
        raise SettingError("gfp: deadline=yes learns from simulated returns; leave out learn=backups.")


def _gfp(known: Preparation, learn: str = LEARNING[0], deadline: str = YES_OR_NO[0]) -> Policy:
    from peerfront.planning.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration
    from peerfront.planning.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration

    what = (known.planning_world, known.rules, known.discount, simple_rules(known))
    if deadline == "yes":
        settings = PolicyIterationSettings.with_deadline(known.seed)
        return _reported(learn_by_policy_iteration(*what[:-1], _deadline_rules(known), settings), "gfp with a deadline")
    if learn == "returns":
        return _reported(learn_by_policy_iteration(*what, PolicyIterationSettings(seed=known.seed)), "gfp")
    return _reported(learn_by_fitted_value_iteration(*what, FittedValueIterationSettings(seed=known.seed)), "gfp")


def _gfp_paper(known: Preparation, iterations: int | None = None) -> Policy:
    """The paper's value training to the letter; with 0 iterations its untrained start."""
    from peerfront.baselines.random_split import RandomSplit
    from peerfront.planning.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration

    settings = replace(FittedValueIterationSettings.paper(), seed=known.seed)
    if iterations is not None:
        settings = replace(settings, iterations=iterations)
    what = (known.planning_world, known.rules, known.discount, [RandomSplit()])
    name = "gfp-untrained" if iterations == 0 else "gfp-paper"
    return _reported(learn_by_fitted_value_iteration(*what, settings), name)


def _reported(learned: "LearnedPlanner", name: str) -> Policy:
    report = learned.report
    earns = f"{report.simulated:.1f} +- {report.simulated_error:.1f}"
    return replace(learned.planner, name=f"{name} ({report.method}; earns {earns} in the planning world)")


def _price_index(known: Preparation) -> Policy:
    from peerfront.planning.bound import BoundSettings, PriceIndexPolicy, fit_price_index, generations

    world, rules = known.planning_world, known.rules
    population = world.population(named_luck(("price population", known.seed), POPULATION_SAMPLE))
    people = generations(world.capacity, world.offspring, population, 4 * POPULATION_SAMPLE, known.seed)
    settings = BoundSettings(largest_budget=rules.budget, max_per_person=rules.max_per_person, seed=known.seed)
    index = fit_price_index(world.capacity, world.offspring, people, world.schema, known.discount, settings)
    return PriceIndexPolicy(index)


def _check_reinforcement(discount: float | None = None, episodes: int | None = None) -> None:
    if discount is not None:
        checked_discount(discount)
    if episodes is not None:
        whole_number("episodes", episodes, 1)


def _budget_dqn(known: Preparation, **options: Any) -> Policy:
    from peerfront.baselines.budget_dqn import BudgetDQNSettings, fit_budget_dqn

    return _trained(known, fit_budget_dqn, BudgetDQNSettings(), **options)


def _factorized_rl(known: Preparation, **options: Any) -> Policy:
    from peerfront.baselines.factorized_rl import FactorizedRLSettings, fit_factorized_rl

    return _trained(known, fit_factorized_rl, FactorizedRLSettings(), **options)


def _trained(
    known: Preparation,
    fit: Callable[..., "TrainedPolicy"],
    settings: "BudgetDQNSettings | FactorizedRLSettings",
    discount: float | None = None,
    episodes: int | None = None,
) -> Policy:
    learning = replace(settings.learning, seed=known.seed)
    if episodes is not None:
        learning = replace(learning, episodes=episodes)
    trained_at = known.discount if discount is None else discount
    trained = fit(known.planning_world, known.rules, trained_at, replace(settings, learning=learning))
    last = trained.curve.returns[-max(1, learning.episodes // 5) :].mean()
    how = f"{learning.episodes} episodes at discount {trained_at:g}, the last fifth of which earned {last:.1f}"
    return replace(trained.policy, name=f"{trained.policy.name} ({how})")


def _trained_at(spec: Spec) -> Discounts:
    """Trained for one discount, it plays the same whatever the others are."""
    return Discounts.IGNORED if "discount" in dict(spec.options) else Discounts.SEPARATE


_REINFORCEMENT_OPTIONS: Mapping[str, Option] = {
    "discount": Option(
        float, "discount of the training (default: the one it is judged at; the paper's table says .99)"
    ),
    "episodes": Option(int, "episodes of training (default 500)"),
}


POLICIES: Mapping[str, PolicyEntry] = {
    "random_split": PolicyEntry(
        summary="a random round budget, split at random (the paper's Random)",
        prepare=_random_split,
        options={},
        discounts=lambda _: Discounts.IGNORED,
    ),
    "constant": PolicyEntry(
        summary="the same number of vouchers for everybody, while they last",
        prepare=_constant,
        options={"vouchers": Option(int, "vouchers each (default 3)")},
        discounts=lambda _: Discounts.IGNORED,
        check=_check_constant,
    ),
    "threshold": PolicyEntry(
        summary="vouchers where they are most likely used, down to a cutoff; tuned by simulation unless given",
        prepare=_threshold,
        options={
            "cutoff": Option(float, "smallest chance of use that earns a voucher"),
            "at_least": Option(int, "vouchers to spend in a round even below the cutoff"),
        },
        discounts=lambda spec: Discounts.IGNORED if "cutoff" in dict(spec.options) else Discounts.TOGETHER,
        check=_check_threshold,
    ),
    "evenly": PolicyEntry(
        summary="the budget spread over the rounds left, each voucher where it is most likely used",
        prepare=_evenly,
        options={"pace": Option(float, "1 (default) spends evenly, more spends faster at first")},
        discounts=lambda _: Discounts.IGNORED,
        check=_check_evenly,
    ),
    "population_dp": PolicyEntry(
        summary="dynamic programming over budget and frontier size (the paper's IID-Population DP)",
        prepare=_population_dp,
        options={
            "population": Option(int, "people sampled to learn the marginal capacities (default 1024)"),
            "marginal": Option(str, "mixture (default: their average distribution) or poisson (one with their mean)"),
        },
        discounts=lambda _: Discounts.SEPARATE,
        check=_check_population_dp,
    ),
    "budget_dqn": PolicyEntry(
        summary="Q-learning of the round budget, split where vouchers are most likely used (the paper's Budget-DQN)",
        prepare=_budget_dqn,
        options=_REINFORCEMENT_OPTIONS,
        discounts=_trained_at,
        check=_check_reinforcement,
    ),
    "factorized_rl": PolicyEntry(
        summary="Q-learning of budget, number of people and scores of people together (the paper's Factorized RL)",
        prepare=_factorized_rl,
        options=_REINFORCEMENT_OPTIONS,
        discounts=_trained_at,
        check=_check_reinforcement,
    ),
    "gfp": PolicyEntry(
        summary="generative frontier planning: learned value, closed-form backup, exact greedy (the paper's, repaired)",
        prepare=_gfp,
        options={
            "learn": Option(str, "value from simulated returns (default) or from its own backups"),
            "deadline": Option(str, "yes: the value knows how many rounds are left (default no)"),
        },
        discounts=lambda _: Discounts.SEPARATE,
        check=_check_gfp,
    ),
    "gfp-paper": PolicyEntry(
        summary="generative frontier planning with the paper's value training, to the letter",
        prepare=_gfp_paper,
        options={},
        discounts=lambda _: Discounts.SEPARATE,
    ),
    "gfp-untrained": PolicyEntry(
        summary="the same with the value network as it starts: what the paper's training has to beat",
        prepare=partial(_gfp_paper, iterations=0),
        options={},
        discounts=lambda _: Discounts.SEPARATE,
    ),
    "price_index": PolicyEntry(
        summary="a price per voucher that balances the budget, and everybody worth it (the bound's own rule)",
        prepare=_price_index,
        options={},
        discounts=lambda _: Discounts.SEPARATE,
    ),
}
