"""How the reinforcement-learning baselines are prepared: trained in the planning world, at its discount by default."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from peerfront.errors import UnknownName
from peerfront.experiments.preparation import Discounts, Preparation
from peerfront.problem import Policy, checked_discount, whole_number
from peerfront.specs import Option, Spec

if TYPE_CHECKING:
    from peerfront.baselines.budget_dqn import BudgetDQNSettings
    from peerfront.baselines.factorized_rl import FactorizedRLSettings
    from peerfront.baselines.q_learning import TrainedPolicy

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
