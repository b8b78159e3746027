"""How close greedy with floors is to the best plan that keeps them, and how long it takes.

    python benchmarks/floors.py --problems 3000

Small random problems (2 to 5 people, at most 2 coupons each, up to 8 coupons; people in three categories of one field
or of two, floors of .1 to 1 on some of them) against brute force; then rounds of 200 to 20,000 different people.
"""

import argparse
import time
from itertools import product

import numpy as np

from peerfront.gfp.backup import Tables
from peerfront.gfp.floored_greedy import GroupFloors, greedy_with_floors
from peerfront.gfp.paper import expected_future_value, expected_recruits


def a_problem(rng: np.random.Generator, people: int, budget: int, latent: int, fields: int, scale: float):
    """Tables, weights and floors; `scale` is what later rounds are worth."""
    levels = np.cumprod(1.0 - rng.choice([0.0, 0.5]) * rng.random(2))
    gains = rng.uniform(0.05, 0.95, people)[:, None] * levels
    covers = (rng.uniform(0.0, 1.0, (people, latent)) * rng.choice([0.1, 0.9]))[:, None, :] * levels[:, None]
    weights = scale * np.arange(budget + 1)[:, None] * rng.dirichlet(np.ones(latent))
    members = np.concatenate([np.eye(3, dtype=bool)[rng.integers(0, 3, people)].T for _ in range(fields)])
    chosen = rng.random(len(members)) < 0.6
    return Tables(gains, covers), weights, GroupFloors(members[chosen], rng.uniform(0.1, 1.0, int(chosen.sum())))


def value(tables: Tables, weights: np.ndarray, coupons: np.ndarray) -> float:
    worth = 0.95 * weights[len(weights) - 1 - int(coupons.sum())]
    return expected_recruits(tables.gains, coupons) + expected_future_value(tables.transform(), worth, coupons)


def against_brute_force(problems: int, fields: int) -> None:
    rng, ratios, binding = np.random.default_rng(fields), [], 0
    for _ in range(problems):
        people, budget = int(rng.integers(2, 6)), int(rng.integers(1, 9))
        tables, weights, floors = a_problem(
            rng, people, budget, int(rng.integers(1, 4)), fields, rng.choice([0.2, 1.0])
        )
        found = greedy_with_floors(tables, weights, 0.95, floors, most_per_person=2)
        if found.plan is found.free:
            continue
        binding += 1
        allocations = (np.array(each) for each in product(range(3), repeat=people) if sum(each) <= budget)
        best = max(value(tables, weights, each) for each in allocations if floors.met(each))
        ratios.append(found.plan.value / best if best > 0.0 else 1.0)
    share = np.mean(np.array(ratios) > 1.0 - 1e-9)
    print(
        f"{fields} field(s): floors bind in {binding} of {problems}; of the best plan that keeps them: worst "
        f"{min(ratios):.3f}, mean {np.mean(ratios):.4f}, the best itself in {share:.1%}"
    )


def speed() -> None:
    for people, budget in ((200, 100), (1_000, 400), (5_000, 1_000), (20_000, 2_000)):
        tables, weights, _ = a_problem(np.random.default_rng(1), people, budget, 32, 1, 0.05)
        low = tables.gains[:, 0] < np.quantile(tables.gains[:, 0], 0.3)
        start = time.perf_counter()
        found = greedy_with_floors(tables, weights, 0.95, GroupFloors(low[None], np.array([0.5])), most_per_person=2)
        tried = int(np.isfinite(found.plan.values).sum())
        took = time.perf_counter() - start
        print(f"{people:,} people, {budget:,} coupons: {took:.1f} s, {tried} spends, cost {found.cost:.2f} recruits")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=3000)
    problems = parser.parse_args().problems
    for number in (1, 2):
        against_brute_force(problems, number)
    speed()
