"""The check of a price network: audited over fitted bounds, the lowest price checked, and the bound that follows.

OMP_NUM_THREADS=1 python benchmarks/price_check.py
OMP_NUM_THREADS=1 python benchmarks/price_check.py --seeds 3     # several networks, fitted with other luck

Draw 7 of the paper's world at .9, and boom_bust at .95 with a network although its table would be exact (shown beside).
"""

import argparse
from dataclasses import replace

import numpy as np

from bound import index_of
from peerfront.bounds.certify import certify_many
from peerfront.bounds.price_fitting import fit_price_index
from peerfront.bounds.price_index import BoundSettings, PriceIndex
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.states import StateBatch, generations
from peerfront.problem import World
from peerfront.simulation.catalog import make_world

CASES = (("icpsr22140", 7, 0.9), ("boom_bust", 0, 0.95))


def network_of(world: World, discount: float, draw: int, seed: int) -> PriceIndex:
    population = world.population(named_luck(("bound population", draw), 2000))
    return fit_price_index(
        world.response,
        world.offspring,
        generations(world.response, world.offspring, population, 5000, draw),
        world.schema,
        discount,
        replace(BoundSettings(seed=seed), table_rows=0),
        checked_at=world.population(named_luck(("bound check", draw), 128)),
    )


def row(name: str, draw: int, discount: float, seed: int, frontiers: int) -> str:
    world = make_world(name, draw)
    luck = named_luck(("bound frontiers", draw), frontiers)
    people = world.seeds(luck, 10).covariates
    states = StateBatch(np.full(frontiers, 100), 10 * np.arange(frontiers + 1), people)
    index = network_of(world, discount, draw, seed)
    check = index.check
    assert check is not None, "below a discount of 1 a network is checked"
    found = certify_many(states, index, world.response, world.offspring, luck).mean
    text = f"{name:<12}{draw:>5}{discount:>10}{seed:>6}{check.factor:>10.4f} +- {check.standard_error:.4f}"
    text += f"{check.lowest_price:>10.3f}{found.mean:>9.1f} +- {found.standard_error:.2f}"
    if hasattr(world, "transition"):
        exact = certify_many(states, index_of(world, discount, draw), world.response, world.offspring, luck).mean
        text += f"   exact table {exact.mean:.1f}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1, help="networks of each world")
    parser.add_argument("--frontiers", type=int, default=400)
    chosen = parser.parse_args()
    print("world        draw  discount  seed    audited / fitted   lowest price   bound")
    for name, draw, discount in CASES:
        for seed in range(chosen.seeds):
            print(row(name, draw, discount, seed, chosen.frontiers), flush=True)


if __name__ == "__main__":
    main()
