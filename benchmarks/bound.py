"""Upper bounds on every policy, with true models: 100 coupons, 10 people, 50 rounds; and what they cost to compute.

OMP_NUM_THREADS=1 python benchmarks/bound.py --draws 5 > results/bound.txt

tightest: certificates in bulk (20 trees a state); audited: by 16 nested samples a person, some states only, beside what
the (scaled) index says of the same states; threshold: a good rule of the world, with true models.
"""

import argparse
import time

import numpy as np

from peerfront.baselines.simple_rules import Threshold
from peerfront.bounds.certificate import clairvoyant_returns
from peerfront.bounds.certify import certify_many
from peerfront.bounds.price_fitting import fit_price_index
from peerfront.bounds.price_index import BoundSettings, PriceIndex
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.gfp.states import StateBatch, generations
from peerfront.problem import Rules, World, rollout
from peerfront.simulation.catalog import make_world

DISCOUNTS = (0.9, 0.95, 0.99, 1.0)
THRESHOLDS = {  # good rules, for comparison
    "bridge": ((0.5, 8), (0.5, 8), (0.5, 4), (0.5, 4)),
    "boom_bust": ((0.5, 8), (0.5, 8), (0.7, 8), (0.7, 8)),
    "icpsr22140": ((0.8, 12), (0.9, 12), (0.97, 8), (0.995, 8)),
}


def index_of(world: World, discount: float, draw: int) -> PriceIndex:
    population = world.population(named_luck(("bound population", draw), 2000))
    return fit_price_index(
        world.response,
        world.offspring,
        generations(world.response, world.offspring, population, 5000, draw),
        world.schema,
        discount,
        BoundSettings(seed=draw),
        transition=getattr(world, "transition", None),
        checked_at=world.population(named_luck(("bound check", draw), 128)),
    )


COLUMNS = (
    "tightest", "+-", "price", "clairvoyant", "+-", "audited", "+-", "price of same", "threshold", "+-", "shadow price",
    "fit s", "bulk s", "audit s", "by trees %",
)  # fmt: skip
ERRORS = [1, 4, 6, 9]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5, help="draws of the paper's world")
    parser.add_argument("--states", type=int, default=400, help="first frontiers per draw")
    parser.add_argument("--audited", type=int, default=20, help="of these, how many are audited by nested samples")
    parser.add_argument("--worlds", nargs="*", default=["bridge", "boom_bust", "icpsr22140"])
    chosen = parser.parse_args()
    for name in chosen.worlds:
        draws = chosen.draws if name == "icpsr22140" else 1
        print(f"{name}: bounds on the discounted recruits, mean over {draws} draws x {chosen.states} frontiers")
        print("  discount " + " ".join(f"{column:>13}" for column in COLUMNS))
        for discount in DISCOUNTS:
            rows = np.array([measured(name, draw, discount, chosen) for draw in range(draws)])
            rows[:, ERRORS] /= draws**0.5
            print(f"  {discount:8} " + " ".join(f"{value:13.2f}" for value in rows.mean(axis=0)), flush=True)


def measured(name: str, draw: int, discount: float, chosen: argparse.Namespace) -> list[float]:
    world = make_world(name, draw)
    begun = time.perf_counter()
    index = index_of(world, discount, draw)
    fitted = time.perf_counter() - begun
    luck = named_luck(("bound frontiers", draw), chosen.states)
    start = world.seeds(luck, 10)
    states = StateBatch(np.full(chosen.states, 100), 10 * np.arange(chosen.states + 1), start.covariates)
    models = (index, world.response, world.offspring)
    tightest = certify_many(states, *models, luck)
    begun = time.perf_counter()
    priced = certify_many(states, *models, luck, samples=0)
    bulk = time.perf_counter() - begun
    trees = clairvoyant_returns(world.response, world.offspring, states, discount, Rules().rounds, luck, 20).mean(
        axis=1
    )
    few = states.take(np.arange(chosen.audited))
    begun = time.perf_counter()
    audited = certify_many(few, *models, Luck(luck.keys[: chosen.audited]), samples=0, audits=16)
    audit = (time.perf_counter() - begun) / chosen.audited
    rule = Threshold(world.response, *THRESHOLDS[name][DISCOUNTS.index(discount)])
    earned = rollout(world, rule, Rules(), luck).discounted_rewards(discount)
    return [
        tightest.mean.mean, tightest.mean.standard_error, priced.mean.mean,
        float(trees.mean()), float(trees.std() / chosen.states**0.5), audited.mean.mean, audited.mean.standard_error,
        float(priced.bounds[: chosen.audited].mean()), float(earned.mean()), float(earned.std() / chosen.states**0.5),
        float(priced.prices.mean()), fitted, bulk, audit, 100 * float((tightest.which == "clairvoyant").mean()),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
