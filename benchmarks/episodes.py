"""How fast episodes are played, on one core: in bulk against one at a time, in one run.

python benchmarks/episodes.py
"""

import time

from peerfront.baselines.population_dp import fit_population_dp
from peerfront.baselines.simple_rules import Constant, RandomSplit, Threshold
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Policy, Rules, World, rollout
from peerfront.simulation.catalog import make_world

BULK, SINGLE, REPEATS = 2000, 100, 3


def rate(world: World, policy: Policy, episodes: int, at_once: int) -> float:
    """Episodes per second, the best of a few runs: the machine's other work only ever slows us down."""
    luck = named_luck(("benchmark",), episodes)
    best = float("inf")
    for _ in range(REPEATS):
        begun = time.perf_counter()
        for first in range(0, episodes, at_once):
            rollout(world, policy, Rules(), type(luck)(luck.keys[first : first + at_once]))
        best = min(best, time.perf_counter() - begun)
    return episodes / best


def main() -> None:
    for name in ("icpsr22140", "bridge", "network"):
        world = make_world(name)
        people = world.population(named_luck(("benchmark population",), 1024))
        policies: list[Policy] = [
            RandomSplit(),
            Constant(3),
            Threshold(world.response, 0.9, 12),
            fit_population_dp(world.response, people, Rules(), 0.95),
        ]
        print(f"{name}: 100 coupons, 10 people, one core")
        print(f"  {'policy':34} {'in bulk':>12} {'one by one':>12} {'ratio':>7}   (episodes a second)")
        for policy in policies:
            rollout(world, policy, Rules(), named_luck(("warm-up",), 2))
            bulk, single = rate(world, policy, BULK, BULK), rate(world, policy, SINGLE, 1)
            print(f"  {policy.name:34} {bulk:12,.0f} {single:12,.0f} {bulk / single:7.1f}")


if __name__ == "__main__":
    main()
