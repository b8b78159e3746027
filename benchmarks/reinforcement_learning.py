"""Training time of the reinforcement-learning baselines with each generator in the loop: in lock step and one by one.

Seconds are those of one core (run it with OMP_NUM_THREADS=1), so that other work on the machine counts for little.

python benchmarks/reinforcement_learning.py          (five minutes on one core)
python benchmarks/reinforcement_learning.py --quick
"""

import argparse
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.budget_dqn import BudgetDQNSettings, fit_budget_dqn
from peerfront.baselines.factorized_rl import FactorizedRLSettings, fit_factorized_rl
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck
from peerfront.models.offspring.generator_choice import GENERATORS, fit_generator
from peerfront.models.offspring.pairs import Pairs
from peerfront.models.response.response_fit import fit_response
from peerfront.problem import BranchingWorld, Crowd, OffspringModel, Referrals, Rules
from peerfront.simulation.catalog import make_world
from peerfront.simulation.simulated_history import simulate_history

DISCOUNT = 0.9
POLICIES = {
    "budget_dqn": (fit_budget_dqn, BudgetDQNSettings()),
    "factorized_rl": (fit_factorized_rl, FactorizedRLSettings()),
}


@dataclass
class Counted:
    """A generator that knows how many children it has drawn, and how long that took."""

    model: OffspringModel
    children: int = 0
    seconds: float = 0.0

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        begun = time.process_time()
        drawn = self.model.sample(parents, luck)
        self.seconds += time.process_time() - begun
        self.children += len(drawn)
        return drawn


@dataclass(frozen=True, eq=False)
class RoundCounting(BranchingWorld):
    """A world that counts the rounds that are played in it."""

    rounds: list[int] = field(default_factory=list)

    def refer(self, crowd: Crowd, coupons: NDArray[np.int64]) -> Referrals:
        self.rounds.append(len(np.unique(crowd.episode)))
        return super().refer(crowd, coupons)


@dataclass(frozen=True)
class Measured:
    episodes: int
    seconds: float
    rounds: int
    offspring: Counted

    @property
    def seconds_per_round(self) -> float:
        """Both ways play about as many rounds, but not exactly the same ones."""
        return self.seconds / self.rounds


def train(world: BranchingWorld, policy: str, episodes: int, at_once: int) -> Measured:
    fit, settings = POLICIES[policy]
    counted = Counted(world.offspring)
    learning = replace(settings.learning, episodes=episodes, at_once=at_once, warm_up=1)
    watched = RoundCounting(world.name, world.schema, world.response, counted, world.seed_model)
    begun = time.process_time()
    fit(watched, Rules(), DISCOUNT, replace(settings, learning=learning))
    return Measured(episodes, time.process_time() - begun, sum(watched.rounds), counted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few episodes, and no diffusion (a minute)")
    parser.add_argument("--generators", nargs="+", choices=sorted(GENERATORS), help="default: softmax masked diffusion")
    parser.add_argument("--episodes", type=int, default=500, help="of training in lock step; a tenth one by one")
    chosen = parser.parse_args()
    default = ["softmax", "masked"] if chosen.quick else ["softmax", "masked", "diffusion"]
    bulk = min(chosen.episodes, 60) if chosen.quick else chosen.episodes
    few = max(20, bulk // 10)

    true = make_world("icpsr22140")
    history = simulate_history(true)
    response = fit_response(history)
    pairs = Pairs.of(history)
    print(f"icpsr22140 with learned models, 100 coupons, 10 people, discount {DISCOUNT}; one gradient step a round")
    print(
        f"{'generator':12} {'policy':14} {'s/500 ep.':>9} {'drawing':>8} {'children':>9} {'children/s':>11} "
        f"{'one by one: s/500 ep.':>22} {'children/s':>11} {'ratio':>6} {'drawing':>8}"
    )
    for generator in chosen.generators or default:
        model = fit_generator(generator, pairs)
        world = BranchingWorld(f"learned, {generator}", true.schema, response, model, true.seed_model)  # type: ignore[attr-defined]
        for policy, (_, settings) in POLICIES.items():
            train(world, policy, 2, 2)  # warm up
            together = train(world, policy, bulk, settings.learning.at_once)
            # Early episodes are unlike late ones, so the ratio is of the same few first episodes, both ways.
            in_step, alone = train(world, policy, few, settings.learning.at_once), train(world, policy, few, 1)
            fast, in_step_rate, alone_rate = (
                run.offspring.children / run.offspring.seconds for run in (together, in_step, alone)
            )
            print(
                f"{generator:12} {policy:14} {500 * together.seconds / bulk:9.1f} "
                f"{together.offspring.seconds / together.seconds:8.0%} {together.offspring.children:9,d} "
                f"{fast:11,.0f} {500 * alone.seconds / few:22.1f} {alone_rate:11,.0f} "
                f"{alone.seconds_per_round / in_step.seconds_per_round:6.1f} {in_step_rate / alone_rate:8.1f}",
                flush=True,
            )
    print("ratio: time a round, one by one against in lock step; last column: the same for drawing the children alone")


if __name__ == "__main__":
    main()
