"""How the planners are prepared: what they learn their value from, and with which settings.

How the reinforcement-learning baselines are prepared: trained in the planning world, at its discount by default.
"""

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from peerfront.experiments.planning_world import POPULATION_SAMPLE, Preparation
from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Policy

if TYPE_CHECKING:
    from peerfront.value.learning import LearnedPlanner

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from peerfront.experiments.planning_world import Discounts
from peerfront.foundation.settings import checked_discount, whole_number
from peerfront.foundation.specs import Option, Spec

if TYPE_CHECKING:
    from peerfront.baselines.budget_dqn import BudgetDQNSettings
    from peerfront.baselines.factorized_rl import FactorizedRLSettings
    from peerfront.baselines.q_learning import TrainedPolicy


_CUTOFFS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99, 0.995)
_SHARES = (0.02, 0.04, 0.08, 0.12, 0.2, 0.32)
_PACES = (0.5, 0.75, 1.0, 1.5, 2.0)
LEARNING = ("returns", "backups")
YES_OR_NO = ("no", "yes")
SEES = ("nothing", "covariates", "capacity")  # as planning.networks has it, which would load torch


def simple_rules(known: Preparation) -> list[Policy]:
    """Threshold rules of all kinds: heuristics that initialise learning and explore."""
    from peerfront.baselines.simple_rules import Threshold

    least = sorted({max(1, round(share * known.rules.budget)) for share in _SHARES})
    return [Threshold(known.planning_world.capacity, c, m) for c, m in product(_CUTOFFS, least)]


def _deadline_rules(known: Preparation) -> list[Policy]:
    """The same, with everything given out in the last round, and rules that spread the budget over the rounds."""
    from peerfront.baselines.simple_rules import AllAtLast, Evenly

    capacity = known.planning_world.capacity
    evenly = [Evenly(capacity, pace) for pace in _PACES]
    return [*(AllAtLast(capacity, rule) for rule in simple_rules(known)), *evenly]


def check_gfp(learn: str = LEARNING[0], deadline: str = YES_OR_NO[0], sees: str = SEES[-1]) -> None:
    if learn not in LEARNING:
        raise UnknownName("way to learn of gfp", learn, LEARNING)
    if deadline not in YES_OR_NO:
        raise UnknownName("answer for deadline of gfp", deadline, YES_OR_NO)
    if sees not in SEES:
        raise UnknownName("thing that gfp sees", sees, SEES)
    if deadline == "yes" and learn != "returns":
        raise SettingError("gfp: deadline=yes learns from simulated returns; leave out learn=backups.")


def prepare_gfp(
    known: Preparation, learn: str = LEARNING[0], deadline: str = YES_OR_NO[0], sees: str = SEES[-1]
) -> Policy:
    from peerfront.value.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration
    from peerfront.value.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration

    what = (known.planning_world, known.rules, known.discount)
    if learn == "backups":
        by_backups = FittedValueIterationSettings(sees=sees, seed=known.seed)
        return _reported(learn_by_fitted_value_iteration(*what, simple_rules(known), by_backups), "gfp")
    if deadline == "yes":
        settings = replace(PolicyIterationSettings.with_deadline(known.seed), sees=sees)
        return _reported(learn_by_policy_iteration(*what, _deadline_rules(known), settings), "gfp with a deadline")
    settings = PolicyIterationSettings(sees=sees, seed=known.seed)
    return _reported(learn_by_policy_iteration(*what, simple_rules(known), settings), "gfp")


def prepare_gfp_paper(known: Preparation, iterations: int | None = None) -> Policy:
    """The paper's value training to the letter; with 0 iterations its untrained start."""
    from peerfront.baselines.simple_rules import RandomSplit
    from peerfront.value.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration

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


def prepare_price_index(known: Preparation) -> Policy:
    from peerfront.bounds.dual import PriceIndexPolicy
    from peerfront.bounds.price_fitting import fit_price_index
    from peerfront.bounds.price_index import BoundSettings, generations

    world, rules = known.planning_world, known.rules
    population = world.population(named_luck(("price population", known.seed), POPULATION_SAMPLE))
    people = generations(world.capacity, world.offspring, population, 4 * POPULATION_SAMPLE, known.seed)
    settings = BoundSettings(largest_budget=rules.budget, max_per_person=rules.max_per_person, seed=known.seed)
    index = fit_price_index(world.capacity, world.offspring, people, world.schema, known.discount, settings)
    return PriceIndexPolicy(index)


TRAINING = ("default", "paper")


def check_reinforcement(
    discount: float | None = None, episodes: int | None = None, training: str = TRAINING[0]
) -> None:
    if training not in TRAINING:
        raise UnknownName("training", training, TRAINING)
    if discount is not None:
        checked_discount(discount)
    if episodes is not None:
        whole_number("episodes", episodes, 1)


def prepare_budget_dqn(known: Preparation, training: str = TRAINING[0], **options: Any) -> Policy:
    from peerfront.baselines.budget_dqn import BudgetDQNSettings, fit_budget_dqn

    settings = BudgetDQNSettings.paper() if training == "paper" else BudgetDQNSettings()
    return _trained(known, fit_budget_dqn, settings, **options)


def prepare_factorized_rl(known: Preparation, training: str = TRAINING[0], **options: Any) -> Policy:
    from peerfront.baselines.factorized_rl import FactorizedRLSettings, fit_factorized_rl

    settings = FactorizedRLSettings.paper() if training == "paper" else FactorizedRLSettings()
    return _trained(known, fit_factorized_rl, settings, **options)


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


def trained_at_discount(spec: Spec) -> Discounts:
    """Trained for one discount, it plays the same whatever the others are."""
    return Discounts.IGNORED if "discount" in dict(spec.options) else Discounts.SEPARATE


REINFORCEMENT_OPTIONS: Mapping[str, Option] = {
    "discount": Option(
        float, "discount of the training (default: the one it is judged at; the paper's table says .99)"
    ),
    "episodes": Option(int, "episodes of training (default 500)"),
    "training": Option(str, "default, or paper: its text to the letter"),
}
