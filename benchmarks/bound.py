"""Upper bounds on every policy, with true models: 100 vouchers, 10 people, 50 rounds; and what they cost to compute.

OMP_NUM_THREADS=1 python benchmarks/bound.py --draws 5 > results/bound.txt
"""

import argparse
import time

import numpy as np

from peerfront.planning.bound import BoundSettings, PriceIndex, certify_many, fit_price_index, generations
from peerfront.planning.price_policy import PriceIndexPolicy
from peerfront.planning.situations import Situations
from peerfront.problem import Rules, World, rollout
from peerfront.randomness import Luck, named_luck
from peerfront.simulation import make_world

DISCOUNTS = (0.9, 0.95, 0.99, 1.0)


def index_of(world: World, discount: float, draw: int) -> PriceIndex:
    population = world.population(named_luck(("bound population", draw), 2000))
    checked_at = world.population(named_luck(("bound check", draw), 128))
    people = generations(world.capacity, world.offspring, population, 5000, draw)
    transition = getattr(world, "transition", None)
    settings = BoundSettings(seed=draw)
    return fit_price_index(
        world.capacity,
        world.offspring,
        people,
        world.schema,
        discount,
        settings,
        transition=transition,
        checked_at=checked_at,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5, help="draws of the paper's world")
    parser.add_argument("--states", type=int, default=400, help="first frontiers per draw")
    parser.add_argument("--audited", type=int, default=20, help="of these, how many are audited by nested samples")
    parser.add_argument("--episodes", type=int, default=0, help="episodes of the price-index rule (slow)")
    chosen = parser.parse_args()
    for name, draws in (("bridge", 1), ("boom_bust", 1), ("icpsr22140", chosen.draws)):
        print(f"{name}: bounds on the discounted recruits, mean over {draws} draws x {chosen.states} frontiers")
        print(f"  {'discount':>8} {'tightest':>9} {'+-':>5} {'price':>7} {'audited':>8} {'same, fitted':>12} {'+-':>5} "
              f"{'shadow':>7} {'fit s':>6} {'bulk s':>7} {'audit s':>8} {'which (budget, clairvoyant, price)'}")  # fmt: skip
        for discount in DISCOUNTS:
            rows = np.array([measured(name, draw, discount, chosen) for draw in range(draws)])
            mean = rows.mean(axis=0)
            print(f"  {discount:8} {mean[0]:9.2f} {mean[1] / draws**0.5:5.2f} {mean[2]:7.2f} {mean[3]:8.2f} {mean[4]:12.2f} "
                  f"{mean[5] / draws**0.5:5.2f} {mean[6]:7.3f} {mean[7]:6.1f} {mean[8]:7.2f} {mean[9]:8.2f} "
                  f"{mean[10]:.2f} {mean[11]:.2f} {mean[12]:.2f}" + (f"  rule {mean[13]:.2f}" if chosen.episodes else ""),
                  flush=True)  # fmt: skip


def measured(name: str, draw: int, discount: float, chosen: argparse.Namespace) -> list[float]:
    world = make_world(name, draw)
    begun = time.perf_counter()
    index = index_of(world, discount, draw)
    fitted = time.perf_counter() - begun
    luck = named_luck(("bound frontiers", draw), chosen.states)
    states = Situations(
        np.full(chosen.states, 100), 10 * np.arange(chosen.states + 1), world.seeds(luck, 10).covariates
    )
    everything = (index, world.capacity, world.offspring)
    tightest = certify_many(states, *everything, luck)
    begun = time.perf_counter()
    priced = certify_many(states, *everything, luck, samples=0)
    bulk = time.perf_counter() - begun
    few = states.take(np.arange(chosen.audited))
    begun = time.perf_counter()
    audited = certify_many(few, *everything, Luck(luck.keys[: chosen.audited]), samples=0, audits=16)
    audit = (time.perf_counter() - begun) / chosen.audited
    which = [float((tightest.which == bound).mean()) for bound in ("budget", "clairvoyant", "price")]
    earned = 0.0
    if chosen.episodes:
        earned = float(
            rollout(world, PriceIndexPolicy(index), Rules(), named_luck(("bound rule", draw), chosen.episodes))
            .discounted_rewards(discount).mean()
        )  # fmt: skip
    return [
        tightest.mean.mean, tightest.mean.standard_error, priced.mean.mean, audited.mean.mean,
        float(priced.bounds[: chosen.audited].mean()), audited.mean.standard_error, float(priced.prices.mean()),
        fitted, bulk, audit, *which, earned,
    ]  # fmt: skip


if __name__ == "__main__":
    main()
