"""What a polish by rollouts is worth, and what it costs: learned models, tested in the true world, paired.

python benchmarks/polish.py --discount 1 --episodes 40
"""

import argparse
import time

import numpy as np

from peerfront.experiments.comparison import Comparison, Task, episode_luck, prepared_policy
from peerfront.experiments.planning_world import planning_world
from peerfront.planning.planner import Planner
from peerfront.planning.polish import Polished, PolishSettings
from peerfront.problem import rollout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--discount", type=float, default=1.0)
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--samples", type=int, default=64)
    chosen = parser.parse_args()
    comparison = Comparison(policies=("gfp",), episodes=chosen.episodes, models="learned")
    task = Task("icpsr22140", chosen.draw, "gfp", (chosen.discount,))
    world, planner = prepared_policy(comparison, task, chosen.discount)
    assert isinstance(planner, Planner)
    planning = planning_world(world, "learned", comparison.seed)
    luck = episode_luck(comparison, task)
    rewards, spent = [], []
    for policy in (planner, Polished(planner, planning, PolishSettings(samples=chosen.samples))):
        begun = time.perf_counter()
        played = rollout(world, policy, comparison.rules, luck)
        spent.append((time.perf_counter() - begun) / played.rounds.sum())
        rewards.append(played.discounted_rewards(chosen.discount))
    better = rewards[1] - rewards[0]
    error = better.std(ddof=1) / np.sqrt(len(better))
    print(f"draw {chosen.draw}, discount {chosen.discount:g}, {chosen.episodes} episodes: gfp {rewards[0].mean():.2f}")
    print(f"polished {rewards[1].mean():.2f}, better by {better.mean():+.2f} +- {error:.2f}")
    print(
        f"a decision takes {1000 * spent[0]:.1f} and {1000 * spent[1]:.0f} ms: {spent[1] / spent[0]:.0f} times as long"
    )


if __name__ == "__main__":
    main()
