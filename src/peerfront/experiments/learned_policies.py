"""How policies that learn are prepared: the planners (gfp and its relatives) and the reinforcement-learning baselines.

All of them learn in the planning world. A planner learns its value from simulated returns or from backups, at the
discount it is judged at; where rounds are few its value knows the deadline, and where a simple rule earned more than
every planner, `gfp` plays that rule and says so. The baselines learn by playing, at that discount unless another is
given. The modules that train load torch, so they are imported only where they are used.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from peerfront.experiments.planning_world import Discounts, Preparation, with_independent_referrals
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import in_english, note
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.foundation.settings import Option, Spec, checked_discount, one_of, whole_number
from peerfront.problem import Allocation, OffspringModel, Policy, State, World, ask, ask_many

if TYPE_CHECKING:
    from peerfront.baselines.budget_dqn import BudgetDQNSettings
    from peerfront.baselines.factorized_rl import FactorizedRLSettings
    from peerfront.baselines.q_learning import TrainedPolicy
    from peerfront.gfp.learning import LearnedPlanner

LEARNING = ("returns", "backups")
_TABULATED = 16_384  # sampled recruits from which tables of a generator that has none are made
YES_OR_NO = ("no", "yes")
FEW_ROUNDS = 12
"""Up to this many rounds the value of `gfp` knows the deadline, unless `deadline=no` is given."""
SEES = ("nothing", "covariates", "capacity")  # those of gfp.surrogate, named here so that nothing is loaded for them
TRAINING = ("default", "paper", "published")
_CUTOFFS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99, 0.995)  # of the threshold rules that start a planner's learning
_SHARES = (0.02, 0.04, 0.08, 0.12, 0.2, 0.32)  # of the budget, which they spend at least in a round
_PACES = (0.5, 0.75, 1.0, 1.5, 2.0)  # of the rules that spread the budget over the rounds


def threshold_rules(preparation: Preparation) -> list[Policy]:
    """Threshold rules over a grid: heuristics that initialise learning and explore."""
    from peerfront.baselines.simple_rules import Threshold

    least = sorted({max(1, round(share * preparation.rules.budget)) for share in _SHARES})
    return [Threshold(preparation.planning_world.response, c, m) for c, m in product(_CUTOFFS, least)]


def deadline_rules(preparation: Preparation) -> list[Policy]:
    """The same, with everything given out in the last round, and rules that spread the budget over the rounds."""
    from peerfront.baselines.simple_rules import AllAtLast, Evenly

    response = preparation.planning_world.response
    evenly = [Evenly(response, pace) for pace in _PACES]
    return [*(AllAtLast(response, rule) for rule in threshold_rules(preparation)), *evenly]


def check_gfp(
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


def prepare_gfp(
    preparation: Preparation,
    learn: str = LEARNING[0],
    deadline: str | None = None,
    sees: str = SEES[-1],
    training: str = TRAINING[0],
) -> Policy:
    """Generative frontier planning; without an answer for `deadline`, few rounds have one (`FEW_ROUNDS`)."""
    if training != TRAINING[0]:
        return prepare_gfp_paper(preparation, published=training == "published")
    from peerfront.gfp.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration

    problem = (preparation.planning_world, preparation.rules, preparation.discount)
    if learn == "backups":
        from peerfront.gfp.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration

        by_backups = FittedValueIterationSettings(sees=sees, seed=preparation.seed)
        return _reported(learn_by_fitted_value_iteration(*problem, threshold_rules(preparation), by_backups), "gfp")
    problem = (with_independent_referrals(preparation.planning_world), preparation.rules, preparation.discount)
    if deadline == "yes" or (deadline is None and preparation.rules.rounds <= FEW_ROUNDS):
        settings = replace(PolicyIterationSettings.with_deadline(preparation.seed), sees=sees)
        return _reported(
            learn_by_policy_iteration(*problem, deadline_rules(preparation), settings), "gfp with a deadline"
        )
    settings = PolicyIterationSettings(sees=sees, seed=preparation.seed)
    return _reported(learn_by_policy_iteration(*problem, threshold_rules(preparation), settings), "gfp")


def prepare_gfp_paper(preparation: Preparation, iterations: int | None = None, published: bool = False) -> Policy:
    """The paper's value training, to the letter or as the published table was made; 0 iterations: its start."""
    from peerfront.baselines.simple_rules import RandomSplit
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
            more=planner.behind,
            error=planner.behind_error,
        )
        return Renamed(learned.rule, in_english(rule_name))
    earns, error = report.simulated, report.simulated_error
    planner_name = note("prepared_policy.planner", name=name, method=report.method, earns=earns, error=error)
    return replace(learned.planner, name=in_english(planner_name))


@dataclass(frozen=True, eq=False)
class Renamed:
    """A policy under another name."""

    policy: Policy
    name: str

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return ask(self.policy, state, luck)

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state, all at once where the policy can."""
        return ask_many(self.policy, states, lucks)


def prepare_price_index(preparation: Preparation) -> Policy:
    from peerfront.bounds.dual import PriceIndexPolicy
    from peerfront.bounds.price_index import BoundSettings, exact_price_index

    world, rules = preparation.planning_world, preparation.rules
    settings = BoundSettings(largest_budget=rules.budget, max_per_person=rules.max_per_person)
    offspring = _inherited_by_field(world, preparation.seed)
    index = exact_price_index(world.response, offspring, world.schema, preparation.discount, rules.rounds, settings)
    if index is None:
        raise SettingError("prices.no_table", policy="price_index", world=world.name)
    return PriceIndexPolicy(index)


def _inherited_by_field(world: World, seed: int) -> OffspringModel:
    """The offspring model with a table for each field; made from samples where the model is none."""
    from peerfront.bounds.recruit_space import InheritsByField
    from peerfront.models.offspring.inheritance_tables import fit_inheritance
    from peerfront.models.offspring.pairs import Pairs

    offspring: OffspringModel = getattr(world.offspring, "model", world.offspring)  # fitted when it is needed
    if isinstance(offspring, InheritsByField):
        return offspring
    rng = named_generator("parents of price tables", seed)
    parents = np.stack([rng.integers(0, size, _TABULATED) for size in world.schema.sizes], axis=1).astype(np.int16)
    children = offspring.sample(parents, named_luck(("recruits of price tables", seed), _TABULATED))
    return fit_inheritance(Pairs(world.schema, parents, children))


def check_reinforcement(
    discount: float | None = None, episodes: int | None = None, training: str = TRAINING[0]
) -> None:
    one_of(note("kinds.training"), training, TRAINING)
    if discount is not None:
        checked_discount(discount)
    if episodes is not None:
        whole_number("episodes", episodes, 1, 10_000_000)


def prepare_budget_dqn(preparation: Preparation, training: str = TRAINING[0], **options: Any) -> Policy:
    from peerfront.baselines.budget_dqn import BudgetDQNSettings, fit_budget_dqn

    kinds = {"paper": BudgetDQNSettings.paper, "published": BudgetDQNSettings.published}
    settings = kinds.get(training, BudgetDQNSettings)()
    return _trained(preparation, fit_budget_dqn, settings, **options)


def prepare_factorized_rl(preparation: Preparation, training: str = TRAINING[0], **options: Any) -> Policy:
    from peerfront.baselines.factorized_rl import FactorizedRLSettings, fit_factorized_rl

    kinds = {"paper": FactorizedRLSettings.paper, "published": FactorizedRLSettings.published}
    settings = kinds.get(training, FactorizedRLSettings)()
    return _trained(preparation, fit_factorized_rl, settings, **options)


def _trained(
    preparation: Preparation,
    fit: Callable[..., "TrainedPolicy"],
    settings: "BudgetDQNSettings | FactorizedRLSettings",
    discount: float | None = None,
    episodes: int | None = None,
) -> Policy:
    learning = replace(settings.learning, seed=preparation.seed)
    if episodes is not None:
        learning = replace(learning, episodes=episodes)
    trained_at = preparation.discount if discount is None else discount
    trained = fit(preparation.planning_world, preparation.rules, trained_at, replace(settings, learning=learning))
    last = trained.curve.returns[-max(1, learning.episodes // 5) :].mean()
    name = note(
        "prepared_policy.trained",
        name=trained.policy.name,
        episodes=learning.episodes,
        discount=trained_at,
        last=float(last),
    )
    return replace(trained.policy, name=in_english(name))


def trained_at_discount(spec: Spec) -> Discounts:
    """Trained for one discount, it plays the same whatever the others are."""
    return Discounts.IGNORED if "discount" in dict(spec.options) else Discounts.SEPARATE


REINFORCEMENT_OPTIONS: Mapping[str, Option] = {
    "discount": Option(float, note("training_setting.discount")),
    "episodes": Option(int, note("training_setting.episodes")),
    "training": Option(str, note("training_setting.training")),
}
