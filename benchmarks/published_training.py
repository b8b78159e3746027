"""What the published way of training is worth, piece by piece, in the published world (deviations 19 to 21).

Each variant changes one thing of `training=published`; 400 episodes in the true world, several trainings.

OMP_NUM_THREADS=1 python benchmarks/published_training.py                  (an hour on one core)
OMP_NUM_THREADS=1 python benchmarks/published_training.py --trainings 1 --variants "budget_dqn, likeliest split"
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from peerfront.baselines.budget_dqn import BudgetDQNSettings, fit_budget_dqn
from peerfront.baselines.factorized_rl import FactorizedRLSettings, fit_factorized_rl
from peerfront.experiments.comparison import Comparison, planned_in
from peerfront.experiments.reproduction import PUBLISHED_MODELS
from peerfront.experiments.store import Store
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Policy, Rules, World, rollout
from peerfront.simulation.catalog import make_world

EPISODES = 400
DQN, FACTORIZED = BudgetDQNSettings.published(), FactorizedRLSettings.published()


def _budget_dqn(settings: BudgetDQNSettings) -> Callable[[World, float, int], Policy]:
    return lambda world, discount, seed: (
        fit_budget_dqn(
            world, Rules(), discount, replace(settings, learning=replace(settings.learning, seed=seed))
        ).policy
    )


def _factorized_rl(settings: FactorizedRLSettings) -> Callable[[World, float, int], Policy]:
    return lambda world, discount, seed: (
        fit_factorized_rl(
            world, Rules(), discount, replace(settings, learning=replace(settings.learning, seed=seed))
        ).policy
    )


VARIANTS = {
    "budget_dqn, published": _budget_dqn(DQN),
    "budget_dqn, likeliest split": _budget_dqn(replace(DQN, split="likeliest")),
    "budget_dqn, targets each step": _budget_dqn(replace(DQN, learning=replace(DQN.learning, follow_each="step"))),
    "budget_dqn, sums and shares": _budget_dqn(replace(DQN, raw_state=False)),
    "budget_dqn, paper": _budget_dqn(BudgetDQNSettings.paper()),
    "factorized_rl, published": _factorized_rl(FACTORIZED),
    "factorized_rl, paper": _factorized_rl(FactorizedRLSettings.paper()),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", nargs="+", choices=sorted(VARIANTS), default=list(VARIANTS), metavar="VARIANT")
    parser.add_argument("--discounts", nargs="+", type=float, default=[0.9, 1.0])
    parser.add_argument("--trainings", type=int, default=5)
    parser.add_argument("--models", default=PUBLISHED_MODELS)
    parser.add_argument("--store", type=Path, help="folder in which fitted models are kept for the next time")
    chosen = parser.parse_args()

    true = make_world("published")
    fitted = Comparison(worlds=("published",), models=chosen.models)
    planning = planned_in(fitted, "published", 0, Store(chosen.store))
    for variant in chosen.variants:
        for discount in chosen.discounts:
            rewards, recruits, begun = [], [], time.process_time()
            for seed in range(chosen.trainings):
                policy = VARIANTS[variant](planning, discount, seed)
                played = rollout(true, policy, Rules(), named_luck(("published training",), EPISODES))
                rewards.append(played.discounted_rewards(discount).mean())
                recruits.append(played.total_recruits.mean())
            seconds = (time.process_time() - begun) / chosen.trainings
            each = " ".join(f"{reward:.1f}" for reward in rewards)
            print(
                f"{variant:32} {discount:5g}  reward {np.mean(rewards):5.1f} ({each})  recruits "
                f"{np.mean(recruits):5.1f}  {seconds:4.0f} s a training",
                flush=True,
            )


if __name__ == "__main__":
    main()
