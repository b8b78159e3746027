"""Upper bounds on every policy, with true models: 100 coupons, 10 people, 50 rounds; and what they cost to compute.

OMP_NUM_THREADS=1 python benchmarks/bound.py --draws 5 > results/bound.txt

tightest: the certificate as `compare --bound` makes it; threshold: a good rule of the world, with true models.
"""

import argparse
import time

import numpy as np

from peerfront.baselines.simple_rules import Threshold
from peerfront.bounds.certificate import certify_with, mean_bound
from peerfront.bounds.clairvoyant import clairvoyant_returns
from peerfront.bounds.dual import smallest_duals
from peerfront.bounds.price_index import BoundSettings, exact_price_index
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.states import StateBatch
from peerfront.problem import Frontier, Rules, State, rollout
from peerfront.simulation.catalog import make_world

DISCOUNTS = (0.9, 0.95, 0.99, 1.0)
THRESHOLDS = {  # good rules, for comparison
    "bridge": ((0.5, 8), (0.5, 8), (0.5, 4), (0.5, 4)),
    "boom_bust": ((0.5, 8), (0.5, 8), (0.7, 8), (0.7, 8)),
    "icpsr22140": ((0.8, 12), (0.9, 12), (0.97, 8), (0.995, 8)),
}
COLUMNS = (
    "tightest",
    "s.e.",
    "price",
    "clairvoyant",
    "s.e.",
    "threshold",
    "s.e.",
    "table s",
    "each s",
    "by trees %",
)
ERRORS = [1, 4, 6]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5, help="draws of the paper's world")
    parser.add_argument("--states", type=int, default=400, help="first frontiers per draw")
    parser.add_argument("--worlds", nargs="*", default=["bridge", "boom_bust", "icpsr22140"])
    chosen = parser.parse_args()
    for name in chosen.worlds:
        draws = chosen.draws if name == "icpsr22140" else 1
        print(f"{name}: bounds on the discounted recruits, mean over {draws} draws x {chosen.states} frontiers")
        print("  discount " + " ".join(f"{column:>11}" for column in COLUMNS))
        for discount in DISCOUNTS:
            rows = np.array([measured(name, draw, discount, chosen.states) for draw in range(draws)])
            rows[:, ERRORS] /= draws**0.5
            print(f"  {discount:8} " + " ".join(f"{value:11.2f}" for value in rows.mean(axis=0)), flush=True)


def measured(name: str, draw: int, discount: float, count: int) -> list[float]:
    world, rules = make_world(name, draw), Rules()
    models = world.response, world.offspring
    begun = time.perf_counter()
    index = exact_price_index(*models, world.schema, discount, rules.rounds, BoundSettings())
    table_time = time.perf_counter() - begun
    luck = named_luck(("bound frontiers", draw), count)
    start = world.seeds(luck, 10)
    states = StateBatch(np.full(count, 100), 10 * np.arange(count + 1), start.covariates)
    alone = [State(100, Frontier.of(start.covariates[10 * s : 10 * (s + 1)]), 0, rules) for s in range(count)]
    begun = time.perf_counter()
    certificates = [
        certify_with(
            state, index, *models, discount, luck.row(s).members(np.array([0])), luck.row(s).members(np.array([1]))
        )
        for s, state in enumerate(alone)
    ]
    each_time = (time.perf_counter() - begun) / count
    tightest = mean_bound(certificates)
    trees = np.array(
        [clairvoyant_returns(*models, state, discount, luck.row(s), 20).mean() for s, state in enumerate(alone)]
    )
    rule = Threshold(world.response, *THRESHOLDS[name][DISCOUNTS.index(discount)])
    earned = rollout(world, rule, rules, luck).discounted_rewards(discount)
    return [
        tightest.mean, tightest.standard_error,
        np.nan if index is None else float(smallest_duals(index, states).bounds.mean()),
        float(trees.mean()), float(trees.std() / count**0.5), float(earned.mean()), float(earned.std() / count**0.5),
        table_time, each_time, 100 * np.mean([each.which == "clairvoyant" for each in certificates]),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
