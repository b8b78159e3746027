"""What each part of value learning is worth: variants of `gfp` with learned models, tested in the true world.

python benchmarks/value_learning.py --draws 5 8 --discount 0.9 --discount 1

Every variant plays the same people with the same luck, so differences to the default are paired. The last columns are
what the variant thinks it earns (in its own planning world), its optimism, and the seconds it took to learn.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from peerfront.covariates import Codes
from peerfront.experiments.planner_policies import simple_rules
from peerfront.experiments.planning_world import planning_world
from peerfront.experiments.preparation import Preparation
from peerfront.models.capacity import LINEAR, CapacitySettings, LearnedCapacity, fit_capacity
from peerfront.planning.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration
from peerfront.planning.laplace import LaplaceSettings
from peerfront.planning.learning import LearnedPlanner
from peerfront.planning.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration
from peerfront.problem import BranchingWorld, History, Rules, World, rollout
from peerfront.randomness import Luck, named_generator, named_luck
from peerfront.simulation import make_world, simulate_history

_LEVELS = 64  # vouchers up to which a mixture of capacities is tabulated


@dataclass(frozen=True, eq=False)
class Bootstrapped:
    """Capacity models fitted to resampled histories, as one: their mean survival, less some standard deviations."""

    members: Sequence[LearnedCapacity]
    pessimism: float = 0.0

    def survival(self, covariates: Codes, max_vouchers: int) -> NDArray[np.float64]:
        tables = np.stack([member.survival(covariates, max_vouchers) for member in self.members])
        lower = np.clip(tables.mean(axis=0) - self.pessimism * tables.std(axis=0, ddof=1), 0.0, 1.0)
        kept: NDArray[np.float64] = np.minimum.accumulate(lower, axis=1)
        return kept

    def sample(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        chance = 1.0 - luck.uniform("capacity")
        counts: NDArray[np.int64] = (self.survival(covariates, _LEVELS) > chance[:, None]).sum(axis=1)
        return counts


def bootstrapped(history: History, fitted: LearnedCapacity, members: int, pessimism: float) -> Bootstrapped:
    """Members of the family that the full history chose, with the shape it chooses in every draw of this world."""
    settled = CapacitySettings(family=fitted.family, shapes=(LINEAR,))
    found = []
    for number in range(members):
        rows = named_generator("bootstrap", number).integers(len(history.referrers), size=len(history.referrers))
        resampled = replace(
            history,
            referrers=history.referrers[rows],
            vouchers=history.vouchers[rows],
            recruits=history.recruits[rows],
        )
        found.append(fit_capacity(resampled, settled))
    return Bootstrapped(found, pessimism)


Learn = Callable[[Preparation], LearnedPlanner]


def _returns(**changes: object) -> Learn:
    settings = replace(PolicyIterationSettings(), **changes)  # type: ignore[arg-type]
    return lambda known: learn_by_policy_iteration(
        known.planning_world, known.rules, known.discount, simple_rules(known), settings
    )


def _backups(known: Preparation) -> LearnedPlanner:
    settings = FittedValueIterationSettings()
    return learn_by_fitted_value_iteration(
        known.planning_world, known.rules, known.discount, simple_rules(known), settings
    )


VARIANTS: dict[str, tuple[Learn, float | None]] = {
    "default": (_returns(), None),
    "learned from backups": (_backups, None),
    "sees covariates only": (_returns(sees="covariates"), None),
    "blind": (_returns(sees="nothing"), None),
    "no thinned states": (_returns(thinned=0.0), None),
    "no wandering": (_returns(wandering=0.0), None),
    "one round": (_returns(rounds=1), None),
    "256 parents, 200 steps": (_returns(laplace=LaplaceSettings(parents=256, steps=200)), None),
    "bootstrapped capacity": (_returns(), 0.0),
    "pessimistic capacity": (_returns(), 1.0),
}


def measured(draw: int, discount: float, variant: str, episodes: int) -> tuple[NDArray[np.float64], float, float]:
    """Discounted rewards in the true world, the mean expected in the planning world, and the seconds of learning."""
    rules, seed = Rules(), 0
    world = make_world("icpsr22140", draw)
    planning: World = planning_world(world, "learned", seed)
    learn, pessimism = VARIANTS[variant]
    if pessimism is not None:
        assert isinstance(planning, BranchingWorld)
        assert isinstance(planning.capacity, LearnedCapacity)
        fitted = bootstrapped(simulate_history(world, seed=seed), planning.capacity, 8, pessimism)
        planning = replace(planning, capacity=fitted)
    begun = time.perf_counter()
    learned = learn(Preparation(planning, rules, discount, (discount,), seed))
    seconds = time.perf_counter() - begun
    luck = named_luck(("episode", seed, "icpsr22140", draw), episodes)
    earned = rollout(world, learned.planner, rules, luck).discounted_rewards(discount)
    return earned, learned.report.simulated, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, nargs=2, default=(5, 8), metavar=("FIRST", "END"))
    parser.add_argument("--discount", type=float, action="append")
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="besides the default")
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    names = ["default", *(v for v in chosen.variant or VARIANTS if v != "default")]
    for discount in chosen.discount or (0.9, 1.0):
        print(f"\n| discount {discount:g} | true world | above default | expected | optimism | seconds |", flush=True)
        print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
        draws = range(*chosen.draws)
        asked = [(variant, draw) for variant in names for draw in draws]
        calls = [delayed(measured)(draw, discount, variant, chosen.episodes) for variant, draw in asked]
        of_default: list[NDArray[np.float64]] = []
        part = []
        for (variant, _), found in zip(asked, Parallel(chosen.workers, return_as="generator")(calls), strict=True):
            part.append(found)
            if len(part) < len(draws):
                continue
            rewards = [earned for earned, _, _ in part]
            of_default = of_default or rewards
            gaps = np.array([(a - b).mean() for a, b in zip(rewards, of_default, strict=True)])
            error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else float("nan")
            mean = np.mean([earned.mean() for earned in rewards])
            expected = np.mean([promise for _, promise, _ in part])
            seconds = np.mean([taken for _, _, taken in part])
            print(
                f"| {variant} | {mean:.2f} | {gaps.mean():+.2f} ± {error:.2f} | {expected:.2f} "
                f"| {expected - mean:+.2f} | {seconds:.0f} |",
                flush=True,
            )
            part = []


if __name__ == "__main__":
    main()
