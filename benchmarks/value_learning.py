"""What each part of gfp is worth: variants with one thing changed, learned models, tested in the true world.

python benchmarks/value_learning.py --draws 5 8 --discount 0.9 --discount 1
python benchmarks/value_learning.py --world bridge --draws 0 1 --episodes 2000

Every variant plays the same people with the same luck, so differences to the default are paired; their errors are over
draws, or over episodes where there is one draw. The last columns are
what the variant thinks it earns (in its own planning world), its optimism, and the seconds it took to learn.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from peerfront.baselines.simple_rules import RandomSplit, threshold_rules
from peerfront.experiments.comparison import Comparison, planned_in
from peerfront.experiments.policies import Preparation
from peerfront.experiments.store import Store
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.gfp.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration
from peerfront.gfp.learning import LearnedPlanner
from peerfront.gfp.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration
from peerfront.gfp.surrogate import LaplaceSettings, SurrogateSettings
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.response_fit import LINEAR, ResponseSettings, fit_response
from peerfront.problem import BinomialResponse, BranchingWorld, History, Policy, Rules, rollout
from peerfront.simulation.catalog import make_world
from peerfront.simulation.simulated_history import simulate_history

_LEVELS = 64  # coupons up to which a mixture of capacities is tabulated


@dataclass(frozen=True, eq=False)
class Bootstrapped(BinomialResponse):
    """Capacity models fitted to resampled histories, as one: their mean survival, less some standard deviations."""

    members: Sequence[LearnedResponse]
    pessimism: float = 0.0

    def survival(self, covariates: Codes, max_coupons: int) -> NDArray[np.float64]:
        tables = np.stack([member.survival(covariates, max_coupons) for member in self.members])
        lower = np.clip(tables.mean(axis=0) - self.pessimism * tables.std(axis=0, ddof=1), 0.0, 1.0)
        kept: NDArray[np.float64] = np.minimum.accumulate(lower, axis=1)
        return kept

    def capacities(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        chance = 1.0 - luck.uniform("capacity")
        counts: NDArray[np.int64] = (self.survival(covariates, _LEVELS) > chance[:, None]).sum(axis=1)
        return counts


def bootstrapped(history: History, fitted: LearnedResponse, members: int, pessimism: float) -> Bootstrapped:
    """Members of the family that the full history chose, with the shape it chooses in every draw of this world."""
    settled = ResponseSettings(family=fitted.family, shapes=(LINEAR,))
    found = []
    for number in range(members):
        rows = named_generator("bootstrap", number).integers(len(history.referrers), size=len(history.referrers))
        resampled = replace(
            history,
            referrers=history.referrers[rows],
            coupons=history.coupons[rows],
            recruits=history.recruits[rows],
        )
        found.append(fit_response(resampled, settled))
    return Bootstrapped(found, pessimism)


Learn = Callable[[Preparation], LearnedPlanner]


def _returns(**changes: object) -> Learn:
    settings = replace(PolicyIterationSettings(), **changes)  # type: ignore[arg-type]
    return lambda known: learn_by_policy_iteration(
        known.planning_world, known.rules, known.discount, rules_of(known), settings
    )


def rules_of(known: Preparation) -> list[Policy]:
    return threshold_rules(known.planning_world.response, known.rules.budget)


def _backups(known: Preparation) -> LearnedPlanner:
    settings = FittedValueIterationSettings()
    return learn_by_fitted_value_iteration(known.planning_world, known.rules, known.discount, rules_of(known), settings)


def _paper(iterations: int) -> Learn:
    settings = replace(FittedValueIterationSettings.paper(), iterations=iterations)
    return lambda known: learn_by_fitted_value_iteration(
        known.planning_world, known.rules, known.discount, [RandomSplit()], settings
    )


@dataclass(frozen=True)
class Variant:
    """What is different from the default."""

    learn: Learn
    models: str = "learned"
    pessimism: float | None = None
    """Bootstrapped capacities, lowered by so many standard deviations."""


VARIANTS = {
    "default": Variant(_returns()),
    "learned from backups": Variant(_backups),
    "the paper's training": Variant(_paper(200)),
    "untrained, the paper's start": Variant(_paper(0)),
    "the paper's surrogate (32, its start)": Variant(_returns(surrogate=SurrogateSettings.paper())),
    "sees covariates only": Variant(_returns(sees="covariates")),
    "blind": Variant(_returns(sees="nothing")),
    "no thinned states": Variant(_returns(thinned=0.0)),
    "no exploration": Variant(_returns(exploration=0.0)),
    "one round": Variant(_returns(rounds=1)),
    "256 parents, 200 steps": Variant(_returns(laplace=LaplaceSettings(parents=256, steps=200))),
    "the paper's capacity fit": Variant(_returns(), "learned:capacity=paper"),
    "recruits by inheritance tables": Variant(_returns(), "learned:offspring=inheritance"),
    "recruits by softmax": Variant(_returns(), "learned:offspring=softmax"),
    "recruits by masked diffusion": Variant(_returns(), "learned:offspring=masked"),
    "recruits by repaired diffusion": Variant(_returns(), "learned:offspring=diffusion"),
    "backups, the paper's diffusion": Variant(_backups, "learned:offspring=diffusion-paper"),
    "bootstrapped capacity": Variant(_returns(), pessimism=0.0),
    "pessimistic capacity": Variant(_returns(), pessimism=1.0),
}
SLOW = (
    "backups, the paper's diffusion",
    "recruits by repaired diffusion",
    "bootstrapped capacity",
    "pessimistic capacity",
)


def measured(
    name: str, draw: int, discount: float, variant: str, episodes: int, store: Path
) -> tuple[NDArray[np.float64], float, float]:
    """Discounted rewards in the true world, the mean expected in the planning world, and the seconds of learning."""
    rules, seed, changed = Rules(), 0, VARIANTS[variant]
    world = make_world(name, draw)
    planning = planned_in(Comparison((name,), models=changed.models), name, draw, Store(store))
    if changed.pessimism is not None:
        assert isinstance(planning, BranchingWorld)
        assert isinstance(planning.response, LearnedResponse)
        fitted = bootstrapped(simulate_history(world, seed=seed), planning.response, 8, changed.pessimism)
        planning = replace(planning, response=fitted)
    begun = time.perf_counter()
    learned = changed.learn(Preparation(planning, rules, discount, (discount,), seed))
    seconds = time.perf_counter() - begun
    luck = named_luck(("episode", seed, name, draw), episodes)
    earned = rollout(world, learned.planner, rules, luck).discounted_rewards(discount)
    return earned, learned.report.simulated, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", default="icpsr22140")
    parser.add_argument("--draws", type=int, nargs=2, default=(5, 8), metavar=("FIRST", "END"))
    parser.add_argument("--discount", type=float, action="append")
    parser.add_argument(
        "--variant",
        action="append",
        choices=VARIANTS,
        help="besides the default; if none is named, all but four slow ones",
    )
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    asked = chosen.variant or [name for name in VARIANTS if name not in SLOW]
    names = ["default", *(name for name in asked if name != "default")]
    with tempfile.TemporaryDirectory() as store:
        _tables(chosen, names, Path(store))


def _tables(chosen: argparse.Namespace, names: Sequence[str], store: Path) -> None:
    for discount in chosen.discount or (0.9, 1.0):
        print(f"\n| discount {discount:g} | true world | above default | expected | optimism | seconds |", flush=True)
        print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
        draws = range(*chosen.draws)
        asked = [(variant, draw) for variant in names for draw in draws]
        calls = [
            delayed(measured)(chosen.world, draw, discount, variant, chosen.episodes, store) for variant, draw in asked
        ]
        of_default: list[NDArray[np.float64]] = []
        part = []
        for (variant, _), found in zip(asked, Parallel(chosen.workers, return_as="generator")(calls), strict=True):
            part.append(found)
            if len(part) < len(draws):
                continue
            rewards = [earned for earned, _, _ in part]
            of_default = of_default or rewards
            gaps = np.array([(a - b).mean() for a, b in zip(rewards, of_default, strict=True)])
            if len(gaps) == 1:  # one draw: over its episodes
                gaps = rewards[0] - of_default[0]
            error = gaps.std(ddof=1) / np.sqrt(len(gaps))
            mean = np.mean([earned.mean() for earned in rewards])
            expected = np.mean([promise for _, promise, _ in part])
            seconds = np.mean([taken for _, _, taken in part])
            print(
                f"| {variant} | {mean:.2f} | {gaps.mean():+.2f} ({error:.2f}) | {expected:.2f} "
                f"| {expected - mean:+.2f} | {seconds:.0f} |",
                flush=True,
            )
            part = []


if __name__ == "__main__":
    main()
