"""Time of population DP's table against a plain O(budget^5) transcription, in one run.

python benchmarks/population_dp.py
"""

import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.population_dp import next_sizes, population_values
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Rules
from peerfront.simulation.catalog import make_world

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from baselines.plain_population_dp import plain_population_values

DISCOUNT = 0.95


def best_seconds(survival: NDArray[np.float64], rules: Rules) -> float:
    """The best of a few runs: the machine's other work only ever slows us down."""
    best = float("inf")
    for _ in range(5):
        begun = time.perf_counter()
        population_values(survival, rules, DISCOUNT)
        best = min(best, time.perf_counter() - begun)
    return best


def main() -> None:
    world = make_world("icpsr22140")
    survival = world.response.gains(world.population(named_luck(("benchmark",), 1024)), 200).mean(axis=0)
    begun = time.perf_counter()
    population_values(survival, Rules(budget=2), DISCOUNT)
    print(f"first call (compiled code from the cache, or compiled now): {time.perf_counter() - begun:.2f} s")
    print(f"{'budget':>7} {'table':>10} {'plain':>10} {'ratio':>9}   (seconds)")
    for budget in (10, 20, 40, 60, 100, 200):
        rules = Rules(budget=budget)
        fast = best_seconds(survival, rules)
        if budget > 60:
            print(f"{budget:7} {fast:10.4f} {'-':>10}")
            continue
        begun = time.perf_counter()
        reference = plain_population_values(survival, rules, DISCOUNT)
        plain = time.perf_counter() - begun
        same = np.allclose(reference, population_values(survival, rules, DISCOUNT))
        print(f"{budget:7} {fast:10.4f} {plain:10.3f} {plain / fast:9,.0f}   {'same table' if same else 'DIFFERENT'}")
    sizes, table = next_sizes(survival, 200).nbytes, 201 * 201 * 8
    print(f"memory at budget 200: {sizes / 2**20:.0f} MiB of size distributions, {table / 2**10:.0f} KiB of values")


if __name__ == "__main__":
    main()
